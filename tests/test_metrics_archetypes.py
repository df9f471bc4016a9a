"""Distances of [A] by hand, and its generator."""

import numpy as np
import pytest
from scipy.optimize import nnls

from thalweg.errors import InputError, ParameterError
from thalweg.metrics import archetype_distance, hull_distance, robustness, sparsity
from thalweg.synthetic import archetypal_mixtures


def test_distances_to_a_square() -> None:
    square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    assert hull_distance([[2, 2]], square) == pytest.approx(2.0)
    assert hull_distance([[0.5, -3], [0.2, 0.9], [4, 0.5]], square) == pytest.approx(9 + 9)
    assert hull_distance(square, [[0, 0]]) == pytest.approx(4.0)


def test_hulls_of_many_rows() -> None:
    rng = np.random.default_rng(0)
    corners = rng.normal(size=(3000, 3))
    points = 3 * rng.normal(size=(5, 3))
    few = corners[np.unique(np.argmax(corners @ rng.normal(size=(3, 4000)), axis=0))]
    assert hull_distance(points, corners) == pytest.approx(hull_distance(points, few), rel=1e-3)


def test_distances_between_archetypes() -> None:
    one, other = [[0.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [9.0, 0.0]]
    assert archetype_distance(one, other) == pytest.approx(1 + 5)
    assert archetype_distance(other, one) == pytest.approx(1 + 49)
    found = robustness(one, other)
    assert (found.weak, found.strong) == (pytest.approx(6 / 4), pytest.approx(50 / 4))


def test_sparsity_is_the_share_of_nonzeros() -> None:
    assert sparsity(np.eye(4)) == 0.25


def test_bad_input() -> None:
    for call in (hull_distance, archetype_distance, robustness):
        with pytest.raises(InputError, match="transposed"):
            call(np.ones((2, 3)), np.ones((2, 4)))
        with pytest.raises(InputError, match="NaN"):
            call(np.full((2, 3), np.nan), np.ones((2, 3)))
    with pytest.raises(InputError, match="nonzero entry"):
        robustness(np.zeros((1, 2)), np.ones((1, 2)))


def test_generator_is_that_of_the_paper() -> None:
    data = archetypal_mixtures(200, 500, 20, noise=0.1, random_state=0)
    assert np.mean(data.components == 0) == pytest.approx(0.2)
    np.testing.assert_allclose(data.codes.sum(axis=1), 1.0)
    np.testing.assert_allclose(data.clean, data.codes @ data.components)
    inside = data.X[data.clean > 0.5] - data.clean[data.clean > 0.5]
    assert inside.std() == pytest.approx(0.1, rel=0.02)
    assert data.X.min() >= 0
    spread = archetypal_mixtures(200, 50, 20, spread=0.1, random_state=0)
    assert np.mean(spread.codes.max(axis=1)) > 3 * np.mean(data.codes.max(axis=1))
    with pytest.raises(ParameterError, match="zeros"):
        archetypal_mixtures(zeros=1.5)


def test_separable_data_have_the_archetypes_among_the_samples() -> None:
    data = archetypal_mixtures(40, 30, 5, noise=0.05, separable=True, random_state=0)
    assert data.X.shape == (40, 30)
    distances = np.sum((data.components[:, None] - data.clean) ** 2, axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), np.arange(5))
    assert distances.min(axis=1).max() == 0.0  # rows before noise
    assert np.all(np.any(data.X[:5] != data.components, axis=1))  # and not after
    for sample in data.clean:  # scipy finds the shares again, with the sum 1 as a heavy row
        system = np.vstack([data.components.T, np.full(5, 1e3)])
        shares, residual = nnls(system, np.append(sample, 1e3))
        assert residual < 1e-9
        assert shares.sum() == pytest.approx(1.0)
    as_printed = archetypal_mixtures(40, 30, 5, noise=0.05, random_state=0)
    np.testing.assert_array_equal(as_printed.clean[5:], data.clean[5:])
    assert hull_distance(as_printed.components, as_printed.clean) > 1.0


def test_separable_data_need_a_sample_for_each_archetype() -> None:
    assert archetypal_mixtures(4, 6, 4, separable=True).X.shape == (4, 6)
    with pytest.raises(ParameterError, match=r"n_samples must be at least .* 4 if .* got 3"):
        archetypal_mixtures(3, 6, 4, separable=True)
