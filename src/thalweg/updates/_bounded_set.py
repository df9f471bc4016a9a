"""Bounded sets of atoms: their diameter, and their form for compiled projections."""

from math import sqrt

import numpy as np

from thalweg import _native
from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.prox import Prox

__all__ = ["border_of", "diameter", "native_sets"]


def diameter(constraint: Prox, n_rows: int, n_columns: int, frozen: int = 0) -> float:
    """Return the diameter of the set of matrices whose free columns are in the constraint set.

    [R] prints sqrt(2) r for r columns in the simplex; a product of r sets has sqrt(r) times the
    diameter of one.

    Examples
    --------
    >>> from thalweg.prox.simplex import Simplex
    >>> from thalweg.updates._bounded_set import diameter
    >>> round(diameter(Simplex(), n_rows=5, n_columns=8), 9)
    4.0
    """
    (l1, l2, _), bounds = border_of(constraint)
    if bounds:
        lower, upper = (_entries(b, n_rows, n_columns)[:, frozen:] for b in bounds)
        return float(np.linalg.norm(np.subtract(upper, lower, dtype=np.float64)))
    # The distance between the multiples of two unit vectors on the boundary.
    return sqrt(n_columns - frozen) * sqrt(2.0) * 2.0 / (l1 + sqrt(l1**2 + 2.0 * l2))


def native_sets(constraint: Prox, W: Array) -> _native.ElasticNetSet | tuple[Array, Array]:
    """Return the set of each column of W, or the lower and upper bounds of W'."""
    (l1, l2, equality), bounds = border_of(constraint)
    if bounds is None:
        return _native.ElasticNetSet(l1=l1, l2=l2, equality=equality)
    lower, upper = (np.array(_entries(b, *W.shape).T, W.dtype, order="C") for b in bounds)
    return lower, upper


def border_of(constraint: Prox) -> tuple[tuple[float, float, bool], tuple[Array, Array] | None]:
    """Return the weights of the sum and of the squares that bound a set, or entrywise bounds."""
    border = getattr(constraint, "border", None)
    if border is not None:
        return border, None
    bounds = [np.asarray(getattr(constraint, side, np.inf)) for side in ("lower", "upper")]
    if not all(np.isfinite(b).all() for b in bounds):
        raise ParameterError(
            f"constraint must be a bounded set, got {constraint!r}. Use a simplex, an l1, l2 or "
            "elastic-net ball, or a finite box."
        )
    return (0.0, 0.0, False), (bounds[0], bounds[1])


def _entries(bound: Array, n_rows: int, n_columns: int) -> Array:
    """Broadcast a bound (a number, one per row, or one per entry) to all entries."""
    wide = bound if bound.ndim == 2 else bound.reshape(-1, 1)
    return np.broadcast_to(wide, (n_rows, n_columns))
