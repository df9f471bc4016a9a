"""Robust PCA by gradient descent as an estimator."""

from typing import Any

import numpy as np

from thalweg._checks import check_count, check_positive
from thalweg._constants import MAD_TO_STANDARD_DEVIATION
from thalweg._typing import Array
from thalweg.completion import Completed, Completion
from thalweg.completion.factored_gradient_descent import FactoredGradientDescent
from thalweg.encoders import Encoder
from thalweg.encoders.projected_cs import ProjectedCS
from thalweg.estimators._completion import Completing

__all__ = ["RPCAGD"]

_LIMIT = 3.0  # noise levels from which an entry of a new sample is an outlier


class RPCAGD(Completing):
    """Take a matrix with gaps apart into low rank and outliers, all at once.

    RPCA-GD of Yi, Park, Chen and Caramanis (2016): gradient descent on two factors, between
    which the largest residuals of rows and columns are taken for outliers.

    Parameters
    ----------
    n_components : int, default=10
        Rank of the low-rank part.
    outlier_share : float, default=0.1
        Largest share of outliers in a sample or a feature (alpha), below 1.
    slack : float, default=2.0
        Factor of that share in the iteration (gamma), at least 1. Their product is the share of
        entries that may be taken for outliers, and has to stay well below one half.
    incoherence : float, default=10.0
        How much longer than usual a row of a factor may be (mu), at least 1.
    step_size : float, default=0.5
        Step in units of the inverse of the largest singular value.
    tol : float, default=1e-7
        The fit ends when the factors move by less than this share of their norm.
    max_iter : int, default=1000
        Cap on the number of iterations.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the search for the first singular vectors; it hardly matters.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal basis of the rows, strongest direction first; zero beyond the rank that the
        shape of the data allows.
    noise_scale_ : float
        Level of noise, from the median residual; outliers of new samples are told by it.
    outlier_share_ : float
        Share of outliers among the entries observed.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether ``tol`` was reached.
    n_samples_seen_, n_features_in_ : int
        Counts.

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

    def __init__(
        self,
        n_components: int = 10,
        *,
        outlier_share: float = 0.1,
        slack: float = 2.0,
        incoherence: float = 10.0,
        step_size: float = 0.5,
        tol: float = 1e-7,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.outlier_share = outlier_share
        self.slack = slack
        self.incoherence = incoherence
        self.step_size = step_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _method(self) -> Completion:
        return FactoredGradientDescent(
            self.outlier_share,
            self.slack,
            self.incoherence,
            self.step_size,
            check_positive("tol", self.tol),
            check_count("max_iter", self.max_iter),
        )

    def _encoder(self) -> Encoder:
        return ProjectedCS(_LIMIT, noise_scale=self.noise_scale_)

    def _note(self, V: Array, observed: Any, found: Completed) -> None:
        observed = np.ones(V.shape, dtype=np.bool_) if observed is None else observed
        residual = np.abs(V - found.U @ found.H)[observed]
        median = float(np.median(residual)) if residual.size else 0.0
        self.noise_scale_ = MAD_TO_STANDARD_DEVIATION * median
