"""The online learner by robust stochastic approximation: [R]."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thalweg.divergences import Divergence
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders import Codes, Encoder
from thalweg.encoders.fast import LEAST_SQUARES
from thalweg.encoders.newton import Newton
from thalweg.learning.batches import Batch, DataForm
from thalweg.learning.code_prior import empty_prior
from thalweg.learning.divergence import DivergenceModel, same_loss
from thalweg.learning.online import OnlineLearner
from thalweg.learning.online_state import BlockSummary, OnlineState
from thalweg.updates import DictionaryUpdate
from thalweg.updates.robust_approximation import Buffer, RobustApproximation

__all__ = ["ApproximationLearner"]

# Relative accuracy of codes without a closed form.
_CODE_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class ApproximationLearner(OnlineLearner):
    """OR-NMF: averaged stochastic gradient steps over a buffer of samples, [R] Algorithm 2.

    Parameters
    ----------
    model : DivergenceModel
        Loss, penalty of the codes, and the initial dictionary.
    dictionary_update : RobustApproximation
        Takes the steps after each window.
    window : int
        Samples between two updates of the dictionary.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.squared_l2 import SquaredL2
    >>> from thalweg.learning.approximation import ApproximationLearner
    >>> from thalweg.learning.batches import DataForm, as_batch
    >>> from thalweg.learning.divergence import DivergenceModel
    >>> from thalweg.prox.orthant import Orthant
    >>> from thalweg.prox.simplex import Simplex
    >>> from thalweg.updates.robust_approximation import RobustApproximation
    >>> model = DivergenceModel(2, SquaredL2(), Orthant(), Simplex(), np.empty((4, 0)), "random")
    >>> learner = ApproximationLearner(model, RobustApproximation(), window=5)
    >>> batch = as_batch(np.ones((10, 4)))
    >>> state = learner.init(batch, DataForm(), np.random.default_rng(0))
    >>> int(learner.learn(state, batch).statistics.n_windows)
    2
    """

    model: DivergenceModel
    dictionary_update: RobustApproximation
    window: int = 1

    def form(self, X: Any) -> DataForm:
        """Choose a dense form: the steps need the model at all entries."""
        return self.model.form(X)._replace(sparse=False)

    def encoder(self, state: OnlineState) -> Encoder:
        """Return the encoder of the loss."""
        loss, penalty = self.model.loss, self.model.code_penalty
        if isinstance(loss, SquaredL2):
            return replace(LEAST_SQUARES, penalty=penalty)
        return Newton(loss=loss, penalty=penalty, tol=_CODE_TOL)

    def update(self, state: OnlineState) -> DictionaryUpdate[Buffer]:
        """Return the dictionary update."""
        return self.dictionary_update

    def first_state(self, batch: Batch, form: DataForm, rng: np.random.Generator) -> OnlineState:
        """Return the initial dictionary."""
        W = self.model.dictionary(batch, rng)
        prior = empty_prior(self.model.n_components)
        return OnlineState(W, None, prior, form, loss=self.model.loss)

    def init(self, batch: Batch, form: DataForm, rng: np.random.Generator) -> OnlineState:
        """Return the state before the first batch, with a seed for the steps."""
        state = super().init(batch, form, rng)
        seed = rng.integers(np.iinfo(np.uint64).max, size=1, dtype=np.uint64)
        return state._replace(statistics=state.statistics._replace(seed=seed))

    def check_continues(self, state: OnlineState) -> None:
        """Raise if the loss or the frozen components have changed."""
        super().check_continues(state)
        loss: Divergence | None = state.loss
        if loss is not None:
            same_loss(self.model.loss, loss)

    def windows(self, batch: Batch) -> list[Batch]:
        """Return the windows of a batch."""
        n = batch.V.shape[1]
        if self.window >= n:
            return [batch]
        return [batch.columns(slice(i, i + self.window)) for i in range(0, n, self.window)]

    def summarise(self, state: OnlineState, batch: Batch, n_blocks: int = 1) -> BlockSummary:
        """Encode the latest samples of a block, as many of each block; they go into the buffer."""
        n, size = batch.V.shape[1], self.dictionary_update.buffer_size
        latest = slice(None if size is None else -max(1, size // n_blocks), None)
        summary = super().summarise(state, batch.columns(latest))
        statistics = summary.statistics._replace(n_samples=np.asarray(float(n)))
        return summary._replace(statistics=statistics, n_samples=n)

    def batch_outlier_share(self, state: OnlineState, batch: Batch, codes: Codes) -> float:
        """Return 0: the model has no outliers."""
        return 0.0
