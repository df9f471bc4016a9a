"""Small problems with known solutions."""

from typing import Any

import numpy as np
import pytest

from thalweg.archetypes import DataMatrix, Problem, State
from thalweg.archetypes.initialisation import from_archetypes, random_samples
from thalweg.synthetic import archetypal_mixtures

K = 4


@pytest.fixture(params=[(0.0, None), (1.0, None), (1.0, 50), (8.0, 30)], ids=str)
def problem(request: pytest.FixtureRequest) -> Problem:
    """Return (17) with several weights and sparsities."""
    weight, nonzeros = request.param
    X = archetypal_mixtures(40, 25, K, noise=0.05, random_state=3).X
    return Problem(DataMatrix.of(X), weight, nonzeros)


@pytest.fixture
def state(problem: Problem) -> State:
    """Return an initial state."""
    chosen = random_samples(problem.rows, K, np.random.default_rng(0))
    return from_archetypes(problem.rows, problem.rows.take(chosen))


def feasible(state: Any, nonzeros: int | None) -> bool:
    """Return whether a state is feasible."""
    H, W, T = state
    inside = all(np.all(block >= 0) for block in state)
    sums = np.allclose(W.sum(axis=1), 1.0) and np.allclose(T.sum(axis=1), 1.0)
    return inside and sums and (nonzeros is None or np.count_nonzero(H) <= nonzeros)


@pytest.fixture(name="feasible")
def _feasible() -> Any:
    return feasible
