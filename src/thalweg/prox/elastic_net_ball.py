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

# Weight of the squares, in units of the set, below which the support function is that of the l1
# ball to all digits. Safety margin: the tests also pass with 1e-24 and 1e-18.
_NEGLIGIBLE = 1e-20


@on_floats
@dataclass(frozen=True)
class ElasticNetBall:
    """Project: argmin_u |u - x| subject to u >= 0, l1 sum(u) + l2/2 sum(u^2) <= 1.

    The set C_3 of [O] VI-A. The l1 ball (l2 = 0) and the l2 ball (l1 = 0) are special cases.

    Parameters
    ----------
    l1, l2 : float
        The weights of the sum and of half the squares, >= 0 and not both 0. The largest entry
        that the set allows must be between 1e-153 and 1e153.

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
                "l1 or l2 must be positive, got 0 for both. Use Orthant for a set without bound."
            )
        most = lone_entry(self.l1, self.l2)
        if not SMALLEST <= most <= LARGEST:
            raise ParameterError(
                f"The largest entry that l1 and l2 allow must be between {SMALLEST} and {LARGEST}, "
                f"got {most:.3g} from l1={self.l1!r} and l2={self.l2!r}. "
                "Rescale the data so that it is closer to 1."
            )

    def value(self, x: Array) -> Array:
        """Return 0 for each column in the set, and inf for the others."""
        small = cost(x, self.l1, self.l2) <= 1 + 2 * tolerance(x)
        return indicator(nonnegative(x) & small)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the projection of each column onto the set; ``step`` has no effect."""
        return project_into(x, self.l1, self.l2)

    def gauge(self, x: Array) -> Array:
        """Return the gauge min{s >= 0 : x in s C} of each nonnegative column x."""
        linear, root = cost(x, self.l1, 0.0), np.sqrt(2 * self.l2) * column_norms(x)
        size: Array = (linear + np.hypot(linear, root)) / 2
        return size

    @property
    def border(self) -> tuple[float, float, bool]:
        """The (l1, l2, False) of the set {u >= 0 : l1 sum(u) + l2/2 |u|^2 <= 1}."""
        return self.l1, self.l2, False

    def conjugate(self, y: Array) -> Array:
        """Return the support function of each column, max <u, y> over the u in the set."""
        top = y.max(axis=0, initial=0.0).astype(np.float64)
        if in_units(self.l1, self.l2)[2] < _NEGLIGIBLE:
            lone: Array = top / self.l1
            return lone
        # For a column without positive entries the maximum is 0, whatever the direction.
        shape = np.where(top > 0, np.maximum(y, 0), 1.0) / np.where(top > 0, top, 1.0)
        support: Array = top * np.sum(project_onto(shape, self.l1, self.l2, 0.0) * shape, axis=0)
        return support
