"""A start is put into the set in one way, whichever method begins with it."""

from typing import Any

import numpy as np
import pytest
from benchmarks.cases.approximation import or_nmf
from benchmarks.shared.examples import example

from thalweg import (
    ORNMF,
    DivergenceNMF,
    OnlineFactorization,
    OnlineNMF,
    RobustNMF,
    RobustOnlineNMF,
    baselines,
)
from thalweg._typing import Array
from thalweg.estimators.validation import check_data
from thalweg.learning.batches import as_batch
from thalweg.prox.box import Box
from thalweg.prox.elastic_net_ball import ElasticNetBall
from thalweg.prox.l1_ball import L1Ball
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.updates.atom_replacement import WorstResiduals, replace_atoms
from thalweg.updates.atom_scaling import scale_into
from thalweg.updates.cao_onmf import CaoONMF
from thalweg.updates.incremental import Incremental
from thalweg.updates.multiplicative import Multiplicative
from thalweg.updates.robust_approximation import RobustApproximation
from thalweg.updates.subgradient import Subgradient
from thalweg.updates.surrogate import Surrogate

F, K = 30, 4
BALLS = [L1Ball(), L1Ball(4.0), L2Ball(), L2Ball(0.5), ElasticNetBall(), ElasticNetBall(0.1, 3.0)]
SIMPLICES = [Simplex(), Simplex(40.0)]
SETS = [*BALLS, *SIMPLICES, Box(), Orthant()]
UPDATES = (Surrogate, Multiplicative, CaoONMF, Incremental, Subgradient, RobustApproximation)
every_set = pytest.mark.parametrize("constraint", SETS, ids=repr)


def given() -> Array:
    """Return components outside of most sets, one of them inside of all balls; with zeros."""
    rows = np.random.default_rng(3).random((K, F)) * (np.random.default_rng(4).random((K, F)) > 0.3)
    rows[0] *= 1e-3
    return rows


def data() -> Array:
    return np.random.default_rng(5).random((20, F)) + 0.1


def begun(model: Any, X: Array | None = None) -> Array:
    """Return the components that a method begins with."""
    X = check_data(model, data() if X is None else X, reset=True)
    learner, rng = model.make_learner(), np.random.default_rng(0)
    if hasattr(learner, "learn"):
        state = learner.init(as_batch(X), learner.form(X), rng)
    elif isinstance(model, DivergenceNMF):
        state = learner.init(as_batch(X), learner.model.form(X), rng)
    else:
        state = learner.init(as_batch(X), rng)
    W: Array = state.W
    return W.T


def bisected(w: Array, constraint: Any) -> Array:
    """Return the largest multiple of w, but none above 1, that is in a ball."""
    if constraint.value(w) == 0.0:
        return w
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if constraint.value(middle * w) == 0.0 else (low, middle)
    return low * w


def expected(rows: Array, constraint: Any) -> Array:
    if constraint in SIMPLICES:
        return rows * (constraint.total / rows.sum(axis=1, keepdims=True))
    if isinstance(constraint, Box):
        return rows.clip(0.0, 1.0)
    return np.stack([bisected(row, constraint) for row in rows])


def methods(constraint: Any) -> list[Any]:
    options = {"constraint": constraint, "init": given(), "random_state": 0}
    robust = [
        cls(K, solver=solver, **options)
        for cls in (RobustOnlineNMF, RobustNMF)
        for solver in ("fast", "pgd", "admm")
    ]
    # these losses bear zeros
    online = [OnlineNMF(K, loss="squared", solver=s, **options) for s in ("fast", "mu", "spsgd")]
    others = [DivergenceNMF(K, loss="squared", **options), ORNMF(K, **options)]
    if isinstance(constraint, Orthant):
        others.pop()  # it needs bounds
    composed = [
        OnlineFactorization(K, update=update(constraint=constraint), init=given())
        for update in UPDATES
        if not (update is RobustApproximation and isinstance(constraint, Orthant))
    ]
    return [*robust, *online, *others, *composed]


