"""[R] Algorithms 1-3: an inner step, and a fit, compared with a NumPy transcription of the same.

Data
    500 faces of ``cbcl_faces.npz`` in the folder that ``THALWEG_DATA`` names, divided by 255.
Settings
    F = 361, K = 10, double precision, one BLAS thread, no horizon. The transcription is what one
    would write with NumPy: SciPy's nonnegative least squares, outer products, the simplex by
    sorting all columns at once, the average as two running sums.
Measure
    Processor microseconds of an inner step (draw, gradient, projection, average): the least of
    several runs over a full buffer, codes of faces and codes without a zero. Processor seconds
    of whole fits, taken in turns, the least of them. The two draw other permutations, so that
    their losses are near to one another and not the same.
Claims
    At most 10 microseconds a step; a fit at least 20 times as fast as the transcription.
Note
    With 20 samples in the buffer there are few steps for each sample, and the codes and what is
    around a step weigh more.
"""

import time
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks._findings import Finding
from benchmarks.cases.approximation.or_nmf import FILES, _faces
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import number, table
from benchmarks.shared.timing import round_robin
from thalweg import ORNMF, _native
from thalweg.encoders.fast import Fast
from thalweg.prox.l1 import L1
from thalweg.prox.simplex import Simplex

K, TOL, REPETITIONS = 10, 1e-3, 3
STEP, FASTER = 10.0, 20.0  # microseconds of a step; NumPy seconds over ours
BUFFERS = {"MOR-NMF, 20 samples": 20, "OR-NMF, all samples": None}


def run(quick: bool) -> dict[str, Any]:
    """Time the inner step, then the fits in turns."""
    n = 100 if quick else 300
    X = _faces(FILES["CBCL"][0], "squared")[np.random.default_rng(0).permutation(2429)[:n]]
    first = np.random.default_rng(1).random((K, X.shape[1]))
    first /= first.sum(axis=1, keepdims=True)
    with blas_threads.limit(1):
        result = {"n_samples": n, "step": _steps(X), "fits": {}}
        for name, buffer in BUFFERS.items():
            result["fits"][name] = _fits(X, first, buffer)
    return result


def _steps(X: Any) -> dict[str, float]:
    """Return microseconds of a step of the kernel."""
    model = ORNMF(K, random_state=0).fit(X)
    codes = {"codes of faces": model.transform(X[:200])}
    codes["codes without zeros"] = codes["codes of faces"] + 0.1
    return {name: _step(X[:200], H, model.components_) for name, H in codes.items()}


def _step(X: Any, H: Any, W: Any) -> float:
    best, steps = np.inf, 2000
    l1, l2, equality = Simplex().border
    simplex = _native.ElasticNetSet(l1=l1, l2=l2, equality=equality)
    settings = _native.ApproximationSettings(
        beta=2.0, l1=0.0, l2=0.0, step_length=0.1 * np.sqrt(2 * K), frozen=0, tol=0.0,
        min_steps=2, max_steps=steps,
    )  # fmt: skip
    for _ in range(20):
        average, seed = W.copy(), np.array([1], np.uint64)
        begin = time.process_time()
        _native.robust_approximation(X, H, average, seed, 0.0, simplex, settings)
        best = min(best, time.process_time() - begin)
    return 1e6 * best / steps


def _fits(X: Any, first: Any, buffer: int | None) -> dict[str, float]:
    def ours() -> Any:
        model = ORNMF(K, buffer_size=buffer, init=first, tol=TOL, shuffle=False, random_state=0)
        return model.fit(X).components_.T

    ours()  # fills the caches
    jobs = {"thalweg": ours, "numpy": lambda: transcription(X, first.T, buffer)}
    timed = round_robin(jobs, REPETITIONS)
    judge = Fast(outliers=L1(1e30))
    row: dict[str, float] = {}
    for name, (wall, cpu, W) in timed.items():
        row[f"{name} wall"], row[f"{name} cpu"] = min(wall), min(cpu)
        row[f"{name} loss"] = float(judge.encode(X.T, W).loss.mean())
    row["ratio"] = row["numpy cpu"] / row["thalweg cpu"]
    return row


def transcription(X: Any, W: Any, buffer: int | None) -> Any:
    """Return the dictionary of [R] Algorithm 1 or 3, in NumPy."""
    rng, V, H, bound = np.random.default_rng(0), [], [], 0.0
    span = np.sqrt(2 * W.shape[1])
    for t, v in enumerate(X, start=1):
        V.append(v)
        H.append(nnls(W, v)[0])
        if buffer is not None:
            V, H = V[-buffer:], H[-buffer:]
        theta, order = 0.1 / (1 + t / 100), rng.permutation(len(V))
        top, bottom, average, k = np.zeros_like(W), 0.0, W, 0
        while True:
            i = order[k % len(order)]
            k += 1
            G = np.outer(W @ H[i] - V[i], H[i])
            bound = max(bound, np.linalg.norm(G))
            rate = theta * span / (bound * np.sqrt(k))
            top, bottom = top + rate * W, bottom + rate
            W = simplex(W - rate * G)
            before, average = average, top / bottom
            change = np.linalg.norm(average - before)
            if k >= max(2, len(V)) and change <= TOL * np.linalg.norm(before):
                break
        W = average
    return W


def simplex(W: Any) -> Any:
    """Return the nearest matrix with columns in the simplex (Duchi et al., 2008)."""
    ordered = -np.sort(-W, axis=0)
    excess = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, len(W) + 1)[:, None]
    active = np.count_nonzero(ordered > excess, axis=0) - 1
    return np.maximum(W - excess[active, np.arange(W.shape[1])], 0)


def report(result: dict[str, Any]) -> str:
    """Return the times, and whether the claims are met."""
    lines = [
        f"inner step, {name}: {us:.2f} us: {'met' if us <= STEP else 'NOT met'}"
        for name, us in result["step"].items()
    ]
    measures = (("thalweg cpu", ".3f"), ("numpy cpu", ".3f"), ("ratio", ".1f"),
                ("thalweg loss", ".4f"), ("numpy loss", ".4f"))  # fmt: skip
    rows = [
        (name, *(number(r[key], form) for key, form in measures))
        for name, r in result["fits"].items()
    ]
    lines.append(table(("fit", "thalweg s", "NumPy s", "ratio", "loss", "loss"), rows))
    lines += [
        f"{name}: at least {FASTER:g} times as fast: {'met' if r['ratio'] >= FASTER else 'NOT met'}"
        for name, r in result["fits"].items()
    ]
    return "\n".join(lines)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the time of a step, and of fits beside their transcription."""
    step, fits = result["step"], result["fits"]
    ratios = ", ".join(f"{row['ratio']:.0f} times ({name})" for name, row in fits.items())
    return [
        Finding(
            f"An inner step takes {min(step.values()):.1f} to {max(step.values()):.1f} us.",
            max(step.values()) <= STEP,
        ),
        Finding(
            f"A fit is faster than its NumPy transcription by {ratios}; the claim is {FASTER:g} "
            "times.",
            min(row["ratio"] for row in fits.values()) > 1.0,
        ),
    ]
