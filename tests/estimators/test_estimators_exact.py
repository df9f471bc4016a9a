"""``decompose`` reaches the optimum of an independent convex solver."""

from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from pairwise import all_pairs
from thalweg import RobustNMF, RobustOnlineNMF
from thalweg._typing import Array
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.sparse_group_lasso import SparseGroupLasso
from thalweg.prox.squared_l2 import SquaredL2
from thalweg.synthetic import nmf_with_outliers

F, K, N, WEIGHT = 12, 4, 120, 0.15
GROUPS = ["a", "a", "b", "b"]
FROZEN = np.kron(np.eye(2), np.full(F // 2, (2 / F) ** 0.5))  # two halves, of norm 1
# name: parameters of the estimator, whether there are gaps
SETTINGS: dict[str, tuple[dict[str, Any], bool]] = {
    "plain": ({}, False),
    "gaps": ({}, True),
    "bound": ({"outlier_bound": 0.2}, False),
    "bound and gaps": ({"outlier_bound": 0.2}, True),
    "l1": ({"code_penalty": L1(0.05)}, False),
    "l2": ({"code_penalty": SquaredL2(0.1)}, False),
    "elastic net and gaps": ({"code_penalty": ElasticNet(0.02, 0.1)}, True),
    "group lasso": ({"code_penalty": GroupLasso(0.03, GROUPS)}, False),
    "sparse group lasso": ({"code_penalty": SparseGroupLasso(0.04, GROUPS, 0.6)}, False),
    "group lasso and gaps": ({"code_penalty": GroupLasso(0.03, GROUPS)}, True),
    "nonnegative outliers": ({"outlier_sign": "nonnegative"}, False),
    "whole samples": ({"outlier_structure": "samples"}, False),
    "frozen": ({"frozen_components": FROZEN}, False),
    "frozen and gaps": ({"frozen_components": FROZEN}, True),
    "everything": (
        {
            "frozen_components": FROZEN,
            "outlier_bound": 0.3,
            "outlier_sign": "nonnegative",
            "code_penalty": L1(0.02),
        },
        True,
    ),
}


def problems(gaps: bool) -> Array:
    data = nmf_with_outliers(N, F, K, contaminated=0.9, density=0.3, noise=0.05, random_state=1)
    hidden = np.random.default_rng(2).random((N, F)) < (0.2 if gaps else 0.0)
    return np.where(hidden, np.nan, data.X)


def prices(penalty: Any) -> tuple[float, float, float]:
    """Return what the sum of the codes, half of its squares and its groups' norms cost."""
    match penalty:
        case L1(weight=weight):
            return weight, 0.0, 0.0
        case SquaredL2(weight=weight):
            return 0.0, weight, 0.0
        case ElasticNet(l1=l1, l2=l2):
            return l1, l2, 0.0
        case GroupLasso(weight=weight):
            return 0.0, 0.0, weight * np.sqrt(2)
        case SparseGroupLasso(weight=weight, mix=mix):
            return weight * (1 - mix), 0.0, weight * mix * np.sqrt(2)
    return 0.0, 0.0, 0.0


def optimum(X: Array, components: Array, parameters: dict[str, Any]) -> Array:
    """Return the least loss of each sample, by CVXPY."""
    observed = ~np.isnan(X)
    V = np.where(observed, X, 0.0)
    H, R = cp.Variable((N, K), nonneg=True), cp.Variable((N, F))
    fit = cp.sum(cp.square(cp.multiply(observed, V - H @ components - R)), axis=1) / 2
    if parameters.get("outlier_structure") == "samples":
        cost = WEIGHT * np.sqrt(F) * cp.norm(R, 2, axis=1)
    else:
        cost = WEIGHT * cp.sum(cp.abs(cp.multiply(observed, R)), axis=1)
    l1, l2, groups = prices(parameters.get("code_penalty"))
    norms = cp.norm(H[:, :2], 2, axis=1) + cp.norm(H[:, 2:], 2, axis=1)
    cost += l1 * cp.sum(H, axis=1) + l2 / 2 * cp.sum(cp.square(H), axis=1) + groups * norms
    limits = []
    if bound := parameters.get("outlier_bound"):
        limits.append(cp.abs(cp.multiply(observed, R)) <= bound)
    if parameters.get("outlier_sign") == "nonnegative":
        limits.append(cp.multiply(observed, R) >= 0)
    loss = fit + cost
    accuracy = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9)
    cp.Problem(cp.Minimize(cp.sum(loss)), limits).solve(solver=cp.CLARABEL, **accuracy)
    return np.asarray(loss.value)


def loss(X: Array, found: Any, components: Array, parameters: dict[str, Any]) -> Array:
    """Return the loss of what was found, written out; inf outside of the bounds."""
    observed = ~np.isnan(X)
    H, R = found.codes, found.outliers
    error = np.where(observed, X - H @ components - R, 0.0)
    if parameters.get("outlier_structure") == "samples":
        cost = WEIGHT * np.sqrt(F) * np.linalg.norm(R, axis=1)
    else:
        cost = WEIGHT * np.abs(R).sum(axis=1)
    l1, l2, groups = prices(parameters.get("code_penalty"))
    norms = np.linalg.norm(H[:, :2], axis=1) + np.linalg.norm(H[:, 2:], axis=1)
    cost = cost + l1 * H.sum(axis=1) + l2 / 2 * (H**2).sum(axis=1) + groups * norms
    outside = np.abs(R).max(axis=1) > parameters.get("outlier_bound", np.inf) * (1 + 1e-12)
    if parameters.get("outlier_sign") == "nonnegative":
        outside |= R.min(axis=1) < 0
    outside |= H.min(axis=1) < 0
    return np.where(outside, np.inf, (error**2).sum(axis=1) / 2 + cost)


every_setting = pytest.mark.parametrize("setting", SETTINGS)


@cache
def case(setting: str) -> tuple[Array, Array, dict[str, Any], Array]:
    """Return data, components, parameters, and the least loss of each sample."""
    parameters, gaps = SETTINGS[setting]
    X = problems(gaps)
    model = RobustOnlineNMF(K, outlier_weight=WEIGHT, random_state=0, **parameters).fit(X)
    if "frozen_components" in parameters:
        assert np.array_equal(model.components_[:2], FROZEN)
    return X, model.components_, parameters, optimum(X, model.components_, parameters)


@all_pairs(
    every_setting,
    pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF]),
    pytest.mark.parametrize("solver", ["fast", "pgd", "admm"]),
)
def test_decompose_is_exact(setting: str, solver: str, cls: Any) -> None:
    """Many problems for each setting, all within 1e-6 of the least loss."""
    X, components, parameters, least = case(setting)
    model = cls(K, solver=solver, outlier_weight=WEIGHT, init=components, **parameters)
    if cls is RobustNMF:
        model.set_params(max_iter=1)
    model.fit(X)
    model.components_ = components  # one dictionary for all, so that one optimum serves all
    model.set_params(tol=1e-8)
    reached = loss(X, model.decompose(X), components, parameters)
    assert np.all(reached <= least * (1 + 1e-6) + 1e-9)
    assert np.allclose(-model.score_samples(X[:9]), reached[:9], rtol=1e-7, atol=1e-9)


@every_setting
def test_the_default_tolerance_is_near(setting: str) -> None:
    X, components, parameters, least = case(setting)
    model = RobustOnlineNMF(K, outlier_weight=WEIGHT, init=components, **parameters).fit(X)
    model.components_ = components
    reached = loss(X, model.decompose(X), components, parameters)
    assert least.sum() <= reached.sum() * (1 + 1e-6)
    assert reached.sum() <= 1.01 * least.sum()
