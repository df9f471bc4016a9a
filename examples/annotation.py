"""Annotate images with keywords by the codes of their features: the JEC transfer of [R] V-C.

The IAPR TC12 features of the paper are not available. Here the images are tiles of the Indian Pines
scene (``indian_pines.npz`` in the folder THALWEG_DATA). Their keywords are the land covers, and the
two features of a tile are the mean and the standard deviation of the spectra of its pixels.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thalweg import ORNMF, baselines

TILE, FEWEST = 7, 3  # width of a tile, and least number of pixels of a keyword's land cover
KEYWORDS = 2  # predicted for each tile; [R] predicts 5, where images have 4.7 on average
RANKS, TRIALS, EPOCHS = (5, 10, 20, 40), 5, 2
METHODS: dict[str, Callable[[int, int], Any]] = {
    "OR-NMF": lambda K, n: ORNMF(K, buffer_size=None, horizon=EPOCHS * n),
    # the buffer of [R] II-C
    "MOR-NMF": lambda K, n: ORNMF(K, buffer_size=min(-(-n // 10), 20), horizon=EPOCHS * n),
    "WOR-NMF": lambda K, n: ORNMF(K, buffer_size=None, window=10, horizon=-(-EPOCHS * n // 10)),
    "OMF": lambda K, n: baselines.OMF(K, batch_size=10),
    "OMF-DA": lambda K, n: baselines.OMFDA(K, batch_size=10),
    "ONMF": lambda K, n: baselines.ONMF(K),
    "INMF": lambda K, n: baselines.INMF(K, batch_size=10),
}


class Tiles(NamedTuple):
    """Images: two feature matrices with one row per image, and a boolean matrix of keywords."""

    features: tuple[Any, Any]
    words: Any


class Scores(NamedTuple):
    """Accuracy, recall and normalised score, averaged over images and trials."""

    accuracy: float
    recall: float
    normalised: float


def load(path: Path) -> Tiles:
    """Split the scene into tiles, and leave out those without a keyword."""
    with np.load(path, allow_pickle=False) as data:
        cube, labels = data["cube"].astype(np.float64), data["labels"]
    rows, columns = (size // TILE for size in labels.shape)
    cube, labels = (x[: rows * TILE, : columns * TILE] for x in (cube, labels))
    shape = (rows, TILE, columns, TILE)
    pixels = cube.reshape(*shape, -1).swapaxes(1, 2).reshape(rows * columns, TILE**2, -1)
    ground = labels.reshape(shape).swapaxes(1, 2).reshape(rows * columns, -1)
    kinds = np.setdiff1d(np.unique(ground), [0])
    words = (ground[:, :, None] == kinds).sum(axis=1) >= FEWEST
    kept = words.any(axis=1)
    features = (pixels.mean(axis=1)[kept], pixels.std(axis=1)[kept])
    return Tiles((features[0] / features[0].max(), features[1] / features[1].max()), words[kept])


def distances(learned: Any, others: Any) -> Any:
    """Return Euclidean distances, scaled to a maximum of 1 for each feature as in JEC."""
    found = np.sqrt(np.maximum(
        np.sum(others**2, axis=1)[:, None] - 2 * others @ learned.T + np.sum(learned**2, axis=1), 0
    ))  # fmt: skip
    return found / found.max()


def transfer(joint: Any, words: Any, n_keywords: int = KEYWORDS) -> Any:
    """Transfer keywords from the nearest image, then from the next ones until there are enough.

    The keywords of one image are taken in the order of their frequency in the training set.
    """
    frequency = words.sum(axis=0)
    annotated = np.zeros((len(joint), words.shape[1]), bool)
    for row, order in zip(annotated, np.argsort(joint, axis=1, kind="stable"), strict=True):
        for neighbour in order:
            fresh = np.flatnonzero(words[neighbour] & ~row)
            best = fresh[np.argsort(-frequency[fresh], kind="stable")]
            row[best[: n_keywords - row.sum()]] = True
            if row.sum() == n_keywords:
                break
    return annotated


def judge(annotated: Any, words: Any) -> Scores:
    """Return the means over images of AC = r/(r + w), RC = r/n and NS = r/n - w/(N - n)."""
    right, wrong = (annotated & words).sum(axis=1), (annotated & ~words).sum(axis=1)
    n, everything = words.sum(axis=1), words.shape[1]
    scores = (right / (right + wrong), right / n, right / n - wrong / (everything - n))
    return Scores(*(float(np.mean(score)) for score in scores))


def keywords(data: Tiles, method: str | None, rank: int, trial: int) -> tuple[Any, Any]:
    """Train on half of the tiles; return the keywords found for the others, and the true ones.

    ``method=None`` uses the features.
    """
    rng = np.random.default_rng(trial)
    chosen = rng.permutation(len(data.words)) < len(data.words) // 2
    joint = np.zeros((int((~chosen).sum()), int(chosen.sum())))
    for X in data.features:
        codes = X
        if method is not None:
            model = METHODS[method](rank, int(chosen.sum()))
            first = rng.random((rank, X.shape[1]))
            first /= first.sum(axis=1, keepdims=True)  # a point of the simplex, for all methods
            model.set_params(epochs=EPOCHS, init=first, random_state=trial).fit(X[chosen])
            codes = X @ np.linalg.pinv(model.components_)  # [R] V-C
        joint += distances(codes[chosen], codes[~chosen])
    return transfer(joint, data.words[chosen]), data.words[~chosen]


def annotate(data: Tiles, method: str | None, rank: int, trials: int = TRIALS) -> Scores:
    """Train on half of the tiles and annotate the others; ``method=None`` uses the features."""
    found = [judge(*keywords(data, method, rank, trial)) for trial in range(trials)]
    return Scores(*np.mean(found, axis=0))


def main(argv: list[str] | None = None) -> dict[tuple[str, int], Scores]:
    """Load, learn, annotate, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("THALWEG_DATA"))
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--trials", type=int, default=TRIALS)
    options = parser.parse_args(argv)
    if options.data is None or not (Path(options.data) / "indian_pines.npz").exists():
        parser.error("indian_pines.npz not found: set --data or THALWEG_DATA to its folder")
    data = load(Path(options.data) / "indian_pines.npz")
    n, vocabulary = data.words.shape
    print(f"{n} tiles, {vocabulary} keywords, {data.words.sum() / n:.2f} per tile")
    print(f"{'AC / RC / NS':14}" + "".join(f"{f'K = {rank}':>20}" for rank in options.ranks))
    scores = {}
    for name in METHODS:
        for rank in options.ranks:
            scores[name, rank] = annotate(data, name, rank, options.trials)
        own = [scores[name, rank] for rank in options.ranks]
        cells = (f"{s.accuracy:.3f} {s.recall:.3f} {s.normalised:.3f}" for s in own)
        print(f"{name:14}" + "".join(f"{cell:>20}" for cell in cells), flush=True)
    scores["features", 0] = annotate(data, None, 0, options.trials)
    print(f"{'features':14}" + " ".join(f"{s:.3f}" for s in scores["features", 0]))
    return scores


if __name__ == "__main__":
    main()
