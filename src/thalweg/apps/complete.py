"""Fill the gaps of a table with a batch method."""

from collections.abc import Sequence
from os import PathLike
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from thalweg._checks import require_positive
from thalweg.apps._alarms import alarm_files
from thalweg.apps._columns import Rows, read_table
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._header import Table, open_table
from thalweg.apps._heat import TableSample
from thalweg.apps._learn import reject_streaming_options
from thalweg.apps._models import build
from thalweg.apps._report import save_model, write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._tables import csv_file
from thalweg.apps._threshold import THRESHOLD, beyond_threshold
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
    time: str | None = None,
    **common: Unpack[Common],
) -> Result:
    """Fill the gaps of a table with outliers by matrix completion, [T] V-B.

    Rows are consecutive in time, which is used if it helps: entries are hidden in the pattern of
    the gaps, and decide about time, season and rank. Fills of columns without negative entries are
    nonnegative. The table must fit into memory; use :func:`thalweg.apps.track` for longer ones.

    Parameters
    ----------
    source : path, array or Stream
        A table of numbers, perhaps with a column of times; empty cells and NaN are gaps.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    method : str, default='robust-matrix-completion'
        Name of a completion method, such as 'lrgeom-cg' or 'rpcagd'.
    threshold : float, default=5.0
        Threshold for outliers, in multiples of the noise scale.
    columns : list of str or int, or None, default=None
        Columns to use; None selects all, but the times.
    time : str or None, default=None
        Name of the column of times, which sets the steps between rows and is the first column of
        every output. None takes the first column with dates or times, if there is one.
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
        table = open_table(run, columns, time)
        begin = perf_counter()
        rows = read_table(table, run, "Use track instead.")
        X, units = rows.X, rows.units
        Z = units.to(X)
        model = build(method, run.settings, components=run.components, seed=run.seed)
        reject_streaming_options(model, run)
        run.notify("choosing", 0, None)
        _configure(model, rows, run)
        when = {} if rows.seconds is None or not fills_in_time(model) else {"times": rows.seconds}
        completed = np.where(np.isnan(X), units.back(model.complete(Z, **when)), X)
        std = standard_errors(model, Z, **when) * units.scale
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
        names = table.names
        with alarm_files(folder, model, names, time=table.header()) as alarms:
            if alarms is not None:
                alarms.write(0, Z, model, labels=rows.labels)
        panels = [] if alarms is None else alarms.panels()
        values["alarms"] = 0 if alarms is None else alarms.n_alarms
        _write(folder, table, rows, completed, outliers)
        with csv_file(folder.file("errors", "standard_errors.csv"), table.header(*names)) as file:
            file.write(std, labels=rows.labels)
        save_model(folder, model, columns=names, units=[part.tolist() for part in units])
        shown = TableSample()
        shown.add(X, completed, outliers)
        panels = [shown.panel(names), *panels, *error_panels(values)]
        _report(folder, panels, values, method)
        return folder.finish(values, model)


def _configure(model: Any, rows: Rows, run: Run) -> None:
    """Set the model in time, and bound the number of components."""
    if fills_in_time(model):
        use_time(model, rows.X, rows.units, run)
    if not isinstance(model.n_components, str):
        model.set_params(n_components=min(model.n_components, *rows.X.shape))


def _write(folder: Folder, table: Table, rows: Rows, completed: Any, outliers: Any) -> None:
    names = table.names
    with csv_file(folder.file("completed", "completed.csv"), table.header(*names)) as file:
        file.write(completed, labels=rows.labels)
    header = table.header("row", "column", "value", "expected")
    with csv_file(folder.file("outliers", "outliers.csv"), header) as file:
        for i, j in np.argwhere(outliers != 0):
            value = float(rows.X[i, j])
            label = () if rows.labels is None else (rows.labels[i],)
            file.add((*label, int(i), names[j], value, value - float(outliers[i, j])))


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
