"""One setting is varied, the others stay: how far results are apart, and curves in shades."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["SAME", "curves", "shades", "spread"]

# Curves of two values that end so near to one another count as the same.
SAME = 1.1


def spread(losses: Sequence[float]) -> float:
    """Return the largest loss over the smallest."""
    return max(losses) / min(losses)


def shades(colour: str, n: int) -> list[Any]:
    """Return n colours, from dark over the colour itself to pale."""
    from matplotlib.colors import to_rgb

    base, found = to_rgb(colour), []
    for i in range(n):
        lift = 0.0 if n == 1 else -0.45 + 1.05 * i / (n - 1)
        found.append(tuple(c * (1 + lift) if lift < 0 else c + (1 - c) * lift for c in base))
    return found


def curves(ax: Any, found: Mapping[str, Any], colour: str, name: str) -> None:
    """Draw held-out loss against seconds for each value of a setting, from dark to pale."""
    from matplotlib.ticker import NullFormatter

    for (value, curve), shade in zip(found.items(), shades(colour, len(found)), strict=True):
        label = f"{name}, {value}"
        ax.plot(curve["seconds"], curve["held_out"], color=shade, lw=1.8, label=label)
    ax.set(xscale="log", yscale="log")
    ax.xaxis.set_minor_formatter(NullFormatter())  # less than a decade would be full of labels
    ax.grid(which="both", alpha=0.25)
