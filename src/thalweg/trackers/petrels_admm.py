"""PETRELS-ADMM: reject outliers, then recursive least squares on what is left."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg import _kernels
from thalweg._checks import require_nonnegative, require_positive
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.trackers import Track
from thalweg.trackers._blocks import as_rows, copied, pack, unpack
from thalweg.trackers._encoders import Rejecting
from thalweg.trackers._noise import variance_within
from thalweg.trackers._rows import first_rows, motion

__all__ = ["Clean", "PetrelsADMM"]

# [T]: rho_1, rho_2, the knee of (22) in units of the l1 weight, absolute and relative tolerance,
# rounds. The first two and the last three are those of the authors.
_ADMM = (1.5, 1.5, 1.0, 1e-5, 1e-3, 500)


class Clean(NamedTuple):
    """A basis, its rows' second moments, and the noise level.

    Attributes
    ----------
    U : array of shape (F, K)
        Basis; it need not be orthonormal.
    D, L : arrays
        Factors of the rows' matrices of second moments, in blocks of rows.
    noise : array
        Variance of the noise and the weight of the entries behind it, number of samples, the
        geometric mean of |h|^2 as far as entries tell it, the mean share of entries that are no
        outliers, and the noise levels of the first samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels_admm import PetrelsADMM
    >>> PetrelsADMM(noise=0.1).init(np.eye(3, 2)).noise[:2]
    array([0.01,  inf])
    """

    U: Array
    D: Array
    L: Array
    noise: Array


@dataclass(frozen=True)
class PetrelsADMM:
    """PETRELS-ADMM of [T], with thresholds that follow the noise level.

    For each sample v, codes h and outliers s minimise |v - U h - s|^2 / 2 + rho |s|_1 over the
    entries observed. Entries farther than ``limit`` noise levels from the fit are left out, the
    rest is fitted by least squares until the same entries stay, and the basis takes in what is left
    by recursive least squares. Both rho and the limit are in units of the noise level, which is
    measured on the entries kept; so nothing depends on the units of the data. Codes that these
    entries hardly tell are made small, by what is usual for their squares.

    Parameters
    ----------
    forgetting : float
        What a sample's weight is multiplied by with each later sample.
    step_size : {"full", "adaptive", "forgetting"}
        As in :class:`thalweg.trackers.petrels.Petrels`.
    ridge : float
        Weight of the first basis, in samples of the size of the first: alpha / 2 of [T] (23).
    knee : float
        rho, in units of the noise level.
    limit : float
        Distance from which an entry is an outlier, in units of the noise level.
    noise : float
        Noise level; 0 to measure it.
    memory : float
        Samples after which the measured noise level has forgotten all but 1/e.
    solver : {"fast", "admm"}
        How the convex problem is solved: exactly by Newton's method, or by Algorithm 2 of [T] as
        it is meant.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels_admm import PetrelsADMM
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(20), rng.normal(size=300)) + 0.01 * rng.normal(size=(20, 300))
    >>> V[3, ::2] += 5.0
    >>> tracker = PetrelsADMM()
    >>> state, track = tracker.step(tracker.init(np.ones((20, 1)) / 20**0.5), V)
    >>> bool((track.R[3, ::2] > 4.9).all())
    True
    """

    forgetting: float = 0.9999
    step_size: str = "full"
    ridge: float = 1.0
    knee: float = 0.5
    limit: float = 2.5
    noise: float = 0.0
    memory: float = 200.0
    solver: str = "fast"
    name: ClassVar[str] = "petrels-admm"

    def __post_init__(self) -> None:
        motion(self.forgetting, self.step_size, self.ridge)
        require_positive(knee=self.knee, limit=self.limit, memory=self.memory)
        require_nonnegative(noise=self.noise)
        if self.solver not in ("fast", "admm"):
            raise ParameterError(
                f"solver must be 'fast' or 'admm', got {self.solver!r}. Use one of these names."
            )

    def init(self, U: Array) -> Clean:
        """Return the state with the basis U and nothing learned."""
        heard = np.zeros(5 + _kernels.LISTEN)
        if self.noise > 0.0:
            heard[:2] = self.noise**2, np.inf
        return Clean(*first_rows(U), heard)

    def step(self, state: Clean, V: Array, observed: Mask | None = None) -> tuple[Clean, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        X, mask = as_rows(V, observed, state.U.dtype)
        U, D, L, noise = pack(state.U), copied(state.D), copied(state.L), state.noise.copy()
        H, R = np.empty((len(X), U.shape[1]), dtype=U.dtype), np.empty_like(X)
        error = np.empty(len(X))
        way = motion(self.forgetting, self.step_size, self.ridge)
        _kernels.track_rejecting(
            X, mask, U, D, L, noise, way, self._rule(), self._admm(), H, R, error
        )
        return Clean(unpack(U, X.shape[1]), D, L, noise), Track(H.T, R.T, error)

    def encoder(self, state: Clean) -> Encoder:
        """Return the fit with rejection, at the noise level of the state."""
        level, usual = state.noise[0], state.noise[3]
        prior = level * state.U.shape[1] / usual if usual > 0.0 else 0.0
        return Rejecting(sqrt(level), prior, self._rule(), self._admm())

    def _rule(self) -> Array:
        return np.array([self.knee, self.limit, variance_within(self.limit), 1 - 1 / self.memory])

    def _admm(self) -> Array:
        return np.array(_ADMM if self.solver == "admm" else ())
