"""Completion of a whole matrix in spite of outliers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.completion import Completed, Completion
from thalweg.encoders import Encoder
from thalweg.estimators._completion import Completing
from thalweg.estimators._parameters import check_count, check_positive
from thalweg.trackers._noise import noise_level
from thalweg.trackers.angles import largest_angle
from thalweg.trackers.petrels_admm import PetrelsADMM
from thalweg.trackers.start import robust_basis

__all__ = ["RobustMatrixCompletion"]


class RobustMatrixCompletion(Completing):
    """Fill the gaps of a matrix of low rank that has outliers, [T] V-B.

    A robust start from all samples at once, then passes of PETRELS-ADMM over them in random
    order until the subspace stays. Outliers may be of any size; they have to be fewer than
    about half of the entries seen.

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
        Seed of the start and of the order of the samples.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal basis of the rows; zero beyond the rank that the shape of the data allows.
    noise_ : float
        Noise level, from the entries that are no outliers.
    code_size_ : float
        Median of the samples' |codes|^2: what codes are likely to be that entries hardly tell.
    outlier_share_ : float
        Share of outliers among the entries seen.
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
        return _Passes(self._tracker(), tol, passes)

    def _tracker(self, noise: float = 0.0) -> PetrelsADMM:
        return PetrelsADMM(1.0, knee=self.outlier_weight, limit=self.threshold, noise=noise)

    def _encoder(self) -> Encoder:
        tracker = self._tracker(self.noise_)
        state = tracker.init(self.components_.T)
        state.noise[3] = self.code_size_
        return tracker.encoder(state)

    def _note(self, V: Array, seen: Any, found: Completed) -> None:
        seen = np.ones(V.shape, dtype=np.bool_) if seen is None else seen
        self.noise_ = noise_level((V - found.U @ found.H)[seen], self.threshold)
        sizes = np.square(found.H[:, seen.any(axis=0)]).sum(axis=0)
        self.code_size_ = float(np.median(sizes)) if sizes.size else 0.0


@dataclass(frozen=True)
class _Passes:
    """A robust start, and passes of a tracker until the subspace stays."""

    tracker: PetrelsADMM
    tol: float
    max_iter: int
    name: ClassVar[str] = "petrels-admm"

    def complete(
        self,
        V: Array,
        seen: Mask | None,
        n_components: int,
        rng: np.random.Generator | int | None = 0,
    ) -> Completed:
        """Return the low-rank part of V and its outliers."""
        rng = np.random.default_rng(rng)
        rank = min(n_components, *V.shape)
        U = robust_basis(V, rank, seen, seed=int(rng.integers(2**31)))
        count, converged = 0, False
        while count < self.max_iter and not converged:
            order = rng.permutation(V.shape[1])
            shuffled = None if seen is None else seen[:, order]
            state, _ = self.tracker.step(self.tracker.init(U), V[:, order], shuffled)
            before, U = U, np.linalg.qr(state.U)[0]
            count, converged = count + 1, largest_angle(U, before) <= self.tol
        codes = self.tracker.encoder(state).encode(V, U, seen=seen)
        R = codes.R if seen is None else codes.R * seen
        beyond = ((0, n_components - rank), (0, 0))
        basis, H = np.pad(U.T, beyond).T, np.pad(codes.H, beyond)
        return Completed(basis, H, R, count, converged)
