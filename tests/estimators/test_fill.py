"""fill: codes with a prior, the problem they solve, their errors, and the prior itself."""

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.datasets import load_digits

from thalweg import (
    ORNMF,
    DivergenceNMF,
    OnlineFactorization,
    OnlineNMF,
    RobustNMF,
    RobustOnlineNMF,
)
from thalweg.encoders import Codes
from thalweg.learning.batches import Batch
from thalweg.learning.code_prior import CodePrior, empty_prior, estimate_prior, merged

ESTIMATORS = {
    "robust": lambda K, **o: RobustOnlineNMF(K, random_state=0, **o),
    "kl": lambda K, **o: OnlineNMF(K, loss="kl", random_state=0, **o),
    "huber": lambda K, **o: OnlineNMF(K, loss="huber", random_state=0, **o),
    "squares": lambda K, **o: OnlineNMF(K, loss="squared-l2", random_state=0, **o),
    "window": lambda K, **o: ORNMF(K, random_state=0, **o),
    "batch robust": lambda K, **o: RobustNMF(K, random_state=0, max_iter=20, **o),
    "batch kl": lambda K, **o: DivergenceNMF(K, random_state=0, max_iter=60, **o),
    "parts": lambda K: OnlineFactorization(K, random_state=0),
}


def with_missing(X, share, seed=0):
    """Return the data with random missing entries, and their mask."""
    hidden = np.random.default_rng(seed).random(X.shape) < share
    return np.where(hidden, np.nan, X), hidden


def low_rank(n, F, K, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, size=(n, K)) @ rng.gamma(0.5, size=(K, F))


def error(filled, X, hidden):
    return float(np.sqrt(np.mean((filled - X)[hidden] ** 2)))


# --- the problem ---------------------------------------------------------------------------------


def squares(p, v, huber_threshold):
    return 0.5 * np.sum((v - p) ** 2), p - v


def huber(p, v, huber_threshold):
    e = p - v
    value = np.where(
        np.abs(e) <= huber_threshold,
        0.5 * e**2,
        huber_threshold * (np.abs(e) - 0.5 * huber_threshold),
    )
    return value.sum(), np.clip(e, -huber_threshold, huber_threshold)


def kl(p, v, huber_threshold):
    p = np.maximum(p, 1e-12)
    observed = v > 0.0
    return np.sum(v[observed] * np.log(v[observed] / p[observed])) - v.sum() + p.sum(), 1.0 - v / p


