"""Options, progress records and results of the jobs."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import nan
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from thalweg._checks import require_whole
from thalweg.errors import ParameterError
from thalweg.learning.progress import Progress

__all__ = ["TINY", "Common", "Result", "Run", "objective_of"]

TINY = 1e-300  # lower limit of denominators and logarithms, far below any data


class Common(TypedDict, total=False):
    """Common options of the jobs; all are optional.

    Attributes
    ----------
    components : int or None
        Number of components; None uses the default of the job.
    batch_size : int or None
        Number of samples per batch; None uses the default of the method.
    epochs : int or None
        Number of passes over the data to fit the model; None uses the default of the job.
    checkpoint : path or None
        Folder for checkpoints while the model is fitted.
    resume : bool
        Whether to resume from the latest checkpoint in that folder.
    seed : int
        Random seed.
    overwrite : bool
        Whether to write to an output folder that is not empty.
    read : dict
        Options of the source, see :func:`thalweg.streams.open`.
    settings : dict
        Further parameters of the estimator.
    progress : callable or None
        Called with a :class:`thalweg.estimators.Progress` after each batch.
    command : str or None
        Command line, for the report.
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
    progress: Callable[[Progress], None] | None
    command: str | None


@dataclass(frozen=True)
class Result:
    """Result of a job.

    Attributes
    ----------
    job : str
        Name of the job.
    out : Path or None
        Folder of the files; None if nothing was written.
    values : dict
        Statistics and settings by name.
    files : dict of str to Path
        Written files and folders by content.
    model : object
        The fitted estimator, or None.

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

    def as_dict(self) -> dict[str, Any]:
        """Return job, folder, values and files as JSON types, without the model.

        Returns
        -------
        dict
            Non-finite numbers are None.

        Examples
        --------
        >>> from thalweg.apps import Result
        >>> Result("info", None, {"samples": 3}).as_dict()["values"]
        {'samples': 3}
        """
        return {
            "job": self.job,
            "out": None if self.out is None else str(self.out),
            "values": json_types(self.values),
            "files": {key: str(path) for key, path in self.files.items()},
        }


def json_types(value: Any) -> Any:
    """Convert a value to JSON types; non-finite numbers become None."""
    if isinstance(value, dict):
        return {str(key): json_types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        listed = value.tolist() if hasattr(value, "tolist") else value
        return (
            [json_types(item) for item in listed] if isinstance(listed, (list, tuple)) else listed
        )
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def objective_of(model: Any) -> tuple[str, float | None]:
    """Return label and value of the objective of a model; of a tracker, its noise scale."""
    for name, label in (("objective_", "objective"), ("noise_scale_", "noise scale")):
        value = getattr(model, name, None)
        if isinstance(value, (int, float)):
            return label, float(value)
        if name == "noise_scale_" and value is not None:
            return "median noise scale", float(np.median(value))
    return "objective", None


@dataclass(frozen=True)
class Run:
    """The validated options of one job."""

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
    progress: Callable[[Progress], None] | None = None
    command: str | None = None

    def __post_init__(self) -> None:
        counts = {"components": self.components, "batch_size": self.batch_size}
        counts["epochs"] = self.epochs
        require_whole(1, **{name: n for name, n in counts.items() if n is not None})
        require_whole(0, seed=self.seed)
        if self.resume and self.checkpoint is None:
            raise ParameterError(
                "resume must be False without a checkpoint folder, got True. "
                "Set checkpoint to the folder of the run."
            )

    @property
    def title(self) -> str:
        """Name of the source, in one line."""
        named = isinstance(self.source, (str, PathLike))
        name = fspath(self.source) if named else getattr(self.source, "title", "")
        plain = "".join(c if c.isprintable() else "?" for c in Path(str(name)).name)
        return plain or "data"

    def folder(self, out: str | PathLike[str] | None) -> Path:
        """Return the output folder; by default in the current directory, named by the source."""
        stem = Path(self.title).stem.strip(".*?[] ") or "data"
        return Path(f"{stem}-{self.job}" if out is None else out)

    def notify(self, stage: str, done: int, total: int | None, model: Any = None) -> None:
        """Call the progress callback."""
        if self.progress is None:
            return
        objective = objective_of(model)[1]
        share = float(getattr(model, "outlier_share_", nan))
        shown = nan if objective is None else objective
        self.progress(Progress(done, total, shown, share, stage=stage))

    def parameters(self, **others: Any) -> dict[str, Any]:
        """Return the given options for the report, without those that are None."""
        own = {
            "components": self.components,
            "batch size": self.batch_size,
            "epochs": self.epochs,
            "seed": self.seed,
        }
        found = {**others, **own, **self.read, **self.settings}
        return {name: value for name, value in found.items() if value is not None}
