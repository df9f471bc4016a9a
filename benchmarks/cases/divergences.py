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
    ``--quick``) or 1000 rounds.
Measure
    Mean loss of the held-out samples, their codes found to 1e-4 with the components of that
    time; the clock stands while components are stored.
Claim
    Online is ahead of batch at equal time for KL, IS and squared l2; l1, l2 and Huber as they
    come out.
Picture
    ``docs/images/divergences.png`` (``results/quick/divergences.png`` with ``--quick``).
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _threads
from benchmarks._recorder import Recorder, record
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
}


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
        found[name] = _rate(recorder, data.X[n:])
    return found


def _models(loss: str, first: Any) -> list[tuple[str, Any]]:
    kind = Huber(KNEE) if loss == "huber" else loss
    common: dict[str, Any] = {"loss": kind, "init": first, "random_state": 0}
    online = [
        (f"online {solver}", OnlineNMF(K, solver=solver, batch_size=BATCH, epochs=3, **common))
        for solver in ("fast", "mu", "spsgd")
    ]
    return [*online, ("batch mu", DivergenceNMF(K, tol=1e-9, max_iter=1000, **common))]


def _rate(recorder: Recorder, X: Any) -> dict[str, Any]:
    """Rate each snapshot on the held-out samples, by the same codes for all."""
    model = recorder.model
    judge = OnlineNMF(K, loss=model.loss_, tol=1e-4, init=recorder.components[0], random_state=0)
    judge.partial_fit(X[:BATCH])
    held_out = []
    for components in recorder.components:
        judge.components_ = components
        held_out.append(-judge.score(X))
    return {"seconds": recorder.times, "held_out": held_out}


def _at_equal_time(curves: dict[str, Any]) -> dict[str, Any]:
    """Return the loss of batch over that of online when online has made one pass or is done."""
    batch = curves["batch mu"]
    found = {}
    for name, curve in curves.items():
        until = curve["seconds"][-1]
        before = [
            loss
            for at, loss in zip(batch["seconds"], batch["held_out"], strict=True)
            if at <= until
        ]
        found[name] = {
            "seconds": until,
            "held_out": curve["held_out"][-1],
            "batch_held_out": before[-1] if before else batch["held_out"][0],
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
        ax.legend(fontsize=9)
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
        row = result["at_equal_time"][loss]["online fast"]
        word = "met" if row["held_out"] < row["batch_held_out"] else "NOT met"
        verdicts.append(f"{loss}: online ahead of batch at equal time: {word}")
    return "\n".join([table(heads, rows), *verdicts])
