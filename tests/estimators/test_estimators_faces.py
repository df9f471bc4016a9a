"""Faces with salt and pepper noise, [O] VII-F; skipped where the data are not at hand."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from thalweg import RobustOnlineNMF
from thalweg._typing import Array
from thalweg.metrics import psnr


@pytest.fixture(scope="module")
def faces(shared_data: Callable[[str], Path]) -> tuple[Array, Array]:
    """Return faces with setting 1 of Table I, and without: each with a largest pixel of 1."""
    with np.load(shared_data("cbcl_faces.npz"), allow_pickle=False) as file:
        images = file["images"].reshape(-1, 361).astype(np.float64)
    rng = np.random.default_rng(0)
    clean = images[rng.permutation(len(images))[:1200]]
    clean /= clean.max(axis=1, keepdims=True)
    noisy = clean.copy()
    for i in rng.permutation(1200)[:840]:  # a share of 0.7
        hit = rng.permutation(361)[:36]  # a density of 0.1
        noisy[i, hit] += rng.uniform(-1.0, 1.0, 36)
    return np.clip(noisy, 0.0, 1.0), clean


def test_outliers_are_worth_modelling(faces: tuple[Array, Array]) -> None:
    """The order of Table I: far above NMF without outliers, and above the noisy pictures."""
    noisy, clean = faces
    found = {}
    for weight in ("auto", 361**-0.5, 1e3):
        model = RobustOnlineNMF(49, outlier_weight=weight, epochs=3, random_state=0).fit(noisy)
        found[weight] = psnr(clean, model.decompose(noisy).low_rank)
    assert found["auto"] > found[1e3] + 2.0
    assert found[361**-0.5] > found[1e3] + 1.0
    assert found["auto"] > psnr(clean, noisy) + 3.0


def test_basis_pictures_are_clean(faces: tuple[Array, Array]) -> None:
    """Figure 7: the noise is not in the basis; neighbouring pixels of an atom go together."""
    noisy, _ = faces
    roughness = {}
    for weight in ("auto", 1e3):
        model = RobustOnlineNMF(49, outlier_weight=weight, epochs=3, random_state=0).fit(noisy)
        atoms = model.components_.reshape(49, 19, 19)
        steps = np.diff(atoms, axis=1)[:, :, :-1] ** 2 + np.diff(atoms, axis=2)[:, :-1] ** 2
        roughness[weight] = steps.sum() / (atoms**2).sum()
    assert roughness["auto"] < 0.9 * roughness[1e3]
