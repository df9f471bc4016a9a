"""Shared functions of the jobs, each against an independent reference."""

import json
import os

import numpy as np
import pytest

from thalweg import apps, streams, synthetic
from thalweg.apps._columns import measure
from thalweg.apps._films import film, reduced, tiled
from thalweg.apps._folder import open_folder
from thalweg.apps._learn import Subsample
from thalweg.apps._models import build, methods
from thalweg.apps._run import Run, json_types
from thalweg.apps._tables import array_file, csv_file
from thalweg.errors import InputError, ParameterError


@pytest.mark.parametrize("n", [1, 7, 100, 1000])
def test_subsamples_are_evenly_spaced(n):
    sample = Subsample(10)
    for i in range(n):
        sample.add(i, 2 * i)
    assert len(sample.items) <= 20
    assert len(sample.items) >= min(n, 10)
    assert len(set(np.diff(sample.numbers))) <= 1
    assert sample.items == [2 * i for i in sample.numbers]
    assert sample.numbers[0] == 0


def test_units_are_robust_to_outliers():
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, 2.0, (3000, 3))
    X[::50, 0] = 1e9
    X[:, 2] = 7.0
    units, drawn = measure(streams.open(X), Run("track", X), "abc")
    np.testing.assert_allclose(units.centre, [5, 5, 7], atol=0.2)
    np.testing.assert_allclose(units.scale, [2, 2, 1], atol=0.2)
    np.testing.assert_array_equal(drawn, X)  # a short table is used entirely
    np.testing.assert_allclose(units.back(units.to(X)), X)


def test_rows_of_long_tables_are_sampled_uniformly(monkeypatch):
    monkeypatch.setattr("thalweg.apps._columns._SAMPLE_ENTRIES", 600)
    X = np.arange(20_000.0)[:, None] * np.ones(3)
    _, drawn = measure(streams.open(X), Run("track", X), "abc")
    assert len(drawn) == 200
    assert len(np.unique(drawn[:, 0])) == 200
    # the mean of 200 of 20000 row numbers has a standard deviation of 408
    assert abs(drawn[:, 0].mean() - 10_000) < 4 * 408


def test_arrays_written_in_blocks_are_valid(tmp_path):
    X = np.random.default_rng(0).random((1234, 7)).astype(np.float32)
    with array_file(tmp_path / "x.npy") as file:
        for start in range(0, 1234, 100):
            file.write(X[start : start + 100])
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy", mmap_mode="r"), X)


def test_a_written_table_can_be_read(tmp_path):
    X = np.array([[1.5, np.nan], [-0.0, 1e-20]])
    with csv_file(tmp_path / "x.csv", ["a, b", 'c"d']) as file:
        file.write(X)
    stream = streams.open(tmp_path / "x.csv")
    assert stream.columns_ == ["a, b", 'c"d']
    np.testing.assert_array_equal(next(stream.batches(9)).X, X)
    assert "-0" not in (tmp_path / "x.csv").read_text()


@pytest.mark.parametrize("shape", [(16, 20), (17, 21), (16, 20, 3)])
def test_a_written_video_can_be_read(tmp_path, shape):
    y, x = np.mgrid[: shape[0], : shape[1]] / 40
    frames = np.stack([np.clip(x + 0.5 * y + 0.02 * t, 0, 1) for t in range(8)])
    frames = np.rint(255 * frames).astype(np.uint8)
    if len(shape) == 3:
        frames = np.stack([frames, frames, frames], axis=3)
    with film(tmp_path / "x.mp4", shape, 12.5) as writer:
        writer.write(frames[:5])
        writer.write(frames[5:])
    stream = streams.open(tmp_path / "x.mp4", colour=len(shape) == 3)
    assert stream.rate == pytest.approx(12.5)
    read = next(stream.batches(9)).X.reshape(8, *stream.shape)[:, : shape[0], : shape[1]]
    assert np.abs(read - frames / 255).max() < 0.04


