"""State of streaming factorisations, and the summary of a block of samples."""

from typing import Any, NamedTuple

from thalweg._typing import Array
from thalweg.divergences import Divergence
from thalweg.learning.batches import DataForm
from thalweg.learning.code_prior import CodePrior
from thalweg.learning.noise import NoiseEstimate, NoiseSample
from thalweg.noise.residual_counts import ResidualCounts

__all__ = ["BlockSummary", "OnlineState"]


class OnlineState(NamedTuple):
    """All that a streaming factorisation remembers.

    Attributes
    ----------
    W : array of shape (F, K)
        Dictionary.
    statistics : NamedTuple
        State of the dictionary update.
    code_prior : CodePrior
        Typical codes, for filling gaps.
    form : DataForm
        The form in which batches are passed to encoders.
    noise_estimate : NoiseEstimate
        Noise of the residuals, for automatic weights.
    outlier_weight : float
        Weight of the l1 norm of the outliers; 0 for models without one.
    loss : Divergence or None
        The loss in use; None for models with outliers.
    n_samples, n_batches : int
        Counts.
    outlier_share : float
        Share of outliers among the observed entries of the latest batches.
    residual_counts : ResidualCounts or None
        Residuals by size, for p-values; None for models without outliers.
    relative_scales : array of shape (F,) or None
        Noise scales of the features, by which they are weighed; None if all are weighed the same.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.composition import Composition
    >>> from thalweg.learning.batches import DataForm, as_batch
    >>> learner = Composition(n_components=2)
    >>> batch = as_batch(np.random.default_rng(0).random((20, 5)))
    >>> state = learner.init(batch, DataForm(), np.random.default_rng(0))
    >>> learner.learn(state, batch).n_samples
    20
    """

    W: Array
    statistics: Any
    code_prior: CodePrior
    form: DataForm = DataForm()
    noise_estimate: NoiseEstimate = NoiseEstimate()
    outlier_weight: float = 0.0
    loss: Divergence | None = None
    n_samples: int = 0
    n_batches: int = 0
    outlier_share: float = 0.0
    residual_counts: ResidualCounts | None = None
    relative_scales: Array | None = None


class BlockSummary(NamedTuple):
    """The summary of a block of samples, from which the dictionary is updated elsewhere.

    Attributes
    ----------
    statistics : NamedTuple
        Statistics for the dictionary update.
    noise : NoiseSample
        Entries for the noise estimate.
    prior : CodePrior
        Codes of the block.
    outlier_share : float
        Share of outliers among the observed entries.
    n_entries, n_samples : int
        Observed entries and samples.
    residual_counts : ResidualCounts or None
        Residuals of the block by size; None if they are not counted.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.composition import Composition
    >>> from thalweg.learning.batches import DataForm, as_batch
    >>> learner = Composition(n_components=2)
    >>> batch = as_batch(np.random.default_rng(0).random((20, 5)))
    >>> state = learner.init(batch, DataForm(), np.random.default_rng(0))
    >>> learner.summarise(state, batch).n_entries
    100
    """

    statistics: Any
    noise: NoiseSample
    prior: CodePrior
    outlier_share: float
    n_entries: int
    n_samples: int
    residual_counts: ResidualCounts | None = None
