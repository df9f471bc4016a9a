"""Reweighted least squares for robust losses: descent, SciPy's solvers, no freezing."""

from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear, nnls

from thalweg import DivergenceNMF, OnlineNMF
from thalweg.divergences import HalfQuadratic
from thalweg.divergences.huber import Huber
from thalweg.divergences.kl import KL
from thalweg.divergences.l1 import L1
from thalweg.divergences.l2 import L2
from thalweg.errors import ParameterError
from thalweg.prox.box import Box
from thalweg.prox.l1_ball import L1Ball
from thalweg.synthetic import nmf_with_noise
from thalweg.updates.batch_reweighted import BatchReweighted

Array = Any
F, K, N = 7, 3, 30
LOSSES: list[Any] = [L1(), L2(), Huber(0.4)]
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "frozen": {"frozen": 1},
    "box": {"constraint": Box(0.0, 0.4), "code_l1": 0.1},
    "penalties in the l1 ball": {"constraint": L1Ball(0.5), "code_l1": 0.1, "code_l2": 0.1},
    "l2 penalty in the l2 ball": {"code_l2": 0.2, "frozen": 1},
}
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
with_gaps = pytest.mark.parametrize("gaps", [False, True], ids=["full", "gaps"])


def data(gaps: bool = False, seed: int = 0) -> tuple[Array, Array, Array | None]:
    """Return data with outliers, zeros, a zero sample, and one without observed entries."""
    rng = np.random.default_rng(seed)
    V = rng.gamma(0.7, 1.0, (F, K)) @ rng.gamma(1.0, 1.0, (K, N))
    V += (rng.random(V.shape) < 0.2) * rng.exponential(3.0, V.shape)
    V[:, 3] = 0.0
    observed = rng.random(V.shape) < 0.8 if gaps else None
    if observed is not None:
        observed[:, 5] = False
        V = np.where(observed, V, 0.0)
    return V, np.asfortranarray(0.05 + rng.random((F, K))), observed


def rounds(method: Any, blocks: Any, W: Array, count: int) -> tuple[Array, Array, list[float]]:
    W, H = method.start(blocks, W)
    values = []
    for number in range(count):
        method = method.in_round(number)
        W, H = method.sweep(blocks, W, H)
        values.append(method.objective(blocks, W, H))
    return W, H, values


# --- the smoothed loss -------------------------------------------------------------------------


@every_loss
def test_the_smoothed_loss_is_a_bound_that_weighted_squares_touch(loss: Any) -> None:
    rng = np.random.default_rng(0)
    assert isinstance(loss, HalfQuadratic)
    for floor in (0.01, 0.3, 2.0):
        e = np.full((1, 40), floor)
        u, other = rng.laplace(size=(2, F, 40)) * rng.choice([0.01, 1.0], (2, 1, 40))
        whole = loss.smoothed(u, e).sum(axis=0)
        assert np.all(whole >= loss.value(u, np.zeros_like(u)) * (1 - 1e-12))
        w = loss.weights(other, e)
        bound = loss.smoothed(other, e).sum(axis=0) + np.sum(w * (u**2 - other**2) / 2, axis=0)
        assert np.all(whole <= bound + 1e-12)
        less = loss.smoothed(u, e / 2).sum(axis=0)
        assert np.all(less <= whole * (1 + 1e-12))
    exact = loss.smoothed(u, np.zeros((1, 40))).sum(axis=0)
    np.testing.assert_allclose(exact, loss.value(u, np.zeros_like(u)), rtol=1e-12)


# --- descent -----------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("setting", SETTINGS)
@with_gaps
def test_no_round_raises_the_smoothed_objective(loss: Any, setting: str, gaps: bool) -> None:
    V, W0, observed = data(gaps)
    method = BatchReweighted(loss, **SETTINGS[setting])
    blocks = [(V[:, :11], None if observed is None else observed[:, :11])]
    blocks += [(V[:, 11:], None if observed is None else observed[:, 11:])]
    W, H, values = rounds(method, blocks, W0, 60)
    assert np.all(np.diff(values) <= 1e-12 * np.array(values[:-1]))
    assert values[-1] < values[0]
    assert method.in_round(inf).objective(blocks, W, H) <= values[-1]
    assert np.all(H >= 0.0)
    assert not method.constraint.value(W[:, method.frozen :]).any()
    assert np.array_equal(W[:, : method.frozen], W0[:, : method.frozen])


