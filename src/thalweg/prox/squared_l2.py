"""The squared Euclidean norm."""

from dataclasses import dataclass
from typing import ClassVar

from thalweg._checks import require_nonnegative
from thalweg._typing import Array
from thalweg.prox._elastic import elastic_conjugate, elastic_prox, elastic_value
from thalweg.prox._floats import on_floats


@on_floats
@dataclass(frozen=True)
class SquaredL2:
    """Shrink: argmin_u weight/2 |u|^2 + |u - x|^2 / (2 step).

    The Tikhonov regulariser of [O] VI-B.

    Parameters
    ----------
    weight : float
        The weight of half the squared norm, >= 0.
    nonnegative : bool
        Whether the entries must also be >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.squared_l2 import SquaredL2
    >>> SquaredL2(weight=1.0).prox(np.array([3.0, -1.0]))
    array([ 1.5, -0.5])
    """

    name: ClassVar[str] = "l2"
    convex: ClassVar[bool] = True
    weight: float = 1.0
    nonnegative: bool = False

    def __post_init__(self) -> None:
        require_nonnegative(weight=self.weight)

    @property
    def coefficients(self) -> tuple[float, float]:
        """The coefficients (a, b) of a sum(x) + b |x|^2 / 2 on x >= 0."""
        return 0.0, self.weight

    def value(self, x: Array) -> Array:
        """Return weight/2 |x|^2 of each column."""
        return elastic_value(x, 0.0, self.weight, self.nonnegative)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the columns divided by 1 + weight step."""
        return elastic_prox(x, 0.0, self.weight, self.nonnegative, step)

    def conjugate(self, y: Array) -> Array:
        """Return |y|^2 / (2 weight) of each column, with max(y, 0) for y if nonnegative."""
        return elastic_conjugate(y, 0.0, self.weight, self.nonnegative)
