"""Separate the background of a street from moving objects, in one pass, and draw a picture."""

import argparse
import sys
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from thalweg import RobustOnlineNMF, metrics, synthetic

mpl.use("Agg")
import matplotlib.pyplot as plt

SHOWN = (807, 632, 867, 707)  # frames from night to noon, with missing rows and a missing rectangle
THRESHOLD = 0.1  # absolute outlier value above which a pixel is part of an object
GAP, VERDICTS = "#f2a33a", {"correct": "#e9edf2", "false positive": "#e4572e", "missed": "#4c9be8"}


def report(progress) -> None:
    """Show the progress: on one line of a terminal, or every 200 frames in a log."""
    live = sys.stderr.isatty()
    if live or progress.n_samples_seen % 200 == 0:
        line = (
            f"{progress.n_samples_seen:5d} frames   objective {progress.objective:7.2f}   "
            f"outliers {progress.outlier_share:.2%}"
        )
        print(line, end="\r" if live else "\n", file=sys.stderr, flush=True)


def verdicts(truth, found, observed):
    """Return class numbers: 0 background, 1 to 3 the VERDICTS, 4 missing pixels of objects."""
    return np.select([truth & ~observed, truth & found, found, truth], [4, 1, 2, 3])


def draw(scene, parts, found, observed, picture: Path) -> None:
    """Draw a mosaic: one row for each frame, one column for each part."""
    grey = {"cmap": mpl.colormaps["gray"].with_extremes(bad=GAP), "vmin": 0, "vmax": 1}
    signed = {"cmap": "RdBu_r", "vmin": -0.8, "vmax": 0.8}
    judged = {"cmap": ListedColormap(["#14181f", *VERDICTS.values(), GAP]), "vmin": 0, "vmax": 4}
    columns = {
        "input": (scene.frames, grey),
        "background": (parts.low_rank, grey),
        "outliers (red: brighter)": (parts.outliers, signed),
        "mask compared with the truth": (verdicts(scene.mask, found, observed), judged),
    }
    fig, axes = plt.subplots(len(SHOWN), 4, figsize=(13, 10.6), layout="constrained")
    for (title, (pictures, style)), down in zip(columns.items(), axes.T, strict=True):
        down[0].set_title(title, fontsize=14, pad=8)
        for t, ax in zip(SHOWN, down, strict=True):
            ax.imshow(pictures[t].reshape(scene.shape), interpolation="nearest", **style)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_color("#9aa3ad")
    for t, ax in zip(SHOWN, axes[:, 0], strict=True):
        ax.set_ylabel(f"frame {t}", fontsize=12, color="#4a525c")
    colours = {"missing": GAP, **VERDICTS}
    handles = [Patch(fc=c, ec="#9aa3ad", label=name) for name, c in colours.items()]
    fig.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=12)
    picture.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(picture, dpi=110)
    plt.close(fig)


def main(argv: list[str] | None = None) -> None:
    """Generate the scene, fit, evaluate, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    picture = parser.parse_args(argv).output / "separation.png"
    scene = synthetic.moving_scene(1000, random_state=0)
    observed = ~np.isnan(scene.frames)
    print(f"{len(scene.frames)} frames of {scene.shape} pixels, {np.mean(~observed):.1%} missing")
    start = time.perf_counter()
    # The light has three components.
    model = RobustOnlineNMF(n_components=3, random_state=0, callback=report)
    parts = model.fit(scene.frames).decompose(scene.frames)
    seconds = time.perf_counter() - start
    print(file=sys.stderr)  # end the progress line
    found = np.abs(parts.outliers) > THRESHOLD
    scores = metrics.outlier_scores(scene.mask[observed], found[observed])
    print(f"objects      F-measure {scores.f1:.3f}", end="   ")
    print(f"(precision {scores.precision:.3f}, recall {scores.recall:.3f})")
    print(f"background   PSNR {metrics.psnr(scene.background, parts.low_rank):.1f} dB", end="   ")
    print(f"(input {metrics.psnr(scene.background, scene.frames):.1f} dB)")
    print(f"time         {seconds:.1f} s   (outlier weight {model.outlier_weight_:.3f})")
    draw(scene, parts, found, observed, picture)
    print(f"picture      {picture}")


if __name__ == "__main__":
    main()
