"""Held-out loss against time of online NMF and scikit-learn, for the losses that both have.

Data
    As in ``divergences``: ``synthetic.nmf_with_noise``, [D] Table IV, F = 400, K = 40, N = 1e4
    (3e3 with ``--quick``), Poisson, Gamma or Gaussian noise to match the loss; 500 more samples of
    the same components are held out.
Settings
    The same initial components for all, one BLAS thread. *online fast*: the default, batches of 40,
    three passes. *sklearn*: ``MiniBatchNMF`` with batches of 40, also with ``fresh_restarts``, and
    of 1024 (its default), ``NMF`` multiplicative and, for squared l2, by coordinate descent too,
    which is its default; all without early stop, with constant codes of the right size to begin
    with, fitted again for each of 1, 2, 5, 10, ... rounds until 20 s are up (5 s with
    ``--quick``).
Measure
    Mean loss of the held-out samples, their codes found to 1e-4 with the components of that
    time; the time to store components is not counted.
Claim
    Ours is ahead of scikit-learn when it has ended, and when scikit-learn has.
"""

import time
import warnings
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.cases.divergences.divergences import BATCH, NOISES, F, K, rated, until
from benchmarks.shared import blas_threads
from benchmarks.shared.recorder import record
from benchmarks.shared.tables import number, table
from thalweg import OnlineNMF, synthetic

HELD_OUT = 500
OURS = "online fast"
THEIRS = {"kl": "kullback-leibler", "itakura-saito": "itakura-saito", "squared-l2": "frobenius"}
ROUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def run(quick: bool) -> dict[str, Any]:
    """Fit everything and rate the components."""
    n, budget = (3000, 5.0) if quick else (10_000, 20.0)
    with blas_threads.limit(1):
        curves = {loss: _curves(loss, n, budget) for loss in THEIRS}
    return {
        "n_samples": n,
        "n_held_out": HELD_OUT,
        "batch_size": BATCH,
        "seconds_at_most": budget,
        "curves": curves,
        "peers": {loss: _beside(own) for loss, own in curves.items()},
    }


def _curves(loss: str, n: int, budget: float) -> dict[str, Any]:
    X = synthetic.nmf_with_noise(n + HELD_OUT, F, K, noise=NOISES[loss], random_state=0).X
    first = np.random.default_rng(1).random((K, F))
    model = OnlineNMF(K, loss=loss, batch_size=BATCH, epochs=3, init=first, random_state=0)
    model.fit(X[:200])  # fills the caches
    recorder = record(model, X[:n], budget)
    found = {OURS: {"seconds": recorder.times, "held_out": rated(loss, recorder.components, X[n:])}}
    for name, peer in _peers(loss):
        seconds, components = _by_rounds(peer, X[:n], first, budget)
        found[name] = {"seconds": seconds, "held_out": rated(loss, components, X[n:])}
    return found


def _peers(loss: str) -> list[tuple[str, Any]]:
    """Return what scikit-learn has for this loss."""
    from sklearn.decomposition import NMF, MiniBatchNMF

    common: dict[str, Any] = {"init": "custom", "beta_loss": THEIRS[loss], "tol": 0.0}
    online = {"max_no_improvement": None, **common}
    solvers = ("mu", "cd") if loss == "squared-l2" else ("mu",)
    return [
        *(
            (
                f"sklearn MiniBatchNMF, {size}{', fresh' * fresh}",
                MiniBatchNMF(K, batch_size=size, fresh_restarts=fresh, **online),
            )
            for size, fresh in ((BATCH, False), (BATCH, True), (1024, False))
        ),
        *((f"sklearn NMF {solver}", NMF(K, solver=solver, **common)) for solver in solvers),
    ]


def _by_rounds(peer: Any, X: Any, first: Any, budget: float) -> tuple[list[float], list[Any]]:
    """Fit with more and more rounds until the time is up; return seconds and components."""
    level = X.mean() / (K * first.mean())
    times, components = [], []
    for rounds in ROUNDS:
        codes = np.full((len(X), K), level)
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that so few rounds do not converge
            peer.set_params(max_iter=rounds).fit_transform(X, W=codes, H=first.copy())
        times.append(time.perf_counter() - begin)
        H = peer.components_
        components.append(np.maximum(H, 1e-12 * H.max(axis=1, keepdims=True)))
        if times[-1] > budget:
            break
    return times, components


def _beside(curves: dict[str, Any]) -> dict[str, Any]:
    """Return each peer's loss over ours when ours has ended, and when the peer has."""
    ours = curves[OURS]
    found = {}
    for name, curve in curves.items():
        if name.startswith("sklearn"):
            ends = {"ours": ours["seconds"][-1], "its": curve["seconds"][-1]}
            found[name] = {
                f"at_{whose}_end": until(curve, end) / until(ours, end)
                for whose, end in ends.items()
            }
    return found


def report(result: dict[str, Any]) -> str:
    """Return every method's last loss, and the claims."""
    rows = [
        (f"{loss}: {name}", number(curve["seconds"][-1]), number(curve["held_out"][-1], ".4g"))
        for loss, curves in result["curves"].items()
        for name, curve in curves.items()
    ]
    verdicts = [
        f"{loss}: {name} over online fast {row['at_ours_end']:.2f} when ours has ended, "
        f"{row['at_its_end']:.2f} when it has: {'met' if min(row.values()) > 1.0 else 'NOT met'}"
        for loss, peers in result["peers"].items()
        for name, row in peers.items()
    ]
    return "\n".join([table(("loss: method", "seconds", "held-out"), rows), *verdicts])


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return how far scikit-learn is from ours."""
    rows = [row for peers in result["peers"].values() for row in peers.values()]
    ours, its = ([row[f"at_{whose}_end"] for row in rows] for whose in ("ours", "its"))
    sentence = (
        f"From the same start, scikit-learn's `NMF` and `MiniBatchNMF` are at {min(ours):.1f} to "
        f"{max(ours):.1f} times our held-out loss when ours has ended, and at {min(its):.1f} to "
        f"{max(its):.1f} times when they have."
    )
    return [Finding(sentence, min(ours + its) > 1.0)]
