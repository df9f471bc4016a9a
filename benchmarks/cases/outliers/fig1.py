"""[O] Fig. 1: objective against time, online and batch, with and without outliers.

Figure
    [O] Fig. 1 (a): the online algorithms and their batch counterparts. (b): the
    reconstruction loss (46) of online algorithms, ORPCA, and an ONMF without outliers.
Data
    ``synthetic.nmf_with_outliers``, [O] VII-D1: F = 400, K = 49, N = 6000 (the paper: 1e5; 2000
    with ``--quick``), noise 0.01, 10 % outliers in 70 % of the samples; 500 more samples of
    the same dictionary are held out.
Settings
    The paper's canonical ones: outlier weight 1/sqrt(F), bound 1, batches of 40, the same initial
    dictionary for all, one BLAS thread. Online: one pass. Batch: a method has converged when the
    second half of its rounds has lowered the objective by less than 0.1 % (with 1 %, BPGD would
    stop on a plateau at its beginning). After 60 s (3 s with ``--quick``) it is stopped without,
    marked ~. ORPCA: ``OnlineRobustPCA`` with the weight of [O] in its units. ONMF:
    ``solver="fast"`` with a weight so large that no entry is an outlier.
Measures
    *objective*: as in the paper the surrogate (11) online, and the loss of all samples in
    batch. *held-out loss*: (7) on the held-out samples, so that both can be compared.
    *reconstruction*: (46) on the held-out samples, with their codes for the components of that
    time, of either sign for ORPCA. The last two are computed after the fit from stored components;
    the time to store them is not counted. Seconds are processor time. The objective of a batch
    method that was stopped is an upper bound of its objective at convergence.
Claims
    One pass of the default online solver ends within 2 % of the best batch method's held-out
    loss. (b), as printed: OPGD and OADMM end at most 10 % above ORPCA, and ONMF above them all.
Picture
    ``docs/images/fig1.png`` (``results/quick/fig1.png`` with ``--quick``).
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.cases.outliers._algorithms import TO_THE_END
from benchmarks.shared import blas_threads
from benchmarks.shared.pictures import picture
from benchmarks.shared.recorder import Recorder, record
from benchmarks.shared.tables import number, table
from thalweg import OnlineRobustPCA, RobustNMF, RobustOnlineNMF, synthetic
from thalweg.encoders.admm import Admm
from thalweg.encoders.fast import Fast
from thalweg.estimators import Progress
from thalweg.metrics import reconstruction_loss
from thalweg.prox.l1 import L1
from thalweg.prox.squared_l2 import SquaredL2

F, K, BATCH, HELD_OUT = 400, 49, 40, 500
WEIGHT, BOUND = F**-0.5, 1.0
NO_OUTLIERS = 1e3
# Weight of the squared codes of ORPCA, only to make its system definite.
FREE = 1e-6
CLOSE, NEAR, CALM = 1.02, 1.1, 0.001
ONLINE = ("online fast", "online pgd", "online admm", "ONMF")
COLOURS = {
    "fast": "#1b6ca8",
    "pgd": "#d1495b",
    "admm": "#2e933c",
    "ONMF": "#7a7a7a",
    "ORPCA": "#8e5aa8",
}


def run(quick: bool) -> dict[str, Any]:
    """Fit everything, rate the snapshots, draw the picture."""
    n, budget = (2000, 3.0) if quick else (6000, 60.0)
    data = synthetic.nmf_with_outliers(n + HELD_OUT, F, K, random_state=0)
    first = np.random.default_rng(0).random((K, F))
    curves = {}
    with blas_threads.limit(1):
        for name, model, weight in _models(first, n):
            model.set_params(callback=None).fit(data.X[:200])  # fills the caches
            calm = CALM if name.startswith("batch") else None
            recorder = record(model, data.X[:n], budget, clock=time.process_time, calm=calm)
            curves[name] = _rate(recorder, data.X[n:], data.clean[n:], weight)
            curves[name]["cut"] = recorder.ended == "up"
        curves["ORPCA"] = _rate(_follow(first, data.X[:n]), data.X[n:], data.clean[n:], None)
    result = {
        "n_samples": n,
        "n_held_out": HELD_OUT,
        "outlier_weight": WEIGHT,
        "outlier_bound": BOUND,
        "batch_size": BATCH,
        "seconds_at_most": budget,
        "curves": curves,
        "summary": _summary(curves),
    }
    _draw(result, picture("fig1", quick))
    return result


def _models(first: Any, n: int) -> list[tuple[str, Any, float]]:
    common = {"init": first, "outlier_bound": BOUND, "random_state": 0}
    models: list[tuple[str, Any, float]] = []
    for solver in ("fast", "pgd", "admm"):
        own = {"solver": solver, "outlier_weight": WEIGHT, **common}
        models.append((f"online {solver}", RobustOnlineNMF(K, batch_size=BATCH, **own), WEIGHT))
    for solver in ("fast", "pgd", "admm"):
        own = {"solver": solver, "outlier_weight": WEIGHT, **common}
        models.append((f"batch {solver}", RobustNMF(K, **TO_THE_END, **own), WEIGHT))
    plain = RobustOnlineNMF(
        K, batch_size=BATCH, init=first, random_state=0, outlier_weight=NO_OUTLIERS
    )
    return [*models, ("ONMF", plain, NO_OUTLIERS)]


def _follow(first: Any, X: Any) -> Recorder:
    """Fit ORPCA batch by batch; it uses the samples one by one."""
    length = float(np.median(np.linalg.norm(X, axis=1)))
    settings: dict[str, Any] = {"lambda2": WEIGHT / length, "init": first, "random_state": 0}
    OnlineRobustPCA(K, **settings).partial_fit(X[:200])  # fills the caches
    model = OnlineRobustPCA(K, **settings)
    recorder = Recorder(model, np.inf, clock=time.process_time)
    for start in range(0, len(X), BATCH):
        model.partial_fit(X[start : start + BATCH])
        recorder(Progress(start + BATCH, len(X), np.nan, model.outlier_share_))
    return recorder


def _encoder(weight: float | None) -> Any:
    """Return the encoder of held-out samples; without a weight, codes have either sign."""
    if weight is None:
        return Admm(outliers=L1(WEIGHT), penalty=SquaredL2(FREE), tol=1e-5, max_iter=200)
    return Fast(outliers=L1(weight, BOUND if weight == WEIGHT else np.inf), tol=1e-4)


def _rate(recorder: Recorder, X: Any, clean: Any, weight: float | None) -> dict[str, Any]:
    """Rate each snapshot on the held-out samples."""
    V, codes = np.ascontiguousarray(X).T, _encoder(weight)
    held_out, reconstruction = [], []
    for components in recorder.components:
        found = codes.encode(V, components.T)
        held_out.append(float(found.loss.mean()) if weight == WEIGHT else None)
        reconstruction.append(reconstruction_loss(clean, found.H.T, components))
    return {
        "seconds": recorder.times,
        "objective": recorder.objectives,
        "held_out": held_out,
        "reconstruction": reconstruction,
        "cut": False,
    }


def _summary(curves: dict[str, Any]) -> dict[str, Any]:
    """Return the seconds of each method to within 2 % of the best batch result."""
    best = min(min(curve["held_out"]) for name, curve in curves.items() if name.startswith("batch"))
    reached = {}
    for name, curve in curves.items():
        pairs = zip(curve["seconds"], curve["held_out"], strict=True)
        reached[name] = next((at for at, loss in pairs if loss and loss <= CLOSE * best), None)
    online, batch = (
        reached["online fast"],
        [at for name, at in reached.items() if name.startswith("batch") and at is not None],
    )
    last = {name: curve["reconstruction"][-1] for name, curve in curves.items()}
    return {
        "best_batch_held_out": best,
        "seconds_to_within_2_percent": reached,
        "batch_time_over_online_time": min(batch) / online if online and batch else None,
        "online_fast_over_best_batch_held_out": curves["online fast"]["held_out"][-1] / best,
        "onmf_over_online_fast_reconstruction": last["ONMF"] / last["online fast"],
        "over_orpca_reconstruction": {name: last[name] / last["ORPCA"] for name in ONLINE},
    }


def _draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    panels = (
        ("objective", "(a) objective: surrogate online, all samples in batch", True),
        ("held_out", "(a) held-out loss", True),
        ("reconstruction", "(b) reconstruction loss (46), held-out", False),
    )
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    for ax, (key, title, batch) in zip(axes, panels, strict=True):
        for name, curve in result["curves"].items():
            other = name in ("ONMF", "ORPCA")
            if (name.startswith("batch") and not batch) or (other and batch):
                continue
            style = "--" if name.startswith("batch") else ":" if other else "-"
            label = "ONMF, no outliers" if name == "ONMF" else name
            colour = COLOURS[name.split()[-1]]
            ax.plot(curve["seconds"], curve[key], style, color=colour, lw=2, label=label)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="processor seconds",
            ylabel="mean loss",
        )
        ax.set_title(title, fontsize=11)
        ax.grid(which="both", alpha=0.25)
        ax.legend(fontsize=9)
    figure.suptitle(
        f"[O] Fig. 1: F = {F}, K = {K}, N = {result['n_samples']:,}, batches of {BATCH}"
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


def report(result: dict[str, Any]) -> str:
    """Return the last values of every curve, and the seconds to near the best batch result."""
    summary = result["summary"]
    near = summary["seconds_to_within_2_percent"]
    word = "met" if summary["online_fast_over_best_batch_held_out"] <= 1.02 else "NOT met"
    rows = (
        (
            name + " ~" * curve["cut"],
            number(curve["seconds"][-1]),
            *(number(curve[key][-1], ".4f") for key in ("objective", "held_out", "reconstruction")),
            number(near[name]),
        )
        for name, curve in result["curves"].items()
    )
    heads = ("method", "seconds", "objective", "held-out", "recon. (46)", "s to 2 % of batch")
    return (
        f"{table(heads, rows)}\n~ stopped by time before it had converged\n"
        f"online fast / best batch, held-out loss: "
        f"{summary['online_fast_over_best_batch_held_out']:.3f} (at most 1.02: {word})\n"
        f"fastest batch / online fast, time to within 2 % of the best batch: "
        f"{number(summary['batch_time_over_online_time'])}\n"
        f"{_beside(summary['over_orpca_reconstruction'])}"
    )


def _beside(ratios: dict[str, float]) -> str:
    """Return the verdicts on (b)."""
    lines = []
    for name in ("online pgd", "online admm"):
        word = "met" if ratios[name] <= NEAR else "NOT met"
        lines.append(
            f"{name} / ORPCA, reconstruction loss: {ratios[name]:.2f}, at most 1.1: {word}"
        )
    worst = max(1.0, *(ratios[name] for name in ONLINE if name != "ONMF"))
    word = "met" if ratios["ONMF"] > worst else "NOT met"
    lines.append(
        f"ONMF / ORPCA, reconstruction loss: {ratios['ONMF']:.1f}, above all others: {word}"
    )
    return "\n".join(lines)


def _reached(curve: dict[str, Any], loss: float) -> float | None:
    """Return the seconds after which the held-out loss is at most a value."""
    pairs = zip(curve["seconds"], curve["held_out"], strict=True)
    return next((at for at, value in pairs if value <= loss), None)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Compare online methods with the best batch method and with ORPCA."""
    curves, summary = result["curves"], result["summary"]
    best = summary["best_batch_held_out"]
    over = {name: curves[name]["held_out"][-1] / best for name in ONLINE if name != "ONMF"}
    end, last = (curves["online fast"][key][-1] for key in ("held_out", "seconds"))
    batch = {
        name: at
        for name, curve in curves.items()
        if name.startswith("batch") and (at := _reached(curve, end)) is not None
    }
    first = min(batch, key=lambda name: batch[name])
    cut = [name for name, curve in curves.items() if curve["cut"]]
    beside = summary["over_orpca_reconstruction"]
    ratios = ", ".join(f"{name} {ratio:.3f}" for name, ratio in over.items())
    found = [
        Finding(
            f"Held-out loss after one pass, over that of the best batch method: {ratios}.",
            max(over, key=lambda name: over[name]) != "online fast",
        ),
        Finding(
            f"The default online solver ends {100.0 * (over['online fast'] - 1.0):.1f} % above the "
            f"best batch method, after {number(last)} s, so the claim of 2 % is not met; {first}, "
            f"the first batch method at that loss, reaches it after {number(batch[first])} s.",
            over["online fast"] > CLOSE and last < batch[first],
        ),
        Finding(
            "Reconstruction loss (46) over that of ORPCA: "
            + ", ".join(f"{name} {ratio:.2f}" for name, ratio in beside.items())
            + "; ONMF, without outliers, is the highest.",
            max(beside, key=lambda name: beside[name]) == "ONMF" and beside["ONMF"] > 1.0,
        ),
    ]
    if cut:
        limit = result["seconds_at_most"]
        sentence = (
            f"Stopped after {limit:g} s, before convergence: {', '.join(cut)}. Their objectives "
            "are upper bounds, and while their held-out losses fall the ratios are lower bounds."
        )
        found.append(Finding(sentence, all(name.startswith("batch") for name in cut)))
    return found
