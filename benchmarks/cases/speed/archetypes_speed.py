"""A sweep of sparse archetypal NMF compared with its matrix products alone.

Data
    ``archetypal_mixtures`` with m = 200, k = 20, n = 12000 (1200 with ``--quick``), noise 0.1,
    half of the entries of H zero.
Settings
    weight 1, at a solution on the way: 30 sweeps from projections. A sweep in turn with the
    products it contains: W'X, T X, X H', H H', and Q H for the step on H and for the swaps.
Claim
    A sweep takes less than twice the time of the products.
"""

import time
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import number, table
from thalweg.archetypes import DataMatrix, Problem
from thalweg.archetypes.block_descent import Descent
from thalweg.archetypes.initialisation import from_archetypes, successive_projections
from thalweg.synthetic import archetypal_mixtures

K, TURNS = 20, 30


def run(quick: bool) -> dict[str, Any]:
    """Time sweeps and products in turns, and keep the least of each."""
    n = 1200 if quick else 12000
    X = archetypal_mixtures(200, n, K, noise=0.1, random_state=0).X
    problem = Problem(DataMatrix.of(X), 1.0, K * n // 2)
    with blas_threads.limit(1):
        start = from_archetypes(
            problem.rows, problem.rows.take(successive_projections(problem.rows, K))
        )
        here = Descent(max_sweeps=30).run(problem, start).point
        descent, times = Descent(), {"sweep": [], "products": []}
        for _ in range(TURNS):
            times["sweep"].append(_timed(descent._sweep, problem, here, here.state, 0.0, False))
            times["products"].append(_timed(_products, X, *here.state))
    least = {name: min(values) for name, values in times.items()}
    return {"n": n, **least, "ratio": least["sweep"] / least["products"]}


def _products(X: Any, H: Any, W: Any, T: Any) -> None:
    Q = W.T @ W
    _ = W.T @ X + T @ X
    for _ in range(2):
        Q @ H
    _ = H @ X.T, H @ H.T


def _timed(call: Any, *arguments: Any) -> float:
    begin = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - begin


def report(result: dict[str, Any]) -> str:
    """Return both times and their ratio."""
    row = [number(1e3 * result[key], ".1f") for key in ("sweep", "products")]
    line = table(("ms", "sweep", "products"), [(f"n = {result['n']}", *row)])
    verdict = "met" if result["ratio"] < 2.0 else "NOT MET"
    return f"{line}\nratio {np.round(result['ratio'], 2)}: {verdict}"


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return how much longer a sweep takes."""
    ratio = result["ratio"]
    sentence = f"A sweep at n = {result['n']} takes {ratio:.1f} times as long as its products."
    return [Finding(sentence, ratio >= 1)]
