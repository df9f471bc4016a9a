"""The scale of an atom: what its codes gain it may lose, and the other way round."""

from typing import TYPE_CHECKING

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.divergences import Divergence
from thalweg.prox import Prox

if TYPE_CHECKING:
    from thalweg.updates.surrogate import Statistics

__all__ = ["lowest", "priced", "rescaled", "sizes"]

# A loss that is infinite where the model is zero keeps every entry above this share of the
# largest: [D] bounds the sums of the rows for the same reason.
_LOWEST = 1e-12


def lowest(W: Array, loss: Divergence) -> float:
    """Return the smallest entry that W may have under a loss."""
    return float(_LOWEST * W.max(initial=0.0)) if loss.growth[1] > 0.0 else 0.0


def sizes(W: Array, constraint: Prox, free: Mask) -> Array:
    """Return the factors by which the free columns are too large for the set's border."""
    size = np.asarray(constraint.gauge(W), W.dtype)  # type: ignore[attr-defined]
    return np.where(free & (size > 0.0) & np.isfinite(size), size, W.dtype.type(1))


def priced(W: Array, H: Array, constraint: Prox, l1: float, l2: float) -> tuple[Array, Array]:
    """Return the slopes in W of the codes' penalty, when atoms are free but codes pay for them.

    The penalty of a code h of an atom w in the set is that of h g for an atom of any size, g
    the set's gauge of the atom: so W may move without the constraint, and be rescaled at no
    cost. The mean of l1 h g + l2 (h g)^2 / 2 is majorised by a linear function of W, whose
    coefficients come first, and a square, whose come second. (Le Roux, Hershey and Weninger,
    "Sparse NMF - half-baked or well done?", 2015, show what else goes wrong.)
    """
    linear, square = constraint.price  # type: ignore[attr-defined]
    size = l1 * H.mean(axis=1) + l2 * np.mean(H**2, axis=1)
    slope = np.full(W.shape, linear * l1 * H.mean(axis=1), W.dtype)
    bend = np.full(W.shape, square * size, W.dtype)
    if linear and l2:  # (sum w)^2 <= sum w~ sum w^2 / w~
        bend += linear * l2 * np.mean(H**2, axis=1) / np.maximum(W, np.finfo(W.dtype).tiny)
    return slope, bend


def rescaled(
    W: Array, state: "Statistics", constraint: Prox, free: Mask
) -> tuple[Array, "Statistics"]:
    """Return W on the border of the set, and quadratic statistics of codes scaled inversely."""
    size = sizes(W, constraint, free)
    A, B = state.A * size[:, None] * size, state.B * size
    return np.asfortranarray(W / size), state._replace(A=A, B=B)
