"""Apply a saved model to new data."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from thalweg import streams
from thalweg.apps._alarms import alarm_files
from thalweg.apps._columns import Units
from thalweg.apps._cubes import read_cube
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._learn import Subsample
from thalweg.apps._parts import PARTS, check_parts, codes_panel, write_parts
from thalweg.apps._report import write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._streams import open_source, pictures
from thalweg.apps._topic_documents import (
    best_words,
    shares_of_topics,
    shares_panel,
    write_documents,
)
from thalweg.apps._words import Terms, weighed
from thalweg.errors import InputError
from thalweg.streams import Stream

__all__ = ["apply"]

_N_SHOWN = 200  # documents in the report, at least, of a long text
_N_WORDS = 5  # that name a topic


def apply(
    model: str | PathLike[str],
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    parts: Sequence[str] | None = None,
    columns: Sequence[str | int] | None = None,
    **common: Unpack[Common],
) -> Result:
    """Decompose new data with a saved model, without fitting it.

    Data are prepared like the training data: columns in the same order and units, words with the
    same weights, images on the same scale.

    Parameters
    ----------
    model : path
        File ``model.thalweg`` of another job, or a checkpoint.
    source : path, array or Stream
        Data with the features of the model.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    parts : sequence of str or None, default=None
        Parts to write, among 'codes', 'low_rank' and 'outliers'. None writes the documents of a
        model of topics, with their topics, and all parts of other models.
    columns : list of str or int, or None, default=None
        Columns of a table; None selects those of the model if they have names, otherwise all.
    **common
        See :class:`thalweg.apps.Common`; only ``overwrite``, ``read``, ``progress`` and
        ``command`` are used.

    Returns
    -------
    Result
        Files: codes (CSV), low_rank and outliers (CSV for tables, else NPY), report; for models of
        topics documents (CSV: topic and shares of each document) instead of the parts; for models
        with p-values also scores (CSV: score and p-value of each sample, number of alarms at a
        false discovery rate of 5 %, and the feature that fits worst) and p_values (as low_rank).

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
    check_parts(parts or ())
    if not Path(model).is_file():
        raise InputError(
            f"{model} must be a saved model, got a path that does not exist. Pass model.thalweg of "
            "another job."
        )
    saved = checkpoint.load(model)
    if not hasattr(saved.estimator, "components_"):
        raise InputError(f"{model} must contain a fitted model, got an unfitted one.")
    with open_folder(run, out) as folder:
        begin = perf_counter()
        stream, names, units = _prepared(run, saved.extra, columns)
        if stream.n_features != saved.estimator.n_features_in_:
            raise InputError(
                f"{run.title} must have {saved.estimator.n_features_in_} features like the model, "
                f"got {stream.n_features}. Choose columns, or resize images."
            )
        if parts is None and saved.extra.get("job") == "topics":
            values = _write_topics(folder, saved, stream)
            values["seconds"] = perf_counter() - begin
            return folder.finish(values, saved.estimator)
        parts = PARTS if parts is None else parts
        worker = saved.estimator if units is None else _Rescaled(saved.estimator, units)
        with alarm_files(folder, saved.estimator, names) as alarms:
            values, shown = write_parts(folder, worker, stream, parts, names, run, alarms)
        panels = [] if alarms is None else alarms.panels("sample")
        if alarms is not None:
            values["alarms"] = alarms.n_alarms
        values |= {"model": type(saved.estimator).__name__, "seconds": perf_counter() - begin}
        _report(folder, values, saved, [*panels, codes_panel(shown)])
        return folder.finish(values, saved.estimator)


