"""[D] Fig. 2: held-out loss against time, online and batch, for every loss of Table IV.

Figure
    [D] Fig. 2: OL beside Batch (multiplicative updates); for IS also OL-Lef, for squared l2
    OL-Guan, for Huber OL-Wang.
Data
    ``synthetic.nmf_with_noise``, [D] Table IV: F = 400, K = 40, N = 1e4 (the paper: 1e5; 3e3 with
    ``--quick``), Gamma, Poisson or Gaussian noise or uniform outliers to match the loss; 200 more
    samples of the same components are held out.
Settings
    The same initial components for all, scaled into the set of each method; batches of 40 (the
    paper's 1e-4 N would be 1), three passes, one BLAS thread. *online fast*: the default. *online
    spsgd*: the paper's OL with steps in units of the curvature (as printed it diverges on data of
    this size). *online mu*: multiplicative with the majorisers of the past (OL-Lef for IS).
    *OL-Wang*: Huber's loss with constant steps. *OL-Guan*: OR-NMF with all samples in its buffer,
    in windows of 40. *batch mu*: the paper's Batch. *batch reweighted*, for Huber, l1 and l2: the
    default of ``DivergenceNMF``. Every method stops when its time is up: 10 s (5 s with
    ``--quick``), and 40 s for *batch reweighted* (15 s); batch methods also when five rounds
    lower the objective by less than 5e-4 of it (*batch reweighted*), or 5e-9 (*batch mu*).
Measure
    Mean loss of the held-out samples, their codes found to 1e-4 with the components of that
    time, at about 15 times of each run. Time is processor time, since other jobs share the
    machine; the time to store components is not counted.
Claim
    [D] VIII-D2: the default and the paper's OL are ahead of *batch mu* when they have ended, for
    every loss; OL is not behind OL-Lef, OL-Guan (both by its own end) and within 2 % of OL-Wang.
    The default is also compared with the better of both batch methods under Huber, l1 and l2.
Picture
    ``docs/images/divergences.png`` (``results/quick/divergences.png`` with ``--quick``).
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.pictures import picture
from benchmarks.shared.recorder import record
from benchmarks.shared.tables import number, table
from thalweg import DivergenceNMF, OnlineNMF, baselines, synthetic
from thalweg.divergences.huber import Huber

F, K, BATCH, HELD_OUT = 400, 40, 40, 200
RATED = 15  # snapshots of a run whose held-out loss is computed
NOISES = {
    "kl": "poisson",
    "itakura-saito": "gamma",
    "squared-l2": "gaussian",
    "huber": "uniform-outliers",
    "l1": "uniform-outliers",
    "l2": "uniform-outliers",
}
HUBER_THRESHOLD = 100.0
ROBUST = ("huber", "l1", "l2")
# The online method that the paper has beside OL, and how far OL may be above it.
BESIDE = {
    "itakura-saito": ("online mu", 1.0),
    "squared-l2": ("OL-Guan", 1.0),
    "huber": ("OL-Wang", 1.02),
}
STYLES = {
    "online fast": ("-", "#1b6ca8"),
    "online spsgd": ("-", "#d1495b"),
    "online mu": ("-", "#2e933c"),
    "OL-Wang": ("-", "#e09f3e"),
    "OL-Guan": ("-", "#8f5aa8"),
    "batch mu": ("--", "#7a7a7a"),
    "batch reweighted": ("--", "#1c1c1c"),
}
OURS, PAPERS = "online fast", "online spsgd"


def run(quick: bool) -> dict[str, Any]:
    """Fit everything, rate the snapshots, draw the picture."""
    n, budgets = (3000, (5.0, 15.0)) if quick else (10_000, (10.0, 40.0))
    with blas_threads.limit(1):
        curves = {loss: _curves(loss, n, budgets) for loss in NOISES}
    result = {
        "n_samples": n,
        "n_held_out": HELD_OUT,
        "batch_size": BATCH,
        "huber_threshold": HUBER_THRESHOLD,
        "seconds_at_most": budgets,
        "curves": curves,
        "at_equal_time": {loss: _at_equal_time(own) for loss, own in curves.items()},
    }
    _draw(result, picture("divergences", quick))
    return result


def _curves(loss: str, n: int, budgets: tuple[float, float]) -> dict[str, Any]:
    data = synthetic.nmf_with_noise(n + HELD_OUT, F, K, noise=NOISES[loss], random_state=0)
    first = np.random.default_rng(1).random((K, F))
    return {
        name: _curve(loss, model, data.X, n, budgets[name == "batch reweighted"])
        for name, model in _models(loss, first)
    }


def _curve(loss: str, model: Any, X: Any, n: int, budget: float) -> dict[str, Any]:
    _warm_up(model, X)
    recorder = record(model, X[:n], budget, clock=time.process_time)
    last = len(recorder.times) - 1
    rated_ones = sorted({round(last * i / (RATED - 1)) for i in range(RATED)})
    components = [recorder.components[i] for i in rated_ones]
    return {
        "seconds": [recorder.times[i] for i in rated_ones],
        "held_out": rated(_kind(loss), components, X[n:]),
    }


def _warm_up(model: Any, X: Any) -> None:
    warm = clone(model)
    if hasattr(warm, "max_iter"):
        warm.set_params(max_iter=2)
    warm.fit(X[:200])


def _kind(loss: str) -> Any:
    return Huber(HUBER_THRESHOLD) if loss == "huber" else loss


def _models(loss: str, first: Any) -> list[tuple[str, Any]]:
    start: dict[str, Any] = {"init": first, "random_state": 0}
    online = {"batch_size": BATCH, "epochs": 3, **start}
    kind = _kind(loss)
    found: list[tuple[str, Any]] = [
        (f"online {solver}", OnlineNMF(K, loss=kind, solver=solver, **online))
        for solver in ("fast", "mu", "spsgd")
    ]
    if loss == "huber":
        found.append(("OL-Wang", baselines.OLWang(K, huber_threshold=HUBER_THRESHOLD, **online)))
    if loss == "squared-l2":
        found.append(("OL-Guan", baselines.OLGuan(K, window=BATCH, **online)))
    batch: dict[str, Any] = {"loss": kind, "max_iter": 1000, **start}
    found.append(("batch mu", DivergenceNMF(K, solver="mu", tol=1e-9, **batch)))
    if loss in ROBUST:
        found.append(("batch reweighted", DivergenceNMF(K, solver="reweighted", **batch)))
    return found


def rated(loss: Any, snapshots: list[Any], X: Any) -> list[float]:
    """Return the mean loss of the samples under each of the components, by the same codes."""
    judge = OnlineNMF(len(snapshots[0]), loss=loss, tol=1e-4, init=snapshots[0], random_state=0)
    judge.partial_fit(X[:BATCH])
    found = []
    for components in snapshots:
        judge.components_ = components
        found.append(-judge.score(X))
    return found


def until(curve: dict[str, Any], when: float) -> float:
    """Return the last loss of a curve until then, or its first."""
    pairs = zip(curve["seconds"], curve["held_out"], strict=True)
    before = [loss for at, loss in pairs if at <= when]
    return float(before[-1] if before else curve["held_out"][0])


def _at_equal_time(curves: dict[str, Any]) -> dict[str, Any]:
    """Return the loss of batch mu beside that of each method when it is done."""
    return {
        name: {
            "seconds": curve["seconds"][-1],
            "held_out": curve["held_out"][-1],
            "batch_held_out": until(curves["batch mu"], curve["seconds"][-1]),
        }
        for name, curve in curves.items()
    }


def _draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(15, 8), layout="constrained")
    for ax, (loss, curves) in zip(axes.flat, result["curves"].items(), strict=True):
        for name, curve in curves.items():
            style, colour = STYLES[name]
            ax.plot(curve["seconds"], curve["held_out"], style, color=colour, lw=2, label=name)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="processor seconds",
            ylabel="mean held-out loss",
        )
        ax.set_title(f"{loss}, {NOISES[loss]}", fontsize=11)
        ax.grid(which="both", alpha=0.25)
    shown = {line.get_label(): line for ax in axes.flat for line in ax.get_lines()}
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=5, fontsize=10)
    figure.suptitle(
        f"[D] Fig. 2: F = {F}, K = {K}, N = {result['n_samples']:,}, batches of {BATCH}"
    )
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _better_batch(result: dict[str, Any], loss: str, when: float) -> float:
    """Return the lower loss of the batch methods until then."""
    curves = result["curves"][loss]
    return min(until(curve, when) for name, curve in curves.items() if name.startswith("batch"))


def _verdicts(result: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return each claim, its ratio, and whether it holds."""
    found = []
    for name in (OURS, PAPERS):
        for loss, methods in result["at_equal_time"].items():
            ratio = methods[name]["batch_held_out"] / methods[name]["held_out"]
            found.append((f"{loss}: batch mu over {name} at its end {ratio:.3f}", ratio > 1.0))
    for loss in ROBUST:
        row = result["at_equal_time"][loss][OURS]
        ratio = _better_batch(result, loss, row["seconds"]) / row["held_out"]
        found.append((f"{loss}: better batch over {OURS} at its end {ratio:.3f}", ratio > 1.0))
    for loss, (name, slack) in BESIDE.items():
        own = result["at_equal_time"][loss][PAPERS]
        ratio = own["held_out"] / until(result["curves"][loss][name], own["seconds"])
        found.append((f"{loss}: {PAPERS} over {name} at its end {ratio:.3f}", ratio <= slack))
    return found


