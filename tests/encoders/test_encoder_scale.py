"""The accuracy of codes does not depend on the scale of the atoms."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from thalweg._rooms import members
from thalweg.encoders.initial_codes import ridge_codes
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.solvers import mean_diagonal

Array = Any
NAMES = [n for n, cls in members("thalweg.encoders").items() if hasattr(cls(), "outliers")]
F, K, B = 60, 5, 12
WEIGHT = 0.1


def data(seed: int = 0) -> tuple[Array, Array]:
    """Return V with outliers, and W of atoms of norm 1."""
    rng = np.random.default_rng(seed)
    W = rng.random((F, K)) * (rng.random((F, K)) < 0.5) + 0.02
    W /= np.linalg.norm(W, axis=0)
    V = W @ (3.0 * rng.random((K, B))) + 0.02 * rng.normal(size=(F, B))
    return V + (rng.random(V.shape) < 0.1) * rng.uniform(-1, 1, V.shape), W


def build(name: str, **options: Any) -> Any:
    return members("thalweg.encoders")[name](outliers=L1(WEIGHT), **options)


def optimum(V: Array, W: Array) -> Array:
    """Return the least loss of each sample by CVXPY."""
    H, R = cp.Variable((W.shape[1], V.shape[1]), nonneg=True), cp.Variable(V.shape)
    loss = cp.sum_squares(V - W @ H - R) / 2 + WEIGHT * cp.sum(cp.abs(R))
    cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
    rest, taken = V - W @ H.value - R.value, np.abs(R.value)
    return 0.5 * np.sum(rest**2, axis=0) + WEIGHT * taken.sum(axis=0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [2.0**-6, 2.0**5])
def test_codes_follow_the_size_of_the_atoms(name: str, size: float) -> None:
    """W h is the same with size W and h / size, at the printed stops as anywhere else."""
    V, W = data()
    one, other = build(name).encode(V, W), build(name).encode(V, size * W)
    np.testing.assert_allclose(size * other.H, one.H, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(other.loss, one.loss, rtol=1e-10)
    assert np.array_equal(other.solved, one.solved)


@pytest.mark.parametrize("kind", ["norm 1", "sum 1"])
def test_printed_stops_of_admm_end_near_the_optimum(kind: str) -> None:
    """On the simplex tr(W'W) / K is 0.03 here, and rho_1 = 1 would hold codes at their start."""
    V, W = data()
    W = W / W.sum(axis=0) if kind == "sum 1" else W
    assert np.all(build("admm").encode(V, W).loss <= 1.01 * optimum(V, W))


def test_of_atoms_of_norm_one_rho_is_the_papers() -> None:
    _, W = data()
    assert mean_diagonal(W.T @ W) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("size", [1.0, 0.05])
def test_printed_stops_of_pgd_end_nearer_than_from_zero(size: float) -> None:
    """Of a first dictionary, whose atoms are much alike; [O] VII-B1 does not begin at zero."""
    rng = np.random.default_rng(1)
    W = rng.random((F, 4 * K))
    W /= np.linalg.norm(W, axis=0)
    V = W @ rng.gamma(0.3, 1.0, (4 * K, B)) + 0.02 * rng.normal(size=(F, B))
    V += (rng.random(V.shape) < 0.1) * rng.uniform(-1, 1, V.shape)
    least = optimum(V, W)
    zero = build("pgd").encode(V, size * W, H0=np.zeros((4 * K, B))).loss
    assert np.median(zero / least) > 1.5
    assert np.median(build("pgd").encode(V, size * W).loss / least) < 1.25


def test_initial_codes_are_no_worse_than_zero_codes() -> None:
    """For dependent atoms, gaps and samples that point away from all atoms, too."""
    V, W = data(2)
    W[:, 1] = W[:, 0] * (1 + 1e-12)
    V[:, 0] = -V[:, 0]
    rng = np.random.default_rng(3)
    for observed in (None, rng.random(V.shape) < 0.3):
        kept = np.ones(V.shape, bool) if observed is None else observed
        H = ridge_codes(V, W, observed, Orthant())
        fit = np.where(kept, W @ H, 0.0)
        size, target = np.sum(fit**2, axis=0), np.where(kept, V, 0.0)
        assert np.all(H >= 0)
        assert np.all(np.sum((target - fit) ** 2, axis=0) <= np.sum(target**2, axis=0))
        # No other multiple is better: the residual is at right angles to the fit.
        np.testing.assert_allclose(np.sum(fit * target, axis=0)[size > 0], size[size > 0])
        assert np.all(H[:, 0] == 0.0)
        garbage = np.where(kept, V, 1e6)
        assert np.array_equal(ridge_codes(garbage, W, observed, Orthant()), H)