@every_loss
@with_gaps
def test_a_round_is_weighted_least_squares(loss: Any, gaps: bool) -> None:
    """Sample by sample, then row by row, with SciPy's solver."""
    V, W, observed = data(gaps, seed=1)
    kept = (V != 0.0).any(axis=0)
    V, mask = V[:, kept], np.ones_like(V[:, kept]) if observed is None else observed[:, kept] + 0.0
    observed = None if observed is None else observed[:, kept]
    method = BatchReweighted(loss, smoothing=0.05)
    W, H = method.start([(V, observed)], W)
    mine = method.sweep([(V, observed)], W, H)

    def weights(W: Array, H: Array) -> Array:
        u = mask * (V - W @ H)
        if isinstance(loss, L1):
            return mask / np.maximum(np.abs(u), 0.05 * V.sum(axis=0) / mask.sum(axis=0))
        if isinstance(loss, L2):
            floor = 0.05 * np.linalg.norm(V, axis=0)
            return mask / np.maximum(np.linalg.norm(u, axis=0), floor)
        return mask * 0.4 / np.maximum(np.abs(u), 0.4)

    root = np.sqrt(weights(W, H))
    H = np.array([nnls(r[:, None] * W, r * v)[0] for r, v in zip(root.T, V.T, strict=True)]).T
    root = np.sqrt(weights(W, H))
    W = np.array([nnls(r[:, None] * H.T, r * v)[0] for r, v in zip(root, V, strict=True)])
    size = np.linalg.norm(W, axis=0)
    np.testing.assert_allclose(mine[0], W / size, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(mine[1], H * size[:, None], rtol=1e-6, atol=1e-8)


def test_a_box_is_met_by_bounded_least_squares() -> None:
    V, W, _ = data(seed=2)
    method = BatchReweighted(Huber(0.4), Box(0.0, 0.4))
    W, H = method.start([(V, None)], W)
    H = method.encode(V, W, H)
    found, size = method.move(W, method.parts(V, W, H))
    root = np.sqrt(0.4 / np.maximum(np.abs(V - W @ H), 0.4))
    best = [
        lsq_linear(r[:, None] * H.T, r * v, (0.0, 0.4), tol=1e-12).x
        for r, v in zip(root, V, strict=True)
    ]
    np.testing.assert_allclose(found, best, atol=1e-3)
    assert np.all(size == 1.0)


@every_loss
@with_gaps
def test_results_do_not_depend_on_blocks(loss: Any, gaps: bool) -> None:
    V, W, observed = data(gaps, seed=3)
    method = BatchReweighted(loss, code_l1=0.1)
    cuts = [
        (V[:, a:b], None if observed is None else observed[:, a:b])
        for a, b in pairwise([0, 1, 9, 20, N])
    ]
    whole, many = (rounds(method, blocks, W, 8) for blocks in ([(V, observed)], cuts))
    for one, two in zip(whole, many, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-7, atol=1e-9)


@every_loss
def test_single_precision_ends_in_the_same_place(loss: Any) -> None:
    V, W, observed = data(gaps=True, seed=4)
    wide = rounds(BatchReweighted(loss), [(V, observed)], W, 150)
    narrow = rounds(
        BatchReweighted(loss), [(V.astype(np.float32), observed)], W.astype(np.float32), 150
    )
    assert narrow[0].dtype == narrow[1].dtype == np.float32
    assert narrow[2][-1] == pytest.approx(wide[2][-1], rel=1e-2)


def test_other_losses_have_no_weights() -> None:
    loss: Any = KL()
    with pytest.raises(ParameterError, match=r"loss must be 'l1', 'l2' or 'huber'.*got KL"):
        BatchReweighted(loss)


# --- the fit does not freeze -------------------------------------------------------------------


def least(V: Array, W: Array) -> float:
    """Return the mean over samples of min |v - W h|_1 over h >= 0, by linear programs."""
    f, k = W.shape
    cost = np.r_[np.zeros(k), np.ones(2 * f)]
    equal = np.hstack([W, np.eye(f), -np.eye(f)])
    return float(np.mean([linprog(cost, A_eq=equal, b_eq=v).fun for v in V.T]))


@pytest.mark.parametrize("seed", range(3))
def test_l1_reaches_the_true_components(seed: int) -> None:
    """Multiplicative updates, whose entries that fit hold all others, end 20 % above."""
    drawn = nmf_with_noise(120, 25, 3, noise="uniform-outliers", random_state=seed)
    truth = least(drawn.X.T, drawn.components.T)
    found, frozen = (
        DivergenceNMF(3, loss="l1", solver=solver, max_iter=300, random_state=seed).fit(drawn.X)
        for solver in ("auto", "mu")
    )
    assert found.objective_ < 1.02 * truth
    assert frozen.objective_ > 1.1 * truth
    assert found.objective_ < -OnlineNMF(3, loss="l1", random_state=seed).fit(drawn.X).score(
        drawn.X
    )
    # neither the codes nor the components alone can be much better
    W, H = found.components_.T, found.transform(drawn.X).T
    assert found.objective_ < 1.005 * least(drawn.X.T, W)
    rows = least(drawn.X, H.T) * drawn.X.shape[1] / drawn.X.shape[0]
    assert found.objective_ < 1.01 * rows


def test_l2_finds_the_samples_of_low_rank_among_others() -> None:
    """A tenth of the samples are outliers as a whole, the others of rank 2 to rounding."""
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 1.0, (90, 2)) @ rng.gamma(1.0, 1.0, (2, 12))
    X[::10] = rng.gamma(1.0, 1.0, (9, 12))
    model = DivergenceNMF(2, loss="l2", max_iter=400, tol=1e-7, random_state=1).fit(X)
    lengths = np.linalg.norm(X - model.decompose(X).low_rank, axis=1)
    assert np.array_equal(lengths > 1e-3 * np.linalg.norm(X, axis=1), np.arange(90) % 10 == 0)


@every_loss
def test_objective_is_the_loss_and_history_a_bound(loss: Any) -> None:
    X = nmf_with_noise(60, 12, 2, noise="uniform-outliers", random_state=0).X
    kind = Huber(0.1 * X.mean()) if isinstance(loss, Huber) else loss
    model = DivergenceNMF(2, loss=kind, max_iter=40, random_state=0, keep_history=True).fit(X)
    assert model.history_[-1].objective == model.objective_
    assert model.objective_ == pytest.approx(-model.score(X), rel=0.01)
    assert model.history_[-2].objective >= model.objective_
