"""[A] Fig. 9: a triangle found from noisy mixtures of its corners, with and without sparsity.

Figure
    [A] Fig. 9 (5.1.3).
Data
    As in ``examples/archetypes.py``: 200 mixtures of (0, 0), (0, 1) and (1, 0), codes uniform and
    scaled to sum to 1, plus noise that the paper does not state, here of standard deviation 0.06,
    cut at 0. 10 seeds (2 with ``--quick``).
Settings
    ``SparseArchetypalNMF(3)`` with weights 0.01, 0.3 and 3: AA without a limit of nonzeros, SAA
    with two in all (``sparsity=2``), which is what the corners have.
Measures
    D(H, X), the squared distance of the archetypes from the hull of the data; the strong
    robustness L(H, H0) / |H0|^2; how many of the six entries are zero: medians over seeds.
    *pattern found*: seeds for which the zeros are those of the corners.
Claim
    For every seed: archetypes of AA come nearer to the data with each larger weight, yet miss the
    corners' pattern at each weight; SAA has that pattern at each; and with the best weight of
    each SAA has the lower error.
Picture
    ``docs/images/archetypes.png`` (``results/quick/`` with ``--quick``): the first seed.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.examples import example
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import number, table
from thalweg.metrics import hull_distance

ZERO = 1e-9


def run(quick: bool) -> dict[str, Any]:
    """Solve for every seed, and draw the first."""
    module = example("archetypes")
    runs = []
    with blas_threads.limit(1):
        for seed in range(2 if quick else 10):
            X = module.triangle(seed)
            toys = module.solve(X)
            if seed == 0:
                module.draw(X, toys, picture("archetypes", quick))
            runs.append([_figures(X, toy, module.CORNERS) for toy in toys])
    return {"weights": module.WEIGHTS, "runs": runs}


def _figures(X: Any, toy: Any, corners: Any) -> dict[str, float]:
    H = np.where(toy.components > ZERO, toy.components, 0.0)
    H = H[np.lexsort(H.T[::-1] > 0)]  # the zero first, then the axes in the order of the corners
    return {
        "to_data": hull_distance(toy.components, X),
        "strong": toy.strong,
        "zeros": int(np.count_nonzero(H == 0)),
        "pattern": bool(np.array_equal(H > 0, corners > 0)),
    }


def report(result: dict[str, Any]) -> str:
    """Return medians for each setting, and the claims."""
    weights, runs = result["weights"], result["runs"]
    names = [f"{kind}, weight {w:g}" for kind in ("AA", "SAA") for w in weights]
    rows = [
        (
            name,
            *(number(_median(runs, i, key), ".4f") for key in ("to_data", "strong")),
            number(_median(runs, i, "zeros"), ".0f"),
            f"{sum(run[i]['pattern'] for run in runs)} of {len(runs)}",
        )
        for i, name in enumerate(names)
    ]
    n = len(weights)
    nearer = [all(b["to_data"] <= a["to_data"] for a, b in pairwise(run[:n])) for run in runs]
    missed = [not any(toy["pattern"] for toy in run[:n]) for run in runs]
    kept = [all(toy["pattern"] for toy in run[n:]) for run in runs]
    lower = [min(t["strong"] for t in run[n:]) < min(t["strong"] for t in run[:n]) for run in runs]
    claims = {
        "AA nearer to the data with each larger weight": nearer,
        "AA misses the pattern": missed,
        "SAA has it": kept,
        "SAA with the lower error": lower,
    }
    lines = [f"{name}: {sum(held)} of {len(held)} met" for name, held in claims.items()]
    heads = ("method", "D(H, X)", "strong", "zeros", "pattern found")
    return "\n".join([table(heads, rows), *lines])


def _median(runs: list[Any], i: int, key: str) -> float:
    return float(np.median([run[i][key] for run in runs]))


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return how often the corners' pattern is found, and the error."""
    runs, n = result["runs"], len(result["weights"])
    dense, sparse = [run[:n] for run in runs], [run[n:] for run in runs]
    best = [[min(toy["strong"] for toy in own) for own in kind] for kind in (dense, sparse)]
    return [
        Finding(
            f"With two nonzeros the corners' pattern is found at every weight, for all {len(runs)} "
            "seeds; without a limit at none.",
            all(toy["pattern"] for own in sparse for toy in own)
            and not any(toy["pattern"] for own in dense for toy in own),
        ),
        Finding(
            "At the best weight of each, two nonzeros have the lower strong robustness for every "
            f"seed: {np.median(best[1]):.4f} in the median, {np.median(best[0]):.4f} without a "
            "limit.",
            all(few < many for many, few in zip(*best, strict=True)),
        ),
    ]
