"""Conversion of integers and booleans to float64, shared by all proximal operators."""

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from thalweg._typing import Array

if TYPE_CHECKING:
    from thalweg.prox import Prox

P = TypeVar("P", bound="Prox")


def floats(x: Array) -> Array:
    """Return ``x``, converted to float64 if it holds integers or booleans."""
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def on_floats(cls: type[P]) -> type[P]:
    """Make ``value``, ``prox`` and ``conjugate`` of a class accept integers and booleans.

    Each wrapper has the signature of its method, since forwarding ``*args, **kwargs`` takes as
    long as the prox of a short vector.

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
