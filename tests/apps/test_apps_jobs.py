"""Each job recovers the known truth and writes its files."""

import csv
import importlib
import json

import numpy as np
import pytest
from PIL import Image

from thalweg import apps, checkpoint, metrics, streams, synthetic


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def numbers(path):
    """Return a CSV file with a header as an array."""
    return np.genfromtxt(path, delimiter=",", skip_header=1)


def all_samples(stream):
    return np.vstack([batch.X for batch in stream.batches(50)])


def check_files(result):
    """Check that the folder contains exactly the files of the result."""
    found = {path.name for path in result.out.iterdir()}
    assert found == {path.name for path in result.files.values()} | {"result.json"}
    page = result.files["report"].read_text("utf-8")
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    saved = json.loads((result.out / "result.json").read_text())
    assert saved["job"] == result.job
    assert set(saved["values"]) == set(result.values)


@pytest.mark.parametrize("method", ["robust-online-nmf", "petrels-admm"])
def test_a_film_is_separated(scene, film, tmp_path, method):
    result = apps.separate(film, tmp_path / "out", method=method)
    check_files(result)
    masks = all_samples(streams.open(result.files["mask"])) > 0.5
    background = all_samples(streams.open(result.files["background"]))
    assert metrics.outlier_scores(scene.mask, masks).f1 > 0.9
    assert metrics.psnr(scene.background, background) > 30
    assert result.values["frames"] == 150
    share = np.mean(masks)  # the mask is lossless
    assert result.values["foreground share"] == pytest.approx(share, abs=1e-12)
    scaled = apps.separate(film, tmp_path / "scaled", method=method, threshold=6.0)
    expected = 6 * scaled.values["noise scale"]
    assert scaled.values["threshold"] == pytest.approx(expected)


@pytest.mark.parametrize(("frames", "components"), [(30, 1), (60, 1), (90, 2), (200, 3)])
def test_short_films_have_few_components(frames, components, tmp_path):
    found = apps.demo(tmp_path / "found", frames=frames, shape=(48, 64))
    assert len(found.model.components_) == components
    if frames <= 60:
        more = apps.demo(tmp_path / "more", frames=frames, shape=(48, 64), components=3)
        assert found.values["F-measure"] > more.values["F-measure"] + 0.02


def test_frames_and_odd_sizes_and_colours(tmp_path):
    scene = synthetic.moving_scene(120, shape=(33, 47), missing=0.0, random_state=0)
    tint = np.array([1.0, 0.7, 0.4], np.float32)
    film = scene.frames.reshape(120, 33, 47, 1) * tint
    result = apps.separate(film, tmp_path / "out", frames=True)
    check_files(result)
    assert len(list(result.files["mask"].iterdir())) == 120
    stream = streams.open(result.files["background"], colour=True)
    assert stream.shape == (33, 47, 3)
    background = all_samples(stream).reshape(120, 33, 47, 3)
    assert metrics.psnr(scene.background, background[..., 0].reshape(120, -1)) > 30
    shown = apps.separate(film[:40], tmp_path / "film")
    assert streams.open(shown.files["background"]).shape == (34, 48)


def test_bytes_are_on_the_scale_of_floats(film, tmp_path):
    plain = apps.separate(film, tmp_path / "a")
    bytes_ = apps.separate(np.rint(255 * film).astype(np.uint8), tmp_path / "b")
    assert bytes_.values["noise scale"] == pytest.approx(plain.values["noise scale"], rel=0.2)


def test_the_demo_is_accurate_and_reproducible(tmp_path):
    steps = []
    for name in ("a", "b"):
        result = apps.demo(tmp_path / name, frames=200, shape=(48, 64), progress=steps.append)
    check_files(result)
    assert result.values["F-measure"] > 0.95
    assert result.values["background PSNR"] > result.values["input PSNR"] + 15
    assert {step.stage for step in steps} == {"learning", "measuring noise", "writing"}
    assert steps[-1].n_samples_seen == steps[-1].n_samples_total == 200
    models = [checkpoint.load(tmp_path / name / "model.thalweg").estimator for name in ("a", "b")]
    np.testing.assert_array_equal(models[0].components_, models[1].components_)


