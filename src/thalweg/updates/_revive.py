"""Atoms that no sample uses are replaced by what the dictionary explains badly."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Codes
from thalweg.prox import Prox
from thalweg.updates.gauge import put_into

if TYPE_CHECKING:
    from thalweg.updates.surrogate import Statistics

__all__ = ["Leftovers", "dead_atoms", "leftovers", "replace_atoms", "revive"]

# An atom is dead when its energy is below this share of the mean atom's.
_DEAD = 1e-8
# A sample is badly explained when this share of it, outliers taken away, is left over.
_BAD = 0.01


class Leftovers(NamedTuple):
    """What is left over of the samples that are explained worst, the worst first.

    Attributes
    ----------
    badness : array of shape (n,)
        Squared norms.
    left : array of shape (F, n)
        The leftovers.
    """

    badness: Array
    left: Array


def revive(
    W: Array, state: "Statistics", V: Array, codes: Codes, constraint: Prox, frozen: int
) -> tuple[Array, "Statistics"]:
    """Put the leftovers of the worst samples in the place of dead atoms, one for each."""
    dead = dead_atoms(state, frozen)
    if not dead or V.shape[1] == 0:
        return W, state
    return replace_atoms(W, state, dead, [leftovers(W, V, codes, len(dead))], constraint)


def dead_atoms(state: "Statistics", frozen: int) -> list[int]:
    """Return the atoms that no sample uses, but for frozen ones."""
    energy = np.einsum("...kk->...k", state.A)
    energy = energy if energy.ndim == 1 else energy.sum(axis=0)
    least = _DEAD * energy.sum() / energy.size
    if energy.min() > least:
        return []
    return [int(k) for k in np.flatnonzero(energy <= least) if k >= frozen]


def leftovers(W: Array, V: Array, codes: Codes, count: int) -> Leftovers:
    """Return what W leaves over of the worst samples, so many of them at most.

    The outliers are taken away first, so that a sample is not chosen for what is only an
    outlier.
    """
    clean = V - codes.R
    left = clean - W @ codes.H
    badness = np.einsum("fb,fb->b", left, left)
    bad = badness > _BAD * np.einsum("fb,fb->b", clean, clean)
    worst = [s for s in np.argsort(-badness, kind="stable") if bad[s]][:count]
    return Leftovers(badness[worst], left[:, worst])


def replace_atoms(
    W: Array, state: "Statistics", dead: list[int], parts: Sequence[Leftovers], constraint: Prox
) -> tuple[Array, "Statistics"]:
    """Put leftovers in the place of atoms, the worst of all parts first.

    A revived atom starts without a past: its rows of the statistics are zero.
    """
    badness = np.concatenate([part.badness for part in parts])
    left = np.hstack([part.left for part in parts])
    W, A, B = W.copy(order="F"), state.A.copy(), state.B.copy(order="F")
    for k, s in zip(dead, np.argsort(-badness, kind="stable"), strict=False):
        atom = np.maximum(left[:, s], 0.0)
        size = np.linalg.norm(atom)
        if size > 0.0:
            W[:, k] = put_into(atom / size, constraint)
            A[..., k, :], A[..., :, k], B[:, k] = 0.0, 0.0, 0.0
    return W, state._replace(A=A, B=B)
