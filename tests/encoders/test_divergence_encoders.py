"""Encoders with a divergence as loss, against general-purpose minimisers."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, minimize

from thalweg._rooms import members
from thalweg.divergences.alpha import Alpha
from thalweg.divergences.beta import Beta
from thalweg.divergences.hellinger import Hellinger
from thalweg.divergences.huber import Huber
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.divergences.kl import KL
from thalweg.divergences.l2 import L2
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.divergences.negative_binomial import NegativeBinomial
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.divergences.zero_inflated import ZeroInflated
from thalweg.encoders import Encoder
from thalweg.encoders.multiplicative import Multiplicative
from thalweg.encoders.newton import Newton
from thalweg.encoders.sparse_kl import SparseKL
from thalweg.errors import ParameterError
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant

Array = Any
F, K, B = 12, 4, 10
L1Loss = members("thalweg.divergences")["l1"]
ROOT = np.random.default_rng(5).normal(size=(F, F))
LOSSES: dict[str, Any] = {
    "kl": KL(),
    "itakura-saito": ItakuraSaito(),
    "squared-l2": SquaredL2(),
    "hellinger": Hellinger(),
    "alpha(-1)": Alpha(-1.0),
    "alpha(0)": Alpha(0.0),
    "alpha(2)": Alpha(2.0),
    "beta(0.5)": Beta(0.5),
    "beta(1.5)": Beta(1.5),
    "beta(3)": Beta(3.0),
    "mahalanobis(diagonal)": Mahalanobis(np.linspace(0.2, 3.0, F)),
    "mahalanobis(full)": Mahalanobis(ROOT @ ROOT.T / F + 0.1 * np.eye(F)),
    "negative-binomial": NegativeBinomial(0.5),
    "negative-binomial(features)": NegativeBinomial(np.linspace(0.2, 3.0, F)),
    "zero-inflated": ZeroInflated(0.3, 0.2),
    "huber": Huber(0.3),
    "l1": L1Loss(),
    "l2": L2(),
}
SMOOTH = [name for name in LOSSES if name not in ("l1", "huber")]
PENALTIES = {"none": Orthant(), "elastic net": ElasticNet(0.2, 0.3, nonnegative=True)}

every_loss = pytest.mark.parametrize("name", LOSSES)
every_penalty = pytest.mark.parametrize("penalty", PENALTIES)


def data(seed: int = 0, dtype: Any = np.float64) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    W = rng.gamma(0.8, 1.0, (F, K)) + 0.01
    V = (W @ rng.gamma(0.7, 1.0, (K, B))) * rng.gamma(5.0, 0.2, (F, B)) + 0.01
    V[:, 0] *= 30.0
    return V.astype(dtype), W.astype(dtype)


def objective(loss: Any, v: Array, W: Array, h: Array, penalty: Any) -> float:
    return float(loss.value(v[:, None], (W @ h)[:, None])[0] + penalty.value(h))


def best(loss: Any, v: Array, W: Array, penalty: Any, start: Array) -> float:
    """Return the least objective that L-BFGS-B finds from several starts."""
    l1, l2 = penalty.coefficients

    def both(h: Array) -> tuple[float, Array]:
        p = (W @ h)[:, None]
        slope = W.T @ loss.grad(v[:, None], p)[:, 0] + l1 + l2 * h
        return objective(loss, v, W, h, penalty), slope

    bounds = [(1e-12, None)] * K
    runs = [
        minimize(
            both,
            x0,
            jac=True,
            bounds=bounds,
            method="L-BFGS-B",
            options={"ftol": 1e-14, "gtol": 1e-10},
        )
        for x0 in (start, np.full(K, v.sum() / W.sum()), start + 0.1)
    ]
    return float(min(run.fun for run in runs))


@pytest.mark.parametrize("name", SMOOTH)
@every_penalty
def test_newton_finds_what_scipy_finds(name: str, penalty: str) -> None:
    (V, W), loss, g = data(), LOSSES[name], PENALTIES[penalty]
    codes = Newton(loss, g, tol=1e-8, max_iter=2000).encode(V, W)
    assert codes.solved.all()
    for b in range(B):
        least = best(loss, V[:, b], W, g, codes.H[:, b])
        here = objective(loss, V[:, b], W, codes.H[:, b], g)
        np.testing.assert_allclose(codes.loss[b], here, rtol=1e-10)
        assert here <= least + 1e-5 * abs(least), f"sample {b}"


@pytest.mark.parametrize("name", [name for name in SMOOTH if name != "l2"])
@every_penalty
def test_optimality_conditions(name: str, penalty: str) -> None:
    """Codes and slopes are nonnegative, and one of them is zero: relative to the data's pull."""
    (V, W), loss, g = data(1), LOSSES[name], PENALTIES[penalty]
    H = Newton(loss, g, tol=1e-10, max_iter=5000).encode(V, W).H
    l1, l2 = g.coefficients
    grad = loss.grad(V, W @ H)
    slope = W.T @ grad + l1 + l2 * H
    pull = W.T @ np.abs(grad) + l1 + l2 * H
    level = H.mean(axis=0)
    residual = np.minimum(H / level, slope / pull)
    assert np.abs(residual).max() < 1e-3


