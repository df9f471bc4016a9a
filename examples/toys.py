"""Archetypes in the plane: the toy examples of [A], Figures 1 to 4, and its Table 1.

    python examples/toys.py [--output FOLDER]

Draws ``toys.png``: why archetypes should be near the data, and what weak and strong robustness
measure. Prints both for each solution.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

from thalweg import SparseArchetypalNMF, baselines, metrics

mpl.use("Agg")
from matplotlib import pyplot as plt

INK, SOFT, BLUE, RED = "#22303c", "#9aa7b2", "#3b7dd8", "#d1495b"
TRUTH = np.array([[0.15, 0.15], [0.1, 0.7], [0.7, 0.1]])  # [A] appendix B
WIDE = np.array([[0.05, 0.05], [1.0, 0.1], [0.1, 1.0]])
LEGS = np.array([[0.0, 0.0], [0.0, 0.8], [0.8, 0.0]])
# Triangles that contain the noisy data; in the first two, one corner is nearest to two true ones.
CANDIDATES = {
    "2 c": np.array([[0.0, 0.0], [0.0, 1.5], [0.9, 0.0]]),
    "2 d": np.array([[0.0, 0.0], [0.0, 2.3], [0.9, 0.0]]),
    "2 e": np.array([[0.0, 0.0], [0.0, 1.9], [1.9, 0.0]]),
}
NOISE, ANGLE = 0.03, 0.55


class Panel(NamedTuple):
    """Data, a solution, and the archetypes it is compared with."""

    name: str
    title: str
    X: Any
    other: Any
    found: Any

    @property
    def robustness(self) -> Any:
        """Weak and strong robustness, with ``other`` as the truth."""
        return metrics.robustness(self.other, self.found)


def mixtures(m: int, seed: int, noise: float = 0.0) -> Any:
    """Return mixtures of the true archetypes, and the archetypes themselves."""
    rng = np.random.default_rng(seed)
    codes = rng.random((m, 3))
    X = np.vstack([codes / codes.sum(axis=1, keepdims=True) @ TRUTH, TRUTH])
    return np.maximum(X + noise * rng.normal(size=X.shape), 0.0)


def turned(angle: float) -> tuple[Any, Any]:
    """Return the data and the solution of [A] Example 2."""
    size, half = np.sqrt(1.0 - np.cos(angle)), np.pi / 4 - angle / 2
    foot = 1.0 - np.sin(angle) / (np.sqrt(2.0) * np.sin(angle + np.pi / 4))
    X = np.array([[size * np.cos(half), 1.0 + size * np.sin(half)], [foot, 0.0], [0.5, 0.5]])
    return X, np.array([[0.0, foot * np.tan(angle + np.pi / 4)], [foot, 0.0]])


def solve() -> list[Panel]:
    """Return the panels of Figures 1 to 4."""
    clean, noisy = mixtures(50, seed=0), mixtures(50, seed=0, noise=NOISE)
    exact = baselines.ArchetypalAnalysis(3, random_state=0).fit(clean).components_
    near = SparseArchetypalNMF(3, weight=1.0, random_state=0).fit(noisy).components_
    few = SparseArchetypalNMF(3, sparsity=2, weight=1e-3, random_state=0).fit(clean).components_
    many = mixtures(200, seed=1, noise=NOISE)
    ours = SparseArchetypalNMF(3, weight=1.0, random_state=0).fit(many).components_
    X, segment = turned(ANGLE)
    middle = TRUTH.mean(axis=0)
    return [
        Panel("1 a", "exact archetypes", clean, WIDE, exact),
        Panel("1 b", "near noisy data", noisy, WIDE, near),
        Panel("1 c", "two nonzeros", clean, TRUTH, few),
        Panel("2 b", "archetypes", many, TRUTH, ours),
        *(Panel(name, "holds the data", many, TRUTH, H) for name, H in CANDIDATES.items()),
        Panel("3", "weak only", X, np.eye(2), segment),
        Panel("4", "near", clean, TRUTH, 0.8 * TRUTH + 0.2 * middle),
        Panel("4", "far", clean, TRUTH, 0.4 * TRUTH + 0.6 * middle),
    ]


def draw(panels: list[Panel], picture: Path) -> None:
    """Draw the data, the solution in red, and the compared archetypes in blue."""
    fig, axes = plt.subplots(2, 5, figsize=(15, 6.8), layout="constrained")
    for ax, panel in zip(axes.flat, panels, strict=True):
        ax.plot(*panel.X.T, "+", color=SOFT, markersize=5)
        for H, colour, width in ((panel.other, BLUE, 1.2), (panel.found, RED, 2.0)):
            ax.plot(*np.vstack([H, H[:1]]).T, "o-", color=colour, linewidth=width, markersize=5)
        weak, strong = panel.robustness
        words = panel.title if panel.name[0] == "1" else f"{panel.title}: {weak:.3f}, {strong:.3f}"
        ax.set_title(f"({panel.name}) {words}", fontsize=11, color=INK)
        ax.spines[["top", "right"]].set_visible(False)
    fig.suptitle("Solutions (red); weak and strong robustness", fontsize=14, color=INK)
    fig.savefig(picture, dpi=80)
    plt.close(fig)


def main(argv: list[str] | None = None) -> list[Panel]:
    """Solve, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    panels = solve()
    options.output.mkdir(parents=True, exist_ok=True)
    draw(panels, options.output / "toys.png")
    print("figure                       weak  strong  D(X, H)")
    for panel in panels:
        weak, strong = panel.robustness
        held = metrics.hull_distance(panel.X, panel.found)
        print(f"{panel.name:4} {panel.title:20}{weak:8.4f}{strong:8.4f}{held:9.4f}")
    print(f"\npicture: {options.output / 'toys.png'}")
    return panels


if __name__ == "__main__":
    main()