def _write_topics(folder: Folder, saved: Any, stream: Stream) -> dict[str, Any]:
    """Write the topics of documents, and a report."""
    from thalweg import report

    model, terms, shown = saved.estimator, saved.extra["terms"], Subsample(_N_SHOWN)
    names = [[terms[i] for i in best_words(row, _N_WORDS)] for row in model.components_]
    shares = shares_of_topics(model, stream, folder.run)
    sizes = write_documents(folder, shares, len(names), shown)
    if not shown.items:
        raise InputError(f"{folder.run.title} must have documents, got none.")
    values = {"samples": sum(sizes), "topics": names, "documents of each": sizes}
    counts = {", ".join(words): size for words, size in zip(names, sizes, strict=True)}
    panels = [report.Facts("Documents of each topic", counts), shares_panel(shown, names)]
    summary = f"{sum(sizes)} documents, with the topics of a saved model."
    write_report(folder, f"Topics of {folder.run.title}", panels, summary)
    return values


class _Rescaled:
    """Wrapper of a model of standardised columns, for data in their own units."""

    def __init__(self, model: Any, units: Units) -> None:
        self._model, self._units = model, units
        self.components_ = model.components_

    def decompose(self, X: Any) -> Any:
        """Decompose rows; low-rank part and outliers are in the units of the data."""
        parts = self._model.decompose(self._units.to(X))
        low_rank, outliers = self._units.back(parts.low_rank), parts.outliers * self._units.scale
        return parts._replace(low_rank=low_rank, outliers=outliers)

    def __getattr__(self, name: str) -> Any:
        """Return a method of the model that takes rows in its units, such as p_values."""
        method, units = getattr(self._model, name), self._units
        return lambda X, **options: method(units.to(X), **options)


def _prepared(
    run: Run, extra: dict[str, Any], columns: Sequence[str | int] | None
) -> tuple[Stream, list[str] | None, Units | None]:
    """Return the data as the model expects them, their column names, and their units."""
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
            cube = read_cube(run)
            rows = cube.reshape(-1, cube.shape[2]) / float(extra["white"])
            return streams.open(rows), None, None
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
            f"The model must contain valid preprocessing data, got an error: {error}. Fit it again."
        ) from error


def _same_words(run: Run, extra: dict[str, Any]) -> Stream:
    """Return documents with the terms of the model."""
    weights: Any = None if extra["weights"] is None else np.array(extra["weights"])
    if extra["text"]:
        return _same_texts(run, extra, weights)
    terms = Terms(extra["terms"], np.array(extra["places"], dtype=np.intp), weights)
    stream = open_source(run)
    if stream.n_features <= terms.places.max():
        raise InputError(
            f"{run.title} must have at least {terms.places.max() + 1} columns, one for each word "
            f"of the model, got {stream.n_features}. Pass a matrix with the same columns."
        )
    return weighed(stream, terms)


def _same_texts(run: Run, extra: dict[str, Any], weights: Any) -> Stream:
    """Return texts as rows of the terms of the model; of a table, the same column."""
    from thalweg.apps._texts import open_texts
    from thalweg.apps._word_counts import KnownWords

    path = isinstance(run.source, str | PathLike) and Path(run.source).suffix.lower() != ".txt"
    texts = open_texts(run, extra["column"] if path else None)
    if texts is None:
        raise InputError(
            f"{run.title} must have texts like the data of the model, got numbers only."
        )
    rows = KnownWords(texts.read, {term: i for i, term in enumerate(extra["terms"])})
    return weighed(rows, Terms(extra["terms"], np.arange(rows.n_features), weights))


def _report(folder: Folder, values: dict[str, Any], saved: Any, panels: list[Any]) -> None:
    from thalweg import report

    facts = {"samples": values["samples"], "model": values["model"]}
    facts["outliers"] = f"{values['outlier share']:.1%}"
    facts["model fitted to"] = f"{saved.estimator.n_samples_seen_} samples"
    if "alarms" in values:
        facts["alarms"] = values["alarms"]
    panels = [report.Facts("Key figures", facts), *panels]
    summary = f"{values['samples']} samples, decomposed with a saved model."
    write_report(folder, f"Decomposition of {folder.run.title}", panels, summary)
