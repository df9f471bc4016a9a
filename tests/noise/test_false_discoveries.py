"""The procedure of Benjamini and Hochberg against its definition."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from thalweg.noise.false_discoveries import benjamini_hochberg


@pytest.mark.parametrize("fdr", [0.01, 0.05, 0.3])
def test_discoveries_are_those_of_adjusted_p_values(fdr):
    p = np.random.default_rng(0).random((20, 50)) ** 3
    adjusted = false_discovery_control(p, axis=1)
    np.testing.assert_array_equal(benjamini_hochberg(p, fdr), adjusted <= fdr)


def test_missing_p_values_do_not_count():
    p = np.array([0.02, np.nan, 0.9, np.nan])
    np.testing.assert_array_equal(benjamini_hochberg(p), [True, False, False, False])
    assert not benjamini_hochberg(np.full(3, np.nan)).any()
    assert benjamini_hochberg(np.empty(0)).size == 0
