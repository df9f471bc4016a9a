"""Gaps of streams, filled from the past: trackers with and without a model in time.

Data
    ``air`` (3000 further rows of ``airquality_uci``, 13 columns) and ``traffic`` (another quarter
    of the 207 sensors of ``metrla_week_speed``, 2016 rows) from the folder THALWEG_DATA, neither of
    which any choice was made on; ``generated`` (3000 x 12: two codes and a deviation of each
    column in time, noise), and ``shuffled``, its rows in random order.
Settings
    A tenth of the known entries is hidden: scattered; in blocks of 24 rows of one column; whole
    rows. Batches of 32 rows are filled before the model learns from them, after the first 256.
    Columns have the units of these. *alone* is ``PetrelsADMM(4, center=True)``, *filtered* the
    same with ``dynamics=AutoregressiveFactors()``, *automatic* with ``dynamics="auto"``. *mean* is
    that of the rows so far, *last* the latest observed value. With ``--quick`` generated data only.
Measure
    Root mean square error over the hidden entries, in standard deviations of their columns; the
    share of hidden entries in intervals of level 0.9 of *automatic*; milliseconds per row of
    learning.
Claim
    *automatic* is never more than 3 % worse than the better of *alone* and *filtered*; its
    intervals cover 0.87 to 0.93 of all entries; on shuffled rows learning takes at most 1.5 times
    as long as without dynamics.
"""

import time
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.data import stored
from benchmarks.shared.partial import Partial
from benchmarks.shared.tables import number, table
from thalweg import PetrelsADMM
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors

PATTERNS, SHARE, BLOCK = ("scattered", "blocks", "rows"), 0.1, 24
BATCH, FIRST, SEED = 32, 256, 201
LEVEL, COVERED, WORSE, SLOWER = 0.9, (0.87, 0.93), 1.03, 1.5
MODELS: dict[str, Any] = {
    "alone": None,
    "filtered": AutoregressiveFactors(),
    "automatic": "auto",
}
SIMPLE = ("mean", "last")


def run(quick: bool) -> dict[str, Any]:
    """Hide, fill ahead, and compare."""
    partial, rows = Partial("tracking_time-quick" if quick else "tracking_time"), []
    with blas_threads.limit(1):
        for name, X in _streams(quick).items():
            for pattern in PATTERNS:
                found = partial.run(f"{name} {pattern}", lambda X=X, p=pattern: _cell(X, p))
                rows.append({"stream": name, "pattern": pattern, **found})
    return {"rows": rows}


def _streams(quick: bool) -> dict[str, Any]:
    rng, N = np.random.default_rng(SEED), 1000 if quick else 3000

    def series(phi: float, n: int) -> Any:
        x = rng.normal(size=(N, n))
        for t in range(1, N):
            x[t] = phi * x[t - 1] + np.sqrt(1.0 - phi * phi) * x[t]
        return x

    X = series(0.98, 2) @ rng.normal(size=(2, 12)) + 0.5 * series(0.95, 12)
    X += 0.2 * rng.normal(size=X.shape)
    made = {"generated": X, "shuffled": rng.permutation(X)}
    if quick:
        return made
    with stored("airquality_uci.npz") as data:
        air = data["X"][3000:6000].astype(np.float64)
    with stored("metrla_week_speed.npz") as data:
        traffic = data["X"][:, 2::4].astype(np.float64)
    return {"air": air, "traffic": traffic, **made}


