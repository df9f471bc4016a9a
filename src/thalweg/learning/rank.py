"""The number of components by hidden entries: a ladder of short fits, each from the one before."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
from thalweg.learning.held_out import (
    HiddenCounts,
    HiddenEntries,
    RankEvidence,
    deviations,
    hide,
    hide_counts,
)
from thalweg.learning.rounds import LocalBlocks

__all__ = [
    "DivergenceTrials",
    "RankTrials",
    "Trial",
    "choose_rank",
    "climb",
    "hidden_share",
    "largest_rank",
    "nan_medians",
    "nonnegative_component",
    "sample_size",
    "search_sample",
]

# Entries and features of the sample on which ranks are tried, which bound time and memory.
_SAMPLE_ENTRIES, _SAMPLE_FEATURES = 2**16, 256
_LEAST_SAMPLES = 200
# Share of the entries that is hidden; more of small data, for this many hidden entries.
_HIDDEN_SHARE, _LARGEST_HIDDEN_SHARE, _HIDDEN_ENTRIES = 0.1, 0.2, 1000
# Iterations of reweighted least squares, and epochs of the online method, at each rank.
# benchmark: rank
_TRIAL_ROUNDS, _TRIAL_EPOCHS = 20, 2
# Ranks are tried one by one up to this one, then in steps of a quarter.
_SINGLE_STEPS = 8
# The ladder ends after this many ranks without a smaller loss, or at one whose loss is larger by
# this many standard errors.
_PATIENCE, _CLEAR_ERRORS = 2, 3.0
# A fit whose deviations have a median below this share of the spread of the data is continued, at
# most so often, while each time reduces the mean square to this share.
_CLEAN_SHARE, _MAX_CONTINUATIONS, _CONTINUATION_GAIN = 0.1, 20, 0.97
# Batches of the online method, as OnlineNMF has them: about this many, within these bounds.
_N_BATCHES, _SMALLEST_BATCH, _LARGEST_BATCH = 200, 32, 128
# Deviation of an outlier that is kept from the fits, in scales: rare under any noise.
_OUTLIER = 4.0
# Times that outliers are left out at the first rank, which has no fit below.
_FIRST_TRIMS = 3
# Residuals that form a new component are clipped at this many median residuals: 3 scales of normal
# noise are 2 medians.
_LARGEST_RESIDUAL = 4.5
# Iterations that find a nonnegative component of the residuals; it converges in a few.
_POWER_ITERATIONS = 10


class Trial(NamedTuple):
    """A fit with some number of components.

    Attributes
    ----------
    W : array of shape (F, K)
        Dictionary.
    H : array of shape (K, N)
        Codes of all samples.
    loss : Divergence
        The loss that was minimised.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.learning.rank import Trial
    >>> Trial(np.ones((3, 1)), np.ones((1, 5)), KL()).W.shape
    (3, 1)
    """

    W: Array
    H: Array
    loss: Divergence


class RankTrials:
    """Fits to the entries that are not hidden, with any number of components.

    A subclass implements :meth:`fit`; ``hidden`` and ``floor`` describe the hidden entries.

    Examples
    --------
    >>> from thalweg.learning.rank import DivergenceTrials, RankTrials
    >>> issubclass(DivergenceTrials, RankTrials)
    True
    """

    hidden: HiddenEntries | HiddenCounts
    floor: float = 0.0

    def fit(self, rank: int, below: Trial | None) -> Trial:
        """Return a fit, from one with fewer components if there is one."""
        raise NotImplementedError


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
    >>> from thalweg.learning.rank import choose_rank
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

    def fit(self, rank: int, below: Trial | None) -> Trial:
        """Return a fit, from one with fewer components if there is one."""
        if self.form.sparse:
            return self._fit(rank, "auto", self.batch, _TRIAL_EPOCHS)
        initial = "auto" if below is None else self._grown(below, rank).T
        if isinstance(self.model.loss, HalfQuadratic):
            return self._fit(rank, initial, self.batch, _TRIAL_ROUNDS)
        # half of the epochs, then the others without the outliers of the first half
        batch = self._trimmed(self._rank_one() if below is None else below)
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
        V, observed = self.batch
        known = V if observed is None else np.where(observed, V, np.nan)
        W = nan_medians(known)
        W = np.where(np.isfinite(W) & (W > 0.0), W, 0.0).astype(V.dtype)
        ratios = known[W > 0.0] / W[W > 0.0, None]
        H = nan_medians(ratios.T) if len(ratios) else np.ones(V.shape[1])
        H = np.where(np.isfinite(H), H, 1.0).astype(V.dtype)
        return Trial(W[:, None], H[None], self.model.loss)

    def _trimmed(self, trial: Trial) -> Batch:
        """Return the samples without entries that are far from a fit."""
        V, observed = self.batch
        a = deviations(V, trial.W @ trial.H, trial.loss, self.form.floor)
        mask = np.ones(V.shape, np.bool_) if observed is None else observed
        counted = np.where(mask & (self.form.floor < V), a, np.nan)
        median = nan_medians(counted.reshape(1, -1))
        return Batch(V, mask & ~(a > _OUTLIER * MAD_TO_STANDARD_DEVIATION * median))

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
        V, observed = self.batch
        E = V - below.W @ below.H
        if isinstance(below.loss, HalfQuadratic) and E.any():
            limit = _LARGEST_RESIDUAL * float(np.median(np.abs(E[E != 0.0])))
            E = np.clip(E, -limit, limit)
        columns = [below.W]
        for _ in range(rank - below.W.shape[1]):
            E = E if observed is None else E * observed
            w = nonnegative_component(E)
            E = E - np.outer(w, np.maximum(w @ E, 0.0))
            columns.append(w[:, None])
        return np.hstack(columns)


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
    >>> from thalweg.learning.rank import choose_rank
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
    model = replace(model, frozen=model.frozen[features])
    share = hidden_share(X)
    seen, hidden = hide_counts(X, share, rng) if form.sparse else hide(_dense(X), share, rng)
    first, last = model.frozen.shape[1] + 1, most or largest_rank(X.shape)
    if last <= first or hidden.n_hidden == 0:
        nothing = np.array([np.nan])
        return RankEvidence(np.array([first]), nothing, nothing, hidden.n_hidden)
    trials = DivergenceTrials(model, form.batch(seen), form, hidden, int(rng.integers(2**31)))
    return climb(trials, first, last)


def climb(trials: RankTrials, first: int, last: int) -> RankEvidence:
    """Try ranks upwards until the hidden entries get worse, then the ranks that were left out.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.squared_l2 import SquaredL2
    >>> from thalweg.learning.held_out import hide
    >>> from thalweg.learning.rank import RankTrials, Trial, climb
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) @ np.eye(2, 9) + 5.0
    >>> class Truncated(RankTrials):
    ...     seen, hidden = hide(X, 0.1, np.random.default_rng(0))
    ...
    ...     def fit(self, rank, below):
    ...         U, s, V = np.linalg.svd(np.where(np.isnan(self.seen), 5.0, self.seen).T)
    ...         return Trial(U[:, :rank] * s[:rank], V[:rank], SquaredL2())
    >>> climb(Truncated(), 1, 8).ranks[0]
    np.int64(1)
    """
    found: dict[int, Trial] = {}
    measured: dict[int, Array] = {}

    def attempt(rank: int) -> RankEvidence:
        below = max((k for k in found if k < rank), default=None)
        trial = trials.fit(rank, None if below is None else found[below])
        trial, measured[rank] = _converged(trials, rank, trial)
        found[rank] = trial
        ranks = sorted(measured)
        stacked = np.stack([measured[k] for k in ranks])
        rows = trials.hidden.row_losses(stacked, trial.loss, trials.floor)
        return RankEvidence.of(ranks, rows, trials.hidden.counts)

    evidence = _ladder(attempt, first, last)
    while True:
        gap = _open_rank(evidence)
        if gap is None:
            return evidence
        evidence = attempt(gap)


def _converged(trials: RankTrials, rank: int, trial: Trial) -> tuple[Trial, Array]:
    """Return a fit and its deviations; one that leaves little of the data is continued.

    There the deviations of a short fit are how far it has converged, not the noise.
    """
    hidden, floor = trials.hidden, trials.floor
    measured = hidden.measure(trial.W, trial.H, trial.loss, floor)
    limit = _CLEAN_SHARE * hidden.spread(trial.loss, floor)
    for _ in range(_MAX_CONTINUATIONS):
        median = float(np.median(measured))
        if median > limit:
            break
        cap, longer = _LARGEST_RESIDUAL * median, trials.fit(rank, trial)
        further = hidden.measure(longer.W, longer.H, longer.loss, floor)
        before, after = (np.square(np.minimum(one, cap)).mean() for one in (measured, further))
        if after < before:
            trial, measured = longer, further
        if after > _CONTINUATION_GAIN * before:
            break
    return trial, measured


def _ladder(attempt: Callable[[int], RankEvidence], first: int, last: int) -> RankEvidence:
    rank, evidence = first, attempt(first)
    while rank < last:
        rank = min(last, rank + max(1, rank // 4 if rank >= _SINGLE_STEPS else 1))
        evidence = attempt(rank)
        n_beyond = int(np.count_nonzero(evidence.ranks > evidence.best))
        excess = evidence.losses[-1] - evidence.losses.min()
        if n_beyond >= _PATIENCE or excess > _CLEAR_ERRORS * evidence.errors[-1] > 0.0:
            break
    return evidence


def _open_rank(evidence: RankEvidence) -> int | None:
    """Return a rank that was left out beside the best or the chosen one; None if there is none."""
    ranks = evidence.ranks.tolist()
    for centre in (evidence.best, evidence.chosen):
        i = ranks.index(centre)
        lower = ranks[i - 1] if i > 0 else centre
        upper = ranks[i + 1] if i + 1 < len(ranks) else centre
        for low, high in ((lower, centre), (centre, upper)):
            if high - low > 1:
                return int((low + high) // 2)
    return None


def largest_rank(shape: tuple[int, int]) -> int:
    """Return the largest rank that hidden entries can tell: less than all samples and features.

    Examples
    --------
    >>> from thalweg.learning.rank import largest_rank
    >>> largest_rank((100, 8))
    7
    """
    return max(1, min(shape) - 1)


def hidden_share(X: Any) -> float:
    """Return the share of entries to hide: a tenth, and up to a fifth of small data.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.rank import hidden_share
    >>> hidden_share(np.ones((100, 8))), hidden_share(np.ones((1000, 80)))
    (0.2, 0.1)
    """
    n = X.nnz if sparse.issparse(X) else np.count_nonzero(~np.isnan(X))
    return float(np.clip(_HIDDEN_ENTRIES / max(n, 1), _HIDDEN_SHARE, _LARGEST_HIDDEN_SHARE))


def search_sample(X: Any, form: DataForm, rng: np.random.Generator) -> tuple[Any, Indices]:
    """Return random rows and features on which ranks are tried, and the features.

    Sparse data keep all features: their entries are counted by nonzeros.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import DataForm
    >>> from thalweg.learning.rank import search_sample
    >>> X, features = search_sample(np.ones((2000, 1000)), DataForm(), np.random.default_rng(0))
    >>> X.shape, len(features)
    ((256, 256), 256)
    """
    n, F = X.shape
    features, size = np.arange(F), sample_size(X, form)
    if n > size:
        X = X[np.sort(rng.choice(n, size, replace=False))]
    if F > _SAMPLE_FEATURES and not form.sparse:
        features = np.sort(rng.choice(F, _SAMPLE_FEATURES, replace=False))
        X = X[:, features]
    return X, features


def sample_size(X: Any, form: DataForm) -> int:
    """Return the number of rows on which ranks are tried.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import DataForm
    >>> from thalweg.learning.rank import sample_size
    >>> sample_size(np.ones((9, 64)), DataForm())
    1024
    """
    n, F = X.shape
    width = min(F, _SAMPLE_FEATURES)
    if form.sparse:
        width = max((X.nnz if sparse.issparse(X) else np.count_nonzero(X)) // max(n, 1), 1)
    return max(_LEAST_SAMPLES, _SAMPLE_ENTRIES // int(width))


def nan_medians(rows: Array) -> Array:
    """Return the median of each row without its NaN; inf for a row without numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.rank import nan_medians
    >>> nan_medians(np.array([[1.0, np.nan, 3.0, 9.0], [np.nan] * 4]))
    array([ 3., inf])
    """
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


def nonnegative_component(E: Array) -> Array:
    """Return w of the nonnegative w h' nearest to E, from the sample with the largest residual.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.rank import nonnegative_component
    >>> nonnegative_component(np.outer([3.0, 4.0], [1.0, 2.0]))
    array([0.6, 0.8])
    """
    worst = np.argmax(np.square(np.maximum(E, 0.0)).sum(axis=0))
    w = np.maximum(E[:, worst], 0.0)
    for _ in range(_POWER_ITERATIONS):
        moved = np.maximum(E @ np.maximum(w @ E, 0.0), 0.0)
        size = float(np.linalg.norm(moved))
        if size == 0.0:
            break
        w = moved / w.dtype.type(size)
    unit: Array = w if w.any() else np.full_like(w, 1.0 / np.sqrt(len(w)))
    return unit
