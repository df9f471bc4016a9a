"""Squared l2 loss and scikit-learn: time per iteration and time to a loss, dense and sparse.

Data
    Dense: ``synthetic.nmf_with_noise`` with Gaussian noise, 1000 x 500. Sparse:
    ``synthetic.sparse_counts``, 5000 x 3000, 1 % of the entries not zero, as CSR. K = 10 and 20.
    A fifth of the samples with ``--quick``.
Settings
    One and the same initial components, constant codes of the right size, double precision, one
    BLAS thread; processor time, the least of 7 repetitions in turns (2 with ``--quick``), after a
    warm-up. *Batch*: ``DivergenceNMF(loss="squared-l2")`` and ``NMF(solver="cd")``, both without
    early stop. *Online*: ``OnlineNMF(loss="squared-l2")`` and ``MiniBatchNMF``, both with batches
    of 256 and of 1024, without early stop.
Measure
    Time per iteration: the difference of fits with 10 and 60 iterations. Time to a loss: of fits
    with 1, 2, 5, 10, ... iterations, the shortest whose loss is at most 1 % above the lower one of
    both methods after 200 (100 passes for MiniBatchNMF). The loss is the mean of
    |x - codes @ components|^2 / 2 over all samples, with exact codes for both. Online: the
    time of one pass, and how long MiniBatchNMF takes to the loss of our first pass.
Claim
    At most the time of scikit-learn per iteration or pass, and to a loss.
"""

import math
import warnings
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import number, table
from benchmarks.shared.timing import round_robin
from thalweg import DivergenceNMF, OnlineNMF, synthetic
from thalweg.encoders.nonnegative_least_squares import NonnegativeLeastSquares

COMPONENTS = (10, 20)
SPAN = (10, 60)
ROUNDS = (1, 2, 5, 10, 20, 50, 100, 200)
EPOCHS = (1, 2, 5, 10, 20, 50, 100)
BATCHES = (256, 1024)
SLACK = 1.01
OURS, THEIRS = "thalweg", "sklearn"


def run(quick: bool) -> dict[str, Any]:
    """Time and rate all methods on all data."""
    share, repetitions = (5, 2) if quick else (1, 7)
    with blas_threads.limit(1):
        rows = {
            f"{kind}, K = {K}": _compared(_data(kind, K, share), K, repetitions)
            for kind in ("dense", "sparse")
            for K in COMPONENTS
        }
    return {"repetitions": repetitions, "rows": rows}


