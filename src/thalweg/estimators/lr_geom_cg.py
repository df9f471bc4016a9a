"""Matrix completion by Riemannian conjugate gradients, as an estimator."""

from typing import Any

from thalweg._checks import check_count, check_tol
from thalweg.completion import Completion
from thalweg.completion.riemannian_cg import RiemannianCG
from thalweg.encoders import Encoder
from thalweg.encoders.least_squares import LeastSquares
from thalweg.estimators._completion import CompletionEstimator

__all__ = ["LRGeomCG"]


class LRGeomCG(CompletionEstimator):
    """Fill the missing entries of a low-rank matrix by least squares.

    Minimises the sum of (x - y)^2 / 2 over the observed entries, for matrices Y of rank
    ``n_components``, by conjugate gradients on the manifold of these matrices: LRGeomCG of
    Vandereycken (2013). It has no model of outliers. With outliers use
    :class:`thalweg.RobustMatrixCompletion` or :class:`thalweg.RPCAGD`, and
    :class:`thalweg.PetrelsADMM` for a stream.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Rank of the matrix. ``"auto"`` takes the smallest number whose error at hidden entries is
        within one standard error of the smallest error; see ``rank_evidence_``.
    tol : float, default=1e-8
        The fit stops when the norm of the Riemannian gradient is at most this share of the norm
        of the data. 0 runs all ``max_iter`` iterations, unless rounding errors end the line
        search.
    max_iter : int, default=500
        Maximum number of iterations.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the iterative singular value decomposition of the initial matrix. The result
        hardly depends on it.
    n_jobs : int or None, default=None
        Number of threads, with the meaning of scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 all cores. Results do not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal basis of the subspace, by decreasing singular values; zero rows beyond the
        rank that the shape of the data allows.
    n_components_ : int
        Number of components.
    rank_evidence_ : RankEvidence
        With ``n_components="auto"``: the numbers that were tried, with loss and standard error.
    outlier_share_ : float
        Share of outliers among the observed entries; 0, since the model has no outliers.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the stopping criterion was met.
    n_samples_seen_, n_features_in_ : int
        Numbers of samples and features.

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

    _criterion = "the relative norm of the gradient was"

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        tol: float = 1e-8,
        max_iter: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _method(self) -> Completion:
        return RiemannianCG(check_tol(self.tol), check_count("max_iter", self.max_iter))

    def _encoder(self) -> Encoder:
        return LeastSquares()
