"""Weights of entries: scaled problems, derivatives, and the mask as the weights 0 and 1."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from thalweg.divergences import l1
from thalweg.divergences.beta import Beta
from thalweg.divergences.huber import Huber
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.divergences.kl import KL
from thalweg.divergences.l2 import L2
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders.admm import Admm
from thalweg.encoders.divergence_problem import dense_problem
from thalweg.encoders.entry_weights import WeightedLoss, mask_of
from thalweg.encoders.fast import Fast
from thalweg.encoders.multiplicative import Multiplicative
from thalweg.encoders.newton import Newton
from thalweg.encoders.nonnegative_least_squares import NonnegativeLeastSquares
from thalweg.encoders.pgd import Pgd
from thalweg.encoders.sparse_kl import SparseKL
from thalweg.errors import ParameterError
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.l1 import L1
from thalweg.prox.simplex import Simplex

LOSSES = [
    SquaredL2(),
    KL(),
    ItakuraSaito(),
    Beta(1.5),
    Huber(0.3),
    l1.L1(),
    L2(),
    Mahalanobis(np.linspace(0.5, 2.0, 12)),
]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    W, H = rng.random((12, 3)), rng.random((3, 7))
    V = W @ H + 0.05 * rng.random((12, 7))
    V[3, :4] += 2.0
    weights = rng.uniform(0.2, 5.0, V.shape) * (rng.random(V.shape) > 0.2)
    return V * (weights > 0.0), W, weights


def convex_minimum(V, W, weights, threshold):
    """Minimise sum huber(sqrt(w) (v - W h)) over h >= 0 with a general solver."""
    s = np.sqrt(weights)

    def loss(h):
        z = s * (V - W @ h)
        low = np.minimum(np.abs(z), threshold)
        return float(np.sum(low * (np.abs(z) - low / 2))), -W.T @ (
            s * np.clip(z, -threshold, threshold)
        )

    bounds = [(0.0, None)] * W.shape[1]
    found = minimize(loss, np.ones(W.shape[1]), jac=True, bounds=bounds, tol=1e-14)
    return found.fun


@pytest.mark.parametrize("exit", ["decrease", "gap"])
def test_robust_codes_minimise_huber_losses_in_standard_deviations(problem, exit):
    V, W, weights = problem
    codes = Fast(outliers=L1(0.3), tol=1e-10, exit=exit).encode(V, W, observed=weights)
    best = [convex_minimum(*pair, 0.3) for pair in zip(V.T, [W] * 7, weights.T, strict=True)]
    np.testing.assert_allclose(codes.loss, best, rtol=1e-6)
    residual = V - W @ codes.H - codes.R
    seen = weights > 0.0
    assert np.abs((np.sqrt(weights) * residual)[seen]).max() <= 0.3 * (1 + 1e-5)
    np.testing.assert_allclose(residual[~seen], 0.0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("penalty", [ElasticNet(0.1, 0.2, nonnegative=True), Simplex()])
def test_each_sample_is_encoded_with_its_scaled_dictionary(problem, dtype, penalty):
    V, W, weights = (part.astype(dtype) for part in problem)
    encoder = Fast(outliers=L1(0.3), penalty=penalty, tol=1e-6)
    together = encoder.encode(V, W, observed=weights)
    for b, (v, w) in enumerate(zip(V.T, weights.T, strict=True)):
        s = np.sqrt(w)
        alone = encoder.encode((s * v)[:, None], s[:, None] * W)
        np.testing.assert_allclose(together.H[:, b], alone.H[:, 0], rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(together.loss[b], alone.loss[0], rtol=1e-4)


@pytest.mark.parametrize("name", ["fast", "newton", "multiplicative", "squares"])
def test_weights_of_zero_and_one_are_a_mask(problem, name):
    V, W, weights = problem
    encoders = {
        "fast": Fast(outliers=L1(0.3), tol=1e-9),
        "newton": Newton(KL(), tol=1e-9),
        "multiplicative": Multiplicative(KL(), tol=1e-9),
        "squares": NonnegativeLeastSquares(),
    }
    mask = weights > 0.0
    masked = encoders[name].encode(V, W, observed=mask)
    weighted = encoders[name].encode(V, W, observed=mask.astype(float))
    for one, other in zip(masked, weighted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_derivatives_of_weighted_losses(problem, loss):
    V, W, weights = problem
    P = W @ np.full((3, 7), 0.4)
    weighted = WeightedLoss(loss, weights)
    grad, step = weighted.grad(V, P), 1e-6
    for f in (0, 3, 8):
        plus, minus = P.copy(), P.copy()
        plus[f] += step
        minus[f] -= step
        data = np.where(weights > 0.0, V, P)  # as the problem does at missing entries
        slope = (weighted.value(data, plus) - weighted.value(data, minus)) / (2 * step)
        seen = weights[f] > 0.0
        np.testing.assert_allclose(grad[f][seen], slope[seen], rtol=1e-4, atol=1e-6)
    neg, pos = weighted.split(V, P)
    assert min(neg.min(), pos.min()) >= 0.0
    np.testing.assert_allclose((pos - neg)[weights > 0], grad[weights > 0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES[:5], ids=lambda loss: loss.name)
def test_newton_reaches_the_minimum_of_the_weighted_loss(problem, loss):
    V, W, weights = problem
    V = np.where(weights > 0.0, np.maximum(V, 1e-3), 0.0)
    codes = Newton(loss, tol=1e-9).encode(V, W, observed=weights)
    for b in range(3):
        part = dense_problem(loss, V[:, [b]], W, weights[:, [b]])

        def value(h, part=part):
            H = np.maximum(h, 0.0)[:, None]
            return float(part.value(part.model(H), H)[0])

        best = min(
            minimize(
                value, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13}
            ).fun
            for start in (np.full(3, 0.5), codes.H[:, b])
        )
        assert codes.loss[b] <= best * (1 + 1e-6) + 1e-10


def test_squares_meet_the_optimality_conditions(problem):
    V, W, weights = problem
    H = NonnegativeLeastSquares().encode(V, W, observed=weights).H
    slope = W.T @ (weights * (W @ H - V))
    assert slope.min() > -1e-9
    np.testing.assert_allclose(slope * H, 0.0, atol=1e-9)


def test_the_encoder_of_sparse_counts_minimises_the_weighted_loss(problem):
    V, W, weights = problem
    ours = SparseKL(tol=1e-8).encode(V, W, observed=weights)
    np.testing.assert_allclose(
        ours.loss, Newton(KL(), tol=1e-10).encode(V, W, observed=weights).loss, rtol=1e-6
    )


@pytest.mark.parametrize("encoder", [Pgd(), Admm()])
def test_the_solvers_of_the_paper_have_no_weights_of_entries(problem, encoder):
    V, W, weights = problem
    with pytest.raises(ParameterError, match="weights must be None or 0 and 1"):
        encoder.encode(V, W, observed=weights)
    assert np.isfinite(encoder.encode(V, W, observed=weights > 0.0).H).all()


def test_the_loss_of_some_samples_has_their_weights(problem):
    V, W, weights = problem
    whole = dense_problem(KL(), V, W, weights)
    H = np.full((3, 7), 0.5)
    some = np.array([4, 1])
    part = whole.take(some)
    np.testing.assert_allclose(
        part.value(part.model(H[:, some]), H[:, some]), whole.value(whole.model(H), H)[some]
    )
    assert replace(part).loss.weights.shape == (12, 2)
    assert mask_of(np.ones(3)) is None
