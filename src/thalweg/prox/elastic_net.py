"""The elastic-net penalty."""

from dataclasses import dataclass
from typing import ClassVar

from thalweg._checks import require_nonnegative
from thalweg._typing import Array
from thalweg.prox._elastic import elastic_conjugate, elastic_prox, elastic_value
from thalweg.prox._floats import on_floats


@on_floats
@dataclass(frozen=True)
class ElasticNet:
    """Shrink by the elastic net: argmin_u l1 |u|_1 + l2/2 |u|^2 + |u - x|^2 / (2 step).

    A regulariser of the dictionary in [O] VI-B.

    Parameters
    ----------
    l1, l2 : float
        The weights of the l1 norm and of half the squared l2 norm, >= 0.
    nonnegative : bool
        Whether the entries must also be >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.elastic_net import ElasticNet
    >>> ElasticNet(l1=1.0, l2=1.0).prox(np.array([3.0, -0.5, -2.0]))
    array([ 1. ,  0. , -0.5])
    """

    name: ClassVar[str] = "elastic-net"
    convex: ClassVar[bool] = True
    l1: float = 1.0
    l2: float = 1.0
    nonnegative: bool = False

    def __post_init__(self) -> None:
        require_nonnegative(l1=self.l1, l2=self.l2)

    @property
    def coefficients(self) -> tuple[float, float]:
        """The coefficients (a, b) of a sum(x) + b |x|^2 / 2 on x >= 0."""
        return self.l1, self.l2

    def value(self, x: Array) -> Array:
        """Return l1 |x|_1 + l2/2 |x|^2 of each column."""
        return elastic_value(x, self.l1, self.l2, self.nonnegative)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the soft-thresholded columns divided by 1 + l2 step."""
        return elastic_prox(x, self.l1, self.l2, self.nonnegative, step)

    def conjugate(self, y: Array) -> Array:
        """Return sum max(|y| - l1, 0)^2 / (2 l2) of each column, with y for |y| if nonnegative."""
        return elastic_conjugate(y, self.l1, self.l2, self.nonnegative)
