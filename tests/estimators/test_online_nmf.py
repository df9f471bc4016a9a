"""Online NMF under a divergence: what is learned, in which units, from which data."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thalweg import OnlineNMF, RobustOnlineNMF, synthetic
from thalweg._rooms import members
from thalweg._typing import Array
from thalweg.divergences.alpha import Alpha
from thalweg.divergences.beta import Beta
from thalweg.divergences.huber import Huber
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.divergences.kl import KL
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.errors import ParameterError
from thalweg.prox.l1_ball import L1Ball

F, K, N = 25, 4, 400
LOSSES: dict[str, Any] = {
    **{name: name for name in members("thalweg.divergences") if name != "mahalanobis"},
    "alpha(0)": Alpha(0.0),
    "alpha(-1)": Alpha(-1.0),
    "beta(1.5)": Beta(1.5),
    "mahalanobis": Mahalanobis(np.linspace(0.5, 2.0, F)),
}
NAMES = list(LOSSES)
every_loss = pytest.mark.parametrize("name", NAMES)
# Not l1 with multiplicative updates: an entry that fits is held there by its weight, so that
# rounding decides which one it is, and learning is slow.
both_solvers = pytest.mark.parametrize(
    ("solver", "name"),
    [*(("fast", name) for name in NAMES), *(("mu", name) for name in NAMES if name != "l1")],
)


def data(seed: int = 0, noise: str = "gamma", n: int = N) -> tuple[Array, Array]:
    """Return data and what they are without noise."""
    rng = np.random.default_rng(seed)
    clean = rng.gamma(1.0, 1.0, (n, K)) @ rng.gamma(0.5, 10.0, (K, F)) + 0.1
    X = rng.poisson(clean) if noise == "poisson" else clean * rng.gamma(50.0, 1 / 50.0, clean.shape)
    return X.astype(np.float64), clean


def counts(n: int = 3000, n_features: int = 300, seed: int = 0) -> tuple[Any, Array]:
    """Return sparse counts of four topics, and the topic that gave each sample most."""
    rng = np.random.default_rng(seed)
    topics = rng.gamma(0.1, 1.0, (4, n_features))
    topics /= topics.sum(axis=1, keepdims=True)
    weights = rng.gamma(0.3, 1.0, (n, 4))
    X = rng.poisson(30.0 * weights @ topics).astype(np.float64)
    return sparse.csr_array(X), weights.argmax(axis=1)


def fit(X: Any, **parameters: Any) -> OnlineNMF:
    return OnlineNMF(**{"n_components": K, "random_state": 0, "batch_size": 20, **parameters}).fit(
        X
    )


@both_solvers
def test_components_do_not_depend_on_units(name: str, solver: str) -> None:
    if name in ("negative-binomial", "zero-inflated"):
        pytest.skip("counts have units")
    X, _ = data(n=200)
    first = fit(X, loss=LOSSES[name], solver=solver).components_
    for scale in (1e-6, 1e6):
        other = fit(scale * X, loss=LOSSES[name], solver=solver).components_
        if name == "l1":  # its kinks multiply rounding: the quality is the same
            scores = [fit(c * X, loss="l1").score(c * X) / c for c in (1.0, scale)]
            assert scores[1] == pytest.approx(scores[0], rel=0.01)
        else:
            np.testing.assert_allclose(other, first, rtol=1e-4, atol=1e-6 * first.max())


@every_loss
def test_the_clean_data_are_found(name: str) -> None:
    X, clean = data(1, n=1500)
    model = fit(X, loss=LOSSES[name], epochs=2)
    found = model.decompose(X).low_rank
    share = np.mean((found - clean) ** 2) / np.mean((X - clean) ** 2)
    assert share < 0.75, "the model is no nearer to the truth than the data"
    assert np.all(model.components_ >= 0.0)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0, rtol=1e-6)


@every_loss
def test_the_objective_stands_for_the_loss(name: str) -> None:
    X, _ = data(2, n=1500)
    model = fit(X, loss=LOSSES[name], epochs=3)
    assert model.objective_ == pytest.approx(-model.score(X), rel=0.25)


@both_solvers
def test_gaps_are_learned_around(name: str, solver: str) -> None:
    X, clean = data(3, n=600)
    gaps = np.random.default_rng(4).random(X.shape) < 0.2
    holed = np.where(gaps, np.nan, X)
    model = fit(holed, loss=LOSSES[name], solver=solver, epochs=3)
    found = model.decompose(holed).low_rank
    error = np.sqrt(np.mean((found - clean)[gaps] ** 2) / np.mean(clean[gaps] ** 2))
    mean = np.nanmean(holed, axis=0) * np.ones_like(X)
    blind = np.sqrt(np.mean((mean - clean)[gaps] ** 2) / np.mean(clean[gaps] ** 2))
    assert error < 0.5 * blind


def test_fast_beats_multiplicative_updates_on_dense_data() -> None:
    X, _ = data(5, "poisson", n=1500)
    losses = [-fit(X, solver=solver).score(X) for solver in ("fast", "mu")]
    assert losses[0] < losses[1]


def test_sparse_and_dense_input_are_the_same() -> None:
    X, _ = counts()
    thin, dense = fit(X), fit(X.toarray())
    assert thin.sparse_
    assert dense.sparse_
    np.testing.assert_allclose(thin.components_, dense.components_, rtol=1e-9)
    np.testing.assert_allclose(
        thin.transform(X), dense.transform(X.toarray()), rtol=1e-7, atol=1e-12
    )
    full, clean = data(6, "poisson")
    assert not fit(sparse.csr_array(full)).sparse_
    assert clean.shape == full.shape


def test_topics_are_found_in_sparse_counts() -> None:
    X, labels = counts()
    codes = fit(X, epochs=3, constraint="simplex").transform(X)
    found = codes.argmax(axis=1)
    busy = np.asarray(X.sum(axis=1)).ravel() >= 10
    agree = sum(np.bincount(labels[busy & (found == k)], minlength=4).max() for k in range(4))
    assert agree / busy.sum() > 0.9


def test_sparse_counts_never_become_dense() -> None:
    n, n_features = 20_000, 2000
    rng = np.random.default_rng(7)
    places = rng.integers(0, n_features, (n, 10))
    ones = (np.ones(10 * n), places.ravel(), np.arange(0, 10 * n + 1, 10))
    X = sparse.csr_array(ones, shape=(n, n_features))
    tracemalloc.start()
    model = fit(X, batch_size=500)
    model.score_samples(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.25 * n * n_features * 8


def test_few_numbers_are_kept_where_features_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = data(8, "poisson")
    assert fit(X).statistics_.A.shape == (F, K, K)
    monkeypatch.setattr("thalweg.learning.divergence._LARGEST_CURVATURE", F * K**2 - 1)
    lean = fit(X, epochs=5)
    assert lean.statistics_.neg.shape == (F, K)
    assert -lean.score(X) < 1.6 * F


def test_huber_is_the_model_with_outliers() -> None:
    rng = np.random.default_rng(9)
    X = rng.random((300, 3)) @ rng.random((3, F))
    X += (rng.random(X.shape) < 0.1) * rng.uniform(0, 3, X.shape)
    one = fit(X, loss=Huber(0.1), init="samples", tol=1e-4)
    two = RobustOnlineNMF(
        K, outlier_weight=0.1, random_state=0, batch_size=20, init="samples", tol=1e-4
    ).fit(X)
    np.testing.assert_allclose(-one.score(X), -two.score(X), rtol=0.02)
    parts = one.decompose(X)
    rest = X - parts.low_rank - parts.outliers
    assert np.abs(rest).max() <= 0.1 * (1 + 1e-9)
    assert 0.02 < one.outlier_share_ < 0.5


@pytest.mark.parametrize("loss", ["huber", "l1"])
def test_robust_losses_see_through_outliers(loss: str) -> None:
    X, clean = data(10, n=1500)
    rng = np.random.default_rng(11)
    dirty = X + (rng.random(X.shape) < 0.1) * rng.uniform(0, 20 * X.mean(), X.shape)
    errors = [
        np.mean((fit(dirty, loss=name, epochs=2).decompose(dirty).low_rank - clean) ** 2)
        for name in (loss, "squared-l2")
    ]
    assert errors[0] < 0.3 * errors[1]


def test_silence_is_no_error_under_itakura_saito() -> None:
    X, _ = data(12)
    X[:, 3] = 0.0
    X[5] = 0.0
    model = fit(X, loss="is")
    assert model.floor_ == pytest.approx(1e-8 * X[np.isfinite(X)].mean(), rel=0.5)
    assert np.isfinite(model.score(X))
    assert fit(X, loss="kl").floor_ == 0.0


CONSTRAINTS = ["nonnegative", "l2-ball", "l1-ball", "simplex", "elastic-net-ball", "box"]


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("loss", ["kl", "squared-l2", Huber(1.0)], ids=str)
@pytest.mark.parametrize("penalty", [None, "l1", "l2"])
def test_every_set_of_components(constraint: str, loss: Any, penalty: str | None) -> None:
    X, _ = data(13, "poisson")
    model = fit(X, loss=loss, constraint=constraint, code_penalty=penalty)
    bounds = members("thalweg.prox")[constraint]()
    assert np.all(bounds.value(model.components_.T) == 0.0)
    worse = -fit(X[:20], loss=loss, constraint=constraint, code_penalty=penalty).score(X)
    assert -model.score(X) < worse


def test_a_penalty_makes_codes_sparse() -> None:
    X, _ = data(14, "poisson", n=800)
    penalties = [members("thalweg.prox")["l1"](weight, nonnegative=True) for weight in (0.01, 3.0)]
    zeros = [
        np.mean(fit(X, n_components=8, code_penalty=g, constraint=L1Ball()).transform(X) == 0.0)
        for g in penalties
    ]
    assert zeros[1] > zeros[0] + 0.1
    thin, _ = counts()
    mass = [
        fit(thin, code_penalty=g, constraint="simplex").transform(thin).sum() for g in penalties
    ]
    assert mass[1] < 0.5 * mass[0]


def test_known_components_stay() -> None:
    X, _ = data(15, "poisson")
    known = fit(X).components_[:2]
    model = fit(X, frozen_components=known)
    assert np.array_equal(model.components_[:2], known)
    assert not np.array_equal(model.components_[2:], fit(X).components_[2:])


def test_forgetting_follows_a_change() -> None:
    (one, _), (two, _) = data(16, "poisson", 800), data(17, "poisson", 800)
    stream = np.vstack([one, two])
    kept = [
        -fit(stream, shuffle=False, forgetting=factor).score(two[-200:]) for factor in (1.0, 0.99)
    ]
    assert kept[1] < kept[0] * 1.02


@pytest.mark.parametrize(
    ("alias", "cls"), [("kullback-leibler", KL), ("is", ItakuraSaito), ("poisson", KL)]
)
def test_aliases(alias: str, cls: type) -> None:
    X, _ = data()
    assert isinstance(fit(X[:50], loss=alias).loss_, cls)


def test_errors() -> None:
    X, _ = data()
    with pytest.raises(ParameterError, match="'kl'"):
        fit(X, loss="cosine")
    with pytest.raises(ParameterError, match=r"thalweg\.divergences"):
        fit(X, loss=3.0)
    with pytest.raises(ParameterError, match="elastic net"):
        fit(X, code_penalty="group-lasso")
    with pytest.raises(ParameterError, match="'fast', 'mu', 'spsgd'"):
        fit(X, solver="adam")
    model = OnlineNMF(K, random_state=0).partial_fit(X[:50])
    with pytest.raises(ParameterError, match=r"loss must be KL\(\), as in the first batch"):
        model.set_params(loss="is").partial_fit(X[50:])


def test_news_fall_into_their_topics(shared_data: Callable[[str], Path]) -> None:
    """[D] VIII-E: five topics that coincide with the five labels."""
    with np.load(shared_data("bbc_news.npz"), allow_pickle=False) as file:
        parts = (file["data"], file["indices"], file["indptr"])
        X, labels = sparse.csr_array(parts, shape=tuple(file["shape"])), file["labels"]
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    X.data = (1 + np.log(X.data)) * np.log(X.shape[0] / frequency[X.indices])
    X = X[:, np.argsort(-X.sum(axis=0))[:1000]]
    found = OnlineNMF(5, epochs=5, random_state=0).fit(X).transform(X).argmax(axis=1)
    groups = [labels[found == k] for k in range(5)]
    tops = [np.unique(group, return_counts=True) for group in groups]
    assert sum(count.max() for _, count in tops) / len(labels) >= 0.85
    assert len({names[count.argmax()] for names, count in tops}) == 5


@pytest.mark.parametrize(("share", "start"), [(0.3, "svd"), (0.7, "random")])
def test_singular_vectors_are_no_start_for_what_is_mostly_gaps(share: float, start: str) -> None:
    X = synthetic.nmf_with_noise(200, 12, 3, noise="poisson", random_state=0).X
    X[np.random.default_rng(0).random(X.shape) < share] = np.nan
    default = OnlineNMF(3, random_state=0).fit(X)
    chosen = OnlineNMF(3, init=start, random_state=0).fit(X)
    assert np.array_equal(default.components_, chosen.components_)
