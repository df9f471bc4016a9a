"""PETRELS-CFAR: PETRELS on the entries that a test with a constant false alarm rate leaves."""

from dataclasses import dataclass
from typing import ClassVar

from scipy.stats import t as student

from thalweg._checks import require_positive
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.trackers import Track
from thalweg.trackers.petrels_admm import Clean, PetrelsADMM

__all__ = ["PetrelsCFAR"]

# Weight of the outliers in the fit that the test starts from, in noise levels: so small that the
# fit is one of least absolute values.
_KNEE = 0.1


@dataclass(frozen=True)
class PetrelsCFAR:
    """PETRELS-CFAR of Linh-Trung, Nguyen, Thameri, Minh-Chinh and Abed-Meraim (2018).

    An entry is an outlier when its squared residual exceeds that of the reference cells, the
    entries kept in about ``window`` samples before, by a factor that pure noise exceeds with
    the probability ``false_alarms``. The rest moves the basis as in
    :class:`thalweg.trackers.petrels.Petrels`. The test decides only which entries are kept;
    its place is that of the limit in :class:`thalweg.trackers.petrels_admm.PetrelsADMM`.

    Parameters
    ----------
    forgetting : float
        What a sample's weight is multiplied by with each later sample.
    false_alarms : float
        Share of clean entries that are taken for outliers, between 0 and 1.
    window : float
        Samples that the reference cells come from; their weights fade.
    ridge : float
        Weight of the first basis, in samples of typical size.

    Notes
    -----
    With ``window`` cells in each feature the ratio of an entry's square to their mean has
    Fisher's distribution with 1 and ``window`` degrees of freedom, as for real signals; the
    radar's exponential law belongs to complex ones. The description leaves open which codes the
    residuals are taken from: least squares would hide outliers behind one another, so here they
    are those of least absolute residuals.

    Examples
    --------
    >>> from thalweg.trackers.petrels_cfar import PetrelsCFAR
    >>> round(PetrelsCFAR(false_alarms=0.01, window=100).limit, 3)
    2.626
    """

    forgetting: float = 0.999
    false_alarms: float = 0.01
    window: float = 100.0
    ridge: float = 1.0
    name: ClassVar[str] = "petrels-cfar"

    def __post_init__(self) -> None:
        require_positive(window=self.window)
        if not 0.0 < self.false_alarms < 1.0:
            raise ParameterError(
                f"false_alarms must be between 0 and 1, got {self.false_alarms!r}. "
                "Give a share such as false_alarms=0.01."
            )
        self._parts()

    @property
    def limit(self) -> float:
        """Distance from which an entry is an outlier, in units of the reference level."""
        return float(student.isf(0.5 * self.false_alarms, self.window))

    def init(self, U: Array) -> Clean:
        """Return the state with the basis U and nothing learned."""
        return self._parts().init(U)

    def step(self, state: Clean, V: Array, observed: Mask | None = None) -> tuple[Clean, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        return self._parts().step(state, V, observed)

    def encoder(self, state: Clean) -> Encoder:
        """Return the fit with rejection, at the level of the reference cells."""
        return self._parts().encoder(state)

    def _parts(self) -> PetrelsADMM:
        return PetrelsADMM(
            forgetting=self.forgetting,
            ridge=self.ridge,
            knee=_KNEE,
            limit=self.limit,
            memory=self.window,
        )
