"""The paper's own dictionary update, [D] (11), and its set C."""

from math import inf
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from thalweg.divergences.alpha import Alpha
from thalweg.divergences.beta import Beta
from thalweg.divergences.hellinger import Hellinger
from thalweg.divergences.huber import Huber
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.divergences.kl import KL
from thalweg.divergences.l1 import L1
from thalweg.divergences.l2 import L2
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders.newton import Newton
from thalweg.errors import ParameterError
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.simplex import Simplex
from thalweg.updates import DictionaryUpdate
from thalweg.updates.subgradient import Scales, Subgradient, project_rows

Array = Any
F, K, B = 9, 3, 20
LOSSES = [
    KL(), Hellinger(), Alpha(2.0), Beta(1.5), ItakuraSaito(), SquaredL2(), L1(), L2(), Huber(0.5),
    Mahalanobis(np.linspace(0.5, 2.0, F)),
]  # fmt: skip
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def data(seed: int = 0, n: int = B) -> tuple[Array, Array]:
    """Return samples of one dictionary, and another one inside of C."""
    rng = np.random.default_rng(seed)
    V = rng.gamma(0.7, 1.0, (F, K)) @ rng.gamma(1.0, 2.0, (K, n)) * rng.gamma(9.0, 1 / 9, (F, n))
    return V + 0.05, rng.random((F, K))


def encode(loss: Any, V: Array, W: Array, observed: Array | None = None) -> Any:
    return Newton(loss, tol=1e-8).encode(V, W, observed=observed)


def moved(update: Any, V: Array, W: Array, observed: Array | None = None) -> tuple[Array, Scales]:
    return update.step(W, update.init(W), V, encode(update.loss, V, W, observed), observed)


def in_the_set(W: Array, epsilon: float) -> bool:
    return bool(W.min() >= 0 and W.max() <= 1 and W.sum(axis=1).min() >= epsilon * (1 - 1e-12))


# --- the set C ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 1e-8, 0.2, 0.9])
def test_the_projection_is_the_nearest_point(epsilon: float) -> None:
    """A quadratic program, row by row: [D] S-1 goes to the probability simplex instead."""
    rng = np.random.default_rng(1)
    rows = np.vstack([rng.normal(scale=s, size=(8, 4)) - shift for s, shift in
                      ((1.0, 0.0), (0.05, 0.0), (1.0, 2.0), (0.2, 0.1))])  # fmt: skip
    projected = project_rows(rows, epsilon)
    for row, found in zip(rows, projected, strict=True):
        x = cp.Variable(4)
        problem = cp.Problem(
            cp.Minimize(cp.sum_squares(x - row)), [x >= 0, x <= 1, cp.sum(x) >= epsilon]
        )
        problem.solve(solver=cp.CLARABEL)
        np.testing.assert_allclose(found, x.value, atol=2e-5)
        assert np.sum((found - row) ** 2) <= problem.value + 1e-7
    assert in_the_set(projected, epsilon)
    assert (rows.clip(0, 1).sum(axis=1) < epsilon).any() == (epsilon > 0)


def test_the_row_itself_is_projected_and_not_its_clipped_values() -> None:
    np.testing.assert_allclose(project_rows(np.array([[-5.0, -1.0]]), 1e-8), [[0.0, 1e-8]])
    np.testing.assert_array_equal(project_rows(np.array([[0.2, 0.3]]), 1e-8), [[0.2, 0.3]])


@every_loss
def test_every_step_ends_in_the_set(loss: Any) -> None:
    V, W = data(2, n=200)
    update = Subgradient(loss, epsilon=0.05)
    state = update.init(W)
    for start in range(0, 200, 20):
        batch = V[:, start : start + 20] * (np.arange(F) > 0)[:, None] + 1e-6
        W, state = update.step(W, state, batch, encode(loss, batch, W))
        assert in_the_set(W, 0.05)


