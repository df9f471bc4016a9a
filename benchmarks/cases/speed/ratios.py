"""How long the main steps take, in units of a NumPy transcription of the same work.

Data
    Small and generated, the same with ``--quick``: the ratios guard against unintended
    slowdowns. ``tests/test_benchmarks.py`` measures them again, and fails where one is ten times
    the value stored here.
Settings
    One BLAS thread. Each step takes turns with its transcription, both warm: what one
    would write with arrays. *robust*: ``RobustOnlineNMF``, F = 100, K = 10, 400 samples in batches
    of 40; ten rounds of projected gradients and shrinkage, then one sweep over the atoms. *counts*:
    ``OnlineNMF(loss="kl")``, 200 samples in batches of 50; twenty multiplicative rounds of the
    codes and one of the components. *codes*: ``decompose`` of 400 samples; sixty rounds as before.
    *tracker*, *frames*: ``PetrelsADMM`` with n = 50, r = 2 and with n = 2000, r = 5; five
    reweighted fits a sample, then recursive least squares of all rows. *sample by sample*:
    ``ORNMF`` with a buffer of 20; the transcription of ``or_nmf_speed``. *archetypes*: a sweep at n
    = 600; its products.
Measure
    Least processor time of the turns, divided by the transcription's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.cases.speed.archetypes_speed import _products
from benchmarks.cases.speed.or_nmf_speed import transcription
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import number, table
from benchmarks.shared.timing import round_robin
from thalweg import ORNMF, OnlineNMF, PetrelsADMM, RobustOnlineNMF, synthetic
from thalweg.archetypes import DataMatrix, Problem
from thalweg.archetypes.block_descent import Descent
from thalweg.archetypes.initialisation import from_archetypes, successive_projections

F, K, TURNS = 100, 10, 15
Pair = tuple[Callable[[], Any], Callable[[], Any]]


def run(quick: bool) -> dict[str, Any]:
    """Time each step and its transcription in turns."""
    found = {}
    with blas_threads.limit(1):
        for name, make in PAIRS.items():
            ours, numpy = make()
            ours(), numpy()  # fill the caches
            timed = round_robin({"ours": ours, "numpy": numpy}, TURNS // 3 if quick else TURNS)
            least = {key: min(cpu) for key, (_, cpu, _) in timed.items()}
            found[name] = {**least, "ratio": least["ours"] / least["numpy"]}
    return found


def report(result: dict[str, Any]) -> str:
    """Return both times and their ratio."""
    rows = (
        (name, number(1e3 * r["ours"]), number(1e3 * r["numpy"]), number(r["ratio"], ".3f"))
        for name, r in result.items()
    )
    return table(("step", "ms", "NumPy ms", "ratio"), rows)


def _robust() -> Pair:
    X = synthetic.nmf_with_outliers(400, F, K, random_state=0).X
    W = np.random.default_rng(1).random((F, K))

    def ours() -> Any:
        return RobustOnlineNMF(K, init=W.T, batch_size=40, shuffle=False).fit(X)

    def numpy() -> Any:
        atoms, A, B = W.copy(), np.zeros((K, K)), np.zeros((F, K))
        for start in range(0, 400, 40):
            H, R = _encode(X[start : start + 40].T, atoms, 10)
            A, B = A + H @ H.T, B + (X[start : start + 40].T - R) @ H.T
            for k in range(K):
                atom = np.maximum(atoms[:, k] + (B[:, k] - atoms @ A[:, k]) / (A[k, k] + 1e-9), 0)
                atoms[:, k] = atom / max(1.0, np.linalg.norm(atom))
        return atoms

    return ours, numpy


def _codes() -> Pair:
    X = synthetic.nmf_with_outliers(400, F, K, random_state=0).X
    model = RobustOnlineNMF(K, random_state=0).fit(X)
    W = model.components_.T.copy()
    return lambda: model.decompose(X), lambda: _encode(X.T, W, 60)


def _encode(V: Any, W: Any, rounds: int) -> tuple[Any, Any]:
    """Return codes and outliers after a number of projected gradient steps."""
    G, step = W.T @ W, 1.0 / np.linalg.norm(W, 2) ** 2
    H, R = np.zeros((W.shape[1], V.shape[1])), np.zeros_like(V)
    for _ in range(rounds):
        H = np.maximum(H - step * (G @ H - W.T @ (V - R)), 0)
        E = V - W @ H
        R = np.sign(E) * np.maximum(np.abs(E) - 0.1, 0)
    return H, R


def _counts() -> Pair:
    X = synthetic.nmf_with_noise(200, F, K, noise="poisson", offset=0.1, random_state=0).X
    W = np.random.default_rng(1).random((F, K)) + 0.1

    def ours() -> Any:
        return OnlineNMF(K, loss="kl", init=W.T, batch_size=50, shuffle=False).fit(X)

    def numpy() -> Any:
        atoms = W / W.sum(axis=0)
        for start in range(0, 200, 50):
            V = X[start : start + 50].T
            H = np.full((K, 50), V.mean())
            for _ in range(20):
                H *= atoms.T @ (V / (atoms @ H)) / atoms.sum(axis=0)[:, None]
            atoms = atoms * ((V / (atoms @ H)) @ H.T) / H.sum(axis=1)
            atoms /= atoms.sum(axis=0)
        return atoms

    return ours, numpy


def _tracker(n: int = 50, r: int = 2, samples: int = 300) -> Pair:
    stream = synthetic.subspace_stream(
        100 + samples, n, r, missing=0.0, outlier_density=0.1, random_state=0
    )
    first = stream.basis_at(0)
    model = PetrelsADMM(r, init=first.T, random_state=0).partial_fit(stream.X[:100])
    new = stream.X[100:]
    return lambda: model.partial_fit(new), lambda: _follow(new, first)


def _follow(X: Any, U: Any) -> Any:
    """Return the basis after reweighted fits of samples and recursive least squares of rows."""
    n, r = U.shape
    U, P = U.copy(), np.tile(np.eye(r), (n, 1, 1))
    for x in X:
        w, kept = np.zeros(r), np.ones(n)
        for _ in range(5):
            weighted = U * kept[:, None]
            w = np.linalg.solve(weighted.T @ U + 1e-6 * np.eye(r), weighted.T @ x)
            size = np.abs(x - U @ w)
            kept = np.minimum(1.0, np.median(size) / np.maximum(size, 1e-9))
        P /= 0.9999
        Pw = P @ w
        gain = Pw / (1 + Pw @ w)[:, None] * (kept > 0.3)[:, None]
        U += gain * (x - U @ w)[:, None]
        P -= np.einsum("ni,nj->nij", gain, Pw)
    return U


def _frames() -> Pair:
    return _tracker(2000, 5, 20)


def _sample_by_sample() -> Pair:
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(5), 40) @ rng.gamma(0.5, 1.0, (5, 60))
    W = rng.dirichlet(np.ones(60), 5)

    def ours() -> Any:
        return ORNMF(5, buffer_size=20, init=W, shuffle=False, random_state=0).fit(X)

    return ours, lambda: transcription(X, W.T, 20)


def _archetypes() -> Pair:
    X = synthetic.archetypal_mixtures(100, 600, K, noise=0.1, random_state=0).X
    problem = Problem(DataMatrix.of(X), 1.0, K * 300)
    start = from_archetypes(
        problem.rows, problem.rows.take(successive_projections(problem.rows, K))
    )
    descent = Descent()
    here = Descent(max_sweeps=10).run(problem, start).point
    return (
        lambda: [descent._sweep(problem, here, here.state, 0.0, False) for _ in range(5)],
        lambda: [_products(X, *here.state) for _ in range(5)],
    )


PAIRS: dict[str, Callable[[], Pair]] = {
    "robust": _robust,
    "codes": _codes,
    "counts": _counts,
    "tracker": _tracker,
    "frames": _frames,
    "sample by sample": _sample_by_sample,
    "archetypes": _archetypes,
}


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the times of the steps, in units of their transcriptions."""
    ratios = {name: row["ratio"] for name, row in result.items()}
    figures = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    slower = [name for name, ratio in ratios.items() if ratio > 1.0]
    return [
        Finding(
            f"Time over that of the NumPy transcription: {figures}. Slower than it: "
            f"{', '.join(slower) or 'none'}.",
            min(ratios.values()) > 0.0,
        )
    ]
