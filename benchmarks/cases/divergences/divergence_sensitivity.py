"""[D] Fig. S-1 to S-3: how much batch size, K and the step constant matter, for every loss.

Figures
    [D] Fig. S-1 (mini-batch size tau), S-2 (K), S-3 (a of the steps a / (tau t + b)): one setting
    is varied, the others are canonical, for the six losses of Table IV.
Data
    ``synthetic.nmf_with_noise``, [D] Table IV: F = 400, rank 40, N = 1e5 as in the paper (2e3
    with ``--quick``), Gamma, Poisson or Gaussian noise or uniform outliers to match the loss; 200
    more samples of the same components are held out (50 with ``--quick``).
Settings
    The paper's canonical ones: tau = 1e-4 N = 10, which makes 1e4 steps, K = 40, a = 1 in units
    of the paper's 2e4; one start for each K, one pass, one BLAS thread. The method is the paper's
    OL with steps in units of the curvature. tau: 10 and 40, the largest that the paper's rule
    tau <= 4e-4 N allows (with ``--quick`` the rule does not hold). K: 20, 40. a: 0.1, 1, 10. The
    paper varies all three "in log-scale" and does not name values. Huber's threshold is 100.
Measure
    Mean loss of the held-out samples, their codes found to 1e-4 with the components of that
    time, at about 20 times of each run; the time to store components is not counted. Seconds are
    wall time with other jobs running: compare losses, not times.
Claims
    For each loss, the last losses at the values of tau, of K and of a are within 10 % of one
    another.
Note
    K = 20 is below the rank of the data, so no method can reach the noise with it. Under Huber,
    l1 and l2 most of the loss belongs to the outliers.
Picture
    ``docs/images/divergence_sensitivity.png`` (``results/quick/`` with ``--quick``).
"""

from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.cases.divergences.divergences import HUBER_THRESHOLD, NOISES, ROBUST, rated
from benchmarks.shared import blas_threads
from benchmarks.shared.pictures import picture
from benchmarks.shared.recorder import record
from benchmarks.shared.sweeps import SAME, curves, spread
from benchmarks.shared.tables import number, table
from thalweg import OnlineNMF, synthetic
from thalweg.divergences.huber import Huber

F, RANK = 400, 40
RATED = 20  # snapshots of a run whose held-out loss is computed
SOLVERS = {"spsgd": "#d1495b"}
CANONICAL = {"tau": 10, "K": 40, "a": 1.0}
SMOOTH = ("kl", "itakura-saito", "squared-l2")
# what is varied: figure, values, solvers that know of it
SWEEPS: dict[str, tuple[str, tuple[Any, ...], tuple[str, ...]]] = {
    "tau": ("Fig. S-1", (10, 40), ("spsgd",)),
    "K": ("Fig. S-2", (20, 40), ("spsgd",)),
    "a": ("Fig. S-3", (0.1, 1.0, 10.0), ("spsgd",)),
}


def run(quick: bool) -> dict[str, Any]:
    """Run the method at every value for every loss, and draw."""
    n, held_out = (2000, 50) if quick else (100_000, 200)
    with blas_threads.limit(1):
        found = {loss: _sweeps(loss, n, held_out) for loss in NOISES}
    result = {
        "n_samples": n,
        "n_held_out": held_out,
        "huber_threshold": HUBER_THRESHOLD,
        "losses": found,
    }
    _draw(result, picture("divergence_sensitivity", quick))
    return result


def _sweeps(loss: str, n: int, held_out: int) -> dict[str, Any]:
    X = synthetic.nmf_with_noise(n + held_out, F, RANK, noise=NOISES[loss], random_state=0).X
    known: dict[tuple[Any, ...], Any] = {}
    found: dict[str, Any] = {}
    for name, (_, values, solvers) in SWEEPS.items():
        for solver in solvers:
            for value in values:
                setting = CANONICAL | {name: value}
                key = (solver, *setting.values())
                if key not in known:  # the canonical one is in every sweep
                    known[key] = _curve(loss, solver, setting, X[:n], X[n:])
                found.setdefault(name, {}).setdefault(solver, {})[str(value)] = known[key]
    return found


