"""Atoms that no sample uses are replaced by what the dictionary explains badly."""

from typing import TYPE_CHECKING

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Codes
from thalweg.prox import Prox

if TYPE_CHECKING:
    from thalweg.updates.surrogate import Statistics

__all__ = ["revive"]

# An atom is dead when its energy is below this share of the mean atom's.
_DEAD = 1e-8
# A sample is badly explained when this share of it, outliers taken away, is left over.
_BAD = 0.01


def revive(
    W: Array, state: "Statistics", V: Array, codes: Codes, constraint: Prox, frozen: int
) -> tuple[Array, "Statistics"]:
    """Put the leftovers of the worst samples in the place of dead atoms, one for each.

    The outliers are taken away first, so that a sample is not chosen for what is only an
    outlier. A revived atom starts without a past: its rows of the statistics are zero.
    """
    energy = np.einsum("...kk->...k", state.A)
    energy = energy if energy.ndim == 1 else energy.sum(axis=0)
    least = _DEAD * energy.sum() / energy.size
    if V.shape[1] == 0 or energy.min() > least or energy.max() == 0.0:
        return W, state
    dead = [k for k in np.flatnonzero(energy <= least) if k >= frozen]
    if not dead:
        return W, state
    clean = V - codes.R
    left = clean - W @ codes.H
    badness = np.einsum("fb,fb->b", left, left)
    bad = badness > _BAD * np.einsum("fb,fb->b", clean, clean)
    worst = [s for s in np.argsort(-badness, kind="stable") if bad[s]]
    W, A, B = W.copy(order="F"), state.A.copy(), state.B.copy(order="F")
    for k, s in zip(dead, worst, strict=False):
        atom = np.maximum(left[:, s], 0.0)
        size = np.linalg.norm(atom)
        if size > 0.0:
            W[:, k] = constraint.prox(atom / size)
            A[..., k, :], A[..., :, k], B[:, k] = 0.0, 0.0, 0.0
    return W, state._replace(A=A, B=B)
