"""Two BLAS threads must not be slower than one.

Claim
    Two BLAS threads are not slower than one.
Data
    ``synthetic.nmf_with_outliers``, F = 400, K = 49, N = 2e4 (4e3 with ``--quick``).
Settings
    ``RobustOnlineNMF(49, random_state=0)`` with batches of 40 and 256, float64 and float32, and
    its ``decompose`` of all samples in ten parts; ``RobustNMF(49, max_iter=8, random_state=0)``
    with each solver on 3000 samples. The limit is set by threadpoolctl around each; the least of
    9 repetitions in turns. Wall time counts; it means little while other jobs run. The ratio of
    processor times does then, too: far above 1 it says that threads spend their time waiting for
    one another.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import number, table
from benchmarks.shared.timing import round_robin
from thalweg import RobustNMF, RobustOnlineNMF, synthetic

BATCHES, DTYPES, SOLVERS = (40, 256), ("float64", "float32"), ("fast", "pgd", "admm")
SOME = 3000
# Repeated timings of the same fit differ by about this share.
NOISE = 1.03


def run(quick: bool) -> dict[str, Any]:
    """Time each task with one and with two threads."""
    n_samples, repetitions = (4000, 3) if quick else (20_000, 9)
    data = synthetic.nmf_with_outliers(n_samples, 400, 49, random_state=0)
    tasks = _tasks(data.X)
    for task in tasks.values():
        task(data.X[: 3 * max(BATCHES)])  # fills the caches
    jobs = {
        f"{name} {threads}": _job(task, data.X, threads)
        for name, task in tasks.items()
        for threads in (1, 2)
    }
    times = round_robin(jobs, repetitions)
    rows = []
    for name in tasks:
        (one, one_cpu, _), (two, two_cpu, _) = (times[f"{name} {threads}"] for threads in (1, 2))
        ratio = min(two) / min(one)
        rows.append(
            {
                "task": name,
                "one": min(one),
                "two": min(two),
                "ratio": ratio,
                "cpu_ratio": min(two_cpu) / min(one_cpu),
                "met": ratio <= NOISE,
                "repetitions": {"one": one, "two": two},
            }
        )
    return {"n_samples": n_samples, "noise": NOISE, "rows": rows}


def _tasks(X: Any) -> dict[str, Callable[[Any], Any]]:
    """Return what is timed, as functions of the data."""

    def fit(dtype: str, batch: int) -> Callable[[Any], Any]:
        return lambda X: _online(batch).fit(X.astype(dtype))

    def batch_fit(solver: str) -> Callable[[Any], Any]:
        return lambda X: RobustNMF(49, solver=solver, max_iter=8, random_state=0).fit(X[:SOME])

    fits = {f"fit, {d}, batches of {b}": fit(d, b) for d in DTYPES for b in BATCHES}
    batch = {f"RobustNMF, {solver}, {SOME} samples": batch_fit(solver) for solver in SOLVERS}
    model = _online(40).fit(X)
    # In parts: for arrays as large as X the memory has to be fetched again now and then.
    decompose = {"decompose": lambda X: [model.decompose(part) for part in np.array_split(X, 10)]}
    return {**fits, **decompose, **batch}


def _online(batch: int) -> RobustOnlineNMF:
    return RobustOnlineNMF(49, batch_size=batch, random_state=0)


def _job(task: Callable[[Any], Any], X: Any, threads: int) -> Callable[[], Any]:
    def do() -> None:
        with blas_threads.limit(threads):
            task(X)

    return do


def report(result: dict[str, Any]) -> str:
    """Return a line for each task."""
    rows = (
        (
            row["task"],
            number(row["one"]),
            number(row["two"]),
            number(row["ratio"]),
            number(row["cpu_ratio"]),
            "met" if row["met"] else "NOT MET",
        )
        for row in result["rows"]
    )
    heads = (
        "task",
        "1 thread, s",
        "2 threads, s",
        "2 / 1",
        "cpu 2 / 1",
        f"at most {result['noise']}",
    )
    return table(heads, rows)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the range of time with two threads over time with one."""
    ratios = {row["task"]: row["ratio"] for row in result["rows"]}
    fastest, slowest = (of(ratios, key=ratios.__getitem__) for of in (min, max))
    return [
        Finding(
            f"Two BLAS threads take {ratios[fastest]:.2f} ({fastest}) to {ratios[slowest]:.2f} "
            f"({slowest}) times as long as one.",
            ratios[slowest] <= result["noise"],
        )
    ]
