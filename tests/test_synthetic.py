"""Counts, moments, ranges, gaps, ranks and seeds of the generators."""

import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from math import cos, floor, inf, log10, pi, sin, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from thalweg.errors import InputError, ParameterError
from thalweg.synthetic import (
    NoisyData,
    OutlierData,
    Scene,
    SubspaceStream,
    moving_scene,
    nmf_with_noise,
    nmf_with_outliers,
    replicate,
    sparse_counts,
    subspace_stream,
)


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
    assert np.mean(data.clean == 1) < 0.01  # with the printed formula nearly all are clipped
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
    inner = (total > 0.3) & (total < 0.7)  # where no entry is clipped
    error = (data.X - total)[inner]
    assert error.std() == pytest.approx(noise, rel=0.03)
    assert abs(error.mean()) <= 5 * noise / sqrt(error.size)
    assert data.X.min() >= 0
    assert data.X.max() <= 1


def test_share_of_gaps_and_no_other_change():
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
    assert sizes[2] > 0.01 * sizes[0]  # each light contributes
    assert sizes[3] < 1e-6 * sizes[0]
    assert background.min() > 0
    assert background.max() < 0.97  # never clipped


def test_background_is_smooth(scene):
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
    """Return the centre column of the mask in each frame, NaN if the object is cut off."""
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
    observed = np.nan_to_num(scene.frames, nan=0.5).reshape(film.shape)
    assert np.median(observed[:, :60][upper]) < 0.1
    assert np.median(observed[:, 60:][lower]) > 0.9
    assert film.mean(axis=0).max() < 0.3  # no object stays at one place


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
        with pytest.raises(ParameterError, match=rf"^{parameter} must be .*, got .*\. Use "):
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
        with pytest.raises(ParameterError, match=rf"^{parameter} must be .*, got .*\. Use "):
            moving_scene(**{parameter: value})


MEAN = 40 * (1 + 5 * sqrt(2 / pi)) ** 2  # of the clean data of [D]


@pytest.fixture(scope="module")
def noisy() -> dict[str, NoisyData]:
    names = ("poisson", "gamma", "gaussian", "uniform-outliers")
    return {noise: nmf_with_noise(noise=noise, random_state=0) for noise in names}