def _curve(loss: str, solver: str, setting: dict[str, Any], X: Any, rest: Any) -> dict[str, Any]:
    K, kind = setting["K"], Huber(HUBER_THRESHOLD) if loss == "huber" else loss
    first = np.random.default_rng(1).random((K, F))
    model = OnlineNMF(
        K, loss=kind, solver=solver, batch_size=setting["tau"], step_schedule=(setting["a"], 2e4),
        init=first, random_state=0,
    )  # fmt: skip
    model.fit(X[:200])  # fills the caches
    recorder = record(model, X, np.inf)
    last = len(recorder.times) - 1
    rated_ones = sorted({round(last * i / (RATED - 1)) for i in range(RATED)})
    components = [recorder.components[i] for i in rated_ones]
    return {
        "seconds": [recorder.times[i] for i in rated_ones],
        "held_out": rated(kind, components, rest),
    }


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
        ax.set_ylabel("mean held-out loss")
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


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return for which losses the settings hardly matter, and how much they do for others."""
    tau, rank, a = (
        {loss: _relative(sweeps, name) for loss, sweeps in result["losses"].items()}
        for name in ("tau", "K", "a")
    )
    few = {loss: spread([*values.values()]) for loss, values in tau.items()}
    far, squares = few.pop("itakura-saito"), few.pop("squared-l2")
    small = max(few.values()) - 1.0
    low = [rank[loss]["20"] for loss in SMOOTH]
    low_robust = [rank[loss]["20"] for loss in ROBUST]
    slow, long = ([a[loss][value] for loss in SMOOTH] for value in ("0.1", "10.0"))
    robust = [spread([*a[loss].values()]) - 1.0 for loss in ROBUST]
    sweeps = [spread([*values.values()]) for kind in (tau, rank, a) for values in kind.values()]
    same = sum(far_apart <= SAME for far_apart in sweeps)
    return [
        Finding(
            f"Of {len(sweeps)} sweeps over tau, K and a, {same} end within 10 %: OL is less "
            "insensitive than the paper says.",
            same < len(sweeps),
        ),
        Finding(
            f"Batches of 10 and of 40 end within {100 * small:.0f} % of one another under KL, "
            f"Huber, l1 and l2; batches of 40, which make a quarter of the steps, end at "
            f"{squares:.2f} times the loss of batches of 10 under squared l2 and at {far:.2f} "
            "times it under Itakura-Saito.",
            small <= SAME - 1.0 < min(squares, far) - 1.0
            and min(tau[loss]["40"] for loss in ("squared-l2", "itakura-saito")) > 1.0,
        ),
        Finding(
            f"K = 20, half the rank of the data, ends at {min(low):.1f} to {max(low):.1f} times "
            "the loss of K = 40 under KL, Itakura-Saito and squared l2, and at "
            f"{min(low_robust):.2f} to {max(low_robust):.2f} times it under Huber, l1 and l2.",
            min(low) > SAME >= max(low_robust),
        ),
        Finding(
            f"A tenth of the paper's a is too slow for one pass under KL, Itakura-Saito and "
            f"squared l2: {min(slow):.1f} to {max(slow):.1f} times the canonical loss. Ten times "
            f"its a ends at {min(long):.2f} to {max(long):.2f} times it.",
            min(slow) > SAME and max(long) < min(slow),
        ),
        Finding(
            f"Under Huber, l1 and l2 a from 0.1 to 10 changes the last loss by "
            f"{100 * min(robust):.0f} to {100 * max(robust):.0f} %.",
            max(robust) < 0.2,
        ),
    ]


def _relative(sweeps: dict[str, Any], name: str) -> dict[str, float]:
    """Return the last loss at each value of a setting, over the canonical one."""
    last = {value: curve["held_out"][-1] for value, curve in sweeps[name]["spsgd"].items()}
    return {value: loss / last[str(CANONICAL[name])] for value, loss in last.items()}