@every_penalty
def test_huber_agrees_with_cvxpy(penalty: str) -> None:
    (V, W), g = data(2), PENALTIES[penalty]
    l1, l2 = g.coefficients
    codes = Newton(Huber(0.3), g, tol=1e-7, max_iter=3000).encode(V, W)
    for b in range(B):
        h = cp.Variable(K, nonneg=True)
        cost = (
            0.5 * cp.sum(cp.huber(V[:, b] - W @ h, 0.3))
            + l1 * cp.sum(h)
            + 0.5 * l2 * cp.sum_squares(h)
        )
        least = cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
        assert abs(codes.loss[b] - least) <= 1e-4 * least


def test_l1_agrees_with_linear_programming() -> None:
    V, W = data(3)
    codes = Newton(L1Loss(), tol=1e-5, max_iter=500).encode(V, W)
    for b in range(B):
        costs = np.concatenate([np.zeros(K), np.ones(2 * F)])
        equal = np.hstack([W, np.eye(F), -np.eye(F)])
        least = linprog(costs, A_eq=equal, b_eq=V[:, b], method="highs").fun
        assert least * (1 - 1e-9) <= codes.loss[b] <= least * (1 + 2e-3)


def test_l2_has_the_codes_of_least_squares() -> None:
    V, W = data(4)
    one, two = (Newton(loss, tol=1e-9).encode(V, W).H for loss in (L2(), SquaredL2()))
    np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-10)


@every_loss
@every_penalty
def test_multiplicative_updates_never_increase_the_objective(name: str, penalty: str) -> None:
    (V, W), loss = data(5), LOSSES[name]
    losses = [
        Multiplicative(loss, PENALTIES[penalty], tol=-1.0, max_iter=n).encode(V, W).loss
        for n in range(0, 12)
    ]
    slack = 1e-9 * V.sum(axis=0) if name in ("l1", "l2") else 1e-12 * losses[0]
    falls = -np.diff(losses, axis=0)
    assert np.all(falls >= -slack)
    assert falls[0].max() > 0.0


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "l1"])
def test_multiplicative_updates_converge(name: str) -> None:
    """Except l1: the weight of an exactly fitted entry fixes all codes of its sample."""
    (V, W), loss = data(6), LOSSES[name]
    slow = Multiplicative(loss, tol=1e-9, max_iter=30_000).encode(V, W)
    fast = Newton(loss, tol=1e-7, max_iter=2000).encode(V, W)
    assert np.all(slow.loss <= fast.loss * (1 + 2e-3))
    assert np.all(fast.loss <= slow.loss * (1 + 1e-3))


ENCODERS: dict[str, Any] = {
    **{f"newton {name}": Newton(loss, tol=1e-6, max_iter=500) for name, loss in LOSSES.items()},
    **{f"mu {name}": Multiplicative(loss, max_iter=60) for name, loss in LOSSES.items()},
    "counts": SparseKL(tol=1e-6),
}
every_encoder = pytest.mark.parametrize("label", ENCODERS)
# The Huber threshold and counts have units. A Mahalanobis matrix and dispersions of features have a
# size, and a matrix couples the entries.
with_units, sized = ("huber", "negative-binomial", "zero-inflated"), ("mahalanobis", "(features)")
without_units, of_any_size = (
    pytest.mark.parametrize("label", [n for n in ENCODERS if not any(x in n for x in out)])
    for out in (with_units, sized)
)


@every_encoder
def test_each_sample_is_encoded_as_if_alone(label: str) -> None:
    (V, W), encoder = data(7), ENCODERS[label]
    assert isinstance(encoder, Encoder)
    together = encoder.encode(V, W)
    for b in range(B):
        alone = encoder.encode(V[:, b : b + 1], W)
        # The weights of l1 near its kinks are steep, and rounding is multiplied by them.
        near = 1e-6 if label == "newton l1" else 1e-9
        size = 1e-9 * together.H[:, b].max()
        np.testing.assert_allclose(alone.H[:, 0], together.H[:, b], rtol=near, atol=size)
        np.testing.assert_allclose(alone.loss[0], together.loss[b], rtol=1e-9)
        assert alone.solved[0] == together.solved[b]


@of_any_size
def test_missing_entries_are_ignored(label: str) -> None:
    (V, W), encoder = data(8), ENCODERS[label]
    observed = np.random.default_rng(9).random(V.shape) < 0.7
    codes = encoder.encode(np.where(observed, V, 1e6), W, observed=observed)
    for b in range(B):
        kept = observed[:, b]
        alone = encoder.encode(V[kept, b][:, None], W[kept])
        np.testing.assert_allclose(codes.loss[b], alone.loss[0], rtol=1e-5)
    np.testing.assert_allclose((1e6 - W @ codes.H)[~observed], codes.R[~observed], rtol=1e-12)