def peak_memory(call: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_shapes_and_types_of_noisy_data(noisy):
    for data in noisy.values():
        assert data.X.shape == data.clean.shape == (2000, 400)
        assert data.components.shape == (40, 400)
        assert data.codes.shape == (2000, 40)
        assert all(array.dtype == np.float64 for array in data)
        np.testing.assert_array_equal(data.clean, data.codes @ data.components)


def test_noise_does_not_change_the_factors(noisy):
    first, *others = noisy.values()
    for other in others:
        np.testing.assert_array_equal(other.codes, first.codes)
        np.testing.assert_array_equal(other.components, first.components)
        assert not np.array_equal(other.X, first.X)


@pytest.mark.parametrize("factor", ["components", "codes"])
@pytest.mark.parametrize(("sigma", "offset"), [(5.0, 1.0), (0.1, 0.0), (2.0, 3.0)])
def test_factors_of_noisy_data_are_shifted_and_half_normal(factor, sigma, offset):
    data = nmf_with_noise(3000, 3000, 4, sigma=sigma, offset=offset, random_state=1)
    draws = (getattr(data, factor) - offset) / sigma
    assert draws.min() >= 0
    error = 5 / sqrt(draws.size)
    assert draws.mean() == pytest.approx(sqrt(2 / pi), abs=error)
    assert np.mean(draws**2) == pytest.approx(1, abs=error * sqrt(2))
    assert np.mean(draws**4) == pytest.approx(3, abs=error * sqrt(96))


def test_mean_of_the_clean_data_is_that_of_the_paper(noisy):
    # the means of the factors have this variance, and each is multiplied by the mean of the other
    spread = 25 * (1 - 2 / pi) * (1 / 2000 + 1 / 400)
    assert noisy["poisson"].clean.mean() == pytest.approx(MEAN, abs=5 * sqrt(MEAN * spread))
    assert pytest.approx(1000, rel=0.01) == MEAN  # the printed 2000 and 4000 are 2 and 4 means


# noise, options, and the standard deviation and skewness of an entry with the clean value v
POISSON = ("poisson", {}, np.sqrt, lambda v: v**-0.5)
GAMMA = ("gamma", {}, lambda v: v / sqrt(1000), lambda v: 2 / sqrt(1000))
GAUSSIAN = ("gaussian", {}, lambda v: np.full_like(v, 30), lambda v: 0.0)
OTHER_GAMMA = ("gamma", {"gamma_shape": 200}, lambda v: v / sqrt(200), lambda v: 2 / sqrt(200))
OTHER_GAUSSIAN = ("gaussian", {"gaussian_std": 7}, lambda v: np.full_like(v, 7), lambda v: 0.0)


@pytest.mark.parametrize(
    ("noise", "options", "deviation", "skewness"),
    [POISSON, GAMMA, GAUSSIAN, OTHER_GAMMA, OTHER_GAUSSIAN],
)
def test_moments_of_the_noises(noise, options, deviation, skewness):
    data = nmf_with_noise(noise=noise, random_state=2, **options)
    z = (data.X - data.clean) / deviation(data.clean)
    error = 5 / sqrt(z.size)
    assert abs(z.mean()) <= error
    # the kurtosis is 3 or slightly more; the third moment distinguishes the noises
    assert np.mean(z**2) == pytest.approx(1, abs=error * sqrt(2.1))
    assert np.mean(z**3) == pytest.approx(np.mean(skewness(data.clean)), abs=error * sqrt(17))


@pytest.mark.parametrize(("noise", "options", "deviation", "skewness"), [POISSON, GAMMA, GAUSSIAN])
def test_signal_to_noise_ratio_is_that_of_the_paper(noisy, noise, options, deviation, skewness):
    X, clean, *_ = noisy[noise]
    ratio = 20 * np.log10(np.linalg.norm(clean) / np.linalg.norm(X - clean))
    assert ratio == pytest.approx(30, abs=0.6)
    expected = 20 * np.log10(np.linalg.norm(clean) / np.linalg.norm(deviation(clean)))
    # the sum of N squares has a relative error of sqrt(2 / N), which is 4.34 times that in dB
    assert ratio == pytest.approx(expected, abs=5 * 4.34 * sqrt(2.3 / X.size))


def test_poisson_data_are_counts_at_low_rates_too():
    x, clean, *_ = nmf_with_noise(1000, 200, 5, sigma=0.5, offset=0.1, random_state=3)
    whole = x[x < x.max()]  # not clipped
    np.testing.assert_array_equal(whole, np.rint(whole))
    chance = np.exp(-clean)
    error = 5 * sqrt(np.sum(chance * (1 - chance)))
    assert np.count_nonzero(x == 0) == pytest.approx(chance.sum(), abs=error)


@pytest.mark.parametrize(
    ("features", "density"), [(400, 0.3), (100, 0.29), (7, 0.5), (5, 1.0), (9, 0.0)]
)
def test_counts_of_uniform_outliers_are_exact(features, density):
    x, clean, *_ = nmf_with_noise(
        1500, features, noise="uniform-outliers", outlier_density=density, random_state=4
    )
    counts = np.count_nonzero(x != clean, axis=1)
    assert set(counts) == {floor(round(100 * density) * features / 100)}


def test_uniform_outliers_have_their_size_and_place():
    x, clean, *_ = nmf_with_noise(noise="uniform-outliers", outlier_size=0.2, random_state=5)
    assert clean.min() > 0.2 * MEAN  # no entry is clipped
    hit = x != clean
    planted = (x - clean)[hit] / (0.2 * MEAN)
    error = 5 / sqrt(planted.size)
    assert np.abs(planted).max() <= 1 + 1e-12
    assert planted.mean() == pytest.approx(0, abs=error * sqrt(1 / 3))
    assert np.mean(planted**2) == pytest.approx(1 / 3, abs=error * sqrt(4 / 45))
    np.testing.assert_allclose(hit.mean(axis=0), 0.3, atol=5 * sqrt(0.21 / 2000))


def test_data_are_clipped_to_four_means(noisy):
    for data in noisy.values():
        assert data.X.min() >= 0
        assert data.X.max() <= 4 * MEAN
    x, clean, *_ = nmf_with_noise(
        noise="uniform-outliers", outlier_density=1.0, outlier_size=5.0, random_state=6
    )
    # with outliers that are uniform on an interval of ten means
    below, above = (5 - clean / MEAN) / 10, (1 + clean / MEAN) / 10
    error = 5 * sqrt(0.24 / x.size)
    assert np.mean(x == 0) == pytest.approx(below.mean(), abs=error)
    assert np.mean(x == x.max()) == pytest.approx(above.mean(), abs=error)
    assert x.max() == pytest.approx(4 * MEAN, rel=1e-12)


@pytest.mark.parametrize(
    "generate",
    [
        lambda seed: nmf_with_noise(30, 20, 3, random_state=seed).X,
        lambda seed: sparse_counts(30, 20, 3, density=0.2, random_state=seed).X.toarray(),
        lambda seed: np.vstack([*replicate(np.eye(9), 5, noise=0.1, random_state=seed)]),
        lambda seed: subspace_stream(30, 20, 3, missing=0.0, jumps=[9], random_state=seed).X,
    ],
    ids=["noise", "counts", "copies", "subspaces"],
)
def test_seeds_of_noise_counts_copies_and_subspaces(generate):
    once, rng = generate(7), np.random.default_rng(7)
    np.testing.assert_array_equal(once, generate(7))
    np.testing.assert_array_equal(once, generate(rng))
    for other in (8, rng, None):
        assert not np.array_equal(once, generate(other))


@pytest.mark.parametrize(
    ("sizes", "density"),
    [
        ((2000, 2000, 20), 0.02),
        ((3000, 1500, 5), 0.001),
        ((1500, 4000, 40), 0.1),
        ((1500, 1500, 3), 0.5),
        ((1200, 900, 1), 0.05),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_density_of_counts(sizes, density, seed):
    counts = sparse_counts(*sizes, density=density, random_state=seed)
    assert counts.X.shape == sizes[:2]
    assert counts.X.nnz / (sizes[0] * sizes[1]) == pytest.approx(density, rel=0.1)


def test_counts_are_a_sparse_array_of_integers():
    X = sparse_counts(1200, 1000, 10, random_state=0).X  # two blocks of rows
    assert X.format == "csr"
    assert X.dtype == np.float64
    assert X.has_canonical_format
    assert X.data.min() >= 1
    np.testing.assert_array_equal(X.data, np.rint(X.data))
    assert sparse_counts(30, 20, 3, density=0.0).X.nnz == 0


def test_counts_are_poisson_around_the_product():
    counts = sparse_counts(1500, 1000, 10, density=0.1, random_state=1)
    X, rates = counts.X.toarray(), counts.codes @ counts.components
    assert abs(np.sum(X - rates)) <= 5 * sqrt(rates.sum())
    # (x - rate)^2 has the variance rate + 2 rate^2
    spread = sqrt(np.sum(rates + 2 * rates**2))
    assert abs(np.sum((X - rates) ** 2 - rates)) <= 5 * spread


def test_topics_and_weights_have_gamma_distributions():
    # Gamma(a): mean a, variance a, fourth central moment 3 a^2 + 6 a
    counts = sparse_counts(5000, 2000, 20, random_state=2)
    words, weights = counts.components, counts.codes / counts.codes.mean() * 0.3
    for draws, shape in ((words, 0.1), (weights, 0.3)):
        error = 5 / sqrt(draws.size)
        assert draws.mean() == pytest.approx(shape, abs=error * sqrt(shape))
        assert draws.var() == pytest.approx(shape, abs=error * sqrt(2 * shape**2 + 6 * shape))


def test_memory_of_counts_is_bounded():
    n_samples, n_features = 4000, 20_000
    peak = peak_memory(lambda: sparse_counts(n_samples, n_features, 10, random_state=0))
    assert peak < 8 * n_samples * n_features / 6


@pytest.mark.parametrize("batch_size", [1, 7, 30, 1000])
def test_each_sample_has_the_same_number_of_copies(batch_size):
    X = np.arange(12.0).reshape(6, 2)
    batches = [*replicate(X, 5, batch_size=batch_size, random_state=0)]
    assert [len(batch) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
    stream = np.vstack(batches)
    rows, times = np.unique(stream, axis=0, return_counts=True)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(times, 5)
    for tidy in (np.tile(X, (5, 1)), np.repeat(X, 5, axis=0)):
        assert not np.array_equal(stream, tidy)


def test_each_copy_has_its_own_noise():
    X = np.full((2, 50), 3.0)
    stream = np.vstack([*replicate(X, 1000, noise=0.5, random_state=1)])
    error = 5 / sqrt(stream.size)
    assert stream.mean() == pytest.approx(3, abs=0.5 * error)
    assert stream.var() == pytest.approx(0.25, abs=0.25 * error * sqrt(2))
    assert len(np.unique(stream)) == stream.size
    np.testing.assert_array_equal(X, 3.0)


def test_copies_are_clipped_to_twice_the_largest_and_keep_gaps():
    X = np.array([[0.0, 1.0, np.nan]])
    stream = np.vstack([*replicate(X, 4000, noise=1.0, random_state=2)])
    assert np.isnan(stream[:, 2]).all()
    assert stream[:, :2].min() == 0
    assert stream[:, :2].max() == 2
    # half of the normal numbers are below 0, and 0.15866 of them beyond one deviation
    assert np.mean(stream[:, 0] == 0) == pytest.approx(0.5, abs=5 * sqrt(0.25 / 4000))
    assert np.mean(stream[:, 1] == 2) == pytest.approx(0.15866, abs=5 * sqrt(0.1335 / 4000))


def test_memory_of_copies_is_bounded():
    X = np.ones((50, 200))

    def run() -> None:
        for _ in replicate(X, 1000, noise=0.1, random_state=0):
            pass

    assert peak_memory(run) < X.nbytes * 1000 / 8


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_samples", [0, 2.5]),
        ("n_features", [0, None]),
        ("n_components", [0, "3"]),
        ("noise", ["laplace", None, ["gamma"], 0.1]),
        ("sigma", [0, -1.0, float("inf"), "5"]),
        ("offset", [-0.1, float("nan"), None]),
        ("gamma_shape", [0.0, -1, float("inf")]),
        ("gaussian_std", [-1, float("nan"), None]),
        ("outlier_density", [-0.1, 1.1, "0.3"]),
        ("outlier_size", [-0.1, float("inf")]),
        ("random_state", [-1, "seed"]),
    ],
)
def test_bad_parameters_of_noisy_data(parameter, values):
    for value in values:
        with pytest.raises(ParameterError, match=rf"^{parameter} must be .*, got .*\. Use "):
            nmf_with_noise(**{parameter: value})


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_samples", [0]),
        ("n_features", [1.5]),
        ("n_components", [None]),
        ("density", [-0.1, 0.6, float("nan"), None]),
        ("random_state", [1.5]),
    ],
)
def test_bad_parameters_of_counts(parameter, values):
    for value in values:
        with pytest.raises(ParameterError, match=rf"^{parameter} must be .*, got .*\. Use "):
            sparse_counts(**{parameter: value})


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("copies", [0, 1.5, None]),
        ("noise", [-0.1, "gaussian"]),
        ("batch_size", [0, 2.0]),
        ("random_state", ["seed"]),
    ],
)
def test_bad_parameters_of_copies_raise_before_the_first_batch(parameter, values):
    for value in values:
        with pytest.raises(ParameterError, match=rf"^{parameter} must be .*, got .*\. Use "):
            replicate(**{"X": np.eye(3), "copies": 2, parameter: value})


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("X", "an array of numbers, got a str"),
        ([[1.0, 2.0], [3.0]], "an array of numbers, got a list"),
        (np.ones(3), r"a matrix with at least one observed entry, got an array of shape \(3,\)"),
        (np.ones((0, 3)), "a matrix with at least one observed entry"),
        (np.full((2, 3), np.nan), "a matrix with at least one observed entry"),
        (np.eye(2) - 0.5, r"finite and >= 0, got values from -0\.5 to 0\.5"),
        (np.diag([1.0, np.inf]), "finite and >= 0"),
    ],
)
def test_bad_samples_raise(X, message):
    with pytest.raises(InputError, match=f"^X must be {message}"):
        replicate(X, 2)