@pytest.mark.parametrize("constraint", [L2Ball(), Simplex()], ids=lambda c: c.name)
def test_a_set_of_columns_takes_one_step_for_all_rows(constraint: Any) -> None:
    V, W = data(3)
    W = constraint.prox(W)
    update = Subgradient(Mahalanobis(np.linspace(0.5, 2.0, F)), constraint)
    codes = encode(update.loss, V, W)
    G = update.loss.grad(V, W @ codes.H) @ codes.H.T / B
    new, state = update.step(W, update.init(W), V, codes)
    np.testing.assert_allclose(state.curvature.max(), 2.0 * np.mean(np.sum(codes.H**2, axis=0)))
    eta = 1.0 / (1.0 + B / 2e4)
    np.testing.assert_allclose(new, constraint.prox(W - eta * G / state.curvature.max()))
    assert np.all(constraint.value(new) == 0.0)


def test_frozen_columns_stay_and_count_in_their_rows() -> None:
    V, W = data(4)
    W[:, 0] *= 3.0  # initial columns may be infeasible
    new, _ = moved(Subgradient(frozen=1, epsilon=0.1), V, W)
    assert np.array_equal(new[:, 0], W[:, 0])
    assert not np.allclose(new[:, 1:], W[:, 1:])
    fixed = np.array([[0.04], [0.5]])
    inside = Subgradient(epsilon=0.1).inside(np.array([[9.0, -1.0], [9.0, -1.0]]), fixed)
    np.testing.assert_allclose(inside, [[0.04, 0.06], [0.5, 0.0]])


# --- the step ----------------------------------------------------------------------------------


def test_follows_the_protocol() -> None:
    update = Subgradient()
    assert isinstance(update, DictionaryUpdate)
    assert update.name == "subgradient"
    assert hash(update) == hash(Subgradient())


def test_the_step_is_the_papers() -> None:
    """[D] VIII-C with a = b = 2e4 and batches of tau: eta = a / (tau t + b)."""
    V, W = data(5, n=300)
    update, tau = Subgradient(SquaredL2()), 30
    state = update.init(W)
    energies = []
    for t in range(1, 11):
        batch = V[:, (t - 1) * tau : t * tau]
        codes = encode(update.loss, batch, W)
        energies.append(np.mean(np.sum(codes.H**2, axis=0)))
        G = (W @ codes.H - batch) @ codes.H.T / tau
        eta = 2e4 / (tau * t + 2e4)
        expected = project_rows(W - eta * G / np.mean(energies), 1e-8)
        W, state = update.step(W, state, batch, codes)
        np.testing.assert_allclose(W, expected, rtol=1e-9)


def length(update: Subgradient, n_samples: float) -> float:
    """Return the step size after a number of samples of constant curvature."""
    V, W = data(6)
    W = 0.5 + 0.1 * W  # no bound of C is felt
    state = moved(update, V, W)[1]
    state = state._replace(n_samples=np.asarray(n_samples), weight=np.asarray(n_samples))
    new, _ = update.step(W, state, V, encode(update.loss, V, W))
    return float(np.linalg.norm(new - W))


def test_the_step_decreases_unless_it_is_constant() -> None:
    a = 0.01
    falling, constant, drifting = (
        [length(Subgradient(SquaredL2(), schedule=(a, b), forgetting=f), n) for n in (0, 1e5, 1e7)]
        for b, f in ((1e3, 1.0), (inf, 1.0), (1e3, 0.999))
    )
    assert falling[1] / falling[0] == pytest.approx((1 + B / 1e3) / (1 + (1e5 + B) / 1e3))
    assert falling[2] < 0.011 * falling[1]
    np.testing.assert_allclose(constant, constant[0])  # OL-Wang
    # With a memory of 1,000 samples the step does not fall below that of 1,000.
    assert drifting[2] == pytest.approx(drifting[1])
    assert drifting[1] / drifting[0] == pytest.approx((1 + B / 1e3) / 2, rel=1e-6)


@every_loss
def test_a_batch_is_better_explained_after_its_step(loss: Any) -> None:
    V, W = data(7, n=200)
    codes = encode(loss, V, W)
    new, _ = moved(Subgradient(loss), V, W)
    assert encode(loss, V, new).loss.mean() < codes.loss.mean()


@every_loss
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_results_do_not_depend_on_units(loss: Any, unit: float) -> None:
    """[D] VIII-C takes eta = 1 for data of size 1,000, and diverges to the bounds."""
    other = Huber(0.5 * unit) if isinstance(loss, Huber) else loss
    V, W = data(8, n=100)
    results = []
    for d, scale in ((loss, 1.0), (other, unit)):
        D, update = W, Subgradient(d)
        state = update.init(D)
        for start in range(0, 100, 20):
            batch = scale * V[:, start : start + 20]
            D, state = update.step(D, state, batch, encode(d, batch, D))
        results.append(D)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-7)
    assert np.abs(results[0] - W).max() > 0.01


