"""Numbered checkpoints in a folder, of which the last few are kept."""

import re
import time
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from thalweg._checks import require_positive, require_whole
from thalweg.checkpoint._files import save, verify
from thalweg.checkpoint._write import PART
from thalweg.errors import CheckpointError

__all__ = ["Keeper", "latest"]

_NAME = re.compile(r"checkpoint-(\d{8,})\.thalweg")


class Keeper:
    """Writes checkpoints into a folder as a run goes on, and keeps the last of them.

    A folder is for one run at a time.

    Parameters
    ----------
    directory : path
        The folder; made if it is not there.
    every : int or None, default=None
        Batches from one checkpoint to the next; None leaves it to the clock.
    seconds : float or None, default=30.0
        Seconds after which a checkpoint is due in any case; None leaves it to the batches.
    keep : int, default=3
        How many are kept.
    extra : dict or None, default=None
        Anything that JSON can hold; goes into each file for the caller's own use.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import Grouse, checkpoint
    >>> keeper = checkpoint.Keeper(tempfile.mkdtemp(), keep=2)
    >>> for sample in (64, 128, 192):
    ...     path = keeper.write(Grouse(3), position=(0, sample))
    >>> sorted(path.name for path in keeper.directory.iterdir())
    ['checkpoint-00000002.thalweg', 'checkpoint-00000003.thalweg']
    """

    def __init__(
        self,
        directory: str | PathLike[str],
        *,
        every: int | None = None,
        seconds: float | None = 30.0,
        keep: int = 3,
        extra: dict[str, Any] | None = None,
    ) -> None:
        require_whole(1, keep=keep, **({} if every is None else {"every": every}))
        if seconds is not None:
            require_positive(seconds=seconds)
        self.directory = Path(directory)
        self.every, self.seconds, self.keep, self.extra = every, seconds, keep, extra
        self._batches, self._begin = 0, time.monotonic()

    def write(
        self,
        estimator: Any,
        position: tuple[int, int] | None = None,
        *,
        batch_size: int | None = None,
    ) -> Path:
        """Write a checkpoint now, and remove those that are too old."""
        self.prepare()
        old = _numbered(self.directory)
        number = 1 + max((number for number, _ in old), default=0)
        path = self.directory / f"checkpoint-{number:08d}.thalweg"
        save(path, estimator, position, batch_size=batch_size, extra=self.extra)
        for _, former in old[: max(len(old) + 1 - self.keep, 0)]:
            former.unlink(missing_ok=True)
        self._batches, self._begin = 0, time.monotonic()
        return path

    def due_after_batch(self) -> bool:
        """Count a batch, and tell whether a checkpoint is due after it."""
        self._batches += 1
        many = self.every is not None and self._batches >= self.every
        late = self.seconds is not None and time.monotonic() - self._begin >= self.seconds
        return many or late

    def used(self) -> bool:
        """Tell whether there are checkpoints in the folder."""
        return bool(_numbered(self.directory))

    def prepare(self) -> None:
        """Make sure of a folder to write in, and sweep out what a killed run did not finish."""
        probe = self.directory / f".checkpoint-probe{PART}"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            probe.touch()
            for part in self.directory.glob(f".checkpoint-*{PART}"):
                part.unlink(missing_ok=True)
        except OSError as error:
            raise CheckpointError(
                f"{self.directory} should be a folder to write checkpoints in, but it is not "
                f"({error.strerror or error}). Choose another one."
            ) from error


def latest(directory: str | PathLike[str]) -> Path | None:
    """Return the newest checkpoint of a folder that is whole.

    Parameters
    ----------
    directory : path
        Where a :class:`Keeper` has written.

    Returns
    -------
    Path or None
        None if there is no checkpoint. Damaged files are passed over with a warning; if there are
        no others, that is an error.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import Grouse, checkpoint
    >>> keeper = checkpoint.Keeper(tempfile.mkdtemp())
    >>> checkpoint.latest(keeper.directory) is None
    True
    >>> keeper.write(Grouse(3)) == checkpoint.latest(keeper.directory)
    True
    """
    fault = None
    for _, path in reversed(_numbered(Path(directory))):
        try:
            verify(path)
        except CheckpointError as error:
            warnings.warn(f"A checkpoint is passed over: {error}", RuntimeWarning, stacklevel=2)
            fault = error
        else:
            return path
    if fault is not None:
        raise CheckpointError(
            f"{directory} should have a checkpoint that is whole, but has none. Begin anew in "
            "another folder."
        ) from fault
    return None


def _numbered(directory: Path) -> list[tuple[int, Path]]:
    """Return the checkpoints of a folder with their numbers, from the first to the last."""
    try:
        paths = list(directory.iterdir()) if directory.is_dir() else []
    except OSError as error:
        raise CheckpointError(
            f"{directory} should be a folder of checkpoints, but it cannot be read "
            f"({error.strerror or error}). Choose another one."
        ) from error
    names = ((_NAME.fullmatch(path.name), path) for path in paths)
    return sorted((int(match[1]), path) for match, path in names if match)
