"""Lengths of gaps, entries that are hidden in their pattern, and the calibration by them."""

import numpy as np
import pytest

from thalweg.dynamics.calibration import calibrate
from thalweg.dynamics.gaps import gap_lengths, hide_like_gaps, interpolated
from thalweg.dynamics.scores import Scores


def test_lengths_are_those_counted() -> None:
    missing = np.random.default_rng(0).random((50, 4)) < 0.5
    missing[:, 2], missing[:, 3] = True, False
    expected = np.zeros(missing.shape, int)
    for f in range(4):
        for t in np.flatnonzero(missing[:, f]):
            low = high = t
            while low > 0 and missing[low - 1, f]:
                low -= 1
            while high < 49 and missing[high + 1, f]:
                high += 1
            expected[t, f] = high - low + 1
    np.testing.assert_array_equal(gap_lengths(missing), expected)


@pytest.mark.parametrize("length", [1, 24])
@pytest.mark.parametrize("rows", [False, True])
def test_hidden_entries_have_the_pattern_of_the_gaps(length: int, rows: bool) -> None:
    rng = np.random.default_rng(1)
    missing = np.zeros((3000, 6), bool)
    for start in rng.integers(0, 2900, 120 // length):
        missing[start : start + length, slice(None) if rows else rng.integers(6)] = True
    hidden = hide_like_gaps(missing, rng)
    assert not (hidden & missing).any()
    assert 0.02 < hidden.mean() < 0.11
    together = hidden.sum(axis=1)[hidden.any(axis=1)]
    assert (np.median(together) == 6) == rows
    assert np.median(gap_lengths(hidden)[hidden]) >= 0.5 * length
    if length == 1 and not rows:
        assert np.median(gap_lengths(hidden)[hidden]) == 1


def test_single_entries_are_hidden_in_a_table_without_gaps() -> None:
    hidden = hide_like_gaps(np.zeros((500, 3), bool), np.random.default_rng(0))
    assert 0.07 < hidden.mean() < 0.13


def test_a_feature_with_few_entries_keeps_most_of_them() -> None:
    missing = np.random.default_rng(2).random((800, 4)) < 0.1
    missing[100:, 0] = True
    hidden = hide_like_gaps(missing, np.random.default_rng(3))
    assert hidden[:, 0].sum() <= 0.3 * np.count_nonzero(~missing[:, 0])


def test_intervals_of_fresh_errors_have_their_level() -> None:
    """Errors depend on the length of the gap and on the feature, which the model ignores."""
    rng = np.random.default_rng(4)
    lengths = rng.choice([1, 3, 20], (2000, 8))
    sizes = np.sqrt(lengths) * np.linspace(0.5, 2.0, 8)
    std, use = np.ones(lengths.shape), np.ones(lengths.shape, bool)
    found = calibrate(
        Scores.of(sizes * rng.normal(size=sizes.shape), std, lengths, use), np.ones(8)
    )
    errors = sizes * rng.normal(size=sizes.shape)
    inside = np.abs(errors) < found.interval_factor(0.9, lengths)
    for length in (1, 3, 20):
        assert 0.88 < inside[lengths == length].mean() < 0.92
    assert (np.abs(inside.mean(axis=0) - 0.9) < 0.03).all()
    ratio = found.std_factor(lengths) / sizes
    assert (np.abs(ratio - 1.0) < 0.2).mean() > 0.9


def test_without_hidden_entries_errors_are_normal() -> None:
    nothing = np.zeros((5, 2), bool)
    found = calibrate(
        Scores.of(np.zeros((5, 2)), np.ones((5, 2)), np.ones((5, 2), int), nothing), np.ones(2)
    )
    assert found.interval_factor(0.9, np.ones((1, 2), int))[0, 0] == pytest.approx(1.645, abs=0.01)
    assert (found.std_factor(np.ones((1, 2), int)) == 1.0).all()


def test_gaps_are_interpolated_by_lines() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is installed for development only")
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 5)) < 0.4, np.nan, rng.normal(size=(60, 5)))
    X[:, 2], X[:, 3] = np.nan, np.arange(60.0)
    lines = pandas.DataFrame(X).interpolate("linear", limit_direction="both").fillna(0.0)
    np.testing.assert_allclose(interpolated(X), lines.to_numpy(), atol=1e-12)
