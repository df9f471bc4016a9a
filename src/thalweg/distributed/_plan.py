"""How long a fit goes on, who is told, and what is written on the way."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, cycle, islice, repeat
from typing import Any

from thalweg import checkpoint
from thalweg._checks import require_whole
from thalweg.distributed._blocks import Blocks
from thalweg.errors import CheckpointError, ParameterError
from thalweg.estimators import Progress

__all__ = ["Plan"]

# Blocks of a round of a streaming estimator. It must not depend on the number of workers, and
# should be several times that.
_TOGETHER = 16


@dataclass(frozen=True, eq=False)
class Plan:
    """What the caller of a fit asked for."""

    rounds: int | None = None
    blocks_per_round: int | None = None
    callback: Callable[[Progress], None] | None = None
    keeper: checkpoint.Keeper | None = None
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
        """Check what was asked for."""
        if rounds is not None:
            require_whole(1, rounds=rounds)
        if blocks_per_round is not None:
            require_whole(1, blocks_per_round=blocks_per_round)
        if resume and folder is None:
            raise ParameterError(
                "resume=True needs the folder of checkpoint=, but none came. Give the one that the "
                "fit was begun with."
            )
        known = folder is None or isinstance(folder, checkpoint.Keeper)
        return cls(
            rounds,
            blocks_per_round,
            callback,
            folder if known else checkpoint.Keeper(folder),
            resume,
        )

    @property
    def watched(self) -> bool:
        """Whether somebody looks after every round."""
        return self.callback is not None or self.keeper is not None

    def groups(self, blocks: Blocks, epochs: int) -> list[list[int]]:
        """Return the blocks of each round, in their order, over and over again."""
        size = min(self.blocks_per_round or _TOGETHER, len(blocks))
        once = [list(range(i, min(i + size, len(blocks)))) for i in range(0, len(blocks), size)]
        if self.rounds is None:
            return list(chain.from_iterable(repeat(once, epochs)))
        return list(islice(cycle(once), self.rounds))

    def resumed(self, estimator: Any) -> int:
        """Return the rounds that were done when the last checkpoint was written; 0 for none.

        The estimator gets what it had learned by then.
        """
        if not self.resume or self.keeper is None:
            return 0
        path = checkpoint.latest(self.keeper.directory)
        if path is None:
            return 0
        wrote = checkpoint.read_manifest(path).estimator
        if wrote != type(estimator).__name__:
            raise CheckpointError(
                f"{path} should be of a {type(estimator).__name__}, but it is of a {wrote}. Use "
                "the folder of the fit that is to go on."
            )
        settings = estimator.get_params(deep=False)
        saved = checkpoint.load(path, **settings)
        learned = vars(saved.estimator).items()
        vars(estimator).update({name: value for name, value in learned if name not in settings})
        return 0 if saved.position is None else int(saved.position.sample)

    def note(self, estimator: Any, number: int, progress: Progress) -> None:
        """Tell that a round is done, and write a checkpoint if one is due."""
        if self.keeper is not None:
            self.keeper.batch_done(estimator, (0, number))
        if self.callback is not None:
            self.callback(progress)

    def numbered(self, groups: list[list[int]], done: int) -> Iterator[tuple[int, list[int]]]:
        """Yield the rounds that are left, counted from 1."""
        return islice(enumerate(groups, 1), done, None)
