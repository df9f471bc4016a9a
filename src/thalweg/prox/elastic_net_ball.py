"""The nonnegative part of an elastic-net ball."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg._checks import require_nonnegative
from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.prox._boundary import cost, in_units, lone_entry, project_into, project_onto
from thalweg.prox._floats import on_floats
from thalweg.prox._membership import indicator, nonnegative, tolerance
from thalweg.prox._norms import column_norms
from thalweg.prox._parameters import LARGEST, SMALLEST

# Weight of the squares, in units of the set, of which its support function shows no digit.
_NEGLIGIBLE = 1e-20


@on_floats
@dataclass(frozen=True)
class ElasticNetBall:
    """argmin_u |u - x| subject to u >= 0, l1 sum(u) + l2/2 sum(u^2) <= 1.

    [O] VI-A, the set C_3, which has the l1 ball and the l2 ball as its extremes.

    Parameters
    ----------
    l1, l2 : float
        The weights of the sum and of the squares, >= 0 and not both 0. The largest entry that they
        leave to a column has to be from 1e-153 to 1e153.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.elastic_net_ball import ElasticNetBall
    >>> ElasticNetBall(l1=0.5, l2=1.0).prox(np.array([4.0, 0.5, -1.0]))
    array([1., 0., 0.])
    """

    name: ClassVar[str] = "elastic-net-ball"
    convex: ClassVar[bool] = True
    l1: float = 0.5
    l2: float = 1.0

    def __post_init__(self) -> None:
        require_nonnegative(l1=self.l1, l2=self.l2)
        if self.l1 == self.l2 == 0:
            raise ParameterError(
                "l1 and l2 should not both be 0, for then the set has no bound, but both are. "
                "Give one of them a positive value, or use Orthant."
            )
        most = lone_entry(self.l1, self.l2)
        if not SMALLEST <= most <= LARGEST:
            raise ParameterError(
                f"l1 and l2 should allow entries of at most a number from {SMALLEST} to {LARGEST}, "
                f"but l1={self.l1!r} and l2={self.l2!r} came, which allow {most:.3g}. "
                "Measure the data in units in which that is nearer to 1."
            )

    def value(self, x: Array) -> Array:
        """Return 0 for each column inside of the set, and inf for the others."""
        small = cost(x, self.l1, self.l2) <= 1 + 2 * tolerance(x)
        return indicator(nonnegative(x) & small)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the nearest columns in the set; ``step`` does not matter."""
        return project_into(x, self.l1, self.l2)

    def gauge(self, x: Array) -> Array:
        """Return the s for which each nonnegative column is s times one of the border."""
        linear, root = cost(x, self.l1, 0.0), np.sqrt(2 * self.l2) * column_norms(x)
        size: Array = (linear + np.hypot(linear, root)) / 2
        return size

    @property
    def border(self) -> tuple[float, float, bool]:
        """The set is u >= 0, l1 sum(u) + l2/2 |u|^2 <= 1: l1, l2, and that it is a ball."""
        return self.l1, self.l2, False

    def conjugate(self, y: Array) -> Array:
        """Return the support function of each column: <u, y> at the farthest point u."""
        top = y.max(axis=0, initial=0.0).astype(np.float64)
        if in_units(self.l1, self.l2)[2] < _NEGLIGIBLE:
            lone: Array = top / self.l1
            return lone
        # A column without a positive entry is farthest at 0, where the direction is moot.
        shape = np.where(top > 0, np.maximum(y, 0), 1.0) / np.where(top > 0, top, 1.0)
        support: Array = top * np.sum(project_onto(shape, self.l1, self.l2, 0.0) * shape, axis=0)
        return support
