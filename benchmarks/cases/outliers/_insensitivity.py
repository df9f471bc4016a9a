"""[O] Fig. 2-6 and 11-15: one setting is varied at a time, on any data."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.recorder import SPACING, record
from benchmarks.shared.sweeps import SAME, curves, spread
from benchmarks.shared.tables import number, table
from thalweg import OnlineFactorization, RobustOnlineNMF
from thalweg.encoders.admm import Admm
from thalweg.encoders.fast import Fast
from thalweg.encoders.pgd import Pgd
from thalweg.prox.l1 import L1
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers.admm import MatrixAdmm
from thalweg.solvers.projected_gradient import ProjectedGradient
from thalweg.updates.atom_scaling import scale_into
from thalweg.updates.batch_admm import BatchAdmm
from thalweg.updates.batch_pgd import BatchPgd
from thalweg.updates.surrogate import Surrogate

__all__ = ["Setting", "draw", "findings", "report", "sweeps"]

BOUND, NEAR = 1.0, 1.05
ONLINE = ("online fast", "online pgd", "online admm")
BATCH = ("batch pgd", "batch admm")
# For each setting: its values, and the methods that have it.
SWEEPS: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {
    "tau": ((5, 10, 20, 40, 100), ONLINE),
    "K": ((25, 49, 100), ONLINE + BATCH),
    "rho": ((1.0, 10.0, 100.0, 1000.0), ("online admm", "batch admm")),
    "kappa": ((0.7, 0.4, 0.2, 0.1), ("online pgd", "batch pgd")),
    "outliers": (((0.7, 0.1), (0.8, 0.2), (0.9, 0.3)), ONLINE + BATCH),
}
# A batch size outside of the paper's range; no claim includes it.
BEYOND = "100"
# [O] VII-C: batches of at most this share of all samples.
RULE = 4e-4
# A batch method has converged if the second half of its time lowered the loss by less, in percent.
CALM = 1.0
COLOURS = {"fast": "#1b6ca8", "pgd": "#d1495b", "admm": "#2e933c"}


class Setting(NamedTuple):
    """The canonical setting; the sweeps change one field at a time."""

    tau: int = 40
    K: int = 49
    rho: float = 1.0
    kappa: float = 0.7
    outliers: tuple[float, float] = (0.7, 0.1)


def sweeps(data: Callable[[Setting], tuple[Any, Any]], budget: float) -> dict[str, Any]:
    """Run every method that has a setting at each of its values.

    ``data`` returns training samples and held-out samples.
    """
    known: dict[tuple[str, Setting], Any] = {}
    found: dict[str, Any] = {}
    with blas_threads.limit(1):
        for name, (values, methods) in SWEEPS.items():
            for method in methods:
                for value in values:
                    key = (method, Setting()._replace(**{name: value}))
                    if key not in known:  # the canonical setting is in every sweep
                        known[key] = _curve(*key, *data(key[1]), budget)
                    found.setdefault(name, {}).setdefault(method, {})[str(value)] = known[key]
    return found


def _curve(method: str, setting: Setting, X: Any, held_out: Any, budget: float) -> dict[str, Any]:
    outliers = L1(X.shape[1] ** -0.5, BOUND)
    first = np.random.default_rng(0).random((setting.K, X.shape[1]))
    if method in BATCH:
        seconds, components = _descend(_batch_method(method, setting, outliers), X, first, budget)
    else:
        model = _model(method, setting, first, outliers)
        model.set_params(callback=None).fit(X[:200])  # fills the caches
        recorder = record(model, X, np.inf, clock=time.process_time)
        seconds, components = recorder.times, recorder.components
    V, codes = np.ascontiguousarray(held_out).T, Fast(outliers=outliers, tol=1e-4)
    losses = [float(codes.encode(V, W.T).loss.mean()) for W in components]
    return {"seconds": seconds, "held_out": losses}


def _model(method: str, setting: Setting, first: Any, outliers: L1) -> Any:
    """Return an online method; OPGD and OADMM are compositions, since estimators hide kappa."""
    common = {"batch_size": setting.tau, "init": first, "random_state": 0}
    if method == "online fast":
        return RobustOnlineNMF(
            setting.K, outlier_weight=outliers.weight, outlier_bound=BOUND, **common
        )
    encoder, solver, own = Pgd, ProjectedGradient, {"kappa": setting.kappa}
    if method == "online admm":
        encoder, solver, own = Admm, MatrixAdmm, {"rho": setting.rho}
    return OnlineFactorization(
        setting.K,
        encoder=encoder(outliers=outliers, **own),
        update=Surrogate(solver=solver(**own)),
        **common,
    )


def _batch_method(method: str, setting: Setting, outliers: L1) -> Any:
    if method == "batch pgd":
        return BatchPgd(outliers=outliers, kappa=setting.kappa)
    return BatchAdmm(outliers=outliers, rho=setting.rho)


def _descend(method: Any, X: Any, first: Any, budget: float) -> tuple[list[float], list[Any]]:
    """Return components of a batch method during its run, and processor seconds."""
    V = np.ascontiguousarray(X).T
    state = method.start(V, scale_into(first.T, L2Ball()), None)
    times: list[float] = []
    components, spent = [], 0.0
    while spent < budget:
        begin = time.process_time()
        state = method.advance(V, state, None)
        spent += time.process_time() - begin
        if not times or spent >= min(SPACING * times[-1], budget):
            times.append(spent)
            components.append(np.ascontiguousarray(method.factors(state).W.T))
    return times, components


def _last(found: dict[str, Any]) -> dict[str, float]:
    return {value: curve["held_out"][-1] for value, curve in found.items()}


def draw(result: dict[str, Any], figures: tuple[str, ...], title: str, path: Any) -> None:
    """Draw a column of curves for each sweep, online above and batch below."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 5, figsize=(21, 8.4), sharey="col", layout="constrained")
    for down, name, label in zip(axes.T, SWEEPS, figures, strict=True):
        for method, found in result["sweeps"][name].items():
            kind, solver = method.split()
            curves(down[int(kind == "batch")], found, COLOURS[solver], solver)
        for ax, kind in zip(down, ("online", "batch"), strict=True):
            if not ax.lines:  # no batch method has mini-batches
                ax.set_axis_off()
                continue
            ax.set(xlabel="processor seconds", ylabel="mean held-out loss")
            ax.set_title(f"{label}: {name}, {kind}", fontsize=12)
            ax.legend(fontsize=6.5, framealpha=0.5)
    figure.suptitle(f"{title}; from dark to light: values in the order of the legend")
    figure.savefig(path, dpi=90)
    plt.close(figure)


