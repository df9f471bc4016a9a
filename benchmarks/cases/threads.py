"""Two BLAS threads must not be slower than one.

Claim
    Two BLAS threads are not slower than one.
Data
    ``synthetic.nmf_with_outliers``, F = 400, K = 49, N = 2e4 (4e3 with ``--quick``).
Settings
    ``RobustOnlineNMF(49, random_state=0)`` with batches of 40 and 256, float64 and float32;
    the limit is set by threadpoolctl around each fit; the least of 5 repetitions in turns.
    Wall time counts; it means little while other jobs run. The ratio of processor times does
    then, too: far above 1 it says that threads spend their time waiting for one another.
"""

from collections.abc import Callable
from typing import Any

from benchmarks import _threads
from benchmarks._measure import round_robin
from benchmarks._table import number, table
from thalweg import RobustOnlineNMF, synthetic

THREADS = 2
BATCHES, DTYPES = (40, 256), ("float64", "float32")
# Repeated timings of one and the same thing differ by about so much.
NOISE = 1.03


def run(quick: bool) -> dict[str, Any]:
    """Time fits with one and with two threads."""
    n_samples, repetitions = (4000, 3) if quick else (20_000, 5)
    data = synthetic.nmf_with_outliers(n_samples, 400, 49, random_state=0)
    jobs: dict[str, Callable[[], Any]] = {}
    for dtype in DTYPES:
        X = data.X.astype(dtype)
        for batch in BATCHES:
            RobustOnlineNMF(49, batch_size=batch, random_state=0).fit(X[: 3 * batch])
            for threads in (1, 2):
                jobs[f"{dtype} {batch} {threads}"] = _job(X, batch, threads)
    times = round_robin(jobs, repetitions)
    rows = []
    for dtype in DTYPES:
        for batch in BATCHES:
            (one, one_cpu, _), (two, two_cpu, _) = (
                times[f"{dtype} {batch} {threads}"] for threads in (1, 2)
            )
            ratio = min(two) / min(one)
            rows.append(
                {
                    "dtype": dtype,
                    "batch_size": batch,
                    "one": min(one),
                    "two": min(two),
                    "ratio": ratio,
                    "cpu_ratio": min(two_cpu) / min(one_cpu),
                    "met": ratio <= NOISE,
                    "repetitions": {"one": one, "two": two},
                }
            )
    return {"n_samples": n_samples, "noise": NOISE, "rows": rows}


def _job(X: Any, batch: int, threads: int) -> Callable[[], Any]:
    def fit() -> None:
        with _threads.limit(threads):
            RobustOnlineNMF(49, batch_size=batch, random_state=0).fit(X)

    return fit


def report(result: dict[str, Any]) -> str:
    """Return a line for each precision and batch size."""
    rows = (
        (
            f"{row['dtype']}, batches of {row['batch_size']}",
            number(row["one"]),
            number(row["two"]),
            number(row["ratio"]),
            number(row["cpu_ratio"]),
            "met" if row["met"] else "NOT MET",
        )
        for row in result["rows"]
    )
    heads = (
        "fit",
        "1 thread, s",
        "2 threads, s",
        "2 / 1",
        "cpu 2 / 1",
        f"at most {result['noise']}",
    )
    return table(heads, rows)
