"""Multiplicative updates of all codes and of the dictionary: descent, and reference code."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from pairwise import all_pairs
from thalweg._rooms import members
from thalweg.divergences.alpha import Alpha
from thalweg.divergences.beta import Beta
from thalweg.divergences.huber import Huber
from thalweg.divergences.kl import KL
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.divergences.negative_binomial import NegativeBinomial
from thalweg.divergences.zero_inflated import ZeroInflated
from thalweg.encoders.sparse_divergence_problem import supports_sparse
from thalweg.errors import ParameterError
from thalweg.prox.box import Box
from thalweg.prox.elastic_net_ball import ElasticNetBall
from thalweg.prox.l1_ball import L1Ball
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.prox.top import Top
from thalweg.updates.batch_multiplicative import BatchMultiplicative, Parts

Array = Any
F, K, N = 6, 3, 40


def signed_matrix() -> Array:
    root = np.random.default_rng(3).uniform(-1.0, 1.0, (F, F))
    return root @ root.T + 0.1 * np.eye(F)


LOSSES: dict[str, Any] = {
    **{name: cls() for name, cls in members("thalweg.divergences").items()},
    "negative-binomial": NegativeBinomial(0.5),
    "zero-inflated": ZeroInflated(0.3, 0.2),
    "huber": Huber(delta=0.4),
    **{f"alpha({a})": Alpha(a) for a in (-1.0, -0.4, 0.0, 0.3, 1.0, 3.5)},
    **{f"beta({b})": Beta(b) for b in (-1.0, 0.0, 0.5, 1.0, 2.0, 2.5, 4.0)},
    "mahalanobis(signed)": Mahalanobis(signed_matrix()),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "frozen": {"frozen": 1},
    "orthant": {"constraint": Orthant()},
    "elastic-net-ball": {"constraint": ElasticNetBall()},
    "box": {"constraint": Box(0.0, 0.3), "code_l1": 0.1},
    "l1 in the large l2 ball": {"constraint": L2Ball(3.0), "code_l1": 0.3},
    "l2 in the l2 ball": {"code_l2": 0.2, "frozen": 1},
    "both in the l1 ball": {"constraint": L1Ball(0.5), "code_l1": 0.1, "code_l2": 0.1},
    "l2 on the simplex": {"constraint": Simplex(2.0), "code_l2": 0.3},
}

every_loss = pytest.mark.parametrize("label", LOSSES)
every_setting = pytest.mark.parametrize("setting", SETTINGS)
with_gaps = pytest.mark.parametrize("gaps", [False, True], ids=["full", "gaps"])


def data(loss: Any, gaps: bool = False, seed: int = 0, dtype: Any = np.float64) -> Any:
    """Return noisy data with zeros, a sample of zeros, and a sample without observed entries."""
    rng = np.random.default_rng(seed)
    V = rng.gamma(0.5, 2.0, (F, K)) @ rng.gamma(0.7, 1.0, (K, N)) * rng.gamma(2.0, 0.5, (F, N))
    if loss.domain.closed:
        V *= rng.random(V.shape) < 0.8
        V[:, 3] = 0.0
    observed = rng.random(V.shape) < 0.8 if gaps else None
    if observed is not None:
        observed[:, 5] = False
        V = np.where(observed, V, 0.0)
    V = np.maximum(V, 0.0 if loss.domain.closed else 1e-6)
    W = rng.random((F, K))
    W[:2, 0] = 0.0
    return V.astype(dtype), np.asfortranarray(W.astype(dtype)), observed


def cut(V: Array, observed: Array | None, *places: int) -> list[Any]:
    ends = [0, *places, V.shape[1]]
    return [(V[:, a:b], None if observed is None else observed[:, a:b]) for a, b in pairwise(ends)]


def run(method: Any, blocks: Any, W: Array, rounds: int) -> tuple[Array, Array, Array]:
    """Return dictionary and codes after some rounds, and the objective before and after each."""
    W, H = method.start(blocks, method.constraint.prox(W) if method.frozen == 0 else W)
    values = [method.objective(blocks, W, H)]
    for _ in range(rounds):
        W, H = method.sweep(blocks, W, H)
        values.append(method.objective(blocks, W, H))
    return W, H, np.array(values)


# --- descent -----------------------------------------------------------------------------------


@all_pairs(every_loss, every_setting, with_gaps)
def test_no_round_raises_the_objective(label: str, setting: str, gaps: bool) -> None:
    loss = LOSSES[label]
    V, W0, observed = data(loss, gaps)
    method = BatchMultiplicative(loss, **SETTINGS[setting])
    W, H, values = run(method, cut(V, observed, 17), W0, 15)
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) <= 1e-12 * values[:-1])
    assert values[-1] < 0.97 * values[0]
    assert np.all(H >= 0.0)
    assert not method.constraint.value(W[:, method.frozen :]).any()
    assert np.array_equal(W[:, : method.frozen], W0[:, : method.frozen])


@every_loss
def test_both_halves_of_a_round_descend(label: str) -> None:
    loss = LOSSES[label]
    V, W, observed = data(loss, gaps=True)
    method = BatchMultiplicative(loss, code_l1=0.05, code_l2=0.02)
    blocks = [(V, observed)]
    W, H = method.start(blocks, W)
    value = method.objective(blocks, W, H)
    for _ in range(10):
        H = method.encode(V, W, H, observed)
        half = method.objective(blocks, W, H)
        assert half <= value * (1 + 1e-12)
        W, size = method.move(W, method.parts(V, W, H, observed))
        H = H * size[:, None]
        value = method.objective(blocks, W, H)
        assert value <= half * (1 + 1e-12)


@every_loss
@with_gaps
def test_single_precision_descends_to_the_same_place(label: str, gaps: bool) -> None:
    loss = LOSSES[label]
    V, W, observed = data(loss, gaps, dtype=np.float32)
    method = BatchMultiplicative(loss, code_l1=0.05)
    narrow = run(method, [(V, observed)], W, 20)
    wide = run(method, [(V.astype(np.float64), observed)], W.astype(np.float64), 20)
    assert narrow[0].dtype == narrow[1].dtype == np.float32
    assert np.all(np.diff(narrow[2]) <= 1e-5 * narrow[2][:-1])
    assert narrow[2][-1] == pytest.approx(wide[2][-1], rel=1e-2)


@pytest.mark.parametrize("setting", ["l2 in the l2 ball", "both in the l1 ball"])
def test_penalty_slopes_are_those_of_the_rescaled_problem(setting: str) -> None:
    """At convergence no scaled move of W decreases the penalised objective."""
    V, W, _ = data(KL(), seed=4)
    V = V + 0.1
    method = BatchMultiplicative(KL(), **(SETTINGS[setting] | {"frozen": 0}))
    W, H = method.start([(V, None)], method.constraint.prox(W))
    for _ in range(4000):
        W, H = method.sweep([(V, None)], W, H)

    def paid(W: Array) -> float:
        size = method.constraint.gauge(W)
        return method.objective([(V, None)], W / size, H * size[:, None])

    scale = paid(W)
    for f in range(F):
        for k in range(K):
            step = np.zeros((F, K))
            step[f, k] = 1e-6
            slope = (paid(W + step) - paid(np.maximum(W - step, 0.0))) / 2e-6
            assert slope * W[f, k] == pytest.approx(0.0, abs=2e-5 * scale)
            assert slope > -2e-3 * scale


# --- the same by other means -------------------------------------------------------------------


def naive_round(V: Array, W: Array, H: Array, observed: Array, beta: float) -> tuple[Array, Array]:
    """Return a round of Fevotte and Idier's updates, each entry weighted by a mask."""
    power = 1.0 / (2.0 - beta) if beta < 1.0 else 1.0 / (beta - 1.0) if beta > 2.0 else 1.0
    P = W @ H
    H = (
        H
        * ((W.T @ (observed * V * P ** (beta - 2.0))) / (W.T @ (observed * P ** (beta - 1.0))))
        ** power
    )
    P = W @ H
    W = (
        W
        * (((observed * V * P ** (beta - 2.0)) @ H.T) / ((observed * P ** (beta - 1.0)) @ H.T))
        ** power
    )
    size = np.linalg.norm(W, axis=0)
    return W / size, H * size[:, None]


