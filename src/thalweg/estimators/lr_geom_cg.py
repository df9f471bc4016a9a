"""Riemannian matrix completion as an estimator."""

from typing import Any

from thalweg._checks import check_count, check_positive
from thalweg.completion import Completion
from thalweg.completion.riemannian_cg import RiemannianCG
from thalweg.encoders import Encoder
from thalweg.encoders.least_squares import LeastSquares
from thalweg.estimators._completion import Completing

__all__ = ["LRGeomCG"]


class LRGeomCG(Completing):
    """Fill the gaps of a matrix of low rank, all at once, by least squares.

    LRGeomCG of Vandereycken (2013): conjugate gradients on the manifold of matrices of a fixed
    rank, from the entries observed only. It knows no outliers: :class:`thalweg.RPCAGD` does, and
    :class:`thalweg.PetrelsADMM` for samples that still arrive.

    Parameters
    ----------
    n_components : int, default=10
        Rank of the matrix.
    tol : float, default=1e-8
        The fit ends when the Riemannian gradient is below this share of the norm of the data.
    max_iter : int, default=500
        Cap on the number of iterations.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the search for the first singular vectors; it hardly matters.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal basis of the rows, strongest direction first; zero beyond the rank that the
        shape of the data allows.
    outlier_share_ : float
        Share of outliers among the entries observed; always 0 here.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether ``tol`` was reached.
    n_samples_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    B. Vandereycken, "Low-rank matrix completion by Riemannian optimization", SIAM Journal on
    Optimization, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import LRGeomCG
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 60))
    >>> X = np.where(rng.random(clean.shape) < 0.6, np.nan, clean)
    >>> bool(np.allclose(LRGeomCG(3, random_state=0).complete(X), clean, atol=1e-5))
    True
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        tol: float = 1e-8,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _method(self) -> Completion:
        cap = check_count("max_iter", self.max_iter)
        return RiemannianCG(check_positive("tol", self.tol), cap)

    def _encoder(self) -> Encoder:
        return LeastSquares()