def report(result: dict[str, Any]) -> str:
    """Return the last losses and seconds of each sweep, and the claims."""
    lines: list[str] = []
    for name, methods in result["sweeps"].items():
        values = list(next(iter(methods.values())))
        rows = [
            (
                method,
                *(number(loss, ".4f") for loss in _last(found).values()),
                *(number(curve["seconds"][-1], ".1f") for curve in found.values()),
            )
            for method, found in methods.items()
        ]
        heads = (f"{name}: last loss", *values, *(f"{value}, s" for value in values))
        lines += [table(heads, rows), *_verdicts(name, methods), ""]
    return "\n".join(lines[:-1])


def _verdicts(name: str, methods: dict[str, Any]) -> list[str]:
    last = {method: _last(found) for method, found in methods.items()}
    lines = []
    for method in (m for m in ONLINE if m in last):
        if name in ("K", "outliers"):
            others = [last[b] for b in BATCH if method.split()[1] in ("fast", b.split()[1])]
            worst = max(last[method][v] / min(own[v] for own in others) for v in last[method])
            word = "met" if worst <= NEAR else "NOT met"
            lines.append(f"{name}, {method}: at most {worst:.3f} times batch, 1.05 wanted: {word}")
            continue
        far = spread([loss for value, loss in last[method].items() if value != BEYOND])
        word = "met" if far <= SAME else "NOT met"
        lines.append(f"{name}, {method}: largest over smallest {far:.3f}, 1.1 wanted: {word}")
        batch = method.replace("online", "batch")
        if batch in last:
            apart = spread([*last[batch].values()])
            word = "met" if far <= apart else "NOT met"
            lines.append(
                f"{name}, {method}: no farther apart than those of {batch}, {apart:.3f}: {word}"
            )
    return lines


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the effects of batch size, rho and kappa, and how far batch methods converged."""
    swept = result["sweeps"]
    found = [_of_tau(swept["tau"], result["n_samples"])]
    for name, method in (("rho", "online admm"), ("kappa", "online pgd")):
        last = _last(swept[name][method])
        canonical = next(iter(last.values()))
        ratios = ", ".join(f"{loss / canonical:.2f} at {value}" for value, loss in last.items())
        ends = [value for value, loss in last.items() if loss > SAME * canonical]
        where = f"from {name} = {ends[0]} on" if ends else "nowhere"
        sentence = (
            f"{method.capitalize()}: the last loss over that for the canonical {name} is {ratios}"
        )
        holds = not ends or [*last][-len(ends) :] == ends
        found.append(Finding(f"{sentence}. It is more than 10 % higher {where}.", holds))
    found.append(_of_batch(swept["K"], result))
    return found


def _of_tau(methods: dict[str, Any], n_samples: int) -> Finding:
    """Return the effect of the batch size, in the paper's range and beyond."""
    parts, same = [], []
    for method, found in methods.items():
        last = _last(found)
        beyond = last.pop(BEYOND)
        parts.append(f"{100 * (spread([*last.values()]) - 1.0):.1f} % ({method})")
        same.append(beyond / last["5"])
    rule = int(BEYOND) / (RULE * n_samples)
    sentence = (
        f"Batch sizes from 5 to 40 change the last loss by {', '.join(parts)}. With {BEYOND}, "
        f"{rule:.0f} times the largest size by the rule of thumb of [O], the losses are "
        f"{', '.join(f'{ratio:.3f}' for ratio in same)} times those with 5."
    )
    return Finding(sentence, rule > 1.0)


