"""Fill the gaps of a whole matrix: low rank plus, where a method knows them, outliers.

Every method sees all samples at once, of which only some entries are observed, and returns factors
of the low-rank part. They are the batch baselines of the trackers, which see a sample once.
"""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["Completed", "Completion"]


class Completed(NamedTuple):
    """A matrix V = U H + R + noise, where it was observed.

    Attributes
    ----------
    U : array of shape (F, K)
        Basis of the low-rank part; its columns are orthonormal, or zero beyond the rank that
        the shape of the matrix allows.
    H : array of shape (K, N)
        Codes; ``U @ H`` is the completed matrix.
    R : array of shape (F, N)
        Outliers; zero over gaps, and everywhere for methods that know no outliers.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the stopping rule was met, before the iteration cap.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.completion.riemannian_cg import RiemannianCG
    >>> V = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, -1.0])
    >>> observed = np.ones(V.shape, dtype=bool)
    >>> observed[3, 2] = False
    >>> found = RiemannianCG().complete(V * observed, observed, 1)
    >>> float((found.U @ found.H)[3, 2].round(6))
    -4.0
    """

    U: Array
    H: Array
    R: Array
    n_iter: int
    converged: bool


@runtime_checkable
class Completion(Protocol):
    """Completes a matrix; a frozen dataclass in a file of its own.

    Attributes
    ----------
    name : str
        What users write to choose it.
    """

    name: ClassVar[str]

    def complete(
        self,
        V: Array,
        observed: Mask | None,
        n_components: int,
        rng: np.random.Generator | int | None = 0,
    ) -> Completed:
        """Return the low-rank part of V and its outliers.

        Parameters
        ----------
        V : array of shape (F, N)
            Samples as columns; any finite number may stand where nothing was observed.
        observed : boolean array of shape (F, N) or None
            False at gaps; None where there is none.
        n_components : int
            Rank of the low-rank part.
        rng : Generator, int or None
            Where random numbers come from.
        """
        ...
