"""Sparse archetypal NMF: toy problems of [A], options, errors, selection, sign splitting."""

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from thalweg import SignSplitter, SparseArchetypalNMF, metrics, select, select_weight
from thalweg._typing import Array
from thalweg.archetypes import DataMatrix, Problem, State
from thalweg.archetypes.block_descent import stationarity
from thalweg.errors import InputError, ParameterError
from thalweg.synthetic import archetypal_mixtures


@pytest.fixture(scope="module", name="X")
def _data() -> Array:
    return archetypal_mixtures(60, 40, 4, noise=0.02, spread=0.3, random_state=0).X


@pytest.fixture(scope="module")
def model(X: Array) -> SparseArchetypalNMF:
    return SparseArchetypalNMF(4, sparsity=0.7, random_state=0).fit(X)


def test_the_result_is_feasible_and_stationary(X: Array, model: SparseArchetypalNMF) -> None:
    H, W, T = model.components_, model.membership_, model.hull_weights_
    assert np.count_nonzero(H) <= 112
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    np.testing.assert_allclose(T.sum(axis=1), 1.0)
    by_hand = np.sum((X - W @ H) ** 2) + np.sum((H - T @ X) ** 2)
    assert model.objective_ == pytest.approx(by_hand, rel=1e-6)
    assert stationarity(Problem(DataMatrix.of(X), 1.0, 112), State(H, W, T)) < 1e-4
    assert model.stationarity_ < 1e-4


def test_labels_and_codes(X: Array, model: SparseArchetypalNMF) -> None:
    nearest = [np.argmin(np.sum((x - model.components_) ** 2, axis=1)) for x in X]
    np.testing.assert_array_equal(model.labels_, nearest)
    codes = model.transform(X)
    np.testing.assert_allclose(
        codes @ model.components_, model.membership_ @ model.components_, atol=1e-6
    )
    squares = np.sum((X - codes @ model.components_) ** 2, axis=1)
    np.testing.assert_allclose(model.score_samples(X), -squares)
    assert squares.sum() == pytest.approx(metrics.hull_distance(X, model.components_))
    assert not model.decompose(X).outliers.any()


def test_auto_is_at_or_below_every_single_init(X: Array, model: SparseArchetypalNMF) -> None:
    assert len(model.init_objectives_) == 5
    for init in ("projections", "robust-projections", "zero", "samples", "random"):
        single = SparseArchetypalNMF(4, sparsity=0.7, init=init, random_state=0).fit(X)
        assert single.objective_ == pytest.approx(model.init_objectives_[init])
        assert model.objective_ <= single.objective_ * (1 + 1e-9)
    for options in ({"local_search": False}, {"continuation_steps": 1}, {"init": X[:4]}):
        other = SparseArchetypalNMF(
            4, sparsity=0.7, random_state=0, support_relaxations=0, **options
        ).fit(X)
        assert model.objective_ <= other.objective_ * (1 + 1e-6)


def test_mip_respects_time_limit_and_sparsity(X: Array) -> None:
    found = SparseArchetypalNMF(3, sparsity=60, init="mip", mip_time=1.0, random_state=0).fit(X)
    assert np.count_nonzero(found.components_) <= 60
    assert found.init_ == "mip"
    assert found.objective_ < SparseArchetypalNMF(1, sparsity=20).fit(X).objective_


def test_the_path_ends_at_the_result(model: SparseArchetypalNMF) -> None:
    weights = [stop.weight for stop in model.path_]
    assert (weights[0], weights[7]) == (30.0, 1.0)
    assert np.all(np.diff(weights) <= 0)
    assert np.array_equal(model.path_[-1].components, model.components_)
    assert model.path_[-1].objective == pytest.approx(model.objective_)


def test_local_search_swaps_nonzeros(X: Array) -> None:
    options: dict[str, Any] = {"sparsity": 0.5, "init": "projections"}
    plain = SparseArchetypalNMF(4, local_search=False, **options).fit(X)
    searched = SparseArchetypalNMF(4, **options).fit(X)
    assert plain.n_swaps_ == 0
    assert searched.n_swaps_ > 0
    assert searched.objective_ < plain.objective_


@pytest.mark.parametrize(("given", "count"), [(0.5, 80), (17, 17), (1.0, 160), (1, 1)])
def test_sparsity_is_a_number_or_a_share(X: Array, given: Any, count: int) -> None:
    found = SparseArchetypalNMF(4, sparsity=given, init="projections", continuation_steps=2).fit(X)
    assert np.count_nonzero(found.components_) <= count
    if count < 160:
        assert np.count_nonzero(found.components_) == count