@every_set
def test_every_method_begins_at_the_same_point(constraint: Any) -> None:
    wanted = expected(given(), constraint)
    assert (constraint.value(wanted.T) == 0.0).all()
    for model in methods(constraint):
        np.testing.assert_allclose(begun(model), wanted, rtol=1e-12, err_msg=repr(model))


def test_baselines_begin_at_the_same_point() -> None:
    names = ("ONMF", "INMF", "INMFVC", "OMF", "OMFDA", "OLGuan", "OLLef")
    rows = given() + 0.01  # divergences raise zeros
    for name in names:
        model = getattr(baselines, name)(K, init=rows)
        np.testing.assert_allclose(
            begun(model), expected(rows, Simplex()), rtol=1e-12, err_msg=name
        )
    np.testing.assert_array_equal(begun(baselines.OLWang(K, init=rows)), rows)  # of the orthant


@pytest.mark.parametrize("name", ["or_nmf", "recognition", "annotation"])
def test_methods_of_a_comparison_begin_at_the_given_point(name: str) -> None:
    """The cases and examples of [R] hand all methods one point of the simplex."""
    rows = or_nmf.on_the_simplex(np.random.default_rng(7), K, F)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    if name == "or_nmf":
        models = [m for loss in or_nmf.STARTS for m in or_nmf._models(K, 20, loss).values()]
    else:
        pytest.importorskip("matplotlib", reason="the examples draw")
        models = [make(K, 20) for make in example(name).METHODS.values()]
    compared = [model for model in models if hasattr(model, "make_learner")]  # PCA has no start
    assert len(compared) >= 7
    for model in compared:
        found = begun(model.set_params(init=rows))
        np.testing.assert_allclose(found, rows, rtol=1e-12, err_msg=repr(model))


@pytest.mark.parametrize("constraint", ["simplex", "l1-ball", "l2-ball", "elastic-net-ball"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_drawn_starts_have_no_zeros(constraint: str, dtype: str) -> None:
    X = data().astype(dtype)
    for cls in (RobustOnlineNMF, RobustNMF, OnlineNMF, DivergenceNMF, ORNMF):
        for init in ("random", "samples"):
            W = begun(cls(K, constraint=constraint, init=init), X)
            assert (W > 0.0).all()
            assert W.dtype == dtype
    for init in ("svd", "auto"):
        assert (begun(OnlineNMF(K, constraint=constraint, init=init), X) > 0.0).all()


@pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF, OnlineNMF, DivergenceNMF, ORNMF])
def test_frozen_components_are_not_scaled(cls: Any) -> None:
    frozen = 5.0 * data()[:2]
    W = begun(cls(K, constraint="simplex", frozen_components=frozen, init=given() + 0.01))
    np.testing.assert_array_equal(W[:2], frozen)
    np.testing.assert_allclose(W[2:], expected(given() + 0.01, Simplex())[2:], rtol=1e-10)


def test_columns_that_cannot_be_scaled_are_projected() -> None:
    W = np.array([[0.0, 2.0, 5e-324], [0.0, 6.0, 0.0]])
    np.testing.assert_array_equal(scale_into(W, Simplex()), [[0.5, 0.25, 1.0], [0.5, 0.75, 0.0]])
    np.testing.assert_array_equal(scale_into(W[:, :1], L1Ball()), W[:, :1])
    huge = np.full((2, 1), 1.5e308)
    np.testing.assert_allclose(scale_into(huge, Simplex()).ravel(), [0.5, 0.5])
    np.testing.assert_allclose(scale_into(huge, L1Ball()).ravel(), [0.5, 0.5])


def test_a_revived_atom_is_scaled_too() -> None:
    left = np.random.default_rng(6).normal(size=(F, 1))
    W = np.zeros((F, 1))
    worst = [WorstResiduals(np.ones(1), left)]
    new, _ = replace_atoms(W, Surrogate().init(W), [0], worst, Simplex())
    rest = np.maximum(left, 0.0)
    np.testing.assert_allclose(new, rest / rest.sum(), rtol=1e-12)
