"""The same fit on one and on two worker processes of a Dask cluster, and here.

Claim
    Two worker processes with one BLAS thread each are at least 0.8 times twice as fast as one.
    In a round the dictionary goes out and statistics come back, and nothing else.
Data
    Mixtures of K = 50 atoms with F = 2000 features, noise, and outliers in one entry of fifty;
    2e5 rows (8e3 with ``--quick``). A block is drawn where it is encoded, and never stored.
Settings
    ``RobustOnlineNMF(50, random_state=0)``, one pass in rounds of 16 blocks of 2500 rows (of 250
    with ``--quick``). Fits here, on a cluster of one and on one of two workers take turns; the
    least of 2 times counts (of 1 with ``--quick``), without the start of the cluster, and after
    three rounds of warming up on small blocks. Bytes are what the workers send in the last two of
    these, by their own counters; they do not depend on the size of blocks. The dictionary goes to
    the first worker with the task that holds it, and is fetched from there by the others. Once, 8
    MB of first rows go to the centre. Workers keep the memory they free, as the page on scale
    advises. Efficiency means nothing while other jobs run.
"""

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared.tables import number, table
from benchmarks.shared.timing import round_robin
from thalweg import RobustOnlineNMF, distributed
from thalweg.distributed._online import shared_of, summarise
from thalweg.streams import Batch

F, K, TOGETHER, SMALL = 2000, 50, 16, 50
EFFICIENCY = 0.8
# What tasks, keys and counts may add to the arrays of a round, as a share of them.
OVERHEAD = 0.05
MB = 1e6
# Set by Dask, so that workers return freed memory at once, and request it again page by page.
KEEPING = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"


