"""Shared code of the cases of [A]: baselines at a share of nonzeros, groups, printed tables."""

import numpy as np
import pytest
from benchmarks.cases.archetypes import _clusters, _sparse_baselines, archetypes_scenes
from benchmarks.cases.archetypes._printed import off, printed
from scipy.optimize import nnls

from thalweg.synthetic import archetypal_mixtures


@pytest.mark.parametrize("name", _sparse_baselines.SPARSE)
def test_baselines_are_matched_to_a_share_of_nonzeros(name):
    X = archetypal_mixtures(40, 24, 3, separable=True, noise=0.01, random_state=0).X
    H = _sparse_baselines.matched(name, 3, X, 0.5, 0)
    assert _sparse_baselines.nonzeros(H) == pytest.approx(0.5, abs=0.06)
    codes = np.vstack([nnls(H.T, sample)[0] for sample in X])
    assert codes.sum(axis=1).mean() == pytest.approx(1.0, rel=0.15)


def test_digits_are_centred_and_split_by_sign():
    X, kinds = _clusters.digits(0)
    assert X.shape == (200, 128)
    assert np.bincount(kinds).tolist() == [20] * 10
    assert X.min() == 0.0
    np.testing.assert_allclose(X[:, :64].mean(axis=0), X[:, 64:].mean(axis=0), atol=1e-12)


def test_groups_are_scored_by_the_nearest_centre():
    X = np.array([[0.0, 0.1], [0.1, 0.0], [2.0, 2.0], [0.0, 0.2]])
    H = np.array([[0.0, 0.0], [2.0, 2.0]])
    assert _clusters.nearest(X, H).tolist() == [0, 0, 1, 0]
    found = _clusters.scores(H, X, np.array([0, 0, 1, 1]))
    assert found["nonzeros"] == 0.5
    assert found["purity"] == 0.75
    assert _clusters.better({"purity": 0.9, "entropy": 0.1}, found) == [True, True]


def test_orientations_of_a_ramp_are_in_one_bin():
    ramp = np.tile(np.linspace(0.0, 1.0, 16), (1, 16, 1))
    found = archetypes_scenes._orientations(np.concatenate([ramp, ramp.swapaxes(1, 2)]))
    cells = found.reshape(2, 4, archetypes_scenes.ORIENTATIONS)
    assert cells[0, :, 0].tolist() == [1.0] * 4  # level gradient
    assert cells[1, :, 4].tolist() == [1.0] * 4  # upright: 90 of 180 degrees
    assert cells.sum() == 8.0


def test_a_figure_is_held_to_the_printed_one():
    cell = {"noise": 0.01, "share": 0.5, "n": 1200, "rows": {"mip + path": {"strong": 0.0662}}}
    assert printed(cell, "mip + path") == (pytest.approx(3219.3), 0.0736)
    assert off(cell, "mip + path") == pytest.approx(0.1005, abs=1e-4)
    cell["rows"]["mip + path"]["strong"] = 0.0740
    assert off(cell, "mip + path") == 0.0  # 0.0004 is less than counts
