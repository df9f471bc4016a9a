"""Weights of samples and entries: repeated rows, gaps, units, noise of known variance."""

from typing import Any

import numpy as np
import pytest
import sklearn
from scipy import sparse, stats
from sklearn.pipeline import make_pipeline

from thalweg import (
    ORNMF,
    DivergenceNMF,
    OnlineFactorization,
    OnlineNMF,
    RobustNMF,
    RobustOnlineNMF,
)
from thalweg._typing import Array
from thalweg.errors import InputError, ParameterError
from thalweg.updates.cao_onmf import CaoONMF

ONLINE = {
    "robust": RobustOnlineNMF(3, outlier_weight=0.2),
    "robust-pgd": RobustOnlineNMF(3, outlier_weight=0.2, solver="pgd"),
    "robust-penalised": RobustOnlineNMF(3, outlier_weight=0.2, code_penalty="l1", init="samples"),
    "squares": OnlineNMF(3, loss="squared-l2"),
    "kl": OnlineNMF(3),
    "kl-penalised": OnlineNMF(3, code_penalty="l1"),
    "kl-mu": OnlineNMF(3, solver="mu"),
    "kl-spsgd": OnlineNMF(3, solver="spsgd"),
    "is": OnlineNMF(3, loss="itakura-saito"),
    "l1": OnlineNMF(3, loss="l1"),
}
BATCH = {
    "robust": RobustNMF(3, outlier_weight=0.2),
    "robust-pgd": RobustNMF(3, outlier_weight=0.2, solver="pgd"),
    "robust-admm": RobustNMF(3, outlier_weight=0.2, solver="admm"),
    "squares": DivergenceNMF(3, loss="squared-l2"),
    "kl": DivergenceNMF(3),
    "kl-penalised": DivergenceNMF(3, code_penalty="elastic-net"),
    "l1": DivergenceNMF(3, loss="l1"),
    "squares-penalised": DivergenceNMF(3, loss="squared-l2", code_penalty="l1"),
}
ALL = {f"online-{name}": m for name, m in ONLINE.items()} | BATCH
OF_ENTRIES = {n: m for n, m in ALL.items() if not n.endswith(("pgd", "admm"))}


def make(model: Any, **parameters: Any) -> Any:
    options = {"max_iter": 30} if "max_iter" in model.get_params() else {}
    return sklearn.base.clone(model).set_params(random_state=0, **options, **parameters)


@pytest.fixture(name="X")
def data() -> Array:
    rng = np.random.default_rng(0)
    low_rank = rng.random((60, 3)) @ rng.random((3, 10))
    return low_rank + 0.1 * rng.random((60, 10))


@pytest.fixture(name="weights")
def random_weights(X: Array) -> Array:
    rng = np.random.default_rng(1)
    return rng.uniform(0.2, 5.0, X.shape) * (rng.random(X.shape) > 0.1)


@pytest.mark.parametrize("name", ALL)
def test_weights_of_one_change_nothing(name: str, X: Array) -> None:
    plain = make(ALL[name]).fit(X)
    ones = make(ALL[name]).fit(X, sample_weight=np.ones(60), weights=np.ones(X.shape))
    assert np.array_equal(plain.components_, ones.components_)


@pytest.mark.parametrize("name", ALL)
def test_a_sample_of_weight_zero_is_left_out(name: str, X: Array) -> None:
    u = np.where(np.arange(60) % 5 == 0, 0.0, 1.0)
    without = make(ALL[name]).fit(X[u > 0])
    weighted = make(ALL[name]).fit(X, sample_weight=u)
    assert np.array_equal(without.components_, weighted.components_)


@pytest.mark.parametrize("name", ALL)
def test_an_entry_of_weight_zero_is_a_gap(name: str, X: Array) -> None:
    mask = np.random.default_rng(2).random(X.shape) > 0.15
    gaps = make(ALL[name]).fit(np.where(mask, X, np.nan))
    weighted = make(ALL[name]).fit(X, weights=mask.astype(float))
    assert np.array_equal(gaps.components_, weighted.components_)