def _of_batch(methods: dict[str, Any], result: dict[str, Any]) -> Finding:
    """Return the losses of the batch methods when their time is up, and how fast they fall."""
    own = {method: methods[method] for method in BATCH}
    ratios = [
        pgd["held_out"][-1] / admm["held_out"][-1]
        for pgd, admm in zip(*(found.values() for found in own.values()), strict=True)
    ]
    falls = {method: [_late(curve) for curve in found.values()] for method, found in own.items()}
    late = "; ".join(
        f"{method} {', '.join(f'{fall:.1f}' for fall in found)} %"
        for method, found in falls.items()
    )
    every = [fall for found in falls.values() for fall in found]
    calm = sum(fall < CALM for fall in every)
    sentence = (
        f"All batch methods were stopped after {result['batch_seconds']:g} s. For K = "
        f"{', '.join(own[BATCH[0]])} the second half of the time had lowered their losses by: "
        f"{late}. {calm} of these {len(every)} figures are below {CALM:g} %, where a batch method "
        f"counts as converged. Batch pgd was at {min(ratios):.2f} to {max(ratios):.2f} times the "
        "loss of batch admm. While batch losses fall, ratios of online to batch losses are lower "
        "bounds."
    )
    return Finding(sentence, min(ratios) > 1.0)


def _late(curve: dict[str, Any]) -> float:
    """Return the decrease of the loss in the second half of the time, in percent of its end."""
    return 100.0 * (_half(curve) / curve["held_out"][-1] - 1.0)


def _half(curve: dict[str, Any]) -> float:
    """Return the loss when half of the time was over."""
    pairs = zip(curve["seconds"], curve["held_out"], strict=True)
    return [loss for at, loss in pairs if at <= curve["seconds"][-1] / 2.0][-1]