def remainder(stream: SubspaceStream) -> Any:
    """Return the noise of a stream without gaps."""
    return stream.X - stream.clean - stream.outliers


def distance(points: Any, basis: Any) -> float:
    """Return the distance of points to the column space, relative to their norm."""
    return float(np.linalg.norm(points - points @ basis @ basis.T) / np.linalg.norm(points))


def test_shapes_and_types_of_a_subspace_stream():
    stream = subspace_stream(400, 20, 3, jumps=(7, 100), rotation=0.01, random_state=0)
    assert stream.X.shape == stream.clean.shape == stream.outliers.shape == (400, 20)
    assert stream.bases.shape == stream.turns.shape == (3, 20, 3)
    assert stream.starts.tolist() == [0, 7, 100]
    assert stream.basis_at(np.int64(399)).shape == (20, 3)
    floats = (stream.X, stream.clean, stream.outliers, stream.bases, stream.turns)
    assert all(array.dtype == np.float64 for array in floats)


@pytest.mark.parametrize("snr", [-5.0, 0, 10.0, 40.0])
def test_relative_noise_has_its_ratio_to_the_signal_exactly(snr):
    stream = subspace_stream(800, 30, 5, snr=snr, missing=0.0, random_state=1)
    rest = remainder(stream)
    ratio = 20 * log10(np.linalg.norm(stream.clean) / np.linalg.norm(rest))
    assert ratio == pytest.approx(snr, abs=1e-9)
    z = rest / sqrt(np.mean(rest**2))
    error = 5 / sqrt(z.size)
    assert abs(z.mean()) <= error
    assert np.mean(z**4) == pytest.approx(3, abs=error * sqrt(96))


