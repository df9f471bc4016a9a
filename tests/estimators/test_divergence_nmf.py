"""Batch NMF under a divergence: descent, the optimum, scikit-learn's, sparse data and gaps."""

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF

from pairwise import all_pairs
from thalweg import DivergenceNMF, OnlineNMF
from thalweg._rooms import members
from thalweg._typing import Array
from thalweg.divergences.alpha import Alpha
from thalweg.divergences.beta import Beta
from thalweg.divergences.huber import Huber
from thalweg.divergences.kl import KL
from thalweg.errors import ParameterError
from thalweg.estimators import Progress
from thalweg.prox.box import Box
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.elastic_net_ball import ElasticNetBall
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.simplex import Simplex
from thalweg.prox.top import Top
from thalweg.synthetic import OutlierData

N, F, K = 90, 15, 3
LOSSES: dict[str, Any] = {
    **{name: name for name in members("thalweg.divergences")},
    **{f"alpha({a})": Alpha(a) for a in (-0.5, 0.0, 0.5, 1.0)},
    **{f"beta({b})": Beta(b) for b in (0.0, 0.5, 1.0, 2.0, 3.0)},
    "huber(0.5)": Huber(delta=0.5),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "l1": {"code_penalty": "l1"},
    "elastic net on the simplex": {
        "code_penalty": ElasticNet(0.1, 0.2),
        "constraint": "simplex",
    },
    "l2 in a box": {"code_penalty": "l2", "constraint": Box(0.0, 0.5)},
    "frozen": {"frozen_components": np.linspace(0.1, 2.0, F)[None]},
}
WITH_UNITS = ("huber(0.5)", "negative-binomial", "zero-inflated")
every_loss = pytest.mark.parametrize("label", LOSSES)


def counts(seed: int = 0, n: int = N, f: int = F, k: int = K) -> Array:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(1.0, 1.0, (n, k)) @ rng.gamma(0.7, 4.0, (k, f))).astype(float)


def holed(X: Array) -> Array:
    X = X.copy()
    X[np.random.default_rng(9).random(X.shape) < 0.2] = np.nan
    X[4] = np.nan
    return X


def thin(seed: int = 0) -> Array:
    """Return data of which a twentieth is not zero."""
    X = counts(seed, 200, 60)
    X[np.random.default_rng(seed).random(X.shape) < 0.94] = 0.0
    return X


# --- descent -----------------------------------------------------------------------------------


@all_pairs(
    every_loss,
    pytest.mark.parametrize("option", OPTIONS),
    pytest.mark.parametrize("form", ["dense", "gaps", "sparse"]),
)
def test_history_only_falls(label: str, option: str, form: str) -> None:
    X: Any = {"dense": counts(), "gaps": holed(counts()), "sparse": sparse.csr_array(thin())}[form]
    frozen = OPTIONS[option].get("frozen_components")
    options = OPTIONS[option]
    if frozen is not None and form == "sparse":
        options = {"frozen_components": np.linspace(0.1, 2.0, 60)[None]}
    model = DivergenceNMF(
        K, loss=LOSSES[label], max_iter=25, keep_history=True, random_state=0, **options
    ).fit(X)
    values = np.array([progress.objective for progress in model.history_])
    assert len(values) == model.n_iter_ > 1
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) <= 1e-12 * values[:-1])
    assert values[-1] < values[0]
    assert model.objective_ == values[-1]
    if frozen is not None:
        assert np.array_equal(model.components_[0], options["frozen_components"][0])


def test_the_fit_ends_where_it_stands_still() -> None:
    X = counts()
    loose, tight = (DivergenceNMF(K, tol=t, max_iter=5000, random_state=0) for t in (1e-3, 1e-6))
    assert loose.fit(X).n_iter_ < tight.fit(X).n_iter_ < 5000
    assert tight.objective_ < loose.objective_
    assert DivergenceNMF(K, max_iter=7, random_state=0).fit(X).n_iter_ == 7


# --- the optimum -------------------------------------------------------------------------------


