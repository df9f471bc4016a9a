"""The generators draw what they say: counts, moments, ranges, gaps, rank, seeds."""

from itertools import pairwise
from math import floor, pi, sqrt
from typing import Any

import numpy as np
import pytest

from thalweg.errors import ParameterError
from thalweg.synthetic import OutlierData, Scene, moving_scene, nmf_with_outliers


@pytest.fixture(scope="module")
def data() -> OutlierData:
    return nmf_with_outliers(3000, random_state=0)


@pytest.fixture(scope="module")
def scene() -> Scene:
    return moving_scene(random_state=0)


def outlier_counts(data: OutlierData) -> Any:
    return np.count_nonzero(data.outliers, axis=1)


def test_shapes(data):
    assert data.X.shape == data.clean.shape == data.outliers.shape == (3000, 400)
    assert data.components.shape == (49, 400)
    assert data.codes.shape == (3000, 49)
    assert all(array.dtype == np.float64 for array in data)


@pytest.mark.parametrize("factor", ["components", "codes"])
def test_factors_are_half_normal_with_that_standard_deviation(data, factor):
    # |N(0, s^2)|: mean s sqrt(2/pi), second moment s^2, fourth 3 s^4, median 0.67449 s
    draws = getattr(data, factor) * sqrt(49)
    assert draws.min() >= 0
    error = 5 / sqrt(draws.size)
    assert draws.mean() == pytest.approx(sqrt(2 / pi), abs=error)
    assert np.mean(draws**2) == pytest.approx(1, abs=error * sqrt(2))
    assert np.mean(draws**4) == pytest.approx(3, abs=error * sqrt(96))
    assert np.median(draws) == pytest.approx(0.67449, abs=2 * error)


def test_clean_data_are_the_clipped_product_and_hardly_clipped(data):
    np.testing.assert_array_equal(data.clean, np.clip(data.codes @ data.components, 0, 1))
    assert np.mean(data.clean == 1) < 0.01  # the erratum: as printed it is nearly all of them
    assert data.clean.mean() == pytest.approx(2 / pi, abs=0.01)


@pytest.mark.parametrize(
    ("n", "features", "contaminated", "density"),
    [(3000, 40, 0.7, 0.1), (100, 100, 0.29, 0.29), (11, 7, 0.5, 0.5), (9, 5, 1.0, 1.0)],
)
def test_counts_of_outliers_are_exact(n, features, contaminated, density):
    data = nmf_with_outliers(
        n, features, 3, contaminated=contaminated, density=density, random_state=1
    )
    counts = outlier_counts(data)
    # in hundredths, since 0.29 * 100 is 28.999999999999996
    rows, entries = (
        floor(round(100 * share) * total / 100)
        for share, total in [(contaminated, n), (density, features)]
    )
    assert np.count_nonzero(counts) == rows
    assert set(counts[counts > 0]) == {entries}


@pytest.mark.parametrize("nothing", [{"contaminated": 0.0}, {"density": 0.0}])
def test_no_outliers(nothing):
    data = nmf_with_outliers(50, 40, 3, random_state=0, noise=0.0, **nothing)
    np.testing.assert_array_equal(data.X, data.clean)


