"""PETRELS-ADMM: reject outliers, then recursive least squares on the entries kept."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg import _native
from thalweg._checks import require_positive
from thalweg._linalg import aligned_copy, as_rows, pack_rows, unpack_rows
from thalweg._typing import Array, Mask
from thalweg.encoders.outlier_rejection import OutlierRejection
from thalweg.errors import ParameterError
from thalweg.trackers import Track
from thalweg.trackers._row_least_squares import check_row_update, init_rows, row_update
from thalweg.trackers.noise_scale import truncated_variance

__all__ = ["PetrelsADMMTracker", "RejectionState", "RejectionStatistics"]


class RejectionStatistics(NamedTuple):
    """Statistics of a stream that a sample is compared with: noise, codes, outliers.

    Attributes
    ----------
    variance : float
        Variance of the noise.
    weight : float
        Weight of the entries that the variance is estimated from; infinite if it is given.
    n_samples : float
        Number of samples.
    code_size : float
        Geometric mean of |h|^2 over the directions that the observed entries determine.
    kept_share : float
        Mean share of the observed entries that are no outliers.
    first_scales : array of shape (16,)
        Noise scales of the first samples, one each; their median is the first estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels_admm import PetrelsADMMTracker
    >>> PetrelsADMMTracker(noise_scale=0.5).init(np.eye(3, 2)).statistics.variance
    0.25
    """

    variance: float
    weight: float
    n_samples: float
    code_size: float
    kept_share: float
    first_scales: Array


class RejectionState(NamedTuple):
    """A basis, the second moments of its rows, and the noise.

    Attributes
    ----------
    U : array of shape (F, K)
        Basis; it need not be orthonormal.
    D, L : arrays
        LDL' factors of the rows' matrices of second moments, in blocks of rows.
    statistics : RejectionStatistics
        Noise scale, and typical sizes of codes.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels_admm import PetrelsADMMTracker
    >>> PetrelsADMMTracker().init(np.eye(3, 2)).U.shape
    (3, 2)
    """

    U: Array
    D: Array
    L: Array
    statistics: RejectionStatistics


@dataclass(frozen=True)
class PetrelsADMMTracker:
    """Track a subspace by PETRELS-ADMM of [T], with thresholds in noise scales.

    For each sample v, codes h and outliers s minimise

        |v - U h - s|^2 / 2 + huber_threshold noise_scale |s|_1

    over the observed entries. Entries farther than ``threshold`` noise scales from the
    fit are rejected, and the rest is fitted by least squares until the same entries are kept. They
    update the basis by recursive least squares, as in
    :class:`thalweg.trackers.petrels.PetrelsTracker`. The noise scale is estimated from the entries
    kept, so that the results do not depend on the units of the data. Codes that these entries
    hardly determine are shrunk by a Gaussian prior of the typical variance.

    Parameters
    ----------
    forgetting : float
        Factor by which each sample multiplies the weights of all earlier ones.
    step_size : {"full", "adaptive", "forgetting"}
        See :class:`thalweg.trackers.petrels.PetrelsTracker`.
    ridge : float
        Weight of the first basis, in samples of the norm of the first one: alpha / 2 of [T] (23).
    huber_threshold : float
        Threshold of Huber's function in the robust fit, which is the weight of |s|_1, in noise
        scales.
    threshold : float
        Residual beyond which an entry is an outlier, in noise scales.
    noise_scale : float or "auto"
        Standard deviation of the noise, in data units; "auto" estimates it.
    memory : float
        Number of samples after which the noise estimate has forgotten all but 1/e.
    solver : {"fast", "admm"}
        How the convex problem is solved: exactly by Newton's method, or by Algorithm 2 of [T].

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels_admm import PetrelsADMMTracker
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(20), rng.normal(size=300)) + 0.01 * rng.normal(size=(20, 300))
    >>> V[3, ::2] += 5.0
    >>> tracker = PetrelsADMMTracker()
    >>> state, track = tracker.step(tracker.init(np.ones((20, 1)) / 20**0.5), V)
    >>> bool((track.R[3, ::2] > 4.9).all())
    True
    """

    forgetting: float = 0.9999
    step_size: str = "full"
    ridge: float = 1.0
    huber_threshold: float = 0.5  # benchmark: tracking_corruption
    threshold: float = 2.5  # benchmark: tracking_corruption
    noise_scale: float | str = "auto"
    memory: float = 200.0  # benchmark: tracking_table
    solver: str = "fast"
    name: ClassVar[str] = "petrels-admm"

    def __post_init__(self) -> None:
        check_row_update(self.forgetting, self.step_size, self.ridge)
        require_positive(
            huber_threshold=self.huber_threshold, threshold=self.threshold, memory=self.memory
        )
        if not (isinstance(self.noise_scale, str) and self.noise_scale == "auto"):
            require_positive(noise_scale=self.noise_scale)  # type: ignore[arg-type]
        if self.solver not in ("fast", "admm"):
            raise ParameterError(
                f"solver must be 'fast' or 'admm', got {self.solver!r}. Use one of these names."
            )

    def init(self, U: Array) -> RejectionState:
        """Return the state before the first sample, with the basis U."""
        variance, weight = 0.0, 0.0
        if not isinstance(self.noise_scale, str):
            variance, weight = float(self.noise_scale) ** 2, inf
        first_scales = np.zeros(_native.WARM_UP_SAMPLES)
        statistics = RejectionStatistics(variance, weight, 0.0, 0.0, 0.0, first_scales)
        return RejectionState(*init_rows(U), statistics)

    def step(
        self, state: RejectionState, V: Array, observed: Mask | None = None
    ) -> tuple[RejectionState, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        X, mask = as_rows(V, observed, state.U.dtype)
        U, D, L = pack_rows(state.U), aligned_copy(state.D), aligned_copy(state.L)
        statistics = state.statistics._replace(first_scales=state.statistics.first_scales.copy())
        H, R = np.empty((len(X), U.shape[1]), dtype=U.dtype), np.empty_like(X)
        error = np.empty(len(X))
        numbers = _native.track_with_rejection(
            X, mask, (U, D, L), statistics, self._row_update, self._rejection, (H, R, error)
        )
        basis = unpack_rows(U, X.shape[1])
        statistics = RejectionStatistics._make((*numbers, statistics.first_scales))
        return RejectionState(basis, D, L, statistics), Track(H.T, R.T, error)

    def encoder(self, state: RejectionState) -> OutlierRejection:
        """Return the robust fit with rejection, at the noise scale of the state."""
        return self.rejection(
            state.statistics.variance, state.statistics.code_size, state.U.shape[1]
        )

    def rejection(self, variance: float, code_size: float, n_codes: int) -> OutlierRejection:
        """Return the robust fit with rejection, at a variance of the noise and a typical |h|^2."""
        precision = variance * n_codes / code_size if code_size > 0.0 else 0.0
        return OutlierRejection(
            sqrt(variance), precision, self.huber_threshold, self.threshold, self.solver
        )

    def noise_scale_of(self, state: RejectionState) -> float:
        """Return the standard deviation of the noise."""
        return sqrt(state.statistics.variance)

    @property
    def _row_update(self) -> _native.RowUpdate:
        return row_update(self.forgetting, self.step_size, self.ridge)

    @property
    def _rejection(self) -> _native.RejectionSettings:
        return _native.RejectionSettings(
            huber_threshold=self.huber_threshold,
            threshold=self.threshold,
            truncated_variance=truncated_variance(self.threshold),
            decay=1.0 - 1.0 / self.memory,
            admm=_native.ADMMSettings() if self.solver == "admm" else None,
        )