def reconstruction(loss: Any, X: Array, codes: Array, components: Array) -> float:
    P = np.maximum(codes @ components, 1e-300)
    return float(np.mean(loss.value(X.T, P.T)))


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_rounds_are_those_of_scikit_learn(beta: float, seed: int) -> None:
    X = counts(seed) + 0.1
    components = 0.1 + np.random.default_rng(seed).random((K, F))
    components /= np.linalg.norm(components, axis=1, keepdims=True)
    codes = np.repeat(X.sum(axis=1, keepdims=True) / components.sum(), K, axis=1)
    model = DivergenceNMF(K, loss=Beta(beta), init=components, max_iter=150, tol=1e-12).fit(X)
    theirs = NMF(K, solver="mu", beta_loss=beta, init="custom", max_iter=150, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells that it was stopped
        found = theirs.fit_transform(X, W=codes.copy(), H=components.copy())
    value = reconstruction(Beta(beta), X, found, theirs.components_)
    assert model.n_iter_ == 150
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    ours, scale = model.components_, np.linalg.norm(theirs.components_, axis=1, keepdims=True)
    np.testing.assert_allclose(ours, theirs.components_ / scale, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "gaps"),
    [
        (KL(), False),
        (KL(), True),
        (Beta(1.5), True),
        (Beta(2.0), False),
        (Alpha(0.5), False),
        (Huber(delta=2.0), True),
    ],
    ids=str,
)
def test_the_end_is_a_stationary_point(loss: Any, gaps: bool) -> None:
    """Codes are the best ones, and no entry of the components has a slope that it could use."""
    X = holed(counts(1)) if gaps else counts(1)
    model = DivergenceNMF(K, loss=loss, max_iter=5000, tol=1e-9, random_state=0).fit(X)
    codes = model.transform(X)
    assert -model.score(X) == pytest.approx(model.objective_, rel=1e-4)
    observed = ~np.isnan(X)
    P = np.maximum(codes @ model.components_, 1e-12)
    slope = np.where(observed, loss.grad(np.where(observed, X, P), P), 0.0)
    weight = np.abs(codes).T @ np.where(observed, loss.split(np.where(observed, X, P), P)[1], 0.0)
    slope = (codes.T @ slope) / weight
    assert np.max(np.abs(slope * model.components_ / model.components_.max())) < 5e-3
    assert slope.min() > -0.05


def test_batch_is_not_behind_online() -> None:
    X = counts(2, 600, 30, 5)
    batch = DivergenceNMF(5, max_iter=1000, tol=1e-6, random_state=0).fit(X)
    online = OnlineNMF(5, epochs=5, random_state=0).fit(X)
    assert batch.score(X) > 1.03 * online.score(X)


def test_objective_is_the_loss_of_the_best_codes() -> None:
    X = counts(3)
    options = {"code_penalty": ElasticNet(0.3, 0.1), "max_iter": 3000, "tol": 1e-8}
    model = DivergenceNMF(K, random_state=0, **options).fit(X)
    assert -model.score(X) == pytest.approx(model.objective_, rel=1e-4)


def test_a_penalty_makes_codes_small_and_not_components() -> None:
    X = counts(4)
    free, paid = (
        DivergenceNMF(K, code_penalty=p, random_state=0).fit(X)
        for p in (None, ElasticNet(2.0, 0.0))
    )
    assert np.allclose(np.linalg.norm(paid.components_, axis=1), 1.0)
    assert paid.transform(X).sum() < 0.8 * free.transform(X).sum()


@pytest.mark.parametrize(
    "constraint", [L2Ball(2.0), "l1-ball", "elastic-net-ball", "nonnegative"], ids=str
)
def test_a_set_decides_the_scale_of_components_and_nothing_else(constraint: Any) -> None:
    # the same entries in another order: components of the same size in every set
    init = np.stack([np.roll(np.linspace(0.01, 0.02, F), 4 * k) for k in range(K)])
    X = counts(5)
    usual, other = (
        DivergenceNMF(K, constraint=c, init=init, max_iter=30).fit(X)
        for c in ("l2-ball", constraint)
    )
    assert other.objective_ == pytest.approx(usual.objective_, rel=1e-9)
    ratio = other.components_ / usual.components_
    np.testing.assert_allclose(ratio, ratio[:, :1] * np.ones(F), rtol=1e-6)


@pytest.mark.parametrize("constraint", [Simplex(3.0), Box(0.0, 0.2)], ids=str)
def test_components_keep_to_their_set(constraint: Any) -> None:
    model = DivergenceNMF(K, constraint=constraint, random_state=0).fit(counts(5))
    assert not constraint.value(model.components_.T).any()
    assert model.objective_ < 1.2 * DivergenceNMF(K, random_state=0).fit(counts(5)).objective_


# --- sparse data, gaps, units ------------------------------------------------------------------


