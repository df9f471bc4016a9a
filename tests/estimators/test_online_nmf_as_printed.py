"""[D] Algorithm 1 with the printed steps and codes, against a transcription sample by sample."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from thalweg import OnlineNMF
from thalweg._typing import Array
from thalweg.divergences.l1 import L1
from thalweg.encoders.newton import Newton
from thalweg.encoders.subgradient import Subgradient as SubgradientCodes
from thalweg.errors import ParameterError
from thalweg.updates.subgradient import Subgradient

N, F, K, TAU = 60, 8, 3, 5
A, B = 30.0, 200.0


def data() -> Array:
    """Return data of size one, for which a step of a / b = 0.15 is neither long nor short."""
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, 1.0, (N, K)) @ rng.random((K, F)) * rng.gamma(20.0, 0.05, (N, F)) + 0.05


def first() -> Array:
    return 0.1 + 0.8 * np.random.default_rng(1).random((K, F))


def algorithm_1(X: Array, W: Array, codes: Any, grad: Any) -> Array:
    """[D] Algorithm 1 with mini-batches, (11) and VIII-C; no row comes near a sum of 1e-8."""
    for t, begin in enumerate(range(0, len(X), TAU), start=1):
        batch = X[begin : begin + TAU]
        G = np.zeros_like(W)
        for v in batch:
            h = codes(v, W)
            G += np.outer(grad(v, W @ h), h) / len(batch)
        W = np.clip(W - A / (TAU * t + B) * G, 0.0, 1.0)
    return W


def kl(v: Array, p: Array) -> float:
    return float(np.sum(v * np.log(v / p) - v + p))


def kl_slope(v: Array, p: Array) -> Array:
    return 1.0 - v / p


def algorithm_2(v: Array, W: Array, tol: float = 1e-2) -> Array:
    """[D] Algorithms 2 and 3 for KL: xi = 1, 0.1, ... until the projected point is good enough."""
    h = np.full(W.shape[1], v.sum() / W.sum())
    value = start = kl(v, W @ h)
    for _ in range(2000):
        slope = W.T @ kl_slope(v, W @ h)
        for i in range(11):
            new = np.clip(h - 0.1**i * slope, 1e-8, 1e8)
            if kl(v, W @ new) <= value + 0.01 * slope @ (new - h):
                break
        else:
            new = h
        fall, h, value = value - kl(v, W @ new), new, kl(v, W @ new)
        if fall <= 0.1 * tol * value + 1e-12 * start:
            break
    return h


def printed(**options: Any) -> OnlineNMF:
    settings: dict[str, Any] = {"step_schedule": (A, B), "step_rule": "absolute", "init": first()}
    settings |= {"batch_size": TAU, "shuffle": False, "constraint": None, "random_state": 0}
    return OnlineNMF(K, solver="spsgd", **{**settings, **options})


def test_kl_is_algorithms_1_to_3() -> None:
    X = data()
    model = printed(codes="subgradient").fit(X)
    W = algorithm_1(X, first().T, algorithm_2, kl_slope)
    np.testing.assert_allclose(model.components_, W.T, rtol=1e-6, atol=1e-9)
    assert np.abs(W.T - first()).max() > 0.1


def test_squares_are_algorithm_1_with_the_minimum_it_asks_for() -> None:
    X = data()
    model = printed(loss="squared-l2", tol=1e-8).fit(X)
    W = algorithm_1(X, first().T, lambda v, W: nnls(W, v)[0], lambda v, p: p - v)
    np.testing.assert_allclose(model.components_, W.T, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", ["kl", "itakura-saito", "squared-l2", "huber", "l2"])
@pytest.mark.parametrize("rule", ["scaled", "absolute"])
def test_codes_by_subgradients_end_near_exact_ones(loss: str, rule: str) -> None:
    """Not under l1: at exact codes K entries fit, and their slope is any number up to 1."""
    X, options = data(), {"step_schedule": (1.0, 2e4)} if rule == "scaled" else {}
    exact, own = (
        printed(loss=loss, codes=codes, step_rule=rule, tol=1e-5, **options).fit(X)
        for codes in ("exact", "subgradient")
    )
    if loss == "huber":  # its threshold follows the residual: one for both
        own.loss_ = exact.loss_
    assert own.score(X) == pytest.approx(exact.score(X), rel=0.02)
    assert not np.array_equal(own.components_, exact.components_)


def test_polyaks_steps_end_within_the_printed_tolerance() -> None:
    """[D] V-C: within delta_tol of the minimum, here that of a linear program."""
    V, W = data()[:10].T, first().T
    codes = SubgradientCodes(L1(), tol=0.01, max_iter=20_000, absolute=True).encode(V, W)
    assert codes.solved.all()
    cost = np.r_[np.zeros(K), np.ones(2 * F)]
    equal = np.hstack([W, np.eye(F), -np.eye(F)])
    best = np.array([linprog(cost, A_eq=equal, b_eq=v).fun for v in V.T])
    assert np.all(codes.loss >= best - 1e-9)
    assert np.all(codes.loss <= best + 0.01)


@pytest.mark.parametrize("loss", ["kl", "squared-l2", "l1"])
def test_as_printed_large_data_take_the_components_to_their_bounds(loss: str) -> None:
    """[D] VIII-C has a = b = 2e4, so eta = 1, for data of size 1000."""
    X = 1000.0 * data()
    scaled = printed(loss=loss, step_schedule=(1.0, 2e4), step_rule="scaled").fit(X)
    absolute = printed(loss=loss, step_schedule=(2e4, 2e4)).fit(X)
    assert -absolute.score(X) > 1.5 * -scaled.score(X)
    bound = np.mean((absolute.components_ < 1e-6) | (absolute.components_ == 1.0))
    assert bound > 0.5 > np.mean((scaled.components_ < 1e-6) | (scaled.components_ == 1.0))


def test_frozen_components_and_gaps_go_with_it() -> None:
    X = data()
    X[::4, 1] = np.nan
    known = first()[:1]
    model = printed(frozen_components=known, codes="subgradient").fit(X)
    assert np.array_equal(model.components_[:1], known)
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"step_rule": "printed"}, "step_rule.*'scaled', 'absolute'.*'printed'"),
        ({"codes": "newton"}, "codes.*'exact', 'subgradient'.*'newton'"),
        ({"step_schedule": (1.0, np.inf)}, "schedule must be two finite numbers"),
    ],
)
def test_wrong_settings_are_told(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        printed(**options).fit(data())


def test_the_printed_step_does_not_know_the_curvature() -> None:
    rng = np.random.default_rng(2)
    V, W = rng.random((F, 4)), rng.random((F, K))
    update = Subgradient(absolute=True, schedule=(0.1, 1.0))
    state = update.init(W)
    far = state._replace(curvature=np.full(F, 1e9), n_samples=np.asarray(0.0))
    codes = Newton().encode(V, W)
    steps = [update.step(W, s, V, codes)[0] for s in (state, far)]
    assert np.array_equal(*steps)
