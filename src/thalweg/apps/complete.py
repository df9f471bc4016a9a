"""Fill the gaps of a table with a batch method."""

from collections.abc import Sequence
from os import PathLike
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from thalweg._checks import require_positive
from thalweg.apps._alarms import alarm_files
from thalweg.apps._columns import measure
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._heat import TableSample
from thalweg.apps._learn import reject_streaming_options
from thalweg.apps._mask import THRESHOLD, beyond_threshold
from thalweg.apps._models import build
from thalweg.apps._rank import choose_rank
from thalweg.apps._report import save_model, write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._streams import columns_of, open_source, read_all
from thalweg.apps._tables import csv_file
from thalweg.apps._time import (
    error_panels,
    errors_of,
    fills_in_time,
    rank_of,
    standard_errors,
    use_time,
)

__all__ = ["complete"]


def complete(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    method: str = "robust-matrix-completion",
    threshold: float = THRESHOLD,
    columns: Sequence[str | int] | None = None,
    **common: Unpack[Common],
) -> Result:
    """Fill the gaps of a table with outliers by matrix completion, [T] V-B.

    Rows are consecutive in time, which is used if it helps: entries are hidden in the pattern of
    the gaps, and decide about time, season and rank. Fills of columns without negative entries are
    nonnegative. The table must fit into memory; use :func:`thalweg.apps.track` for longer ones.

    Parameters
    ----------
    source : path, array or Stream
        A table of numbers; empty cells and NaN are gaps.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    method : str, default='robust-matrix-completion'
        Name of a completion method, such as 'lrgeom-cg' or 'rpcagd'.
    threshold : float, default=5.0
        Threshold for outliers, in multiples of the noise scale.
    columns : list of str or int, or None, default=None
        Columns to use; None selects all.
    **common
        See :class:`thalweg.apps.Common`. By default, the number of components is chosen by
        cross-validation on hidden entries.

    Returns
    -------
    Result
        Files: completed (CSV), errors (CSV: the standard error of each fill, empty at observed
        entries and for methods without standard errors), outliers (CSV, one row per outlier),
        scores (CSV: score and p-value of each row, number of alarms at a false discovery rate of
        5 %, and the column that fits worst), p_values (CSV: of each entry), model, report. The
        values have the errors of hidden entries by length of gap, beside those of linear
        interpolation and of the column mean, in standard deviations of the columns.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from thalweg import apps
    >>> X = np.outer(np.arange(1.0, 31.0), np.arange(1.0, 9.0))
    >>> X[3, 2] = np.nan
    >>> with TemporaryDirectory() as folder:
    ...     result = apps.complete(X, folder + "/out", components=1)
    >>> result.values["gaps filled"]
    1
    """
    run = Run("complete", source, **common)
    require_positive(threshold=threshold)
    with open_folder(run, out) as folder:
        table = open_source(run, columns=columns)
        begin = perf_counter()
        units, drawn = measure(table, run)
        X = read_all(table, run, "Use track instead.")
        X = X if isinstance(X, np.ndarray) else X.toarray()
        Z = units.to(X)
        model = build(method, run.settings, components=run.components, seed=run.seed)
        reject_streaming_options(model, run)
        run.notify("choosing", 0, None)
        if fills_in_time(model):
            use_time(model, X, units, run)
        elif run.components is None and "n_components" not in run.settings:
            model.set_params(n_components=choose_rank(units.to(drawn), run.seed))
        if not isinstance(model.n_components, str):
            model.set_params(n_components=min(model.n_components, *X.shape))
        completed = np.where(np.isnan(X), units.back(model.complete(Z)), X)
        std = standard_errors(model, Z) * units.scale
        outliers = beyond_threshold(model.decompose(Z).outliers, model, threshold) * units.scale
        values = {
            "rows": len(X),
            "columns": X.shape[1],
            "components": rank_of(model),
            "gaps filled": int(np.count_nonzero(np.isnan(X))),
            "outliers": int(np.count_nonzero(outliers)),
            **errors_of(model),
            "seconds": perf_counter() - begin,
        }
        names = columns_of(table)
        with alarm_files(folder, model, names) as alarms:
            if alarms is not None:
                alarms.write(0, Z, model)
        panels = [] if alarms is None else alarms.panels()
        values["alarms"] = 0 if alarms is None else alarms.n_alarms
        _write(folder, X, completed, outliers, names)
        with csv_file(folder.file("errors", "standard_errors.csv"), names) as table_of_errors:
            table_of_errors.write(std)
        save_model(folder, model, columns=names, units=[part.tolist() for part in units])
        shown = TableSample()
        shown.add(X, completed, outliers)
        panels = [shown.panel(names), *panels, *error_panels(values)]
        _report(folder, panels, values, method)
        return folder.finish(values, model)


def _write(folder: Folder, X: Any, completed: Any, outliers: Any, names: list[str]) -> None:
    with csv_file(folder.file("completed", "completed.csv"), names) as table:
        table.write(completed)
    header = ("row", "column", "value", "expected")
    with csv_file(folder.file("outliers", "outliers.csv"), header) as table:
        for i, j in np.argwhere(outliers != 0):
            value = float(X[i, j])
            table.add((int(i), names[j], value, value - float(outliers[i, j])))


def _report(folder: Folder, panels: list[Any], values: dict[str, Any], method: str) -> None:
    from thalweg import report

    names = ("rows", "columns", "components", "gaps filled", "outliers", "alarms")
    facts = {name: values[name] for name in names}
    summary = (
        f"{values['rows']} rows and {values['columns']} columns, completed with "
        f"{values['components']} components: {values['gaps filled']} gaps filled, "
        f"{values['outliers']} outliers."
    )
    panels = [report.Facts("Key figures", facts), *panels]
    write_report(folder, f"Completion of {folder.run.title}", panels, summary, method=method)
