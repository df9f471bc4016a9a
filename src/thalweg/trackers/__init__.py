"""Follow a subspace sample by sample, with gaps and outliers.

Every tracker sees samples v = U h + r + noise one after another, of which only some entries are
observed, and keeps a basis U of the subspace that their low-rank parts span now. Columns of a block
are samples in the order of time: a block gives the same as its columns one by one.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder

__all__ = ["Track", "Tracker"]

S = TypeVar("S", bound=Any)


class Track(NamedTuple):
    """What a tracker found in a block of B samples, each with the basis before it.

    Attributes
    ----------
    H : array of shape (K, B)
        Codes.
    R : array of shape (F, B)
        Outliers; zero over gaps, and everywhere for trackers that know no outliers.
    error : array of shape (B,)
        Median of ``|v - U h|`` over the entries observed; ``NaN`` where no more entries were
        observed than there are codes, so that any sample fits.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels import Petrels
    >>> tracker = Petrels()
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
    """Follows a subspace; a frozen dataclass in a file of its own.

    Attributes
    ----------
    name : str
        What users write to choose it.
    """

    name: ClassVar[str]

    def init(self, U: Array) -> S:
        """Return the state before the first sample: a NamedTuple of arrays, among them ``U``.

        Parameters
        ----------
        U : array of shape (F, K)
            Orthonormal basis to begin with.
        """
        ...

    def step(self, state: S, V: Array, observed: Mask | None = None) -> tuple[S, Track]:
        """Return the state after the samples of a block, and what was found in them.

        Parameters
        ----------
        state : S
            State before the block; it is not changed.
        V : array of shape (F, B)
            Samples; any finite number may stand where nothing was observed.
        observed : boolean array of shape (F, B), optional
            False at gaps; by default there is none. A sample without any observed entry leaves the
            state alone.
        """
        ...

    def encoder(self, state: S) -> Encoder:
        """Return what finds codes and outliers of samples that are not learned from."""
        ...