def test_weight_moves_archetypes_between_fit_and_hull(X: Array) -> None:
    fits, distances = [], []
    for weight in (0.0, 0.1, 1.0, 30.0):
        H = SparseArchetypalNMF(4, weight=weight, init="projections").fit(X).components_
        fits.append(metrics.hull_distance(X, H))
        distances.append(metrics.hull_distance(H, X))
    assert np.all(np.diff(fits) > 0)
    assert np.all(np.diff(distances) < 0)


def test_results_do_not_depend_on_units(X: Array) -> None:
    one = SparseArchetypalNMF(3, sparsity=0.6, init="projections", continuation_steps=3).fit(X)
    other = SparseArchetypalNMF(3, sparsity=0.6, init="projections", continuation_steps=3).fit(
        2.0**20 * X
    )
    np.testing.assert_array_equal(other.components_, 2.0**20 * one.components_)
    assert other.objective_ == pytest.approx(2.0**40 * one.objective_)


def test_sparse_data_in_blocks(monkeypatch: pytest.MonkeyPatch, X: Array) -> None:
    monkeypatch.setattr("thalweg.archetypes.data_matrix._BLOCK_ENTRIES", 400)
    thin = np.where(X > 0.4, X, 0.0)
    options: dict[str, Any] = {"sparsity": 0.5, "init": "projections", "continuation_steps": 2}
    dense = SparseArchetypalNMF(3, **options).fit(thin)
    found = SparseArchetypalNMF(3, **options).fit(sparse.csr_array(thin))
    assert found.objective_ == pytest.approx(dense.objective_, rel=0.05)
    assert found.score(sparse.csr_array(thin)) == pytest.approx(found.score(thin))


def test_missing_entries_are_imputed_better_than_by_means(X: Array) -> None:
    gaps = np.random.default_rng(0).random(X.shape) < 0.15
    incomplete = np.where(gaps, np.nan, X)
    found = SparseArchetypalNMF(4, init="projections").fit(incomplete)
    filled = found.decompose(incomplete).low_rank
    mean = np.broadcast_to(np.nanmean(incomplete, axis=0), X.shape)
    assert np.mean((filled - X)[gaps] ** 2) < 0.5 * np.mean((mean - X)[gaps] ** 2)


def test_memory_is_linear_in_the_data() -> None:
    """No matrix of samples by samples is formed."""
    X = np.random.default_rng(0).random((6000, 30))
    model = SparseArchetypalNMF(
        3, sparsity=0.5, init="projections", continuation_steps=2, max_iter=3
    )
    model.fit(X[:50])
    tracemalloc.start()
    try:
        model.fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * X.nbytes < 0.1 * 8 * 6000**2


BAD = [
    *(("sparsity", s, ["sparsity", "share above 0", "160", f"got {s!r}", "nonzeros"])
      for s in (0, -1, 161, 0.0, 1.5, np.nan, "few", True)),
    *(("weight", w, ["weight", "0 or more", repr(w), "select_weight"])
      for w in (-1.0, np.inf, np.nan, "big")),
    ("init", "zeros", ["init", "'projections'", "'zeros'", "Use one of"]),
    ("init", np.ones((4, 3)), ["init", "(4, 40)", "(4, 3)", "as rows"]),
    ("init", -np.ones((4, 40)), ["init", "nonnegative", "as rows"]),
    *(("continuation_steps", c, ["continuation_steps", "positive integer", repr(c)])
      for c in (0, 1.5)),
    *(("support_relaxations", w, ["support_relaxations", "0 or more", repr(w)]) for w in (-1, 0.5)),
    *(("swap_trials", t, ["swap_trials", "0 or more", repr(t)]) for t in (-1, 0.5, True, None)),
    ("mip_time", 0.0, ["mip_time", "above 0"]),
    ("tol", -1.0, ["tol", "0 or more", "-1.0"]),
    ("max_iter", 0, ["max_iter", "positive integer"]),
    ("n_components", 0, ["n_components", "positive integer"]),
    ("n_components", 61, ["n_components", "n_samples = 60", "61", "use fewer"]),
]  # fmt: skip


@pytest.mark.parametrize(("parameter", "value", "parts"), BAD, ids=lambda v: repr(v)[:30])
def test_bad_parameters(X: Array, parameter: str, value: Any, parts: list[str]) -> None:
    model = SparseArchetypalNMF(**{"n_components": 4, parameter: value})
    with pytest.raises(ParameterError) as caught:
        model.fit(X)
    places = [str(caught.value).find(part) for part in parts]
    assert -1 not in places, str(caught.value)
    assert places == sorted(places)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("options", [{}, {"init": "auto"}, {"weight": None, "alpha": 0.01}])
