"""Samples drawn by weight, from which noise, typical codes and laws of residuals are estimated."""

from typing import Any

import numpy as np

from thalweg._typing import Indices
from thalweg.encoders import Codes
from thalweg.learning.batches import Batch

__all__ = ["draw", "resampled"]


def draw(batch: Batch) -> Indices | slice:
    """Return as many indices of samples as there are, each as often as its weight asks for.

    The draw is systematic, so that a batch with equal weights stays as it is. Noise, typical codes
    and the law of residuals are estimated from it.

    Examples
    --------
    >>> from typing import Any

    import numpy as np
    >>> from thalweg.learning.batches import Batch
    >>> from thalweg.learning.resampling import draw
    >>> draw(Batch(np.ones((1, 3)), sample_weight=np.array([2.0, 0.5, 0.5])))
    array([0, 0, 1])
    """
    weight = batch.sample_weight
    if weight is None:
        return slice(None)
    ends = np.cumsum(weight, dtype=np.float64)
    places = (np.arange(len(weight)) + 0.5) * (ends[-1] / len(weight))
    chosen: Indices = np.searchsorted(ends, places)
    return chosen


def resampled(batch: Batch, codes: Codes) -> tuple[Batch, Codes]:
    """Return the samples that :func:`draw` chooses, without weights.

    Examples
    --------
    >>> from typing import Any

    import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.learning.batches import Batch
    >>> from thalweg.learning.resampling import resampled
    >>> batch = Batch(np.array([[1.0, 2.0, 3.0]]), sample_weight=np.array([2.0, 0.5, 0.5]))
    >>> resampled(batch, Fast().encode(batch.V, np.ones((1, 1))))[0].V
    array([[1., 1., 2.]])
    """
    if batch.sample_weight is None:
        return batch, codes
    chosen = draw(batch)
    parts: Any = (part[..., chosen] for part in codes)
    drawn = Codes(*parts)
    return batch.columns(chosen)._replace(sample_weight=None), drawn
