"""Masks of films: evidence of pixels and their neighbours, shadows, regions and boxes."""

import csv

import numpy as np
import pytest
from benchmarks.shared import scenes
from PIL import Image
from scipy import integrate, ndimage, stats

from thalweg import apps, metrics, streams
from thalweg.apps._boxes import boxes
from thalweg.apps._films import film, lossless_film
from thalweg.apps._mask import (
    density_at,
    evidence,
    objects,
    pooled,
    threshold_of,
    without_speckles,
)
from thalweg.apps._pixel_noise import pixel_noise
from thalweg.apps._shadows import shadows
from thalweg.errors import ParameterError

RNG = np.random.default_rng(0)


def test_evidence_is_the_ratio_of_the_laws():
    r, s = np.linspace(-0.3, 0.3, 41)[None, None], np.full((1, 41), 0.02)
    expected = np.log(1.0) - stats.t(3, scale=0.02).logpdf(r)
    np.testing.assert_allclose(evidence(r, s), np.clip(expected, -4, 4), atol=1e-9)
    single = evidence(r.astype(np.float32), s.astype(np.float32))
    assert single.dtype == np.float32  # twice as fast
    law = lambda x: np.exp(-2.0 * np.log1p(x**2 / 3)) * 2 / (np.sqrt(3) * np.pi)  # noqa: E731
    assert integrate.quad(law, -np.inf, np.inf)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("threshold", [2.0, 5.0, 9.0])
def test_evidence_is_zero_at_the_threshold(threshold):
    noise = pixel_noise(0.02 * RNG.standard_normal((200, 8, 9)))
    density = density_at(threshold, noise)
    limit = threshold * noise.common
    assert threshold_of(density, noise) == pytest.approx(limit)
    scale = np.full((8, 9), noise.common)
    at = evidence(np.full((1, 8, 9), limit), scale, density)
    np.testing.assert_allclose(at, 0.0, atol=1e-9)


def test_pooling_is_the_mean_of_the_observed_pixels():
    values = RNG.normal(size=(3, 9, 11))
    values[RNG.random(values.shape) < 0.3] = np.nan
    values[0, :4, :4] = np.nan
    padded = np.pad(values, ((0, 0), (1, 1), (1, 1)), mode="symmetric")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    n = np.count_nonzero(~np.isnan(windows), axis=(3, 4))
    expected = np.nansum(windows, axis=(3, 4)) / np.maximum(n, 1)
    np.testing.assert_allclose(pooled(values), expected, atol=1e-12)


def test_gaps_take_the_value_of_their_neighbours():
    noise = pixel_noise(0.02 * RNG.standard_normal((100, 12, 12)))
    residual = np.zeros((1, 12, 12))
    residual[0, 3:9, 3:9] = 1.0
    whole = objects(residual, noise)
    assert whole[0, 5, 5]
    assert not whole[0, 0, 0]
    residual[0, 5, 5] = residual[0, 0, 0] = np.nan
    np.testing.assert_array_equal(objects(residual, noise), whole)
    colours = np.zeros((1, 12, 12, 3))
    colours[..., 1] = residual
    tinted = noise._replace(scale=np.repeat(noise.scale[..., None], 3, axis=2))
    np.testing.assert_array_equal(objects(colours, tinted), whole)


