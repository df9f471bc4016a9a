"""The number of rounds of a fit, its callback and its checkpoints."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, cycle, islice, repeat
from typing import Any

from thalweg._checks import check_callback, require_whole
from thalweg.checkpoint import Keeper, keeper_for, latest, read_manifest, restore
from thalweg.distributed._blocks import Blocks
from thalweg.errors import ParameterError
from thalweg.estimators import Progress

__all__ = ["Plan"]

# Default blocks per round of a streaming estimator. It must not depend on the number of workers,
# and should be several times as large.
_BLOCKS_PER_ROUND = 16


@dataclass(frozen=True, eq=False)
class Plan:
    """The options of a distributed fit."""

    rounds: int | None = None
    blocks_per_round: int | None = None
    callback: Callable[[Progress], None] | None = None
    keeper: Keeper | None = None
    resume: bool = False

    @classmethod
    def of(
        cls,
        rounds: int | None,
        blocks_per_round: int | None,
        callback: Callable[[Progress], None] | None,
        folder: Any,
        resume: bool,
    ) -> "Plan":
        """Check the options."""
        if rounds is not None:
            require_whole(1, rounds=rounds)
        if blocks_per_round is not None:
            require_whole(1, blocks_per_round=blocks_per_round)
        check_callback(callback)
        return cls(rounds, blocks_per_round, callback, keeper_for(folder, resume, None), resume)

    @property
    def watched(self) -> bool:
        """Whether the objective is needed after every round."""
        return self.callback is not None or self.keeper is not None

    def together(self, blocks: Blocks) -> int:
        """Return the number of blocks per round of a streaming estimator."""
        return min(self.blocks_per_round or _BLOCKS_PER_ROUND, len(blocks))

    def groups(self, blocks: Blocks, epochs: int) -> list[list[int]]:
        """Return the blocks of each round, in order, for all passes over the data."""
        size = self.together(blocks)
        once = [list(range(i, min(i + size, len(blocks)))) for i in range(0, len(blocks), size)]
        if self.rounds is None:
            return list(chain.from_iterable(repeat(once, epochs)))
        return list(islice(cycle(once), self.rounds))

    def resumed(self, estimator: Any, together: int) -> int:
        """Restore the estimator from the latest checkpoint, and return its number of rounds.

        Returns 0 if there is no checkpoint, or without ``resume``.
        """
        path = latest(self.keeper.directory) if self.keeper is not None and self.resume else None
        if path is None:
            return 0
        kept = read_manifest(path)
        if kept.position is None or kept.batch_size != together:
            raise ParameterError(
                f"The blocks must be those of the checkpoint {path}, with rounds of "
                f"{kept.batch_size} blocks, got {together}. Split the data in the same way, or "
                "use another folder."
            )
        return int(restore(path, estimator).position.sample)

    def note(self, estimator: Any, number: int, progress: Progress, together: int) -> None:
        """Call the callback after a round, and write a checkpoint if one is due."""
        if self.keeper is not None and self.keeper.due_after_batch():
            self.keeper.write(estimator, (0, number), batch_size=together)
        if self.callback is not None:
            self.callback(progress)

    def finish(self, estimator: Any, number: int, together: int) -> None:
        """Write the final checkpoint."""
        if self.keeper is not None:
            self.keeper.write(estimator, (0, number), batch_size=together)