@dataclass(frozen=True)
class Drawn:
    """Rows that are drawn when they are asked for, the same each time."""

    n_samples: int
    n_features: int = F

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield blocks; a block depends on where it begins."""
        atoms = np.random.default_rng(0).gamma(0.5, 1.0, (K, self.n_features))
        for begin in range(start, self.n_samples, size):
            rng = np.random.default_rng([1, begin])
            rows = min(size, self.n_samples - begin)
            X = rng.dirichlet(np.full(K, 0.2), rows) @ atoms
            X += 0.02 * rng.random(X.shape)
            few = rng.integers(X.size, size=X.size // 50)
            X.ravel()[few] += rng.random(len(few))
            yield Batch(begin, X)


def run(quick: bool) -> dict[str, Any]:
    """Fit here, with one worker and with two, in turns."""
    import dask
    from distributed import Client, LocalCluster

    n_samples, size, repetitions = (8_000, 250, 1) if quick else (200_000, 2500, 2)
    stream = Drawn(n_samples)
    quiet: dict[str, Any] = {
        "processes": True,
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
    }
    with (
        dask.config.set({KEEPING: None}),
        LocalCluster(n_workers=1, **quiet) as one,
        LocalCluster(n_workers=2, **quiet) as two,
        Client(one, set_as_default=False) as first,
        Client(two, set_as_default=False) as second,
    ):
        clients = {"here": None, "1 worker": first, "2 workers": second}
        sent = {name: _sent_per_round(client) for name, client in clients.items()}
        jobs = {name: _job(stream, size, client) for name, client in clients.items()}
        times = round_robin(jobs, repetitions)
    rounds = -(-n_samples // (size * TOGETHER))
    model = times["here"][2]
    walls = {name: min(wall) for name, (wall, _, _) in times.items()}
    efficiency = walls["1 worker"] / (2 * walls["2 workers"])
    return {
        "n_samples": n_samples,
        "block_size": size,
        "rounds": rounds,
        "seconds": walls,
        "repetitions": {name: wall for name, (wall, _, _) in times.items()},
        "efficiency": efficiency,
        "efficient": efficiency >= EFFICIENCY,
        "difference": max(_difference(times[name][2], model) for name in ("1 worker", "2 workers")),
        **_bytes(model, stream, size, sent),
        **_constants(model, stream, size),
    }


def _job(stream: Drawn, size: int, client: Any) -> Callable[[], Any]:
    return lambda: _fit(stream, size, client)


def _fit(stream: Drawn, size: int, client: Any, callback: Any = None) -> Any:
    return distributed.fit(
        RobustOnlineNMF(K, random_state=0),
        stream,
        client=client,
        block_size=size,
        blocks_per_round=TOGETHER,
        callback=callback,
    )


def _sent_per_round(client: Any) -> float | None:
    """Return the bytes that workers send in a round, to one another and to the centre."""
    totals: list[int] = []

    def note(_: Any) -> None:
        if client is not None:
            totals.append(sum(client.run(_outgoing).values()))

    _fit(Drawn(3 * TOGETHER * SMALL), SMALL, client, note)
    return (totals[-1] - totals[0]) / (len(totals) - 1) if totals else None


def _outgoing(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def _bytes(model: Any, stream: Drawn, size: int, sent: dict[str, Any]) -> dict[str, Any]:
    """Return bytes of a round as measured, and of the dictionary and the statistics alone."""
    shared = shared_of(model, model.make_learner(), model.get_state(), TOGETHER)
    out = len(pickle.dumps(shared))
    block = next(stream.batches(size)).X
    back = len(pickle.dumps(summarise(block, shared)))
    alone = {"1 worker": TOGETHER * back, "2 workers": TOGETHER * back + out}
    return {
        "dictionary_bytes": out,
        "statistics_bytes": back,
        "array_bytes": {"dictionary": 8 * F * K, "statistics": 8 * (F * K + K * K)},
        "sent_per_round": sent,
        "needed_per_round": alone,
        "nothing_else": all(sent[name] <= (1 + OVERHEAD) * least for name, least in alone.items()),
    }


def _constants(model: Any, stream: Drawn, size: int) -> dict[str, float]:
    """Return what a cost model needs: seconds to draw and to encode a row, and to merge."""
    learner, state = model.make_learner(), model.get_state()
    shared = shared_of(model, learner, state, TOGETHER)
    begin = time.perf_counter()
    X = next(stream.batches(size)).X
    drawn = time.perf_counter()
    summary = summarise(X, shared)
    encoded = time.perf_counter()
    update = learner.update(state)
    latest = update.merge([summary.statistics] * TOGETHER)
    merged = time.perf_counter()
    update.take_in(state.W, state.statistics, latest)
    moved = time.perf_counter()
    return {
        "draw_seconds_per_row": (drawn - begin) / size,
        "encode_seconds_per_row": (encoded - drawn) / size,
        "merge_seconds_per_block": (merged - encoded) / TOGETHER,
        "update_seconds": moved - merged,
    }


def _difference(found: Any, expected: Any) -> float:
    difference = np.abs(found.components_ - expected.components_).max()
    return float(difference / np.abs(expected.components_).max())


def report(result: dict[str, Any]) -> str:
    """Return times with their efficiency, bytes, and the constants of the cost model."""
    seconds, sent = result["seconds"], result["sent_per_round"]
    needed = result["needed_per_round"]
    rows = [
        (
            name,
            number(seconds[name], ".1f"),
            number(result["n_samples"] / seconds[name], ".0f"),
            number(sent[name] and sent[name] / MB),
            number(needed[name] / MB if name in needed else None),
        )
        for name in seconds
    ]
    micro = {name: 1e6 * result[name] for name in result if name.endswith("_per_row")}
    heads = ("fit", "s", "rows/s", "MB sent a round", "of that arrays")
    return "\n".join(
        [
            table(heads, rows),
            f"parallel efficiency of two workers {result['efficiency']:.2f}: "
            f"{'met' if result['efficient'] else 'NOT MET'} (at least {EFFICIENCY})",
            f"nothing but dictionary and statistics is sent: "
            f"{'met' if result['nothing_else'] else 'NOT MET'}",
            f"largest difference of components to those found here {result['difference']:.1e}",
            f"{micro['draw_seconds_per_row']:.0f} us to draw and "
            f"{micro['encode_seconds_per_row']:.0f} us to encode a row, "
            f"{1e3 * result['merge_seconds_per_block']:.2f} ms to merge a block, "
            f"{1e3 * result['update_seconds']:.0f} ms to move the dictionary",
        ]
    )


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the parallel efficiency, what is sent, and how equal the results are."""
    sent, needed = result["sent_per_round"], result["needed_per_round"]
    most = max(sent[name] / needed[name] for name in needed)
    return [
        Finding(
            f"The parallel efficiency of two workers on one machine is {result['efficiency']:.2f}.",
            result["efficiency"] >= EFFICIENCY,
        ),
        Finding(
            f"A round sends {most:.2f} times the bytes of dictionary and statistics at most.",
            most <= 1.0 + OVERHEAD,
        ),
        Finding(
            "Components differ from those of one process by at most "
            f"{result['difference']:.0e} of the largest entry.",
            result["difference"] < 1e-9,
        ),
    ]
