"""GROUSE: one rotation of the subspace a sample, by its residual of least squares."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.trackers import Track
from thalweg.trackers._blocks import as_rows
from thalweg.trackers._encoders import LeastSquares
from thalweg.trackers._turning import choose

__all__ = ["Grouse", "Turned"]


class Turned(NamedTuple):
    """A basis, and how many samples have turned it.

    Attributes
    ----------
    U : array of shape (F, K)
        Orthonormal basis.
    n_samples : array of shape ()
        Number of samples so far.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.grouse import Grouse
    >>> Grouse().init(np.eye(3, 2)).n_samples
    array(0.)
    """

    U: Array
    n_samples: Array


@dataclass(frozen=True)
class Grouse:
    """GROUSE of Balzano, Nowak and Recht (2010), with the greedy step of Balzano and Wright.

    With the codes h of least squares on the entries observed, let p = U h, and r the residual, zero
    over gaps. The gradient of |r|^2 on the Grassmannian has rank one, and the geodesic along it
    turns p towards r and leaves what is orthogonal to both. The greedy angle atan(|r| / |p|)
    turns the subspace until it holds p + r, the sample with its gaps filled. There is no
    memory but U: noise goes into it unless steps diminish. A sample costs O(F K^2).

    The angle of the 2010 paper is rate |r| |p|, in squared units of the data. Here it is divided
    by |p + r|^2: no step depends on units, and a constant step of rate 1 is nearly the greedy
    one where residuals are small.

    Parameters
    ----------
    step_size : {"greedy", "constant", "diminishing"}
        How far to turn. Diminishing steps are shorter by K / (K + t) at sample t.
    rate : float
        Factor of the steps that are not greedy.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.grouse import Grouse
    >>> tracker = Grouse()
    >>> V = np.array([[3.0, np.e], [4.0, 4.0]])
    >>> observed = np.array([[True, False], [True, True]])
    >>> state, track = tracker.step(tracker.init(np.array([[1.0], [0.0]])), V, observed)
    >>> state.U.round(6)
    array([[0.6],
           [0.8]])
    """

    step_size: str = "greedy"
    rate: float = 1.0
    name: ClassVar[str] = "grouse"

    def __post_init__(self) -> None:
        self._rule()

    def init(self, U: Array) -> Turned:
        """Return the state with the basis U and no samples."""
        return Turned(U, np.zeros(()))

    def step(self, state: Turned, V: Array, observed: Mask | None = None) -> tuple[Turned, Track]:
        """Return the state after the columns of V, and their codes."""
        X, mask = as_rows(V, observed, state.U.dtype)
        U = np.array(state.U.T, order="C")
        H, error = np.empty((len(X), len(U)), dtype=U.dtype), np.empty(len(X))
        count = float(state.n_samples)
        count = _kernels.track_grouse(U, X, mask, self._rule(), self.rate, count, H, error)
        return Turned(U.T, np.array(count)), Track(H.T, np.zeros_like(X).T, error)

    def encoder(self, state: Turned) -> Encoder:
        """Return least squares on the entries observed."""
        return LeastSquares()

    def _rule(self) -> int:
        return choose(self.step_size, self.rate, "greedy", "constant", "diminishing")
