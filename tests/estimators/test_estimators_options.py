"""Each parameter does what its name says, online and batch."""

from typing import Any

import numpy as np
import pytest

from thalweg import RobustNMF, RobustOnlineNMF, half_life
from thalweg._rooms import members
from thalweg._typing import Array
from thalweg.metrics import outlier_scores
from thalweg.prox.box import Box
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.elastic_net_ball import ElasticNetBall
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.l1_ball import L1Ball
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.prox.sparse_group_lasso import SparseGroupLasso
from thalweg.prox.squared_l2 import SquaredL2
from thalweg.synthetic import OutlierData

CONSTRAINTS: list[Any] = [
    "nonnegative",
    "l2-ball",
    "l1-ball",
    "simplex",
    "elastic-net-ball",
    "box",
    Orthant(),
    L2Ball(3.0),
    L1Ball(0.5),
    Simplex(2.0),
    ElasticNetBall(),
    Box(0.0, 0.2),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_components_keep_to_their_set(make_robust: Any, X: Array, constraint: Any) -> None:
    known = members("thalweg.prox")
    g = known[constraint]() if isinstance(constraint, str) else constraint
    model = make_robust(constraint=constraint).fit(X)
    W = model.components_.T
    assert np.array_equal(g.value(W), np.zeros(3))
    assert np.allclose(g.prox(W), W, atol=1e-9)
    # and they are of use: far better than no component at all
    assert model.score(X) > 0.7 * np.mean(-np.sum(X**2, axis=1) / 2)


@pytest.mark.parametrize("constraint", ["simplex", "l1-ball"])
def test_sums_of_components(make_robust: Any, X: Array, constraint: str) -> None:
    sums = make_robust(constraint=constraint).fit(X).components_.sum(axis=1)
    if constraint == "simplex":
        assert np.allclose(sums, 1.0)
    else:
        assert np.all(sums <= 1.0 + 1e-12)


def test_a_constraint_that_binds_costs(make_fast: Any, X: Array) -> None:
    """A box that is too narrow for the truth cannot explain it with few codes."""
    free = make_fast(constraint="nonnegative", outlier_weight=0.1).fit(X)
    tied = make_fast(constraint=Box(0.2, 0.3), outlier_weight=0.1).fit(X)
    assert tied.score(X) < free.score(X)
    assert np.all((tied.components_ >= 0.2) & (tied.components_ <= 0.3))


PENALTIES: list[Any] = [
    "l1",
    "l2",
    "elastic-net",
    "group-lasso",
    "sparse-group-lasso",
    L1(0.2),
    SquaredL2(0.2),
    ElasticNet(0.1, 0.1),
    GroupLasso(0.1, ["a", "a", "b"]),
    SparseGroupLasso(groups=["a", "a", "b"]),
]


def test_code_penalties_shrink(make_robust: Any, X: Array) -> None:
    plain = make_robust(outlier_weight=0.1).fit(X)
    total, score = plain.transform(X).sum(), plain.score(X)
    for penalty in PENALTIES:
        shrunk = make_robust(outlier_weight=0.1, code_penalty=penalty).fit(X)
        codes = shrunk.transform(X)
        assert np.all(codes >= 0), penalty
        assert codes.sum() < total, penalty
        assert shrunk.score(X) < score, penalty  # the penalty is part of the loss


def test_l1_makes_sparse_codes(make_robust: Any, X: Array) -> None:
    share = [
        np.mean(
            make_robust(6, outlier_weight=0.1, code_penalty=penalty)
            .fit(X)
            .set_params(solver="fast", tol=1e-6)  # the others stop before codes come to zero
            .transform(X)
            > 1e-6
        )
        for penalty in (None, L1(0.3))
    ]
    assert share[1] < share[0] - 0.1


def test_dictionary_penalties_shrink(make_robust: Any, X: Array) -> None:
    plain = make_robust(outlier_weight=0.1).fit(X)
    named = ["l1", "l2", "elastic-net"]
    for penalty in [*named, L1(0.02), SquaredL2(0.5), ElasticNet(0.01, 0.2)]:
        shrunk = make_robust(outlier_weight=0.1, dictionary_penalty=penalty).fit(X)
        assert np.all(np.isfinite(shrunk.components_)), penalty
        assert shrunk.components_.sum() < plain.components_.sum(), penalty
        assert np.all(shrunk.components_ >= 0), penalty


@pytest.mark.parametrize("penalty", [SquaredL2(0.05), ElasticNet(0.002, 0.05)], ids=str)
def test_solvers_mean_the_same_penalty(X: Array, penalty: Any) -> None:
    """The penalty belongs to the mean loss, whatever the solver and the number of samples."""
    for data in (X, np.vstack([X, X, X])):
        sizes = [
            np.linalg.norm(
                RobustNMF(
                    3,
                    solver=solver,
                    outlier_weight=0.1,
                    dictionary_penalty=penalty,
                    code_penalty=SquaredL2(0.05),  # or codes would grow as components shrink
                    max_iter=1000,
                    tol=1e-6,
                    random_state=0,
                )
                .fit(data)
                .components_
            )
            for solver in ("fast", "pgd", "admm")
        ]
        assert np.ptp(sizes) < 0.02 * np.mean(sizes)


@pytest.mark.parametrize("solver", ["fast", "pgd", "admm"])
def test_a_name_is_its_object(solver: str, X: Array) -> None:
    for parameter, name, thing in [
        ("constraint", "simplex", Simplex()),
        ("code_penalty", "l1", L1()),
        ("dictionary_penalty", "elastic-net", ElasticNet()),
    ]:
        pair = [
            RobustOnlineNMF(3, solver=solver, random_state=0, **{parameter: spec}).fit(X)
            for spec in (name, thing)
        ]
        assert np.array_equal(pair[0].components_, pair[1].components_)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_frozen_components_stay_and_come_first(
    make_robust: Any, planted: OutlierData, count: int
) -> None:
    frozen = planted.components[:count]  # longer than the ball allows, and kept as they are
    model = make_robust(frozen_components=frozen).fit(planted.X)
    assert np.array_equal(model.components_[:count], frozen)
    start = make_robust(frozen_components=frozen, init=np.ones((3, 20))).fit(planted.X)
    assert np.array_equal(start.components_[:count], frozen)
    if hasattr(model, "partial_fit"):
        model.partial_fit(planted.X)
        assert np.array_equal(model.components_[:count], frozen)


def test_frozen_truth_leaves_nothing_to_learn(make_robust: Any, planted: OutlierData) -> None:
    model = make_robust(frozen_components=planted.components).fit(planted.X)
    assert np.array_equal(model.components_, planted.components)


def test_a_frozen_component_helps(make_fast: Any, planted: OutlierData) -> None:
    """With one atom given, two remain to be found for two."""
    model = make_fast(frozen_components=planted.components[:1], outlier_weight=0.1)
    score = model.fit(planted.X).score(planted.X)
    alone = make_fast(1, frozen_components=planted.components[:1], outlier_weight=0.1)
    assert score > 0.7 * alone.fit(planted.X).score(planted.X)


def test_outlier_sign(make_robust: Any, X: Array) -> None:
    free = make_robust(outlier_weight=0.1).fit(X).decompose(X).outliers
    tied = make_robust(outlier_weight=0.1, outlier_sign="nonnegative").fit(X).decompose(X).outliers
    assert free.min() < -0.05
    assert tied.min() >= 0
    assert tied.max() > 0.1


@pytest.mark.parametrize("bound", [0.05, 0.3])
def test_outlier_bound(make_robust: Any, X: Array, bound: float) -> None:
    free = make_robust(outlier_weight=0.1).fit(X).decompose(X).outliers
    tied = make_robust(outlier_weight=0.1, outlier_bound=bound).fit(X).decompose(X).outliers
    assert np.abs(free).max() > 0.4
    assert np.abs(tied).max() <= bound * (1 + 1e-12)
    assert np.count_nonzero(np.isclose(np.abs(tied), bound)) > 10


@pytest.mark.parametrize("solver", ["fast", "pgd", "admm"])
@pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF])
def test_whole_samples_that_do_not_belong(cls: Any, solver: str, plant: Any) -> None:
    rng = np.random.default_rng(0)
    data = plant(300, 30, 3, seed=1)
    X = np.clip(data.clean + 0.01 * rng.normal(size=data.clean.shape), 0, None)
    strange = rng.permutation(300)[:30]
    X[strange] = rng.random((30, 30)) * (rng.random((30, 30)) < 0.3)
    model = cls(3, solver=solver, outlier_structure="samples", outlier_weight=0.05, random_state=0)
    if cls is RobustOnlineNMF:
        model.set_params(epochs=3)
    outliers = model.fit(X).decompose(X).outliers
    rows = np.linalg.norm(outliers, axis=1)
    truth = np.isin(np.arange(300), strange)
    assert rows[truth].min() > 0
    # whole rows or nothing: a sample that is none of them has no outlier at all
    assert np.count_nonzero(rows[~truth]) < 15
    scores = outlier_scores(truth, rows > 0.3 * np.median(rows[truth]))
    assert scores.f1 > 0.95


