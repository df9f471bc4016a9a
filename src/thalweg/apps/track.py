"""Track the subspace of a table with gaps, outliers and drift."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from os import PathLike
from time import perf_counter
from typing import Any, NamedTuple, Unpack

import numpy as np

from thalweg._checks import require_positive
from thalweg._typing import Array
from thalweg.apps._alarms import AlarmWriter, alarm_files
from thalweg.apps._columns import Units, measure
from thalweg.apps._drift import Drift
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._header import Table, open_table
from thalweg.apps._heat import TableSample
from thalweg.apps._learn import History, learn
from thalweg.apps._local_fill import LocalFill
from thalweg.apps._models import build
from thalweg.apps._report import learning_panels, rank_panels, save_model, write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._streams import Mapped, read_batch_size
from thalweg.apps._tables import csv_file, write_csv
from thalweg.apps._threshold import THRESHOLD, beyond_threshold
from thalweg.apps._time import error_panels, errors_by_gap

__all__ = ["track"]

_DRIFT_ROWS = 32  # rows between two points of the drift curve


class _TrackedRows(NamedTuple):
    """Rows of a table, completed rows and outliers, in the units of the data."""

    first: int
    X: Array
    completed: Array
    outliers: Array
    std: Array
    labels: list[str] | None


def track(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    method: str = "petrels-admm",
    threshold: float = THRESHOLD,
    columns: Sequence[str | int] | None = None,
    time: str | None = None,
    **common: Unpack[Common],
) -> Result:
    """Track the subspace of a table: fill gaps, detect outliers, measure drift and jumps, [T].

    The table is read three times: to standardise its columns, to fit the model, and to write the
    results. In the last pass a copy of the fitted model tracks the table again, so that each row is
    completed with the current subspace, and with the deviation of each column from it, which is
    smoothed in time if that helps with hidden entries. Fills of columns without negative entries
    are nonnegative.

    Parameters
    ----------
    source : path, array or Stream
        A table of numbers, one row per time step, perhaps with a column of times; empty cells and
        NaN are gaps.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    method : str, default='petrels-admm'
        Name of a tracker.
    threshold : float, default=5.0
        Threshold for listed outliers, in multiples of the noise scale. The method itself also
        ignores smaller deviations; this costs little, and most of them are noise.
    columns : list of str or int, or None, default=None
        Columns to use; None selects all, but the times.
    time : str or None, default=None
        Name of the column of times, which sets the steps between rows and is the first column of
        every output. None takes the first column with dates or times, if there is one.
    **common
        See :class:`thalweg.apps.Common`. By default, the number of components is found by
        entries that are hidden in random rows.

    Returns
    -------
    Result
        Files: completed (CSV), errors (CSV: the standard error of each fill, empty at observed
        entries), outliers (CSV, one row per outlier), scores (CSV: score and p-value of each row,
        number of alarms at a false discovery rate of 5 %, and the column that fits worst),
        p_values (CSV: of each entry), drift (CSV: angles in radians; a resumed run starts at its
        first new batch), model, report.

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
    from thalweg.dynamics.bounds import sign_bounds
    from thalweg.learning.completion_rank import choose_subspace_rank

    run = Run("track", source, **common)
    require_positive(threshold=threshold)
    with open_folder(run, out) as folder:
        opened = open_table(run, columns, time)
        table, names = opened.stream, opened.names
        begin = perf_counter()
        units, drawn = measure(table, run, names)
        evidence, rank = None, run.components
        if rank is None and "n_components" not in run.settings:
            run.notify("choosing", 0, None)
            evidence = choose_subspace_rank(units.to(drawn), np.random.default_rng(run.seed))
            rank = evidence.chosen
        model = build(method, run.settings, components=rank, seed=run.seed)
        drift = Drift()
        scaled = Mapped(table, units.to, table.n_features)
        history = learn(model, scaled, _with_small_batches(run), note=drift.note)
        shown = TableSample()
        values: dict[str, Any] = {"rows": 0, "columns": table.n_features}
        values |= {"components": len(model.components_)}
        values |= {"gaps filled": 0, "outliers": 0, "alarms": 0}
        local = LocalFill(run.seed)
        bounds = sign_bounds(drawn)
        panels: list[Any] = []
        with alarm_files(folder, model, names, time=opened.header()) as alarms:
            tracked = _tracked_rows(model, opened, units, run, threshold, local, bounds, alarms)
            _write(folder, tracked, opened, shown, values)
        if alarms is not None:
            values["alarms"], panels = alarms.n_alarms, alarms.panels()
        write_csv(folder.file("drift", "drift.csv"), ("sample", "angle"), drift.points)
        values |= errors_by_gap(local.calibration, local.baselines)
        values["jumps"] = [int(sample) for sample in getattr(model, "jumps_", ())]
        values["seconds"] = perf_counter() - begin
        extra = {"columns": names, "units": [part.tolist() for part in units]}
        save_model(folder, model, **extra)
        panels = [shown.panel(names), *panels, *rank_panels(evidence)]
        _report(folder, history, panels, drift.points, values, method)
        return folder.finish(values, model)


