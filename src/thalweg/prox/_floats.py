"""Integers and truth values are taken for doubles, in one place for the whole room."""

from functools import wraps
from typing import Any, TypeVar

import numpy as np

from thalweg._typing import Array
from thalweg.prox import Prox

P = TypeVar("P", bound=Prox)


def floats(x: Array) -> Array:
    """Return ``x`` itself, or as doubles when it holds integers or booleans."""
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def on_floats(cls: type[P]) -> type[P]:
    """Let ``value``, ``prox`` and ``conjugate`` of a class take integers and booleans too.

    The methods are wrapped by functions of their own signature, since one that passes on any
    arguments takes as long as a short prox.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.orthant import Orthant
    >>> Orthant().prox(np.array([3, -1]))
    array([3., 0.])
    """
    value, prox, conjugate = cls.value, cls.prox, cls.conjugate

    @wraps(value)
    def value_of_floats(self: Any, x: Array) -> Array:
        return value(self, floats(x))

    @wraps(prox)
    def prox_of_floats(self: Any, x: Array, step: float = 1.0) -> Array:
        return prox(self, floats(x), step)

    @wraps(conjugate)
    def conjugate_of_floats(self: Any, y: Array) -> Array:
        return conjugate(self, floats(y))

    for method in (value_of_floats, prox_of_floats, conjugate_of_floats):
        setattr(cls, method.__name__, method)
    return cls
