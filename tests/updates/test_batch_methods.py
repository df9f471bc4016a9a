"""The contract of all batch methods, and the iterations of the paper's two methods."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

import reference
from pairwise import all_pairs
from thalweg._rooms import members
from thalweg.encoders.fast import Fast
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.updates import BatchMethod, Factors
from thalweg.updates.surrogate import Surrogate

Array = Any
F, K, N = 8, 2, 16
WEIGHT = 0.2
NAMES = [n for n, cls in members("thalweg.updates").items() if hasattr(cls, "advance")]
MODELS = {
    "plain": {},
    "bounded": {"outliers": L1(WEIGHT, 0.4)},
    "nonnegative": {"outliers": L1(WEIGHT, nonnegative=True)},
    "whole": {"outliers": GroupLasso(0.1)},
    "sparse": {"penalty": ElasticNet(0.02, 0.05, nonnegative=True)},
    "simplex": {"constraint": Simplex()},
    # Codes cost as well, or small atoms with large codes would be for free.
    "penalised": {"l1": 0.01, "l2": 0.02, "penalty": ElasticNet(0.01, 0.1, nonnegative=True)},
}

every_method = pytest.mark.parametrize("name", NAMES)
every_model = pytest.mark.parametrize("model", MODELS)
with_gaps = pytest.mark.parametrize("gaps", [False, True], ids=["full", "gaps"])


def parts(model: str) -> dict[str, Any]:
    usual = {
        "outliers": L1(WEIGHT), "penalty": Orthant(), "constraint": L2Ball(), "l1": 0.0, "l2": 0.0,
    }  # fmt: skip
    return {**usual, **MODELS[model]}


def build(name: str, model: str = "plain", frozen: int = 0, **options: Any) -> Any:
    """Return the method for a model; the exact alternation gets it by its two halves."""
    p = parts(model)
    cls = members("thalweg.updates")[name]
    if name != "batch-fast":
        return cls(**p, frozen=frozen, **options)
    return cls(
        Fast(outliers=p["outliers"], penalty=p["penalty"], exit="gap", tol=1e-7),
        Surrogate(
            solver=BlockCoordinate(tol=1e-8),
            constraint=p["constraint"], l1=p["l1"], l2=p["l2"], frozen=frozen,
        ),
    )  # fmt: skip


def data(seed: int = 0, gaps: bool = False, dtype: Any = np.float64) -> tuple[Array, Array, Any]:
    rng = np.random.default_rng(seed)
    truth = np.abs(rng.normal(size=(F, K))) * (rng.random((F, K)) < 0.7)
    truth /= np.maximum(np.linalg.norm(truth, axis=0), 0.1)
    V = truth @ rng.random((K, N)) + 0.02 * rng.normal(size=(F, N))
    V += (rng.random((F, N)) < 0.1) * rng.random((F, N))
    W = L2Ball().prox(rng.random((F, K)))
    observed = rng.random((F, N)) < 0.8 if gaps else None
    return V.astype(dtype), W.astype(dtype), observed


def objective(model: str, V: Array, factors: Factors, observed: Array | None) -> float:
    """Return the mean loss of the samples, with the penalty of the dictionary."""
    p = parts(model)
    W, H, R = factors
    kept = np.ones(V.shape, bool) if observed is None else observed
    rest = np.where(kept, V - W @ H - R, 0.0)
    costs = p["outliers"].value(np.where(kept, R, 0.0)) + p["penalty"].value(H)
    fit = np.mean(0.5 * np.sum(rest**2, axis=0) + costs)
    return float(fit + p["l1"] * W.sum() + 0.5 * p["l2"] * np.sum(W**2))


def run(method: Any, V: Array, W: Array, observed: Any, rounds: int) -> list[Factors]:
    state = method.start(V, W, observed)
    track = [method.factors(state)]
    for _ in range(rounds):
        state = method.advance(V, state, observed)
        track.append(method.factors(state))
    return track


def test_the_room_is_complete() -> None:
    assert {"batch-admm", "batch-fast", "batch-pgd"} <= set(NAMES)


@every_method
def test_follows_the_protocol(name: str) -> None:
    method = members("thalweg.updates")[name]()
    assert isinstance(method, BatchMethod)
    assert method.name == name


@all_pairs(every_method, every_model, with_gaps)
def test_points_are_feasible_and_better_than_the_start(name: str, model: str, gaps: bool) -> None:
    V, W, observed = data(1, gaps)
    p = parts(model)
    W = p["constraint"].prox(W)
    track = run(build(name, model), V, W, observed, 30)
    for factors in track:
        assert factors.W.shape == W.shape
        assert factors.H.shape == (K, N)
        assert factors.R.shape == V.shape
        assert all(np.all(np.isfinite(x)) for x in factors)
        assert np.all(p["constraint"].value(factors.W) == 0)
        assert np.all(factors.H >= 0)
        assert objective(model, V, factors, observed) < inf
    nothing = Factors(W, np.zeros((K, N)), np.zeros_like(V) if observed is None else V * ~observed)
    assert objective(model, V, track[-1], observed) < 0.5 * objective(model, V, nothing, observed)


@all_pairs(
    every_method,
    every_model,
    with_gaps,
    pytest.mark.parametrize("frozen", [0, 1]),
)
def test_all_methods_end_at_a_point_no_step_improves(
    name: str, model: str, gaps: bool, frozen: int
) -> None:
    """Codes are best for the dictionary, and its free part, by a prox step, for the codes."""
    V, W, observed = data(2, gaps)
    p = parts(model)
    W = p["constraint"].prox(W)
    rounds = 100 if name == "batch-fast" else 2500
    W, H, R = run(build(name, model, frozen), V, W, observed, rounds)[-1]
    value = objective(model, V, Factors(W, H, R), observed)
    encoder = Fast(outliers=p["outliers"], penalty=p["penalty"], exit="gap", tol=1e-8)
    codes = encoder.encode(V, W, observed=observed)
    best = objective(model, V, Factors(W, codes.H, codes.R), observed)
    assert value == pytest.approx(best, rel=1e-4)
    kept = np.ones(V.shape, bool) if observed is None else observed
    rest = np.where(kept, W @ H + R - V, 0.0)
    slope = rest @ H.T / N + p["l1"] + p["l2"] * W
    step = 0.5 / np.linalg.norm(H @ H.T / N, 2)
    moved = p["constraint"].prox(W - step * slope, step)
    assert np.abs(moved - W)[:, frozen:].max() / step < 1e-3


@pytest.mark.parametrize("name", ["batch-fast", "batch-pgd"])
@every_model
@with_gaps
def test_the_objective_falls_with_each_round(name: str, model: str, gaps: bool) -> None:
    V, W, observed = data(3, gaps)
    W = parts(model)["constraint"].prox(W)
    # A gap's outlier costs nothing, and is part of the descent: with the dictionary of the round
    # before it is not yet the best one.
    shown = None if name == "batch-pgd" else observed
    mask = np.ones(V.shape, bool) if observed is None else observed

    def value(factors: Factors) -> float:
        if shown is not None or observed is None:
            return objective(model, V, factors, observed)
        lag = np.where(mask, 0.0, V - factors.W @ factors.H - factors.R)
        return objective(model, V, factors, observed) + 0.5 * np.sum(lag**2) / N

    values = [value(f) for f in run(build(name, model), V, W, observed, 40)]
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    assert values[-1] < 0.6 * values[0]


@every_method
@with_gaps
def test_frozen_atoms_never_change(name: str, gaps: bool) -> None:
    V, W, observed = data(5, gaps)
    W[:, 0] *= 2.0  # a given atom need not be in the set
    track = run(build(name, frozen=1), V, W, observed, 60)
    for factors in track:
        assert np.array_equal(factors.W[:, 0], W[:, 0])
    assert np.abs(track[-1].W[:, 1:] - W[:, 1:]).max() > 0.01
    ends = [objective("plain", V, f, observed) for f in (track[0], track[-1])]
    assert ends[1] < 0.8 * ends[0]


@every_method
def test_a_dictionary_that_is_all_frozen(name: str) -> None:
    V, W, _ = data(5)
    assert np.array_equal(run(build(name, frozen=K), V, W, None, 3)[-1].W, W)


@every_method
def test_values_at_missing_entries_have_no_effect(name: str) -> None:
    V, W, observed = data(6, gaps=True)
    rng = np.random.default_rng(0)
    clean = run(build(name), np.where(observed, V, 0.0), W, observed, 8)
    for garbage in (1e3, -5.0, 100.0 * rng.normal(size=V.shape)):
        dirty = np.where(observed, V, garbage)
        for one, other in zip(clean, run(build(name), dirty, W, observed, 8), strict=True):
            np.testing.assert_allclose(other.W, one.W, rtol=0, atol=1e-9)
            np.testing.assert_allclose(other.H, one.H, rtol=0, atol=1e-9)
            np.testing.assert_allclose(other.R[observed], one.R[observed], rtol=0, atol=1e-9)


@every_method
@with_gaps
def test_float32_stays_float32(name: str, gaps: bool) -> None:
    V, W, observed = data(7, gaps, dtype=np.float32)
    end = run(build(name), V, W, observed, 20)[-1]
    assert {x.dtype for x in end} == {np.dtype(np.float32)}
    wide = run(build(name), V.astype(np.float64), W.astype(np.float64), observed, 20)[-1]
    values = [objective("plain", V.astype(np.float64), f, observed) for f in (end, wide)]
    assert values[0] == pytest.approx(values[1], rel=1e-3)


@every_method
@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_are_not_modified(name: str, order: Any) -> None:
    V, W, observed = data(8, gaps=True)
    inputs = [np.array(x, order=order) for x in (V, W, observed)]
    end = run(build(name), *inputs, rounds=5)[-1]
    for x, before in zip(inputs, (V, W, observed), strict=True):
        assert np.array_equal(x, before)
    other = run(build(name), V.copy(), W.copy(), observed.copy(), rounds=5)[-1]
    np.testing.assert_allclose(end.W, other.W, rtol=0, atol=1e-12)


@every_method
@pytest.mark.parametrize("case", ["zero-data", "zero-dictionary", "zero-atom", "one-sample"])
@with_gaps
def test_degenerate_problems(name: str, case: str, gaps: bool) -> None:
    V, W, observed = data(9, gaps)
    match case:
        case "zero-data":
            V = np.zeros_like(V)
        case "zero-dictionary":
            W = np.zeros_like(W)
        case "zero-atom":
            W[:, 1] = 0.0
        case "one-sample":
            V, observed = V[:, :1], None if observed is None else observed[:, :1]
    track = run(build(name), V, W, observed, 20)
    for factors in track:
        assert all(np.all(np.isfinite(x)) for x in factors)
        assert np.all(L2Ball().value(factors.W) == 0)
    ends = [objective("plain", V, f, observed) for f in (track[0], track[-1])]
    assert ends[1] <= ends[0] * (1 + 1e-12)


# --- the paper's two methods, iteration for iteration ------------------------------------------


@pytest.mark.parametrize("bound", [inf, 0.3])
@pytest.mark.parametrize("kappa", [0.3, 0.7, 1.0])
@with_gaps
def test_pgd_is_the_papers(bound: float, kappa: float, gaps: bool) -> None:
    V, W, observed = data(10, gaps)
    kept = np.ones(V.shape, bool) if observed is None else observed
    method = replace(build("batch-pgd"), outliers=L1(WEIGHT, bound), kappa=kappa)
    track = run(method, V, W, observed, 15)
    H = np.column_stack([reference.ridge_start(V[:, j], W, kept[:, j]) for j in range(N)])
    R = np.where(kept, 0.0, V - W @ H)
    for factors in track[1:]:
        W, H, R = reference.bpgd_round(V, W, H, R, WEIGHT, bound, kappa, kept)
        for mine, naive in zip(factors, (W, H, R), strict=True):
            np.testing.assert_allclose(mine, naive, rtol=0, atol=1e-12)


@pytest.mark.parametrize("bound", [inf, 0.3])
@pytest.mark.parametrize("rho", [0.5, 1.0, 4.0])
@with_gaps
def test_admm_is_the_papers(bound: float, rho: float, gaps: bool) -> None:
    V, W, observed = data(11, gaps)
    kept = np.ones(V.shape, bool) if observed is None else observed
    method = replace(build("batch-admm"), outliers=L1(WEIGHT, bound), rho=rho)
    state, naive = method.start(V, W, observed), reference.badmm_start(V, W, kept)
    for _ in range(15):
        state = method.advance(V, state, observed)
        naive = reference.badmm_round(V, naive, WEIGHT, bound, rho, kept)
        for field in ("H", "W", "U", "Psi", "A", "D"):
            np.testing.assert_allclose(
                getattr(state, field), getattr(naive, field), rtol=0, atol=1e-10, err_msg=field
            )
        for field in ("R", "Q", "B"):
            mine, theirs = getattr(state, field), getattr(naive, field)
            np.testing.assert_allclose(mine[kept], theirs[kept], atol=1e-10, err_msg=field)
    assert np.array_equal(method.factors(state).W, state.Psi)
    assert np.array_equal(method.factors(state).H, state.U)


def test_fast_is_encode_then_minimise() -> None:
    V, W, observed = data(12, gaps=True)
    method = build("batch-fast")
    track = run(method, V, W, observed, 5)
    H0 = None
    for factors in track[1:]:
        codes = method.encoder.encode(V, W, H0=H0, observed=observed)
        W, _ = method.update.step(W, method.update.init(W), V, codes)
        H0 = codes.H
        np.testing.assert_allclose(factors.W, W, rtol=0, atol=1e-12)
        np.testing.assert_allclose(factors.H, codes.H, rtol=0, atol=1e-12)
        np.testing.assert_allclose((V - factors.R - W @ codes.H)[~observed], 0.0, atol=1e-12)