@pytest.mark.parametrize("snr", [0.0, 10.0, 40.0])
def test_absolute_noise_has_its_variance(snr):
    # sigma^2 with snr = -10 log10(sigma^2), whatever the signal is
    stream = subspace_stream(2000, 50, 5, snr=snr, noise="absolute", missing=0.0, random_state=2)
    z = remainder(stream) / 10 ** (-snr / 20)
    error = 5 / sqrt(z.size)
    assert abs(z.mean()) <= error
    assert np.mean(z**2) == pytest.approx(1, abs=error * sqrt(2))
    assert np.mean(z**4) == pytest.approx(3, abs=error * sqrt(96))


@pytest.mark.parametrize("noise", ["relative", "absolute"])
def test_without_noise_and_outliers(noise):
    options = {"snr": inf, "noise": noise, "outlier_density": 0.0, "missing": 0.0}
    stream = subspace_stream(200, 12, 2, **options, random_state=3)
    np.testing.assert_array_equal(stream.X, stream.clean)
    assert not stream.outliers.any()


@pytest.mark.parametrize(("noise", "sign"), [("relative", "nonnegative"), ("absolute", "any")])
def test_weights_and_mixing_matrix_are_standard_normal(noise, sign):
    # clean = weights @ A': mean square K, and the eigenvalues of its covariance are those of AA'
    n, features, rank = 20_000, 400, 4
    stream = subspace_stream(n, features, rank, noise=noise, outlier_sign=sign, random_state=4)
    covariance = np.linalg.svd(stream.clean, compute_uv=False)[:rank] ** 2 / n
    # A'A has Wishart noise of sqrt(features), the weights' second moments one of sqrt(n)
    np.testing.assert_allclose(covariance, features, rtol=5 * (rank / features) ** 0.5)
    error = 5 * sqrt(2 / (rank * features)) + 5 * sqrt(2 / (rank * n))
    assert np.mean(stream.clean**2) == pytest.approx(rank, rel=error)


