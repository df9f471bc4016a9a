"""Recognise faces by their codes: OR-NMF and the online NMFs it is compared with, [R] V-B.

A few images of each person are learned from, without their labels; an image of the rest belongs
to the person whose learned image has the nearest code. The faces are those of the ORL database:
``orl_32x32.npz`` in the folder THALWEG_DATA.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from thalweg import ORNMF, baselines

mpl.use("Agg")
import matplotlib.pyplot as plt

LEARNED = (3, 5, 7)  # images of each person
RANKS = (10, 25, 50)
TRIALS, PASSES = 3, 2
# Components change after so many samples: one for OR-NMF and MOR-NMF, as in the paper, and a few
# for the others, whose updates take longer.
CHUNK = 20
METHODS: dict[str, Callable[[int, int], Any]] = {
    "OR-NMF": lambda K, n: ORNMF(K, buffer_size=None, horizon=PASSES * n),
    # the buffer of [R] II-C
    "MOR-NMF": lambda K, n: ORNMF(K, buffer_size=min(-(-n // 10), 20), horizon=PASSES * n),
    "WOR-NMF": lambda K, n: ORNMF(
        K, buffer_size=None, window=CHUNK, horizon=-(-PASSES * n // CHUNK)
    ),
    "OMF": lambda K, n: baselines.omf(K, batch_size=CHUNK),
    "OMF-DA": lambda K, n: baselines.omf_da(K, batch_size=CHUNK),
    "ONMF": lambda K, n: baselines.onmf(K, batch_size=min(K, n)),
    "INMF": lambda K, n: baselines.inmf(K, batch_size=CHUNK),
    "PCA": lambda K, n: PCA(min(K, n), svd_solver="full"),  # not online, and not in the paper
}
COLOURS = ("#1b6ca8", "#5aa9e6", "#0b3954", "#d1495b", "#e09f3e", "#2e933c", "#7a7a7a", "#9b5de5")
INK = "#222a33"


class Score(NamedTuple):
    """Share of images that were recognised, over trials, and the seconds of all of them."""

    mean: float
    deviation: float
    seconds: float


def load(path: Path) -> tuple[Any, Any]:
    """Return faces as rows, and whose they are."""
    with np.load(path, allow_pickle=False) as data:
        return data["images"].reshape(len(data["images"]), -1) / 255.0, data["labels"]


def split(labels: Any, learned: int, rng: np.random.Generator) -> Any:
    """Return a mask with so many images of each person."""
    chosen = np.zeros(len(labels), bool)
    for person in np.unique(labels):
        chosen[rng.choice(np.flatnonzero(labels == person), learned, replace=False)] = True
    return chosen


def accuracy(components: Any, X: Any, labels: Any, learned: Any) -> float:
    """Return the share of the other images whose nearest learned one is of the same person.

    Images are projected onto the components by least squares, as [R] V-C says.
    """
    codes = X @ np.linalg.pinv(components)
    nearest = KNeighborsClassifier(1).fit(codes[learned], labels[learned])
    return float(nearest.score(codes[~learned], labels[~learned]))


def recognise(
    X: Any, labels: Any, method: str, rank: int, learned: int, trials: int = TRIALS
) -> Score:
    """Learn components from some images of each person, and recognise the others."""
    shares, begin = [], time.perf_counter()
    for trial in range(trials):
        rng = np.random.default_rng([trial, learned])
        chosen = split(labels, learned, rng)
        model = METHODS[method](rank, int(chosen.sum()))
        if method != "PCA":
            first = rng.random((rank, X.shape[1]))
            first /= first.sum(axis=1, keepdims=True)  # a point of the simplex, for all methods
            model.set_params(epochs=PASSES, init=first, random_state=trial)
        shares.append(accuracy(model.fit(X[chosen]).components_, X, labels, chosen))
    return Score(float(np.mean(shares)), float(np.std(shares)), time.perf_counter() - begin)


def by_pixels(X: Any, labels: Any, learned: int, trials: int = TRIALS) -> Score:
    """Recognise the same images without any components."""
    masks = (split(labels, learned, np.random.default_rng([t, learned])) for t in range(trials))
    shares = [accuracy(np.eye(X.shape[1]), X, labels, mask) for mask in masks]
    return Score(float(np.mean(shares)), float(np.std(shares)), 0.0)


def draw(scores: dict[tuple[int, str, int], Score], raw: dict[int, Score], picture: Path) -> None:
    """Write curves of the share of recognised images over the number of components."""
    amounts = sorted({learned for learned, _, _ in scores})
    fig, axes = plt.subplots(
        1, len(amounts), figsize=(12.5, 4.2), layout="constrained", sharey=True, squeeze=False
    )
    for ax, learned in zip(axes[0], amounts, strict=True):
        for name, colour in zip(METHODS, COLOURS, strict=True):
            ranks = sorted(r for n, m, r in scores if (n, m) == (learned, name))
            own = [scores[learned, name, r] for r in ranks]
            ax.errorbar(ranks, [s.mean for s in own], [s.deviation for s in own], color=colour,
                        lw=1.8, capsize=2, label=name)  # fmt: skip
        ax.axhline(raw[learned].mean, color=INK, ls=":", lw=1.2, label="pixels")
        ax.set(xlabel="components")
        ax.set_title(f"{learned} images of each person", color=INK)
        ax.grid(alpha=0.25)
    axes[0, 0].set_ylabel("share recognised")
    axes[0, -1].legend(fontsize=9, loc="lower right")
    fig.savefig(picture, dpi=90)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[tuple[int, str, int], Score]:
    """Load, learn, recognise, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("THALWEG_DATA"))
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    if options.data is None or not (Path(options.data) / "orl_32x32.npz").exists():
        parser.error("no orl_32x32.npz: name its folder by --data or in THALWEG_DATA")
    X, labels = load(Path(options.data) / "orl_32x32.npz")
    scores, raw = {}, {}
    for learned in LEARNED:
        raw[learned] = by_pixels(X, labels, learned, options.trials)
        print(f"{learned} images of each person; pixels themselves {raw[learned].mean:.3f}")
        print(f"{'':10}" + "".join(f"{f'K = {rank}':>16}" for rank in options.ranks))
        for name in METHODS:
            for rank in options.ranks:
                scores[learned, name, rank] = recognise(
                    X, labels, name, rank, learned, options.trials
                )
            own = [scores[learned, name, rank] for rank in options.ranks]
            cells = (f"{s.mean:.3f} +- {s.deviation:.3f}" for s in own)
            print(f"{name:10}" + "".join(f"{cell:>16}" for cell in cells), flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    draw(scores, raw, options.output / "recognition.png")
    print(f"\npicture: {options.output / 'recognition.png'}")
    return scores


if __name__ == "__main__":
    main()
