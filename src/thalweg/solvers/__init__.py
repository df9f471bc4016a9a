"""Minimise f + g; know nothing of dictionaries, codes or outliers.

Two families live here. :mod:`thalweg.solvers.nnls` and
:mod:`thalweg.solvers.proximal_gradient` minimise over one vector per column. A *matrix solver*
(below) minimises a quadratic whose columns are coupled by a Gram matrix; each is a frozen
dataclass in a file of its own, found by name.
"""

from enum import Enum
from typing import ClassVar, Protocol, runtime_checkable

from thalweg._typing import Array, Mask
from thalweg.prox import Prox

__all__ = ["MatrixSolver", "Status"]


class Status(Enum):
    """How a minimisation ended; the value is the sentence to show.

    Examples
    --------
    >>> from thalweg.solvers import Status
    >>> Status.CONVERGED.value
    'The stopping rule was met.'
    """

    CONVERGED = "The stopping rule was met."
    CAPPED = "The iteration cap was reached before the stopping rule was met."


@runtime_checkable
class MatrixSolver(Protocol):
    """A minimiser of tr(W' W A)/2 - tr(W' B) + sum_k g(w_k) over W with columns w_k.

    Attributes
    ----------
    name : str
        What users write to choose it.
    """

    name: ClassVar[str]

    def solve(
        self, A: Array, B: Array, W: Array, g: Prox, free: Mask, constant: float = 0.0
    ) -> tuple[Array, Status]:
        """Return a W with a lower objective than the start, and how the iteration ended.

        Parameters
        ----------
        A : array of shape (K, K)
            Symmetric positive semidefinite.
        B : array of shape (F, K)
            The linear term.
        W : array of shape (F, K)
            The start; it is not modified.
        g : Prox
            A function of each column.
        free : boolean array of shape (K,)
            Columns that may move; the others are kept as they are.
        constant : float
            What the objective lacks; it only sets the scale of the stopping rule.
        """
        ...
