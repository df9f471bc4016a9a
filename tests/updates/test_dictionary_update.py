"""The contract of all dictionary updates, and the surrogate against the loss of all samples.

Here are those of the model with outliers; those of a divergence have a contract of their own.
"""

from dataclasses import replace
from math import inf
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import reference
from thalweg import half_life, metrics
from thalweg._rooms import members
from thalweg.encoders import Codes
from thalweg.encoders.fast import Fast
from thalweg.errors import ParameterError
from thalweg.prox.box import Box
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.l1 import L1
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.solvers.admm import MatrixAdmm
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.solvers.projected_gradient import ProjectedGradient
from thalweg.updates import DictionaryUpdate
from thalweg.updates.surrogate import Statistics, Surrogate

Array = Any
F, K = 9, 4
WEIGHT = 0.2
NAMES = [
    n
    for n, cls in members("thalweg.updates").items()
    if hasattr(cls, "absorb") and not hasattr(cls(), "loss")
]
SOLVERS = [BlockCoordinate, MatrixAdmm, ProjectedGradient]
CONSTRAINTS = [
    cls for cls in (members("thalweg.prox")[n] for n in members("thalweg.prox"))
    if cls.convex and cls().value(np.full(3, 2.0)) == inf
] + [Orthant]  # fmt: skip
SIZES = [5, 1, 12, 3, 8]

every_update = pytest.mark.parametrize("name", NAMES)


def first(seed: int = 0, constraint: Any = None) -> Array:
    W = np.random.default_rng(seed).random((F, K))
    return (constraint or L2Ball()).prox(W)


def batches(sizes: list[int], seed: int = 1, scale: float = 1.0) -> list[Array]:
    """Return data of a dictionary that is not the first one, with noise and outliers."""
    rng = np.random.default_rng(seed)
    truth = np.abs(rng.normal(size=(F, K))) * (rng.random((F, K)) < 0.6)
    found = []
    for n in sizes:
        V = truth @ rng.random((K, n)) + 0.05 * rng.normal(size=(F, n))
        found.append(scale * (V + (rng.random((F, n)) < 0.1) * 2 * rng.random((F, n))))
    return found


def encode(V: Array, W: Array, observed: Array | None = None) -> Codes:
    return Fast(outliers=L1(WEIGHT), exit="gap", tol=1e-8).encode(V, W, observed=observed)


def keep(V: Array, codes: Codes) -> list[reference.Sample]:
    return [
        reference.Sample(*columns)
        for columns in zip(V.T, codes.H.T, codes.R.T, codes.cost, strict=True)
    ]


def test_the_room_is_complete() -> None:
    assert {"incremental", "surrogate"} <= set(NAMES)
    assert {c().name for c in CONSTRAINTS} == {
        "box", "elastic-net-ball", "l1-ball", "l2-ball", "nonnegative", "simplex",
    }  # fmt: skip


# --- the contract ------------------------------------------------------------------------------


@every_update
def test_follows_the_protocol(name: str) -> None:
    update = members("thalweg.updates")[name]()
    assert isinstance(update, DictionaryUpdate)
    assert update.name == name


@every_update
def test_each_step_lowers_its_objective(name: str) -> None:
    update = members("thalweg.updates")[name]()
    W = first()
    state = update.init(W)
    for V in batches(SIZES):
        codes = encode(V, W)
        before_W = W
        W, state = update.step(W, state, V, codes)
        assert update.objective(W, state) < update.objective(before_W, state)
        assert np.all(L2Ball().value(W) == 0)


@every_update
def test_inputs_are_not_modified(name: str) -> None:
    update = members("thalweg.updates")[name]()
    W = first()
    V = batches([10])[0]
    state = update.init(W)
    codes = encode(V, W)
    inputs = [W, V, *state, *codes]
    before = [x.copy() for x in inputs]
    new, after = update.step(W, state, V, codes)
    assert all(np.array_equal(x, y) for x, y in zip(inputs, before, strict=True))
    assert not np.shares_memory(new, W)
    again, same = update.step(W, state, V, codes)
    assert np.array_equal(new, again)
    assert all(np.array_equal(x, y) for x, y in zip(after, same, strict=True))