def test_a_fit_that_stops_at_max_iter_warns(X: Array, options: dict[str, Any]) -> None:
    model = SparseArchetypalNMF(
        4, **{"init": "samples", "max_iter": 2, "random_state": 0, **options}
    )
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=2 iterations") as caught:
        model.fit(X)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(tol=0).fit(X)


def test_a_tolerance_of_zero_runs_to_max_iter(X: Array) -> None:
    options: dict[str, Any] = {"init": "projections", "continuation_steps": 1, "max_iter": 40}
    model = SparseArchetypalNMF(2, tol=0, **options).fit(X)
    assert model.n_iter_ == 40
    assert SparseArchetypalNMF(2, tol=0.1, **options).fit(X).n_iter_ < 40


def test_a_converged_fit_does_not_warn(X: Array) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseArchetypalNMF(4, sparsity=0.7, random_state=0).fit(X)
        SparseArchetypalNMF(4, weight=None, alpha=1.0, init="projections").fit(X)


def test_negative_data_raise_and_can_be_split() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6))
    with pytest.raises(InputError, match="split them into positive and negative parts"):
        SparseArchetypalNMF(2).fit(X)
    pipe = make_pipeline(
        SignSplitter(), SparseArchetypalNMF(2, init="projections", continuation_steps=2)
    ).fit(X)
    back = pipe[0].inverse_transform(pipe[-1].components_)
    assert back.shape == (2, 6)
    assert (back < 0).any()


# --- the toys of [A] ---------------------------------------------------------------------------


def test_the_triangle_of_5_1_3_has_the_right_zeros() -> None:
    """Sparse archetypes of (0,0), (0,1), (1,0): one nonzero in each of two columns."""
    for seed, weight in enumerate((0.1, 1.0)):
        rng = np.random.default_rng(seed)
        codes = rng.random((200, 3))
        clean = codes / codes.sum(axis=1, keepdims=True) @ np.array([[0, 0], [0, 1.0], [1.0, 0]])
        X = np.maximum(clean + 0.02 * rng.normal(size=clean.shape), 0.0)
        found = SparseArchetypalNMF(3, sparsity=2, weight=weight, random_state=0).fit(X)
        H = found.components_[np.lexsort(found.components_.T)]
        np.testing.assert_array_equal(H > 0, [[False, False], [True, False], [False, True]])
        dense = SparseArchetypalNMF(3, weight=weight, init="projections").fit(X).components_
        assert np.count_nonzero(dense) > 2


def test_the_separable_triangle_of_figure_1() -> None:
    H0 = np.array([[0.15, 0.15], [0.1, 0.7], [0.7, 0.1]])
    rng = np.random.default_rng(0)
    codes = rng.random((50, 3))
    X = np.vstack([codes / codes.sum(axis=1, keepdims=True) @ H0, H0])
    found = SparseArchetypalNMF(3, weight=1.0, tol=1e-7, random_state=0).fit(X)
    assert metrics.robustness(H0, found.components_).strong < 1e-3
    H1 = np.array([[0.05, 0.05], [1.0, 0.1], [0.1, 1.0]])
    assert metrics.hull_distance(X, H1) == pytest.approx(0.0, abs=1e-12)
    assert metrics.hull_distance(H1, X) > 0.1
    sparse_one = SparseArchetypalNMF(3, sparsity=2, weight=1e-3, random_state=0).fit(X)
    # the smallest triangle with two nonzeros that holds the data, by a grid of its legs
    legs = np.sort(sparse_one.components_.max(axis=1))[1:]
    np.testing.assert_allclose(legs, 0.8, atol=0.02)


def test_weak_is_not_strong_in_example_2() -> None:
    """L(H0, H) stays bounded where L(H, H0) grows without bound."""
    H0, weak, strong = np.eye(2), [], []
    for theta in (0.3, 0.6, 0.75, 0.78):
        x = 1 - np.sin(theta) / (np.sqrt(2) * np.sin(theta + np.pi / 4))
        H = np.array([[0.0, x * np.tan(theta + np.pi / 4)], [x, 0.0]])
        weak.append(metrics.archetype_distance(H0, H))
        strong.append(metrics.archetype_distance(H, H0))
    assert max(weak) <= 4.0
    assert np.all(np.diff(strong) > 0)
    assert strong[-1] > 1e3


