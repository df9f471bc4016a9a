"""Robust PCA by gradient descent on the factors, as an estimator."""

from typing import Any

import numpy as np

from thalweg._checks import check_count, check_tol
from thalweg._constants import MAD_TO_STANDARD_DEVIATION
from thalweg._typing import Array, Mask
from thalweg.completion import Completed, Completion
from thalweg.completion.factored_gradient_descent import FactoredGradientDescent
from thalweg.encoders import Encoder
from thalweg.encoders.projected_cs import ProjectedCS
from thalweg.estimators._completion import CompletionEstimator

__all__ = ["RPCAGD"]

# Residual beyond which an entry of a new sample is an outlier, in units of the noise scale.
_THRESHOLD = 3.0


class RPCAGD(CompletionEstimator):
    """Decompose a matrix with missing entries into a low-rank part and outliers.

    Minimises the sum of (x - y - r)^2 / 2 over the observed entries, for matrices Y of rank
    ``n_components`` and outliers R with at most a given share of nonzeros in each row and column:
    RPCA-GD of Yi, Park, Chen and Caramanis (2016). Each iteration takes a gradient step on two
    factors of Y, and sets R to the largest residuals of each row and column.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Rank of the low-rank part. ``"auto"`` takes the smallest number whose error at hidden
        entries is within one standard error of the smallest error; see ``rank_evidence_``.
    outlier_share : float, default=0.1
        Largest share of outliers in a sample or a feature (alpha), below 1.
    slack : float, default=2.0
        Factor of that share in the iteration (gamma), at least 1. ``slack * outlier_share`` is
        the share of entries that may be outliers, and must be well below 1/2.
    incoherence : float, default=10.0
        Bound of the squared norm of a row of a factor, in units of its mean (mu), at least 1.
    rate : float, default=0.5
        Step size, in units of the inverse of the largest singular value (eta).
    tol : float, default=1e-7
        The fit stops when the factors change by at most this share of their norm. 0 runs all
        ``max_iter`` iterations.
    max_iter : int, default=1000
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
    noise_scale_ : float
        Standard deviation of the noise, estimated from the median residual. In new samples,
        residuals beyond three times this value are outliers.
    outlier_share_ : float
        Share of outliers among the observed entries.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the stopping criterion was met.
    n_samples_seen_, n_features_in_ : int
        Numbers of samples and features.

    References
    ----------
    X. Yi, D. Park, Y. Chen and C. Caramanis, "Fast algorithms for robust PCA via gradient
    descent", NIPS, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RPCAGD
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 80))
    >>> X = np.where(rng.random(clean.shape) < 0.05, 10.0, clean)
    >>> low_rank = RPCAGD(2, random_state=0).fit(X).decompose(X).low_rank
    >>> bool(np.allclose(low_rank, clean, atol=1e-3))
    True
    """

    _criterion = "the factors changed by"

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        outlier_share: float = 0.1,
        slack: float = 2.0,
        incoherence: float = 10.0,
        rate: float = 0.5,
        tol: float = 1e-7,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.outlier_share = outlier_share
        self.slack = slack
        self.incoherence = incoherence
        self.rate = rate
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _method(self) -> Completion:
        return FactoredGradientDescent(
            self.outlier_share,
            self.slack,
            self.incoherence,
            self.rate,
            check_tol(self.tol),
            check_count("max_iter", self.max_iter),
        )

    def _encoder(self) -> Encoder:
        return ProjectedCS(_THRESHOLD, noise_scale=self.noise_scale_)

    def _publish_residuals(self, V: Array, mask: Mask, found: Completed) -> None:
        residual = np.abs(V - found.U @ found.H)[mask]
        median = float(np.median(residual)) if residual.size else 0.0
        self.noise_scale_ = MAD_TO_STANDARD_DEVIATION * median