@pytest.mark.parametrize("name", ONLINE)
def test_a_weight_of_two_is_the_row_twice_in_a_stream(name: str, X: Array) -> None:
    u = np.random.default_rng(3).integers(1, 4, 60)
    repeated = np.repeat(X, u, axis=0)
    first, second = make(ONLINE[name], init="random"), make(ONLINE[name], init="random")
    ends = np.cumsum(u)
    for begin in range(0, 60, 12):
        first.partial_fit(X[begin : begin + 12], sample_weight=u[begin : begin + 12])
        rows = slice(ends[begin] - u[begin], ends[begin + 11])
        second.partial_fit(repeated[rows])
    np.testing.assert_allclose(first.components_, second.components_, rtol=1e-6, atol=1e-8)
    assert first.objective_ == pytest.approx(second.objective_)


@pytest.mark.parametrize("name", BATCH)
def test_a_weight_of_two_is_the_row_twice_in_a_batch_fit(name: str, X: Array) -> None:
    u = np.random.default_rng(3).integers(0, 4, 60)
    weighted = make(BATCH[name], init="random").fit(X, sample_weight=u)
    repeated = make(BATCH[name], init="random").fit(np.repeat(X, u, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-6, atol=1e-8)
    assert weighted.objective_ == pytest.approx(repeated.objective_)


def test_joint_factors_of_repeated_rows(X: Array) -> None:
    u = np.repeat([1, 2], 30)
    options = {"update": CaoONMF(), "random_state": 0}
    first, second = OnlineFactorization(3, **options), OnlineFactorization(3, **options)
    first.partial_fit(X, sample_weight=u)
    second.partial_fit(np.repeat(X, u, axis=0))
    np.testing.assert_allclose(first.components_, second.components_, rtol=1e-5)


@pytest.mark.parametrize("name", OF_ENTRIES)
def test_units_of_the_weights_do_not_matter(name: str, X: Array, weights: Array) -> None:
    # penalties and thresholds are in units of the weights, and steps decrease with their sum
    if any(part in name for part in ("penalised", "robust", "spsgd")):
        pytest.skip("the penalty is in units of the weights")
    u = np.random.default_rng(3).uniform(0.5, 3.0, 60)
    one = make(OF_ENTRIES[name]).fit(X, sample_weight=u, weights=weights)
    other = make(OF_ENTRIES[name]).fit(X, sample_weight=4.0 * u, weights=16.0 * weights)
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-6, atol=1e-9)


def test_or_nmf_takes_weighted_steps(X: Array, weights: Array) -> None:
    """Twice the weight is twice the gradient, in units of the largest one."""
    u = np.linspace(0.5, 3.0, 60)
    one = ORNMF(3, random_state=0).fit(X, sample_weight=u, weights=weights)
    other = ORNMF(3, random_state=0).fit(X, sample_weight=2.0 * u, weights=4.0 * weights)
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-9)
    model = ORNMF(3, random_state=0, init=np.random.default_rng(0).random((3, 10)))
    by_entry = sklearn.base.clone(model).fit(X, weights=np.repeat(u[:, None], 10, axis=1))
    by_sample = sklearn.base.clone(model).fit(X, sample_weight=u)
    np.testing.assert_allclose(by_entry.components_, by_sample.components_, rtol=1e-6)
    plain = ORNMF(3, random_state=0).partial_fit(X[:30])
    mixed = plain.partial_fit(X[30:], weights=weights[30:]).partial_fit(X)
    assert mixed.statistics_.weights.shape == mixed.statistics_.V.shape
    u[:] = 0.0
    u[::2] = 1.0
    assert np.array_equal(
        ORNMF(3, random_state=0).fit(X, sample_weight=u).components_,
        ORNMF(3, random_state=0).fit(X[::2]).components_,
    )


@pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF])
def test_an_automatic_threshold_is_in_units_of_the_weights(
    cls: Any, X: Array, weights: Array
) -> None:
    one = cls(3, random_state=0).fit(X, weights=weights)
    other = cls(3, random_state=0).fit(X, weights=16.0 * weights)
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-9)
    assert other.outlier_weight_ == pytest.approx(4.0 * one.outlier_weight_)