@pytest.mark.parametrize("density", [0.0, 0.05, 0.4, 1.0])
def test_density_of_outliers_in_all_features_and_at_gaps(density):
    stream = subspace_stream(4000, 50, outlier_density=density, missing=0.3, random_state=5)
    hit = stream.outliers != 0
    spread = density * (1 - density)
    assert hit.mean() == pytest.approx(density, abs=5 * sqrt(spread / hit.size))
    np.testing.assert_allclose(hit.mean(axis=0), density, atol=5 * sqrt(spread / 4000))
    # entries are independent: counts per sample are binomial
    counts = hit.sum(axis=1)
    assert counts.var() == pytest.approx(50 * spread, rel=5 * sqrt(2 / 4000) + 1e-12)
    gaps = np.isnan(stream.X)
    assert hit[gaps].mean() == pytest.approx(density, abs=5 * sqrt(spread / gaps.sum()))


@pytest.mark.parametrize(("sign", "least"), [("nonnegative", 0.0), ("any", -1.0)])
@pytest.mark.parametrize("noise", ["relative", "absolute"])
@pytest.mark.parametrize("intensity", [0.1, 10.0])
def test_outliers_are_uniform_up_to_their_intensity(noise, sign, least, intensity):
    stream = subspace_stream(
        noise=noise, outlier_sign=sign, outlier_intensity=intensity, random_state=6
    )
    unit = np.abs(stream.clean).max() if noise == "relative" else 1.0
    planted = stream.outliers[stream.outliers != 0] / (intensity * unit)
    assert planted.min() >= least
    assert planted.max() <= 1
    inner = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    error = 5 * (1 - least) * sqrt(0.25 / planted.size)
    np.testing.assert_allclose(np.quantile(planted, inner), least + (1 - least) * inner, atol=error)


