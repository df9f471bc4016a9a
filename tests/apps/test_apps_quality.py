"""The jobs with default settings on real data; skipped if the data are not available."""

import csv

import numpy as np
import pytest

from thalweg import apps, metrics, streams


def test_people_are_detected_as_well_as_by_mog2(shared_data, tmp_path):
    cv2 = pytest.importorskip("cv2")
    with np.load(shared_data("i2r_bootstrap_half.npz"), allow_pickle=False) as data:
        frames, truth = data["frames"], data["gt_masks"] > 0
        outlined = np.abs(data["index"][None] - data["gt_index"][:, None]).argmin(axis=1)
    truth = truth.reshape(20, 60, 2, 80, 2).mean(axis=(2, 4)) >= 0.5
    result = apps.separate(frames, tmp_path / "out", frames=True)
    masks = np.vstack([b.X for b in streams.open(result.files["mask"]).batches(256)]) > 0.5
    ours = metrics.outlier_scores(truth, masks.reshape(frames.shape)[outlined]).f1
    baseline = cv2.createBackgroundSubtractorMOG2()
    theirs = np.stack([baseline.apply(frame) for frame in frames])[outlined]
    assert ours >= metrics.outlier_scores(truth, theirs == 255).f1
    assert ours >= metrics.outlier_scores(truth, theirs > 0).f1


def test_topics_of_the_news_match_its_sections(shared_data, tmp_path):
    path = shared_data("bbc_news.npz")
    result = apps.topics(path, tmp_path / "out", components=5)
    with np.load(path, allow_pickle=False) as data:
        labels = data["labels"]
    with result.files["documents"].open(newline="") as file:
        found = [int(row["topic"]) for row in csv.DictReader(file)]
    assert metrics.purity(labels, found) >= 0.85


def test_completion_is_better_than_column_means(shared_data, tmp_path):
    with np.load(shared_data("airquality_uci.npz"), allow_pickle=False) as data:
        X = data["X"][:3000].astype(np.float64)
    rng = np.random.default_rng(0)
    hidden = (rng.random(X.shape) < 0.1) & ~np.isnan(X)
    known = np.where(hidden, np.nan, X)
    result = apps.track(known, tmp_path / "out")
    filled = np.loadtxt(result.files["completed"], delimiter=",", skiprows=1)
    scale = np.nanstd(known, axis=0)
    error = ((filled - X) / scale)[hidden]
    plain = ((np.nanmean(known, axis=0) - X) / scale)[hidden]
    assert np.sqrt(np.mean(error**2)) < 0.8 * np.sqrt(np.mean(plain**2))
