"""A round over blocks equals an iteration of ``fit`` if the update uses only sums over samples."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from closeness import relative
from thalweg import (
    ORNMF,
    DivergenceNMF,
    OnlineNMF,
    RobustNMF,
    RobustOnlineNMF,
    SparseArchetypalNMF,
    distributed,
)
from thalweg._typing import Array
from thalweg.encoders import Codes
from thalweg.encoders.subgradient import Subgradient as Encoder
from thalweg.estimators import Progress
from thalweg.prox.l1 import L1
from thalweg.updates.subgradient import Subgradient

EXACT = 1e-10


def assert_same(found: Any, expected: Any) -> None:
    assert relative(found.components_, expected.components_) < EXACT
    assert abs(found.objective_ - expected.objective_) < EXACT * abs(expected.objective_)
    assert abs(found.outlier_share_ - expected.outlier_share_) < EXACT
    assert found.n_samples_seen_ == expected.n_samples_seen_
    assert found.n_features_in_ == expected.n_features_in_


STREAMING = [
    RobustOnlineNMF(3, outlier_weight=0.1),
    RobustOnlineNMF(3, outlier_weight=0.1, forgetting=0.99, epochs=2),
    RobustOnlineNMF(3, outlier_weight=0.1, solver="pgd", dictionary_penalty="l1"),
    RobustOnlineNMF(3, outlier_weight=0.1, solver="admm", outlier_structure="samples"),
    OnlineNMF(3, loss="kl"),
    OnlineNMF(3, loss="itakura-saito", constraint="simplex"),
    OnlineNMF(3, loss="squared-l2", code_penalty=L1(0.1)),
    OnlineNMF(3, loss="kl", solver="mu", forgetting=0.99, epochs=2),
]


@pytest.mark.parametrize("model", STREAMING, ids=repr)
def test_a_round_is_a_batch(model: Any, counts: Array) -> None:
    found, alone = (clone(model).set_params(random_state=0) for _ in range(2))
    alone.set_params(batch_size=100, shuffle=False).fit(counts)
    assert_same(distributed.fit(found, counts, block_size=25, blocks_per_round=4), alone)
    for one, other in zip(found.statistics_, alone.statistics_, strict=True):
        assert relative(one, other) < EXACT


@pytest.mark.parametrize("model", [STREAMING[0], STREAMING[4]], ids=repr)
def test_a_round_is_a_batch_with_gaps(model: Any, counts: Array) -> None:
    X = np.where(np.random.default_rng(1).random(counts.shape) < 0.1, np.nan, counts)
    found, alone = (clone(model).set_params(random_state=0) for _ in range(2))
    alone.set_params(batch_size=100, shuffle=False).fit(X)
    distributed.fit(found, X, block_size=25, blocks_per_round=4)
    assert_same(found, alone)


@pytest.mark.parametrize("model", [STREAMING[0], STREAMING[4]], ids=repr)
def test_gaps_are_filled_as_by_a_streaming_fit(model: Any, counts: Array) -> None:
    X = np.where(np.random.default_rng(1).random(counts.shape) < 0.4, np.nan, counts)
    found, near, alone = (clone(model).set_params(random_state=0) for _ in range(3))
    alone.set_params(batch_size=100, shuffle=False).fit(X)
    distributed.fit(found, X, block_size=100, blocks_per_round=1)
    assert relative(found.code_prior_.squares, alone.code_prior_.squares) < EXACT
    assert relative(found.fill(X), alone.fill(X)) < 1e-6
    # each block estimates its own scale
    distributed.fit(near, X, block_size=25, blocks_per_round=4)
    assert relative(near.code_prior_.squares, alone.code_prior_.squares) < 0.1
    assert relative(near.fill(X), alone.fill(X)) < 0.05


@pytest.mark.parametrize("cls", [RobustNMF, DivergenceNMF])
def test_gaps_are_filled_as_by_fit(cls: Any, counts: Array) -> None:
    X = np.where(np.random.default_rng(1).random(counts.shape) < 0.4, np.nan, counts)
    alone, found = (cls(3, max_iter=10, random_state=0) for _ in range(2))
    filled = alone.fit(X).fill(X)
    assert relative(distributed.fit(found, X, block_size=70).fill(X), filled) < 1e-4
    assert relative(filled, np.where(np.isnan(X), alone.decompose(X).low_rank, X)) > 1e-3


def test_a_gradient_is_averaged_over_blocks(counts: Array) -> None:
    update, W = Subgradient(), np.random.default_rng(0).random((counts.shape[1], 3))
    V = counts[:200].T
    codes = Encoder().encode(V, W)
    whole = update.summarise(W, V, codes)
    cuts = [slice(0, 30), slice(30, 120), slice(120, 200)]
    parts = [
        update.summarise(W, V[:, cut], Codes(*(field[..., cut] for field in codes))) for cut in cuts
    ]
    merged = update.merge(parts)
    assert relative(merged.G, whole.G) < 1e-13
    assert relative(merged.objective, whole.objective) < 1e-13
    assert merged.n_samples == whole.n_samples == 200
    # each block estimates its own typical curvature
    assert 1e-9 < relative(merged.expected, whole.expected) < 0.05


@pytest.mark.parametrize("constraint", [None, "simplex"])
def test_projected_subgradients_agree_with_one_block(constraint: Any, counts: Array) -> None:
    settings: Any = {"solver": "spsgd", "constraint": constraint, "random_state": 0}
    alone = OnlineNMF(3, batch_size=100, shuffle=False, **settings).fit(counts)
    found = distributed.fit(OnlineNMF(3, **settings), counts, block_size=25, blocks_per_round=4)
    assert relative(found.components_, alone.components_) < 1e-2
    assert abs(found.objective_ - alone.objective_) < 1e-2 * alone.objective_


def test_a_dead_atom_is_revived_by_the_worst_sample_of_all_blocks(mixed: Array) -> None:
    init = np.random.default_rng(0).random((4, mixed.shape[1]))
    init[2] = 0.0  # no sample can use it
    settings = {"init": init, "outlier_weight": 1.0, "random_state": 0}
    alone = RobustOnlineNMF(4, batch_size=200, shuffle=False, **settings).fit(mixed)
    found = RobustOnlineNMF(4, **settings)
    distributed.fit(found, mixed, block_size=50, blocks_per_round=4)
    assert found.components_[2].any()
    assert_same(found, alone)
    batch, blocks = (RobustNMF(4, max_iter=8, **settings) for _ in range(2))
    assert_same(distributed.fit(blocks, mixed, block_size=70), batch.fit(mixed))
    assert blocks.components_[2].any()


@pytest.mark.parametrize("size", [50, 200])
def test_a_round_of_or_nmf_is_a_window(size: int, counts: Array) -> None:
    settings = {"window": 100, "buffer_size": size, "random_state": 0}
    alone = ORNMF(3, batch_size=100, shuffle=False, **settings).fit(counts)
    found = distributed.fit(ORNMF(3, **settings), counts, block_size=25, blocks_per_round=4)
    if size == 200:  # the buffer holds all samples of every block
        assert_same(found, alone)
    assert found.statistics_.V.shape[1] == size
    assert found.statistics_.n_windows == 4
    assert found.statistics_.n_samples == len(counts)


BATCH = [
    RobustNMF(3, outlier_weight=0.1),
    RobustNMF(3),
    RobustNMF(3, solver="pgd", dictionary_penalty="l2"),
    RobustNMF(3, solver="admm", outlier_structure="samples"),
    RobustNMF(3, init="samples", code_penalty=L1(0.01)),
]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("model", BATCH, ids=repr)
def test_robust_nmf_agrees_with_fit(model: Any, gaps: bool, mixed: Array, gappy: Array) -> None:
    X = gappy if gaps else mixed
    found, alone = (clone(model).set_params(random_state=0, max_iter=14) for _ in range(2))
    assert_same(distributed.fit(found, X, block_size=130), alone.fit(X))
    assert found.n_iter_ == alone.n_iter_
    assert abs(found.outlier_weight_ - alone.outlier_weight_) < EXACT * alone.outlier_weight_


def test_robust_nmf_converges_as_in_fit(mixed: Array) -> None:
    found, alone = (RobustNMF(3, tol=1e-3, random_state=0) for _ in range(2))
    assert_same(distributed.fit(found, mixed, block_size=130), alone.fit(mixed))
    assert found.n_iter_ == alone.n_iter_ < 200


@pytest.mark.parametrize("loss", ["kl", "itakura-saito", "huber", "squared-l2", "l1", "l2"])
def test_divergence_nmf_agrees_with_fit(loss: str, counts: Array) -> None:
    found, alone = (DivergenceNMF(3, loss=loss, max_iter=22, random_state=0) for _ in range(2))
    assert_same(distributed.fit(found, counts, block_size=130), alone.fit(counts))
    assert found.n_iter_ == alone.n_iter_


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_blocks_with_and_without_gaps_add_up(loss: str, counts: Array) -> None:
    X = counts.copy()
    X[:100][np.random.default_rng(1).random((100, X.shape[1])) < 0.2] = np.nan
    found, alone = (DivergenceNMF(3, loss=loss, max_iter=12, random_state=0) for _ in range(2))
    assert_same(distributed.fit(found, X, block_size=130), alone.fit(X))


def test_divergence_nmf_of_sparse_counts() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 60), density=0.05, rng=rng, format="csr")
    X.data = np.ceil(5 * X.data)
    settings: Any = {"code_penalty": "l1", "max_iter": 12, "random_state": 0}
    found, alone = (DivergenceNMF(4, **settings) for _ in range(2))
    assert_same(distributed.fit(found, X, block_size=80), alone.fit(X))
    assert found.sparse_


@pytest.mark.parametrize("init", ["projections", "random", "zero"])
def test_archetypes_agree_with_fit(init: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.full(3, 0.3), 1200) @ rng.random((3, 6)) + 0.01 * rng.random((1200, 6))
    settings: Any = {
        "init": init,
        "sparsity": 14,
        "continuation_steps": 1,
        "max_iter": 15,
        "random_state": 0,
    }
    found, alone = (SparseArchetypalNMF(3, **settings) for _ in range(2))
    distributed.fit(found, X, block_size=250)
    alone.fit(X)
    assert found.n_iter_ == alone.n_iter_
    assert relative(found.components_, alone.components_) < 1e-9
    assert relative(found.membership_, alone.membership_) < 1e-7
    assert abs(found.objective_ - alone.objective_) < EXACT * alone.objective_
    assert (found.labels_ == alone.labels_).all()


def test_float32_stays_float32(mixed: Array) -> None:
    archetypes = SparseArchetypalNMF(3, init="zero", continuation_steps=1, max_iter=3)
    for model in (RobustOnlineNMF(3), RobustNMF(3, max_iter=3), archetypes):
        distributed.fit(model.set_params(random_state=0), mixed.astype(np.float32), block_size=100)
        assert model.components_.dtype == np.float32


def test_the_result_does_not_depend_on_the_size_of_the_blocks(mixed: Array) -> None:
    found = [
        distributed.fit(
            RobustOnlineNMF(3, outlier_weight=0.1, random_state=0),
            mixed,
            block_size=size,
            blocks_per_round=120 // size,
        )
        for size in (20, 40, 120)
    ]
    for other in found[1:]:
        assert_same(other, found[0])


@pytest.mark.parametrize(
    "model",
    [
        RobustNMF(3, max_iter=3),
        DivergenceNMF(3, max_iter=3),
        SparseArchetypalNMF(3, init="zero", continuation_steps=1, max_iter=2),
    ],
)
def test_a_batch_fit_that_stops_at_max_iter_warns(model: Any, mixed: Array) -> None:
    model.set_params(tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter") as caught:
        distributed.fit(model, mixed, block_size=100)
    assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        distributed.fit(model.set_params(tol=0.0), mixed, block_size=100)
        if not isinstance(model, SparseArchetypalNMF):
            distributed.fit(model.set_params(tol=1e-12), mixed, block_size=100, rounds=2)
            assert model.n_iter_ == 2


@pytest.mark.parametrize(
    ("model", "rounds"),
    [(RobustOnlineNMF(3), 7), (RobustNMF(3), 4), (DivergenceNMF(3), 4), (ORNMF(3), 7)],
)
def test_rounds_are_counted_and_reported(model: Any, rounds: int, mixed: Array) -> None:
    told, own = list[Progress](), list[Progress]()
    model = clone(model).set_params(random_state=0, callback=own.append, keep_history=True)
    distributed.fit(
        model, mixed, block_size=100, blocks_per_round=2, rounds=rounds, callback=told.append
    )
    assert told == own == model.history_
    assert len(told) == rounds
    assert told[-1].objective == model.objective_
    if rounds == 7:  # three rounds are one pass
        assert [one.n_samples_seen for one in told] == [200 * i for i in range(1, 8)]
        assert told[0].n_samples_total == 1400


@pytest.mark.parametrize(
    "model",
    [
        RobustOnlineNMF("auto", random_state=0),
        OnlineNMF("auto", random_state=0),
        RobustNMF("auto", max_iter=3, tol=0.0, random_state=0),
        DivergenceNMF("auto", max_iter=3, tol=0.0, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_number_of_components_is_found_from_the_first_rows(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(1.0, 1.0, (600, 3)) @ rng.gamma(0.5, 40.0, (3, 40))) * 1.0
    found = distributed.fit(clone(model), X, block_size=100)
    assert found.n_components_ == found.rank_evidence_.chosen == 3
    assert found.components_.shape == (3, 40)


def test_the_number_of_archetypes_is_found_from_the_first_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.full(3, 0.3), 300) @ rng.gamma(0.7, 1.0, (3, 20))
    X += 0.1 * X.std() * rng.random(X.shape)
    model = SparseArchetypalNMF("auto", init="projections", max_iter=20, random_state=0)
    found = distributed.fit(model, X, block_size=100)
    assert found.n_components_ == found.rank_evidence_.chosen == 3
    assert found.components_.shape == (3, 20)
