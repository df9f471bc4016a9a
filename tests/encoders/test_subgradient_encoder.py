"""The encoder of [D] Algorithms 2 and 3, against independent solvers."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

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
from thalweg.encoders import Encoder
from thalweg.encoders.divergence_problem import DivergenceProblem
from thalweg.encoders.subgradient import Subgradient
from thalweg.errors import ParameterError
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.orthant import Orthant

Array = Any
F, K, B = 12, 3, 7
MATRIX = np.eye(F) + 0.2 * np.cov(np.random.default_rng(9).normal(size=(F, 40)))
SMOOTH = [
    KL(), Hellinger(), Alpha(2.0), Beta(1.5), SquaredL2(), Mahalanobis(MATRIX), Huber(0.5),
]  # fmt: skip
LOSSES = [*SMOOTH, ItakuraSaito(), L1(), L2()]
PENALTIES = [Orthant(), ElasticNet(0.3, 0.4, nonnegative=True)]


def name(value: Any) -> str:
    return str(getattr(value, "name", value))


every_loss = pytest.mark.parametrize("loss", LOSSES, ids=name)
every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH, ids=name)
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=name)


def data(seed: int = 0, B: int = B, gaps: bool = False) -> tuple[Array, Array, Array | None]:
    """Return V, W and observed; one sample is much larger than the others."""
    rng = np.random.default_rng(seed)
    W = rng.gamma(0.6, 1.0, (F, K)) + 0.02
    V = W @ rng.gamma(1.0, 2.0, (K, B)) * rng.gamma(4.0, 0.25, (F, B)) + 0.05
    V[:, -1] *= 30.0
    return V, W / W.max(), rng.random((F, B)) < 0.7 if gaps else None


def objective(loss: Any, penalty: Any, v: Array, W: Array, h: Array) -> float:
    return float(loss.value(v, W @ h) + penalty.value(h))


def least(loss: Any, penalty: Any, v: Array, W: Array, observed: Array) -> float:
    """Return the minimum over h >= 0 by L-BFGS-B, in units in which codes are of order one."""
    v, W = v[observed], W[observed]
    size = v.sum() / W.sum()
    l1, l2 = penalty.coefficients

    def both(x: Array) -> tuple[float, Array]:
        h = size * x
        slope = W.T @ loss.grad(v, W @ h) + l1 + l2 * h
        return objective(loss, penalty, v, W, h), size * slope

    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-12}
    bounds = [(1e-9, None)] * W.shape[1]
    found = minimize(both, np.ones(W.shape[1]), jac=True, bounds=bounds, options=options)
    return float(found.fun)


def test_follows_the_protocol() -> None:
    encoder = Subgradient()
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.tol) == ("subgradient", 1e-3)
    assert hash(encoder) == hash(Subgradient())


@every_smooth_loss
@every_penalty
@pytest.mark.parametrize("step", ["auto", "armijo"])
def test_reaches_the_minimum(loss: Any, penalty: Any, step: Any) -> None:
    observed = data(gaps=True)[2]
    if isinstance(loss, Mahalanobis):
        observed = np.ones((F, B), bool)  # a full matrix has no rows to leave out
    V, W, _ = data()
    codes = Subgradient(loss, penalty, step, tol=1e-9, max_iter=50_000).encode(
        V, W, observed=observed
    )
    best = [least(loss, penalty, V[:, b], W, observed[:, b]) for b in range(B)]
    assert codes.solved.all()
    np.testing.assert_allclose(codes.loss, best, rtol=1e-6)
    np.testing.assert_allclose(codes.cost, penalty.value(codes.H), rtol=1e-12)


def test_the_default_tolerance_bounds_the_suboptimality() -> None:
    """Except Huber's loss: constant steps are slow for residuals far beyond delta."""
    V, W, _ = data(1, B=40)
    for loss in (x for x in SMOOTH if not isinstance(x, Huber)):
        rough = Subgradient(loss).encode(V, W).loss
        fine = Subgradient(loss, tol=1e-10, max_iter=50_000).encode(V, W).loss
        assert np.mean(rough / fine - 1.0) < 1e-3, loss
        assert np.max(rough / fine - 1.0) < 1e-2, loss


def distance(v: Array, W: Array) -> float:
    """Return the least l1 distance: min sum(t) with -t <= v - W h <= t, a linear program."""
    n, k = W.shape
    A = np.block([[-W, -np.eye(n)], [W, -np.eye(n)]])
    cost = np.concatenate([np.zeros(k), np.ones(n)])
    return float(linprog(cost, A, np.concatenate([-v, v])).fun)


