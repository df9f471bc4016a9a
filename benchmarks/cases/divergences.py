"""[D] Fig. 2: held-out loss against time, online and batch, for every loss of Table IV.

Figure
    [D] Fig. 2: OL beside Batch (multiplicative updates); for IS also OL-Lef, for Huber OL-Wang.
Data
    ``synthetic.nmf_with_noise``, [D] Table IV: F = 400, K = 40, N = 1e4 (the paper: 1e5; 3e3 with
    ``--quick``), Gamma, Poisson or Gaussian noise or uniform outliers to match the loss; 500 more
    samples of the same components are held out.
Settings
    One and the same start for all, batches of 1e-4 N as in the paper are below the least of 40
    taken here, one BLAS thread. *online fast*: the default. *online spsgd*: the paper's method
    with steps in units of the curvature (as printed it diverges on data of this size). *online
    mu*: multiplicative with the majorisers of the past (OL-Lef for IS). One pass, or as many as
    fit into the time of the batch method at most. *batch mu*: at most 20 s (5 s with
    ``--quick``) or 1000 rounds. *sklearn*, for the three losses it has: ``MiniBatchNMF`` with
    batches of 40, also with ``fresh_restarts``, and of 1024 (its default), ``NMF`` multiplicative
    and, for squared l2, by coordinate descent too, which is its default; all without early stop,
    from the same start with constant codes of the right size, fitted anew for each of 1, 2, 5,
    10, ... rounds until the time of batch is up.
Measure
    Mean loss of the held-out samples, their codes found to 1e-4 with the components of that
    time; the clock stands while components are stored.
Claim
    Online is ahead of batch at equal time for KL, IS and squared l2; l1, l2 and Huber as they
    come out. It is ahead of scikit-learn when it has ended, and when scikit-learn has.
Picture
    ``docs/images/divergences.png`` (``results/quick/divergences.png`` with ``--quick``).
"""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _threads
from benchmarks._recorder import record
from benchmarks._table import number, table
from thalweg import DivergenceNMF, OnlineNMF, synthetic
from thalweg.divergences.huber import Huber

F, K, BATCH, HELD_OUT = 400, 40, 40, 500
NOISES = {
    "kl": "poisson",
    "itakura-saito": "gamma",
    "squared-l2": "gaussian",
    "huber": "uniform-outliers",
    "l1": "uniform-outliers",
    "l2": "uniform-outliers",
}
KNEE = 100.0
CLAIMED = ("kl", "itakura-saito", "squared-l2")
ROOT = Path(__file__).parents[2]
STYLES = {
    "online fast": ("-", "#1b6ca8"),
    "online spsgd": ("-", "#d1495b"),
    "online mu": ("-", "#2e933c"),
    "batch mu": ("--", "#7a7a7a"),
    "sklearn MiniBatchNMF, 40": ("-.", "#e09f3e"),
    "sklearn MiniBatchNMF, 40, fresh": ("--", "#e09f3e"),
    "sklearn MiniBatchNMF, 1024": (":", "#e09f3e"),
    "sklearn NMF mu": ("-.", "#8f5aa8"),
    "sklearn NMF cd": (":", "#8f5aa8"),
}
OURS = "online fast"
THEIRS = {"kl": "kullback-leibler", "itakura-saito": "itakura-saito", "squared-l2": "frobenius"}
ROUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def run(quick: bool) -> dict[str, Any]:
    """Fit everything, rate the snapshots, draw the picture."""
    n, budget = (3000, 5.0) if quick else (10_000, 20.0)
    with _threads.limit(1):
        curves = {loss: _curves(loss, n, budget) for loss in NOISES}
    result = {
        "n_samples": n,
        "n_held_out": HELD_OUT,
        "batch_size": BATCH,
        "huber_knee": KNEE,
        "seconds_at_most": budget,
        "curves": curves,
        "at_equal_time": {loss: _at_equal_time(own) for loss, own in curves.items()},
        "peers": {loss: _beside(curves[loss]) for loss in THEIRS},
    }
    path = Path(__file__).parents[1] / "results/quick" if quick else ROOT / "docs/images"
    _draw(result, path / "divergences.png")
    return result


def _curves(loss: str, n: int, budget: float) -> dict[str, Any]:
    data = synthetic.nmf_with_noise(n + HELD_OUT, F, K, noise=NOISES[loss], random_state=0)
    first = np.random.default_rng(1).random((K, F))
    found = {}
    for name, model in _models(loss, first):
        model.fit(data.X[:200])  # compiles
        recorder = record(model, data.X[:n], budget)
        found[name] = {
            "seconds": recorder.times,
            "held_out": rated(model.loss_, recorder.components, data.X[n:]),
        }
    for name, peer in _peers(loss):
        seconds, components = _by_rounds(peer, data.X[:n], first, budget)
        found[name] = {
            "seconds": seconds,
            "held_out": rated(model.loss_, components, data.X[n:]),
        }
    return found


