"""Pictures with salt and pepper: a constraint is a choice of scale, whatever the solver."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from thalweg import RobustNMF, RobustOnlineNMF
from thalweg.metrics import psnr

SIDE, SPOTS, K, N = 12, 20, 6, 400
SMALL_ATOMS = ("simplex", "l1-ball", "elastic-net-ball")


@cache
def pictures() -> tuple[Any, Any]:
    """Return noisy and clean mixtures of smooth spots, more of them than components.

    As of faces, the largest pixel of a clean picture is 1, and no few components hold them all.
    """
    rng = np.random.default_rng(0)
    at = np.stack(np.mgrid[:SIDE, :SIDE], axis=-1).reshape(-1, 1, 2)
    centres = rng.uniform(1.0, SIDE - 2.0, (1, SPOTS, 2))
    spots = np.exp(-np.sum((at - centres) ** 2, axis=-1) / (2 * 2.2**2))
    clean = rng.gamma(1.0, 1.0, (N, SPOTS)) @ spots.T + 0.1
    clean /= clean.max(axis=1, keepdims=True)
    noisy = clean + 0.1 * rng.normal(size=clean.shape)
    noisy += (rng.random(clean.shape) < 0.1) * rng.uniform(-1.0, 1.0, clean.shape)
    return np.clip(noisy, 0.0, 1.0), clean


@cache
def quality(kind: type, solver: str, constraint: str) -> float:
    noisy, clean = pictures()
    first = np.random.default_rng(1).random((K, SIDE**2))
    sizes = np.linalg.norm(first, axis=1) if constraint == "l2-ball" else first.sum(axis=1)
    own = {"batch_size": 20, "epochs": 3} if kind is RobustOnlineNMF else {"max_iter": 100}
    model = kind(
        K,
        solver=solver,
        constraint=constraint,
        outlier_weight=1.0 / SIDE,
        outlier_bound=1.0,
        init=first / sizes[:, None],
        random_state=0,
        **own,
    ).fit(noisy)
    return psnr(clean, model.decompose(noisy).low_rank)


@pytest.mark.parametrize("constraint", SMALL_ATOMS)
@pytest.mark.parametrize("kind", [RobustOnlineNMF, RobustNMF])
def test_admm_is_as_good_where_atoms_are_small(kind: type, constraint: str) -> None:
    """With an absolute rho_1 codes hardly leave zero there, and pictures come out dark."""
    found = quality(kind, "admm", constraint)
    assert found > quality(kind, "admm", "l2-ball") - 1.0
    assert found > quality(kind, "fast", constraint) - 3.0