@pytest.mark.parametrize("gaps", [False, True], ids=["full", "gaps"])
@pytest.mark.parametrize("tol", [1e-2, 1e-3])
def test_polyaks_step_is_mostly_within_its_tolerance(gaps: bool, tol: float) -> None:
    """[D] V-C: the best value is at most delta above the minimum, in the limit.

    delta is relative here. When to aim for less is a rule of thumb: in 480 samples of this kind
    99 % were within delta = 1e-2 and 96 % within 1e-3, and the worst was 7 % above. So the share
    is asked for, and not the worst. Where the fit is exact nothing is relative to it.
    """
    excess = []
    for seed in range(4):
        V, W, observed = data(seed, B=25, gaps=gaps)
        kept = np.ones(V.shape, bool) if observed is None else observed
        codes = Subgradient(L1(), tol=tol, max_iter=20_000).encode(V, W, observed=observed)
        best = np.array([distance(V[kept[:, b], b], W[kept[:, b]]) for b in range(25)])
        assert np.all(codes.loss >= best * (1 - 1e-9))
        some = best > 1e-9 * V.sum(axis=0)
        excess.append(codes.loss[some] / best[some] - 1)
    every = np.concatenate(excess)
    assert len(every) > 90
    assert np.median(every) <= 0.5 * tol
    assert np.mean(every <= tol) >= 0.9


def test_the_euclidean_distance_has_the_minimum_of_its_square() -> None:
    V, W, _ = data(3)
    codes = Subgradient(L2(), tol=1e-9, max_iter=50_000).encode(V, W)
    squares = [least(SquaredL2(), Orthant(), V[:, b], W, np.ones(F, bool)) for b in range(B)]
    np.testing.assert_allclose(codes.loss, np.sqrt(2 * np.array(squares)), rtol=1e-6)


def test_itakura_saito_ends_at_a_critical_point() -> None:
    V, W, _ = data(4)
    H = Subgradient(ItakuraSaito(), tol=1e-12, max_iter=50_000).encode(V, W).H
    problem = DivergenceProblem(ItakuraSaito(), V, W, None)
    level = problem.start()
    slope = level * (W.T @ problem.grad(problem.model(H)))  # without units
    moved = np.maximum(H / level - slope, 1e-8)
    np.testing.assert_allclose(moved, H / level, atol=1e-4)


# --- each step ---------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", [False, True], ids=["full", "gaps"])
@pytest.mark.parametrize("loss", [loss for loss in LOSSES if not isinstance(loss, L1)], ids=name)
@pytest.mark.parametrize("step", ["armijo", "auto"])
def test_the_loss_falls_with_each_step(loss: Any, step: Any, gaps: bool) -> None:
    V, W, observed = data(5, gaps=gaps)
    H0 = np.random.default_rng(6).random((K, B)) * V.mean(axis=0)
    losses = np.array([
        Subgradient(loss, step=step, tol=0.0, max_iter=n)
        .encode(V, W, H0=H0, observed=observed).loss
        for n in (0, 1, 2, 3, 4, 6, 9, 15)
    ])  # fmt: skip
    assert np.all(np.diff(losses, axis=0) <= 1e-12 * losses[0])
    assert np.all(losses[1] < losses[0])


def test_armijo_requires_a_share_of_the_predicted_decrease() -> None:
    """[D] Algorithm 3, at the projected point: its own test, made again from outside."""
    V, W, _ = data(7)
    for loss in (KL(), ItakuraSaito(), L2()):
        problem = DivergenceProblem(loss, V, W, None)
        for n in range(8):
            H, new = (
                Subgradient(loss, step="armijo", tol=0.0, max_iter=m).encode(V, W)
                for m in (n, n + 1)
            )
            slope = W.T @ problem.grad(problem.model(H.H))
            promised = np.sum(slope * (new.H - H.H), axis=0)
            assert np.all(promised <= 1e-12 * H.loss)
            assert np.all(new.loss <= H.loss + 0.01 * promised + 1e-14 * H.loss)


def test_a_trial_step_out_of_the_orthant_is_projected() -> None:
    """[D] Algorithm 3 as printed tests the unprojected point, whose loss is NaN here."""
    W = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    V = np.array([[100.0], [70.0], [1.0]])
    codes = Subgradient(tol=1e-9, max_iter=5000).encode(V, W, H0=np.array([[1e-4], [100.0]]))
    best = least(KL(), Orthant(), V[:, 0], W, np.ones(3, bool))
    assert codes.loss[0] == pytest.approx(best, rel=1e-6)


@every_loss
def test_the_rule_follows_from_the_loss(loss: Any) -> None:
    """[D] V-C: constant where the curvature is bounded, Polyak's for l1, else Armijo's."""
    V, W, _ = data(8)
    rule = {"l1": "polyak", "squared-l2": "constant", "huber": "constant"}
    rule["mahalanobis"] = "constant"
    chosen: Any = rule.get(loss.name, "armijo")
    auto, named = (Subgradient(loss, step=s, max_iter=5).encode(V, W) for s in ("auto", chosen))
    assert np.array_equal(auto.H, named.H)


