"""The master problem (28) of [A]: the best support by the cuts so far, on HiGHS."""

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from thalweg._typing import Array, Indices
from thalweg.archetypes.block_descent import nearest_sparse

if TYPE_CHECKING:
    from thalweg.archetypes.outer_approximation import SupportValue

__all__ = ["Master"]

# Entries of a support up to which each row has a bound of its own, and cuts of one row serve all
# rows that are alike: tighter, but HiGHS has more to do for each cut. Beyond, branching does not
# end in minutes, and the relaxation takes its place.
_SMALL, _SHARED = 5_000, 20_000


class Master:
    """Cuts eta >= F(Y) + <slope, y - Y>, kept from round to round.

    While supports are small each row i has a bound eta_i of its own, and their sum is minimised;
    that is tighter than (28), where one bound takes in all rows. Beyond that (28) is relaxed to
    0 <= y <= 1: with t cuts at most t + 1 entries of a basic solution are between 0 and 1, so
    that little is lost by rounding down all but the largest, and the bound stays one.

    Parameters
    ----------
    k, n : int
        Size of the support.
    nonzeros : int
        How many entries it may have.
    alike : bool
        Whether all rows have the same function; then their order is fixed by their sizes, and
        cuts are shared, while supports are small.
    unit : float
        The size of the functions: HiGHS has absolute tolerances, so cuts are divided by it.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes.master_problem import Master
    >>> from thalweg.archetypes.outer_approximation import SupportValue
    >>> master = Master(1, 3, nonzeros=2, alike=False)
    >>> slope = np.array([[-1.0, -3.0, -2.0]])
    >>> master.cut(np.zeros((1, 3)), SupportValue(np.full(1, 5.0), np.full(1, 5.0), slope, slope))
    >>> master.solve(10.0)
    (array([[0., 1., 1.]]), 0.0)
    """

    def __init__(self, k: int, n: int, nonzeros: int, *, alike: bool, unit: float = 1.0) -> None:
        self.k, self.n, self.nonzeros, self.unit = k, n, nonzeros, unit
        self.apart = k * n <= _SMALL
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
        shared = self.alike and self.k**2 * self.n <= _SHARED
        for i in range(self.k):
            slope, constant = value.slope[i], value.lower[i] - value.slope[i] @ Y[i]
            for row in range(self.k) if shared else (i,):
                self._add(row, row * self.n + np.arange(self.n), slope, float(constant))

    def solve(self, seconds: float) -> tuple[Array, float] | None:
        """Return the best support and a bound on (22), or None when the time did not suffice."""
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
            # with it nothing comes back in a minute from cuts that are dense
            options={"presolve": False, "time_limit": max(seconds, 0.1)},
        )
        if result.x is None:
            return None
        bound = result.mip_dual_bound
        if bound is None:  # the relaxation has no branches
            bound = result.fun
        chosen = nearest_sparse(result.x[:size].reshape(self.k, self.n), self.nonzeros)
        return (chosen > 1e-6).astype(float), float(max(bound, 0.0)) * self.unit

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
        """Return that rows that are alike come with their numbers of entries falling."""
        if not self.alike or self.k == 1:
            return []
        ones = sparse.kron(sparse.eye_array(self.k), np.ones((1, self.n)))
        falls = ones.tocsr()[:-1] - ones.tocsr()[1:]
        empty = sparse.csr_array((self.k - 1, self.bounds))
        return [LinearConstraint(sparse.hstack([falls, empty]), 0.0, np.inf)]
