"""At a tight tolerance every encoder reaches the optimum of an independent convex solver.

The objective is written out here, from H and R alone, and so is the convex program.
"""

import warnings
from dataclasses import dataclass
from functools import cache
from math import inf, sqrt
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import pytest

from thalweg._rooms import members
from thalweg.encoders._robust_problem import RobustProblem
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.prox.sparse_group_lasso import SparseGroupLasso
from thalweg.prox.squared_l2 import SquaredL2

Array = Any
NAMES = [n for n, cls in members("thalweg.encoders").items() if hasattr(cls(), "outliers")]
F, K, DICTIONARIES, SAMPLES = 12, 4, 3, 20  # 60 problems per setting
GROUPS = (0, 0, 1, 1)
ROWS = ([0, 1], [2, 3])


@dataclass(frozen=True)
class Setting:
    """A problem, by its formula; the components of the library are built from it."""

    weight: float = 0.15
    bound: float = inf
    positive: bool = False  # outliers
    whole: bool = False  # outliers are whole samples
    gaps: bool = False
    l1: float = 0.0
    l2: float = 0.0
    group: float = 0.0

    @property
    def outliers(self) -> Any:
        if self.whole:
            return GroupLasso(self.weight, None, self.positive)
        return L1(self.weight, self.bound, self.positive)

    @property
    def penalty(self) -> Any:
        if self.group and self.l1:
            total = self.group + self.l1
            return SparseGroupLasso(total, GROUPS, self.group / total, nonnegative=True)
        if self.group:
            return GroupLasso(self.group, GROUPS, nonnegative=True)
        if self.l1 and self.l2:
            return ElasticNet(self.l1, self.l2, nonnegative=True)
        if self.l1:
            return L1(self.l1, nonnegative=True)
        return SquaredL2(self.l2, nonnegative=True) if self.l2 else Orthant()


SETTINGS = {
    "plain": Setting(),
    "bounded": Setting(bound=0.4),
    "nonnegative": Setting(positive=True),
    "nonnegative-bounded": Setting(positive=True, bound=0.4),
    "gaps": Setting(gaps=True),
    "gaps-bounded": Setting(gaps=True, bound=0.4),
    "l1": Setting(l1=0.2),
    "l2": Setting(l2=0.3),
    "elastic-net": Setting(l1=0.1, l2=0.2),
    "group-lasso": Setting(group=0.15),
    "sparse-group-lasso": Setting(group=0.1, l1=0.1),
    "whole-samples": Setting(whole=True, weight=0.1),
    "whole-samples-nonnegative": Setting(whole=True, weight=0.1, positive=True),
    "whole-samples-gaps": Setting(whole=True, weight=0.1, gaps=True),
    "gaps-l1": Setting(gaps=True, l1=0.2),
    "gaps-group-lasso": Setting(gaps=True, group=0.15),
    "bounded-elastic-net": Setting(bound=0.4, l1=0.1, l2=0.2),
}


class Data(NamedTuple):
    """Samples of one dictionary, and the codes and outliers that CVXPY found for them."""

    V: Array
    W: Array
    observed: Array
    H: Array
    R: Array
    least: float


def samples(seed: int, gaps: bool) -> tuple[Array, Array, Array]:
    """Return data with dense noise and outliers of both signs, on a well-scaled dictionary."""
    rng = np.random.default_rng(seed)
    W = np.abs(rng.normal(size=(F, K))) * (rng.random((F, K)) < 0.6) + 0.1
    W /= np.linalg.norm(W, axis=0)
    H = rng.random((K, SAMPLES)) * (rng.random((K, SAMPLES)) < 0.7)
    V = W @ H + 0.05 * rng.normal(size=(F, SAMPLES))
    V += (rng.random(V.shape) < 0.15) * rng.normal(size=V.shape)
    V[:, :4] += rng.normal(size=(F, 4))
    observed = rng.random(V.shape) < 0.8 if gaps else np.ones(V.shape, bool)
    observed[0] = True
    return V, W, observed


def losses(s: Setting, V: Array, W: Array, observed: Array, H: Array, R: Array) -> Array:
    """Return the objective of each sample."""
    rest = np.where(observed, V - W @ H - R, 0.0)
    taken = np.where(observed, R, 0.0)
    size = sqrt(F) * np.linalg.norm(taken, axis=0) if s.whole else np.abs(taken).sum(axis=0)
    total = 0.5 * np.sum(rest**2, axis=0) + s.weight * size
    total += s.l1 * H.sum(axis=0) + 0.5 * s.l2 * np.sum(H**2, axis=0)
    for rows in ROWS:
        total += s.group * sqrt(len(rows)) * np.linalg.norm(H[rows], axis=0)
    return total