def test_theorems_1_and_2_hold() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        H0, H = rng.random((3, 5)), 2 * rng.random((3, 5))
        W0 = rng.dirichlet(np.ones(3), 20)
        b = max(np.sum((p - q) ** 2) for p in H0 for q in H0)
        back, forth = metrics.archetype_distance(H, H0), metrics.archetype_distance(H0, H)
        assert forth <= 2 * 3 * b + 2 * back
        limit = min(np.sqrt(forth), 3 * np.linalg.norm(H0) + np.sqrt(back))
        assert np.sqrt(metrics.hull_distance(W0 @ H0, H)) <= np.sqrt(20) * limit


def test_archetypes_of_faces_are_near_faces(shared_data: Any) -> None:
    """[A] 5.2: with the weight they look like faces, which is to be near the hull of them."""
    with np.load(shared_data("orl_32x32.npz"), allow_pickle=False) as data:
        X = data["images"].reshape(400, -1)[:, ::4] / 255.0
    distances = []
    for weight in (0.0, 0.4):
        model = SparseArchetypalNMF(
            10, weight=weight, sparsity=0.4, init="projections", continuation_steps=3, max_iter=40
        ).fit(X)
        assert np.count_nonzero(model.components_) == 0.4 * 10 * X.shape[1]
        distances.append(metrics.hull_distance(model.components_, X))
    assert distances[1] < 0.7 * distances[0]


# --- selection and splitting --------------------------------------------------------------------


def test_select_weight_has_the_losses_of_folds_by_hand(X: Array) -> None:
    base = SparseArchetypalNMF(3, init="projections", continuation_steps=2)
    found = select_weight(base, X, [0.1, 3.0], folds=3, random_state=1)
    assert found.losses.shape == found.errors.shape == (2,)
    assert found.best == (0.1, 3.0)[int(np.argmin(found.losses))]
    least = np.argmin(found.losses)
    near = np.array([0.1, 3.0])[found.losses <= found.losses[least] + found.errors[least]]
    assert found.chosen == near.max()
    assert not hasattr(base, "components_")
    again = select(base, X, "weight", [0.1, 3.0], folds=3, simplest="largest", random_state=1)
    np.testing.assert_array_equal(again.losses, found.losses)


def test_select_finds_rank_by_the_same_loss() -> None:
    X = archetypal_mixtures(90, 30, 3, spread=0.3, noise=0.01, random_state=1).X
    base = SparseArchetypalNMF(init="projections", continuation_steps=2)
    assert select(base, X, "n_components", [1, 2, 3, 5], folds=3).chosen == 3
    thin = select(base.set_params(n_components=3), X, "sparsity", [0.2, 0.8, 1.0], folds=3)
    assert thin.chosen == 0.8


def test_select_rejects_invalid_arguments(X: Array) -> None:
    with pytest.raises(ParameterError, match="one or more values"):
        select_weight(SparseArchetypalNMF(2), X, [])
    with pytest.raises(InputError, match="between 2 and the number of samples, 60"):
        select_weight(SparseArchetypalNMF(2), X, [1.0], folds=61)
    with pytest.raises(ParameterError, match="simplest"):
        select(SparseArchetypalNMF(2), X, "weight", [1.0], simplest="none")


@pytest.mark.parametrize(
    "estimator",
    [
        SignSplitter(),
        SparseArchetypalNMF(2, continuation_steps=2, max_iter=5, sparsity=0.8),
        SparseArchetypalNMF(2, weight=None, alpha=0.5, init="projections", max_iter=5),
    ],
    ids=["splitter", "penalised", "constrained"],
)
def test_scikit_learn_s_checks(estimator: Any) -> None:
    """With the default init; the contract tests use another one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(estimator, on_fail="raise")
    assert len(results) > 30


def test_splitter_and_its_inverse() -> None:
    X = np.array([[1.0, -2.0], [0.0, np.nan]])
    split = SignSplitter().fit(X)
    parts = split.transform(X)
    np.testing.assert_array_equal(parts, [[1, 0, 0, 2], [0, np.nan, 0, np.nan]])
    np.testing.assert_array_equal(split.inverse_transform(parts), X)
    thin = split.transform(sparse.csr_array(np.nan_to_num(X)))
    assert sparse.issparse(thin)
    np.testing.assert_array_equal(thin.toarray(), np.nan_to_num(parts))
    assert list(split.get_feature_names_out()) == ["x0_above", "x1_above", "x0_below", "x1_below"]