def test_scores_equal_those_of_the_metrics(tmp_path):
    result = apps.demo(tmp_path / "out", frames=40, shape=(24, 32), seed=3)
    scene = synthetic.moving_scene(40, (24, 32), random_state=3)
    low_rank = np.clip(result.model.decompose(scene.frames).low_rank, 0, 1)
    expected = metrics.psnr(scene.background, low_rank)
    assert result.values["background PSNR"] == pytest.approx(expected, abs=1e-3)
    before = metrics.psnr(scene.background, scene.frames)
    assert result.values["input PSNR"] == pytest.approx(before, abs=1e-3)
    masks = all_samples(streams.open(result.files["mask"])) > 0.5
    observed = ~np.isnan(scene.frames)
    f1 = metrics.outlier_scores(scene.mask[observed], masks[observed]).f1
    assert result.values["F-measure"] == pytest.approx(f1, abs=1e-12)


@pytest.fixture
def parts_images():
    """Return images of four bars with salt-and-pepper noise, and the clean images."""
    rng = np.random.default_rng(0)
    bars = np.zeros((4, 12, 12))
    for k in range(4):
        bars[k, 3 * k : 3 * k + 3] = 1.0
    clean = (rng.uniform(0.2, 0.8, (150, 4)) @ bars.reshape(4, -1)).reshape(150, 12, 12)
    noisy = np.where(rng.random(clean.shape) < 0.08, rng.choice([0.0, 1.0], clean.shape), clean)
    return noisy, clean


def test_salt_and_pepper_noise_is_removed(parts_images, tmp_path):
    noisy, clean = parts_images
    folder = tmp_path / "images"
    folder.mkdir()
    for i, image in enumerate(noisy):
        Image.fromarray(np.rint(255 * image).astype(np.uint8)).save(folder / f"face {i}.png")
    result = apps.denoise(folder, tmp_path / "out", components=4)
    check_files(result)
    order = [int(path.stem.split()[1]) for path in streams.open(folder).paths]
    names = sorted(path.name for path in result.files["clean"].iterdir())
    assert names == sorted(f"face {i}.png" for i in range(150))
    found = all_samples(streams.open(result.files["clean"])).reshape(-1, 12, 12)
    before, after = metrics.psnr(clean[order], noisy[order]), metrics.psnr(clean[order], found)
    assert after > before + 10
    assert len(rows(result.files["codes"])) == 150
    with Image.open(result.files["basis"], formats=["PNG"]) as basis:
        assert basis.size == (25, 25)


def test_detail_keeps_pixels_that_are_not_outliers(parts_images, tmp_path):
    noisy, _ = parts_images
    result = apps.denoise(noisy, tmp_path / "out", components=4, detail=True)
    found = all_samples(streams.open(result.files["clean"])).reshape(-1, 12, 12)
    same = np.abs(found - noisy) < 1 / 255
    assert np.mean(~same) == pytest.approx(result.values["outlier share"], abs=0.02)


RIVER = ["river", "boat", "bank", "water", "flood", "bridge"]
SOUP = ["soup", "salt", "bread", "pepper", "spoon", "butter"]


@pytest.fixture
def lines():
    rng = np.random.default_rng(0)
    about = rng.integers(0, 2, 80)
    return about, [" ".join(rng.choice((RIVER, SOUP)[k], 12)) + " the" for k in about]


def test_topics_of_a_text(lines, tmp_path):
    about, text = lines
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(text))
    result = apps.topics(path, tmp_path / "out", components=2, words=6, stop_words=["boat"])
    check_files(result)
    found = [int(row["topic"]) for row in rows(result.files["documents"])]
    assert metrics.purity(about, found) == 1.0
    words = [set(words) for words in result.values["topics"]]
    assert {"soup", "salt"} <= max(words, key=lambda w: "soup" in w)
    assert not any("boat" in w or "the" in w for w in words)
    assert sum(result.values["documents of each"]) == 80
    again = apps.apply(result.files["model"], path, tmp_path / "again", parts=["codes"])
    codes = numbers(again.files["codes"])
    mass = codes * result.model.components_.sum(axis=1)
    np.testing.assert_array_equal(mass.argmax(axis=1), found)