def program(s: Setting, V: Array, W: Array, observed: Array) -> tuple[Array, Array, float]:
    """Return codes, outliers and the least total objective from CVXPY."""
    H, R = cp.Variable((K, SAMPLES), nonneg=True), cp.Variable((F, SAMPLES))
    size = sqrt(F) * cp.sum(cp.norm(R, 2, axis=0)) if s.whole else cp.sum(cp.abs(R))
    total = cp.sum_squares(cp.multiply(observed, V - W @ H - R)) / 2 + s.weight * size
    total += s.l1 * cp.sum(H) + s.l2 / 2 * cp.sum_squares(H)
    for rows in ROWS if s.group else ():
        total += s.group * sqrt(len(rows)) * cp.sum(cp.norm(H[rows], 2, axis=0))
    limits = [cp.abs(R) <= s.bound] * (s.bound < inf) + [R >= 0] * s.positive
    problem = cp.Problem(cp.Minimize(total), limits)
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
    with warnings.catch_warnings():
        # At this gap Clarabel calls some solutions inaccurate; they still agree with ours.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, **tight)
    low = 0.0 if s.positive else -s.bound
    return np.maximum(H.value, 0.0), np.clip(R.value, low, s.bound), float(problem.value)


@cache
def data(setting: str) -> list[Data]:
    s = SETTINGS[setting]
    found = []
    for seed in range(DICTIONARIES):
        V, W, observed = samples(seed, s.gaps)
        found.append(Data(V, W, observed, *program(s, V, W, observed)))
    return found


def build(name: str, s: Setting, **options: Any) -> Any:
    return members("thalweg.encoders")[name](outliers=s.outliers, penalty=s.penalty, **options)


def test_the_room_is_complete() -> None:
    assert {"admm", "fast", "pgd"} <= set(NAMES)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_settings_are_not_trivial(setting: str) -> None:
    """Some codes are zero and some are not, and so for outliers, or the test shows little."""
    s = SETTINGS[setting]
    some = lambda mask: 0.02 < np.mean(mask) < 0.98  # noqa: E731
    everything = data(setting)
    assert some(np.hstack([d.H for d in everything]) > 1e-6)
    outliers = np.hstack([np.where(d.observed, d.R, 0.0) for d in everything])
    assert some(np.abs(outliers).max(axis=0) > 1e-6 if s.whole else np.abs(outliers) > 1e-6)
    if s.bound < inf:
        assert np.sum(np.abs(outliers) > s.bound - 1e-6) > 30
    if s.gaps:
        assert some(np.hstack([d.observed for d in everything]))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_reaches_the_optimum(name: str, setting: str) -> None:
    s = SETTINGS[setting]
    encoder = build(name, s, exit="gap", tol=1e-8, max_iter=100_000)
    for V, W, observed, H, R, least in data(setting):
        codes = encoder.encode(V, W, observed=observed if s.gaps else None)
        assert codes.solved.all()
        ours = losses(s, V, W, observed, codes.H, codes.R)
        best = losses(s, V, W, observed, H, R)
        # CVXPY's point is feasible, so it bounds each sample's optimum from above...
        np.testing.assert_allclose(ours, best, rtol=1e-6, atol=0)
        # ... and the sum of all optima is known from its certificate.
        assert ours.sum() == pytest.approx(least, rel=1e-6)
        np.testing.assert_allclose(codes.loss, ours, rtol=1e-10)
        rest = np.where(observed, V - W @ codes.H - codes.R, 0.0)
        np.testing.assert_allclose(codes.cost, ours - 0.5 * np.sum(rest**2, axis=0), atol=1e-12)
        assert np.all(codes.H >= 0)
        taken = codes.R[observed]
        assert np.all(np.abs(taken) <= s.bound * (1 + 1e-15))
        assert not s.positive or np.all(taken >= 0)
        np.testing.assert_allclose((V - codes.R - W @ codes.H)[~observed], 0.0, atol=1e-14)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_duality_gap_is_an_upper_bound_and_closes(setting: str) -> None:
    s = SETTINGS[setting]
    rng = np.random.default_rng(0)
    for V, W, observed, H, R, _ in data(setting)[:2]:
        mask = observed if s.gaps else None
        problem = RobustProblem(np.where(observed, V, 0.0), W, mask, s.outliers, s.penalty)
        optimum = losses(s, V, W, observed, H, R)
        for size in (1.0, 0.1, 1e-3):
            somewhere = np.maximum(H + size * rng.normal(size=H.shape), 0.0)
            point = problem.at(somewhere)
            true = losses(s, V, W, observed, somewhere, point.Z - point.E) - optimum
            gap = problem.gap(point)
            assert np.all(true >= -1e-9)
            assert np.all(gap >= true - 1e-9)
            assert np.all(np.isfinite(gap))
        codes = build("fast", s, exit="gap", tol=1e-10, max_iter=10_000).encode(V, W, observed=mask)
        closed = problem.gap(problem.at(codes.H))
        assert np.all(closed >= -1e-14)
        np.testing.assert_array_less(closed, 1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_gap_of_tol_is_kept(setting: str) -> None:
    """The loss of every sample is within tol of the optimum."""
    s = SETTINGS[setting]
    V, W, observed, H, R, _ = data(setting)[0]
    best = losses(s, V, W, observed, H, R)
    for name in NAMES:
        for tol in (1e-2, 1e-4):
            encoder = build(name, s, exit="gap", tol=tol, max_iter=100_000)
            codes = encoder.encode(V, W, observed=observed if s.gaps else None)
            assert codes.solved.all()
            assert np.all(codes.loss <= best * (1 + 2 * tol))
