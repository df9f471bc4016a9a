"""Time per sample and memory against F, K, batch size and N, beside a cost model and the machine.

Data
    ``synthetic.nmf_with_outliers`` for the factorisations, ``synthetic.subspace_stream`` with
    10 % missing and 5 % outliers for the trackers. F = 400, K = 16 and batches of 64, one of
    them varied at a time: F from 100 to 3200, K from 4 to 64, batches from 8 to 256 (``--quick``:
    F = 200, K = 8, fewer points).
Settings
    Defaults, from components near the true ones; one BLAS thread, double precision. ``ReProCS``
    and ``Norst`` have windows of 256 samples, since these have to be longer than K.
    ``partial_fit`` of a batch after four others. N: 64 samples at a time from 2048 that come again
    and again, up to 65536 (4096 with ``--quick``).
Measures
    Processor time of a batch, the least of several, divided by its samples; pickled size of the
    estimator, without the trackers' history of drift, which keeps 4096 entries and is full after
    131072 samples. *slope*: of the logarithm against that of F or K over the upper half of the
    range; *model*: the same of the cost model (``benchmarks/cases/scale/_cost_model.py``), the
    dashed lines. *growth*: time and size at the last N divided by those at the first. *x limit*:
    for ``RobustOnlineNMF`` time of a batch divided by that of its least products at the peak of
    BLAS; for row-wise recursive least squares time of a sample divided by that of moving the state
    through memory once.
Claim
    Time and size grow with F and K no faster than the model, up to 0.25 in the slope; neither time
    (up to half as much again) nor size (up to 2 %) grows with N.
Picture
    ``docs/images/scaling.png`` (``results/quick/`` with ``--quick``).
"""

import copy
import pickle
import time
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.cases.scale import _cost_model
from benchmarks.shared import blas_threads
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import number, table
from benchmarks.shared.trackers import HOMES, estimator
from thalweg import ORNMF, OnlineNMF, RobustOnlineNMF, synthetic

FACTORISATIONS = {
    "RobustOnlineNMF": RobustOnlineNMF,
    "OnlineNMF": lambda K, **more: OnlineNMF(K, loss="kl", **more),
    "ORNMF": ORNMF,
}
ROWS = ("PetrelsADMM", "PetrelsCFAR", "Petrels")
SLACK, LONGER, LARGER = 0.25, 1.5, 1.02
WINDOW = 256
UNITS = {"seconds": (1e6, "microseconds a sample"), "bytes": (1e-6, "megabytes")}
FULL = {
    "base": {"F": 400, "K": 16, "B": 64},
    "F": [100, 200, 400, 800, 1600, 3200],
    "K": [4, 8, 16, 32, 64],
    "B": [8, 16, 32, 64, 128, 256],
    "N": [1024, 4096, 16384, 65536],
    "turns": 7,
}
QUICK = {
    "base": {"F": 200, "K": 8, "B": 32},
    "F": [100, 200, 400],
    "K": [4, 8, 16],
    "B": [16, 32, 64],
    "N": [1024, 4096],
    "turns": 3,
}


def run(quick: bool) -> dict[str, Any]:
    """Measure every estimator along every axis, and the machine before and after."""
    plan = QUICK if quick else FULL
    with blas_threads.limit(1):
        peak, bandwidth = _cost_model.gemm_peak(), _cost_model.memory_bandwidth()
        curves = {name: _curves(name, plan) for name in _cost_model.COSTS}
        peak = max(peak, _cost_model.gemm_peak())
        bandwidth = max(bandwidth, _cost_model.memory_bandwidth())
    result = {"plan": plan, "gemm_peak": peak, "bandwidth": bandwidth, "curves": curves}
    _draw(result, quick)
    return result