def test_images_in_a_grid():
    images = np.arange(5.0)[:, None, None] + np.arange(12.0).reshape(3, 4)
    sheet = tiled(images)
    assert sheet.dtype == np.uint8
    assert (sheet[:3, :4].min(), sheet[:3, :4].max()) == (0, 255)
    assert sheet.shape[1] % 5 == 4
    assert reduced(np.zeros((2, 1000, 30))).shape == (2, 250, 8)


def test_every_estimator_has_a_name():
    names = methods()
    assert {"robust-online-nmf", "petrels-admm", "sparse-archetypal-nmf", "onmf"} <= set(names)
    for name in names:
        assert type(build(name, {})).__name__
    assert type(build("or-nmf", {})).__name__ == "ORNMF"
    assert build("petrels", {}, components=7, seed=3).get_params()["n_components"] == 7


def test_values_are_converted_to_json():
    values = {"a": np.float64(1.5), "b": [np.int64(2), float("nan")], "c": np.arange(2), 3: None}
    assert json.loads(json.dumps(json_types(values), allow_nan=False)) == {
        "a": 1.5,
        "b": [2, None],
        "c": [0, 1],
        "3": None,
    }


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_failed_job_leaves_no_files(tmp_path):
    run = Run("factor", "x.csv")

    def fail():
        with open_folder(run, tmp_path / "deep" / "out") as folder:
            folder.file("codes", "codes.csv").write_text("half")
            raise InputError("no")

    with pytest.raises(InputError, match="no"):
        fail()
    assert listed(tmp_path / "deep") == []


def test_an_earlier_result_is_replaced_and_other_files_are_kept(tmp_path):
    X = np.random.default_rng(0).random((40, 5))
    out = tmp_path / "out"
    apps.factor(X, out, components=2, parts=["codes", "outliers"])
    (out / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="which is not empty"):
        apps.factor(X, out, components=2)
    assert "outliers.npy" in listed(out)
    apps.factor(X, out, components=2, overwrite=True)
    assert listed(out) == [
        "codes.csv",
        "components.npy",
        "mine.txt",
        "model.thalweg",
        "report.html",
        "result.json",
    ]
    assert listed(tmp_path) == ["out"]


def test_an_incomplete_replacement_has_no_mark(tmp_path, monkeypatch):
    X = np.random.default_rng(0).random((40, 5))
    out = tmp_path / "out"
    apps.factor(X, out, components=2)
    monkeypatch.setattr("thalweg.apps._folder._free", _full_disk)
    with pytest.raises(InputError, match=r"must be writable, got an error .*: No space left"):
        apps.factor(X, out, components=2, overwrite=True)
    assert "result.json" not in listed(out)
    assert listed(tmp_path) == ["out"]


def _full_disk(path):
    raise OSError(28, "No space left on device")


def test_a_hostile_mark_removes_no_files_outside(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("keep")
    out = tmp_path / "out"
    out.mkdir()
    (out / "result.json").write_text(json.dumps({"files": {"a": "../victim", "b": str(victim)}}))
    apps.factor(np.eye(9), out, components=2, overwrite=True)
    assert victim.read_text() == "keep"


def test_the_folder_is_named_after_the_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("street.npy", np.random.default_rng(0).random((30, 4)))
    result = apps.factor("street.npy", components=2)
    assert result.out == tmp_path / "street-factor"
    assert os.access(result.out, os.R_OK | os.X_OK)


@pytest.mark.parametrize(
    "options",
    [{"components": 0}, {"epochs": 1.5}, {"batch_size": -1}, {"seed": -1}, {"resume": True}],
)
def test_options_are_checked(options):
    with pytest.raises(ParameterError):
        Run("factor", "x", **options)


def test_jobs_are_not_shadowed_by_their_modules():
    import thalweg.apps.separate

    assert callable(apps.separate)
    assert callable(synthetic.moving_scene)
    assert callable(thalweg.apps.track)
