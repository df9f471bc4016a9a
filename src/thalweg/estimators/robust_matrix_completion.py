"""Completion of a whole matrix in spite of outliers."""

from typing import Any

import numpy as np

from thalweg._checks import check_count, check_positive
from thalweg._typing import Array
from thalweg.completion import Completed, Completion
from thalweg.encoders import Encoder
from thalweg.estimators._completion import Completing
from thalweg.learning.robust_completion import Alternation, code_size, encoder_at
from thalweg.trackers.noise_scale import truncated_noise_scale
from thalweg.trackers.petrels_admm import PetrelsADMMTracker

__all__ = ["RobustMatrixCompletion"]


class RobustMatrixCompletion(Completing):
    """Fill the gaps of a matrix of low rank that has outliers, [T] V-B.

    A robust start from all samples at once, then passes until the subspace stays. A pass rejects
    outliers sample by sample, as :class:`thalweg.PetrelsADMM` does, and takes every feature to
    its least squares on the entries kept. Outliers may be of any size; they have to be fewer
    than about half of the entries observed, or somewhat more if they are no larger than the signal.

    Parameters
    ----------
    n_components : int, default=2
        Rank of the low-rank part.
    outlier_weight : float, default=0.5
        Weight of the l1 norm of the outliers in the robust fit, in noise levels.
    threshold : float, default=2.5
        Distance from the fit beyond which an entry is an outlier, in noise levels.
    tol : float, default=1e-4
        The fit ends when a pass turns the subspace by less than this angle, in radians.
    max_iter : int, default=10
        Cap on the number of passes.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal basis of the rows; zero beyond the rank that the shape of the data allows.
    noise_scale_ : float
        Noise level, from the entries that are no outliers.
    code_size_ : float
        Median of the samples' |codes|^2: what codes are likely to be that entries hardly tell.
    outlier_share_ : float
        Share of outliers among the entries observed.
    n_iter_ : int
        Number of passes.
    converged_ : bool
        Whether ``tol`` was reached.
    n_samples_seen_, n_features_in_ : int
        Counts.

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

    def __init__(
        self,
        n_components: int = 2,
        *,
        outlier_weight: float = 0.5,
        threshold: float = 2.5,
        tol: float = 1e-4,
        max_iter: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.outlier_weight = outlier_weight
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _method(self) -> Completion:
        tol, passes = check_positive("tol", self.tol), check_count("max_iter", self.max_iter)
        return Alternation(self._tracker(), tol, passes)

    def _tracker(self) -> PetrelsADMMTracker:
        return PetrelsADMMTracker(
            1.0, huber_threshold=self.outlier_weight, threshold=self.threshold
        )

    def _encoder(self) -> Encoder:
        return encoder_at(self._tracker(), self.components_.T, self.noise_scale_, self.code_size_)

    def _note(self, V: Array, observed: Any, found: Completed) -> None:
        mask = np.ones(V.shape, dtype=np.bool_) if observed is None else observed
        fitted = min(len(found.H), *V.shape) * sum(V.shape)
        self.noise_scale_ = truncated_noise_scale(
            (V - found.U @ found.H)[mask], self.threshold, fitted
        )
        self.code_size_ = code_size(found.H, mask)