def test_automatic_weight_with_whole_samples(make_robust: Any, X: Array) -> None:
    model = make_robust(outlier_structure="samples").fit(X)
    rows = np.count_nonzero(model.decompose(X).outliers, axis=1)
    assert np.all((rows == 0) | (rows > 10))
    assert model.outlier_weight_ > 0


@pytest.mark.parametrize("solver", ["fast", "pgd", "admm"])
def test_forgetting_tracks_a_change(solver: str, plant: Any) -> None:
    """After a change of the subspace a short memory is nearer to what is there now."""
    before, after = plant(1500, 25, 3, seed=1), plant(500, 25, 3, seed=2)
    scores = {}
    for forgetting in (1.0, half_life(100)):
        model = RobustOnlineNMF(
            3, solver=solver, outlier_weight=0.1, forgetting=forgetting, random_state=0
        )
        for data in (before, after):
            for start in range(0, len(data.X), 20):
                model.partial_fit(data.X[start : start + 20])
        scores[forgetting] = model.score(after.X)
    assert scores[half_life(100)] > 0.9 * scores[1.0]  # scores are negative


def test_forgetting_nothing_is_no_forgetting(X: Array) -> None:
    one, other = (
        RobustOnlineNMF(3, forgetting=f, random_state=0).fit(X) for f in (1.0, 1.0 - 1e-12)
    )
    assert np.allclose(one.components_, other.components_, atol=1e-6)