def _tracked_rows(
    model: Any,
    opened: Table,
    units: Units,
    run: Run,
    threshold: float,
    local: LocalFill,
    bounds: tuple[Array, Array],
    alarms: AlarmWriter | None = None,
) -> Iterator[_TrackedRows]:
    """Yield the rows of a table with filled gaps and outliers, from a second tracking pass.

    Rows are searched for anomalies before the model learns from them again.
    """
    table, texts = opened.stream, opened.labels()
    model, n = deepcopy(model), table.n_samples
    for first, rows in table.batches(read_batch_size(table.n_features)):
        Z = units.to(rows)
        labels = None if texts is None else list(islice(texts, len(Z)))
        if alarms is not None:
            alarms.write(first, Z, model, labels)
        parts = model.partial_fit(Z).decompose(Z)
        X = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())
        times = None if labels is None else opened.seconds(labels)
        fills = local.fill(
            Z, parts.low_rank, parts.outliers, lambda Y: model.decompose(Y).low_rank, times
        )
        completed = np.where(np.isnan(X), np.clip(units.back(fills.values), *bounds), X)
        std = np.where(np.isnan(X), fills.std * units.scale, np.nan)
        outliers = beyond_threshold(parts.outliers, model, threshold)
        yield _TrackedRows(first, X, completed, outliers * units.scale, std, labels)
        run.notify("writing", first + len(X), n)


def _write(
    folder: Folder,
    rows: Iterator[_TrackedRows],
    opened: Table,
    shown: TableSample,
    values: dict[str, Any],
) -> None:
    """Write the completed table, and a row for each outlier."""
    columns = opened.names
    header, wide = opened.header("row", "column", "value", "expected"), opened.header(*columns)
    with (
        csv_file(folder.file("completed", "completed.csv"), wide) as completed,
        csv_file(folder.file("errors", "standard_errors.csv"), wide) as errors,
        csv_file(folder.file("outliers", "outliers.csv"), header) as outliers,
    ):
        for part in rows:
            completed.write(part.completed, labels=part.labels)
            errors.write(part.std, labels=part.labels)
            for i, j in np.argwhere(part.outliers != 0):
                value, outlier = float(part.X[i, j]), float(part.outliers[i, j])
                label = () if part.labels is None else (part.labels[i],)
                outliers.add((*label, part.first + int(i), columns[j], value, value - outlier))
            shown.add(part.X, part.completed, part.outliers)
            values["rows"] += len(part.X)
            values["gaps filled"] += int(np.count_nonzero(np.isnan(part.X)))
            values["outliers"] += int(np.count_nonzero(part.outliers))


def _with_small_batches(run: Run) -> Run:
    """Return the options with small batches, which do not change the result of a tracker."""
    return run if run.batch_size else replace(run, batch_size=_DRIFT_ROWS)


def _report(
    folder: Folder,
    history: History,
    shown: list[Any],
    drift: list[tuple[int, float]],
    values: dict[str, Any],
    method: str,
) -> None:
    from thalweg import report

    facts = {name: values[name] for name in ("rows", "columns", "components")}
    facts |= {"gaps filled": values["gaps filled"], "outliers": values["outliers"]}
    facts |= {"alarms": values["alarms"], "jumps": len(values["jumps"])}
    panels = [report.Facts("Key figures", facts), *shown, *error_panels(values)]
    if len(drift) > 1:
        samples, angles = np.array(drift).T
        turned = {"angle": np.degrees(angles)}
        panels.append(
            report.Curve("Drift of the subspace", samples, turned, xlabel="row", ylabel="degrees")
        )
    panels += learning_panels(history)
    summary = (
        f"{values['rows']} rows and {values['columns']} columns, tracked with "
        f"{values['components']} components: {values['gaps filled']} gaps filled, "
        f"{values['outliers']} outliers."
    )
    write_report(folder, f"Tracking of {folder.run.title}", panels, summary, method=method)
