"""Counted residuals: units, windows, ageing, merging."""

import numpy as np
import pytest

from thalweg.noise.leverage import studentised
from thalweg.noise.residual_counts import BINS_PER_OCTAVE, N_BINS, ResidualCounts


def residuals(shape=(6, 400), seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def naive(counts, R):
    """Count one residual after the other, with logarithms."""
    found = np.zeros_like(counts.counts)
    for f, row in enumerate(R):
        for value in row:
            b = int(np.floor(BINS_PER_OCTAVE * np.log2(abs(value)))) - counts.first[f]
            found[f, min(max(b, 0), N_BINS - 1)] += 1
    return found


def test_counts_are_those_of_a_loop():
    R = residuals()
    counts = ResidualCounts.none(len(R)).added(R)
    np.testing.assert_array_equal(counts.counts, naive(counts, R))
    assert counts.n_samples == R.shape[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_compiled_count_is_that_of_arrays(dtype, missing):
    rng = np.random.default_rng(0)
    W, H = rng.normal(size=(70, 3)).astype(dtype), rng.normal(size=(3, 90)).astype(dtype)
    H[0, ::7], V = 0.0, (W @ H + rng.normal(size=(70, 90))).astype(dtype)
    R = np.where(rng.random(V.shape) < 0.1, V, 0)
    observed = None if missing == 0.0 else rng.random(V.shape) >= missing
    if observed is not None:
        observed[2:, 4] = False  # a sample that any codes fit
        V[5, observed[5]] = (W @ H)[5, observed[5]]
    start = ResidualCounts.none(70)
    found = start.added_fit(V, W, H, R, observed)
    expected = start.added(studentised(V, W, H, R, observed), observed, V)
    np.testing.assert_array_equal(found.first, expected.first)
    differing = np.abs(found.counts - expected.counts).sum()
    assert differing <= 4  # residuals at the edge of a bin, in another order of rounding


def test_the_cut_into_calls_has_no_effect():
    R = residuals()
    whole = ResidualCounts.none(len(R)).added(R)
    parts = ResidualCounts.none(len(R))
    for start in range(0, R.shape[1], 7):
        parts = parts.added(R[:, start : start + 7])
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("exponent", [-300, -3, 40, 500])
def test_powers_of_two_move_the_window_only(exponent):
    R = residuals()
    counts, scaled = (ResidualCounts.of(one) for one in (R, np.ldexp(R, exponent)))
    np.testing.assert_array_equal(counts.counts, scaled.counts)
    np.testing.assert_array_equal(scaled.first - counts.first, BINS_PER_OCTAVE * exponent)


def test_missing_entries_and_zeros_do_not_count():
    R = residuals()
    observed = np.random.default_rng(1).random(R.shape) < 0.7
    R[0], R[1, ::2] = 0.0, 0.0
    counts = ResidualCounts.none(len(R)).added(R, observed)
    expected = (observed & (R != 0.0)).sum(axis=1)
    np.testing.assert_array_equal(counts.counts.sum(axis=1), expected)
    np.testing.assert_array_equal(counts.placed, expected > 0)


def test_residuals_of_a_constant_feature_are_rounding_errors():
    data = np.full((1, 50), 1e3)
    counts = ResidualCounts.of(np.full((1, 50), 1e-30), None, data)
    scale = 2.0 ** ((counts.first[0] + counts.counts[0].argmax()) / BINS_PER_OCTAVE)
    assert 1.0 < scale / (1e3 * np.finfo(float).eps) < 8.0


def test_merging_is_counting_all():
    R, S = residuals(), 8.0 * residuals(seed=1)
    empty = ResidualCounts.none(len(R))
    together = empty.added(R).added(S)
    merged = empty.added(R).merged([empty.added(S)])
    # windows differ: what lies below one of them is counted in its first bin
    np.testing.assert_array_equal(merged.counts.sum(axis=1), together.counts.sum(axis=1))
    np.testing.assert_array_equal(merged.counts[:, 30:], together.counts[:, 30:])
    assert merged.n_samples == together.n_samples


def test_late_samples_weigh_more():
    R = residuals((1, 4000))
    R[:, :2000] *= 8.0
    counts = ResidualCounts.none(1)
    for start in range(0, 4000, 40):
        counts = counts.added(R[:, start : start + 40]).aged(40)
    # sample i of t has the weight i / t, and the first half 1/4 of all
    late = ResidualCounts(counts.counts * 0, counts.first).added(R[:, 2000:]).counts / 2000
    early = ResidualCounts(counts.counts * 0, counts.first).added(R[:, :2000]).counts / 2000
    expected = counts.numbers().sum() * (early / 4 + late * 3 / 4)
    np.testing.assert_allclose(counts.numbers(), expected, atol=15)


def test_forgetting_bounds_the_memory():
    counts = ResidualCounts.none(1)
    for _ in range(300):
        counts = counts.added(np.ones((1, 20))).aged(20, 0.99)
    memory = 20 * 0.99**20 / (1.0 - 0.99**20)
    assert counts.numbers().sum() == pytest.approx(memory, rel=1e-3)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_window_follows_new_units(factor):
    R, counts = residuals((3, 3000)), ResidualCounts.none(3)
    R[:, 500:] *= factor
    for start in range(0, 3000, 50):
        counts = counts.added(R[:, start : start + 50]).aged(50)
    middle = counts.first + counts.counts.argmax(axis=1)
    np.testing.assert_allclose(2.0 ** (middle / BINS_PER_OCTAVE), factor, rtol=1.0)