def _curves(name: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Return time of a sample and size of the model along each axis."""
    curves = _along(name, plan)
    for axis in ("F", "K", "B"):
        settings = [{**plan["base"], axis: value} for value in plan[axis]]
        found = [_cost(name, plan["turns"], **setting) for setting in settings]
        curves["seconds"][axis], curves["bytes"][axis] = map(list, zip(*found, strict=True))
    return curves


def _fresh(name: str, n: int, F: int, K: int) -> tuple[Any, Any]:
    """Return an estimator that begins near the truth, and its data."""
    rng = np.random.default_rng(1)
    if name in FACTORISATIONS:
        data = synthetic.nmf_with_outliers(n, F, K, random_state=0)
        first = data.components * rng.uniform(0.9, 1.1, data.components.shape) + 1e-3
        return FACTORISATIONS[name](K, init=first, random_state=0), data.X + 1e-3
    assert name in HOMES
    stream = synthetic.subspace_stream(n, F, K, missing=0.1, outlier_density=0.05, random_state=0)
    true = stream.basis_at(0)
    first = np.linalg.qr(true + 0.05 * rng.standard_normal(true.shape) / F**0.5)[0]
    window = {"window": WINDOW} if name in ("ReProCS", "Norst") else {}
    return estimator(name, K, init=first.T, random_state=0, **window), stream.X


def _cost(name: str, turns: int, F: int, K: int, B: int) -> tuple[float, int]:
    """Return the least processor time of a sample, and the size of the model."""
    model, X = _fresh(name, (4 + turns) * B, F, K)
    model.partial_fit(X[: 4 * B])
    least = min(_timed(model, X[start : start + B]) for start in range(4 * B, len(X), B))
    return least / B, _size(model)


def _along(name: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Return the time per sample and the size of the model after a number of samples."""
    model, X = _fresh(name, 2048, plan["base"]["F"], plan["base"]["K"])
    seconds, sizes, observed, latest = [], [], 0, []
    for until in plan["N"]:
        while observed < until:
            latest.append(_timed(model, X[observed % 2048 : observed % 2048 + 64]))
            observed += 64
        seconds.append(min(latest[-8:]) / 64)
        sizes.append(_size(model))
    return {"seconds": {"N": seconds}, "bytes": {"N": sizes}}


def _size(model: Any) -> int:
    """Return the pickled size of all but the history of drift, which has an end of its own."""
    kept = copy.copy(model)
    if hasattr(model, "drift_"):
        monitor = model.state_.monitor._replace(drift=model.drift_[:0])
        kept.state_ = model.state_._replace(monitor=monitor)
    return len(pickle.dumps(kept))


def _timed(model: Any, X: Any) -> float:
    begin = time.process_time()
    model.partial_fit(X)
    return time.process_time() - begin


def _model(name: str, plan: dict[str, Any], axis: str, unit: str) -> list[float]:
    cost = (_cost_model.COSTS if unit == "seconds" else _cost_model.NUMBERS)[name]
    return [cost(**{**plan["base"], axis: value}) for value in plan[axis]]


def _slope(x: list[float], y: list[float]) -> float:
    half = len(x) // 2
    return float(np.polyfit(np.log(x[half:]), np.log(y[half:]), 1)[0])


def _draw(result: dict[str, Any], quick: bool) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    plan, curves = result["plan"], result["curves"]
    palette = (*mpl.colormaps["tab10"].colors, "#222a33", "#c9910d")
    colours = dict(zip(curves, palette, strict=True))
    fig, axes = plt.subplots(4, 4, figsize=(16, 15), layout="constrained", sharey="row")
    names = [[n for n in curves if n in FACTORISATIONS], [n for n in curves if n in HOMES]]
    panels = [(unit, own) for unit in UNITS for own in names]
    for line, (unit, own) in zip(axes, panels, strict=True):
        scale, title = UNITS[unit]
        for ax, axis in zip(line, ("F", "K", "B", "N"), strict=True):
            for name in own:
                y = scale * np.array(curves[name][unit][axis])
                ax.loglog(plan[axis], y, "o-", color=colours[name], ms=4, label=name)
                if axis in ("F", "K"):
                    model = np.array(_model(name, plan, axis, unit))
                    expected = model * y[-1] / model[-1]
                    ax.loglog(plan[axis], expected, "--", color=colours[name], lw=1, alpha=0.6)
            ax.set_xticks(plan[axis], [str(value) for value in plan[axis]])
            ax.minorticks_off()
            ax.grid(alpha=0.3)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_xlabel({"B": "batch size", "N": "samples observed"}.get(axis, axis))
        line[0].set_ylabel(title)
        line[0].legend(fontsize=8)
    fig.savefig(picture("scaling", quick), dpi=75)
    plt.close(fig)


def _limit(name: str, result: dict[str, Any]) -> float | None:
    """Return time over the machine's limit, at the largest F."""
    plan = result["plan"]
    F, K, B = plan["F"][-1], plan["base"]["K"], plan["base"]["B"]
    spent = result["curves"][name]["seconds"]["F"][-1]
    if name == "RobustOnlineNMF":
        return spent * B / (_cost_model.products_flops(F, K, B) / result["gemm_peak"])
    if name in ROWS:
        return spent / (_cost_model.state_bytes(F, K, 8) / result["bandwidth"])
    return None


def report(result: dict[str, Any]) -> str:
    """Return slopes beside the model's, growth with N, distance to the limits, and the claims."""
    plan, rows, held = result["plan"], [], {}
    for name, curve in result["curves"].items():
        slopes, growth = [], []
        for unit, most in (("seconds", LONGER), ("bytes", LARGER)):
            for axis in ("F", "K"):
                measured, model = curve[unit][axis], _model(name, plan, axis, unit)
                ours, expected = (_slope(plan[axis], y) for y in (measured, model))
                held.setdefault(f"{unit} in {axis}", []).append(ours <= expected + SLACK)
                slopes += [f"{number(ours)} ({number(expected)})"]
            growth.append(curve[unit]["N"][-1] / curve[unit]["N"][0])
            held.setdefault(f"{unit} in N", []).append(growth[-1] <= most)
        at_base = plan["F"].index(plan["base"]["F"])
        base = 1e6 * curve["seconds"]["F"][at_base], 1e-6 * curve["bytes"]["F"][at_base]
        cells = (number(base[0], ".1f"), number(base[1]), *slopes, number(growth[0]),
                 number(growth[1], ".3f"), number(_limit(name, result), ".1f"))  # fmt: skip
        rows.append((name, *cells))
    heads = ("estimator", "us a sample", "MB", "time in F", "in K", "size in F", "in K",
             "time, N", "size, N", "x limit")  # fmt: skip
    lines = [
        f"products {result['gemm_peak'] / 1e9:.1f} Gflop/s, "
        f"memory {result['bandwidth'] / 1e9:.1f} GB/s",
        table(heads, rows),
        "in F, in K: the slope, and that of the model in brackets",
    ]
    lines += [f"no faster than claimed, {k}: {sum(v)} of {len(v)} met" for k, v in held.items()]
    return "\n".join(lines)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the largest excess over the cost model, and the growth with the number of samples."""
    plan, curves = result["plan"], result["curves"]
    found = []
    for unit, most, words in (("seconds", LONGER, "Time"), ("bytes", LARGER, "Size")):
        excess = {
            (name, axis): _slope(plan[axis], curve[unit][axis])
            - _slope(plan[axis], _model(name, plan, axis, unit))
            for name, curve in curves.items()
            for axis in ("F", "K")
        }
        growth = {
            name: curve[unit]["N"][-1] / curve[unit]["N"][0] for name, curve in curves.items()
        }
        (name, axis), worst = max(excess, key=excess.__getitem__), max(excess.values())
        longest = max(growth, key=growth.__getitem__)
        sentence = (
            f"{words}: the slopes in F and K are at most {worst:+.2f} from the model's ({name} in "
            f"{axis}); from {plan['N'][0]:,} to {plan['N'][-1]:,} samples it grows by a factor of "
            f"at most {growth[longest]:.3f} ({longest})."
        )
        found.append(Finding(sentence, worst <= SLACK and growth[longest] <= most))
    return found
