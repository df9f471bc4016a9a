"""Two threads: how much faster they are where there is work for them, and never slower.

Claim
    ``n_jobs=2`` is at least 1.6 times as fast as one thread where an array is large: ``decompose``,
    and fits with batches of 256 and more. It is not slower elsewhere. Without ``n_jobs``, two
    threads of BLAS are not slower than one.
Data
    ``synthetic.nmf_with_outliers``, F = 400, K = 49, N = 4e4 (4e3 with ``--quick``); with gaps in a
    fifth of the entries. For trackers ``synthetic.subspace_stream``, n = 400, r = 10, a tenth of
    the entries faulty, three tenths missing.
Settings
    ``RobustOnlineNMF(49)`` with batches of 40, 256 and 1024, and its ``decompose``;
    ``OnlineNMF(20, loss="kl")`` with batches of 256; ``RobustNMF(49, max_iter=8)`` with each solver
    and ``DivergenceNMF(20, max_iter=10)`` on 3000 samples; ``PetrelsADMM(10)`` with batches of 256.
    *one*: ``n_jobs=1``, all libraries limited to one thread by threadpoolctl. *two*: ``n_jobs=2``,
    no limit. *BLAS*: ``n_jobs=None``, no limit. The least of 4 repetitions in turns, after pauses
    of 0.2 s in which threads of BLAS fall asleep.
Measure
    Wall time of one thread, divided by that of two. It means little while other jobs run.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import number, table
from benchmarks.shared.timing import round_robin
from thalweg import DivergenceNMF, OnlineNMF, PetrelsADMM, RobustNMF, RobustOnlineNMF, synthetic

THREADS = 2
GOAL = 1.6
# Repeated timings of the same fit differ by about this share.
NOISE = 1.03
SOME, GAP_SHARE, PAUSE = 3000, 0.2, 0.2
ONE, TWO, BLAS = "one", "two", "BLAS"


class Task(NamedTuple):
    """A call with a number of threads, and whether it should be faster with two."""

    run: Callable[[Any], Any]
    scales: bool


def run(quick: bool) -> dict[str, Any]:
    """Time each task with one thread, with two, and with two of BLAS only."""
    n_samples, repetitions = (4000, 2) if quick else (40_000, 4)
    rows = {}
    for name, task in _tasks(n_samples).items():
        task.run(2)  # fills the caches
        jobs = {how: _job(task, how) for how in (ONE, TWO, BLAS)}
        walls = {how: wall for how, (wall, *_) in round_robin(jobs, repetitions).items()}
        walls = {how: [seconds - PAUSE for seconds in wall] for how, wall in walls.items()}
        least = {how: min(wall) for how, wall in walls.items()}
        rows[name] = {
            "seconds": least,
            "speedup": least[ONE] / least[TWO],
            "blas_speedup": least[ONE] / least[BLAS],
            "scales": task.scales,
            "repetitions": walls,
        }
    return {"n_samples": n_samples, "goal": GOAL, "noise": NOISE, "rows": rows}


def _tasks(n_samples: int) -> dict[str, Task]:
    """Return all tasks by name."""
    data = synthetic.nmf_with_outliers(n_samples, 400, 49, random_state=0)
    X, narrow, some = data.X, data.X.astype(np.float32), data.X[:SOME]
    gaps = np.random.default_rng(0).random(X.shape) < GAP_SHARE
    holed = np.where(gaps, np.nan, X)[: n_samples // 4]
    stream = synthetic.subspace_stream(
        n_samples // 32, 400, 10, missing=0.3, outlier_density=0.1, random_state=0
    ).X
    tasks = {}
    for dtype, rows in (("float64", X), ("float32", narrow)):
        for size in (40, 256, 1024):
            name = f"RobustOnlineNMF, {dtype}, batches of {size}"
            tasks[name] = Task(_fit(RobustOnlineNMF(49, batch_size=size), rows), size >= 256)
        model = RobustOnlineNMF(49, random_state=0).fit(rows[:4000])
        tasks[f"decompose, {dtype}"] = Task(_decompose(model, rows), True)
    robust = {
        f"RobustNMF, {s}": RobustNMF(49, solver=s, max_iter=8) for s in ("fast", "pgd", "admm")
    }
    return (
        tasks
        | {
            "RobustOnlineNMF with gaps, batches of 256": Task(
                _fit(RobustOnlineNMF(49, batch_size=256), holed), True
            ),
            "OnlineNMF, kl, batches of 256": Task(
                _fit(OnlineNMF(20, batch_size=256), X[: n_samples // 4]), True
            ),
        }
        | {name: Task(_fit(model, some), True) for name, model in robust.items()}
        | {
            "DivergenceNMF, kl": Task(_fit(DivergenceNMF(20, max_iter=10), some), True),
            "PetrelsADMM, batches of 256": Task(_track(stream), False),
        }
    )


def _fit(model: Any, X: Any) -> Callable[[Any], Any]:
    def fit(n_jobs: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that so few iterations do not converge
            model.set_params(random_state=0, n_jobs=n_jobs).fit(X)

    return fit


def _decompose(model: Any, X: Any) -> Callable[[Any], Any]:
    return lambda n_jobs: model.set_params(n_jobs=n_jobs).decompose(X)


def _track(X: Any) -> Callable[[Any], Any]:
    def track(n_jobs: Any) -> None:
        model = PetrelsADMM(10, n_jobs=n_jobs, random_state=0)
        for start in range(0, len(X), 256):
            model.partial_fit(X[start : start + 256])

    return track


def _job(task: Task, how: str) -> Callable[[], Any]:
    n_jobs = {ONE: 1, TWO: 2, BLAS: None}[how]

    def do() -> None:
        time.sleep(PAUSE)
        with blas_threads.limit(1 if how == ONE else 2):
            task.run(n_jobs)

    return do


def report(result: dict[str, Any]) -> str:
    """Return a line for each task."""
    rows = (
        (
            name,
            *(number(row["seconds"][how]) for how in (ONE, TWO, BLAS)),
            number(row["speedup"], ".2f"),
            number(row["blas_speedup"], ".2f"),
            number(_goal(result, row), ".1f"),
            "met" if _met(result, row) else "NOT MET",
        )
        for name, row in result["rows"].items()
    )
    heads = ("task", "one, s", "two, s", "BLAS, s", "one / two", "one / BLAS", "at least", "")
    return table(heads, rows)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return what two threads gain, and where they miss the goal."""
    rows = result["rows"]
    large = [row for row in rows.values() if row["scales"]]
    met = [row for row in large if _met(result, row)]
    least, most = (f(row["speedup"] for row in large) for f in (min, max))
    missed = [
        f"{name} ({row['speedup']:.2f})" for name, row in rows.items() if not _met(result, row)
    ]
    worst_blas = min(row["blas_speedup"] for row in rows.values())
    return [
        Finding(
            f"Of {len(large)} tasks with large arrays, {len(met)} are at least {result['goal']} "
            f"times as fast with two threads; all are {least:.2f} to {most:.2f} times as fast.",
            0 < len(met) <= len(large),
        ),
        Finding(
            f"Below the goal: {', '.join(missed)}." if missed else "No task is below its goal.",
            len(missed) == sum(not _met(result, row) for row in rows.values()),
        ),
        Finding(
            f"Without n_jobs, two threads of BLAS take at most {1 / worst_blas:.2f} times as long "
            "as one.",
            all(row["blas_speedup"] >= worst_blas for row in rows.values()),
        ),
    ]


def _goal(result: dict[str, Any], row: dict[str, Any]) -> float:
    return float(result["goal"]) if row["scales"] else 1.0


def _met(result: dict[str, Any], row: dict[str, Any]) -> bool:
    goal = result["goal"] if row["scales"] else 1.0 / result["noise"]
    return bool(row["speedup"] >= goal)
