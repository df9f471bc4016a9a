"""Gaps are filled by the most likely codes: the problem they solve, and what that is good for."""

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


def with_gaps(X, share, seed=0):
    """Return the data with gaps, and where they are."""
    hidden = np.random.default_rng(seed).random(X.shape) < share
    return np.where(hidden, np.nan, X), hidden


def low_rank(n, F, K, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, size=(n, K)) @ rng.gamma(0.5, size=(K, F))


def error(filled, X, hidden):
    return float(np.sqrt(np.mean((filled - X)[hidden] ** 2)))


# --- the problem ---------------------------------------------------------------------------------


def squares(p, v, knee):
    return 0.5 * np.sum((v - p) ** 2), p - v


def huber(p, v, knee):
    e = p - v
    value = np.where(np.abs(e) <= knee, 0.5 * e**2, knee * (np.abs(e) - 0.5 * knee))
    return value.sum(), np.clip(e, -knee, knee)


def kl(p, v, knee):
    p = np.maximum(p, 1e-12)
    observed = v > 0.0
    return np.sum(v[observed] * np.log(v[observed] / p[observed])) - v.sum() + p.sum(), 1.0 - v / p


def likely_row(row, model, loss, knee=0.0):
    """Return a row of W h at the least of loss + dispersion/2 sum (h/size)^2 over h >= 0."""
    observed, W = ~np.isnan(row), model.components_.T
    sizes, dispersion = model.code_prior_.sizes(W), model.code_prior_.dispersion

    def value_and_slope(u):
        value, slope = loss(W[observed] @ (sizes * u), row[observed], knee)
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
def test_codes_solve_the_problem_they_are_said_to(name, loss):
    X = low_rank(300, 12, 4) + 0.1 * np.random.default_rng(1).random((300, 12))
    Y, hidden = with_gaps(X, 0.6)
    model = ESTIMATORS[name](4).fit(Y)
    knee = getattr(model, "outlier_weight_", getattr(getattr(model, "loss_", None), "delta", 0.0))
    model.set_params(tol=1e-9)
    filled = model.fill(Y)
    assert np.array_equal(filled[~hidden], X[~hidden])
    for i in range(40):
        expected = np.where(hidden[i], likely_row(Y[i], model, loss, knee), X[i])
        np.testing.assert_allclose(filled[i], expected, rtol=1e-3, atol=1e-3 * X.mean())


# --- what it is good for -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(("share", "K", "most"), [(0.5, 6, 1.1), (0.7, 3, 1.2)])
def test_likely_codes_fill_better_than_those_that_fit_best(name, share, K, most):
    X = load_digits().data[:700] / 16.0
    Y, hidden = with_gaps(X, share)
    model = ESTIMATORS[name](K).fit(Y)
    best_fit = error(model.decompose(Y).low_rank, X, hidden)
    likely = error(model.fill(Y), X, hidden)
    mean = error(np.broadcast_to(np.nanmean(Y, axis=0), X.shape), X, hidden)
    assert likely < best_fit
    assert likely < most * mean


@pytest.mark.parametrize("name", ESTIMATORS)
def test_where_much_was_seen_the_data_decide(name):
    X = low_rank(1000, 40, 3)
    Y, hidden = with_gaps(X, 0.2)
    model = ESTIMATORS[name](3).fit(Y)
    filled, best_fit = model.fill(Y), model.decompose(Y).low_rank
    assert error(filled, best_fit, hidden) < 0.05 * X[hidden].mean()
    assert error(filled, X, hidden) < 1.02 * error(best_fit, X, hidden)


