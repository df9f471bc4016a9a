"""Separate people from the background of two videos: PETRELS-ADMM and GRASTA, [T] V-C.

The videos are a hall and a buffet of the I2R data set: ``i2r_hall.npz`` and
``i2r_bootstrap_half.npz`` in the folder THALWEG_DATA. Each has 20 frames with hand-labelled masks
of the people.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from scipy.ndimage import median_filter

from thalweg import Grasta, PetrelsADMM, metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

# file, rank of the background, labelled frames in the picture
SCENES = {"hall": ("i2r_hall.npz", 1, (7, 15)), "buffet": ("i2r_bootstrap_half.npz", 2, (9, 12))}
TRACKERS = {"PETRELS-ADMM": PetrelsADMM, "GRASTA": Grasta}
MEDIAN = "median frame"
THRESHOLD = 0.1  # difference from the background, as a share of the full range
VERDICTS = {"correct": "#e9edf2", "false positive": "#e4572e", "missed": "#4c9be8"}
INK = "#222a33"


class Video(NamedTuple):
    """Frames as rows with entries between 0 and 1, and the frames with labelled masks."""

    frames: Any
    outlined: Any
    masks: Any  # True at the people
    shape: tuple[int, int]


class Result(NamedTuple):
    """Background and mask of the labelled frames, scores, and milliseconds per frame."""

    background: Any
    mask: Any
    scores: metrics.OutlierScores
    milliseconds: float


def load(path: Path) -> Video:
    """Return a video; labelled frames of twice the resolution are downsampled."""
    with np.load(path, allow_pickle=False) as data:
        frames, outlined, masks = data["frames"], data["gt_frames"], data["gt_masks"] > 0
    shape = frames.shape[1:]
    if outlined.shape[1:] != shape:
        outlined, masks = halve(outlined), halve(masks) >= 0.5
    if len(frames) < 100:  # a short clip, which does not include the labelled frames
        frames = np.concatenate([frames, outlined])
    rows = [x.reshape(len(x), -1) / 255.0 for x in (frames, outlined)]
    return Video(*rows, masks.reshape(len(masks), -1), shape)


def halve(pictures: Any) -> Any:
    """Return means of 2 x 2 pixels."""
    n, height, width = pictures.shape
    return pictures.reshape(n, height // 2, 2, width // 2, 2).mean(axis=(2, 4))


def judge(video: Video, background: Any, seconds: float = 0.0) -> Result:
    """Mark pixels that differ from the background as people, after a median filter."""
    differs = np.abs(video.outlined - background) > THRESHOLD
    pictures = differs.reshape(-1, *video.shape).astype(np.uint8)
    mask = median_filter(pictures, size=(1, 3, 3)).reshape(differs.shape) > 0
    scores = metrics.outlier_scores(video.masks, mask)
    return Result(background, mask, scores, 1e3 * seconds / len(video.frames))


def follow(video: Video, kind: Any, n_components: int) -> Result:
    """Track the frames in one pass, and decompose the labelled ones."""
    begin = time.perf_counter()
    model = kind(n_components, random_state=0).fit(video.frames)
    seconds = time.perf_counter() - begin
    return judge(video, model.decompose(video.outlined).low_rank, seconds)


def draw(videos: dict[str, Video], results: dict[str, dict[str, Result]], picture: Path) -> None:
    """Draw a mosaic: one row for each frame, one column for each part."""
    shown = [(name, t) for name, (_, _, picks) in SCENES.items() for t in picks if name in videos]
    grey = {"cmap": "gray", "vmin": 0, "vmax": 1}
    signed = {"cmap": "RdBu_r", "vmin": -0.6, "vmax": 0.6}
    judged = {"cmap": ListedColormap(["#14181f", *VERDICTS.values()]), "vmin": 0, "vmax": 3}
    fig, axes = plt.subplots(len(shown), 5, figsize=(14, 2.35 * len(shown)), layout="constrained")
    fig.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.0, hspace=0.0)
    titles = ("frame", "background", "foreground", "mask", "GRASTA's mask")
    for title, ax in zip(titles, axes[0], strict=True):
        ax.set_title(title, fontsize=15, color=INK)
    for (name, t), across in zip(shown, axes, strict=True):
        video, own = videos[name], results[name]
        ours = own["PETRELS-ADMM"]
        frame, truth = video.outlined[t], video.masks[t]
        pictures = [(frame, grey), (ours.background[t], grey)]
        pictures.append((np.where(ours.mask[t], frame - ours.background[t], 0.0), signed))
        for result in (ours, own["GRASTA"]):
            found = result.mask[t]
            pictures.append((np.select([truth & found, found, truth], [1, 2, 3]), judged))
        for (values, style), ax in zip(pictures, across, strict=True):
            ax.imshow(values.reshape(video.shape), interpolation="nearest", **style)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_color("#9aa3ad")
        across[0].set_ylabel(name, fontsize=14, color=INK)
    handles = [Patch(fc=c, ec="#9aa3ad", label=name) for name, c in VERDICTS.items()]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=14)
    fig.savefig(picture, dpi=80)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[str, dict[str, Result]]:
    """Load both videos, process them with both trackers, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("THALWEG_DATA"))
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    for file, *_ in SCENES.values():
        if options.data is None or not (Path(options.data) / file).exists():
            parser.error(f"{file} not found: set --data or THALWEG_DATA to its folder")
    videos, results = {}, {}
    for name, (file, n_components, _) in SCENES.items():
        video = videos[name] = load(Path(options.data) / file)
        own = {key: follow(video, kind, n_components) for key, kind in TRACKERS.items()}
        own[MEDIAN] = judge(video, np.median(video.frames, axis=0)[None])
        results[name] = own
        print(f"\n{name}: {len(video.frames)} frames of {video.shape}, rank {n_components}")
        print(f"{'':14}{'F-measure':>10}{'precision':>10}{'recall':>8}{'ms per frame':>14}")
        for key, (_, _, scores, ms) in own.items():
            print(f"{key:14}{scores.f1:10.3f}{scores.precision:10.3f}{scores.recall:8.3f}", end="")
            print(f"{ms:14.2f}" if ms else "")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(videos, results, options.output / "video.png")
    print(f"\npicture: {options.output / 'video.png'}")
    return results


if __name__ == "__main__":
    main()
