"""Samples grouped by the nearest of a few centres, as in [A] 5.3."""

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from benchmarks.cases.archetypes._sparse_baselines import SPARSE, matched, nonzeros
from benchmarks.shared.data import stored
from thalweg import SignSplitter, SparseArchetypalNMF, baselines
from thalweg.metrics import entropy, purity

__all__ = [
    "DENSE", "KINDS", "METHODS", "better", "centres", "digits", "mean", "nearest", "pixels",
    "scores",
]  # fmt: skip

DENSE = ("AA", "exact AA", "k-means")
METHODS = ("SAA", *DENSE, *SPARSE)
KINDS, EACH = 10, 20  # of digits
RUNS = 10  # of k-means


def digits(seed: int) -> Any:
    """Return some digits of each kind less the mean digit, split by sign, and their kinds."""
    rng, data = np.random.default_rng(seed), load_digits()
    of_kind = (np.flatnonzero(data.target == kind) for kind in range(KINDS))
    chosen = [rng.choice(places, EACH, replace=False) for places in of_kind]
    X = data.data[np.concatenate(chosen)] / data.data.max()
    return SignSplitter().fit_transform(X - X.mean(axis=0)), np.repeat(np.arange(KINDS), EACH)


def centres(name: str, k: int, X: Any, share: float, seed: int, weight: float = 1.0) -> Any:
    """Return the archetypes, means or components of a method; sparse ones have that share."""
    if name in ("SAA", "AA"):
        limit = share if name == "SAA" else None
        model = SparseArchetypalNMF(k, sparsity=limit, weight=weight, random_state=seed)
        return model.fit(X).components_
    if name == "exact AA":
        return baselines.ArchetypalAnalysis(k, random_state=seed).fit(X).components_
    if name == "k-means":
        return KMeans(k, n_init=RUNS, random_state=seed).fit(X).cluster_centers_
    return matched(name, k, X, share, seed)


def pixels(stride: int) -> tuple[Any, Any, Any]:
    """Return some pixels of Indian Pines, all of them, and the map of their labels."""
    with stored("indian_pines.npz") as file:
        cube, labels = file["cube"] / float(file["cube"].max()), file["labels"]
    bands = cube.shape[-1]
    return cube[::stride, ::stride].reshape(-1, bands), cube.reshape(-1, bands), labels


def nearest(X: Any, H: Any) -> Any:
    """Return for each row of X which row of H is nearest."""
    return np.argmin(np.sum(H**2, axis=1) - 2.0 * X @ H.T, axis=1)


def scores(H: Any, X: Any, kinds: Any) -> dict[str, float]:
    """Return the share of nonzeros of the centres, and how well groups agree with kinds."""
    labels = nearest(X, H)
    return {
        "nonzeros": nonzeros(H),
        "purity": purity(kinds, labels),
        "entropy": entropy(kinds, labels),
    }


def better(row: dict[str, float], other: dict[str, float]) -> list[bool]:
    """Return whether a method has the higher purity, and the lower entropy."""
    return [row["purity"] > other["purity"], row["entropy"] < other["entropy"]]


def mean(runs: list[Any]) -> Any:
    """Return nested dicts of numbers with the mean of each."""
    if isinstance(runs[0], dict):
        return {key: mean([run[key] for run in runs]) for key in runs[0]}
    return float(np.mean(runs))