@every_update
@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_stays_float32(name: str, order: Any) -> None:
    update = members("thalweg.updates")[name]()
    if hasattr(update, "max_iter"):  # else rounding would decide when to stop
        update = replace(update, tol=-inf, max_iter=20)
    wide, W = first(), np.array(first(), dtype=np.float32, order=order)
    state, wide_state = update.init(W), update.init(wide)
    for V in batches(SIZES):
        narrow = np.array(V, dtype=np.float32, order=order)
        codes = Fast(outliers=L1(WEIGHT)).encode(narrow, W)
        W, state = update.step(W, state, narrow, codes)
        codes = Codes(*(x if x.dtype == bool else x.astype(np.float64) for x in codes))
        wide, wide_state = update.step(wide, wide_state, V, codes)
        assert W.dtype == np.float32
        assert state.A.dtype == state.B.dtype == np.float32
    np.testing.assert_allclose(W, wide, rtol=0, atol=1e-3)


@every_update
def test_an_empty_batch_changes_nothing(name: str) -> None:
    update = members("thalweg.updates")[name]()
    W = first()
    W, state = update.step(W, update.init(W), batches([10])[0], encode(batches([10])[0], W))
    empty = np.empty((F, 0))
    for start in (state, update.init(W)):
        new, after = update.step(W, start, empty, encode(empty, W))
        assert all(np.array_equal(x, y) for x, y in zip(start, after, strict=True))
        assert np.all(np.isfinite(new))
    np.testing.assert_array_equal(new, W)  # without statistics there is nothing to go by


# --- the surrogate of all samples --------------------------------------------------------------


