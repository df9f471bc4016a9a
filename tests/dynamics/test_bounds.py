"""Extents and bounds of features."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thalweg.dynamics.bounds import Extent, sign_bounds


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_extents_are_those_of_all_rows(form: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal([0, 4, -4, 0, 4, -4], size=(40, 6))
    X[rng.random(X.shape) < 0.5] = 0.0
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 3] = np.nan
    extent = Extent.none(6)
    for part in np.array_split(X, 5):
        extent = extent.extended(form(part))
    known = [column[~np.isnan(column)] for column in X.T]
    np.testing.assert_array_equal(extent.low, [c.min() if c.size else np.inf for c in known])
    np.testing.assert_array_equal(extent.high, [c.max() if c.size else -np.inf for c in known])
    for one, two in zip(extent.sign_bounds(), sign_bounds(X), strict=True):
        np.testing.assert_array_equal(one, two)


def test_signs() -> None:
    X = np.array([[1.0, -1.0, 0.0, 2.0, np.nan], [0.0, 0.0, 0.0, -1.0, np.nan]])
    lower, upper = sign_bounds(X)
    np.testing.assert_array_equal(lower, [0.0, -np.inf, -np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(upper, [np.inf, 0.0, np.inf, np.inf, np.inf])