@every_encoder
def test_a_sample_without_observed_entries(label: str) -> None:
    (V, W), encoder = data(10), ENCODERS[label]
    observed = np.ones(V.shape, dtype=bool)
    observed[:, 2] = False
    codes = encoder.encode(V, W, observed=observed)
    assert codes.loss[2] == 0.0
    assert np.all(np.isfinite(codes.H))


@without_units
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_codes_scale_with_the_data(label: str, scale: float) -> None:
    (V, W), encoder = data(11), ENCODERS[label]
    codes, scaled = encoder.encode(V, W), encoder.encode(scale * V, W)
    np.testing.assert_allclose(scaled.H / scale, codes.H, rtol=1e-6, atol=1e-9 * codes.H.max())


@every_encoder
def test_single_precision_stays(label: str) -> None:
    (V, W), encoder = data(12, np.float32), ENCODERS[label]
    codes = encoder.encode(V, W)
    assert {part.dtype for part in codes[:4]} == {np.dtype(np.float32)}
    double = encoder.encode(V.astype(float), W.astype(float))
    np.testing.assert_allclose(codes.loss, double.loss, rtol=5e-3, atol=1e-4)


@of_any_size
def test_more_atoms_than_features_and_empty_batches(label: str) -> None:
    encoder = ENCODERS[label]
    rng = np.random.default_rng(13)
    W, V = rng.random((3, 8)) + 0.01, rng.random((3, 5)) + 0.1
    codes = encoder.encode(V, W)
    assert np.all(np.isfinite(codes.H))
    if label != "mu l1":  # its codes freeze before they arrive
        assert np.all(codes.loss <= encoder.encode(V, W[:, :2]).loss + 1e-5)
    assert encoder.encode(V[:, :0], W).H.shape == (8, 0)


@pytest.mark.parametrize("loss", [KL(), Hellinger(), Alpha(2.0)], ids=repr)
@every_penalty
def test_sparse_data_are_the_same_data(loss: Any, penalty: str) -> None:
    rng = np.random.default_rng(14)
    W = rng.gamma(0.5, 1.0, (40, K)) + 1e-3
    V = rng.poisson(0.1 * W @ rng.random((K, 20))).astype(float)
    V[:, 3] = 0.0
    encoder = Multiplicative(loss, PENALTIES[penalty], max_iter=30)
    dense, thin = encoder.encode(V, W), encoder.encode(sparse.csc_array(V), W)
    np.testing.assert_allclose(thin.H, dense.H, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(thin.loss, dense.loss, rtol=1e-9, atol=1e-12)
    assert np.array_equal(thin.solved, dense.solved)


@pytest.mark.parametrize("encoder", [SparseKL(tol=1e-6), Multiplicative(tol=1e-9)], ids=repr)
def test_a_sparse_sample_does_not_feel_how_large_others_are(encoder: Any) -> None:
    rng = np.random.default_rng(12)
    W, V = rng.random((F, K)) + 0.01, rng.poisson(0.5, size=(F, B)).astype(float)
    V[0], V[:, 3] = 1.0, 0.0
    sizes = 10.0 ** -np.arange(0.0, 10.0 * B, 10.0)
    thin = encoder.encode(sparse.csc_array(V * sizes), W)
    for b, size in enumerate(sizes):
        alone = encoder.encode(sparse.csc_array(V[:, b : b + 1]), W)
        np.testing.assert_allclose(thin.H[:, b] / size, alone.H[:, 0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_counts_are_certified(l1: float) -> None:
    rng = np.random.default_rng(15)
    W = rng.gamma(0.5, 1.0, (40, K)) + 1e-3
    V = sparse.csc_array(rng.poisson(0.2 * W @ rng.random((K, 30))).astype(float))
    penalty = L1(l1, nonnegative=True)
    exact = Newton(KL(), penalty, tol=1e-10, max_iter=500).encode(V.toarray(), W)
    for tol in (1e-1, 1e-2, 1e-4):
        codes = SparseKL(penalty, tol=tol).encode(V, W)
        assert codes.solved.all()
        assert np.all(codes.loss <= exact.loss / (1 - tol) + 1e-9)
        assert np.all(codes.loss >= exact.loss * (1 - 1e-8))
    assert not SparseKL(penalty, tol=1e-9, max_iter=3).encode(V, W).solved.all()


def test_penalties_that_no_encoder_here_takes() -> None:
    V, W = data()
    for encoder in (Newton, Multiplicative):
        with pytest.raises(ParameterError, match="elastic net"):
            encoder(penalty=GroupLasso(0.1, (0, 0, 1, 1), nonnegative=True)).encode(V, W)
    with pytest.raises(ParameterError, match="l1 penalty or the orthant"):
        SparseKL(penalty=ElasticNet(0.1, 0.1, nonnegative=True))