@pytest.mark.parametrize("forgetting", [1.0, 0.99, 0.8])
@pytest.mark.parametrize("fade", [0.0, 0.5, 3.0])
def test_statistics_stand_for_all_samples(forgetting: float, fade: float) -> None:
    update = Surrogate(forgetting=forgetting, fade=fade)
    W = first()
    state = update.init(W)
    samples: list[reference.Sample] = []
    somewhere = first(7)
    for count, V in enumerate(batches(SIZES), start=1):
        codes = encode(V, W)
        W, state = update.step(W, state, V, codes)
        samples += keep(V, codes)
        weights = reference.sample_weights(SIZES[:count], forgetting, fade)
        for D in (W, somewhere):
            expected = reference.surrogate(D, samples, weights)
            assert update.objective(D, state) == pytest.approx(expected, rel=1e-11)
        assert state.weight == pytest.approx(weights.sum(), rel=1e-12)
        assert state.n_samples == len(samples)
        shares = weights / weights.sum()
        A = sum(w * np.outer(s.h, s.h) for w, s in zip(shares, samples, strict=True))
        B = sum(w * np.outer(s.v - s.r, s.h) for w, s in zip(shares, samples, strict=True))
        np.testing.assert_allclose(state.A, A, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(state.B, B, rtol=1e-11, atol=1e-14)


def test_weights_by_fading_are_powers_of_the_age() -> None:
    """With batches of one, sample i of t counts (i/t)^fade, as its documentation says."""
    for fade in (0.0, 0.7, 2.0):
        weights = reference.sample_weights([1] * 10, 1.0, fade)
        np.testing.assert_allclose(weights, (np.arange(1, 11) / 10) ** fade, rtol=1e-12)


def test_weights_by_forgetting_are_powers_of_the_factor() -> None:
    weights = reference.sample_weights([1] * 10, 0.9, 0.0)
    np.testing.assert_allclose(weights, 0.9 ** np.arange(9.0, -1.0, -1.0), rtol=1e-12)


def test_the_objective_is_the_metric() -> None:
    update = Surrogate()
    W = first()
    state = update.init(W)
    data, H, R = [], [], []
    for V in batches(SIZES):
        codes = encode(V, W)
        W, state = update.step(W, state, V, codes)
        data.append(V.T)
        H.append(codes.H.T)
        R.append(codes.R.T)
        expected = metrics.surrogate_loss(
            np.vstack(data), np.vstack(H), np.vstack(R), W.T, outlier_weight=WEIGHT
        )
        assert update.objective(W, state) == pytest.approx(expected, rel=1e-11)


def test_gaps_are_not_in_the_statistics() -> None:
    """The objective in W is the loss of the observed entries, plus a proximal term at gaps."""
    update = Surrogate()
    W = first()
    V = batches([40])[0]
    observed = np.random.default_rng(3).random(V.shape) < 0.7
    codes = encode(V, W, observed)
    state = update.absorb(update.init(W), V, codes)
    assert update.objective(W, state) == pytest.approx(codes.loss.mean(), rel=1e-11)

    def loss(D: Array) -> float:
        rest = np.where(observed, V - D @ codes.H - codes.R, 0.0)
        return float(np.mean(0.5 * np.sum(rest**2, axis=0) + codes.cost))

    rng = np.random.default_rng(4)
    for _ in range(20):
        D = L2Ball().prox(W + 0.3 * rng.normal(size=W.shape))
        assert update.objective(D, state) >= loss(D) - 1e-12
    new = update.minimise(W, state)
    assert loss(new) < loss(W)


# --- merging and forgetting --------------------------------------------------------------------


def equal(left: Statistics, right: Statistics, rtol: float = 1e-12) -> None:
    for field in Statistics._fields:
        np.testing.assert_allclose(
            getattr(left, field), getattr(right, field), rtol=rtol, atol=1e-14, err_msg=field
        )


@every_update
def test_merging_parts_is_seeing_all(name: str) -> None:
    """The dictionary is kept, so that both have the same codes."""
    update = members("thalweg.updates")[name]()
    W = first()
    whole, halves = update.init(W), [update.init(W), update.init(W)]
    for i, V in enumerate(batches(SIZES)):
        codes = encode(V, W)
        whole = update.absorb(whole, V, codes)
        halves[i % 2] = update.absorb(halves[i % 2], V, codes)
    equal(update.merge(halves), whole)
    equal(update.merge(halves[::-1]), whole)
    equal(update.merge([whole]), whole)
    equal(update.merge([whole, update.init(W)]), whole)
    np.testing.assert_allclose(
        update.minimise(W, update.merge(halves)), update.minimise(W, whole), rtol=0, atol=1e-10
    )


@every_update
def test_merging_nothing_is_nothing(name: str) -> None:
    update = members("thalweg.updates")[name]()
    W = first()
    equal(update.merge([update.init(W), update.init(W)]), update.init(W))


def test_batches_are_as_good_as_one_when_nothing_is_forgotten() -> None:
    update = Surrogate()
    W = first()
    parts = batches(SIZES)
    one = update.absorb(update.init(W), np.hstack(parts), encode(np.hstack(parts), W))
    many = update.init(W)
    for V in parts:
        many = update.absorb(many, V, encode(V, W))
    equal(many, one, rtol=1e-6)  # codes of a batch are exact to their own tolerance


@pytest.mark.parametrize("n", [1, 10, 1e6])
def test_half_life(n: float) -> None:
    assert half_life(n) ** n == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("n", [0, -1.0, float("nan")])
def test_half_life_needs_a_positive_number(n: float) -> None:
    with pytest.raises(ParameterError, match="n_samples must be a positive number"):
        half_life(n)


def test_forgetting_follows_a_change() -> None:
    old, new = batches([200], seed=1)[0], batches([200], seed=2)[0]
    errors = []
    for forgetting in (1.0, half_life(20)):
        update = Surrogate(forgetting=forgetting)
        W = first()
        state = update.init(W)
        for V in [*np.split(old, 20, axis=1), *np.split(new, 20, axis=1)]:
            W, state = update.step(W, state, V, encode(V, W))
        errors.append(encode(new, W).loss.mean())
    assert errors[1] < 0.9 * errors[0]


# --- constraints, penalties, frozen and dead atoms ---------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("constraint", [c() for c in CONSTRAINTS], ids=lambda g: g.name)
def test_every_solver_with_every_constraint(solver: Any, constraint: Any) -> None:
    update = Surrogate(solver=solver(), constraint=constraint)
    W = first(constraint=constraint)
    state = update.init(W)
    for V in batches(SIZES):
        before_W = W
        W, state = update.step(W, state, V, encode(V, W))
        assert np.all(constraint.value(W) == 0)
        assert update.objective(W, state) <= update.objective(before_W, state) + 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("l1", "l2"), [(0.05, 0.0), (0.0, 0.1), (0.03, 0.05)])
