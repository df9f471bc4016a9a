"""Functions known by their proximal operator; a constraint is one of them (0 or inf).

All of them work on the columns of an array: each column is one vector, and a one-dimensional
array is one vector. Integers and booleans are taken for doubles, for which a class is decorated
with ``on_floats``. A component is a frozen dataclass that can be built without arguments,
and lives in a file of its own, where it is found by name.

Beyond the contract below a component may offer what lets others be faster or more faithful:
``coefficients`` (a, b) when it is a sum(x) + b |x|^2 / 2 on x >= 0; ``l2_radius`` when it is a
nonnegative l2 ball; ``envelope`` and ``curvature``, the Moreau envelope with its first and
second derivative in one pass; ``parts``, a norm and its bounds apart; ``gauge``, the number s for
which a nonnegative column is s times one of the set's border; ``price`` (a, b), with which
a sum(y) + b |y|^2 / 2 majorises the gauge and touches it on the border; ``border`` (a, b, full)
when it is the set of u >= 0 with a sum(u) + b |u|^2 / 2 equal to 1 if full, and at most 1 if not.
"""

from typing import ClassVar, Protocol, runtime_checkable

from thalweg._typing import Array
from thalweg.errors import ParameterError

__all__ = ["Prox", "apart"]


@runtime_checkable
class Prox(Protocol):
    """A function g on vectors, known by its value and its proximal operator.

    Attributes
    ----------
    name : str
        What users write to choose it.
    convex : bool
        Whether g is convex; then the prox is unique and firmly nonexpansive.
    """

    name: ClassVar[str]
    convex: ClassVar[bool]

    def value(self, x: Array) -> Array:
        """Return g of each column: shape (n_columns,), or () for one vector.

        Outside of g's domain the value is inf; rounding errors of the order of the machine's
        precision are forgiven, so that the value at a projected point is finite.
        """
        ...

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return argmin_u g(u) + |u - x|^2 / (2 step), for each column u of the result.

        A new array of the dtype, shape and memory order of ``x``; of doubles when ``x`` holds
        integers or booleans.
        """
        ...

    def conjugate(self, y: Array) -> Array:
        """Return g*(y) = max_x <x, y> - g(x) of each column; inf outside of its domain.

        The same forgiveness as for :meth:`value` holds at the border of the domain.
        """
        ...


def apart(g: Prox) -> tuple[Prox, tuple[float, float]]:
    """Return a norm and the bounds of its entries, for methods that treat them in turn.

    Examples
    --------
    >>> from thalweg.prox import apart
    >>> from thalweg.prox.l1 import L1
    >>> apart(L1(0.1, bound=2.0))
    (L1(weight=0.1, bound=inf, nonnegative=False), (-2.0, 2.0))
    """
    parts = getattr(g, "parts", None)
    if parts is None:
        raise ParameterError(
            f"ADMM needs outliers whose norm and bounds come apart, but {g!r} came. Use L1, "
            "GroupLasso or SparseGroupLasso, or another solver."
        )
    norm, bounds = parts()
    return norm, bounds
