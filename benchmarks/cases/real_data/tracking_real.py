"""Real gaps: hidden entries of air quality and of traffic speeds, filled in again.

Data
    ``airquality_uci``: 9357 hours of 13 quantities in Italy, 13 % of them missing, 10 % of what
    is known hidden. ``metrla_week_speed``: 2016 times 5 minutes of 207 speeds in Los Angeles,
    30 % hidden. Both from the folder THALWEG_DATA. Entries are hidden in two ways: *scattered*,
    each by itself, and in *blocks*, stretches of a day (air) or of six hours (traffic) of one
    column. 2 seeds (1 with ``--quick``).
Settings
    Columns are brought to mean 0 and variance 1 by what is observed. *PetrelsADMM*: ``complete``,
    3 passes, and *RobustMatrixCompletion*: defaults but for the rank. *LRGeomCG*: least squares,
    for data that have no outliers. Ranks 2, 4 and 6 (air), 4 and 8 (traffic). *column mean*;
    *interpolation*: linear in time, column by column.
Measure
    Root mean square error over the hidden entries, in standard deviations of their columns (air)
    and in miles an hour (traffic); the mean over seeds.
Claim
    The best rank of ``PetrelsADMM`` or ``RobustMatrixCompletion`` is ahead of the column mean;
    and of interpolation, except where neighbours in time almost determine an entry.
Note
    Interpolation knows of time, which a subspace does not.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.data import stored
from benchmarks.shared.tables import number, table
from benchmarks.shared.trackers import OURS, estimator, there

# file, share hidden, length of a block, ranks, whether the error is in units of the data
SETS = {
    "air": ("airquality_uci.npz", 0.1, 24, (2, 4, 6), False),
    "traffic": ("metrla_week_speed.npz", 0.3, 72, (4, 8), True),
}
METHODS = (OURS, "RobustMatrixCompletion", "LRGeomCG")
SIMPLE = ("column mean", "interpolation")


def run(quick: bool) -> dict[str, Any]:
    """Hide, fill and compare; without the data there is nothing to show."""
    seeds = range(1 if quick else 2)
    methods = there(METHODS)
    rows = []
    with blas_threads.limit(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, (file, share, length, ranks, in_units) in SETS.items():
            with stored(file) as data:
                X = data["X"].astype(np.float64)
            for pattern, run_length in (("scattered", 1), ("blocks", length)):
                errors = [
                    _errors(X, _hidden(X, share, run_length, seed), methods, ranks, in_units)
                    for seed in seeds
                ]
                mean = {key: float(np.mean([e[key] for e in errors])) for key in errors[0]}
                rows.append({"data": name, "pattern": pattern, "share": share, "rmse": mean})
    return {"seeds": list(seeds), "rows": rows}


def _hidden(X: Any, share: float, length: int, seed: int) -> Any:
    """Return which known entries to hide: runs of this length, down the columns."""
    rng = np.random.default_rng(seed)
    n, p = X.shape
    starts = rng.random((-(-n // length), p)) < share
    shift = int(rng.integers(length))
    hidden = np.roll(np.repeat(starts, length, axis=0), shift, axis=0)[:n]
    return hidden & ~np.isnan(X)


def _errors(
    X: Any, hidden: Any, methods: list[str], ranks: tuple[int, ...], in_units: bool
) -> dict[str, float]:
    known = np.where(hidden, np.nan, X)
    mean, scale = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    Z = (known - mean) / scale
    unit = scale if in_units else np.ones_like(scale)
    truth = (X - mean) / scale

    def rmse(filled: Any) -> float:
        return float(np.sqrt(np.mean(np.square(((filled - truth) * unit)[hidden]))))

    found = {"column mean": rmse(np.zeros_like(Z)), "interpolation": rmse(_interpolated(Z))}
    for name in methods:
        for rank in ranks:
            found[f"{name}, {rank}"] = rmse(estimator(name, rank, random_state=0).complete(Z))
    return found


def _interpolated(Z: Any) -> Any:
    filled, t = Z.copy(), np.arange(len(Z))
    for column in filled.T:
        observed = ~np.isnan(column)
        column[~observed] = np.interp(t[~observed], t[observed], column[observed])
    return filled


def report(result: dict[str, Any]) -> str:
    """Return the error of everyone, and who is ahead."""
    lines: list[str] = []
    ahead: dict[str, list[bool]] = {other: [] for other in SIMPLE}
    for row in result["rows"]:
        rmse = row["rmse"]
        own = {key: value for key, value in rmse.items() if key not in SIMPLE}
        ours = {key: v for key, v in own.items() if key.startswith((OURS, "RobustMatrix"))}
        best = min(ours, key=ours.__getitem__)
        lines.append(f"{row['data']}, {row['share']:.0%} hidden, {row['pattern']}:")
        rows = ((name, number(value, ".3f")) for name, value in rmse.items())
        lines.append(table(("method, rank", "RMSE"), rows))
        for other in SIMPLE:
            ahead[other].append(rmse[best] < rmse[other])
            word = "ahead of" if ahead[other][-1] else "BEHIND"
            lines.append(f"best of ours ({best}) {word} {other}: {rmse[best] / rmse[other]:.2f}")
        lines.append("")
    lines += [f"ahead of {k}: {sum(held)} of {len(held)} met" for k, held in ahead.items()]
    return "\n".join(lines)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the best of ours beside interpolation and least squares, for each way of hiding."""
    rows = {(row["data"], row["pattern"]): row["rmse"] for row in result["rows"]}
    found = []
    for name, unit in (("air", "standard deviations"), ("traffic", "mph")):
        single, blocks = (_bests(rows[name, pattern]) for pattern in ("scattered", "blocks"))
        found.append(
            Finding(
                f"{name.capitalize()}, RMSE in {unit}: for single entries, neighbours in time "
                "predict better than other columns "
                f"({single['interpolation']:.2f} by interpolation, {single['ours']:.2f} by the "
                f"best of ours, {single['column mean']:.2f} by the mean); for blocks, other "
                f"columns do ({blocks['interpolation']:.2f}, {blocks['ours']:.2f}, "
                f"{blocks['column mean']:.2f}).",
                single["interpolation"] < single["ours"] < single["column mean"]
                and blocks["ours"] < min(blocks["interpolation"], blocks["column mean"]),
            )
        )
    lower = [_bests(rmse)["LRGeomCG"] < _bests(rmse)["ours"] for rmse in rows.values()]
    found.append(
        Finding(
            f"Least squares without outliers, LRGeomCG at its best rank, is ahead of the best of "
            f"ours in {sum(lower)} of {len(lower)}: rare events, such as congestion, are "
            "outliers to a robust method.",
            sum(lower) > len(lower) / 2,
        )
    )
    return found


def _bests(rmse: dict[str, float]) -> dict[str, float]:
    """Return the error of the simple fills, and the least of LRGeomCG and of ours."""
    of = {name: rmse[name] for name in SIMPLE}
    of["LRGeomCG"] = min(v for key, v in rmse.items() if key.startswith("LRGeomCG"))
    of["ours"] = min(v for key, v in rmse.items() if key.startswith(METHODS[:2]))
    return of
