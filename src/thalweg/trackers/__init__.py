"""Track a subspace sample by sample, with gaps and outliers.

Every tracker processes samples v = U h + r + noise in order, with some of their entries observed,
and keeps a basis U of the subspace that their low-rank parts currently span. The columns of a block
are samples in the order of time: a block gives the same result as its columns one by one.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder

__all__ = ["Track", "Tracker"]

S = TypeVar("S", bound=Any)


class Track(NamedTuple):
    """Codes and outliers of a block of B samples, each with the basis before the sample.

    Attributes
    ----------
    H : array of shape (K, B)
        Codes.
    R : array of shape (F, B)
        Outliers; zero at missing entries, and everywhere for trackers without outliers.
    error : array of shape (B,)
        Median of ``|v - U h|`` over the observed entries. It is ``NaN`` if there are no more
        observed entries than codes: then any sample fits.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels import PetrelsTracker
    >>> tracker = PetrelsTracker()
    >>> V = np.outer([1.0, 2.0, 2.0], [1.0, -1.0])
    >>> state, track = tracker.step(tracker.init(np.eye(3, 1)), V)
    >>> track.H.shape, track.error.shape
    ((1, 2), (2,))
    """

    H: Array
    R: Array
    error: Array


@runtime_checkable
class Tracker(Protocol[S]):
    """Tracks a subspace; a frozen dataclass in a file of its own.

    A tracker that estimates the standard deviation of the noise also has a method
    ``noise_scale_of(state)``. One that subtracts a mean of each feature has it as ``state.mean``,
    and its encoder takes samples less the mean.

    Attributes
    ----------
    name : str
        The name of the method.
    """

    name: ClassVar[str]

    def init(self, U: Array) -> S:
        """Return the state before the first sample.

        It is a NamedTuple of arrays and numbers, one of which is the basis ``U``.

        Parameters
        ----------
        U : array of shape (F, K)
            Initial orthonormal basis.
        """
        ...

    def step(self, state: S, V: Array, observed: Mask | None = None) -> tuple[S, Track]:
        """Return the state after the samples of a block, and their codes and outliers.

        Parameters
        ----------
        state : S
            State before the block; it is not modified.
        V : array of shape (F, B)
            Samples; values at missing entries are ignored.
        observed : boolean array of shape (F, B), optional
            Mask of the observed entries; by default all are observed. A sample without observed
            entries leaves the state unchanged.
        """
        ...

    def encoder(self, state: S) -> Encoder:
        """Return the encoder of samples that are not learned from."""
        ...
