"""Archetypes of faces and of a hyperspectral image: [A] 5.2 and 5.4, Figures 10 and 11.

    THALWEG_DATA=... python examples/unmixing.py [--data FOLDER] [--output FOLDER]

Draws ``face_archetypes.png``, 25 archetypes of the ORL faces with and without sparsity and
weight, and ``pines.png``, the map of Indian Pines by the nearest of 17 archetypes.
"""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from sklearn.cluster import KMeans

from thalweg import SparseArchetypalNMF, baselines, metrics

mpl.use("Agg")
from matplotlib import pyplot as plt

INK = "#22303c"
FACES = 25
SETTINGS = ((0.0, None), (0.4, None), (0.0, 0.39), (0.4, 0.39))
CLASSES, SHARE = 17, 0.65
# The sparsity parameter of a baseline is found by HALVINGS steps of bisection, on one pixel of
# THINNED.
HALVINGS, THINNED = 6, 10
# Largest numbers of iterations, small for an example; methods not listed use their default.
MAX_ITER = {
    "archetypes": 60, "exact analysis": 15, "Kim-Park": 15, "Peharz-Pernkopf": 4, "Hoyer": 40
}  # fmt: skip


class Grouping(NamedTuple):
    """A clustering of the pixels, and its scores against the labels."""

    labels: Any
    purity: float
    entropy: float
    nonzeros: float
    seconds: float


def face_archetypes(images: Any) -> dict[str, Any]:
    """Return archetypes of the faces for each weight and sparsity of Figure 10."""
    X = images.reshape(len(images), -1) / 255.0
    found = {}
    for weight, share in SETTINGS:
        model = SparseArchetypalNMF(
            FACES, weight=weight, sparsity=share, init="projections", max_iter=200
        )
        name = f"weight {weight:g}, {'all' if share is None else f'{share:.0%} of the'} entries"
        found[name] = model.fit(X).components_.reshape(FACES, *images.shape[1:])
    return found


def draw_faces(found: dict[str, Any], picture: Path) -> None:
    """Draw a mosaic of 25 archetypes for each setting."""
    fig, axes = plt.subplots(1, len(found), figsize=(15, 4.3), layout="constrained")
    for ax, (name, faces) in zip(axes, found.items(), strict=True):
        bright = faces / faces.max(axis=(1, 2), keepdims=True).clip(1e-12)
        tiles = bright.reshape(5, 5, *faces.shape[1:]).swapaxes(1, 2)
        ax.imshow(tiles.reshape(5 * faces.shape[1], -1), cmap="gray")
        ax.set_title(name, fontsize=12, color=INK)
        ax.axis("off")
    fig.savefig(picture, dpi=80)
    plt.close(fig)


def unmix(
    cube: Any,
    truth: Any,
    share: float = SHARE,
    max_iter: Mapping[str, int] = MAX_ITER,
    dense: bool = True,
) -> dict[str, Grouping]:
    """Cluster the pixels of a hyperspectral image by the nearest archetype or mean."""
    X = cube.reshape(-1, cube.shape[-1]).astype(np.float64)
    X /= X.max()
    limits = {name: {"max_iter": n} for name, n in max_iter.items()}
    ours = {"init": "projections", **limits.get("archetypes", {})}
    methods: dict[str, Any] = {
        "sparse archetypes": SparseArchetypalNMF(CLASSES, sparsity=share, **ours)
    }
    if dense:
        exact = {"random_state": 0, **limits.get("exact analysis", {})}
        methods["archetypes"] = SparseArchetypalNMF(CLASSES, **ours)
        methods["exact analysis"] = baselines.ArchetypalAnalysis(CLASSES, **exact)
        methods["k-means"] = KMeans(CLASSES, n_init=3, random_state=0)
    for name, (make, low, high) in KNOBS.items():
        limited = partial(make, **limits.get(name, {}))
        methods[name] = matched(X, limited, low, high, share)
    return {name: _group(model, X, truth) for name, model in methods.items()}