def _models(loss: str, first: Any) -> list[tuple[str, Any]]:
    kind = Huber(KNEE) if loss == "huber" else loss
    common: dict[str, Any] = {"loss": kind, "init": first, "random_state": 0}
    online = [
        (f"online {solver}", OnlineNMF(K, solver=solver, batch_size=BATCH, epochs=3, **common))
        for solver in ("fast", "mu", "spsgd")
    ]
    return [*online, ("batch mu", DivergenceNMF(K, tol=1e-9, max_iter=1000, **common))]


def _peers(loss: str) -> list[tuple[str, Any]]:
    """Return what scikit-learn has for this loss."""
    from sklearn.decomposition import NMF, MiniBatchNMF

    if loss not in THEIRS:
        return []
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


def rated(loss: Any, snapshots: list[Any], X: Any) -> list[float]:
    """Return the mean loss of the samples under each of the components, by the same codes."""
    judge = OnlineNMF(len(snapshots[0]), loss=loss, tol=1e-4, init=snapshots[0], random_state=0)
    judge.partial_fit(X[:BATCH])
    found = []
    for components in snapshots:
        judge.components_ = components
        found.append(-judge.score(X))
    return found


def _until(curve: dict[str, Any], when: float) -> float:
    """Return the last loss of a curve until then, or its first."""
    pairs = zip(curve["seconds"], curve["held_out"], strict=True)
    before = [loss for at, loss in pairs if at <= when]
    return float(before[-1] if before else curve["held_out"][0])


def _at_equal_time(curves: dict[str, Any]) -> dict[str, Any]:
    """Return the loss of batch beside that of each method when it is done."""
    return {
        name: {
            "seconds": curve["seconds"][-1],
            "held_out": curve["held_out"][-1],
            "batch_held_out": _until(curves["batch mu"], curve["seconds"][-1]),
        }
        for name, curve in curves.items()
    }


def _beside(curves: dict[str, Any]) -> dict[str, Any]:
    """Return each peer's loss over ours when ours has ended, and when the peer has."""
    ours = curves[OURS]
    found = {}
    for name, curve in curves.items():
        if name.startswith("sklearn"):
            ends = {"ours": ours["seconds"][-1], "its": curve["seconds"][-1]}
            found[name] = {
                f"at_{whose}_end": _until(curve, end) / _until(ours, end)
                for whose, end in ends.items()
            }
    return found


def _draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(15, 8), layout="constrained")
    for ax, (loss, curves) in zip(axes.flat, result["curves"].items(), strict=True):
        for name, curve in curves.items():
            style, colour = STYLES[name]
            ax.plot(curve["seconds"], curve["held_out"], style, color=colour, lw=2, label=name)
        ax.set(xscale="log", yscale="log", xlabel="seconds", ylabel="held-out loss of a sample")
        ax.set_title(f"{loss}, {NOISES[loss]}", fontsize=11)
        ax.grid(which="both", alpha=0.25)
    shown = {line.get_label(): line for ax in axes.flat for line in ax.get_lines()}
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=5, fontsize=10)
    figure.suptitle(
        f"[D] Fig. 2: F = {F}, K = {K}, N = {result['n_samples']:,}, batches of {BATCH}"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def report(result: dict[str, Any]) -> str:
    """Return every method's last loss beside that of batch at the same time, and the claims."""
    rows = [
        (
            f"{loss}: {name}",
            number(row["seconds"]),
            number(row["held_out"], ".4g"),
            number(row["batch_held_out"], ".4g"),
            number(row["batch_held_out"] / row["held_out"]),
        )
        for loss, methods in result["at_equal_time"].items()
        for name, row in methods.items()
    ]
    heads = ("loss: method", "seconds", "held-out", "batch then", "batch/it")
    verdicts = []
    for loss in CLAIMED:
        row = result["at_equal_time"][loss][OURS]
        word = "met" if row["held_out"] < row["batch_held_out"] else "NOT met"
        verdicts.append(f"{loss}: online ahead of batch at equal time: {word}")
    for loss, peers in result["peers"].items():
        for name, row in peers.items():
            word = "met" if min(row.values()) > 1.0 else "NOT met"
            verdicts.append(
                f"{loss}: {name} over online fast {row['at_ours_end']:.2f} when ours has ended, "
                f"{row['at_its_end']:.2f} when it has: {word}"
            )
    return "\n".join([table(heads, rows), *verdicts])