@every_loss
def test_sparse_is_dense(label: str) -> None:
    X = thin(1)
    models = [
        DivergenceNMF(K, loss=LOSSES[label], max_iter=10, random_state=0).fit(data)
        for data in (X, sparse.csr_array(X), sparse.csc_matrix(X))
    ]
    for model in models[1:]:
        assert model.sparse_ == models[0].sparse_
        assert np.array_equal(model.components_, models[0].components_)
        assert model.objective_ == models[0].objective_


@pytest.mark.parametrize("loss", [KL(), Alpha(2.0)], ids=str)
def test_visiting_zeros_changes_nothing(loss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X = sparse.csr_array(thin(2))
    model = DivergenceNMF(K, loss=loss, max_iter=30, random_state=0)
    short = model.fit(X)
    assert short.sparse_
    components, objective = short.components_, short.objective_
    monkeypatch.setattr("thalweg.learning.divergence._SPARSE_SHARE", 0.0)
    full = model.fit(X)
    assert not full.sparse_
    np.testing.assert_allclose(full.components_, components, rtol=1e-6, atol=1e-9)
    assert full.objective_ == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("form", ["dense", "gaps", "sparse", "sparse with gaps"])
def test_blocks_do_not_matter(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X: Any = thin(3) if "sparse" in form else counts(3)
    X = holed(X) if "gaps" in form else X
    X = sparse.csr_array(X) if "sparse" in form else X
    model = DivergenceNMF(K, max_iter=20, random_state=0)
    whole = model.fit(X).components_
    monkeypatch.setattr("thalweg.estimators.divergence_nmf._BLOCK_ENTRIES", 7 * X.shape[1])
    np.testing.assert_allclose(model.fit(X).components_, whole, rtol=1e-7, atol=1e-10)


def test_a_part_of_the_rows_is_enough_to_begin_with(monkeypatch: pytest.MonkeyPatch) -> None:
    X = counts(6, 400)
    whole = DivergenceNMF(K, max_iter=1000, tol=1e-7, random_state=0).fit(X)
    monkeypatch.setattr("thalweg.estimators.divergence_nmf._INIT_ENTRIES", 50 * F)
    part = DivergenceNMF(K, max_iter=1000, tol=1e-7, random_state=0).fit(X)
    assert part.objective_ == pytest.approx(whole.objective_, rel=0.05)
    assert part.n_samples_seen_ == 400


@pytest.mark.parametrize("loss", ["kl", "itakura-saito"])
def test_sparse_data_are_never_dense_as_a_whole(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = sparse.random_array((4000, 1000), density=0.005, format="csr", random_state=0)
    monkeypatch.setattr("thalweg.estimators.divergence_nmf._BLOCK_ENTRIES", 2**17)
    monkeypatch.setattr("thalweg.estimators.divergence_nmf._INIT_ENTRIES", 2**17)
    model = DivergenceNMF(K, loss=loss, max_iter=2, random_state=0)
    model.fit(X[:50])
    tracemalloc.start()
    try:
        model.fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.4 * 8 * X.shape[0] * X.shape[1]


@pytest.mark.parametrize("gaps", [False, True], ids=["full", "gaps"])
def test_dense_data_are_not_copied(gaps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).random((6000, 400))
    if gaps:
        X[::7, ::3] = np.nan
    monkeypatch.setattr("thalweg.estimators.divergence_nmf._BLOCK_ENTRIES", 2**17)
    monkeypatch.setattr("thalweg.estimators.divergence_nmf._INIT_ENTRIES", 2**17)
    model = DivergenceNMF(K, max_iter=2, random_state=0)
    model.fit(X[:50])
    tracemalloc.start()
    try:
        model.fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * X.nbytes


@pytest.mark.parametrize("label", [label for label in LOSSES if label not in WITH_UNITS])
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(label: str, factor: float) -> None:
    """Except for a Huber threshold that the user sets, and for counts."""
    X = holed(counts(7))
    one, other = (
        DivergenceNMF(K, loss=LOSSES[label], max_iter=20, random_state=0).fit(c * X)
        for c in (1.0, factor)
    )
    near = 1e-3 if label == "l1" else 1e-5  # its kinks multiply rounding
    np.testing.assert_allclose(other.components_, one.components_, rtol=near, atol=1e-3 * near)
    assert np.allclose(other.transform(factor * X), factor * one.transform(X), rtol=1e-3)


@pytest.mark.parametrize("loss", ["kl", "itakura-saito", "l1", "huber"])
def test_gaps_are_filled(loss: str) -> None:
    rng = np.random.default_rng(8)
    clean = (0.1 + rng.random((150, 2))) @ (0.1 + rng.random((2, 12)))
    X = np.where(rng.random(clean.shape) < 0.25, np.nan, clean)
    model = DivergenceNMF(2, loss=loss, max_iter=2000, tol=1e-6, random_state=0).fit(X)
    error = np.abs(model.decompose(X).low_rank - clean)[np.isnan(X)]
    assert np.median(error) < 0.05 * clean.mean()


# --- Huber's loss ------------------------------------------------------------------------------


def test_huber_takes_its_knee_from_the_noise(planted: OutlierData) -> None:
    model = DivergenceNMF(3, loss="huber", random_state=0, keep_history=True).fit(planted.X)
    assert 0.01 < model.loss_.delta < 0.08
    found = model.decompose(planted.X)
    share = np.count_nonzero(found.outliers) / found.outliers.size
    assert model.outlier_share_ == pytest.approx(share, abs=0.05)
    assert 0.1 < model.outlier_share_ < 0.5
    error, noise = (np.mean((x - planted.clean) ** 2) for x in (found.low_rank, planted.X))
    assert error < 0.3 * noise


def test_a_given_knee_is_kept(planted: OutlierData) -> None:
    assert DivergenceNMF(3, loss=Huber(delta=0.3)).fit(planted.X).loss_ == Huber(delta=0.3)


def test_huber_scale_leaves_frozen_components_alone(planted: OutlierData) -> None:
    frozen = 2.0 * planted.components[:1]
    model = DivergenceNMF(3, loss="huber", frozen_components=frozen, random_state=0)
    assert np.array_equal(model.fit(planted.X).components_[:1], frozen)


@pytest.mark.parametrize("loss", ["kl", "l1", "l2"])
def test_other_losses_count_no_outliers(loss: str) -> None:
    assert DivergenceNMF(K, loss=loss, max_iter=5).fit(counts()).outlier_share_ == 0.0


# --- parameters --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"solver": "fast"}, ["solver", "'mu'", "'fast'", "Use one of"]),
        ({"max_iter": 0}, ["max_iter", "positive integer", "0", "1 or more"]),
        ({"n_components": 2.5}, ["n_components", "positive integer", "2.5"]),
        ({"tol": -1.0}, ["tol", "number of 0 or more", "-1.0"]),
        ({"loss": "kld"}, ["loss", "'kl'", "'kld'", "Use one of"]),
        ({"loss": 3}, ["loss", "name or an object", "3", "Use 'kl'"]),
        ({"init": "zeros"}, ["init", "'random'", "'zeros'"]),
        ({"init": np.ones((K, 2))}, ["init", "(3, 15)", "(3, 2)", "as rows"]),
        ({"constraint": Top(2)}, ["constraint", "box", "Top", "Use 'l2-ball'"]),
        ({"constraint": "ball"}, ["constraint", "'l2-ball'", "'ball'"]),
        ({"code_penalty": "simplex"}, ["penalty", "elastic net", "Simplex", "'l1'"]),
        (
            {"constraint": ElasticNetBall(), "code_penalty": "l1"},
            ["constraint", "simplex", "codes are penalised", "ElasticNetBall", "Use one"],
        ),
        ({"frozen_components": np.ones((4, F))}, ["frozen", "at most 3 rows", "(4, 15)"]),
    ],
    ids=str,
)
def test_bad_parameters(options: dict[str, Any], parts: list[str]) -> None:
    model = DivergenceNMF(**{"n_components": K, **options})
    with pytest.raises(ParameterError) as caught:
        model.fit(counts())
    message = str(caught.value)
    places = [message.find(part) for part in parts]
    assert -1 not in places, message
    assert places == sorted(places), message
    assert not hasattr(model, "components_")


def test_a_refit_forgets() -> None:
    X = counts()
    model = DivergenceNMF(K, loss="l1", random_state=0, keep_history=True).fit(2.0 * X)
    model.set_params(loss="kl", keep_history=False).fit(X)
    fresh = DivergenceNMF(K, random_state=0).fit(X)
    assert np.array_equal(model.components_, fresh.components_)
    assert not hasattr(model, "history_")


def test_callback_hears_each_round() -> None:
    records: list[Progress] = []
    model = DivergenceNMF(K, max_iter=12, random_state=0, callback=records.append).fit(counts())
    assert len(records) == model.n_iter_ == 12
    assert {p.n_samples_seen for p in records} == {N}
    silent = DivergenceNMF(K, max_iter=12, random_state=0).fit(counts())
    assert silent.objective_ == records[-1].objective