def _kim_park(x: float, n: int, **more: int) -> Any:
    return baselines.KimParkNMF(CLASSES, penalty=n * 10.0**x, random_state=0, **more)


def _peharz_pernkopf(x: float, n: int, **more: int) -> Any:
    return baselines.PeharzPernkopfNMF(CLASSES, sparsity=-x, random_state=0, **more)


def _hoyer(x: float, n: int, **more: int) -> Any:
    return baselines.HoyerNMF(CLASSES, sparseness=x, random_state=0, **more)


# Constructor of each baseline, and the ends of its parameter, from dense to sparse.
KNOBS = {
    "Kim-Park": (_kim_park, -9.0, 0.0),
    "Peharz-Pernkopf": (_peharz_pernkopf, -1.0, -0.3),
    "Hoyer": (_hoyer, 0.05, 0.9),
}


def matched(
    X: Any, make: Callable[[float, int], Any], low: float, high: float, target: float
) -> Any:
    """Return the baseline whose share of nonzeros on a subsample is closest to the target."""
    some, tried = X[::THINNED], list[tuple[float, float]]()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        share = _nonzeros(make(middle, len(some)).fit(some).components_)
        tried.append((abs(share - target), middle))
        low, high = (middle, high) if share > target else (low, middle)
    return make(min(tried)[1], len(X))


def _nonzeros(components: Any) -> float:
    return metrics.sparsity(np.where(components > 1e-9 * components.max(), components, 0.0))


def _group(model: Any, X: Any, truth: Any) -> Grouping:
    begin = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - begin
    if isinstance(model, KMeans):
        centres = model.cluster_centers_
    else:
        centres = model.components_
        if not isinstance(model, (SparseArchetypalNMF, baselines.ArchetypalAnalysis)):
            # their scale is arbitrary: scale them such that codes sum to 1 on average
            centres = centres * model.transform(X[::20]).sum(axis=1).mean()
    squares = np.sum(centres**2, axis=1)
    labels = np.argmin(squares - 2.0 * X @ centres.T, axis=1)
    known = truth.ravel()
    return Grouping(
        labels.reshape(truth.shape),
        metrics.purity(known, labels),
        metrics.entropy(known, labels),
        _nonzeros(centres),
        seconds,
    )


def draw_maps(found: dict[str, Grouping], truth: Any, picture: Path) -> None:
    """Draw the ground truth and the map of each method."""
    fig, axes = plt.subplots(2, 4, figsize=(13, 7), layout="constrained")
    maps = {"ground truth": truth, **{name: group.labels for name, group in found.items()}}
    for ax, (name, labels) in zip(axes.flat, maps.items(), strict=False):
        ax.imshow(labels, cmap="tab20", interpolation="nearest")
        purity = f", purity {found[name].purity:.3f}" if name in found else ""
        ax.set_title(name + purity, fontsize=12, color=INK)
        ax.axis("off")
    fig.savefig(picture, dpi=80)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[str, Grouping]:
    """Load, fit, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("THALWEG_DATA"))
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    needed = ("orl_32x32.npz", "indian_pines.npz")
    if options.data is None or not all((Path(options.data) / name).exists() for name in needed):
        parser.error(f"{' and '.join(needed)} not found: set --data or THALWEG_DATA")
    folder = Path(options.data)
    options.output.mkdir(parents=True, exist_ok=True)
    with np.load(folder / needed[0], allow_pickle=False) as file:
        draw_faces(face_archetypes(file["images"]), options.output / "face_archetypes.png")
    with np.load(folder / needed[1], allow_pickle=False) as file:
        truth, found = file["labels"], unmix(file["cube"], file["labels"])
    draw_maps(found, truth, options.output / "pines.png")
    print(f"{'':18} purity  entropy  nonzeros  seconds")
    for name, group in found.items():
        print(f"{name:18}{group.purity:7.3f}{group.entropy:9.3f}", end="")
        print(f"{group.nonzeros:10.2f}{group.seconds:9.1f}")
    print(f"\npictures: {options.output / 'face_archetypes.png'}, {options.output / 'pines.png'}")
    return found


if __name__ == "__main__":
    main()
