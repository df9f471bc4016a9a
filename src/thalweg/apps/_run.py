"""What all jobs are told, what they tell while they work, and what they give back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from thalweg._checks import require_whole
from thalweg.errors import ParameterError

__all__ = ["Common", "Result", "Run", "Step", "level_of"]


class Step(NamedTuple):
    """How far a job is; what its progress callback gets.

    Attributes
    ----------
    stage : str
        What is being done: 'learning', 'writing', ...
    done : int
        Samples of this stage so far.
    total : int or None
        Samples of this stage, where that is known.
    objective : float or None
        What is being minimised; for a tracker, the noise level.
    outlier_share : float or None
        Share of the entries seen lately that are outliers.

    Examples
    --------
    >>> from thalweg.apps import Step
    >>> Step("learning", 40, 100).total
    100
    """

    stage: str
    done: int
    total: int | None
    objective: float | None = None
    outlier_share: float | None = None


class Common(TypedDict, total=False):
    """Options that every job has; all may be left out.

    Attributes
    ----------
    components : int or None
        Number of components; None leaves it to the job.
    batch_size : int or None
        Samples that are learned from at a time; None leaves it to the method.
    epochs : int or None
        Passes over the data to learn from; None leaves it to the job.
    checkpoint : path or None
        Folder in which the state is kept while learning.
    resume : bool
        Whether to go on from the latest state in that folder.
    seed : int
        Seed of whatever is random.
    overwrite : bool
        Whether an output folder with something in it may be written to.
    read : dict
        Options of the source, as :func:`thalweg.streams.open` takes them.
    settings : dict
        Parameters of the estimator that the job has no name for.
    progress : callable or None
        Called with a :class:`Step` after each batch.
    command : str or None
        What was typed, for the report.
    """

    components: int | None
    batch_size: int | None
    epochs: int | None
    checkpoint: str | PathLike[str] | None
    resume: bool
    seed: int
    overwrite: bool
    read: Mapping[str, Any]
    settings: Mapping[str, Any]
    progress: Callable[[Step], None] | None
    command: str | None


@dataclass(frozen=True)
class Result:
    """What a job has found, and where it is.

    Attributes
    ----------
    job : str
        Which job it was.
    out : Path or None
        The folder of the files; None if nothing was written.
    values : dict
        Figures and facts by name.
    files : dict of str to Path
        What was written, by what it is.
    model : object
        The fitted estimator; None where there is none.

    Examples
    --------
    >>> from thalweg.apps import Result
    >>> Result("info", None, {"samples": 3}).values["samples"]
    3
    """

    job: str
    out: Path | None
    values: dict[str, Any]
    files: dict[str, Path] = field(default_factory=dict)
    model: Any = field(default=None, repr=False)


def level_of(model: Any) -> tuple[str, float | None]:
    """Return what a model lowers, and its name: the objective, or a tracker's noise level."""
    for name, label in (("objective_", "objective"), ("noise_", "noise level")):
        level = getattr(model, name, None)
        if isinstance(level, (int, float)):
            return label, float(level)
    return "objective", None


@dataclass(frozen=True)
class Run:
    """The options of one job, checked, with what was left out filled in."""

    job: str
    source: Any
    components: int | None = None
    batch_size: int | None = None
    epochs: int | None = None
    checkpoint: str | PathLike[str] | None = None
    resume: bool = False
    seed: int = 0
    overwrite: bool = False
    read: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    progress: Callable[[Step], None] | None = None
    command: str | None = None

    def __post_init__(self) -> None:
        counts = {"components": self.components, "batch_size": self.batch_size}
        counts["epochs"] = self.epochs
        require_whole(1, **{name: n for name, n in counts.items() if n is not None})
        require_whole(0, seed=self.seed)
        if self.resume and self.checkpoint is None:
            raise ParameterError(
                "resume should come with the folder of the checkpoints, but none is named. "
                "Name it with checkpoint, or leave resume out."
            )

    @property
    def title(self) -> str:
        """What the source is called, in one line."""
        named = isinstance(self.source, (str, PathLike))
        name = fspath(self.source) if named else getattr(self.source, "title", "")
        plain = "".join(c if c.isprintable() else "?" for c in Path(str(name)).name)
        return plain or "data"

    def folder(self, out: str | PathLike[str] | None) -> Path:
        """Return where results go: beside the work at hand, unless it was said."""
        stem = Path(self.title).stem.strip(".*?[] ") or "data"
        return Path(f"{stem}-{self.job}" if out is None else out)

    def tell(self, stage: str, done: int, total: int | None, model: Any = None) -> None:
        """Tell how far the job is."""
        if self.progress is None:
            return
        share = getattr(model, "outlier_share_", None)
        share = None if share is None else float(share)
        self.progress(Step(stage, done, total, level_of(model)[1], share))

    def parameters(self, **others: Any) -> dict[str, Any]:
        """Return what was asked for, for the report; what was left out is left out."""
        own = {
            "components": self.components,
            "batch size": self.batch_size,
            "epochs": self.epochs,
            "seed": self.seed,
        }
        found = {**others, **own, **self.read, **self.settings}
        return {name: value for name, value in found.items() if value is not None}
