"""[D] Fig. S-1 to S-3: how much batch size, K and the step constant matter, for every loss.

Figures
    [D] Fig. S-1 (mini-batch size tau), S-2 (K), S-3 (a of the steps a / (tau t + b)): one setting
    is varied, the others are canonical, for the six losses of Table IV.
Data
    ``synthetic.nmf_with_noise``, [D] Table IV: F = 400, rank 40, N = 5e3 (the paper: 1e5; 500
    with ``--quick``), Gamma, Poisson or Gaussian noise or uniform outliers to match the loss; 200
    more samples of the same components are held out (50 with ``--quick``).
Settings
    tau = 40 as in ``divergences`` (the paper's 1e-4 N is 10), K = 40, a = 1 in units of the
    paper's 2e4; one start for each K, one pass, one BLAS thread. tau: 10, 40, 160. K: 20, 40,
    80. a: 0.1, 1, 10 (the paper varies all three "in log-scale" and does not name values).
    *spsgd*: the paper's OL with steps in units of the curvature. *fast*: the default, which has
    no a. Huber's knee is 100.
Measure
    Mean loss of the held-out samples, their codes found to 1e-4 with the components of that
    time; the clock stands while components are stored.
Claims
    For each loss, the last losses of each method at the values of tau, of K and of a are within
    10 % of one another.
Note
    The curves agree down to the plateau of the mean sample, and not below it. A twentieth of the
    paper's samples makes 125 steps of tau = 40, too few for ``spsgd`` to leave it, while smaller
    batches, which make more steps, do; a = 10 oversteps the curvature; and K = 20 is below the
    rank of the data. Under Huber, l1 and l2 most of the loss is the outliers' own, which hides
    what is left.
Picture
    ``docs/images/divergence_sensitivity.png`` (``results/quick/`` with ``--quick``).
"""

from typing import Any

import numpy as np

from benchmarks import _threads
from benchmarks._recorder import record
from benchmarks._sweeps import SAME, curves, spread
from benchmarks._table import number, table
from benchmarks._trackers import picture
from benchmarks.cases.divergences import KNEE, NOISES, rated
from thalweg import OnlineNMF, synthetic
from thalweg.divergences.huber import Huber

F, RANK = 400, 40
SOLVERS = {"fast": "#1b6ca8", "spsgd": "#d1495b"}
CANONICAL = {"tau": 40, "K": 40, "a": 1.0}
# what is varied: figure, values, solvers that know of it
SWEEPS: dict[str, tuple[str, tuple[Any, ...], tuple[str, ...]]] = {
    "tau": ("Fig. S-1", (10, 40, 160), ("fast", "spsgd")),
    "K": ("Fig. S-2", (20, 40, 80), ("fast", "spsgd")),
    "a": ("Fig. S-3", (0.1, 1.0, 10.0), ("spsgd",)),
}


def run(quick: bool) -> dict[str, Any]:
    """Run both solvers at every value for every loss, and draw."""
    n, held_out = (500, 50) if quick else (5000, 200)
    with _threads.limit(1):
        found = {loss: _sweeps(loss, n, held_out) for loss in NOISES}
    result = {"n_samples": n, "n_held_out": held_out, "huber_knee": KNEE, "losses": found}
    _draw(result, picture("divergence_sensitivity", quick))
    return result


def _sweeps(loss: str, n: int, held_out: int) -> dict[str, Any]:
    data = synthetic.nmf_with_noise(n + held_out, F, RANK, noise=NOISES[loss], random_state=0)
    known: dict[tuple[Any, ...], Any] = {}
    found: dict[str, Any] = {}
    for name, (_, values, solvers) in SWEEPS.items():
        for solver in solvers:
            for value in values:
                setting = CANONICAL | {name: value}
                key = (solver, *setting.values())
                if key not in known:  # the canonical one is in every sweep
                    known[key] = _curve(loss, solver, setting, data.X[:n], data.X[n:])
                found.setdefault(name, {}).setdefault(solver, {})[str(value)] = known[key]
    return found


def _curve(loss: str, solver: str, setting: dict[str, Any], X: Any, rest: Any) -> dict[str, Any]:
    K, kind = setting["K"], Huber(KNEE) if loss == "huber" else loss
    first = np.random.default_rng(1).random((K, F))
    model = OnlineNMF(
        K, loss=kind, solver=solver, batch_size=setting["tau"], step=(setting["a"], 2e4),
        init=first, random_state=0,
    )  # fmt: skip
    model.fit(X[:200])  # compiles
    recorder = record(model, X, np.inf)
    return {"seconds": recorder.times, "held_out": rated(kind, recorder.components, rest)}


def _draw(result: dict[str, Any], path: Any) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        3, len(result["losses"]), figsize=(23, 11), sharey="col", layout="constrained"
    )
    for down, (loss, sweeps) in zip(axes.T, result["losses"].items(), strict=True):
        for ax, (name, solvers) in zip(down, sweeps.items(), strict=True):
            for solver, found in solvers.items():
                curves(ax, found, SOLVERS[solver], solver)
            ax.set_title(f"{SWEEPS[name][0]}: {name}, {loss}", fontsize=11)
            ax.legend(fontsize=7)
        down[-1].set_xlabel("seconds")
    for ax in axes[:, 0]:
        ax.set_ylabel("held-out loss of a sample")
    figure.suptitle(
        f"[D] Fig. S-1 to S-3: F = {F}, rank {RANK}, N = {result['n_samples']:,}; dark to pale: "
        "the values in the order of the legend"
    )
    figure.savefig(path, dpi=80)
    plt.close(figure)


def report(result: dict[str, Any]) -> str:
    """Return the last losses relative to the canonical ones, and the claims."""
    lines: list[str] = []
    for name, (_, values, solvers) in SWEEPS.items():
        rows, held = [], {solver: [0, 0] for solver in solvers}
        for loss, sweeps in result["losses"].items():
            for solver, found in sweeps[name].items():
                last = {value: curve["held_out"][-1] for value, curve in found.items()}
                canonical, far = last[str(CANONICAL[name])], spread([*last.values()])
                held[solver][0] += far <= SAME
                held[solver][1] += 1
                seconds = (curve["seconds"][-1] for curve in found.values())
                rows.append(
                    (
                        f"{loss}: {solver}",
                        number(canonical, ".4g"),
                        *(number(value / canonical, ".3f") for value in last.values()),
                        number(far, ".3f"),
                        *(number(s, ".1f") for s in seconds),
                    )
                )
        heads = (f"{name}: loss, relative", "canonical", *map(str, values), "spread")
        lines.append(table((*heads, *(f"{value}, s" for value in values)), rows))
        lines += [
            f"{name}, {solver}: within 10 % for {met} of {every} met"
            for solver, (met, every) in held.items()
        ]
        lines.append("")
    return "\n".join(lines[:-1])