def test_outliers_are_uniform_in_size_and_place(data):
    planted = data.outliers[data.outliers != 0]
    assert planted.min() >= -1
    assert planted.max() <= 1
    quartiles = np.quantile(planted, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(quartiles, [-0.5, 0, 0.5], atol=0.02)
    n_hit = np.count_nonzero(outlier_counts(data))
    by_feature = np.count_nonzero(data.outliers, axis=0) / n_hit
    np.testing.assert_allclose(by_feature, 0.1, atol=5 * sqrt(0.09 / n_hit))
    early = np.count_nonzero(outlier_counts(data)[:1500])
    assert early == pytest.approx(n_hit / 2, abs=5 * sqrt(0.21 * 750))


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
def test_noise_has_its_standard_deviation(noise):
    data = nmf_with_outliers(500, 100, 10, noise=noise, random_state=3)
    total = data.clean + data.outliers
    inner = (total > 0.3) & (total < 0.7)  # where nothing is clipped
    error = (data.X - total)[inner]
    assert error.std() == pytest.approx(noise, rel=0.03)
    assert abs(error.mean()) <= 5 * noise / sqrt(error.size)
    assert data.X.min() >= 0
    assert data.X.max() <= 1


def test_gaps_have_their_share_and_change_nothing_else():
    options = {"n_samples": 2100, "n_features": 60, "n_components": 5, "random_state": 4}
    whole, gappy = nmf_with_outliers(**options), nmf_with_outliers(**options, missing=0.2)
    gaps = np.isnan(gappy.X)
    assert gaps.mean() == pytest.approx(0.2, abs=5 * sqrt(0.16 / gaps.size))
    np.testing.assert_array_equal(gappy.X[~gaps], whole.X[~gaps])
    for before, after in zip(whole[1:], gappy[1:], strict=True):
        np.testing.assert_array_equal(before, after)
    assert not np.isnan(whole.X).any()
    assert np.isnan(nmf_with_outliers(5, 4, 2, missing=1.0).X).all()


@pytest.mark.parametrize("generate", [nmf_with_outliers, moving_scene])
def test_seeds(generate):
    sizes = {"n_samples": 30} if generate is nmf_with_outliers else {"n_frames": 30}
    once, again = generate(**sizes, random_state=7)[0], generate(**sizes, random_state=7)[0]
    np.testing.assert_array_equal(once, again)
    rng = np.random.default_rng(7)
    np.testing.assert_array_equal(once, generate(**sizes, random_state=rng)[0])
    for other in (8, rng, None):
        assert not np.array_equal(once, generate(**sizes, random_state=other)[0], equal_nan=True)


def test_scene_types_and_ranges(scene):
    assert scene.shape == (120, 160)
    assert scene.frames.shape == scene.background.shape == scene.mask.shape == (200, 19200)
    assert scene.frames.dtype == scene.background.dtype == np.float32
    assert scene.mask.dtype == np.bool_
    assert np.nanmin(scene.frames) >= 0
    assert np.nanmax(scene.frames) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_background_has_rank_three_with_nonnegative_values(seed):
    background = moving_scene(shape=(60, 80), random_state=seed).background
    sizes = np.linalg.svd(background.astype(np.float64), compute_uv=False)
    assert sizes[2] > 0.01 * sizes[0]  # every light matters
    assert sizes[3] < 1e-6 * sizes[0]
    assert background.min() > 0
    assert background.max() < 0.97  # never clipped


def test_background_is_a_picture_and_not_noise(scene):
    picture = scene.background[0].reshape(scene.shape)
    assert picture.std() > 0.05
    for axis in (0, 1):
        assert np.diff(picture, axis=axis).std() < 0.5 * picture.std()


@pytest.mark.parametrize("seed", range(5))
def test_mask_is_where_frames_differ_from_the_background(seed):
    scene = moving_scene(noise=0.01, missing=0.0, random_state=seed)
    differs = np.abs(scene.frames - scene.background) > 0.08  # eight standard deviations
    np.testing.assert_array_equal(differs, scene.mask)
    assert 0.01 < scene.mask.mean() < 0.06


def test_noise_of_the_scene(scene):
    error = (scene.frames - scene.background)[~scene.mask & ~np.isnan(scene.frames)]
    assert error.std() == pytest.approx(0.01, rel=0.02)


def centres(mask: Any) -> Any:
    """Return the middle column of a mask's frames, NaN where an object is not wholly seen."""
    columns = mask.any(axis=1)
    whole = columns.any(axis=1) & ~columns[:, 0] & ~columns[:, -1]
    middle = columns @ np.arange(columns.shape[1]) / np.maximum(columns.sum(axis=1), 1)
    return np.where(whole, middle, np.nan)


def test_two_objects_move_at_different_speeds_in_different_greys(scene):
    film = scene.mask.reshape(-1, *scene.shape)
    upper, lower = film[:, :60], film[:, 60:]
    balloon, van = (np.nanmean(np.diff(centres(part))) for part in (upper, lower))
    assert balloon == pytest.approx(-0.007 * 160, abs=0.1)
    assert van == pytest.approx(0.02 * 160, abs=0.1)
    seen = np.nan_to_num(scene.frames, nan=0.5).reshape(film.shape)
    assert np.median(seen[:, :60][upper]) < 0.1
    assert np.median(seen[:, 60:][lower]) > 0.9
    assert film.mean(axis=0).max() < 0.3  # nothing stays before one place


def test_gaps_of_the_scene_are_scattered_in_bands_and_in_a_patch(scene):
    gaps = np.isnan(scene.frames).reshape(-1, *scene.shape)
    bands = gaps.all(axis=2).sum(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(bands), np.arange(7, 200, 20))
    assert set(bands[bands > 0]) == {9}
    # 25 frames in a row miss a scattered pixel with probability 1e-42
    for start in (30, 130):
        patch = gaps[start : start + 25].all(axis=0)
        assert patch.sum() == 18 * 24
        assert patch[np.ix_(patch.any(axis=1), patch.any(axis=0))].all()
    plain = gaps[[t for t in range(200) if t % 20 != 7 and not 30 <= t % 100 < 55]]
    assert plain.mean() == pytest.approx(0.02, abs=5 * sqrt(0.02 / plain.size))


def test_no_gaps_when_nothing_is_missing():
    assert not np.isnan(moving_scene(60, (16, 20), missing=0.0, random_state=0).frames).any()


def test_light_changes_smoothly(scene):
    means = scene.background.mean(axis=1)
    assert np.ptp(means) > 0.15
    assert max(abs(after - before) for before, after in pairwise(means)) < 0.02


@pytest.mark.parametrize("shape", [(16, 16), [30, 40], (np.int64(17), np.int32(90))])
def test_small_and_odd_scenes(shape):
    scene = moving_scene(3, shape, random_state=0)
    assert scene.frames.shape == (3, shape[0] * shape[1])
    assert scene.frames[0].reshape(scene.shape).shape == tuple(shape)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_samples", [0, -1, 2.5, "3", None]),
        ("n_features", [0, 1.0]),
        ("n_components", [0, None]),
        ("contaminated", [-0.1, 1.1, float("nan"), "0.1", None]),
        ("density", [-0.1, 1.1]),
        ("missing", [-0.1, 1.1]),
        ("noise", [-0.1, float("inf"), float("nan"), None]),
        ("random_state", [-1, 1.5, "seed"]),
    ],
)
def test_bad_parameters_of_the_data(parameter, values):
    for value in values:
        with pytest.raises(ParameterError, match=rf"^{parameter} should be .* came\. Give "):
            nmf_with_outliers(**{parameter: value})


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_frames", [0, 1.5]),
        ("shape", [(15, 40), (40, 15), (40,), (40, 40, 3), 40, (40.0, 40), None]),
        ("missing", [-0.1, 2]),
        ("noise", [-1]),
        ("random_state", ["seed"]),
    ],
)
def test_bad_parameters_of_the_scene(parameter, values):
    for value in values:
        with pytest.raises(ParameterError, match=rf"^{parameter} should be .* came\. Give "):
            moving_scene(**{parameter: value})
