"""Batch matrix completion: low rank, plus outliers for robust methods.

A method gets all samples at once, with missing entries, and returns factors of the low-rank part.
"""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["Completed", "Completion"]


class Completed(NamedTuple):
    """The model V = U H + R + noise of the observed entries of a matrix.

    Attributes
    ----------
    U : array of shape (F, K)
        Basis of the low-rank part, with orthonormal columns. Columns beyond min(F, N) are 0.
    H : array of shape (K, N)
        Codes; ``U @ H`` is the completed matrix.
    R : array of shape (F, N)
        Outliers; 0 at missing entries, and everywhere for methods without outliers.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the stopping criterion was met within ``max_iter`` iterations.
    relative_scales : array of shape (F,) or None
        Noise scales of the features, by which they were weighed; None if all are weighed the same.
    mean : array of shape (F,) or None
        Mean of each feature, which is added to U H; None for models without one.

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
    relative_scales: Array | None = None
    mean: Array | None = None

    @property
    def low_rank(self) -> Array:
        """The completed matrix, shape (F, N)."""
        product: Array = self.U @ self.H
        return product if self.mean is None else product + self.mean[:, None]


@runtime_checkable
class Completion(Protocol):
    """The interface of completion methods, which are frozen dataclasses.

    Attributes
    ----------
    name : str
        Name of the method.
    """

    name: ClassVar[str]

    def complete(
        self,
        V: Array,
        observed: Mask | None,
        n_components: int,
        rng: np.random.Generator | int | None = 0,
    ) -> Completed:
        """Compute the low-rank part of V and its outliers.

        Parameters
        ----------
        V : array of shape (F, N)
            Samples as columns. Missing entries may have any finite value.
        observed : boolean array of shape (F, N) or None
            False at missing entries; None if all entries are observed.
        n_components : int
            Rank of the low-rank part.
        rng : Generator, int or None
            Random number generator, or its seed.

        Returns
        -------
        Completed
            Factors and outliers.
        """
        ...
