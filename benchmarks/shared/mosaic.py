"""Pictures down and across: one row for each method, with its name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["compact", "mosaic"]

INK = "#222a33"


def mosaic(
    rows: Mapping[str, Sequence[Any]],
    shape: tuple[int, ...],
    titles: Mapping[int, str],
    path: Path,
    limits: Sequence[tuple[float, float] | None] | None = None,
) -> None:
    """Write images of this shape, None for an empty place, ``titles`` above columns.

    Greys are between the limits of the column; without limits they are stretched.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    across = len(next(iter(rows.values())))
    height = shape[0] / shape[1]
    figure, axes = plt.subplots(
        len(rows), across, figsize=(2.2 + 0.95 * across, 0.97 * height * len(rows) + 0.5),
        layout="constrained", squeeze=False,
    )  # fmt: skip
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.01, wspace=0.0, hspace=0.0)
    for (name, images), line in zip(rows.items(), axes, strict=True):
        for i, (image, ax) in enumerate(zip(images, line, strict=True)):
            if image is None:
                ax.set_axis_off()
                continue
            low, high = (limits[i] if limits else (0.0, 1.0)) or (image.min(), image.max())
            grey = {"cmap": "gray", "vmin": low, "vmax": high, "interpolation": "nearest"}
            ax.imshow(image.reshape(shape), **grey)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        line[0].set_ylabel(
            name, fontsize=11, color=INK, rotation=0, ha="right", va="center", labelpad=8
        )
    for column, title in titles.items():
        axes[0, column].set_title(title, fontsize=11, color=INK, loc="left")
    figure.savefig(path, dpi=64, bbox_inches="tight", pad_inches=0.08)
    plt.close(figure)
    compact(path)


def compact(path: Path, colours: int = 32) -> None:
    """Write a picture again with few colours, which photographs and masks need no more of."""
    from PIL import Image

    with Image.open(path, formats=["PNG"]) as image:
        few = image.convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
