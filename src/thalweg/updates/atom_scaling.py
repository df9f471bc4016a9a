"""The scale of an atom: what its codes gain it may lose, and the other way round."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.divergences import Divergence
from thalweg.prox import Prox

if TYPE_CHECKING:
    from thalweg.updates.surrogate import Statistics

__all__ = ["Price", "lowest", "priced", "put_into", "rescaled", "sizes"]

# A loss that is infinite where the model is zero keeps every entry above this share of its
# column's largest: [D] bounds the sums of the rows for the same reason.
_LOWEST = 1e-12


def lowest(W: Array, loss: Divergence) -> Array:
    """Return the smallest entry that each column of W may have under a loss.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.updates.atom_scaling import lowest
    >>> lowest(np.array([[1.0, 5.0], [2.0, 0.0]]), KL())
    array([2.e-12, 5.e-12])
    """
    share = _LOWEST if loss.growth[1] > 0.0 else 0.0
    lower: Array = W.dtype.type(share) * W.max(axis=0, initial=0.0)
    return lower


def sizes(W: Array, constraint: Prox, free: Mask) -> Array:
    """Return the factors by which the free columns are too large for the set's border.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.updates.atom_scaling import sizes
    >>> sizes(np.array([[3.0, 0.0], [4.0, 0.0]]), L2Ball(), np.array([True, True]))
    array([5., 1.])
    """
    size = np.asarray(constraint.gauge(W), W.dtype)  # type: ignore[attr-defined]
    return np.where(free & (size > 0.0) & np.isfinite(size), size, W.dtype.type(1))


def put_into(W: Array, constraint: Prox) -> Array:
    """Return nonnegative columns in the set, in which a dictionary or an atom begins.

    A column w is scaled where the set has a gauge: to w / max(gauge(w), 1) in a ball, to
    w / gauge(w) on a simplex. Else it is projected. Scaling keeps the support; the nearest point
    of a simplex has few entries, and methods that multiply never get the others back.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.simplex import Simplex
    >>> from thalweg.updates.atom_scaling import put_into
    >>> put_into(np.array([[3.0], [1.0]]), Simplex()).ravel()
    array([0.75, 0.25])
    >>> Simplex().prox(np.array([[3.0], [1.0]])).ravel()
    array([1., 0.])
    """
    if not hasattr(constraint, "gauge"):
        return constraint.prox(W)
    size = np.asarray(constraint.gauge(W), np.float64)
    full = hasattr(constraint, "border") and constraint.border[2]
    inside = W / np.where(size > 0.0, size, 1.0) if full else W * (1.0 / np.maximum(size, 1.0))
    # a column of zeros has no multiple on a simplex, and a gauge may overflow
    scaled = np.isfinite(size) & ((size > 0.0) | (not full))
    placed: Array = inside if scaled.all() else np.where(scaled, inside, constraint.prox(W))
    return placed.astype(W.dtype, copy=False)


class Price(NamedTuple):
    """What the codes' penalty asks of W: slopes, one number for each atom.

    Attributes
    ----------
    flat : array of shape (K,)
        The slope in each entry.
    square : array of shape (K,)
        The slope relative to the entry itself.
    shared : array of shape (K,)
        A slope in each entry that grows with their sum, from this where it is made.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l1_ball import L1Ball
    >>> from thalweg.updates.atom_scaling import priced
    >>> priced(np.array([[1.0, 3.0]]), L1Ball(), l1=0.5, l2=0.0).flat
    array([1.])
    """

    flat: Array
    square: Array
    shared: Array


def priced(H: Array, constraint: Prox, l1: float, l2: float) -> Price:
    """Return the price of atoms on the border of the set, when codes H are penalised.

    The penalty of a code h of an atom w in the set is that of h g for an atom of any size, g
    the set's gauge of the atom: so W may move without the constraint, and be rescaled at no
    cost. (Le Roux, Hershey and Weninger, "Sparse NMF - half-baked or well done?", 2015, show what
    goes wrong else.) The mean of l1 h g + l2 (h g)^2 / 2 is majorised by the integral of the
    price's slopes, for which (sum w)^2 <= sum w~ sum w^2 / w~.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.updates.atom_scaling import priced
    >>> priced(np.array([[1.0, 3.0]]), L2Ball(), l1=0.5, l2=0.2).square
    array([2.])
    """
    linear, square = constraint.price  # type: ignore[attr-defined]
    mean, squares = l1 * H.mean(axis=1), l2 * np.mean(H**2, axis=1)
    return Price(linear * mean, square * (mean + squares), linear * squares)


def rescaled(
    W: Array, state: "Statistics", constraint: Prox, free: Mask
) -> tuple[Array, "Statistics"]:
    """Return W on the border of the set, and quadratic statistics of codes scaled inversely.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.updates.atom_scaling import rescaled
    >>> from thalweg.updates.surrogate import Surrogate
    >>> W = np.array([[3.0], [4.0]])
    >>> rescaled(W, Surrogate().init(W), L2Ball(), np.array([True]))[0].ravel()
    array([0.6, 0.8])
    """
    size = sizes(W, constraint, free)
    A, B = state.A * size[:, None] * size, state.B * size
    return np.asfortranarray(W / size), state._replace(A=A, B=B)