def _data(kind: str, K: int, share: int) -> Any:
    if kind == "dense":
        n = 1000 // share
        return synthetic.nmf_with_noise(n, 500, K, noise="gaussian", random_state=0).X
    return synthetic.sparse_counts(5000 // share, 3000, K, density=0.01, random_state=0).X.tocsr()


def _compared(X: Any, K: int, repetitions: int) -> dict[str, Any]:
    first = np.random.default_rng(1).random((K, X.shape[1]))
    batch = _batch(X, first, repetitions)
    online = {str(size): _online(X, first, size, repetitions) for size in BATCHES}
    return {"shape": list(X.shape), "batch": batch, "online": online}


def _batch(X: Any, first: Any, repetitions: int) -> dict[str, Any]:
    """Return milliseconds per iteration, and the loss against time, of both batch methods."""
    jobs = {
        (who, rounds): _batch_job(who, X, first, rounds)
        for rounds in (*ROUNDS, *SPAN)
        for who in (OURS, THEIRS)
    }
    times, models = _timed(jobs, repetitions)
    few, many = SPAN
    curves = {
        who: {
            "iterations": list(ROUNDS),
            "seconds": [times[who, rounds] for rounds in ROUNDS],
            "loss": [_loss(models[who, rounds], X) for rounds in ROUNDS],
            "milliseconds": 1e3 * (times[who, many] - times[who, few]) / (many - few),
        }
        for who in (OURS, THEIRS)
    }
    target = SLACK * min(curve["loss"][-1] for curve in curves.values())
    for curve in curves.values():
        curve["seconds_to_loss"] = _first_time(curve, target)
    return {"target": target, **curves}


def _online(X: Any, first: Any, size: int, repetitions: int) -> dict[str, Any]:
    """Return the time of a pass, and the time of MiniBatchNMF to the loss of our first pass."""
    jobs: dict[tuple[str, int], Any] = {(OURS, 1): _online_job(X, first, size)}
    jobs |= {(THEIRS, epochs): _minibatch_job(X, first, size, epochs) for epochs in EPOCHS}
    times, models = _timed(jobs, repetitions)
    own, loss = times[OURS, 1], _loss(models[OURS, 1], X)
    curve = {
        "epochs": list(EPOCHS),
        "seconds": [times[THEIRS, epochs] for epochs in EPOCHS],
        "loss": [_loss(models[THEIRS, epochs], X) for epochs in EPOCHS],
    }
    curve["seconds_to_loss"] = _first_time(curve, loss)
    return {OURS: {"seconds": own, "loss": loss}, THEIRS: curve}


def _timed(jobs: dict[Any, Any], repetitions: int) -> tuple[dict[Any, float], dict[Any, Any]]:
    for job in jobs.values():
        job()  # fills the caches
    found = round_robin(jobs, repetitions)
    return (
        {name: min(cpu) for name, (_, cpu, _) in found.items()},
        {name: components for name, (*_, components) in found.items()},
    )


def _first_time(curve: dict[str, Any], target: float) -> float | None:
    """Return the first time at which a curve is at the target or below."""
    pairs = zip(curve["seconds"], curve["loss"], strict=True)
    return next((seconds for seconds, loss in pairs if loss <= target), None)


def _batch_job(who: str, X: Any, first: Any, rounds: int) -> Any:
    from sklearn.decomposition import NMF

    K = len(first)
    if who == OURS:
        model = DivergenceNMF(K, loss="squared-l2", init=first, tol=0.0, max_iter=rounds)
        return lambda: model.fit(X).components_
    peer = NMF(K, init="custom", solver="cd", tol=0.0, max_iter=rounds)
    return _peer_job(peer, X, first)


def _online_job(X: Any, first: Any, size: int) -> Any:
    model = OnlineNMF(len(first), loss="squared-l2", init=first, batch_size=size, random_state=0)
    return lambda: model.fit(X).components_


def _minibatch_job(X: Any, first: Any, size: int, epochs: int) -> Any:
    from sklearn.decomposition import MiniBatchNMF

    peer = MiniBatchNMF(
        len(first),
        init="custom",
        batch_size=size,
        max_iter=epochs,
        tol=0.0,
        max_no_improvement=None,
        random_state=0,
    )
    return _peer_job(peer, X, first)


def _peer_job(peer: Any, X: Any, first: Any) -> Any:
    level = X.mean() / (len(first) * first.mean())

    def fit() -> Any:
        codes = np.full((X.shape[0], len(first)), level)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that so few iterations do not converge
            peer.fit_transform(X, W=codes, H=first.copy())
        return peer.components_

    return fit


def _loss(components: Any, X: Any) -> float:
    codes = NonnegativeLeastSquares().encode(X.T, np.ascontiguousarray(components.T))
    return float(codes.loss.mean())


def _ratios(row: dict[str, Any]) -> dict[str, float]:
    """Return our times in units of scikit-learn's."""
    ours, theirs = row["batch"][OURS], row["batch"][THEIRS]
    found = {
        "per iteration": ours["milliseconds"] / theirs["milliseconds"],
        "to a loss": _ratio(ours["seconds_to_loss"], theirs["seconds_to_loss"]),
    }
    for size, online in row["online"].items():
        found[f"pass, {size}"] = online[OURS]["seconds"] / online[THEIRS]["seconds"][0]
        found[f"to our loss, {size}"] = _ratio(
            online[OURS]["seconds"], online[THEIRS]["seconds_to_loss"]
        )
    return found


def _ratio(ours: float | None, theirs: float | None) -> float:
    if ours is None:
        return math.inf
    return 0.0 if theirs is None else ours / theirs


def report(result: dict[str, Any]) -> str:
    """Return all ratios of times; 0 where scikit-learn does not reach the loss."""
    ratios = {name: _ratios(row) for name, row in result["rows"].items()}
    columns = list(next(iter(ratios.values())))
    rows = [(name, *(number(found[c], ".2f") for c in columns)) for name, found in ratios.items()]
    times = [
        (
            name,
            number(row["batch"][OURS]["milliseconds"], ".2f"),
            number(row["batch"][THEIRS]["milliseconds"], ".2f"),
            *(
                number(1e3 * row["online"]["256"][who]["seconds"][0], ".1f")
                if who == THEIRS
                else number(1e3 * row["online"]["256"][who]["seconds"], ".1f")
                for who in (OURS, THEIRS)
            ),
        )
        for name, row in result["rows"].items()
    ]
    heads = ("data", "ms / iteration, ours", "NMF cd", "ms / pass of 256, ours", "MiniBatchNMF")
    return "\n".join(
        [
            "Our time over that of scikit-learn (0: it does not reach the loss):",
            "",
            table(("data", *columns), rows),
            "",
            table(heads, times),
            "",
            *(
                f"{column}, at most the time of scikit-learn: {met} of {every} met"
                for column, (met, every) in _verdicts(ratios).items()
            ),
        ]
    )


def _verdicts(ratios: dict[str, dict[str, float]]) -> dict[str, tuple[int, int]]:
    """Return in how many cells of each column the time is at most scikit-learn's."""
    return {
        column: (sum(found[column] <= 1.0 for found in ratios.values()), len(ratios))
        for column in next(iter(ratios.values()))
    }


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return our times over those of scikit-learn, by what is timed."""
    ratios = {name: _ratios(row) for name, row in result["rows"].items()}
    words = {
        "per iteration": "Batch, time of an iteration over that of `NMF`",
        "to a loss": "Batch, time to a loss over that of `NMF`",
    }
    for size in BATCHES:
        words[f"pass, {size}"] = f"Batches of {size}, time of a pass over that of `MiniBatchNMF`"
        words[f"to our loss, {size}"] = (
            f"Batches of {size}, time of our pass over that of `MiniBatchNMF` to its loss (0: it "
            "does not get there)"
        )
    found = []
    for column, (met, every) in _verdicts(ratios).items():
        figures = ", ".join(f"{own[column]:.3f} ({name})" for name, own in ratios.items())
        sentence = f"{words[column]}: {figures}; at most 1 for {met} of {every}."
        found.append(Finding(sentence, met <= every == len(ratios)))
    return found