def test_intensity_zero_means_no_outliers():
    assert not subspace_stream(50, outlier_intensity=0.0, random_state=0).outliers.any()


def test_share_of_gaps_of_a_subspace_stream_and_no_other_change():
    options = {"n_samples": 2100, "jumps": [500], "rotation": 1e-3, "random_state": 7}
    whole = subspace_stream(**options, missing=0.0)
    gappy = subspace_stream(**options, missing=0.7)
    gaps = np.isnan(gappy.X)
    assert gaps.mean() == pytest.approx(0.7, abs=5 * sqrt(0.21 / gaps.size))
    np.testing.assert_array_equal(gappy.X[~gaps], whole.X[~gaps])
    for before, after in zip(whole[1:], gappy[1:], strict=True):
        np.testing.assert_array_equal(before, after)
    assert not np.isnan(whole.X).any()
    assert np.isnan(subspace_stream(5, 4, 2, missing=1.0).X).all()


@pytest.mark.parametrize(
    "other",
    [
        {"outlier_density": 0.4},
        {"outlier_intensity": 1.0, "outlier_sign": "any"},
        {"snr": 3.0},
        {"noise": "absolute"},
    ],
)
def test_signal_noise_and_outliers_are_independent(other):
    options = {"n_samples": 300, "n_features": 10, "missing": 0.0, "random_state": 8}
    one, two = subspace_stream(**options), subspace_stream(**options, **other)
    np.testing.assert_array_equal(one.clean, two.clean)
    a, b = remainder(one), remainder(two)  # the same up to scale
    np.testing.assert_allclose(a / np.linalg.norm(a), b / np.linalg.norm(b), atol=1e-12)


def test_a_jump_is_a_new_subspace():
    stream = subspace_stream(900, 40, 3, jumps=[1, 300], random_state=9)
    for start, stop in ((0, 1), (1, 300), (300, 900)):
        basis = stream.basis_at(start)
        np.testing.assert_array_equal(basis, stream.basis_at(stop - 1))
        assert distance(stream.clean[start:stop], basis) < 1e-14
    assert distance(stream.clean[300:], stream.basis_at(299)) > 0.5
    assert subspace_angles(stream.basis_at(0), stream.basis_at(1)).max() > 0.5
    assert np.linalg.matrix_rank(stream.clean) == 1 + 3 + 3


