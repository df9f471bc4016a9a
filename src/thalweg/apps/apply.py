"""A saved model on new data."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from thalweg.apps._columns import Units
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._parts import PARTS, check_parts, codes_panel, write_parts
from thalweg.apps._report import write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._streams import Mapped, open_source, pictures
from thalweg.apps._words import Terms, weighed
from thalweg.errors import InputError
from thalweg.streams import Stream

__all__ = ["apply"]


def apply(
    model: str | PathLike[str],
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    parts: Sequence[str] = PARTS,
    columns: Sequence[str | int] | None = None,
    **common: Unpack[Common],
) -> Result:
    """Take new data apart with a saved model; nothing is learned.

    Data are prepared as those that the model was learned from: columns in the same order and
    units, words with the same weights, pictures on the same scale.

    Parameters
    ----------
    model : path
        ``model.thalweg`` of another job, or a checkpoint.
    source : path, array or Stream
        Data with the features of the model.
    out : path or None, default=None
        Folder of the results; None is one beside the work at hand, named after the source.
    parts : sequence of str, default=('codes', 'low_rank', 'outliers')
        What to write.
    columns : list of str or int, or None, default=None
        Which columns of a table; None takes those that the model knows by name, or all.
    **common
        See :class:`thalweg.apps.Common`; only ``overwrite``, ``read``, ``progress`` and
        ``command`` have a meaning here.

    Returns
    -------
    Result
        Files: codes (CSV), low_rank and outliers (CSV for tables, else NPY), report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from thalweg import apps
    >>> X = np.random.default_rng(0).random((60, 8))
    >>> with TemporaryDirectory() as folder:
    ...     first = apps.factor(X[:50], folder + "/first", components=2)
    ...     result = apps.apply(first.files["model"], X[50:], folder + "/second")
    >>> result.values["samples"]
    10
    """
    from thalweg import checkpoint

    run = Run("apply", source, **common)
    check_parts(parts)
    if not Path(model).is_file():
        raise InputError(
            f"{model} should be a saved model, but no file is there. Give the model.thalweg of "
            "another job."
        )
    saved = checkpoint.load(model)
    if not hasattr(saved.estimator, "components_"):
        raise InputError(
            f"{model} should have a model that has learned, but it has not. Fit it first."
        )
    with open_folder(run, out) as folder:
        begin = perf_counter()
        stream, names, units = _prepared(run, saved.extra, columns)
        if stream.n_features != saved.estimator.n_features_in_:
            raise InputError(
                f"{run.title} should have {saved.estimator.n_features_in_} features as the model "
                f"has, but it has {stream.n_features}. Choose columns, or resize pictures."
            )
        worker = saved.estimator if units is None else _InUnits(saved.estimator, units)
        values, shown = write_parts(folder, worker, stream, parts, names, run)
        values |= {"model": type(saved.estimator).__name__, "seconds": perf_counter() - begin}
        _report(folder, values, saved, codes_panel(shown))
        return folder.finish(values, saved.estimator)


class _InUnits:
    """A model of columns in units of their own, for data as they are."""

    def __init__(self, model: Any, units: Units) -> None:
        self._model, self._units = model, units
        self.components_ = model.components_

    def decompose(self, X: Any) -> Any:
        """Take rows apart; low-rank part and outliers are in the units of the data."""
        parts = self._model.decompose(self._units.to(X))
        low_rank, outliers = self._units.back(parts.low_rank), parts.outliers * self._units.scale
        return parts._replace(low_rank=low_rank, outliers=outliers)


def _prepared(
    run: Run, extra: dict[str, Any], columns: Sequence[str | int] | None
) -> tuple[Stream, list[str] | None, Units | None]:
    """Return the data as the model takes them, the names of their columns, and their units."""
    try:
        if "shape" in extra:
            size = tuple(extra["shape"][:2])
            stream, shape = pictures(run, None, len(extra["shape"]) == 3)
            if shape[:2] != size:
                stream, _ = pictures(run, (int(size[0]), int(size[1])), len(extra["shape"]) == 3)
            return stream, None, None
        if "terms" in extra:
            return _same_words(run, extra), None, None
        if "white" in extra:
            white = float(extra["white"])
            stream = open_source(run)
            return Mapped(stream, lambda X: X / white, stream.n_features), None, None
        known = extra.get("columns")
        stream = open_source(run, columns=columns)
        names = getattr(stream, "columns_", None)
        if columns is None and known is not None and names is not None and set(known) <= set(names):
            stream = open_source(run, columns=known)
            names = known
        units = Units(*(np.array(part) for part in extra["units"])) if "units" in extra else None
        return stream, names, units
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"The model should say how to prepare data, but what it says is broken ({error}). "
            "Learn it again."
        ) from error


def _same_words(run: Run, extra: dict[str, Any]) -> Stream:
    """Return documents with the words of the model."""
    weights: Any = None if extra["weights"] is None else np.array(extra["weights"])
    if extra["text"]:
        from thalweg.streams.text import Vocabulary

        return open_source(run, vocabulary=Vocabulary(tuple(extra["terms"]), weights))
    terms = Terms(extra["terms"], np.array(extra["places"], dtype=np.intp), weights)
    stream = open_source(run)
    if stream.n_features <= terms.places.max():
        raise InputError(
            f"{run.title} should have the words of the model, {terms.places.max() + 1} columns or "
            f"more, but it has {stream.n_features}. Give a matrix with the same columns."
        )
    return weighed(stream, terms)


def _report(folder: Folder, values: dict[str, Any], saved: Any, codes: Any) -> None:
    from thalweg import report

    facts = {"samples": values["samples"], "model": values["model"]}
    facts["outliers"] = f"{values['outlier share']:.1%}"
    facts["learned from"] = f"{saved.estimator.n_samples_seen_} samples"
    panels = [report.Facts("Figures", facts), codes]
    summary = f"{values['samples']} samples were taken apart with a model that was learned before."
    write_report(folder, f"{folder.run.title}, taken apart", panels, summary)
