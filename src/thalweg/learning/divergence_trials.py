"""Trials of ranks with nonnegative components under a divergence."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from thalweg._constants import MAD_TO_STANDARD_DEVIATION
from thalweg._typing import Array, Indices
from thalweg.divergences import Divergence, HalfQuadratic
from thalweg.divergences.huber import Huber
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.learning.batches import Batch, DataForm
from thalweg.learning.divergence import DivergenceLearner, DivergenceModel
from thalweg.learning.divergence_rounds import DivergenceRounds
from thalweg.learning.held_out import HiddenCounts, HiddenEntries, deviations, hide, hide_counts
from thalweg.learning.rank_evidence import RankEvidence
from thalweg.learning.rank_ladder import LARGEST_RESIDUAL, RankTrials, Trial, climb, largest_rank
from thalweg.learning.rank_sample import hidden_share, search_sample
from thalweg.learning.residual_components import with_residual_components
from thalweg.learning.rounds import LocalBlocks

__all__ = ["DivergenceTrials", "choose_rank"]

# Iterations of reweighted least squares, and epochs of the online method, at each rank.
# benchmark: rank
_TRIAL_ROUNDS, _TRIAL_EPOCHS = 20, 2
# Batches of the online method, as OnlineNMF has them: about this many, within these bounds.
_N_BATCHES, _SMALLEST_BATCH, _LARGEST_BATCH = 200, 32, 128
# Deviation of an outlier that is kept from the fits, in scales: rare under any noise.
# benchmark: rank
_OUTLIER = 4.0
# Accuracy of short fits, in tolerances of their codes: exact data of rank 1 are fitted to one.
_ACCURACY = 10.0
# Components of the fit that tells the dispersion of counts: too few would take it for noise.
_COUNT_RANK = 10
# Times that outliers are left out at the first rank, which has no fit below.
_FIRST_TRIMS = 3


@dataclass(frozen=True, eq=False)
class DivergenceTrials(RankTrials):
    """Fits of nonnegative components under a divergence.

    Robust losses are fitted by reweighted least squares, others by the online method without
    outliers; both need few passes. New components start from the residuals of the fit below.

    Parameters
    ----------
    model : DivergenceModel
        Loss, penalty and constraint; its number of components is replaced.
    batch : Batch
        The samples without the hidden entries.
    form : DataForm
        Form of the batch.
    hidden : HiddenEntries or HiddenCounts
        The hidden entries.
    seed : int
        Seed of the initial components and of the order of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.learning.divergence import DivergenceModel
    >>> from thalweg.learning.divergence_trials import choose_rank
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.prox.orthant import Orthant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(1.0, 1.0, (300, 3)) @ rng.gamma(0.5, 40.0, (3, 40))) * 1.0
    >>> model = DivergenceModel(1, KL(), Orthant(), L2Ball(), np.empty((40, 0)))
    >>> choose_rank(model, X, rng).chosen
    3
    """

    model: DivergenceModel
    batch: Batch
    form: DataForm
    hidden: HiddenEntries | HiddenCounts
    seed: int = 0

    @property
    def floor(self) -> float:  # type: ignore[override]
        """Smallest entry, for losses that are infinite at 0."""
        return self.form.floor

    @property
    def accuracy(self) -> float:  # type: ignore[override]
        """Ten times the tolerance of the codes."""
        return _ACCURACY * self.model.tol

    def fit(self, rank: int, below: Trial | None) -> Trial:
        """Return a fit, from one with fewer components if there is one."""
        if self.form.sparse:
            return self._fit(rank, "auto", self.batch, _TRIAL_EPOCHS)
        initial = "auto" if below is None else self._grown(below, rank).T
        if isinstance(self.model.loss, HalfQuadratic):
            return self._fit(rank, initial, self.batch, _TRIAL_ROUNDS)
        # half of the epochs, then the others without the outliers of the first half
        start = self._rank_one() if below is None else below
        if rank == 1 and below is None and start.W.all():  # zeros would stay
            initial = start.W.T
        batch = self._trimmed(start)
        trial = self._fit(rank, initial, batch, _TRIAL_EPOCHS // 2)
        for _ in range(_FIRST_TRIMS if below is None else 1):
            trial = self._fit(rank, trial.W.T, self._trimmed(trial), _TRIAL_EPOCHS // 2)
        return trial

    def _fit(self, rank: int, initial: Any, batch: Batch, n_passes: int) -> Trial:
        model = replace(self.model, n_components=rank, initial=initial)
        rng = np.random.default_rng(self.seed)
        robust = isinstance(model.loss, HalfQuadratic)
        W, loss = (self._rounds if robust else self._epochs)(model, batch, rng, n_passes)
        codes = model.encoder(loss, self.form).encode(batch.V, W, observed=batch.observed)
        return Trial(W, codes.H, loss)

    def _rank_one(self) -> Trial:
        """Return a robust rank-one fit: medians of the features, then of the samples' ratios."""
        V, observed, _ = self.batch
        known = V if observed is None else np.where(observed, V, np.nan)
        W = _nan_medians(known)
        W = np.where(np.isfinite(W) & (W > 0.0), W, 0.0).astype(V.dtype)
        ratios = known[W > 0.0] / W[W > 0.0, None]
        H = _nan_medians(ratios.T) if len(ratios) else np.ones(V.shape[1])
        H = np.where(np.isfinite(H), H, 1.0).astype(V.dtype)
        return Trial(W[:, None], H[None], self.model.loss)

    def _trimmed(self, trial: Trial) -> Batch:
        """Return the samples without entries that are far from a fit."""
        V, observed, _ = self.batch
        features = np.broadcast_to(np.arange(len(V))[:, None], V.shape)
        a = deviations(V, trial.W @ trial.H, trial.loss, self.form.floor, features)
        mask = np.ones(V.shape, np.bool_) if observed is None else observed
        counted = np.where(mask & (self.form.floor < V), a, np.nan)
        median = _nan_medians(counted.reshape(1, -1))
        least = self.accuracy * self.hidden.spread(trial.loss, self.form.floor)
        scale = np.maximum(MAD_TO_STANDARD_DEVIATION * median, least)
        return Batch(V, mask & ~(a > _OUTLIER * scale))

    def _rounds(
        self, model: DivergenceModel, batch: Batch, rng: np.random.Generator, max_iter: int
    ) -> tuple[Array, Divergence]:
        learner = DivergenceRounds(model, "auto", model.tol)
        state = learner.init(batch, self.form, rng)
        state = learner.run(state, LocalBlocks(lambda: [batch]), 1, max_iter)
        return np.asfortranarray(state.W), state.loss or model.loss

    def _epochs(
        self, model: DivergenceModel, batch: Batch, rng: np.random.Generator, epochs: int
    ) -> tuple[Array, Divergence]:
        learner, n = DivergenceLearner(model), batch.V.shape[1]
        size = int(np.clip(n // _N_BATCHES, _SMALLEST_BATCH, _LARGEST_BATCH))
        state = learner.init(batch, self.form, rng)
        for _ in range(epochs):
            order = rng.permutation(n)
            for start in range(0, n, size):
                state = learner.learn(state, _columns(batch, order[start : start + size]))
        return state.W, state.loss or model.loss

    def _grown(self, below: Trial, rank: int) -> Array:
        """Return the dictionary of a fit, and components of its residuals."""
        V, observed, _ = self.batch
        E = V - below.W @ below.H
        if isinstance(below.loss, HalfQuadratic) and E.any():
            limit = LARGEST_RESIDUAL * float(np.median(np.abs(E[E != 0.0])))
            E = np.clip(E, -limit, limit)
        return with_residual_components(below.W, E, observed, rank)


def choose_rank(
    model: DivergenceModel, X: Any, rng: np.random.Generator, most: int | None = None
) -> RankEvidence:
    """Return the evidence for the number of nonnegative components of some rows.

    Parameters
    ----------
    model : DivergenceModel
        Loss, penalty and constraint.
    X : array or CSR matrix of shape (n_samples, n_features)
        Validated rows.
    rng : Generator
        Draws the sample, the hidden entries and the seed of the fits.
    most : int, optional
        Largest rank.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.squared_l2 import SquaredL2
    >>> from thalweg.learning.divergence import DivergenceModel
    >>> from thalweg.learning.divergence_trials import choose_rank
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.prox.orthant import Orthant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 2)) @ rng.random((2, 12)) + 0.05 * np.abs(rng.normal(size=(200, 12)))
    >>> model = DivergenceModel(1, SquaredL2(), Orthant(), L2Ball(), np.empty((12, 0)))
    >>> choose_rank(model, X, np.random.default_rng(0)).chosen
    2
    """
    if isinstance(model.loss, SquaredL2):
        model = replace(model, loss=Huber())  # outliers would add components
    form = model.form(X)
    X, features = search_sample(X, form, rng)
    loss: Any = model.loss
    if hasattr(loss, "restricted"):
        loss = loss.restricted(features)
    model = replace(model, frozen=model.frozen[features], loss=loss)
    share = hidden_share(X)
    seen, hidden = hide_counts(X, share, rng) if form.sparse else hide(_dense(X), share, rng)
    first, last = model.frozen.shape[1] + 1, most or largest_rank(X.shape)
    if last <= first or hidden.n_hidden == 0:
        nothing = np.array([np.nan])
        return RankEvidence(np.array([first]), nothing, nothing, hidden.n_hidden)
    batch = form.batch(seen)
    if getattr(model.loss, "is_open", False):  # the same loss for all ranks
        many = replace(model, n_components=min(last, max(first, _COUNT_RANK)))
        model = replace(model, loss=many.first_loss(batch, many.dictionary(batch, rng), form))
    trials = DivergenceTrials(model, batch, form, hidden, int(rng.integers(2**31)))
    return climb(trials, first, last)


def _nan_medians(rows: Array) -> Array:
    """Return the median of each row without its NaN; inf for a row without numbers."""
    ordered = np.sort(rows, axis=1)  # NaN last
    counts = np.count_nonzero(~np.isnan(rows), axis=1)
    middle: Array = ordered[np.arange(len(rows)), counts // 2]
    return np.where(counts > 0, middle, np.inf)


def _dense(X: Any) -> Array:
    rows: Array = X.toarray() if sparse.issparse(X) else X
    return rows


def _columns(batch: Batch, which: Indices) -> Batch:
    observed = None if batch.observed is None else batch.observed[:, which]
    return Batch(batch.V[:, which], observed)
