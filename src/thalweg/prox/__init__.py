"""Penalties and constraints with their proximal operators.

A constraint is the indicator function of a set: 0 inside, inf outside. Each function acts on the
columns of an array; a one-dimensional array is one column. The decorator ``on_floats`` converts
integers and booleans to float64. A component is a frozen dataclass in a file of its own. All its
fields have defaults, and users choose it by name.

A component may have optional members that enable faster or more accurate methods:

- ``coefficients`` (a, b): the function is a sum(x) + b |x|^2 / 2 on x >= 0;
- ``l2_radius``: the function is the indicator of the nonnegative l2 ball of this radius;
- ``envelope``: the Moreau envelope and its gradient in one pass;
- ``curvature``: the diagonal of the second derivative of the envelope;
- ``parts``: the norm, and the bounds of the entries;
- ``gauge``: the Minkowski gauge of the set, min{s >= 0 : x in s C}, for x >= 0;
- ``price`` (a, b): a sum(y) + b |y|^2 / 2, up to a constant, majorises the gauge and touches it on
  the boundary of the set;
- ``border`` (a, b, full): the set is {u >= 0 : a sum(u) + b |u|^2 / 2 <= 1}, with equality if full.
"""

from typing import ClassVar, Protocol, runtime_checkable

from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.prox._entrywise_box import EntrywiseBox

__all__ = ["EntrywiseBox", "Prox", "apart"]


@runtime_checkable
class Prox(Protocol):
    """A function g of a vector, with its value, proximal operator and conjugate.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    convex : bool
        Whether g is convex. Then the prox is unique and firmly nonexpansive.
    """

    name: ClassVar[str]
    convex: ClassVar[bool]

    def value(self, x: Array) -> Array:
        """Return g of each column: shape (n_columns,), or () for one vector.

        The value is inf outside of the domain of g. Membership is tested up to rounding errors,
        so that the value at a projected point is finite.
        """
        ...

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return argmin_u g(u) + |u - x|^2 / (2 step), for each column u of the result.

        The result is a new array with the dtype, shape and memory order of ``x``, or float64 if
        ``x`` holds integers or booleans.
        """
        ...

    def conjugate(self, y: Array) -> Array:
        """Return g*(y) = max_x <x, y> - g(x) of each column; inf outside of its domain.

        Membership in the domain is tested up to rounding errors, as in :meth:`value`.
        """
        ...


def apart(g: Prox) -> tuple[Prox, tuple[float, float]]:
    """Split g into a norm and the bounds of the entries, for methods that treat them in turn.

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
            f"The outlier penalty of ADMM must be L1, GroupLasso or SparseGroupLasso, got {g!r}. "
            "Use one of these, or another solver."
        )
    norm, bounds = parts()
    return norm, bounds