def test_a_feature_that_becomes_active_is_learned_without_overshoot() -> None:
    """Counts of zero take a row to epsilon; then the curvature of one count is enormous."""
    rng = np.random.default_rng(9)
    W, update = rng.random((4, 1)), Subgradient()
    state = update.init(W)
    shape = np.array([[1.0], [2.0], [3.0], [0.0]])
    for t in range(400):
        shape[3] = 0.0 if t < 100 else 1.0
        V = rng.poisson(5.0 * shape * rng.random((1, 40))) + 0.0
        W, state = update.step(W, state, V, encode(KL(), V, W))
        if t == 99:
            assert W[3].sum() < 1e-3
    share = W[3].sum() / W[0].sum()
    assert 0.7 < share < 1.4


# --- gaps, means, types ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss", [x for x in LOSSES if x.name != "mahalanobis"], ids=lambda x: x.name
)
def test_a_missing_entry_equals_a_removed_row(loss: Any) -> None:
    V, W = data(10)
    rows = np.arange(F) % 3 > 0
    observed = np.broadcast_to(rows[:, None], V.shape)
    less, less_state = moved(Subgradient(loss), V[rows], W[rows])
    for garbage in (0.0, 50.0):
        new, state = moved(Subgradient(loss), np.where(observed, V, garbage), W, observed)
        np.testing.assert_allclose(new[rows], less, rtol=1e-4, atol=1e-6)
        assert np.array_equal(new[~rows], W[~rows])
        np.testing.assert_allclose(state.curvature[rows], less_state.curvature, rtol=1e-3)
        assert np.all(state.curvature[~rows] == 0.0)


def test_the_objective_is_the_mean_loss() -> None:
    V, W = data(11, n=60)
    update = Subgradient()
    state, losses = update.init(W), []
    for start, stop in ((0, 10), (10, 40), (40, 60)):
        codes = encode(KL(), V[:, start:stop], W)
        losses.append(codes.loss)
        W, state = update.step(W, state, V[:, start:stop], codes)
        assert update.objective(W, state) == pytest.approx(np.concatenate(losses).mean())
    assert state.n_samples == state.weight == 60


def test_merged_states_are_those_of_all_samples() -> None:
    V, W = data(12, n=60)
    update = Subgradient(SquaredL2())
    parts = [moved(update, V[:, s], W)[1] for s in (slice(0, 10), slice(10, 60))]
    whole = moved(update, V, W)[1]
    for one, other in zip(update.merge(parts), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)


@every_loss
def test_float32_stays_float32_and_inputs_are_not_modified(loss: Any) -> None:
    V, W = (x.astype(np.float32) for x in data(13))
    codes, update = encode(loss, V, W), Subgradient(loss)
    state = update.init(W)
    inputs = [W, V, *state, *codes]
    before = [x.copy() for x in inputs]
    new, after = update.step(W, state, V, codes)
    assert new.dtype == after.curvature.dtype == np.float32
    assert not np.shares_memory(new, W)
    assert all(np.array_equal(x, y) for x, y in zip(inputs, before, strict=True))


def test_an_empty_batch_changes_nothing() -> None:
    V, W = data(14)
    update = Subgradient()
    new, state = moved(update, V, W)
    empty = np.empty((F, 0))
    same, after = update.step(new, state, empty, encode(KL(), empty, new))
    assert same is new
    assert after is state


def test_samples_that_fit_do_not_move_anything() -> None:
    _, W = data(15)
    V = W @ np.random.default_rng(0).random((K, B))
    for loss in (L1(), L2(), SquaredL2(), KL()):
        np.testing.assert_allclose(moved(Subgradient(loss), V, W)[0], W, atol=1e-3)


@pytest.mark.parametrize(
    "options", [{"schedule": (0.0, 1.0)}, {"schedule": (1.0, -2.0)}, {"epsilon": 1.0}]
)
def test_invalid_settings_are_rejected(options: Any) -> None:
    with pytest.raises(ParameterError, match="schedule must be"):
        Subgradient(**options)