@pytest.mark.parametrize("name", ["robust", "squares", "kl", "window"])
def test_one_entry_does_not_lead_far_away(name):
    X = low_rank(600, 10, 5) + 0.02
    model = ESTIMATORS[name](5).fit(with_gaps(X, 0.3)[0])
    for f in range(10):
        row = np.full((1, 10), np.nan)
        row[0, f] = X[:, f].max()
        assert model.fill(row).max() < 3.0 * X.max()


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_filling_does_not_depend_on_units(unit):
    Y, _ = with_gaps(low_rank(400, 15, 4) + 0.05, 0.5)
    for name in ("robust", "squares"):
        here, there = (ESTIMATORS[name](4).fit(data).fill(data) for data in (Y, unit * Y))
        np.testing.assert_allclose(there, unit * here, rtol=1e-4, atol=1e-8 * unit)


def test_a_row_is_filled_by_itself():
    Y, _ = with_gaps(low_rank(200, 12, 4), 0.4)
    model = ESTIMATORS["robust"](4).fit(Y)
    alone = np.vstack([model.fill(Y[i : i + 1]) for i in range(30)])
    np.testing.assert_allclose(model.fill(Y)[:30], alone, rtol=1e-9)


def test_a_penalty_of_ones_own_stays_the_only_one():
    Y, hidden = with_gaps(low_rank(200, 12, 4), 0.4)
    for model in (
        RobustOnlineNMF(4, code_penalty="l2", random_state=0),
        OnlineNMF(4, loss="kl", code_penalty="l1", random_state=0),
        RobustOnlineNMF(4, solver="pgd", random_state=0),
    ):
        model.fit(Y)
        assert np.array_equal(model.fill(Y)[hidden], model.decompose(Y).low_rank[hidden])


def test_counts_with_gaps_are_filled_after_sparse_ones_were_learned():
    counts = np.random.default_rng(2).poisson(0.2 * low_rank(300, 30, 3))
    counts[np.random.default_rng(3).random(counts.shape) < 0.8] = 0
    model = OnlineNMF(3, loss="kl", random_state=0).fit(sparse.csr_array(counts))
    assert model.sparse_
    Y, hidden = with_gaps(counts.astype(float), 0.3)
    filled = model.fill(Y)
    assert np.array_equal(filled[~hidden], counts[~hidden])
    assert 0.0 <= filled.min() <= filled.max() <= 3 * counts.max()


# --- what is usual -------------------------------------------------------------------------------


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


def test_codes_that_ran_away_hardly_count():
    H = np.random.default_rng(5).uniform(0.5, 1.5, size=(4, 50))
    wild = H.copy()
    wild[:, ::10] *= 1e8
    batch = Batch(np.zeros((9, 50)), None)
    calm, found = (estimate_prior(batch, codes_of(h, 1.0), empty_prior(4)) for h in (H, wild))
    assert np.all(found.squares < 2.0 * calm.squares)
    alone = estimate_prior(Batch(np.zeros((9, 1)), None), codes_of(wild[:, :1], 1.0), calm)
    assert alone.squares.sum() <= 4.1 * calm.squares.sum()


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


def test_the_usual_follows_the_stream():
    usual = empty_prior(2)
    for size, dispersion in [(1.0, 1.0)] * 100 + [(9.0, 4.0)] * 400:
        usual = usual.averaged(CodePrior(np.full(2, size), dispersion, 10))
    assert usual.squares[0] == pytest.approx(9.0, rel=0.05)
    assert usual.dispersion == pytest.approx(4.0, rel=0.01)
    assert usual.n_samples == 5000


def test_parts_make_a_whole():
    parts = [CodePrior(np.array([1.0, 2.0]), 1.0, 10), CodePrior(np.array([4.0, 5.0]), 4.0, 20)]
    whole = merged(parts)
    np.testing.assert_allclose(whole.squares, [3.0, 4.0])
    assert (whole.dispersion, whole.n_samples) == (pytest.approx(3.0), 30)


def test_a_component_that_is_seldom_in_use_can_still_be_used():
    W = np.array([[1.0, 0.0], [0.0, 2.0]])
    sizes = CodePrior(np.array([1.0, 0.0]), 1.0, 10).sizes(W)
    np.testing.assert_allclose(sizes, [1.0, 0.05])
