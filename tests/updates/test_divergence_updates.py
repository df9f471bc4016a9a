"""Dictionary updates under a divergence: statistics against all samples, and where they lead."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime

from pairwise import all_pairs
from thalweg._rooms import members
from thalweg.divergences.alpha import Alpha
from thalweg.divergences.beta import Beta
from thalweg.divergences.huber import Huber
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.divergences.kl import KL
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.divergences.negative_binomial import NegativeBinomial
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.divergences.zero_inflated import ZeroInflated
from thalweg.encoders import Codes
from thalweg.encoders.multiplicative import Multiplicative as MultiplicativeCodes
from thalweg.encoders.newton import Newton
from thalweg.errors import ParameterError
from thalweg.prox.box import Box
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.elastic_net_ball import ElasticNetBall
from thalweg.prox.l1 import L1
from thalweg.prox.l1_ball import L1Ball
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.updates import DictionaryUpdate
from thalweg.updates.atom_scaling import penalty_slopes
from thalweg.updates.multiplicative import Multiplicative
from thalweg.updates.second_order import SecondOrderSurrogate

Array = Any
F, K, B = 9, 3, 25
L1Loss, L2Loss = (members("thalweg.divergences")[name] for name in ("l1", "l2"))
ROOT = np.random.default_rng(5).normal(size=(F, F))
LOSSES: dict[str, Any] = {
    "kl": KL(),
    "itakura-saito": ItakuraSaito(),
    "squared-l2": SquaredL2(),
    "alpha(0.5)": Alpha(0.5),
    "alpha(-1)": Alpha(-1.0),
    "beta(1.5)": Beta(1.5),
    "beta(3)": Beta(3.0),
    "mahalanobis": Mahalanobis(ROOT @ ROOT.T / F + 0.2 * np.eye(F)),
    "negative-binomial": NegativeBinomial(0.5),
    "zero-inflated(features)": ZeroInflated(np.linspace(0.1, 2.0, F), 0.2),
    "huber": Huber(0.3),
    "l1": L1Loss(),
    "l2": L2Loss(),
}
every_loss = pytest.mark.parametrize("name", LOSSES)
both = pytest.mark.parametrize("update", [SecondOrderSurrogate, Multiplicative])
with_gaps = pytest.mark.parametrize("gaps", [False, True], ids=["full", "gaps"])


def data(seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    truth = rng.gamma(1.0, 1.0, (F, K)) + 0.05
    V = truth @ (rng.gamma(1.0, 1.0, (K, B)) + 0.1) * rng.gamma(20.0, 1 / 20.0, (F, B))
    return V, L2Ball().prox(rng.random((F, K)) + 0.2)


def encode(loss: Any, V: Array, W: Array, observed: Array | None = None) -> Codes:
    return Newton(loss, tol=1e-6, max_iter=300).encode(V, W, observed=observed)


def holes(gaps: bool) -> Array | None:
    return np.random.default_rng(4).random((F, B)) < 0.8 if gaps else None


def mean_loss(loss: Any, V: Array, W: Array, H: Array, observed: Array | None) -> float:
    P = W @ H
    return float(np.mean(loss.value(V if observed is None else np.where(observed, V, P), P)))


@every_loss
@with_gaps
@both
def test_statistics_touch_the_loss_and_its_slope(name: str, gaps: bool, update: Any) -> None:
    (V, W), loss, observed = data(), LOSSES[name], holes(gaps)
    codes = encode(loss, V, W, observed)
    method = update(loss=loss, constraint=Orthant())
    assert isinstance(method, DictionaryUpdate)
    state = method.absorb(W, method.init(W), V, codes, observed)
    np.testing.assert_allclose(method.objective(W, state), np.mean(codes.loss), rtol=1e-9)
    slope = approx_fprime(W.ravel(), lambda w: method.objective(w.reshape(F, K), state), 1e-7)
    step = np.random.default_rng(1).normal(size=(F, K)) * 1e-6
    true = mean_loss(loss, V, W + step, codes.H, observed) - mean_loss(
        loss, V, W - step, codes.H, observed
    )
    scale = 2e-6 * np.abs(slope).sum()
    if name != "l1":  # which has no slope at its kinks, where the codes are
        np.testing.assert_allclose(2 * np.vdot(slope, step.ravel()), true, atol=1e-3 * scale)


@every_loss
@with_gaps
def test_majorisers_lie_above(name: str, gaps: bool) -> None:
    (V, W), loss, observed = data(2), LOSSES[name], holes(gaps)
    codes = encode(loss, V, W, observed)
    method = Multiplicative(loss=loss, constraint=Orthant())
    state = method.absorb(W, method.init(W), V, codes, observed)
    rng = np.random.default_rng(3)
    for size in (0.01, 0.3, 2.0):
        other = W * np.exp(size * rng.normal(size=W.shape))
        true = mean_loss(loss, V, other, codes.H, observed)
        assert method.objective(other, state) >= true * (1 - 1e-9)


@both
@pytest.mark.parametrize("loss", [KL(), SquaredL2(), Beta(1.5)], ids=repr)
@pytest.mark.parametrize(("forgetting", "fade"), [(1.0, 0.0), (0.9, 0.0), (1.0, 2.0)])
def test_statistics_are_weighted_means(
    loss: Any, update: Any, forgetting: float, fade: float
) -> None:
    """With W standing still, batches one after the other are one batch with weighted samples."""
    (V, W), sizes = data(6), (4, 1, 12, 8)
    method = update(loss=loss, constraint=Orthant(), forgetting=forgetting, fade=fade)
    state, begin, weights, count = method.init(W), 0, np.zeros(0), 0
    for n in sizes:
        part = V[:, begin : begin + n]
        state = method.absorb(W, state, part, encode(loss, part, W), None)
        past = forgetting**n * (count / (count + n)) ** fade
        own = np.full(n, sum(forgetting**i for i in range(n)) / n)
        weights, begin, count = np.concatenate([weights * past, own]), begin + n, count + n
    H = encode(loss, V, W).H
    P, share = W @ H, weights / weights.sum()
    if update is Multiplicative:
        neg, pos = loss.split(V, P)
        up, down = loss.growth
        np.testing.assert_allclose(state.neg, (neg * share) @ H.T * W**down, rtol=1e-9)
        np.testing.assert_allclose(state.pos, (pos * share) @ H.T / W**up, rtol=1e-9)
    else:
        c = np.broadcast_to(loss.curvature(V, P), V.shape) * share
        A = np.einsum("fb,kb,lb->fkl", c, H, H)
        np.testing.assert_allclose(state.A if state.A.ndim == 3 else [state.A] * F, A, rtol=1e-9)
        expected = (c * P - loss.grad(V, P) * share) @ H.T
        np.testing.assert_allclose(state.B, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.weight, weights.sum(), rtol=1e-12)
    assert state.n_samples == B


@both
def test_states_merge(update: Any) -> None:
    V, W = data(7)
    method = update(constraint=Orthant())
    codes = encode(KL(), V, W)
    whole = method.absorb(W, method.init(W), V, codes, None)
    parts = []
    for part in (slice(0, 5), slice(5, 6), slice(6, B)):
        piece = encode(KL(), V[:, part], W)
        parts.append(method.absorb(W, method.init(W), V[:, part], piece, None))
    merged = method.merge([method.init(W), *parts])
    for one, other in zip(merged, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    for empty in method.merge([method.init(W)] * 2):
        assert not np.any(empty)


@pytest.mark.parametrize(
    ("name", "update"),
    [(name, update) for name in LOSSES for update in (SecondOrderSurrogate, Multiplicative)
     if (name, update) != ("l1", Multiplicative)],
)  # fmt: skip
def test_steps_on_one_batch_go_down(name: str, update: Any) -> None:
    """Fresh statistics each time: then a step is a step of a batch method, and has to descend.

    Not with l1 and multiplicative updates: exact codes fit some entries, and their weights hold
    the dictionary where it is.
    """
    (V, W), loss = data(8), LOSSES[name]
    method = update(loss=loss)
    losses = []
    for _ in range(25):
        codes = encode(loss, V, W)
        losses.append(float(np.mean(codes.loss)))
        W, _ = method.step(W, method.init(W), V, codes)
        assert np.all(W >= 0.0)
        np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0, rtol=1e-9)
    assert losses[-1] < 0.8 * losses[0]
    if update is Multiplicative:
        assert np.all(np.diff(losses) <= 1e-5 * np.array(losses[:-1]))


CONSTRAINTS = [Orthant(), L2Ball(0.5), L1Ball(2.0), Simplex(3.0), ElasticNetBall(0.3, 0.4)]


@pytest.mark.parametrize("constraint", [c for c in CONSTRAINTS if c != Orthant()], ids=repr)
def test_gauges_scale_onto_the_boundary(constraint: Any) -> None:
    X = np.random.default_rng(9).random((F, 6)) * np.array([0.01, 0.1, 1.0, 10.0, 100.0, 1.0])
    border = X / constraint.gauge(X)
    assert np.all(constraint.value(border) == 0.0)
    assert np.all(constraint.value(border * 1.001) == np.inf)


@both
@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_a_gauge_changes_the_scale_and_nothing_else(update: Any, constraint: Any) -> None:
    """Without penalty all sets hold the same models, so the products W H are the same."""
    (V, start), exact = data(10), Newton(tol=1e-13)
    models = []
    for bounds in (constraint, L2Ball()):
        method = update(constraint=bounds, fade=2.0)
        W = start if bounds == Orthant() else start / bounds.gauge(start)
        state = method.init(W)
        for begin in range(0, B, 5):
            part = V[:, begin : begin + 5]
            W, state = method.step(W, state, part, exact.encode(part, W))
        assert bounds == Orthant() or np.all(bounds.value(W) == 0.0)
        models.append(W @ exact.encode(V, W).H)
    np.testing.assert_allclose(models[0], models[1], rtol=1e-5)


@pytest.mark.parametrize("constraint", [L2Ball(0.5), L1Ball(2.0), Simplex()], ids=repr)
def test_penalty_slopes_majorise_the_penalty(constraint: Any) -> None:
    rng = np.random.default_rng(11)
    W = rng.random((F, K)) + 0.05
    W, H = W / constraint.gauge(W), rng.random((K, B))
    asked = penalty_slopes(H, constraint, 0.3, 0.7)
    bend = asked.square + asked.shared / W

    def penalty(X: Array) -> float:
        paid = H * constraint.gauge(X)[:, None]
        return float(np.mean(0.3 * paid.sum(axis=0) + 0.35 * (paid**2).sum(axis=0)))

    def price(X: Array) -> float:
        return float(np.sum(asked.flat * X) + 0.5 * np.vdot(bend * X, X))

    gap = penalty(W) - price(W)
    for size in (1e-3, 0.3, 2.0):
        other = W * np.exp(size * rng.normal(size=W.shape))
        assert price(other) + gap >= penalty(other) * (1 - 1e-12)
    tiny = W * (1 + 1e-6 * rng.normal(size=W.shape))
    assert abs(price(tiny) + gap - penalty(tiny)) < 1e-9 * penalty(W)


@all_pairs(
    both,
    pytest.mark.parametrize("constraint", [L2Ball(), L1Ball(), Simplex()], ids=repr),
    pytest.mark.parametrize("loss", [KL(), SquaredL2()], ids=repr),
)
def test_penalised_codes_lead_to_a_stationary_point(
    update: Any, constraint: Any, loss: Any
) -> None:
    """At the end no feasible step of a column decreases the penalised loss at optimal codes."""
    V, W = data(12)
    W, penalty = W / constraint.gauge(W), ElasticNet(0.3, 0.1, nonnegative=True)
    method = update(loss=loss, constraint=constraint, code_l1=0.3, code_l2=0.1)
    encoder = Newton(loss, penalty, tol=1e-9, max_iter=300)
    losses = []
    for _ in range(600):
        codes = encoder.encode(V, W)
        losses.append(float(np.mean(codes.loss)))
        W, _ = method.step(W, method.init(W), V, codes)
    assert losses[-1] < 0.9 * losses[0]
    here = float(np.mean(encoder.encode(V, W).loss))
    rng = np.random.default_rng(13)
    for _ in range(30):
        other = constraint.prox(np.maximum(W + 1e-3 * rng.normal(size=W.shape), 0.0))
        assert np.mean(encoder.encode(V, other).loss) > here * (1 - 2e-4)


@both
def test_frozen_columns_stay(update: Any) -> None:
    V, W = data(14)
    method = update(frozen=2, constraint=Simplex())
    moved, _ = method.step(W, method.init(W), V, encode(KL(), V, W))
    assert np.array_equal(moved[:, :2], W[:, :2])
    np.testing.assert_allclose(moved[:, 2].sum(), 1.0)


def test_sparse_batches_are_the_same_batches() -> None:
    rng = np.random.default_rng(15)
    W = rng.random((F, K)) + 0.1
    V = rng.poisson(0.3, (F, B)).astype(float)
    codes = MultiplicativeCodes(max_iter=50).encode(V, W)
    method = Multiplicative()
    dense = method.step(W, method.init(W), V, codes)
    thin = method.step(W, method.init(W), sparse.csc_array(V), codes)
    np.testing.assert_allclose(thin[0], dense[0], rtol=1e-10)
    for one, other in zip(thin[1], dense[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-14)


def test_lefevre_is_the_case_of_itakura_saito() -> None:
    """Eq. (9)-(11) of Lefevre, Bach and Fevotte (2011), one batch after the other."""
    V, W = data(16)
    method = Multiplicative(loss=ItakuraSaito(), constraint=Orthant())
    state, mine, A, C = method.init(W), W, 0.0, 0.0
    for begin in range(0, B, 5):
        part = V[:, begin : begin + 5]
        codes = encode(ItakuraSaito(), part, mine)
        P = W @ codes.H
        A = A + (part / P**2) @ codes.H.T * W**2
        C = C + (1 / P) @ codes.H.T
        W = np.sqrt(A / C)
        mine, state = method.step(mine, state, part, codes)
        np.testing.assert_allclose(mine, W, rtol=1e-10)


@pytest.mark.parametrize("update", [SecondOrderSurrogate, Multiplicative])
def test_an_empty_batch_changes_nothing(update: Any) -> None:
    V, W = data()
    method = update()
    _, state = method.step(W, method.init(W), V, encode(KL(), V, W))
    again, same = method.step(W, state, V[:, :0], encode(KL(), V[:, :0], W))
    assert again is W
    assert same is state


def test_sets_without_a_gauge() -> None:
    """All features have the same curvature, so the constrained minimum is a projection."""
    V, W = data(17)
    box = Box(0.1, 0.9)
    method, W = SecondOrderSurrogate(constraint=box), box.prox(W)
    assert method.init(W).A.shape == (K, K)
    first = float(np.mean(encode(KL(), V, W).loss))
    for _ in range(30):
        W, _ = method.step(W, method.init(W), V, encode(KL(), V, W))
        assert np.all(box.value(W) == 0.0)
    assert np.mean(encode(KL(), V, W).loss) < 0.9 * first
    codes = Newton(penalty=L1(0.1, nonnegative=True)).encode(V, W)
    with pytest.raises(ParameterError, match="simplex"):
        Multiplicative(constraint=ElasticNetBall(), code_l1=0.1).step(
            W, Multiplicative().init(W), V, codes
        )


@every_loss
@both
@pytest.mark.parametrize("price", [0.0, 0.1])
def test_single_precision_stays(name: str, update: Any, price: float) -> None:
    (V, W), loss = data(18), LOSSES[name]
    V, W = V.astype(np.float32), W.astype(np.float32)
    method = update(loss=loss, code_l1=price, code_l2=price)
    moved, state = method.step(W, method.init(W), V, encode(loss, V, W))
    assert moved.dtype == np.float32
    sums = state[:2] if update is SecondOrderSurrogate else state[:3]
    assert {part.dtype for part in sums} == {np.dtype(np.float32)}
    assert np.all(np.isfinite(moved))


@both
def test_zeros_of_an_initial_dictionary_may_grow(update: Any) -> None:
    """Those of a free column may grow again; those of a frozen one stay."""
    V, W = data(19)
    W[2:4], W[5, 1] = 0.0, 0.0
    method = update(frozen=1)
    moved, state = method.step(W, method.init(W), V, encode(KL(), V, W))
    assert np.array_equal(moved[:, 0], W[:, 0])
    assert np.all(moved[:, 1:] > 0.0)
    assert np.isfinite(method.objective(moved, state))
    again, _ = method.step(moved, state, V, encode(KL(), V, moved))
    assert np.all(np.isfinite(again))
