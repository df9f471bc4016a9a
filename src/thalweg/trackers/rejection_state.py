"""State of a tracker that rejects outliers: basis, second moments, noise, repeated values."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg._typing import Array, Mask
from thalweg.noise.feature_scales import FeatureScales
from thalweg.trackers.adaptive_memory import AdaptiveMemory

__all__ = ["RejectionState", "RejectionStatistics", "Repeats"]


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


class Repeats(NamedTuple):
    """Repeated values of the features, by which stuck sensors are recognised.

    Attributes
    ----------
    last : array of shape (F,)
        Latest observed values.
    run : array of int32 of shape (F,)
        Number of their repeats, up to a limit.
    variation : array of int8 of shape (F,)
        -1 if the feature has no value yet, 0 if it has never varied, 1 if it has, 2 if it has since
        the last check, after many repeats.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.rejection_state import Repeats
    >>> Repeats.none(2, np.float64).run
    array([0, 0], dtype=int32)
    """

    last: Array
    run: NDArray[np.int32]
    variation: NDArray[np.int8]

    @classmethod
    def none(cls, F: int, dtype: np.typing.DTypeLike) -> "Repeats":
        """Return the state before the first sample."""
        return cls(np.zeros(F, dtype), np.zeros(F, np.int32), np.full(F, -1, np.int8))

    def with_dead(self, features: Mask, n_repeats: int) -> "Repeats":
        """Return the state after as many zeros of some features, which have had no other value."""
        run = np.where(features, np.int32(n_repeats), self.run)
        variation = np.where(features, np.int8(0), self.variation)
        return Repeats(np.where(features, self.last.dtype.type(0), self.last), run, variation)

    def dead(self, n_repeats: int) -> Mask:
        """Return the features that have had zeros only, and as many repeats of them."""
        mask: Mask = (self.variation == 0) & (self.run >= n_repeats) & (self.last == 0)
        return mask


class RejectionState(NamedTuple):
    """A basis, the second moments of its rows, and the noise.

    Attributes
    ----------
    W : array of shape (F, K)
        Basis divided by the relative noise scales of the features.
    D, L : arrays
        LDL' factors of the rows' matrices of second moments, in blocks of rows.
    statistics : RejectionStatistics
        Common noise scale, and typical sizes of codes.
    scales : FeatureScales
        Noise scales of the features, relative to the common one.
    memory : AdaptiveMemory
        The forgetting factor, if it is adaptive.
    repeats : Repeats
        Repeated values.
    n_pending : int
        Number of samples with observed entries since the last check.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels_admm import PetrelsADMMTracker
    >>> PetrelsADMMTracker().init(np.eye(3, 2)).U.shape
    (3, 2)
    """

    W: Array
    D: Array
    L: Array
    statistics: RejectionStatistics
    scales: FeatureScales
    memory: AdaptiveMemory
    repeats: Repeats
    n_pending: int

    @property
    def U(self) -> Array:  # noqa: N802
        """The basis; it need not be orthonormal."""
        basis: Array = self.W * self.scales.scale[:, None]
        return basis
