"""Curves side by side in one picture."""

from pathlib import Path
from typing import Any

__all__ = ["draw_curves"]

INK = "#22303c"
COLOURS = {
    "SAA": "#1b6ca8", "AA": "#222a33", "exact AA": "#7b4ab5", "k-means": "#7a7a7a",
    "PP": "#d1495b", "KP": "#c9910d", "Hoyer": "#2e933c",
}  # fmt: skip


def draw_curves(path: Path, panels: list[tuple[str, str, Any, dict[str, Any], bool]]) -> None:
    """Draw panels of (x label, y label, x, curves by their names, whether x is logarithmic)."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 3.8), layout="constrained")
    for ax, (x_label, y_label, x, curves, logarithmic) in zip(axes, panels, strict=True):
        for name, values in curves.items():
            ax.plot(x, values, "o-", ms=4, color=COLOURS[name], label=name)
        if logarithmic:
            ax.set_xscale("log")
        if len(curves) > 1:
            ax.legend(fontsize=8, frameon=False, ncols=2)
        ax.set_xlabel(x_label, color=INK)
        ax.set_ylabel(y_label, color=INK)
        ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(path, dpi=80)
    plt.close(fig)
