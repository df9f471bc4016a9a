"""Remove noise and shadows from faces: the Huber, squared and Kullback-Leibler losses.

The noise is that of [D] VIII-F. The faces are those of the ORL or of the CBCL database:
``orl_32x32.npz`` or ``cbcl_faces.npz`` in the folder THALWEG_DATA.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

from thalweg import OnlineNMF, metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

LOSSES = ("huber", "squared-l2", "kl")
COMPONENTS, EPOCHS = 49, 5
NOISY, SHADED = 0.3, 0.25  # shares of the pixels with noise, and of the faces with a shadow
DARK, WIDTH = 0.3, 0.15  # brightness in a shadow, and its width as a share of the face
COLUMNS = 5  # faces of each kind in the picture
INK, SOFT = "#222a33", "#68727d"


class Corrupted(NamedTuple):
    """Faces as rows with entries between 0 and 1."""

    clean: Any
    noisy: Any
    shaded: Any  # whether a face has a shadow
    shape: tuple[int, int]


class Result(NamedTuple):
    """The reconstructed faces of a loss, with their PSNR in decibels."""

    faces: Any
    all: float
    plain: float
    shaded: float
    seconds: float


def load(path: Path) -> tuple[Any, tuple[int, int]]:
    """Return faces as rows, and the shape of one."""
    with np.load(path, allow_pickle=False) as data:
        images = data["images"]
    return images.reshape(len(images), -1) / 255.0, images.shape[1:]


def spoil(
    clean: Any, shape: tuple[int, int], rng: np.random.Generator, share: float = NOISY
) -> Corrupted:
    """Darken a bar across some of the faces, then add noise to a share of all pixels."""
    shaded = rng.random(len(clean)) < SHADED
    y, x = np.indices(shape).reshape(2, 1, -1) / shape[0]
    angle, y0, x0 = rng.random((3, len(clean), 1))
    distance = np.cos(np.pi * angle) * (x - x0) + np.sin(np.pi * angle) * (y - y0)
    dark = shaded[:, None] & (np.abs(distance) < WIDTH / 2)
    noise = rng.uniform(-1.0, 1.0, clean.shape) * (rng.random(clean.shape) < share)
    noisy = np.clip(np.where(dark, DARK, 1.0) * clean + noise, 0.0, 1.0)
    return Corrupted(clean, noisy, shaded, shape)


def judge(data: Corrupted, faces: Any, seconds: float = 0.0) -> Result:
    """Return the PSNR of all faces, and of those without and with a shadow."""
    kinds = (slice(None), ~data.shaded, data.shaded)
    return Result(faces, *(metrics.psnr(data.clean[k], faces[k]) for k in kinds), seconds)


def reconstruct(data: Corrupted, loss: str, n_components: int = COMPONENTS) -> Result:
    """Learn components from the corrupted faces, and reconstruct the faces with them."""
    begin = time.perf_counter()
    model = OnlineNMF(n_components, loss=loss, epochs=EPOCHS, random_state=0)
    codes = model.fit(data.noisy).transform(data.noisy)
    return judge(data, codes @ model.components_, time.perf_counter() - begin)


def shown(data: Corrupted) -> Any:
    """Choose faces for the picture: first without a shadow, then with one."""
    kinds = (np.flatnonzero(~data.shaded), np.flatnonzero(data.shaded))
    picks = [k[np.linspace(0, len(k), COLUMNS, endpoint=False, dtype=int)] for k in kinds]
    return np.concatenate(picks)


def draw(data: Corrupted, results: dict[str, Result], picture: Path) -> None:
    """Draw a mosaic: one row for each version of the faces, one column for each face."""
    rows = {"clean": judge(data, data.clean), "corrupted": judge(data, data.noisy), **results}
    picks = shown(data)
    widths = [1.0] * COLUMNS + [0.2] + [1.0] * COLUMNS  # a gap between the kinds
    fig, axes = plt.subplots(
        len(rows),
        len(widths),
        figsize=(11.5, 1.07 * len(rows)),
        width_ratios=widths,
        layout="constrained",
    )
    fig.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.0, hspace=0.0)
    for ax in axes[:, COLUMNS]:
        ax.set_axis_off()
    axes = np.delete(axes, COLUMNS, axis=1)
    for (name, result), across in zip(rows.items(), axes, strict=True):
        for i, ax in zip(picks, across, strict=True):
            ax.imshow(result.faces[i].reshape(data.shape), cmap="gray", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        quality = "" if np.isinf(result.all) else f"\n{result.all:.1f} dB"
        across[0].set_ylabel(
            name + quality, fontsize=13, color=INK, rotation=0, ha="right", va="center", labelpad=8
        )
    axes[0, COLUMNS // 2].set_title(f"noise on {NOISY:.0%} of the pixels", fontsize=14, color=INK)
    axes[0, COLUMNS + COLUMNS // 2].set_title("noise and shadow", fontsize=14, color=INK)
    fig.savefig(picture, dpi=110, bbox_inches="tight", pad_inches=0.08)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[str, Result]:
    """Load and corrupt the faces, reconstruct them with each loss, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("THALWEG_DATA"))
    parser.add_argument("--faces", choices=("orl_32x32", "cbcl_faces"), default="orl_32x32")
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    file = f"{options.faces}.npz"
    if options.data is None or not (options.data / file).exists():
        parser.error(f"{file} not found: set --data or THALWEG_DATA to its folder")
    data = spoil(*load(options.data / file), np.random.default_rng(0))
    results = {loss: reconstruct(data, loss) for loss in LOSSES}
    print(f"{len(data.clean)} faces, {np.mean(data.shaded):.0%} with a shadow")
    print(f"\n{'PSNR in dB':12}{'all':>8}{'plain':>8}{'shadow':>8}{'seconds':>9}")
    for name, result in {"corrupted": judge(data, data.noisy), **results}.items():
        print(f"{name:12}{result.all:8.2f}{result.plain:8.2f}{result.shaded:8.2f}", end="")
        print(f"{result.seconds:9.2f}" if result.seconds else "")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(data, results, options.output / "faces.png")
    print(f"\npicture: {options.output / 'faces.png'}")
    return results


if __name__ == "__main__":
    main()
