"""Solvers of f(x) + g(x) with a quadratic f, independent of dictionaries, codes and outliers.

There are two families. :mod:`thalweg.solvers.nnls`, :mod:`thalweg.solvers.simplex` and
:mod:`thalweg.solvers.proximal_gradient` solve many independent problems, one per column or row. A
*matrix solver* (below) minimises a quadratic whose columns are coupled by a Gram matrix; each is a
frozen dataclass in a file of its own, and users choose it by name.
"""

from enum import Enum
from typing import ClassVar, Protocol, runtime_checkable

from thalweg._typing import Array, Mask
from thalweg.prox import Prox
from thalweg.solvers._quadratic import mean_diagonal

__all__ = ["MatrixSolver", "Status", "mean_diagonal"]


class Status(Enum):
    """The reason why a minimisation ended; the value is a sentence for messages.

    Examples
    --------
    >>> from thalweg.solvers import Status
    >>> Status.CONVERGED.value
    'The stopping criterion was met.'
    """

    CONVERGED = "The stopping criterion was met."
    CAPPED = "The iteration limit was reached before the stopping criterion was met."


@runtime_checkable
class MatrixSolver(Protocol):
    """A solver of min_W tr(W' W A)/2 - tr(W' B) + sum_k g(w_k), where w_k are the columns of W.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    """

    name: ClassVar[str]

    def solve(
        self, A: Array, B: Array, W: Array, g: Prox, free: Mask, constant: float = 0.0
    ) -> tuple[Array, Status]:
        """Return a W with a lower objective than the initial one, and why the iteration ended.

        Parameters
        ----------
        A : array of shape (K, K)
            Symmetric positive semidefinite.
        B : array of shape (F, K)
            The coefficients of the linear term.
        W : array of shape (F, K)
            The initial value, which is not modified.
        g : Prox
            The penalty or constraint of each column.
        free : boolean array of shape (K,)
            True for the columns to optimise; the others stay fixed.
        constant : float
            Constant term of the objective; it only sets the scale of the stopping criterion.
        """
        ...
