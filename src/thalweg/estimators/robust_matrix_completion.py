"""Robust completion of a whole matrix, as an estimator."""

from typing import Any

from thalweg._checks import check_count, check_tol
from thalweg._typing import Array, Mask
from thalweg.completion import Completed, Completion
from thalweg.encoders import Encoder
from thalweg.estimators._completion import CompletionEstimator
from thalweg.learning.robust_completion import Alternation, code_size, encoder_at
from thalweg.trackers.noise_scale import truncated_noise_scale
from thalweg.trackers.petrels_admm import PetrelsADMMTracker

__all__ = ["RobustMatrixCompletion"]


class RobustMatrixCompletion(CompletionEstimator):
    """Fill the missing entries of a low-rank matrix with outliers, [T] V-B.

    Minimises the sum of min(e^2, c^2) over the residuals e = x - (codes @ components_) of the
    observed entries, where c is ``threshold`` times the noise scale. A robust initial subspace is
    estimated from all samples. Each iteration then rejects the outliers of each sample, as
    :class:`thalweg.PetrelsADMM` does, and fits every feature by least squares on the remaining
    entries. Outliers may have any size. They must be fewer than about half of the observed
    entries, or somewhat more if they are no larger than the signal.

    Parameters
    ----------
    n_components : int, default=2
        Rank of the low-rank part.
    huber_threshold : float, default=0.5
        Huber threshold of the robust fit (the weight of the l1 norm of the outliers), in units of
        the noise scale.
    threshold : float, default=2.5
        Residual beyond which an entry is an outlier, in units of the noise scale.
    tol : float, default=1e-4
        The fit stops when an iteration rotates the subspace by at most this angle, in radians.
        0 runs all ``max_iter`` iterations.
    max_iter : int, default=10
        Maximum number of iterations.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial subspace.
    n_jobs : int or None, default=None
        Number of threads, with the meaning of scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 all cores. Results do not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal basis of the subspace; zero rows beyond the rank that the shape of the data
        allows.
    noise_scale_ : float
        Standard deviation of the noise, estimated from the entries that are not outliers.
    code_size_ : float
        Median squared norm of the codes: the prior variance of codes with few observed entries.
    outlier_share_ : float
        Share of outliers among the observed entries.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the stopping criterion was met.
    n_samples_seen_, n_features_in_ : int
        Numbers of samples and features.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustMatrixCompletion
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 80))
    >>> X = np.where(rng.random(clean.shape) < 0.2, 10.0, clean)
    >>> X[rng.random(clean.shape) < 0.5] = np.nan
    >>> model = RobustMatrixCompletion(2, random_state=0).fit(X)
    >>> bool(np.allclose(model.decompose(X).low_rank, clean, atol=1e-2))
    True
    """

    _criterion = "the subspace rotated by"

    def __init__(
        self,
        n_components: int = 2,
        *,
        huber_threshold: float = 0.5,
        threshold: float = 2.5,
        tol: float = 1e-4,
        max_iter: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.huber_threshold = huber_threshold
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _method(self) -> Completion:
        max_iter = check_count("max_iter", self.max_iter)
        return Alternation(self._tracker(), check_tol(self.tol), max_iter)

    def _tracker(self) -> PetrelsADMMTracker:
        return PetrelsADMMTracker(
            1.0, huber_threshold=self.huber_threshold, threshold=self.threshold
        )

    def _encoder(self) -> Encoder:
        return encoder_at(self._tracker(), self.components_.T, self.noise_scale_, self.code_size_)

    def _publish_residuals(self, V: Array, mask: Mask, found: Completed) -> None:
        residual = (V - found.U @ found.H)[mask]
        n_fitted = min(len(found.H), *V.shape) * sum(V.shape)
        self.noise_scale_ = truncated_noise_scale(residual, self.threshold, n_fitted)
        self.code_size_ = code_size(found.H, mask)
