"""Scale atoms into a constraint set, with their codes scaled inversely."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.divergences import Divergence
from thalweg.prox import Prox

if TYPE_CHECKING:
    from thalweg.updates.surrogate import Statistics

__all__ = [
    "PenaltySlopes",
    "column_gauges",
    "penalty_slopes",
    "penalty_slopes_of",
    "rescale_columns",
    "scale_into",
    "smallest_entries",
]

# Smallest entry of an atom, in units of its largest one, under losses that are infinite where the
# model is 0. [D] bounds the row sums of W for the same reason.
_MIN_ENTRY_SHARE = 1e-12


def smallest_entries(W: Array, loss: Divergence) -> Array:
    """Return the lower bound of the entries of each column of W under a loss.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.updates.atom_scaling import smallest_entries
    >>> smallest_entries(np.array([[1.0, 5.0], [2.0, 0.0]]), KL())
    array([2.e-12, 5.e-12])
    """
    share = _MIN_ENTRY_SHARE if loss.growth[1] > 0.0 else 0.0
    lower: Array = W.dtype.type(share) * W.max(axis=0, initial=0.0)
    return lower


def column_gauges(W: Array, constraint: Prox, free: Mask) -> Array:
    """Return the gauge of each free column: its size in units of the boundary of the set.

    Returns 1 for other columns, and where the gauge is 0 or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.updates.atom_scaling import column_gauges
    >>> column_gauges(np.array([[3.0, 0.0], [4.0, 0.0]]), L2Ball(), np.array([True, True]))
    array([5., 1.])
    """
    size = np.asarray(constraint.gauge(W), W.dtype)  # type: ignore[attr-defined]
    return np.where(free & (size > 0.0) & np.isfinite(size), size, W.dtype.type(1))


def scale_into(W: Array, constraint: Prox) -> Array:
    """Return nonnegative columns scaled into the set, as initial atoms.

    If the set has a gauge, a column w becomes w / max(gauge(w), 1) for a ball and w / gauge(w) for
    a simplex. Otherwise it is projected. Scaling keeps the support; the projection onto a simplex
    has few nonzeros, and multiplicative updates cannot change zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.simplex import Simplex
    >>> from thalweg.updates.atom_scaling import scale_into
    >>> scale_into(np.array([[3.0], [1.0]]), Simplex()).ravel()
    array([0.75, 0.25])
    >>> Simplex().prox(np.array([[3.0], [1.0]])).ravel()
    array([1., 0.])
    """
    if not hasattr(constraint, "gauge"):
        return constraint.prox(W)
    size = np.asarray(constraint.gauge(W), np.float64)
    full = hasattr(constraint, "border") and constraint.border[2]
    inside = W / np.where(size > 0.0, size, 1.0) if full else W * (1.0 / np.maximum(size, 1.0))
    # Zero columns cannot be scaled onto a simplex, and the gauge may overflow.
    scaled = np.isfinite(size) & ((size > 0.0) | (not full))
    placed: Array = inside if scaled.all() else np.where(scaled, inside, constraint.prox(W))
    return placed.astype(W.dtype, copy=False)


class PenaltySlopes(NamedTuple):
    """Derivatives in W of the penalty of the codes, one number for each atom w.

    Attributes
    ----------
    flat : array of shape (K,)
        Derivative that is the same in all entries of w.
    square : array of shape (K,)
        Derivative in units of the entry: the penalty contains square |w|^2 / 2.
    shared : array of shape (K,)
        Derivative that is proportional to sum(w), at the current w.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l1_ball import L1Ball
    >>> from thalweg.updates.atom_scaling import penalty_slopes
    >>> penalty_slopes(np.array([[1.0, 3.0]]), L1Ball(), l1=0.5, l2=0.0).flat
    array([1.])
    """

    flat: Array
    square: Array
    shared: Array


def penalty_slopes(
    H: Array, constraint: Prox, l1: float, l2: float, shares: Array | None = None
) -> PenaltySlopes:
    """Return the derivatives in W of the penalty of codes H, for atoms of any scale.

    The penalty of a code h of an atom w is that of h g, with g the gauge of w: the code after
    scaling w onto the boundary of the set. So W may be updated without the constraint, and then
    scaled without a change of the objective. (Le Roux, Hershey and Weninger, "Sparse NMF -
    half-baked or well done?", 2015, show the failure of updates that omit g.) The derivatives
    belong to a majoriser of the mean of l1 h g + l2 (h g)^2 / 2, by
    (sum w)^2 <= sum w~ sum w^2 / w~ with w~ the current atom. ``shares`` are weights of the samples
    with a mean of 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.updates.atom_scaling import penalty_slopes
    >>> penalty_slopes(np.array([[1.0, 3.0]]), L2Ball(), l1=0.5, l2=0.2).square
    array([2.])
    """
    if shares is None:
        return penalty_slopes_of(H.mean(axis=1), np.mean(H**2, axis=1), constraint, l1, l2)
    each = shares.astype(H.dtype) / H.dtype.type(len(shares))
    return penalty_slopes_of(H @ each, H**2 @ each, constraint, l1, l2)


def penalty_slopes_of(
    codes: Array, squares: Array, constraint: Prox, l1: float, l2: float
) -> PenaltySlopes:
    """Return the same from the mean of the codes of each atom, and of their squares.

    With sums over samples in the place of means, the derivatives are those of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l1_ball import L1Ball
    >>> from thalweg.updates.atom_scaling import penalty_slopes_of
    >>> penalty_slopes_of(np.array([4.0]), np.array([10.0]), L1Ball(), l1=0.5, l2=0.0).flat
    array([2.])
    """
    linear, square = constraint.price  # type: ignore[attr-defined]
    mean, quadratic = l1 * codes, l2 * squares
    return PenaltySlopes(linear * mean, square * (mean + quadratic), linear * quadratic)


def rescale_columns(
    W: Array, state: "Statistics", constraint: Prox, free: Mask
) -> tuple[Array, "Statistics"]:
    """Return W on the boundary of the set, and quadratic statistics of codes scaled inversely.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.updates.atom_scaling import rescale_columns
    >>> from thalweg.updates.surrogate import Surrogate
    >>> W = np.array([[3.0], [4.0]])
    >>> rescale_columns(W, Surrogate().init(W), L2Ball(), np.array([True]))[0].ravel()
    array([0.6, 0.8])
    """
    size = column_gauges(W, constraint, free)
    A, B = state.A * size[:, None] * size, state.B * size
    return np.asfortranarray(W / size), state._replace(A=A, B=B)