@pytest.mark.parametrize("name", ["squares", "kl"])
def test_rows_of_entries_of_weight_two_are_rows_twice(name: str, X: Array) -> None:
    u = np.random.default_rng(3).integers(1, 4, 60).astype(float)
    start = np.random.default_rng(4).random((3, 10))
    model = make(BATCH[name]).set_params(init=start, max_iter=3000, tol=1e-10)
    by_entry = model.fit(X, weights=np.repeat(u[:, None], 10, axis=1)).components_
    by_sample = model.fit(X, sample_weight=u).components_
    np.testing.assert_allclose(by_entry, by_sample, rtol=2e-3, atol=2e-3)


def weighted_squares(X: Array, weights: Array, W: Array, n_iter: int) -> float:
    """LS-NMF (Wang et al., 2006): multiplicative updates of weighted squares; a naive twin."""
    H = np.ones((len(X), len(W)))
    for _ in range(n_iter):
        H *= (weights * X) @ W.T / np.maximum((weights * (H @ W)) @ W.T, 1e-300)
        W = W * (H.T @ (weights * X)) / np.maximum(H.T @ (weights * (H @ W)), 1e-300)
    return float(np.sum(weights * (X - H @ W) ** 2) / 2 / len(X))


@pytest.mark.parametrize("cls", [DivergenceNMF, RobustNMF])
def test_batch_fits_reach_what_multiplicative_updates_reach(
    cls: Any, X: Array, weights: Array
) -> None:
    squares = {"loss": "squared-l2"} if cls is DivergenceNMF else {"outlier_weight": 1e6}
    start = np.random.default_rng(0).random((3, 10))
    model = cls(3, init=start, max_iter=1000, tol=1e-8, random_state=0, **squares)
    model.fit(X, weights=weights)
    assert model.objective_ <= weighted_squares(X, weights, start, 3000) * 1.001


@pytest.mark.parametrize("name", ["squares", "kl", "l1", "robust"])
def test_the_objective_of_batch_fits_never_increases(name: str, X: Array, weights: Array) -> None:
    model = make(BATCH[name], keep_history=True)
    model.fit(X, weights=weights, sample_weight=np.linspace(0.5, 2.0, 60))
    objectives = np.array([step.objective for step in model.history_])
    assert (np.diff(objectives) <= 1e-9 * objectives[:-1]).all()


@pytest.mark.parametrize(
    "model",
    [
        RobustOnlineNMF(3, epochs=5),
        RobustNMF(3),
        OnlineNMF(3, loss="squared-l2", epochs=5),
        OnlineNMF(3, loss="huber", epochs=5),
        DivergenceNMF(3, loss="squared-l2"),
        DivergenceNMF(3, loss="huber"),
    ],
    ids=lambda m: f"{type(m).__name__}-{getattr(m, 'loss', '')}",
)
def test_known_variances_lower_the_error(model: Any) -> None:
    rng = np.random.default_rng(0)
    clean = rng.random((400, 3)) @ rng.random((3, 20))
    deviations = np.exp(rng.uniform(-4.0, 0.0, clean.shape))
    noisy = np.abs(clean + deviations * rng.standard_normal(clean.shape))
    errors = []
    for weights in (None, deviations**-2):
        fitted = sklearn.base.clone(model).set_params(random_state=0)
        codes = fitted.fit_transform(noisy, weights=weights)
        np.testing.assert_array_equal(codes, fitted.transform(noisy, weights))
        errors.append(np.mean((codes @ fitted.components_ - clean) ** 2))
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF])
def test_p_values_are_uniform_under_noise_of_known_variance(cls: Any) -> None:
    rng = np.random.default_rng(0)
    W = rng.random((3, 30))
    clean = rng.random((1500, 3)) @ W + 3.0
    deviations = np.exp(rng.uniform(-3.0, -1.0, clean.shape))
    noisy = clean + deviations * rng.standard_normal(clean.shape)
    weights = deviations**-2
    model = cls(4, random_state=0).fit(noisy[:1000], weights=weights[:1000])
    p = model.p_values(noisy[1000:], weights[1000:])
    distance = stats.kstest(p.ravel(), "uniform").statistic
    assert distance < 0.04
    unweighted = cls(4, random_state=0).fit(noisy[:1000]).p_values(noisy[1000:])
    assert stats.kstest(unweighted.ravel(), "uniform").statistic > 2.0 * distance
    noisy[1200, 5] += 20.0 * deviations[1200, 5]
    found = model.anomalies(noisy[1000:], weights=weights[1000:])
    assert found[200, 5]
    assert found.sum() < 100