def report(result: dict[str, Any]) -> str:
    """Return every method's last loss beside that of batch at the same time, and the claims."""
    rows = [
        (
            f"{loss}: {name}",
            number(row["seconds"]),
            number(row["held_out"], ".4g"),
            number(row["batch_held_out"], ".4g"),
            number(row["batch_held_out"] / row["held_out"], ".3f"),
        )
        for loss, methods in result["at_equal_time"].items()
        for name, row in methods.items()
    ]
    heads = ("loss: method", "seconds", "held-out", "batch mu then", "batch mu/it")
    verdicts = [f"{words}: {'met' if held else 'NOT met'}" for words, held in _verdicts(result)]
    return "\n".join([table(heads, rows), *verdicts])


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return who is ahead of whom, and by how much."""
    ends, (short, most) = result["at_equal_time"], result["seconds_at_most"]
    smooth = [loss for loss in NOISES if loss not in ROBUST]
    ahead = {
        name: {
            loss: ends[loss][name]["batch_held_out"] / ends[loss][name]["held_out"]
            for loss in NOISES
        }
        for name in (OURS, PAPERS)
    }
    first, robust = ([ahead[OURS][loss] for loss in group] for group in (smooth, ROBUST))
    paper = [ahead[PAPERS][loss] for loss in smooth]
    frozen = {
        loss: _last(result, loss, "batch mu") / _last(result, loss, "batch reweighted")
        for loss in ROBUST
    }
    then = {loss: _better_batch(result, loss, ends[loss][OURS]["seconds"]) for loss in ROBUST}
    then = {loss: value / ends[loss][OURS]["held_out"] for loss, value in then.items()}
    late = {
        loss: _last(result, loss, "batch reweighted") / _last(result, loss, OURS) for loss in ROBUST
    }
    beside = {
        loss: ends[loss][PAPERS]["held_out"]
        / until(result["curves"][loss][name], ends[loss][PAPERS]["seconds"])
        for loss, (name, _) in BESIDE.items()
    }
    return [
        Finding(
            "When it has ended, the default is ahead of batch multiplicative updates under every "
            f"loss: {min(first):.1f} to {max(first):.1f} times lower under KL, Itakura-Saito and "
            f"squared l2, and by {100 * (min(robust) - 1):.0f} to {100 * (max(robust) - 1):.0f} % "
            "under Huber, l1 and l2, where most of the loss is the outliers' own.",
            min(first + robust) > 1.0,
        ),
        Finding(
            f"The paper's OL is {min(paper):.1f} to {max(paper):.1f} times lower than batch "
            "multiplicative updates under KL, Itakura-Saito and squared l2.",
            min(paper) > 1.0,
        ),
        Finding(
            f"Stopped after {short:.0f} s, batch multiplicative updates are at "
            f"{frozen['l1']:.3f}, {frozen['l2']:.3f} and {frozen['huber']:.3f} times the last loss "
            "of reweighted least squares under l1, l2 and Huber's loss.",
            min(frozen.values()) > 1.0
            and all(_seconds(result, loss, "batch mu") >= short for loss in ROBUST),
        ),
        Finding(
            "Reweighted least squares are ahead of the default at equal time under l1, by "
            f"{100 * (1 - then['l1']):.1f} %, and behind it under l2 and Huber's loss. When they "
            f"end, under l1 because their {most:.0f} s are up, they are at {late['l1']:.3f}, "
            f"{late['l2']:.3f} and {late['huber']:.3f} "
            "times the loss of the default under l1, l2 and Huber's loss.",
            then["l1"] < 1.0 < min(then["l2"], then["huber"])
            and _seconds(result, "l1", "batch reweighted") >= most
            and max(_seconds(result, loss, "batch reweighted") for loss in ("l2", "huber")) < most,
        ),
        Finding(
            f"OL is ahead of OL-Lef at the same time, at {beside['itakura-saito']:.2f} times its "
            f"loss, and of OL-Wang, at {beside['huber']:.3f} times; it is behind OL-Guan, at "
            f"{beside['squared-l2']:.2f} times.",
            max(beside["itakura-saito"], beside["huber"]) < 1.0 < beside["squared-l2"],
        ),
    ]


def _last(result: dict[str, Any], loss: str, name: str) -> float:
    return float(result["curves"][loss][name]["held_out"][-1])


def _seconds(result: dict[str, Any], loss: str, name: str) -> float:
    return float(result["curves"][loss][name]["seconds"][-1])
