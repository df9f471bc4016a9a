"""The constrained form (3) of [A]: against SciPy's SLSQP over all three blocks at once."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from thalweg import SparseArchetypalNMF, checkpoint, distributed, metrics
from thalweg.archetypes import DataMatrix, Problem
from thalweg.archetypes.constrained_problem import solve_constrained
from thalweg.archetypes.continuation import Continuation
from thalweg.archetypes.initialisation import from_archetypes, successive_projections
from thalweg.errors import ParameterError


def oracle(X: Any, alpha: float, blocks: Any, support: Any) -> tuple[float, float]:
    """Return D and the largest distance over alpha at the result of SLSQP from given blocks."""
    (m, n), k = X.shape, len(blocks[0])
    cuts = [k * n, k * n + m * k]

    def taken_apart(z: Any) -> tuple[Any, Any, Any]:
        H, W, T = np.split(z, cuts)
        return H.reshape(k, n), W.reshape(m, k), T.reshape(k, m)

    def distance(z: Any) -> tuple[float, Any]:
        H, _, T = taken_apart(z)
        rest = H - T @ X
        slope = np.concatenate([2 * rest.ravel(), np.zeros(m * k), (-2 * rest @ X.T).ravel()])
        return float(np.sum(rest**2)), slope

    def room(z: Any) -> Any:
        H, W, _ = taken_apart(z)
        return 1.0 - np.sum((X - W @ H) ** 2, axis=1) / alpha**2

    def room_slopes(z: Any) -> Any:
        H, W, _ = taken_apart(z)
        rest, slopes = 2.0 * (X - W @ H) / alpha**2, np.zeros((m, len(z)))
        for i in range(m):
            slopes[i, : cuts[0]] = np.outer(W[i], rest[i]).ravel()
            slopes[i, cuts[0] + i * k : cuts[0] + (i + 1) * k] = H @ rest[i]
        return slopes

    sums = np.zeros((m + k, cuts[1] + k * m))
    for i in range(m):
        sums[i, cuts[0] + i * k : cuts[0] + (i + 1) * k] = 1.0
    for i in range(k):
        sums[m + i, cuts[1] + i * m : cuts[1] + (i + 1) * m] = 1.0
    top = np.where(np.append(support.ravel(), np.ones(sums.shape[1] - cuts[0], bool)), np.inf, 0.0)
    ended = minimize(
        distance,
        np.concatenate([np.ravel(block) for block in blocks]),
        jac=True,
        method="SLSQP",
        bounds=np.column_stack([np.zeros(len(top)), top]),
        constraints=[
            {"type": "ineq", "fun": room, "jac": room_slopes},
            {"type": "eq", "fun": lambda z: sums @ z - 1.0, "jac": lambda _: sums},
        ],
        options={"maxiter": 300, "ftol": 1e-12},
    )
    return float(ended.fun), float(np.sqrt(1.0 - room(ended.x).min()))


def random_samples(seed: int, m: int, n: int, k: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), m) @ rng.random((k, n)) + 0.05 * rng.random((m, n))


# seed, samples, features, archetypes, nonzeros, and alpha as a share of a fit with weight 1
CASES = [
    (0, 12, 3, 3, None, 0.7),
    (1, 20, 4, 3, None, 0.9),
    (3, 15, 5, 4, None, 0.9),  # here and below no multipliers have a feasible minimum
    (7, 15, 5, 4, None, 0.7),
    (1, 20, 4, 3, 7, 0.7),
    (5, 20, 4, 3, 7, 0.7),
]


@pytest.mark.parametrize(("seed", "m", "n", "k", "nonzeros", "share"), CASES, ids=str)
def test_slsqp_does_not_improve_the_solution(
    seed: int, m: int, n: int, k: int, nonzeros: int | None, share: float
) -> None:
    """For the same support; without a limit on nonzeros also from random samples."""
    X = random_samples(seed, m, n, k)
    rows = DataMatrix.of(X)
    start = from_archetypes(rows, rows.take(successive_projections(rows, k)))
    H, W, _ = Continuation(6).run(Problem(rows, 1.0, nonzeros), start)[1].point.state
    alpha = share * float(np.sqrt(np.sum((X - W @ H) ** 2, axis=1).max()))
    found = solve_constrained(rows, start, alpha, nonzeros)
    assert found.feasible
    assert found.worst <= alpha
    support = np.ones((k, n), bool) if nonzeros is None else found.state.H > 0
    lowest, worst = oracle(X, alpha, found.state, support)
    assert worst <= 1 + 1e-6
    assert lowest <= found.distance <= 1.02 * lowest
    if seed == 0:
        rng = np.random.default_rng(0)
        for _ in range(3):
            blocks = X[rng.choice(m, k, False)], rng.dirichlet(np.ones(k), m), start.T
            lowest, worst = oracle(X, alpha, blocks, support)
            assert worst > 1 + 1e-6 or found.distance <= 1.02 * lowest


@pytest.fixture(scope="module", name="X")
def _data() -> Any:
    return random_samples(1, 30, 6, 3)


def test_the_estimator_reports_that_it_is_feasible(X: Any, tmp_path: Any) -> None:
    model = SparseArchetypalNMF(3, weight=None, alpha=0.08, sparsity=14, random_state=0).fit(X)
    H = model.components_
    distances = np.sqrt(-model.score_samples(X))
    assert model.feasible_ is True
    assert model.violation_ == 0.0
    assert distances.max() <= 0.08 * (1 + 1e-9)
    assert np.count_nonzero(H) <= 14
    assert model.objective_ == pytest.approx(metrics.hull_distance(H, X))
    assert (
        model.objective_
        == model.init_objectives_[model.init_]
        == min(model.init_objectives_.values())
    )
    np.testing.assert_allclose(model.hull_weights_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.membership_ @ H, model.transform(X) @ H, atol=1e-6)
    assert not any(hasattr(model, name) for name in ("path_", "stationarity_", "n_swaps_"))
    checkpoint.save(tmp_path / "model.tw", model)
    again = checkpoint.load(tmp_path / "model.tw").estimator
    assert (again.feasible_, again.violation_, again.alpha) == (True, 0.0, 0.08)
    assert hasattr(model.set_params(weight=1.0, alpha=None).fit(X), "path_")
    assert not hasattr(model, "feasible_")


def test_an_infeasible_problem_is_reported(X: Any) -> None:
    options: dict[str, Any] = {"weight": None, "init": "projections"}
    model = SparseArchetypalNMF(1, alpha=0.01, **options).fit(X)
    worst = np.sqrt(-model.score_samples(X)).max()
    assert model.feasible_ is False
    assert model.violation_ == pytest.approx(worst - 0.01)
    assert model.init_objectives_ == {"projections": np.inf}


def test_a_larger_alpha_has_a_smaller_objective_and_units_do_not_matter(X: Any) -> None:
    def fitted(alpha: float, unit: float = 1.0) -> SparseArchetypalNMF:
        options: dict[str, Any] = {"weight": None, "init": "projections", "sparsity": 14}
        return SparseArchetypalNMF(3, alpha=alpha * unit, **options).fit(unit * X)

    tight, loose = fitted(0.08), fitted(0.16)
    assert tight.objective_ > loose.objective_
    large = fitted(0.08, 2.0**20)
    np.testing.assert_array_equal(large.components_, 2.0**20 * tight.components_)


def test_the_outer_approximation_bounds_it(X: Any) -> None:
    options: dict[str, Any] = {"weight": None, "alpha": 0.1, "sparsity": 9, "mip_time": 2.0}
    model = SparseArchetypalNMF(3, init="mip", **options).fit(X)
    assert 0.0 <= model.bound_ <= model.objective_
    assert not hasattr(model, "init_guarantee_")


def test_missing_entries_are_imputed_first(X: Any) -> None:
    gaps = np.random.default_rng(0).random(X.shape) < 0.1
    incomplete = np.where(gaps, np.nan, X)
    model = SparseArchetypalNMF(3, weight=None, alpha=0.15, init="projections").fit(incomplete)
    assert model.feasible_
    filled = model.membership_ @ model.components_
    known = np.sqrt(np.sum(np.where(gaps, 0.0, X - filled) ** 2, axis=1))
    assert known.max() <= 0.15 * (1 + 1e-9)
    mean = np.broadcast_to(np.nanmean(incomplete, axis=0), X.shape)
    assert np.mean((filled - X)[gaps] ** 2) < 0.5 * np.mean((mean - X)[gaps] ** 2)


@pytest.mark.parametrize("alpha", [None, 0.0, -1.0, np.nan, np.inf, "near", True])
def test_alpha_is_a_distance(X: Any, alpha: Any) -> None:
    with pytest.raises(ParameterError, match=r"alpha must be a finite number above 0 .*got"):
        SparseArchetypalNMF(2, weight=None, alpha=alpha).fit(X)


def test_unsupported_combinations_raise(X: Any) -> None:
    with pytest.raises(ParameterError, match=r"alpha must be None unless weight is None, got 0\.1"):
        SparseArchetypalNMF(2, alpha=0.1).fit(X)
    model = SparseArchetypalNMF(2, weight=None, alpha=0.1)
    with pytest.raises(ParameterError, match="weight must be a number for data in blocks"):
        distributed.fit(model, X, block_size=10)
    assert not hasattr(model, "components_")
