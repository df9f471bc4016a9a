"""Codes in the simplex: how a sample is mixed from archetypes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.encoders import Codes
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["SimplexCodes"]


@dataclass(frozen=True)
class SimplexCodes:
    """argmin_h |v - W h|^2 over h >= 0 with sum 1: the nearest point of the archetypes' hull.

    The loss is the squared distance D(v, W') of [A]. Gaps are left out of it.

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
        """Encode the columns of V, each as if it were alone."""
        wide = W.astype(np.float64)
        G, known = wide.T @ wide, V.astype(np.float64)
        if observed is not None:
            known = np.where(observed, known, 0.0)
            G = np.zeros((V.shape[1], *G.shape))
            shown = np.ascontiguousarray(observed.T, dtype=np.float64)
            _kernels.weighted_grams(shown, np.ascontiguousarray(wide), 0.0, 1.0, G)
        rows, gaps = simplex_least_squares(G, known.T @ wide, None if H0 is None else H0.T)
        H = rows.T.astype(V.dtype)
        rest = known - wide @ rows.T
        if observed is not None:
            rest *= observed
        loss = np.einsum("fb,fb->b", rest, rest).astype(V.dtype)
        R = np.zeros_like(V) if observed is None else np.where(observed, V.dtype.type(0), V - W @ H)
        size = np.maximum(loss, np.max(known**2, axis=0, initial=0.0))
        return Codes(H, R, loss, np.zeros_like(loss), gaps <= 1e-6 * size)
