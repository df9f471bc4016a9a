"""The record of a fit that callbacks receive."""

from typing import NamedTuple

__all__ = ["Progress"]


class Progress(NamedTuple):
    """The progress of a fit, as passed to callbacks.

    Attributes
    ----------
    n_samples_seen : int
        Samples learned from so far.
    n_samples_total : int or None
        Samples of the whole call, if known.
    objective : float
        Mean objective per sample: the surrogate of a streaming estimator, the loss of a batch
        estimator, the median residual of a tracker. NaN if it was not evaluated.
    outlier_share : float
        Share of outliers among the observed entries, of the latest batches in a stream.

    Examples
    --------
    >>> from thalweg.estimators import Progress
    >>> Progress(40, None, 0.25, 0.1).n_samples_seen
    40
    """

    n_samples_seen: int
    n_samples_total: int | None
    objective: float
    outlier_share: float
