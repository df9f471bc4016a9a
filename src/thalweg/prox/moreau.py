"""The Moreau envelope of a function."""

import numpy as np

from thalweg._typing import Array
from thalweg.prox import Prox

__all__ = ["moreau"]


def moreau(g: Prox, z: Array) -> tuple[Array, Array]:
    """Return min_r g(r) + |z - r|^2 / 2 of each column z, and its gradient z - prox(z).

    If the component has a method ``envelope``, it is used instead of the general formula.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l1 import L1
    >>> from thalweg.prox.moreau import moreau
    >>> moreau(L1(1.0), np.array([[0.5], [3.0]]))
    (array([2.625]), array([[0.5],
           [1. ]]))
    """
    own = getattr(g, "envelope", None)
    if own is not None:
        values, rest = own(z)
        return values, rest
    r = g.prox(z)
    rest = z - r
    return 0.5 * np.einsum("i...,i...->...", rest, rest) + g.value(r), rest
