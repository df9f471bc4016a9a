"""The master problem (28) of [A]: the best support under all cuts, solved by HiGHS."""

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from thalweg._typing import Array, Indices
from thalweg.archetypes.block_descent import nearest_sparse

if TYPE_CHECKING:
    from thalweg.archetypes.support_value import SupportValue

__all__ = ["Master"]

# Largest number of entries k n of the support with one bound per row and integer variables; for
# larger problems branch and bound takes more than minutes, and the relaxation is used.
# Largest k^2 n for which the cuts of one row are shared by all rows with the same function:
# tighter, but more expensive for HiGHS.
# benchmarks: archetypes_toy
_MAX_INTEGER_ENTRIES, _MAX_SHARED_CUTS = 5_000, 20_000
# Smallest time limit of HiGHS, in seconds.
_MIN_SECONDS = 0.1
# Smallest value of a relaxed binary variable that counts as 1 after rounding to the largest ones.
_MIN_BINARY = 1e-6


class Master:
    """Minimise eta over supports y subject to the cuts eta >= F(Y) + <slope, y - Y>.

    For small supports each row i has its own bound eta_i, and their sum is minimised; this is
    tighter than (28), with one bound for all rows. For large supports (28) is relaxed to
    0 <= y <= 1. With t cuts, a basic solution has at most t + 1 entries between 0 and 1, so
    rounding changes little, and the bound remains valid.

    Parameters
    ----------
    k, n : int
        Shape of the support.
    nonzeros : int
        Largest number of entries of the support.
    alike : bool
        Whether all rows have the same function. Then rows are ordered by their number of entries,
        and share their cuts, for small supports.
    unit : float
        Unit of the objective. Cuts are divided by it, since HiGHS has absolute tolerances.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes.master_problem import Master
    >>> from thalweg.archetypes.support_value import SupportValue
    >>> master = Master(1, 3, nonzeros=2, alike=False)
    >>> slope = np.array([[-1.0, -3.0, -2.0]])
    >>> master.cut(np.zeros((1, 3)), SupportValue(np.full(1, 5.0), np.full(1, 5.0), slope, slope))
    >>> master.solve(10.0)
    (array([[0., 1., 1.]]), 0.0)
    """

    def __init__(self, k: int, n: int, nonzeros: int, *, alike: bool, unit: float = 1.0) -> None:
        self.k, self.n, self.nonzeros, self.unit = k, n, nonzeros, unit
        self.apart = k * n <= _MAX_INTEGER_ENTRIES
        self.alike = alike and self.apart
        self.bounds = k if self.apart else 1
        self._left: list[sparse.csr_array] = []
        self._right: list[float] = []

    def cut(self, Y: Array, value: "SupportValue") -> None:
        """Add the cuts of a support."""
        if not self.apart:
            constant = value.lower.sum() - np.vdot(value.slope, Y)
            self._add(0, np.arange(self.k * self.n), value.slope.ravel(), float(constant))
            return
        shared = self.alike and self.k**2 * self.n <= _MAX_SHARED_CUTS
        for i in range(self.k):
            slope, constant = value.slope[i], value.lower[i] - value.slope[i] @ Y[i]
            for row in range(self.k) if shared else (i,):
                self._add(row, row * self.n + np.arange(self.n), slope, float(constant))

    def solve(self, seconds: float) -> tuple[Array, float] | None:
        """Return the best support and a lower bound of (22), or None at the time limit."""
        size = self.k * self.n
        cost = np.concatenate([np.zeros(size), np.ones(self.bounds)])
        count = sparse.csr_array(np.concatenate([np.ones(size), np.zeros(self.bounds)])[None])
        constraints = [
            LinearConstraint(sparse.vstack(self._left), np.array(self._right), np.inf),
            LinearConstraint(count, -np.inf, self.nonzeros),
            *self._order(),
        ]
        result = milp(
            cost,
            constraints=constraints,
            integrality=np.concatenate([np.full(size, self.apart), np.zeros(self.bounds)]),
            bounds=Bounds(0.0, np.concatenate([np.ones(size), np.full(self.bounds, np.inf)])),
            # With dense cuts, presolve takes more than a minute.
            options={"presolve": False, "time_limit": max(seconds, _MIN_SECONDS)},
        )
        if result.x is None:
            return None
        bound = result.mip_dual_bound
        if bound is None:  # no branch and bound for the relaxation
            bound = result.fun
        chosen = nearest_sparse(result.x[:size].reshape(self.k, self.n), self.nonzeros)
        return (chosen > _MIN_BINARY).astype(float), float(max(bound, 0.0)) * self.unit

    def _add(self, bound: int, places: Indices, slope: Array, constant: float) -> None:
        """Add eta_bound - <slope, y[places]> >= constant."""
        slope, constant = slope / self.unit, constant / self.unit
        used = np.flatnonzero(slope)
        columns = np.append(places[used], self.k * self.n + bound)
        where = (np.zeros(len(columns), dtype=np.intp), columns)
        entries = np.append(-slope[used], 1.0)
        width = self.k * self.n + self.bounds
        self._left.append(sparse.csr_array((entries, where), shape=(1, width)))
        self._right.append(constant)

    def _order(self) -> list[LinearConstraint]:
        """Return constraints that order equivalent rows by decreasing numbers of entries."""
        if not self.alike or self.k == 1:
            return []
        ones = sparse.kron(sparse.eye_array(self.k), np.ones((1, self.n)))
        falls = ones.tocsr()[:-1] - ones.tocsr()[1:]
        empty = sparse.csr_array((self.k - 1, self.bounds))
        return [LinearConstraint(sparse.hstack([falls, empty]), 0.0, np.inf)]
