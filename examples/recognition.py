"""Recognise faces by their codes: OR-NMF and other online NMF methods, [R] V-B.

Components are learned from some images of each person, without labels. Each other image is assigned
to the person of the training image with the nearest code. The faces are those of the ORL database:
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

LEARNED = (3, 5, 7)  # training images of each person
RANKS = (10, 25, 50)
TRIALS, EPOCHS = 3, 2
# Samples per update. OR-NMF and MOR-NMF update after each sample, as in the paper.
BATCH = 20
METHODS: dict[str, Callable[[int, int], Any]] = {
    "OR-NMF": lambda K, n: ORNMF(K, buffer_size=None, horizon=EPOCHS * n),
    # the buffer of [R] II-C
    "MOR-NMF": lambda K, n: ORNMF(K, buffer_size=min(-(-n // 10), 20), horizon=EPOCHS * n),
    "WOR-NMF": lambda K, n: ORNMF(
        K, buffer_size=None, window=BATCH, horizon=-(-EPOCHS * n // BATCH)
    ),
    "OMF": lambda K, n: baselines.OMF(K, batch_size=BATCH),
    "OMF-DA": lambda K, n: baselines.OMFDA(K, batch_size=BATCH),
    "ONMF": lambda K, n: baselines.ONMF(K, batch_size=min(K, n)),
    "INMF": lambda K, n: baselines.INMF(K, batch_size=BATCH),
    "PCA": lambda K, n: PCA(min(K, n), svd_solver="full"),  # neither online nor in the paper
}
COLOURS = ("#1b6ca8", "#5aa9e6", "#0b3954", "#d1495b", "#e09f3e", "#2e933c", "#7a7a7a", "#9b5de5")
INK = "#222a33"


class Score(NamedTuple):
    """The accuracy of each trial, and the total time in seconds."""

    shares: tuple[float, ...]
    seconds: float

    @property
    def mean(self) -> float:
        """Mean accuracy over the trials."""
        return float(np.mean(self.shares))

    @property
    def deviation(self) -> float:
        """Standard deviation of the accuracy over the trials."""
        return float(np.std(self.shares))


def load(path: Path) -> tuple[Any, Any]:
    """Return the faces as rows, and the label of each."""
    with np.load(path, allow_pickle=False) as data:
        return data["images"].reshape(len(data["images"]), -1) / 255.0, data["labels"]


def split(labels: Any, n_training: int, rng: np.random.Generator) -> Any:
    """Return a mask with ``n_training`` random images of each person."""
    chosen = np.zeros(len(labels), bool)
    for person in np.unique(labels):
        chosen[rng.choice(np.flatnonzero(labels == person), n_training, replace=False)] = True
    return chosen


def accuracy(components: Any, X: Any, labels: Any, training: Any) -> float:
    """Return the share of test images whose nearest training image shows the same person.

    Codes are least-squares projections onto the components, as in [R] V-C.
    """
    codes = X @ np.linalg.pinv(components)
    nearest = KNeighborsClassifier(1).fit(codes[training], labels[training])
    return float(nearest.score(codes[~training], labels[~training]))


def recognise(
    X: Any, labels: Any, method: str, rank: int, n_training: int, trials: int = TRIALS
) -> Score:
    """Return the accuracy of a method in all trials."""
    begin = time.perf_counter()
    shares = tuple(once(X, labels, method, rank, n_training, trial) for trial in range(trials))
    return Score(shares, time.perf_counter() - begin)


def once(X: Any, labels: Any, method: str, rank: int, n_training: int, trial: int) -> float:
    """Return the accuracy of a method: learn components, classify the other images.

    All methods have the same training images and initial components in a trial.
    """
    rng = np.random.default_rng([trial, n_training])
    chosen = split(labels, n_training, rng)
    model = METHODS[method](rank, int(chosen.sum()))
    if method != "PCA":
        first = rng.random((rank, X.shape[1]))
        first /= first.sum(axis=1, keepdims=True)  # on the simplex
        model.set_params(epochs=EPOCHS, init=first, random_state=trial)
    return accuracy(model.fit(X[chosen]).components_, X, labels, chosen)


def by_pixels(X: Any, labels: Any, n_training: int, trials: int = TRIALS) -> Score:
    """Return the accuracy of a nearest-neighbour classifier on the pixels."""
    masks = (
        split(labels, n_training, np.random.default_rng([t, n_training])) for t in range(trials)
    )
    return Score(tuple(accuracy(np.eye(X.shape[1]), X, labels, mask) for mask in masks), 0.0)


def draw(scores: dict[tuple[int, str, int], Score], raw: dict[int, Score], picture: Path) -> None:
    """Draw the accuracy against the number of components, one panel per training size."""
    sizes = sorted({n_training for n_training, _, _ in scores})
    fig, axes = plt.subplots(
        1, len(sizes), figsize=(12.5, 4.2), layout="constrained", sharey=True, squeeze=False
    )
    for ax, n_training in zip(axes[0], sizes, strict=True):
        for name, colour in zip(METHODS, COLOURS, strict=True):
            ranks = sorted(r for n, m, r in scores if (n, m) == (n_training, name))
            own = [scores[n_training, name, r] for r in ranks]
            ax.errorbar(ranks, [s.mean for s in own], [s.deviation for s in own], color=colour,
                        lw=1.8, capsize=2, label=name)  # fmt: skip
        ax.axhline(raw[n_training].mean, color=INK, ls=":", lw=1.2, label="pixels")
        ax.set(xlabel="components")
        ax.set_title(f"{n_training} training images per person", color=INK)
        ax.grid(alpha=0.25)
    axes[0, 0].set_ylabel("accuracy")
    axes[0, -1].legend(fontsize=9, loc="lower right")
    fig.savefig(picture, dpi=90)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[tuple[int, str, int], Score]:
    """Load the faces, evaluate all methods, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("THALWEG_DATA"))
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    if options.data is None or not (Path(options.data) / "orl_32x32.npz").exists():
        parser.error("orl_32x32.npz not found: set --data or THALWEG_DATA to its folder")
    X, labels = load(Path(options.data) / "orl_32x32.npz")
    scores, raw = {}, {}
    for n_training in LEARNED:
        raw[n_training] = by_pixels(X, labels, n_training, options.trials)
        print(f"{n_training} training images per person; pixels {raw[n_training].mean:.3f}")
        print(f"{'':10}" + "".join(f"{f'K = {rank}':>16}" for rank in options.ranks))
        for name in METHODS:
            for rank in options.ranks:
                scores[n_training, name, rank] = recognise(
                    X, labels, name, rank, n_training, options.trials
                )
            own = [scores[n_training, name, rank] for rank in options.ranks]
            cells = (f"{s.mean:.3f} +- {s.deviation:.3f}" for s in own)
            print(f"{name:10}" + "".join(f"{cell:>16}" for cell in cells), flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    draw(scores, raw, options.output / "recognition.png")
    print(f"\npicture: {options.output / 'recognition.png'}")
    return scores


if __name__ == "__main__":
    main()
