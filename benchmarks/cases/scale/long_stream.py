"""After a million samples all is as it was: memory, statistics, constraints, time.

Claim
    Over a stream of 1e6 samples the resident memory stays flat; second-moment statistics stay
    symmetric and positive semidefinite; components stay in their constraint sets to 1e-9; and a
    sample of the last tenth takes at most 20 % longer than one of the first.
Data
    Rank 3 in 10 features, noise of 0.01, 5 % outliers and 2 % gaps, drawn batch by batch and
    never stored (1e5 samples with ``--quick``).
Settings
    ``partial_fit`` of every streaming estimator on batches of 200, with ``n_components=3``,
    ``random_state=0`` and defaults besides. Time is that of the processor, the least of pieces of
    20 batches; the first tenth is without its first piece, which has the start in it. Memory is
    that of the process at the end of the second tenth and of the last one. The factors of a
    matrix L D L' (PETRELS) are semidefinite if D is nonnegative. Only trackers that keep an
    orthonormal basis have a constraint.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import thalweg
from benchmarks._findings import Finding
from benchmarks.shared.tables import number, table

SAMPLES, QUICK = 1_000_000, 100_000
F, K, BATCH, PIECE = 10, 3, 200, 20
# How long a sample of the last tenth may take, in those of the first; what the sets may be left
# by; the least eigenvalue in largest ones; and megabytes that are put down to the allocator.
SLOWER, DRIFT, NEGATIVE, RESIDENT = 1.2, 1e-9, -1e-12, 4.0
ORTHONORMAL = ("Grasta", "Grouse", "Norst", "ReProCS", "Roseta")


def run(quick: bool) -> dict[str, Any]:
    """Follow the stream with each estimator."""
    n_batches = (QUICK if quick else SAMPLES) // BATCH
    names = [name for name in thalweg.__all__ if _streams(name)]
    rows = {}
    for name in names:
        rows[name] = _follow(name, n_batches)
        print(f"   {name}: {rows[name]}", flush=True)
    return {"n_samples": n_batches * BATCH, "rows": rows}


def _streams(name: str) -> bool:
    return name[0].isupper() and hasattr(getattr(thalweg, name), "partial_fit")


def _batches(n_batches: int) -> Iterator[Any]:
    rng = np.random.default_rng(0)
    components = rng.random((K, F))
    for _ in range(n_batches):
        X = rng.random((BATCH, K)) @ components + 0.01 * np.abs(rng.normal(size=(BATCH, F)))
        X[rng.random(X.shape) < 0.05] += 1.0
        X[rng.random(X.shape) < 0.02] = np.nan
        yield X


def _follow(name: str, n_batches: int) -> dict[str, Any]:
    model = getattr(thalweg, name)(n_components=K, random_state=0)
    pieces, resident, spent = [], [], 0.0
    for number_, X in enumerate(_batches(n_batches), start=1):
        begin = time.process_time()
        model.partial_fit(X)
        spent += time.process_time() - begin
        if number_ % PIECE == 0:
            pieces.append(spent / (PIECE * BATCH))
            spent = 0.0
        if number_ % (n_batches // 10) == 0:
            resident.append(_resident())
    tenth = len(pieces) // 10
    first, last = min(pieces[1:tenth]), min(pieces[-tenth:])
    row = {
        "microseconds": 1e6 * last,
        "ratio": last / first,
        "resident_growth": resident[-1] - resident[1],
        **_moments(model),
        "drift": _drift(name, model),
    }
    return {**row, "met": _met(row)}


def _met(row: dict[str, Any]) -> bool:
    return bool(
        row["ratio"] <= SLOWER
        and row["resident_growth"] <= RESIDENT
        and (row["asymmetry"] or 0.0) <= DRIFT
        and (row["least"] is None or row["least"] >= NEGATIVE)
        and (row["drift"] or 0.0) <= DRIFT
    )


def _moments(model: Any) -> dict[str, float | None]:
    """Return how far the second moments are from symmetric, and their least eigenvalue."""
    state = getattr(model, "statistics_", None) or model.state_.tracker
    if hasattr(state, "A"):
        A = state.A.reshape(-1, K, K)
        values = np.linalg.eigvalsh(A)
        scale = np.abs(values).max()
        asymmetry = np.abs(A - A.transpose(0, 2, 1)).max() / scale
        return {"asymmetry": float(asymmetry), "least": float(values.min() / scale)}
    if hasattr(state, "D"):
        return {"asymmetry": 0.0, "least": float(state.D.min() / state.D.max())}
    return {"asymmetry": None, "least": None}


def _drift(name: str, model: Any) -> float | None:
    """Return how far the components are from their set, None where they have none."""
    W = model.components_
    if name in ORTHONORMAL:
        return float(np.abs(W @ W.T - np.eye(K)).max())
    if model.signed:
        return None
    if getattr(model, "constraint", "l2-ball") == "simplex":
        away = np.abs(W.sum(axis=1) - 1.0).max()
    else:
        away = np.linalg.norm(W, axis=1).max() - 1.0
    return float(max(away, -W.min(), 0.0))


def _resident() -> float:
    """Return the megabytes of this process that are in memory, on Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def report(result: dict[str, Any]) -> str:
    """Return a line for each estimator."""
    rows = (
        (
            name,
            number(row["microseconds"]),
            number(row["ratio"], ".3f"),
            number(row["resident_growth"], "+.2f"),
            number(row["asymmetry"], ".0e"),
            number(row["least"], ".1e"),
            number(row["drift"], ".0e"),
            "met" if row["met"] else "NOT MET",
        )
        for name, row in result["rows"].items()
    )
    heads = (
        f"{result['n_samples']:,} samples",
        "us a sample",
        "last / first tenth",
        "memory, MB",
        "asymmetry",
        "least eigenvalue",
        "out of the set",
        "",
    )
    return table(heads, rows)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the largest of each drift over all estimators."""
    rows = result["rows"]
    slowest = max(rows, key=lambda name: rows[name]["ratio"])
    ratio = rows[slowest]["ratio"]
    memory = max(row["resident_growth"] for row in rows.values())
    drift = max(row["drift"] or 0.0 for row in rows.values())
    least = min(row["least"] for row in rows.values() if row["least"] is not None)
    return [
        Finding(
            f"After {result['n_samples']:,} samples, all {len(rows)} streaming estimators keep "
            f"their memory (by {memory:+.2f} MB at most) and their sets (to {drift:.0e}); the "
            f"least eigenvalue of second moments is {least:.0e} of the largest.",
            memory <= RESIDENT and drift <= DRIFT and least >= NEGATIVE,
        ),
        Finding(
            f"A sample of the last tenth takes at most {ratio:.2f} times as long as one of the "
            f"first ({slowest}).",
            ratio <= SLOWER,
        ),
    ]
