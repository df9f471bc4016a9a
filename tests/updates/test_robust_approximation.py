"""[R] Algorithm 2 against its transcription, its rate, its buffer, and the misprints."""

from math import sqrt
from typing import Any

import numpy as np
import pytest

import reference
from thalweg.divergences.beta import Beta
from thalweg.divergences.huber import Huber
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.divergences.kl import KL
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders import Codes
from thalweg.encoders.fast import Fast
from thalweg.encoders.newton import Newton
from thalweg.errors import ParameterError
from thalweg.prox import EntrywiseBox
from thalweg.prox.box import Box
from thalweg.prox.elastic_net_ball import ElasticNetBall
from thalweg.prox.l1 import L1
from thalweg.prox.l1_ball import L1Ball
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.updates import DictionaryUpdate
from thalweg.updates._bounded_set import diameter
from thalweg.updates.robust_approximation import Buffer, RobustApproximation, step_factor

Array = Any
F, K, N = 9, 4, 15
SETS = [
    Simplex(), L1Ball(0.7), L2Ball(0.5), ElasticNetBall(1.0, 2.0), Box(0.01, 0.4),
    Box(0.0, np.linspace(0.1, 0.5, F)),
    EntrywiseBox(*np.sort(np.random.default_rng(5).random((2, F, K)), axis=0)),
]  # fmt: skip
LOSSES = [SquaredL2(), KL(), ItakuraSaito(), Beta(1.5)]
PLAIN = Fast(outliers=L1(1e30))


def data(seed: int = 0, n: int = N) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    V = rng.gamma(1.0, 1.0, (F, K)) @ rng.gamma(1.0, 1.0, (K, n)) * rng.gamma(20.0, 0.05, (F, n))
    return V + 0.05, rng.random((F, K)) + 0.05


def encode(loss: Any, V: Array, W: Array, observed: Array | None = None) -> Codes:
    if isinstance(loss, SquaredL2):
        return PLAIN.encode(V, W, observed=observed)
    return Newton(loss, tol=1e-6).encode(V, W, observed=observed)


def stop(averages: list[Array], least: int, tol: float) -> int:
    """Return the first step at which (9) holds, after a minimum number of steps."""
    for k in range(least, len(averages)):
        change = np.linalg.norm(averages[k] - averages[k - 1])
        if change <= tol * np.linalg.norm(averages[k - 1]):
            return k
    raise AssertionError("the transcription did not go far enough")


# --- Algorithm 2 -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "gaps"), [*((c, False) for c in SETS), (Simplex(), True)], ids=repr
)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_step_is_the_transcription(constraint: Any, loss: Any, gaps: bool) -> None:
    V, W = data()
    W = np.asfortranarray(constraint.prox(W))
    observed = np.random.default_rng(3).random(V.shape) < 0.8 if gaps else None
    update = RobustApproximation(
        loss=loss, constraint=constraint, tol=5e-3, seed=11, l1=0.02, l2=0.1
    )
    codes = encode(loss, V, W, observed)
    new, state = update.step(W, update.init(W), V, codes, observed)

    def gradient(W: Array, v: Array, h: Array) -> Array:
        i = int(np.flatnonzero((v[:, None] == V).all(axis=0))[0])
        p = W @ h if isinstance(loss, SquaredL2) else np.maximum(W @ h, 0.1 * v)
        e = loss.grad(v[:, None], p[:, None])[:, 0]
        if observed is not None:
            e = np.where(observed[:, i], e, 0.0)
        return np.outer(e, h) + 0.02 + 0.1 * W

    order, seed = reference.random_permutation(N, 11)
    span = step_factor(1, None) * diameter(constraint, F, K)
    averages, bound = reference.robust_approximation(
        V, codes.H, W, order, 0.0, span, gradient, constraint.prox, 500
    )
    steps = stop(averages, N, 5e-3)
    np.testing.assert_allclose(new, averages[steps], rtol=0, atol=1e-9)
    assert int(state.seed[0]) == seed
    _, bound = reference.robust_approximation(
        V, codes.H, W, order, 0.0, span, gradient, constraint.prox, steps
    )
    assert float(state.bound) == pytest.approx(bound, rel=1e-9)
    assert np.all(constraint.value(new) == 0.0)
    assert np.abs(new - W).max() > 1e-3


