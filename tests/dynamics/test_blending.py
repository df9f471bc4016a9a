"""Weighted means of fills: weights by length of gap, against least squares."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from thalweg.dynamics import Expected
from thalweg.learning.blending import Blend, blend_trials
from thalweg.learning.hidden_trials import HiddenTrials


class Noisy:
    """A model whose fills are the truth with given errors."""

    name = "noisy"

    def __init__(self, values: Any) -> None:
        self.values = values

    def fit(self, X: Any, times: Any, n_components: int) -> None:
        return None

    def smooth(self, state: Any, X: Any, times: Any) -> Expected:
        return Expected(self.values, np.ones(X.shape))


def trials(sizes: Any, seed: int = 0) -> tuple[HiddenTrials, list[Any]]:
    """Return trials with independent errors of these sizes, in short and in long gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4000, 4))
    X[:, 0][rng.random(4000) < 0.2] = np.nan
    for start in range(0, 3900, 100):
        X[start : start + 20, 1] = np.nan
    table = HiddenTrials(X, np.arange(4000.0), rng)
    long = table.lengths >= 8
    found = [
        table.timed(
            Noisy(np.nan_to_num(X) + rng.normal(size=X.shape) * np.where(long, large, small)), 0
        )
        for small, large in sizes
    ]
    return table, found


def test_weights_are_those_of_least_squares_in_each_class() -> None:
    table, (one, two) = trials([(0.1, 1.0), (0.1, 0.5)])
    blend = blend_trials(table, one)
    assert blend.members == (one, two)
    own = table.lengths[table.hidden]
    errors = [table.errors(table.expected(trial).mean) for trial in (one, two)]
    for k, begin in enumerate(blend.lengths):
        end = blend.lengths[k + 1] if k + 1 < len(blend.lengths) else np.inf
        a, b = (e[(own >= begin) & (own < end)] for e in errors)
        best = minimize_scalar(lambda w, a=a, b=b: np.mean(((1 - w) * a + w * b) ** 2)).x
        assert blend.weights[k, 1] == pytest.approx(best, abs=0.12)
        assert blend.weights[k].sum() == pytest.approx(1.0)
    assert blend.weights[-1, 1] > blend.weights[0, 1] + 0.1


def test_a_model_that_does_not_help_is_left_out() -> None:
    table, (one, _) = trials([(0.1, 0.1), (2.0, 2.0)])
    assert blend_trials(table, one).members == (one,)


def test_values_are_mixed_by_length_of_gap() -> None:
    parts = [Expected(np.full((2, 1), x), np.full((2, 1), x)) for x in (1.0, 2.0)]
    blend = Blend((), np.array([1, 8]), np.array([[1.0, 0.0], [0.25, 0.75]]))
    np.testing.assert_allclose(blend.combine(parts, np.array([[3], [9]])).mean, [[1.0], [1.75]])
