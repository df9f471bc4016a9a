"""PETRELS-CFAR: PETRELS on the entries that pass a test with a constant false alarm rate."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import ClassVar

from scipy.stats import t as student

from thalweg._checks import require_positive
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.trackers import Track
from thalweg.trackers.petrels_admm import PetrelsADMMTracker
from thalweg.trackers.rejection_state import RejectionState

__all__ = ["PetrelsCFARTracker"]

# Huber's threshold of the fit that the test starts from, in noise scales: so small that the fit is
# nearly one of least absolute values. Safety margin: any value in 0.01..0.2 changes errors by 6 %.
_HUBER_THRESHOLD = 0.1


@dataclass(frozen=True)
class PetrelsCFARTracker:
    """Track a subspace by PETRELS-CFAR.

    Linh-Trung, Nguyen, Thameri, Minh-Chinh and Abed-Meraim (2018). An entry is an outlier if its
    squared residual exceeds the mean square of the reference cells by a factor that noise exceeds
    with the probability ``false_alarms``. The reference cells are the entries kept in about
    ``window`` earlier samples. The other entries update the basis as in
    :class:`thalweg.trackers.petrels.PetrelsTracker`. The test replaces the threshold of
    :class:`thalweg.trackers.petrels_admm.PetrelsADMMTracker`.

    Parameters
    ----------
    forgetting : float
        Factor by which each sample multiplies the weights of all earlier ones.
    false_alarms : float
        Share of clean entries that are treated as outliers, between 0 and 1.
    window : float
        Number of samples that the reference cells come from, with decaying weights.
    ridge : float
        Weight of the first basis, in samples of typical norm.
    noise : {"common", "per-feature"}
        Whether the reference cells are those of all features, or each feature has a noise scale of
        its own.

    Notes
    -----
    With ``window`` cells in each feature the ratio of an entry's square to their mean has an F
    distribution with 1 and ``window`` degrees of freedom, as for real signals; the exponential law
    of radar holds for complex ones. The paper leaves open which codes the residuals are computed
    from. Least squares would let outliers mask each other, so the codes are those of least absolute
    residuals.

    Examples
    --------
    >>> from thalweg.trackers.petrels_cfar import PetrelsCFARTracker
    >>> round(PetrelsCFARTracker(false_alarms=0.01, window=100).threshold, 3)
    2.626
    """

    forgetting: float = 0.999
    false_alarms: float = 0.01
    window: float = 100.0
    ridge: float = 1.0
    noise: str = "common"
    name: ClassVar[str] = "petrels-cfar"

    def __post_init__(self) -> None:
        require_positive(window=self.window)
        if not (isinstance(self.false_alarms, Real) and 0.0 < self.false_alarms < 1.0):
            raise ParameterError(
                f"false_alarms must be between 0 and 1, got {self.false_alarms!r}. "
                "Use a share such as false_alarms=0.01."
            )
        _ = self._tracker  # which checks the other parameters

    @cached_property
    def threshold(self) -> float:
        """Residual beyond which an entry is an outlier, in noise scales."""
        return float(student.isf(0.5 * self.false_alarms, self.window))

    def init(self, U: Array) -> RejectionState:
        """Return the state before the first sample, with the basis U."""
        return self._tracker.init(U)

    def robust_init(
        self, V: Array, K: int, observed: Mask, seed: int, guess: Array | None
    ) -> RejectionState:
        """Return the state before the first sample, from a robust fit to some samples."""
        return self._tracker.robust_init(V, K, observed, seed, guess)

    def step(
        self, state: RejectionState, V: Array, observed: Mask | None = None
    ) -> tuple[RejectionState, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        return self._tracker.step(state, V, observed)

    def encoder(self, state: RejectionState) -> Encoder:
        """Return the robust fit with rejection, at the noise scale of the reference cells."""
        return self._tracker.encoder(state)

    def noise_scale_of(self, state: RejectionState) -> float | Array:
        """Return the standard deviation of the noise, from the reference cells."""
        return self._tracker.noise_scale_of(state)

    @cached_property
    def _tracker(self) -> PetrelsADMMTracker:
        return PetrelsADMMTracker(
            forgetting=self.forgetting,
            ridge=self.ridge,
            noise=self.noise,
            huber_threshold=_HUBER_THRESHOLD,
            threshold=self.threshold,
            memory=self.window,
        )