def test_the_printed_stop_learns_nothing() -> None:
    """The first average is the start, so (9) holds at the first step whatever the data are."""
    V, W = data(1)
    W = Simplex().prox(W)
    H = encode(SquaredL2(), V, W).H
    averages, _ = reference.robust_approximation(
        V, H, W, list(range(N)), 0.0, 0.1, lambda W, v, h: np.outer(W @ h - v, h), Simplex().prox, 2
    )
    np.testing.assert_allclose(averages[1], W, atol=1e-15)
    assert stop(averages, 1, 1e-12) == 1
    assert np.abs(averages[2] - W).max() > 1e-4


def test_the_bound_is_the_largest_gradient_of_the_whole_stream() -> None:
    V, W = data(2, n=40)
    W = Simplex().prox(W)
    update = RobustApproximation(buffer_size=5)
    state, bounds = update.init(W), []
    for i in range(40):
        v = V[:, i : i + 1] * (10.0 if i == 3 else 1.0)
        W, state = update.step(W, state, v, encode(SquaredL2(), v, W))
        bounds.append(float(state.bound))
    assert np.all(np.diff(bounds) >= 0.0)
    assert bounds[-1] == bounds[10], "the sample that left the buffer was forgotten"


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (Simplex(), sqrt(2 * K)),
        (Simplex(3.0), 3 * sqrt(2 * K)),
        (L1Ball(2.0), 2 * sqrt(2 * K)),
        (L2Ball(0.5), 0.5 * sqrt(2 * K)),
        (Box(0.25, 0.75), 0.5 * sqrt(F * K)),
        (Box(0.0, np.arange(F) + 1.0), sqrt(K * np.sum((np.arange(F) + 1.0) ** 2))),
        (EntrywiseBox(np.zeros((F, K)), np.tri(F, K)), sqrt(np.tri(F, K).sum())),
    ],
    ids=repr,
)
def test_diameters(constraint: Any, expected: float) -> None:
    """[R] prints sqrt(2) r; no two points are farther apart than this, and some are that far."""
    span = diameter(constraint, F, K)
    assert span == pytest.approx(expected, rel=1e-12)
    far = [constraint.prox(np.roll(np.eye(F), s, axis=1)[:, :K] * 1e6) for s in (0, 1)]
    if constraint.name in ("box", "entrywise-box"):
        far = [constraint.prox(np.full((F, K), s)) for s in (-1e6, 1e6)]
    assert np.linalg.norm(far[0] - far[1]) == pytest.approx(span, rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(200):
        one, two = (constraint.prox(rng.normal(scale=3.0, size=(F, K))) for _ in range(2))
        assert np.linalg.norm(one - two) <= span * (1 + 1e-12)


def test_the_elastic_net_ball_has_a_diameter() -> None:
    g = ElasticNetBall(1.0, 2.0)
    far = [g.prox(1e6 * np.eye(F)[:, [i]]) for i in (0, 1)]
    assert np.linalg.norm(far[0] - far[1]) == pytest.approx(diameter(g, F, 1), rel=1e-9)


# --- the rate ----------------------------------------------------------------------------------


def fixed_buffer(seed: int) -> tuple[RobustApproximation, Array, Buffer, float]:
    """Return a buffer whose samples no dictionary explains, and the least objective."""
    rng = np.random.default_rng(seed)
    V, W = rng.random((F, N)), Simplex().prox(rng.random((F, K)))
    codes = PLAIN.encode(V, W)
    update = RobustApproximation(tol=1e-300, max_steps=2)
    state = update.absorb(update.init(W), V, codes)
    A, B = codes.H @ codes.H.T / N, V @ codes.H.T / N
    best, _ = BlockCoordinate(tol=1e-14, max_iter=20_000).solve(
        A, B, W, Simplex(), np.ones(K, bool), float(np.sum(V**2)) / (2 * N)
    )
    return update, W, state, update.objective(best, state)


def test_the_gap_falls_like_one_over_the_root_of_the_steps() -> None:
    """Nemirovski et al. (2009), (2.21) with these rates, and the slope in a log-log plot."""
    counts = np.array([30, 100, 300, 1000, 3000, 10_000, 30_000])
    gaps = np.zeros((6, counts.size))
    for seed in range(6):
        update, W, state, least = fixed_buffer(seed)
        theta, span = step_factor(1, None), diameter(Simplex(), F, K)
        for j, k in enumerate(counts):
            capped = RobustApproximation(tol=1e-300, max_steps=int(k))
            average, after = capped.minimise(W, state)
            gaps[seed, j] = update.objective(average, after) - least
            rates = theta * span / np.sqrt(np.arange(1, k + 1))  # in units of 1 / M
            bound = float(after.bound) * (span**2 + np.sum(rates**2)) / (2 * np.sum(rates))
            assert 0.0 <= gaps[seed, j] <= bound
    slope = np.polyfit(np.log(counts), np.log(gaps.mean(axis=0)), 1)[0]
    assert slope < -0.45


# --- the buffer --------------------------------------------------------------------------------


def run(update: RobustApproximation, V: Array, W: Array, size: int = 1) -> tuple[Array, Buffer]:
    state = update.init(W)
    for start in range(0, V.shape[1], size):
        part = V[:, start : start + size]
        W, state = update.step(W, state, part, encode(update.loss, part, W))
    return W, state


def test_the_buffer_holds_the_latest_samples() -> None:
    V, W = data(4, n=30)
    W = Simplex().prox(W)
    _, state = run(RobustApproximation(buffer_size=7), V, W)
    np.testing.assert_array_equal(state.V, V[:, -7:])
    assert state.H.shape == (K, 7)
    assert state.cost.shape == (7,)
    assert (state.n_samples, state.n_windows) == (30, 30)
    _, state = run(RobustApproximation(buffer_size=7), V, W, size=4)
    np.testing.assert_array_equal(state.V, V[:, -7:])
    assert (state.n_samples, state.n_windows) == (30, 8)


def test_a_buffer_that_is_never_full_is_algorithm_1() -> None:
    V, W = data(5, n=25)
    W = Simplex().prox(W)
    ends = [run(RobustApproximation(buffer_size=size), V, W) for size in (None, 25, 10_000)]
    for W_end, state in ends[1:]:
        assert np.array_equal(W_end, ends[0][0])
        assert all(map(np.array_equal, state, ends[0][1]))
    assert not np.array_equal(run(RobustApproximation(buffer_size=10), V, W)[0], ends[0][0])


def test_gaps_and_outliers_in_the_buffer() -> None:
    V, W = data(6)
    V[2, 3] += 100.0
    observed = np.random.default_rng(1).random(V.shape) < 0.8
    observed[2, 3] = True
    codes = Fast(outliers=L1(0.5)).encode(V, W, observed=observed)
    update = RobustApproximation(constraint=L2Ball(2.0))
    state = update.absorb(update.init(W), V, codes, observed)
    np.testing.assert_array_equal(np.isnan(state.V), ~observed)
    assert state.V[2, 3] < V[2, 3] - 90.0
    assert update.objective(W, state) == pytest.approx(codes.loss.mean(), rel=1e-9)
    garbage = np.where(observed, V, 1e6)
    again = update.absorb(
        update.init(W), garbage, codes._replace(R=codes.R + garbage - V), observed
    )
    np.testing.assert_allclose(again.V, state.V, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_objective_is_the_loss_of_the_buffer(loss: Any) -> None:
    V, W = data(7)
    codes = encode(loss, V, W)
    update = RobustApproximation(loss=loss, l1=0.3, l2=0.2)
    state = update.absorb(update.init(W), V, codes)
    penalty = 0.3 * W.sum() + 0.1 * np.sum(W**2)
    assert update.objective(W, state) == pytest.approx(codes.loss.mean() + penalty, rel=1e-8)
    assert RobustApproximation().objective(W, update.init(W)) == 0.0


# --- the contract ------------------------------------------------------------------------------


def test_follows_the_protocol_and_does_not_modify_inputs() -> None:
    update = RobustApproximation()
    assert isinstance(update, DictionaryUpdate)
    V, W = data(8)
    W = Simplex().prox(W)
    codes = encode(SquaredL2(), V, W)
    _, state = update.step(W, update.init(W), V, codes)
    before = [x.copy() for x in (W, V, *state, *codes)]
    new, after = update.step(W, state, V, codes)
    assert all(map(np.array_equal, (W, V, *state, *codes), before))
    again, same = update.step(W, state, V, codes)
    assert np.array_equal(new, again)
    assert all(map(np.array_equal, after, same))
    assert all(isinstance(part, np.ndarray) for part in after)
    empty, unchanged = update.step(W, state, V[:, :0], encode(SquaredL2(), V[:, :0], W))
    assert empty is W
    assert unchanged is state


@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_stays_float32(order: Any) -> None:
    V, W = data(9)
    W = Simplex().prox(W)
    update = RobustApproximation()
    wide = run(update, V, W)[0]
    narrow, state = run(update, np.array(V, np.float32, order=order), W.astype(np.float32))
    assert {x.dtype for x in (narrow, state.V, state.H, state.cost)} == {np.dtype(np.float32)}
    assert np.all(Simplex().value(narrow) == 0.0)
    np.testing.assert_allclose(narrow, wide, rtol=0, atol=5e-3)


@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_results_do_not_depend_on_units(loss: Any, size: float) -> None:
    V, W = data(10)
    W = Simplex().prox(W)
    ends = [run(RobustApproximation(loss=loss), scale * V, W)[0] for scale in (1.0, size)]
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-6)


def test_frozen_atoms_never_change() -> None:
    V, W = data(11)
    W = Simplex().prox(W)
    W[:, 0] *= 3.0  # initial columns may be infeasible
    new, _ = run(RobustApproximation(frozen=1, l2=0.1), V, W)
    assert np.array_equal(new[:, 0], W[:, 0])
    assert np.abs(new[:, 1:] - W[:, 1:]).max() > 0.01
    assert diameter(Simplex(), F, K, frozen=1) == pytest.approx(sqrt(2 * (K - 1)))
    wide = EntrywiseBox(np.zeros((F, K)), np.eye(F, K))
    assert diameter(wide, F, K, frozen=1) == pytest.approx(sqrt(K - 1))


def test_merging_takes_the_latest_of_each() -> None:
    V, W = data(12, n=40)
    W = Simplex().prox(W)
    update = RobustApproximation(buffer_size=10)
    states = [run(update, part, W)[1] for part in (V[:, :20], 3.0 * V[:, 20:])]
    both = update.merge(states)
    np.testing.assert_array_equal(both.V, np.hstack([V[:, 15:20], 3.0 * V[:, 35:]]))
    assert both.bound == max(s.bound for s in states)
    assert (both.n_samples, both.n_windows) == (40, 40)
    whole = RobustApproximation(buffer_size=None)
    states = [run(whole, part, W)[1] for part in (V[:, :20], V[:, 20:])]
    np.testing.assert_array_equal(whole.merge(states).V, V)
    assert np.isfinite(update.minimise(W, both)[0]).all()


def test_zero_data_change_nothing() -> None:
    _, W = data(13)
    W = Simplex().prox(W)
    new, state = run(RobustApproximation(), np.zeros((F, 5)), W)
    np.testing.assert_allclose(new, W, atol=1e-15)
    assert state.bound == 0.0


# --- the schedule ------------------------------------------------------------------------------


def test_the_schedule_with_a_horizon_is_the_paper_s() -> None:
    for t in (1, 17, 100):
        assert step_factor(t, 100) == pytest.approx(0.1 * np.cos((t - 1) * np.pi / 200))
    V, W = data(14)
    W = Simplex().prox(W)
    update = RobustApproximation(horizon=10)
    state = update.init(W)
    for i in range(15):
        before = W
        W, state = update.step(W, state, V[:, i : i + 1], encode(SquaredL2(), V[:, i : i + 1], W))
        assert (np.abs(W - before).max() < 1e-15) == (i >= 10), "it rests after the horizon"


def test_the_schedule_without_a_horizon_goes_on() -> None:
    """It falls, but its sum has no bound."""
    paces = np.array([step_factor(t, None) for t in range(1, 100_001)])
    assert np.all(np.diff(paces) < 0.0)
    assert paces[-1] > 0.0
    tail = np.add.reduceat(paces, [0, 10_000])
    assert tail[1] > 0.4 * tail[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": Huber(1.0)}, "beta-divergence"),
        ({"constraint": Orthant()}, "bounded"),
        ({"constraint": Box(0.0, np.inf)}, "bounded"),
    ],
)
def test_wrong_parameters(options: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        RobustApproximation(**options)
