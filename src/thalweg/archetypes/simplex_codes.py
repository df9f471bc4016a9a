"""Codes in the simplex: samples as convex combinations of archetypes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._typing import Array, Mask
from thalweg.encoders import Codes
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["SimplexCodes"]

# Duality gap of a solved sample, in units of its loss or its largest squared entry.
_GAP_TOL = 1e-6


@dataclass(frozen=True)
class SimplexCodes:
    """Compute argmin_h |v - W h|^2 over h >= 0 with sum 1.

    W h is the projection of v onto the convex hull of the archetypes. The loss is the squared
    distance D(v, W') of [A] over the observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes.simplex_codes import SimplexCodes
    >>> SimplexCodes().encode(np.array([[3.0], [1.0]]), np.eye(2)).H.ravel()
    array([1., 0.])
    """

    name: ClassVar[str] = "simplex-codes"

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        wide = W.astype(np.float64)
        G, known = wide.T @ wide, V.astype(np.float64)
        if observed is not None:
            known = np.where(observed, known, 0.0)
            G = np.zeros((V.shape[1], *G.shape))
            weights = np.ascontiguousarray(observed.T, dtype=np.float64)
            _native.weighted_grams(weights, np.ascontiguousarray(wide), 0.0, 1.0, G)
        linear = known if observed is None else known * observed
        rows, gaps = simplex_least_squares(G, linear.T @ wide, None if H0 is None else H0.T)
        H = rows.T.astype(V.dtype)
        rest = known - wide @ rows.T
        if observed is not None:
            rest *= np.sqrt(observed)
        loss = np.einsum("fb,fb->b", rest, rest).astype(V.dtype)
        R = np.zeros_like(V) if observed is None else np.where(observed, V.dtype.type(0), V - W @ H)
        size = np.maximum(loss, np.max(known**2, axis=0, initial=0.0))
        return Codes(H, R, loss, np.zeros_like(loss), gaps <= _GAP_TOL * size)
