"""The progress record of all callbacks, and positions in a stream."""

from math import nan
from typing import NamedTuple

__all__ = ["Position", "Progress"]


class Position(NamedTuple):
    """A position in a stream, from which ``fit_stream`` can resume.

    Attributes
    ----------
    epoch : int
        Number of complete epochs.
    sample : int
        Number of samples of the current epoch: the index of the next one.

    Examples
    --------
    >>> from thalweg.estimators import Position
    >>> Position(epoch=1, sample=300)
    Position(epoch=1, sample=300)
    """

    epoch: int = 0
    sample: int = 0


class Progress(NamedTuple):
    """The progress of a fit, the argument of every callback of the library.

    Attributes
    ----------
    n_samples_seen : int
        Samples processed so far.
    n_samples_total : int or None
        Samples of the whole call, if known.
    objective : float
        Mean objective per sample: the surrogate of a streaming estimator, the loss of a batch
        estimator, the noise scale or the median residual of a tracker. NaN if there is none.
    outlier_share : float
        Share of outliers among the observed entries, of the latest batches in a stream. NaN if the
        model has no outliers.
    epoch, sample : int
        Position in the stream, for :meth:`fit_stream`.
    stage : str
        Stage of a job of :mod:`thalweg.apps`, such as "learning" or "writing".

    Examples
    --------
    >>> from thalweg.estimators import Progress
    >>> Progress(40, 100, objective=0.25).n_samples_seen
    40
    """

    n_samples_seen: int
    n_samples_total: int | None = None
    objective: float = nan
    outlier_share: float = nan
    epoch: int = 0
    sample: int = 0
    stage: str = "learning"

    @property
    def position(self) -> Position:
        """The position in the stream, for ``start=`` of :meth:`fit_stream`."""
        return Position(self.epoch, self.sample)