@pytest.mark.parametrize("rotation", [1e-4, 0.003, 0.3])
@pytest.mark.parametrize(("features", "rank"), [(30, 3), (8, 4), (2, 1)])
def test_the_subspace_rotates_by_its_angle_per_sample(rotation, features, rank):
    stream = subspace_stream(
        600, features, rank, rotation=rotation, jumps=[200], missing=0.0, random_state=10
    )
    for s, t in ((0, 1), (100, 101), (3, 199), (200, 201), (250, 599)):
        first, second = stream.basis_at(s), stream.basis_at(t)
        np.testing.assert_allclose(first.T @ first, np.eye(rank), atol=1e-14)
        # (U cos a + V sin a)' (U cos b + V sin b) = cos(a - b) I, since U'V = 0
        angle = rotation * (t - s)
        np.testing.assert_allclose(first.T @ second, cos(angle) * np.eye(rank), atol=1e-13)
        away = np.linalg.svd(second - first @ (first.T @ second), compute_uv=False)
        np.testing.assert_allclose(away, abs(sin(angle)), atol=1e-13)
    for t in (0, 57, 199, 200, 599):
        assert distance(stream.clean[t], stream.basis_at(t)) < 1e-14


def test_rotation_keeps_the_power_and_the_first_sample():
    options = {"n_samples": 500, "n_features": 20, "n_components": 3, "random_state": 11}
    still, turning = subspace_stream(**options), subspace_stream(**options, rotation=0.01)
    assert not still.turns.any()
    np.testing.assert_allclose(turning.clean[0], still.clean[0], atol=1e-13)
    np.testing.assert_allclose(turning.basis_at(0), still.basis_at(0), atol=1e-14)
    np.testing.assert_allclose(
        np.linalg.norm(turning.clean, axis=1), np.linalg.norm(still.clean, axis=1), rtol=1e-12
    )
    # at a right angle the subspaces are orthogonal
    assert np.abs(turning.basis_at(0).T @ turning.basis_at(157)).max() < 1e-3


def test_a_subspace_can_be_the_whole_space():
    stream = subspace_stream(20, 3, 3, random_state=12)
    np.testing.assert_allclose(stream.basis_at(5) @ stream.basis_at(5).T, np.eye(3), atol=1e-14)


def test_bases_are_not_stored_for_each_sample():
    peak = peak_memory(lambda: subspace_stream(20_000, 20, 10, rotation=1e-3, random_state=0))
    assert peak < 6 * 8 * 20_000 * 20  # all bases would take ten times the memory of the data


@pytest.mark.parametrize("t", [-1, 50, 1.0, None, "0"])
def test_basis_at_invalid_samples_raises(t):
    stream = subspace_stream(50, 5, 2, random_state=0)
    with pytest.raises(ParameterError, match=r"^t must be .* from 0 to 49, got .*\. Use "):
        stream.basis_at(t)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_samples", [0, 2.5]),
        ("n_features", [0, None]),
        ("n_components", [0, 51, "3"]),
        ("missing", [-0.1, 1.1, float("nan")]),
        ("outlier_density", [-0.1, 1.1, None]),
        ("outlier_intensity", [-1.0, inf, float("nan"), "5"]),
        ("snr", [-301, -inf, float("nan"), "20", None]),
        ("noise", ["gaussian", None, 0.1]),
        ("outlier_sign", ["positive", 1, None]),
        ("jumps", [3000, [0], [5000], [-1], [2.0], [7, 7], [9, 8], None, "ab", [[1, 2]]]),
        ("rotation", [-0.1, 1.6, float("nan"), inf, "0.1", None]),
        ("random_state", [-1, "seed"]),
    ],
)
def test_bad_parameters_of_subspace_streams(parameter, values):
    for value in values:
        with pytest.raises(ParameterError, match=rf"^{parameter} must be .*, got .*\. Use "):
            subspace_stream(**{parameter: value})


def test_rotation_needs_twice_as_many_features():
    assert subspace_stream(10, 4, 3, random_state=0).X.shape == (10, 4)
    with pytest.raises(ParameterError, match="n_components must be at most 2 with n_features=4"):
        subspace_stream(10, 4, 3, rotation=0.01)