def _hidden(X: Any, pattern: str) -> Any:
    rng, known = np.random.default_rng(SEED), ~np.isnan(X)
    N, F = X.shape
    if pattern == "scattered":
        return (rng.random(X.shape) < SHARE) & known
    if pattern == "rows":
        return np.repeat(rng.random((N, 1)) < SHARE, F, axis=1) & known
    blocks = rng.random((-(-N // BLOCK), F)) < SHARE
    return np.repeat(blocks, BLOCK, axis=0)[:N] & known


def _cell(X: Any, pattern: str) -> dict[str, Any]:
    hidden = _hidden(X, pattern)
    gaps, scale = np.where(hidden, np.nan, X), np.nanstd(X, axis=0)
    centre, unit = np.nanmean(gaps[:FIRST], axis=0), np.nanstd(gaps[:FIRST], axis=0)
    unit[~(unit > 0.0)] = 1.0
    Z, truth, judged = (gaps - centre) / unit, (X - centre) / unit, hidden[FIRST:]
    errors, seconds, covered = {}, {}, 0.0

    def error(filled: Any) -> float:
        found = (filled - truth[FIRST:]) * unit / scale
        return float(np.sqrt(np.mean(np.square(found[judged]))))

    for name, guess in _guesses(Z).items():
        errors[name] = error(guess[FIRST:])
    for name, dynamics in MODELS.items():
        filled, low, high, seconds[name] = _ahead(Z, dynamics)
        errors[name] = error(filled)
        if name == "automatic":
            inside = (low <= truth[FIRST:]) & (truth[FIRST:] <= high)
            covered = float(np.mean(inside[judged]))
    return {"errors": errors, "milliseconds": seconds, "covered": covered}


def _guesses(Z: Any) -> dict[str, Any]:
    """Return the mean and the latest value of each column before each row."""
    known = ~np.isnan(Z)
    before = np.vstack([np.zeros((1, Z.shape[1])), np.cumsum(np.nan_to_num(Z), axis=0)[:-1]])
    counts = np.vstack([np.zeros((1, Z.shape[1])), np.cumsum(known, axis=0)[:-1]])
    rows = np.where(known, np.arange(len(Z))[:, None], 0)
    latest = np.vstack([rows[:1] * 0, np.maximum.accumulate(rows, axis=0)[:-1]])
    last = np.nan_to_num(Z[latest, np.arange(Z.shape[1])])
    return {"mean": before / np.maximum(counts, 1), "last": last}


def _ahead(Z: Any, dynamics: Any) -> tuple[Any, Any, Any, float]:
    """Return fills of all rows after the first ones, their intervals, and the time of learning."""
    model = PetrelsADMM(4, center=True, dynamics=dynamics, random_state=0)
    begin = time.perf_counter()
    model.partial_fit(Z[:FIRST])
    seconds, parts = time.perf_counter() - begin, []
    for start in range(FIRST, len(Z), BATCH):
        batch = Z[start : start + BATCH]
        found = (model.fill(batch),) * 3 if dynamics is None else model.fill(batch, interval=LEVEL)
        parts.append(found)
        begin = time.perf_counter()
        model.partial_fit(batch)
        seconds += time.perf_counter() - begin
    filled, low, high = (np.vstack(part) for part in zip(*parts, strict=True))
    return filled, low, high, 1e3 * seconds / len(Z)


def report(result: dict[str, Any]) -> str:
    """Return a table of errors, coverage and times, and the claims."""
    names = [*SIMPLE, *MODELS]
    heads = ("RMSE of hidden entries", *names, "covered", *(f"ms {name}" for name in MODELS))
    body = [
        (
            f"{row['stream']}, {row['pattern']}",
            *(number(row["errors"][name], ".3f") for name in names),
            number(row["covered"], ".3f"),
            *(number(row["milliseconds"][name], ".2f") for name in MODELS),
        )
        for row in result["rows"]
    ]
    rows = result["rows"]
    near, covers = _near(rows), _covers(rows)
    judged = {
        f"at most 3 % worse than the better of both ({len(near)} of {len(rows)})": near == rows,
        f"intervals cover 0.87 to 0.93 ({len(covers)} of {len(rows)})": covers == rows,
        f"time of learning on shuffled rows at most 1.5 times ({_slowest(rows):.2f})": (
            _slowest(rows) <= SLOWER
        ),
    }
    verdicts = [f"{goal}: {'met' if met else 'NOT met'}" for goal, met in judged.items()]
    return "\n".join([table(heads, body), "", *verdicts])


def findings(result: dict[str, Any]) -> list[Finding]:
    """Compare with the fills of the row alone, and intervals with their level."""
    rows = result["rows"]
    timed = [row for row in rows if row["stream"] != "shuffled"]
    ratios = [row["errors"]["automatic"] / row["errors"]["alone"] for row in timed]
    simple = [
        row["errors"]["automatic"] / min(row["errors"][name] for name in SIMPLE) for row in timed
    ]
    near, shares = _near(rows), [row["covered"] for row in rows]
    return [
        Finding(
            "Of streams in time, fills from the past have "
            f"{min(ratios):.2f} to {max(ratios):.2f} times the error of fills of the row alone, "
            f"and {min(simple):.2f} to {max(simple):.2f} times that of the better of the latest "
            "value and the mean.",
            max(ratios) < 1.0,
        ),
        Finding(
            f"They are at most 3 % worse than the better of both in {len(near)} of {len(rows)} "
            "cells.",
            2 * len(near) > len(rows),
        ),
        Finding(
            f"Intervals of level {LEVEL} cover {min(shares):.3f} to {max(shares):.3f} of the "
            "hidden entries.",
            min(shares) > 0.8,
        ),
        Finding(
            "Of rows in random order, learning takes at most "
            f"{_slowest(rows):.2f} times as long as without dynamics.",
            _slowest(rows) < 3.0,
        ),
    ]


def _near(rows: Any) -> list[Any]:
    def better(row: Any) -> float:
        return min(row["errors"]["alone"], row["errors"]["filtered"])

    return [row for row in rows if row["errors"]["automatic"] <= WORSE * better(row)]


def _covers(rows: Any) -> list[Any]:
    return [row for row in rows if COVERED[0] <= row["covered"] <= COVERED[1]]


def _slowest(rows: Any) -> float:
    """Return the largest ratio of times on rows in random order."""
    times = [row["milliseconds"] for row in rows if row["stream"] == "shuffled"]
    return max(part["automatic"] / part["alone"] for part in times)