@pytest.mark.parametrize("name", ["online-kl", "kl", "squares", "online-robust"])
def test_sparse_data_with_weights(name: str, X: Array, weights: Array) -> None:
    X = np.where(np.quantile(X, 0.8) < X, X, 0.0)
    u = np.linspace(0.5, 2.0, 60)
    dense = make(OF_ENTRIES[name]).fit(X, sample_weight=u)
    found = make(OF_ENTRIES[name]).fit(sparse.csr_array(X), sample_weight=u)
    np.testing.assert_allclose(found.components_, dense.components_, rtol=1e-6, atol=1e-9)
    dense.fit(X, weights=weights)
    found.fit(sparse.csr_array(X), weights=sparse.csr_array(weights))
    np.testing.assert_allclose(found.components_, dense.components_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["online-robust", "online-squares", "robust", "kl"])
def test_scores_use_the_weights(name: str, X: Array, weights: Array) -> None:
    model, u = make(OF_ENTRIES[name]).fit(X), np.linspace(0.0, 2.0, 60)
    scores = model.score_samples(X)
    assert model.score(X, sample_weight=u) == pytest.approx(scores @ u / u.sum())
    assert model.score(X, weights=weights) == pytest.approx(model.score_samples(X, weights).mean())
    assert model.score(X, weights=weights) != pytest.approx(model.score(X))
    assert model.decompose(X, weights).outliers[weights == 0].sum() == 0.0
    assert np.array_equal(model.fill(X, weights)[weights > 0], X[weights > 0])


def test_a_stream_may_have_weights_at_times(X: Array, weights: Array) -> None:
    model = make(ONLINE["squares"])
    model.partial_fit(X).partial_fit(X, weights=weights).partial_fit(X)
    assert model.statistics_.A.shape == (10, 3, 3)
    robust = make(ONLINE["robust"]).partial_fit(X, weights=weights)
    gaps = np.where(weights > 1.0, X, np.nan)
    before = robust.partial_fit(gaps).partial_fit(X).score(X)
    assert before > -0.3


def test_metadata_routing(X: Array) -> None:
    u = np.linspace(0.0, 3.0, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        step = make(BATCH["squares"]).set_fit_request(sample_weight=True)
        pipe = make_pipeline(step.set_score_request(sample_weight=True))
        pipe.fit(X, sample_weight=u)
        assert pipe.score(X, sample_weight=u) == step.score(X, sample_weight=u)
    direct = make(BATCH["squares"]).fit(X, sample_weight=u)
    assert np.array_equal(step.components_, direct.components_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": -np.ones(60)}, "sample_weight must be finite and 0 or more, got -1"),
        ({"sample_weight": np.full(60, np.nan)}, "sample_weight must be finite .* got nan"),
        ({"sample_weight": np.zeros(60)}, "only weights of zero"),
        ({"sample_weight": np.ones(3)}, r"shape \(60,\)"),
        ({"weights": np.ones((60, 3))}, r"weights must be numbers of shape \(60, 10\)"),
        ({"weights": np.full((60, 10), np.inf)}, "weights must be finite and 0 or more, got inf"),
        ({"weights": np.zeros((60, 10))}, "only weights of zero"),
        ({"weights": "1"}, "weights must be numbers"),
    ],
)
def test_errors(options: dict[str, Any], message: str, X: Array) -> None:
    for model in (ONLINE["robust"], BATCH["kl"]):
        with pytest.raises(InputError, match=message):
            make(model).fit(X, **options)
    with pytest.raises(InputError, match=message):
        make(ONLINE["squares"]).partial_fit(X, **options)


@pytest.mark.parametrize("name", ["robust-pgd", "robust-admm"])
def test_paper_solvers_refuse_weights_of_entries(name: str, X: Array, weights: Array) -> None:
    with pytest.raises(ParameterError, match="Use solver='fast'"):
        make(BATCH[name]).fit(X, weights=weights)
