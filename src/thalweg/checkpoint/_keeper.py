"""Write numbered checkpoints to a folder and keep the last few."""

import re
import time
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from thalweg._atomic import PART
from thalweg._checks import require_positive, require_whole
from thalweg.checkpoint._files import save, verify
from thalweg.errors import CheckpointError, ParameterError

__all__ = ["Keeper", "keeper_for", "latest"]

_NAME = re.compile(r"checkpoint-(\d{8,})\.thalweg")


class Keeper:
    """Write checkpoints to a folder during a run, and keep the last few.

    Use a folder for one run at a time.

    Parameters
    ----------
    directory : path
        Folder; created if needed.
    every : int or None, default=None
        Number of batches between checkpoints; None uses only the time.
    seconds : float or None, default=30.0
        Seconds between checkpoints; None uses only the number of batches.
    keep : int, default=3
        Number of checkpoints to keep.
    extra : dict or None, default=None
        JSON-serializable data of the caller, saved in each file.

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
        self._n_batches, self._last_time = 0, time.monotonic()

    def write(
        self,
        estimator: Any,
        position: tuple[int, int] | None = None,
        *,
        batch_size: int | None = None,
    ) -> Path:
        """Write a checkpoint now, and remove the oldest ones."""
        self.prepare()
        old = _numbered(self.directory)
        number = 1 + max((number for number, _ in old), default=0)
        path = self.directory / f"checkpoint-{number:08d}.thalweg"
        save(path, estimator, position, batch_size=batch_size, extra=self.extra)
        for _, former in old[: max(len(old) + 1 - self.keep, 0)]:
            former.unlink(missing_ok=True)
        self._n_batches, self._last_time = 0, time.monotonic()
        return path

    def due_after_batch(self) -> bool:
        """Count a batch, and return whether a checkpoint is due after it."""
        self._n_batches += 1
        by_count = self.every is not None and self._n_batches >= self.every
        by_time = self.seconds is not None and time.monotonic() - self._last_time >= self.seconds
        return by_count or by_time

    def used(self) -> bool:
        """Return whether the folder contains checkpoints."""
        return bool(_numbered(self.directory))

    def prepare(self) -> None:
        """Create the folder, check that it is writable, and remove incomplete files."""
        probe = self.directory / f".checkpoint-probe{PART}"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            probe.touch()
            for part in self.directory.glob(f".checkpoint-*{PART}"):
                part.unlink(missing_ok=True)
        except OSError as error:
            raise CheckpointError(
                f"{self.directory} must be a writable folder, got an error "
                f"({error.strerror or error}). Choose another folder."
            ) from error


def latest(directory: str | PathLike[str]) -> Path | None:
    """Return the newest intact checkpoint of a folder.

    Parameters
    ----------
    directory : path
        Folder of a :class:`Keeper`.

    Returns
    -------
    Path or None
        None if the folder has no checkpoints. Damaged files are skipped with a warning; raises
        ``CheckpointError`` if all are damaged.

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
            warnings.warn(f"Skipped a checkpoint: {error}", RuntimeWarning, stacklevel=2)
            fault = error
        else:
            return path
    if fault is not None:
        raise CheckpointError(
            f"{directory} must contain an intact checkpoint, got only damaged ones. Start a new "
            "run in another folder."
        ) from fault
    return None


def _numbered(directory: Path) -> list[tuple[int, Path]]:
    """Return the numbers and paths of the checkpoints of a folder, in ascending order."""
    try:
        paths = list(directory.iterdir()) if directory.is_dir() else []
    except OSError as error:
        raise CheckpointError(
            f"{directory} must be a readable folder, got an error ({error.strerror or error}). "
            "Choose another folder."
        ) from error
    names = ((_NAME.fullmatch(path.name), path) for path in paths)
    return sorted((int(match[1]), path) for match, path in names if match)


def keeper_for(checkpoint: Any, resume: bool, start: Any = None) -> Keeper | None:
    """Return the keeper of a run, after checking that no earlier run is overwritten.

    Parameters
    ----------
    checkpoint : path, Keeper or None
        Folder of the checkpoints; None writes none.
    resume : bool
        Whether the run continues from the latest checkpoint.
    start : object, optional
        A start position, which excludes ``resume``.

    Returns
    -------
    Keeper or None
        The keeper, with its folder created.

    Examples
    --------
    >>> from thalweg.checkpoint import keeper_for
    >>> keeper_for(None, resume=False) is None
    True
    """
    if resume and (checkpoint is None or start is not None):
        raise ParameterError(
            "resume=True must be used with checkpoint= and without start=: the position is that of "
            "the checkpoint."
        )
    if checkpoint is None:
        return None
    keeper = checkpoint if isinstance(checkpoint, Keeper) else Keeper(checkpoint)
    if not resume and start is None and keeper.used():
        raise ParameterError(
            f"checkpoint must be a folder without checkpoints, got {keeper.directory} with those "
            "of an earlier run. Use resume=True to continue it, or another folder."
        )
    keeper.prepare()
    return keeper
