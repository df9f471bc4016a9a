"""Continue a table."""

from collections.abc import Sequence
from os import PathLike
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from thalweg._checks import require_whole
from thalweg.apps._columns import Rows, read_table
from thalweg.apps._folder import open_folder
from thalweg.apps._header import Table, open_table
from thalweg.apps._learn import reject_streaming_options
from thalweg.apps._models import build
from thalweg.apps._report import save_model, write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._tables import csv_file
from thalweg.apps._time import error_panels, errors_of, rank_of, use_time

__all__ = ["forecast"]

_METHOD = "robust-matrix-completion"
# Columns, and rows before the forecast, that the report shows.
_SHOWN_COLUMNS, _SHOWN_ROWS = 6, 4


def forecast(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    steps: int = 24,
    interval: float = 0.9,
    columns: Sequence[str | int] | None = None,
    time: str | None = None,
    **common: Unpack[Common],
) -> Result:
    """Continue a table with gaps and outliers, with standard deviations and intervals.

    The model is that of :class:`thalweg.RobustMatrixCompletion` with ``dynamics="auto"``.

    Parameters
    ----------
    source : path, array or Stream
        A table of numbers, one row per time step, perhaps with a column of times; empty cells and
        NaN are gaps.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    steps : int, default=24
        Number of rows.
    interval : float, default=0.9
        Level of the intervals.
    columns : list of str or int, or None, default=None
        Columns to use; None selects all, but the times.
    time : str or None, default=None
        Name of the column of times, which sets the steps between rows and is the first column of
        every output. None takes the first column with dates or times, if there is one.
    **common
        See :class:`thalweg.apps.Common`. By default, the number of components is chosen by hidden
        entries.

    Returns
    -------
    Result
        Files: forecast, errors (standard deviations), lower, upper (CSV, one line per row), model,
        report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from thalweg import apps
    >>> X = np.outer(np.sin(np.arange(300.0) / 9), [1.0, 2.0, 3.0])
    >>> with TemporaryDirectory() as folder:
    ...     result = apps.forecast(X, folder + "/out", steps=5)
    >>> result.values["steps"]
    5
    """
    run = Run("forecast", source, **common)
    require_whole(1, steps=steps)
    with open_folder(run, out) as folder:
        table = open_table(run, columns, time)
        begin = perf_counter()
        rows = read_table(table, run, "Use fewer columns or rows.")
        X, units = rows.X, rows.units
        model = build(_METHOD, run.settings, components=run.components, seed=run.seed)
        reject_streaming_options(model, run)
        run.notify("choosing", 0, None)
        use_time(model, X, units, run)
        model.fit(units.to(X), times=rows.seconds)
        mean, std, lower, upper = model.forecast(steps, return_std=True, interval=interval)
        mean, lower, upper = (units.back(part) for part in (mean, lower, upper))
        names, labels = table.names, _later(table, rows, model, steps)
        parts = {"forecast": mean, "errors": std * units.scale, "lower": lower, "upper": upper}
        for key, values in parts.items():
            header = names if labels is None else table.header(*names)
            with csv_file(folder.file(key, f"{key}.csv"), header) as file:
                file.write(values, labels=labels)
        facts = {
            "rows": len(X),
            "columns": X.shape[1],
            "components": rank_of(model),
            "steps": steps,
        }
        save_model(folder, model, columns=names, units=[part.tolist() for part in units])
        _report(folder, X, parts, names, facts, error_panels(errors_of(model)))
        return folder.finish({**facts, "seconds": perf_counter() - begin}, model)


def _later(table: Table, rows: Rows, model: Any, steps: int) -> list[str] | None:
    """Return the times of the forecast in the format of the table; None without times."""
    if table.time is None or rows.labels is None or rows.seconds is None:
        return None
    state, form = model.timed_fills_.forecasts.state, table.time.format
    times = state.last.time + np.arange(1, steps + 1) * state.step
    return [form.text(float(time), rows.labels[-1]) for time in times]


def _report(
    folder: Any, X: Any, parts: dict[str, Any], names: list[str], facts: Any, others: list[Any]
) -> None:
    from thalweg import report

    n, steps = len(X), facts["steps"]
    first = max(0, n - _SHOWN_ROWS * steps)
    rows = np.arange(first, n + steps)
    panels: list[Any] = [report.Facts("Key figures", facts)]
    for j in range(min(_SHOWN_COLUMNS, X.shape[1])):
        before, after = np.full(n - first, np.nan), np.full(steps, np.nan)
        curves = {"table": np.append(X[first:, j], after)}
        for key in ("forecast", "lower", "upper"):
            curves[key] = np.append(before, parts[key][:, j])
        panels.append(report.Curve(names[j], rows, curves, xlabel="row"))
    summary = f"{n} rows and {X.shape[1]} columns, continued by {steps} rows."
    title = f"Forecast of {folder.run.title}"
    write_report(folder, title, [*panels, *others], summary, method=_METHOD)
