"""A table of sensors, followed through gaps, outliers and drift."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from os import PathLike
from time import perf_counter
from typing import Any, NamedTuple, Unpack

import numpy as np

from thalweg._checks import require_positive
from thalweg._typing import Array
from thalweg.apps._columns import Units, measure
from thalweg.apps._drift import Drift
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._heat import Shown
from thalweg.apps._learn import History, learn
from thalweg.apps._mask import LEVELS, distant
from thalweg.apps._models import build
from thalweg.apps._rank import choose_rank
from thalweg.apps._report import learning_panels, save_model, write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._streams import Mapped, columns_of, open_source, rows_at_once
from thalweg.apps._tables import csv_file, write_csv
from thalweg.streams import Stream

__all__ = ["track"]

_LOOK = 32  # rows from one point of the drift curve to the next


class _Followed(NamedTuple):
    """Some rows of a table in its own units, and what was made of them."""

    first: int
    X: Array
    completed: Array
    outliers: Array


def track(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    method: str = "petrels-admm",
    levels: float = LEVELS,
    columns: Sequence[str | int] | None = None,
    **common: Unpack[Common],
) -> Result:
    """Follow the subspace of a table: fill its gaps, tell outliers, show drift and jumps, [T].

    The table is read three times: for the units of its columns, to learn, and to write. In the last
    pass it is followed once more from what was learned, so that each row is filled in by the
    subspace of its time.

    Parameters
    ----------
    source : path, array or Stream
        A table of numbers, one row per time, with empty cells or NaN at gaps.
    out : path or None, default=None
        Folder of the results; None is one beside the work at hand, named after the source.
    method : str, default='petrels-admm'
        Name of a tracker.
    levels : float, default=5.0
        Noise levels beyond which an entry is called an outlier. The method itself leaves out what
        is less far, too; that costs little, and most of it is noise.
    columns : list of str or int, or None, default=None
        Which columns; None takes all.
    **common
        See :class:`thalweg.apps.Common`. The number of components is, if it is not given, the one
        at which hidden entries of some rows are best filled in.

    Returns
    -------
    Result
        Files: completed (CSV), outliers (CSV, one line each), drift (CSV: angles in radians, from
        where this run began), model, report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg import apps, synthetic
    >>> X = synthetic.subspace_stream(400, 8, 2, missing=0.1, random_state=0).X
    >>> with TemporaryDirectory() as folder:
    ...     result = apps.track(X, folder + "/out", components=2)
    >>> result.values["rows"], result.values["gaps filled"] > 0
    (400, True)
    """
    run = Run("track", source, **common)
    require_positive(levels=levels)
    with open_folder(run, out) as folder:
        table = open_source(run, columns=columns)
        begin = perf_counter()
        units, drawn = measure(table, run)
        rank = run.components or choose_rank(units.to(drawn), run.seed)
        model = build(method, run.settings, components=rank, seed=run.seed)
        drift = Drift()
        scaled = Mapped(table, units.to, table.n_features)
        history = learn(model, scaled, _in_looks(run), note=drift.note)
        shown = Shown()
        values: dict[str, Any] = {"rows": 0, "columns": table.n_features, "components": rank}
        values |= {"gaps filled": 0, "outliers": 0}
        _write(folder, _follow(model, table, units, run, levels), columns_of(table), shown, values)
        write_csv(folder.file("drift", "drift.csv"), ("sample", "angle"), drift.points)
        values["jumps"] = [int(sample) for sample in getattr(model, "jumps_", ())]
        values["seconds"] = perf_counter() - begin
        extra = {"columns": columns_of(table), "units": [part.tolist() for part in units]}
        save_model(folder, model, **extra)
        _report(folder, history, shown.panel(columns_of(table)), drift.points, values, method)
        return folder.finish(values, model)


def _follow(
    model: Any, table: Stream, units: Units, run: Run, levels: float = LEVELS
) -> Iterator[_Followed]:
    """Yield the rows of a table with their gaps filled in and their outliers.

    A copy of the model follows the table again.
    """
    model, n = deepcopy(model), table.n_samples
    for first, rows in table.batches(rows_at_once(table.n_features)):
        Z = units.to(rows)
        parts = model.partial_fit(Z).decompose(Z)
        X = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())
        completed = np.where(np.isnan(X), units.back(parts.low_rank), X)
        far = distant(parts.outliers, model, levels)
        yield _Followed(first, X, completed, far * units.scale)
        run.tell("writing", first + len(X), n)


def _write(
    folder: Folder,
    rows: Iterator[_Followed],
    columns: list[str],
    shown: Shown,
    values: dict[str, Any],
) -> None:
    """Write the completed table, and a line for each outlier."""
    heads = ("row", "column", "value", "expected")
    with (
        csv_file(folder.file("completed", "completed.csv"), columns) as completed,
        csv_file(folder.file("outliers", "outliers.csv"), heads) as outliers,
    ):
        for part in rows:
            completed.write(part.completed)
            for i, j in np.argwhere(part.outliers != 0):
                value, off = float(part.X[i, j]), float(part.outliers[i, j])
                outliers.add((part.first + int(i), columns[j], value, value - off))
            shown.add(part.X, part.completed, part.outliers)
            values["rows"] += len(part.X)
            values["gaps filled"] += int(np.count_nonzero(np.isnan(part.X)))
            values["outliers"] += int(np.count_nonzero(part.outliers))


def _in_looks(run: Run) -> Run:
    """Return the options with small batches: to a tracker they are all the same."""
    return run if run.batch_size else replace(run, batch_size=_LOOK)


def _report(
    folder: Folder,
    history: History,
    table: Any,
    drift: list[tuple[int, float]],
    values: dict[str, Any],
    method: str,
) -> None:
    from thalweg import report

    facts = {name: values[name] for name in ("rows", "columns", "components")}
    facts |= {"gaps filled": values["gaps filled"], "outliers": values["outliers"]}
    facts["jumps"] = len(values["jumps"])
    panels = [report.Facts("Figures", facts), table]
    if len(drift) > 1:
        samples, angles = np.array(drift).T
        turned = {"angle": np.degrees(angles)}
        panels.append(
            report.Curve("Drift of the subspace", samples, turned, xlabel="row", ylabel="degrees")
        )
    panels += learning_panels(history)
    summary = (
        f"{values['rows']} rows of {values['columns']} columns were followed with "
        f"{values['components']} components: {values['gaps filled']} gaps were filled, and "
        f"{values['outliers']} entries do not fit."
    )
    write_report(folder, f"Track of {folder.run.title}", panels, summary, method=method)