def test_topics_of_a_matrix_equal_those_of_the_text(lines, tmp_path):
    about, text = lines
    names = [*RIVER, *SOUP]
    counts = np.array([[line.split().count(word) for word in names] for line in text])
    path = tmp_path / "counts.csv"
    body = "\n".join(",".join(map(str, row)) for row in counts)
    path.write_text(",".join(names) + "\n" + body)
    result = apps.topics(path, tmp_path / "out", components=2)
    found = [int(row["topic"]) for row in rows(result.files["documents"])]
    assert metrics.purity(about, found) == 1.0
    (tmp_path / "t.txt").write_text("\n".join(text))
    of_text = apps.topics(tmp_path / "t.txt", tmp_path / "t", components=2, stop_words=["the"])
    assert sorted(map(sorted, result.values["topics"])) == sorted(
        map(sorted, of_text.values["topics"])
    )
    again = apps.apply(result.files["model"], path, tmp_path / "again", parts=["codes"])
    assert again.values["samples"] == 80


@pytest.mark.parametrize("job", [apps.track, apps.complete])
def test_gaps_are_filled_and_outliers_detected(sensors, table, tmp_path, job):
    X, clean, off = sensors
    result = job(table, tmp_path / "out")
    check_files(result)
    assert result.values["components"] in (2, 3, 4)  # chosen on hidden entries
    completed = numbers(result.files["completed"])
    gaps = np.isnan(X)
    np.testing.assert_allclose(completed[~gaps], X[~gaps], rtol=1e-7)
    units = clean.std(axis=0)
    error = ((completed - clean) / units)[gaps]
    assert np.median(np.abs(error)) < 0.03
    found = np.zeros(X.shape, dtype=bool)
    for row in rows(result.files["outliers"]):
        i, j = int(row["row"]), int(row["column"][1:])
        found[i, j] = True
        assert float(row["value"]) == pytest.approx(X[i, j])
    assert metrics.outlier_scores(off, found).f1 > 0.9
    assert result.values["gaps filled"] == np.count_nonzero(gaps)
    assert result.values["outliers"] == np.count_nonzero(found)


def test_a_jump_is_in_the_drift_curve(tmp_path):
    rng = np.random.default_rng(0)
    halves = [rng.normal(size=(800, 2)) @ rng.normal(size=(2, 12)) for _ in range(2)]
    X = np.vstack(halves) + 1e-3 * rng.normal(size=(1600, 12))
    result = apps.track(X, tmp_path / "out", components=2)
    assert any(800 < jump <= 864 for jump in result.values["jumps"])
    samples, angles = numbers(result.files["drift"]).T
    assert 800 < samples[np.argmax(np.where(samples > 700, angles, 0))] <= 1000


def test_a_cube_is_unmixed(tmp_path):
    rng = np.random.default_rng(0)
    spectra = rng.uniform(100, 3000, (3, 20))
    shares = rng.dirichlet(0.3 * np.ones(3), (12, 14))
    shares[0, :3] = np.eye(3)
    np.savez(tmp_path / "cube.npz", cube=(shares @ spectra), labels=np.zeros((12, 14)))
    result = apps.unmix(tmp_path / "cube.npz", tmp_path / "out", components=3)
    check_files(result)
    found = numbers(result.files["endmembers"])[:, 1:]
    distances = np.linalg.norm(found[:, None] - spectra, axis=2) / np.linalg.norm(spectra, axis=1)
    order = distances.argmin(axis=0)
    assert sorted(order) == [0, 1, 2]
    assert distances.min(axis=0).max() < 0.02
    with np.load(result.files["abundances"]) as file:
        np.testing.assert_allclose(file["abundances"][..., order], shares, atol=0.05)
        pure = shares.max(axis=2) > 0.9
        np.testing.assert_array_equal(file["nearest"][pure], order[shares.argmax(axis=2)][pure])
    again = apps.apply(result.files["model"], tmp_path / "cube.npz", tmp_path / "again")
    codes = numbers(again.files["codes"]).reshape(12, 14, 3)
    np.testing.assert_allclose(codes[..., order], shares, atol=0.05)
    assert apps.info(result.out).values["job"] == "unmix"
    with Image.open(result.files["map"], formats=["PNG"]) as image:
        assert image.size == (14, 12)


def test_bands_can_be_images(tmp_path):
    rng = np.random.default_rng(0)
    cube = rng.integers(0, 255, (8, 9, 5), dtype=np.uint8)
    (tmp_path / "bands").mkdir()
    for band in range(5):
        Image.fromarray(cube[..., band]).save(tmp_path / "bands" / f"{band}.png")
    result = apps.unmix(tmp_path / "bands", tmp_path / "out", components=2)
    assert [result.values[name] for name in ("height", "width", "bands")] == [8, 9, 5]


