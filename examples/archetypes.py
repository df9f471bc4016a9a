"""Archetypes in the plane, and of data sets of scikit-learn: [A] Figure 9 and 5.3.

    python examples/archetypes.py [--output FOLDER]

Draws ``archetypes.png``: the estimate of a triangle from noisy mixtures of its corners, with and
without sparsity. Prints purity and entropy of clusterings of wines and of digits.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from thalweg import SignSplitter, SparseArchetypalNMF, baselines, metrics

mpl.use("Agg")
from matplotlib import pyplot as plt

INK, SOFT, BLUE, RED = "#22303c", "#9aa7b2", "#3b7dd8", "#d1495b"
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
WEIGHTS = (0.01, 0.3, 3.0)


class Toy(NamedTuple):
    """A solution in the plane."""

    title: str
    components: Any
    strong: float


def triangle(seed: int = 0, noise: float = 0.06) -> Any:
    """Return noisy mixtures of the corners, [A] 5.1.3."""
    rng = np.random.default_rng(seed)
    codes = rng.random((200, 3))
    clean = codes / codes.sum(axis=1, keepdims=True) @ CORNERS
    return np.maximum(clean + noise * rng.normal(size=clean.shape), 0.0)


def solve(X: Any) -> list[Toy]:
    """Fit with several weights, without and with a limit of two nonzeros."""
    toys = []
    for sparsity in (None, 2):
        for weight in WEIGHTS:
            model = SparseArchetypalNMF(3, sparsity=sparsity, weight=weight, random_state=0)
            H = model.fit(X).components_
            name = "any nonzeros" if sparsity is None else "two nonzeros"
            strong = metrics.robustness(CORNERS, H).strong
            toys.append(Toy(f"{name}, weight {weight:g}", H, strong))
    return toys


def draw(X: Any, toys: list[Toy], picture: Path) -> None:
    """Draw the data, the true corners and the archetypes with their hulls."""
    size = {"figsize": (11, 7.6), "layout": "constrained", "sharex": True, "sharey": True}
    fig, axes = plt.subplots(2, len(WEIGHTS), **size)
    for ax, toy in zip(axes.flat, toys, strict=True):
        ax.plot(*X.T, "+", color=SOFT, markersize=5)
        for H, colour, width in ((CORNERS, BLUE, 1.2), (toy.components, RED, 2.0)):
            closed = np.vstack([H, H[:1]])
            ax.plot(*closed.T, "o-", color=colour, linewidth=width, markersize=5)
        ax.set_title(f"{toy.title}: {toy.strong:.3f}", fontsize=12, color=INK)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_aspect("equal")
    title = "Archetypes (red) of mixtures of three corners (blue), and their strong robustness"
    fig.suptitle(title, fontsize=14, color=INK)
    fig.savefig(picture, dpi=90)
    plt.close(fig)


def groups(X: Any, labels: Any, k: int) -> dict[str, tuple[float, float, float]]:
    """Return purity, entropy and share of nonzeros of several clusterings."""
    split = SignSplitter().fit_transform(StandardScaler().fit_transform(X))
    means = KMeans(k, n_init=10, random_state=0).fit(split)
    found = {"k-means": (means.labels_, metrics.sparsity(means.cluster_centers_))}
    for name, sparsity in (("archetypes", None), ("sparse archetypes, 0.5", 0.5)):
        model = SparseArchetypalNMF(k, sparsity=sparsity, init="projections").fit(split)
        found[name] = (model.labels_, metrics.sparsity(model.components_))
    exact = baselines.ArchetypalAnalysis(k, random_state=0).fit(split)
    nearest = np.argmin(((split[:, None] - exact.components_) ** 2).sum(axis=2), axis=1)
    found["exact archetypal analysis"] = (nearest, metrics.sparsity(exact.components_))
    return {
        name: (metrics.purity(labels, groups), metrics.entropy(labels, groups), share)
        for name, (groups, share) in found.items()
    }


def main(argv: list[str] | None = None) -> tuple[list[Toy], dict[str, Any]]:
    """Solve, draw, group, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    X = triangle()
    toys = solve(X)
    options.output.mkdir(parents=True, exist_ok=True)
    draw(X, toys, options.output / "archetypes.png")
    results = {}
    for name, load, k in (("wines", load_wine, 3), ("digits", load_digits, 10)):
        results[name] = groups(*load(return_X_y=True), k)
        print(f"{name:28} purity  entropy  nonzeros")
        for method, row in results[name].items():
            print(f"{method:28}{row[0]:7.3f}{row[1]:9.3f}{row[2]:10.2f}")
    print(f"\npicture: {options.output / 'archetypes.png'}")
    return toys, results


if __name__ == "__main__":
    main()