@pytest.mark.parametrize("loss", [KL(), L1(), L2()], ids=name)
def test_a_constant_step_needs_a_bounded_curvature(loss: Any) -> None:
    V, W, _ = data()
    with pytest.raises(ParameterError, match="bounded curvature"):
        Subgradient(loss, step="constant").encode(V, W)


def test_an_unknown_step_rule_is_rejected() -> None:
    wrong: Any = "newton"
    with pytest.raises(ParameterError, match="'polyak'"):
        Subgradient(step=wrong)


@pytest.mark.parametrize("ends", [(-1.0, 2.0), (0.5, 0.9), (2.0, 3.0)])
def test_the_box_contains_the_initial_codes(ends: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="low and high"):
        Subgradient(low=ends[0], high=ends[1])


# --- the contract of encoders ------------------------------------------------------------------


@every_loss
def test_samples_do_not_depend_on_one_another(loss: Any) -> None:
    V, W, observed = data(10, B=300, gaps=True)
    encoder = Subgradient(loss, tol=1e-4)
    together = encoder.encode(V, W, observed=observed)
    for part in (slice(0, 1), slice(40, 90), slice(250, 300)):
        alone = encoder.encode(V[:, part], W, observed=observed[:, part])
        for field in ("H", "loss", "R"):
            both = (getattr(x, field)[..., s] for x, s in ((alone, slice(None)), (together, part)))
            np.testing.assert_allclose(*both, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", [x for x in LOSSES if x.name != "mahalanobis"], ids=name)
def test_a_missing_entry_equals_a_removed_row(loss: Any) -> None:
    V, W, _ = data(11)
    rows = np.arange(F) % 3 > 0
    observed = np.broadcast_to(rows[:, None], V.shape)
    dirty = np.where(observed, V, 77.0)
    encoder = Subgradient(loss, tol=1e-5, max_iter=2000)
    gaps, less = encoder.encode(dirty, W, observed=observed), encoder.encode(V[rows], W[rows])
    np.testing.assert_allclose(gaps.loss, less.loss, rtol=1e-6)
    np.testing.assert_allclose(gaps.H, less.H, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose((dirty - gaps.R)[~observed], (W @ gaps.H)[~observed], rtol=1e-9)


@every_loss
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_codes_have_the_units_of_the_data(loss: Any, unit: float) -> None:
    V, W, _ = data(12)
    other = Huber(0.5 * unit) if isinstance(loss, Huber) else loss
    one, scaled = Subgradient(loss).encode(V, W), Subgradient(other).encode(unit * V, W)
    np.testing.assert_allclose(scaled.H, unit * one.H, rtol=1e-7, atol=1e-9 * unit)
    assert np.array_equal(one.solved, scaled.solved)


@every_loss
def test_zero_samples_have_zero_codes(loss: Any) -> None:
    V, W, _ = data(13)
    observed = np.ones(V.shape, bool)
    observed[:, 2] = False
    if loss.domain.closed:
        V[:, 4] = 0.0
    codes = Subgradient(loss).encode(V, W, observed=observed)
    empty = [2, 4] if loss.domain.closed else [2]
    assert np.all(codes.H[:, empty] == 0.0)
    np.testing.assert_allclose(codes.loss[empty], 0.0, atol=1e-30)
    assert codes.solved[empty].all()
    assert np.all(np.isfinite(codes.H))


@every_loss
def test_codes_stay_in_their_box(loss: Any) -> None:
    V, W, _ = data(14)
    level = V.sum(axis=0) / W.sum()
    H0 = np.array([[1e-3], [1.0], [1e3]]) * level
    share = Subgradient(loss, low=0.5, high=1.5).encode(V, W, H0=H0).H / level
    assert share.min() == pytest.approx(0.5)  # the bounds are felt, and kept
    assert share.max() == pytest.approx(1.5)


@every_loss
def test_float32_stays_float32(loss: Any) -> None:
    V, W, observed = data(15, gaps=True)
    wide = Subgradient(loss).encode(V, W, observed=observed)
    codes = Subgradient(loss).encode(V.astype(np.float32), W.astype(np.float32), observed=observed)
    assert {x.dtype for x in codes[:4]} == {np.dtype(np.float32)}
    np.testing.assert_allclose(codes.loss, wide.loss, rtol=1e-2)


def test_an_empty_batch_has_no_codes() -> None:
    for loss in (KL(), L1(), SquaredL2()):
        assert Subgradient(loss).encode(np.empty((F, 0)), data()[1]).H.shape == (K, 0)