@pytest.mark.parametrize("beta", [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
@with_gaps
def test_beta_divergences_are_the_textbooks(beta: float, gaps: bool) -> None:
    rng = np.random.default_rng(1)
    V, W = 0.1 + rng.gamma(1.0, 1.0, (F, N)), 0.1 + rng.random((F, K))
    observed = rng.random((F, N)) < 0.7 if gaps else None
    mask = np.ones((F, N)) if observed is None else observed.astype(float)
    method = BatchMultiplicative(Beta(beta))
    W, H = method.start([(V, observed)], W)
    naive = W, H
    for _ in range(15):
        W, H = method.sweep(cut(V, observed, 10, 11), W, H)
        naive = naive_round(V, *naive, mask, beta)
        np.testing.assert_allclose(W, naive[0], rtol=1e-9)
        np.testing.assert_allclose(H, naive[1], rtol=1e-9)


@with_gaps
def test_huber_is_iteratively_reweighted(gaps: bool) -> None:
    V, W, observed = data(LOSSES["huber"], gaps, seed=2)
    W = W + 0.1
    mask = np.ones((F, N)) if observed is None else observed.astype(float)
    kept = mask.any(axis=0) & V.any(axis=0)
    V, mask, observed = V[:, kept], mask[:, kept], None if observed is None else observed[:, kept]
    method = BatchMultiplicative(Huber(delta=0.4))
    W, H = method.start([(V, observed)], W)

    def weights(W: Array, H: Array) -> Array:
        return mask * 0.4 / np.maximum(np.abs(V - W @ H), 0.4)

    mine = method.sweep([(V, observed)], W, H)
    weight = weights(W, H)
    H = H * (W.T @ (weight * V)) / (W.T @ (weight * (W @ H)))
    weight = weights(W, H)
    W = W * ((weight * V) @ H.T) / ((weight * (W @ H)) @ H.T)
    size = np.linalg.norm(W, axis=0)
    np.testing.assert_allclose(mine[0], W / size, rtol=1e-10)
    np.testing.assert_allclose(mine[1], H * size[:, None], rtol=1e-10)


@every_loss
@with_gaps
def test_results_do_not_depend_on_blocks(
    label: str, gaps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = LOSSES[label]
    V, W, observed = data(loss, gaps)
    method = BatchMultiplicative(loss, code_l1=0.1, code_l2=0.1)
    whole = run(method, [(V, observed)], W, 8)
    many = run(method, cut(V, observed, 1, 9, 10, 31), W, 8)
    monkeypatch.setattr("thalweg.updates.batch_multiplicative._CHUNK_ENTRIES", 1)
    pieces = run(method, [(V, observed)], W, 8)
    for other in (many, pieces):
        for one, two in zip(whole, other, strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-7, atol=1e-10)


def test_parts_add_up() -> None:
    V, W, observed = data(KL(), gaps=True)
    method = BatchMultiplicative(code_l1=0.1, code_l2=0.1, constraint=Simplex())
    blocks = cut(V, observed, 12, 30)
    W, H = method.start(blocks, W)
    whole = method.parts(V, W, H, observed)
    a, b, c = (
        method.parts(*block[:1], W, H[:, part], block[1])
        for block, part in zip(blocks, (slice(12), slice(12, 30), slice(30, N)), strict=True)
    )
    for total in (a.plus(b).plus(c), c.plus(a.plus(b))):
        assert isinstance(total, Parts)
        for one, two in zip(total, whole, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12)


@pytest.mark.parametrize("label", [n for n, loss in LOSSES.items() if supports_sparse(loss)])
@pytest.mark.parametrize("setting", ["plain", "both in the l1 ball"])
def test_sparse_is_dense(label: str, setting: str) -> None:
    loss = LOSSES[label]
    V, W, _ = data(loss, seed=5)
    V *= np.random.default_rng(0).random(V.shape) < 0.5
    method = BatchMultiplicative(loss, **SETTINGS[setting])
    dense = run(method, cut(V, None, 20), W, 15)
    blocks = [(sparse.csc_array(block), None) for block, _ in cut(V, None, 20)]
    thin = run(method, blocks, W, 15)
    for one, two in zip(dense, thin, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("garbage", [1e3, 0.5])
def test_values_at_missing_entries_have_no_effect(garbage: float) -> None:
    V, W, observed = data(Beta(1.5), gaps=True)
    method = BatchMultiplicative(Beta(1.5))
    clean, dirty = (run(method, [(v, observed)], W, 5) for v in (V, np.where(observed, V, garbage)))
    np.testing.assert_allclose(dirty[0], clean[0], rtol=1e-9)


# --- edges -------------------------------------------------------------------------------------


@all_pairs(
    every_loss,
    pytest.mark.parametrize("case", ["zero-data", "zero-atom", "zero-dictionary", "one-sample"]),
    with_gaps,
)
def test_degenerate_problems(label: str, case: str, gaps: bool) -> None:
    loss = LOSSES[label]
    V, W, observed = data(loss, gaps, seed=6)
    match case:
        case "zero-data":
            V = np.full_like(V, 0.0 if loss.domain.closed else 1.0)
        case "zero-atom":
            W[:, 1] = 0.0
        case "zero-dictionary":
            W = np.zeros_like(W)
        case "one-sample":
            V, observed = V[:, :1], None if observed is None else observed[:, :1]
    W, H, values = run(BatchMultiplicative(loss, code_l1=0.1), [(V, observed)], W, 10)
    assert np.all(np.isfinite(W))
    assert np.all(np.isfinite(H))
    assert np.all(np.diff(values) <= 1e-12 * values[:-1])


def test_no_samples_change_nothing() -> None:
    W = np.full((F, K), 0.1)
    method = BatchMultiplicative(code_l1=0.1)
    nothing = np.empty((F, 0)), None
    start, H = method.start([nothing], W)
    assert H.shape == (K, 0)
    assert method.objective([nothing], start, H) == 0.0
    np.testing.assert_allclose(method.sweep([nothing], start, H)[0], start, rtol=1e-14)
    assert np.array_equal(method.sweep([], start, H)[0], start)


def test_zeros_of_an_initial_dictionary_may_grow_if_the_loss_requires_it() -> None:
    V, W = np.array([[3.0, 6.0], [4.0, 8.0]]), np.array([[1.0], [0.0]])
    W, _, values = run(BatchMultiplicative(), [(V, None)], W, 30)
    assert W.ravel() == pytest.approx([0.6, 0.8])
    assert values[-1] == pytest.approx(0.0, abs=1e-9)


def test_inputs_are_not_modified() -> None:
    V, W, observed = data(KL(), gaps=True)
    method = BatchMultiplicative(code_l1=0.1)
    start, H = method.start([(V, observed)], W)
    copies = [x.copy() for x in (V, W, observed, start, H)]
    method.sweep([(V, observed)], start, H)
    method.objective([(V, observed)], start, H)
    for x, before in zip((V, W, observed, start, H), copies, strict=True):
        assert np.array_equal(x, before)


def test_sets_that_columns_cannot_be_scaled_into() -> None:
    with pytest.raises(ParameterError, match=r"constraint.*box.*Top.*Use 'l2-ball'"):
        BatchMultiplicative(constraint=Top(2))
    with pytest.raises(ParameterError, match=r"codes are penalised.*ElasticNetBall.*Use one"):
        BatchMultiplicative(constraint=ElasticNetBall(), code_l1=0.1)