def test_more_epochs_do_not_harm(X: Array) -> None:
    losses = [
        RobustOnlineNMF(3, outlier_weight=0.1, epochs=e, random_state=0).fit(X).score(X)
        for e in (1, 10)
    ]
    assert losses[1] > losses[0]


def test_tol_is_accuracy(make_robust: Any, X: Array) -> None:
    model = make_robust(outlier_weight=0.1).fit(X)
    scores = [model.set_params(tol=tol).score(X) for tol in (1e-1, 1e-3, 1e-8)]
    assert scores[0] <= scores[1] <= scores[2]
    assert scores[0] < scores[2]


def test_batch_sizes_of_its_own(make_nmf_streaming: Any) -> None:
    rng = np.random.default_rng(0)
    diverging = make_nmf_streaming.cls.__name__ == "OnlineNMF"  # each batch costs more
    counts = [(5, 1), (100, 4), (2000, 63)] if diverging else [(5, 1), (100, 13), (2000, 200)]
    for n, batches in counts:
        assert make_nmf_streaming().fit(rng.random((n, 4))).n_batches_seen_ == batches


def test_max_iter_is_a_cap(X: Array) -> None:
    for solver in ("fast", "pgd", "admm"):
        assert RobustNMF(3, solver=solver, max_iter=4, random_state=0).fit(X).n_iter_ == 4
        loose, tight = (
            RobustNMF(3, solver=solver, tol=tol, random_state=0, max_iter=500).fit(X)
            for tol in (1e-2, 1e-4)
        )
        assert loose.n_iter_ < tight.n_iter_
        assert tight.objective_ < loose.objective_