def test_noise_scales_follow_flicker_and_not_objects():
    sigma = np.where(np.arange(400) < 300, 0.01, 0.08).reshape(20, 20)
    residuals = sigma * RNG.standard_normal((2000, 20, 20))
    for t in range(2000):  # an object covers each pixel for a fifth of the time
        residuals[t, :, (4 * t // 10 + np.arange(4)) % 20] = 0.7
    residuals[RNG.random(residuals.shape) < 0.1] = np.nan
    noise = pixel_noise(residuals)
    # the median of all is the quantile 0.5 / 0.8 of the background
    own = 1.4826 * stats.norm.ppf(0.5 + 0.625 / 2) * sigma
    expected = np.sqrt((1800 * own**2 + 100 * np.median(own) ** 2) / 1900)
    np.testing.assert_allclose(noise.scale, expected, rtol=0.15)


def test_noise_scales_of_few_frames_are_near_the_common_one():
    residuals = 0.03 * RNG.standard_normal((12, 30, 30))
    noise = pixel_noise(residuals)
    own = 1.4826 * np.median(np.abs(residuals), axis=0)
    assert noise.scale.std() < 0.2 * own.std()
    never = residuals.copy()
    never[:, 0, 0] = np.nan
    expected = noise.common * np.sqrt(100 / 100)
    assert pixel_noise(never).scale[0, 0] == pytest.approx(expected, rel=0.01)


def test_a_darker_background_is_shadow():
    background = np.clip(0.6 + 0.1 * RNG.standard_normal((1, 40, 60)), 0, 1)
    scale = np.full((40, 60), 0.01)
    frames = background + 0.01 * RNG.standard_normal(background.shape)
    frames[:, 5:15, 5:15] = 0.75 * background[:, 5:15, 5:15]  # shadow
    frames[:, 5:15, 25:35] = 0.45  # a grey object of the same brightness
    frames[:, 5:15, 45:55] = 0.2 * background[:, 5:15, 45:55]  # too dark
    found = shadows(frames, background, scale)
    assert found[0, 7:13, 7:13].all()
    assert not found[0, 5:15, 25:35].any()
    assert not found[0, 5:15, 45:55].any()
    colours = np.repeat(frames[..., None], 3, axis=3)
    colours[:, 5:15, 5:15, 2] *= 0.6  # a colour of its own
    tinted = shadows(colours, background[..., None], scale[..., None])
    assert not tinted[0, 7:13, 7:13].any()


def test_speckles_and_holes_are_removed_by_area():
    mask = np.zeros((2, 30, 30), dtype=bool)
    mask[0, 2:12, 2:12] = True
    mask[0, 5:8, 5:8] = False  # a hole of 9 pixels
    mask[0, 20:24, 20:24] = True  # 16 pixels in each of two frames: they are not joined
    mask[1, 20:24, 20:24] = True
    expected = np.zeros_like(mask)
    expected[0, 2:12, 2:12] = True
    np.testing.assert_array_equal(without_speckles(mask), expected)


def test_boxes_are_those_of_the_regions():
    mask = ndimage.binary_opening(RNG.random((4, 25, 31)) < 0.7, np.ones((1, 3, 3)))
    found = list(boxes(mask, first=7))
    assert sum(box[5] for box in found) == np.count_nonzero(mask)
    for frame, x, y, width, height, area in found:
        inside = mask[frame - 7, y : y + height, x : x + width]
        assert area <= np.count_nonzero(inside)
        edges = (inside[0], inside[-1], inside[:, 0], inside[:, -1])
        assert all(edge.any() for edge in edges)


@pytest.mark.parametrize("shape", [(33, 47), (32, 64)])
def test_lossless_films_have_exact_values(shape, tmp_path):
    frames = RNG.integers(0, 256, (9, *shape), dtype=np.uint8)
    with lossless_film(tmp_path / "mask.mkv", shape, 29.97) as writer:
        writer.write(frames)
    stream = streams.open(tmp_path / "mask.mkv")
    found = np.vstack([batch.X for batch in stream.batches(4)]).reshape(frames.shape)
    np.testing.assert_array_equal(np.rint(255 * found).astype(np.uint8), frames)


def masks_of(result):
    return np.vstack([batch.X for batch in streams.open(result.files["mask"]).batches(64)])


@pytest.mark.parametrize("disturbance", scenes.DISTURBANCES)
def test_generated_disturbances_stay_background(disturbance, tmp_path):
    made = scenes.film(disturbance, n=200, shape=(48, 64))
    result = apps.separate(made.frames, tmp_path / "out")
    found = masks_of(result).reshape(made.mask.shape) > 0.5
    least = 0.7 if disturbance == "stopped car" else 0.85
    assert metrics.outlier_scores(made.mask, found).f1 > least


def test_boxes_and_marked_shadows_agree_with_the_mask(tmp_path):
    made = scenes.film("none", n=120, shape=(48, 64))
    frames = made.frames.copy()
    shaded, place = np.arange(4, 120, 12), np.s_[24:35, 5:25]  # houses: no object passes there
    for t in shaded:
        frames[t][place] = np.rint(0.75 * frames[t][place])
    kept = {
        policy: apps.separate(frames, tmp_path / policy, shadows=policy, frames=True)
        for policy in ("drop", "keep", "mark")
    }
    drop, keep, mark = (np.rint(255 * masks_of(kept[name])) for name in ("drop", "keep", "mark"))
    np.testing.assert_array_equal(mark == 255, drop == 255)
    assert set(np.unique(mark)) == {0, 127, 255}
    marked, foreground = (part.reshape(frames.shape)[shaded, 26:33, 8:22] for part in (mark, keep))
    assert np.mean(marked == 127) > 0.7
    assert np.mean(foreground == 255) > 0.9
    with kept["drop"].files["boxes"].open(newline="") as file:
        found = [tuple(map(int, row.values())) for row in csv.DictReader(file)]
    assert found == list(boxes(drop.reshape(frames.shape) == 255))
    assert kept["drop"].values["objects"] == len(found)


def test_the_threshold_hardly_depends_on_the_container(tmp_path):
    """Compression removes some of the noise, or adds some."""
    made = scenes.film("none", n=120, shape=(96, 128))
    with film(tmp_path / "street.mp4", (96, 128), 25.0) as writer:
        writer.write(made.frames)
    images = [Image.fromarray(frame) for frame in made.frames]
    images[0].save(tmp_path / "street.gif", save_all=True, append_images=images[1:], duration=40)
    (tmp_path / "street").mkdir()
    for i, image in enumerate(images):
        image.save(tmp_path / "street" / f"{i}.jpeg", quality=90)
    sources = [tmp_path / name for name in ("street.mp4", "street.gif", "street")]
    found = [apps.separate(source, tmp_path / f"out{i}") for i, source in enumerate(sources)]
    limits = [result.values["threshold"] for result in found]
    assert max(limits) < 1.25 * min(limits)


def test_unknown_policies_are_rejected(tmp_path):
    with pytest.raises(ParameterError, match=r"shadows must be one of drop, keep, mark, got 'no'"):
        apps.separate(np.zeros((5, 8, 8)), tmp_path / "out", shadows="no")