@pytest.mark.parametrize("constraint", [L2Ball(), Orthant(), Box(0.0, 0.3)], ids=repr)
def test_elastic_net_on_the_dictionary(solver: Any, l1: float, l2: float, constraint: Any) -> None:
    update = Surrogate(
        solver=solver(tol=1e-15, max_iter=50_000), constraint=constraint, l1=l1, l2=l2
    )
    W = first(constraint=constraint)
    V = batches([60])[0]
    codes = encode(V, W)
    state = update.absorb(update.init(W), V, codes)
    found = update.minimise(W, state)
    X = cp.Variable((F, K), nonneg=True)
    rest = cp.sum_squares(V - X @ codes.H - codes.R) / (2 * 60) + codes.cost.mean()
    limits = {"l2-ball": cp.norm(X, 2, axis=0) <= 1, "box": X <= 0.3}
    problem = cp.Problem(
        cp.Minimize(rest + l1 * cp.sum(X) + l2 / 2 * cp.sum_squares(X)),
        [limits[constraint.name]] if constraint.name in limits else [],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert update.objective(found, state) == pytest.approx(problem.value, rel=1e-7)
    assert np.all(constraint.value(found) == 0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_frozen_atoms_never_change(solver: Any) -> None:
    update = Surrogate(solver=solver(), frozen=2)
    W = first()
    W[:, 0] *= 3.0  # a given atom need not be in the set
    given = W[:, :2].copy()
    moving = W[:, 2:].copy()
    state = update.init(W)
    for V in batches(SIZES):
        before_W = W
        W, state = update.step(W, state, V, encode(V, W))
        assert np.array_equal(W[:, :2], given)
        assert update.objective(W, state) <= update.objective(before_W, state) + 1e-12
    assert np.abs(W[:, 2:] - moving).max() > 0.01


def one_atom_short() -> tuple[Array, Array, Codes]:
    """Return a dictionary that lacks a part of some samples, its last atom being of no use."""
    rng = np.random.default_rng(8)
    truth = np.zeros((F, K))
    for k in range(K):
        truth[2 * k : 2 * k + 2, k] = 1 / np.sqrt(2)
    H = 0.5 + rng.random((K, 30))
    H[-1] *= rng.random(30) < 0.3
    H[-1, 4] = 0.0
    V = truth @ H
    V[8, 4] += 50.0  # an outlier, in a sample that does not lack anything
    W, R = truth.copy(), np.zeros_like(V)
    W[:, -1] = H[-1] = 0.0
    R[8, 4] = 50.0 - 0.2  # as always, its weight is left
    left = V - W @ H - R
    cost = 0.2 * np.abs(R).sum(axis=0)
    return V, W, Codes(H, R, 0.5 * np.sum(left**2, axis=0) + cost, cost, np.ones(30, bool))


@pytest.mark.parametrize("constraint", [c() for c in CONSTRAINTS], ids=lambda g: g.name)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_dead_atom_is_replaced_by_a_large_residual(solver: Any, constraint: Any) -> None:
    V, W, codes = one_atom_short()
    update = Surrogate(solver=solver(), constraint=constraint)
    new, state = update.step(W, update.init(W), V, codes)
    atom = new[:, -1]
    assert np.all(constraint.value(new) == 0)
    np.testing.assert_allclose(atom[6], atom[7], rtol=1e-6)  # the part that was lacking
    assert atom[6] > 2 * atom[:6].max()
    assert atom[8] == atom.min(), "the atom was made of an outlier"
    assert not state.A[-1].any()
    assert not state.A[:, -1].any()
    assert not state.B[:, -1].any()
    # It is used from then on, and lives.
    codes = Fast(outliers=L1(0.2)).encode(V, new)
    assert np.sum(codes.H[-1] > 0.1) >= 5
    _, state = update.step(new, state, V, codes)
    assert state.A[-1, -1] > 0


def test_dead_atoms_of_their_own_are_told_from_frozen_ones() -> None:
    V, W, codes = one_atom_short()
    W = W[:, ::-1].copy()
    codes = codes._replace(H=codes.H[::-1].copy())
    new, _ = Surrogate(frozen=1).step(W, Surrogate().init(W), V, codes)
    assert not new[:, 0].any(), "a frozen atom was replaced"


def test_without_large_residuals_a_dead_atom_is_kept() -> None:
    rng = np.random.default_rng(9)
    W = first()
    H = rng.random((K, 20))
    H[-1] = 0.0
    V = W @ H
    codes = Codes(H, np.zeros_like(V), np.zeros(20), np.zeros(20), np.ones(20, bool))
    new, state = Surrogate().step(W, Surrogate().init(W), V, codes)
    np.testing.assert_allclose(new[:, -1], W[:, -1], rtol=0, atol=1e-12)
    assert np.isfinite(Surrogate().objective(new, state))


def test_more_dead_atoms_than_bad_samples() -> None:
    rng = np.random.default_rng(10)
    V = rng.random((F, 2))
    W = np.zeros((F, K))
    W[0, 0] = 1.0
    codes = Fast(outliers=L1(10.0)).encode(V, W)
    new, _ = Surrogate().step(W, Surrogate().init(W), V, codes)
    assert np.sum(new[:, 1:].any(axis=0)) == 2
    assert np.all(L2Ball().value(new) == 0)
    assert np.all(np.isfinite(new))


def test_all_atoms_are_replaced_if_all_are_dead() -> None:
    V = np.random.default_rng(11).random((F, 20))
    W = np.zeros((F, K))
    update = Surrogate()
    new, state = update.step(W, update.init(W), V, encode(V, W))
    assert new.any(axis=0).all()
    codes = encode(V, new)
    assert np.sum(codes.loss) < 0.5 * np.sum(encode(V, W).loss)
    assert update.step(new, state, V, codes)[1].A.any()


def test_data_of_zeros() -> None:
    W = first()
    update = Surrogate()
    state = update.init(W)
    for _ in range(3):
        V = np.zeros((F, 5))
        new, state = update.step(W, state, V, encode(V, W))
        assert np.array_equal(new, W)
    assert state.weight == 15
    # ... and then something is observed.
    V = batches([20])[0]
    new, state = update.step(W, state, V, encode(V, W))
    assert np.all(np.isfinite(new))
    assert np.abs(new - W).max() > 0.01


@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_dictionary_does_not_depend_on_units(solver: Any, size: float) -> None:
    ends = []
    for scale in (1.0, size):
        update = Surrogate(solver=solver())
        W = first()
        state = update.init(W)
        for V in batches(SIZES, scale=scale):
            codes = Fast(outliers=L1(WEIGHT * scale), exit="gap", tol=1e-8).encode(V, W)
            W, state = update.step(W, state, V, codes)
        ends.append(W)
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-7)


def test_penalties_of_codes_are_in_the_constant() -> None:
    penalty = ElasticNet(0.1, 0.2, nonnegative=True)
    W = first()
    V = batches([30])[0]
    codes = Fast(outliers=L1(WEIGHT), penalty=penalty, exit="gap", tol=1e-8).encode(V, W)
    update = Surrogate()
    state = update.absorb(update.init(W), V, codes)
    assert update.objective(W, state) == pytest.approx(codes.loss.mean(), rel=1e-11)
    assert penalty.value(codes.H).mean() > 0.01