@pytest.mark.parametrize("method", ["robust-online-nmf", "Petrels", "or_nmf", "robust-nmf", "onmf"])
def test_any_estimator_on_any_stream(tmp_path, method):
    X = np.random.default_rng(0).random((70, 6))
    np.save(tmp_path / "x.npy", X)
    parts = ["codes", "low_rank", "outliers"]
    result = apps.factor(
        tmp_path / "x.npy",
        tmp_path / "out",
        method=method,
        parts=parts,
        settings={"n_components": 3},
    )
    check_files(result)
    expected = result.model.decompose(X)
    np.testing.assert_allclose(numbers(result.files["codes"]), expected.codes, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(np.load(result.files["low_rank"]), expected.low_rank)
    np.testing.assert_array_equal(np.load(result.files["outliers"]), expected.outliers)
    np.testing.assert_array_equal(np.load(result.files["components"]), result.model.components_)


def test_apply_prepares_columns_as_in_training(sensors, table, write_table, tmp_path):
    X, clean, _ = sensors
    learned = apps.track(table, tmp_path / "learned", components=3)
    # columns in another order, and an additional one
    order = [3, 1, 2, 0, *range(4, 18), 19, 18]
    more = write_table(
        tmp_path / "more.csv",
        np.column_stack([X[:, order], np.zeros(len(X))]),
        [*(f"c{i}" for i in order), "other"],
    )
    result = apps.apply(learned.files["model"], more, tmp_path / "out")
    check_files(result)
    low_rank = numbers(result.files["low_rank"])
    error = np.abs(low_rank - clean) / clean.std(axis=0)
    assert np.median(error) < 0.05


def test_pictures_are_resized_for_a_model(film, tmp_path):
    learned = apps.separate(film, tmp_path / "learned")
    other = tmp_path / "wide"
    other.mkdir()
    for i, frame in enumerate(film[:5]):
        image = Image.fromarray(np.rint(255 * frame).astype(np.uint8)).resize((112, 80))
        image.save(other / f"{i}.png")
    result = apps.apply(learned.files["model"], other, tmp_path / "out", parts=["low_rank"])
    assert np.load(result.files["low_rank"]).shape == (5, 40 * 56)


def test_info_describes_files(table, sensors, film, tmp_path):
    X, _, _ = sensors
    values = apps.info(table).values
    assert (values["kind"], values["samples"], values["features"]) == ("csv", 600, 20)
    assert values["gaps"] == pytest.approx(np.mean(np.isnan(X)))
    assert values["columns"]["c2"] == pytest.approx([np.nanmin(X[:, 2]), np.nanmax(X[:, 2])])
    learned = apps.separate(film, tmp_path / "out", checkpoint=tmp_path / "kept")
    model = apps.info(learned.files["model"]).values
    assert (model["kind"], model["estimator"], model["job"]) == (
        "model",
        "RobustOnlineNMF",
        "separate",
    )
    kept = apps.info(tmp_path / "kept").values
    assert (kept["kind"], kept["epoch"], kept["sample"]) == ("checkpoint", 4, 150)


def test_an_interrupted_job_can_be_resumed(film, tmp_path):
    def stop(step):
        if step.stage == "learning" and step.n_samples_seen == 180:
            raise KeyboardInterrupt

    options = {"checkpoint": tmp_path / "kept", "batch_size": 30, "frames": True}
    with pytest.raises(KeyboardInterrupt):
        apps.separate(film, tmp_path / "out", progress=stop, **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]
    result = apps.separate(film, tmp_path / "out", resume=True, **options)
    other = apps.separate(film, tmp_path / "uninterrupted", batch_size=30, frames=True)
    np.testing.assert_array_equal(result.model.components_, other.model.components_)
    for name in ("mask", "background", "foreground"):
        for path in other.files[name].iterdir():
            assert (result.files[name] / path.name).read_bytes() == path.read_bytes()


def test_completion_in_time_has_standard_errors_and_bounds(tmp_path):
    rng, t = np.random.default_rng(0), np.arange(600)
    walk = np.cumsum(rng.normal(size=(600, 2)), axis=0) @ rng.normal(size=(2, 5))
    clean = np.exp((walk - walk.mean(axis=0)) / walk.std(axis=0))
    X = np.where(rng.random(clean.shape) < 0.1, np.nan, clean)
    X[200:220, 1] = np.nan
    result = apps.complete(X, tmp_path / "out")
    check_files(result)
    filled, std = (numbers(result.files[key]) for key in ("completed", "errors"))
    gaps = np.isnan(X)
    assert (filled >= 0).all()
    np.testing.assert_array_equal(np.isnan(std), ~gaps)
    score = (np.abs(filled - clean)[gaps] / std[gaps]) < 2.0
    assert score.mean() > 0.85
    lines = np.stack([np.interp(t, t[~g], c[~g]) for g, c in zip(gaps.T, X.T, strict=True)], axis=1)
    assert np.square(filled - clean)[gaps].mean() < np.square(lines - clean)[gaps].mean()
    errors = [v for name, v in result.values.items() if name.startswith("errors of hidden")]
    assert set(errors[0]) == {"this", "column mean", "interpolation"}


def test_a_forecast_continues_the_table(tmp_path):
    rng, t = np.random.default_rng(0), np.arange(24 * 30)
    X = np.outer(np.sin(2 * np.pi * t / 24), [1.0, 5.0, -3.0]) + 10.0
    X += 0.1 * rng.normal(size=X.shape) * [1.0, 5.0, 3.0]
    X[rng.random(X.shape) < 0.05] = np.nan
    X[100:124] = np.nan
    result = apps.forecast(X[:-24], tmp_path / "out", steps=24, interval=0.95)
    check_files(result)
    mean, std, lower, upper = (
        numbers(result.files[key]) for key in ("forecast", "errors", "lower", "upper")
    )
    assert mean.shape == std.shape == (24, 3)
    seen = ~np.isnan(X[-24:])
    assert np.mean((lower <= X[-24:])[seen] & (X[-24:] <= upper)[seen]) > 0.85
    assert np.sqrt(np.mean(np.square((mean - X[-24:]) / [1.0, 5.0, 3.0])[seen])) < 0.25


@pytest.mark.parametrize("rows_per_block", [100_000, 150])
def test_tracking_fills_in_time_with_standard_errors(tmp_path, monkeypatch, rows_per_block):
    """Also in several blocks of rows."""
    module = importlib.import_module("thalweg.apps.track")
    monkeypatch.setattr(module, "read_batch_size", lambda n_features: rows_per_block)
    rng, t = np.random.default_rng(0), np.arange(600)
    codes = rng.normal(size=(600, 2)) @ rng.normal(size=(2, 6))
    walks = np.cumsum(rng.normal(size=(600, 6)), axis=0) / 5
    clean = codes + walks - walks.mean(axis=0) + 20.0
    X = np.where(rng.random(clean.shape) < 0.1, np.nan, clean)
    result = apps.track(X, tmp_path / "out", components=2)
    check_files(result)
    filled, std = (numbers(result.files[key]) for key in ("completed", "errors"))
    gaps = np.isnan(X)
    np.testing.assert_array_equal(np.isnan(std), ~gaps)
    errors = np.abs(filled - clean)[gaps]
    assert 0.8 < np.mean(errors < 1.645 * std[gaps]) <= 1.0
    lines = np.stack([np.interp(t, t[~g], c[~g]) for g, c in zip(gaps.T, X.T, strict=True)], axis=1)
    assert np.mean(errors**2) < np.mean(np.square(lines - clean)[gaps])
    assert any(name.startswith("errors of hidden") for name in result.values)


def test_jobs_find_the_number_of_components(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.full(3, 0.3), 240) @ rng.gamma(0.7, 1.0, (3, 30))
    X += 0.1 * X.std() * rng.random(X.shape)
    words = rng.dirichlet(np.full(120, 0.05), 3)
    counts = rng.poisson(60.0 * rng.dirichlet(np.full(3, 0.1), 300) @ words)
    found = {
        "unmix": apps.unmix(X.reshape(12, 20, 30), tmp_path / "unmix"),
        "factor": apps.factor(X, tmp_path / "factor", method="robust-nmf"),
        "topics": apps.topics(counts, tmp_path / "topics"),
    }
    for job, result in found.items():
        most = 4 if job == "topics" else 3  # weights of words are no counts, and vary more
        assert 3 <= len(result.model.components_) <= most, job
        assert "Loss of hidden entries" in result.files["report"].read_text()
    fixed = apps.factor(X, tmp_path / "onmf", method="onmf", components=2)
    assert "Loss of hidden entries" not in fixed.files["report"].read_text()