def posterior_row(row, model, loss, huber_threshold=0.0):
    """Return W h for the minimiser h >= 0 of loss + dispersion/2 sum (h/size)^2."""
    observed, W = ~np.isnan(row), model.components_.T
    sizes, dispersion = model.code_prior_.sizes(W), model.code_prior_.dispersion

    def value_and_slope(u):
        value, slope = loss(W[observed] @ (sizes * u), row[observed], huber_threshold)
        total = value + 0.5 * dispersion * u @ u
        return total, sizes * (W[observed].T @ slope) + dispersion * u

    found = optimize.minimize(
        value_and_slope,
        np.full(len(sizes), 0.5),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(sizes),
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return W @ (sizes * found.x)


@pytest.mark.parametrize(
    ("name", "loss"), [("squares", squares), ("robust", huber), ("huber", huber), ("kl", kl)]
)
def test_codes_minimise_the_documented_objective(name, loss):
    X = low_rank(300, 12, 4) + 0.1 * np.random.default_rng(1).random((300, 12))
    Y, hidden = with_missing(X, 0.6)
    model = ESTIMATORS[name](4).fit(Y)
    huber_threshold = getattr(
        model, "outlier_weight_", getattr(getattr(model, "loss_", None), "delta", 0.0)
    )
    model.set_params(tol=1e-9)
    filled = model.fill(Y)
    assert np.array_equal(filled[~hidden], X[~hidden])
    for i in range(40):
        expected = np.where(hidden[i], posterior_row(Y[i], model, loss, huber_threshold), X[i])
        np.testing.assert_allclose(filled[i], expected, rtol=1e-3, atol=1e-3 * X.mean())


# --- errors of filled entries --------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(("share", "K", "most"), [(0.5, 6, 1.1), (0.7, 3, 1.2)])
def test_codes_with_a_prior_fill_better_than_least_squares(name, share, K, most):
    X = load_digits().data[:700] / 16.0
    Y, hidden = with_missing(X, share)
    model = ESTIMATORS[name](K).fit(Y)
    best_fit = error(model.decompose(Y).low_rank, X, hidden)
    with_prior = error(model.fill(Y), X, hidden)
    mean = error(np.broadcast_to(np.nanmean(Y, axis=0), X.shape), X, hidden)
    assert with_prior < best_fit
    assert with_prior < most * mean


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_prior_hardly_matters_with_many_observed_entries(name):
    X = low_rank(1000, 40, 3)
    Y, hidden = with_missing(X, 0.2)
    model = ESTIMATORS[name](3).fit(Y)
    filled, best_fit = model.fill(Y), model.decompose(Y).low_rank
    assert error(filled, best_fit, hidden) < 0.05 * X[hidden].mean()
    assert error(filled, X, hidden) < 1.02 * error(best_fit, X, hidden)


@pytest.mark.parametrize("name", ["robust", "squares", "kl", "window"])
def test_codes_stay_small_with_one_observed_entry(name):
    X = low_rank(600, 10, 5) + 0.02
    model = ESTIMATORS[name](5).fit(with_missing(X, 0.3)[0])
    for f in range(10):
        row = np.full((1, 10), np.nan)
        row[0, f] = X[:, f].max()
        assert model.fill(row).max() < 3.0 * X.max()


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_filling_does_not_depend_on_units(unit):
    Y, _ = with_missing(low_rank(400, 15, 4) + 0.05, 0.5)
    for name in ("robust", "squares"):
        here, there = (ESTIMATORS[name](4).fit(data).fill(data) for data in (Y, unit * Y))
        np.testing.assert_allclose(there, unit * here, rtol=1e-4, atol=1e-8 * unit)


def test_rows_are_filled_independently():
    Y, _ = with_missing(low_rank(200, 12, 4), 0.4)
    model = ESTIMATORS["robust"](4).fit(Y)
    alone = np.vstack([model.fill(Y[i : i + 1]) for i in range(30)])
    np.testing.assert_allclose(model.fill(Y)[:30], alone, rtol=1e-9)


def test_a_code_penalty_replaces_the_prior():
    Y, hidden = with_missing(low_rank(200, 12, 4), 0.4)
    for model in (
        RobustOnlineNMF(4, code_penalty="l2", random_state=0),
        OnlineNMF(4, loss="kl", code_penalty="l1", random_state=0),
        RobustOnlineNMF(4, solver="pgd", random_state=0),
    ):
        model.fit(Y)
        filled, fitted = model.fill(Y)[hidden], model.decompose(Y).low_rank[hidden]
        np.testing.assert_allclose(filled, fitted, rtol=1e-13)  # products of other rows


def test_incomplete_counts_are_filled_by_a_model_of_sparse_data():
    counts = np.random.default_rng(2).poisson(0.2 * low_rank(300, 30, 3))
    counts[np.random.default_rng(3).random(counts.shape) < 0.8] = 0
    model = OnlineNMF(3, loss="kl", random_state=0).fit(sparse.csr_array(counts))
    assert model.sparse_
    Y, hidden = with_missing(counts.astype(float), 0.3)
    filled = model.fill(Y)
    assert np.array_equal(filled[~hidden], counts[~hidden])
    assert 0.0 <= filled.min() <= filled.max() <= 3 * counts.max()


# --- the prior of the codes ----------------------------------------------------------------------


def codes_of(H, loss):
    n = H.shape[1]
    return Codes(H, np.zeros((9, n)), np.full(n, loss), np.zeros(n), np.ones(n, np.bool_))


def test_squares_and_dispersion_are_means():
    H = np.random.default_rng(4).uniform(1.0, 1.5, size=(4, 50))
    H[0, ::2] = 0.0
    batch = Batch(np.zeros((9, 50)), None)
    found = estimate_prior(batch, codes_of(H, 3.0), empty_prior(4))
    np.testing.assert_allclose(found.squares, np.mean(H**2, axis=1))
    freedom = 9 - np.count_nonzero(H, axis=0)
    assert found.dispersion == pytest.approx(2.0 * 50 * 3.0 / freedom.sum())
    assert found.n_samples == 50


def test_very_large_codes_hardly_affect_the_prior():
    H = np.random.default_rng(5).uniform(0.5, 1.5, size=(4, 50))
    large = H.copy()
    large[:, ::10] *= 1e8
    batch = Batch(np.zeros((9, 50)), None)
    normal, found = (estimate_prior(batch, codes_of(h, 1.0), empty_prior(4)) for h in (H, large))
    assert np.all(found.squares < 2.0 * normal.squares)
    alone = estimate_prior(Batch(np.zeros((9, 1)), None), codes_of(large[:, :1], 1.0), normal)
    assert alone.squares.sum() <= 4.1 * normal.squares.sum()


def test_the_dispersion_needs_more_entries_than_codes():
    observed = np.zeros((9, 6), np.bool_)
    observed[:2] = True
    batch = Batch(np.zeros((9, 6)), observed)
    before = CodePrior(np.ones(3), 0.7, 10)
    assert estimate_prior(batch, codes_of(np.ones((3, 6)), 0.0), before).dispersion == 0.7
    observed[2:6, 0] = True
    assert estimate_prior(
        batch, codes_of(np.ones((3, 6)), 0.9), before
    ).dispersion == pytest.approx(0.6)


def test_the_prior_follows_the_stream():
    prior = empty_prior(2)
    for size, dispersion in [(1.0, 1.0)] * 100 + [(9.0, 4.0)] * 400:
        prior = prior.averaged(CodePrior(np.full(2, size), dispersion, 10))
    assert prior.squares[0] == pytest.approx(9.0, rel=0.05)
    assert prior.dispersion == pytest.approx(4.0, rel=0.01)
    assert prior.n_samples == 5000


def test_priors_are_merged_by_sample_counts():
    parts = [CodePrior(np.array([1.0, 2.0]), 1.0, 10), CodePrior(np.array([4.0, 5.0]), 4.0, 20)]
    whole = merged(parts)
    np.testing.assert_allclose(whole.squares, [3.0, 4.0])
    assert (whole.dispersion, whole.n_samples) == (pytest.approx(3.0), 30)


def test_unused_components_keep_a_positive_scale():
    W = np.array([[1.0, 0.0], [0.0, 2.0]])
    sizes = CodePrior(np.array([1.0, 0.0]), 1.0, 10).sizes(W)
    np.testing.assert_allclose(sizes, [1.0, 0.05])
