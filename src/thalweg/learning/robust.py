"""The model with outliers, X = codes @ components + outliers, and its online learner: [O]."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Codes, Encoder
from thalweg.encoders.columns import times
from thalweg.encoders.fast import Fast
from thalweg.learning.batches import Batch, DataForm, largest_entry, outlier_share
from thalweg.learning.code_prior import empty_prior
from thalweg.learning.dictionaries import random_dictionary
from thalweg.learning.noise import MEMORY, SAMPLED_EVERY, estimate_noise
from thalweg.learning.online import OnlineLearner
from thalweg.learning.online_state import OnlineState
from thalweg.learning.resampling import resampled
from thalweg.learning.whitened_encoder import WhitenedEncoder
from thalweg.noise.relative_scales import relative_scales
from thalweg.noise.residual_counts import (
    ALL_COUNTED,
    COUNTED_EVERY,
    MANY_FEATURES,
    ResidualCounts,
)
from thalweg.prox import Prox
from thalweg.prox.l1 import L1
from thalweg.updates import DictionaryUpdate
from thalweg.updates.surrogate import Statistics, Surrogate

__all__ = ["RobustLearner", "RobustModel"]

# While learning, codes are found to this multiple of the tolerance, and may lose this share of the
# error that noise causes in codes. benchmark: online_peers
_TRAINING_TOL_FACTOR, _TRAINING_SLACK = 3.0, 0.2
# In the first batches, the residuals contain what the dictionary has not learned yet, so that an
# automatic weight is too large, and correlated outliers would be learned. For this many batches,
# this share of the weight is used. benchmark: robust_faces
_EARLY_BATCHES, _EARLY_WEIGHT_SHARE = 20, 0.6
# A small weight slows down the learning. In the first batches, the dictionary is fitted to
# extrapolated outliers: by this factor times noise scale over weight, at most 2, up to which the
# loss still falls. benchmark: robust_faces
_EXTRAPOLATION, _LARGEST_EXTRAPOLATION = 1.7, 2.0
# Codes of weighted features are found to this share of the usual tolerance: a few quiet features
# determine them, and if some of these are outliers, a small decrease says little about the distance
# from the minimum. test: estimators/test_noise_per_feature.py
_WEIGHTED_TOL_FACTOR = 0.1
# One batch of so many estimates the noise scales of the features again, after the first ones. It
# bounds the time; scales rest on many more batches.
_SCALED_EVERY = 16
# Iterations of encoding and estimating that find the first automatic weight.
_WEIGHT_ITERATIONS = 3


@dataclass(frozen=True, eq=False)
class RobustModel:
    """Codes and outliers for a fixed dictionary, with a weight that may follow the noise.

    ``argmin_{h, r} 1/2 |v - W h - r|^2 + weight g(r) + omega(h)``

    Parameters
    ----------
    n_components : int
        Number of columns K of the dictionary.
    base_encoder : Encoder
        The encoder, with any outlier weight.
    base_outliers : Prox
        Penalty g of the outliers, with any weight.
    outlier_weight : float or None
        The weight; None estimates it from the residuals.
    constraint : Prox
        Set of the dictionary's columns.
    frozen : array of shape (F, n_frozen)
        Columns that never change.
    initial : str or array of shape (K, F)
        Initial components.
    per_feature : bool
        Whether each feature is weighed by a noise scale of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.learning.robust import RobustModel
    >>> from thalweg.prox.l1 import L1
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> model = RobustModel(2, Fast(), L1(), None, L2Ball(), np.empty((4, 0)), "random")
    >>> model.encoder(0.3).outliers.weight
    0.3
    """

    n_components: int
    base_encoder: Any
    base_outliers: Any
    outlier_weight: float | None
    constraint: Prox
    frozen: Array
    initial: Any = "random"
    per_feature: bool = False

    def outliers(self, weight: float) -> Prox:
        """Return the penalty of the outliers with a weight."""
        penalty: Prox = replace(self.base_outliers, weight=weight)
        return penalty

    def encoder(self, weight: float, scales: Array | None = None, **options: Any) -> Encoder:
        """Return the encoder with an outlier weight, and with noise scales of the features."""
        outliers = replace(self.base_outliers, weight=weight)
        encoder: Encoder = replace(self.base_encoder, outliers=outliers, **options)
        if scales is None:
            return encoder
        return WhitenedEncoder(_more_accurate(encoder), scales)

    def dictionary(self, batch: Batch, rng: np.random.Generator) -> Array:
        """Return the initial dictionary."""
        return random_dictionary(
            self.initial, self.frozen, self.n_components, batch, self.constraint, rng
        )

    def first_weight(self, batch: Batch, W: Array) -> float:
        """Return the outlier weight, estimated from the residuals if it is automatic."""
        if self.outlier_weight is not None:
            return self.outlier_weight
        weight = 10.0 * largest_entry(batch) or 1.0  # large enough for no outlier
        for _ in range(_WEIGHT_ITERATIONS):
            codes = self.encoder(weight).encode(batch.V, W, observed=batch.observed)
            weight = estimate_noise(batch, W, codes.H).outlier_weight or weight
        return weight


def _more_accurate(encoder: Any) -> Encoder:
    """Return an encoder with smaller tolerances, for features with different weights."""
    used = [name for name in ("tol", "noise_tol") if hasattr(encoder, name)]
    smaller = {name: _WEIGHTED_TOL_FACTOR * getattr(encoder, name) for name in used}
    accurate: Encoder = replace(encoder, **smaller)
    return accurate


@dataclass(frozen=True, eq=False)
class RobustLearner(OnlineLearner):
    """Online NMF with outliers, [O] Algorithm 1.

    Parameters
    ----------
    model : RobustModel
        Encoders and the initial dictionary.
    dictionary_update : Surrogate
        Minimises the quadratic surrogate of all samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.learning.batches import DataForm, as_batch
    >>> from thalweg.learning.robust import RobustLearner, RobustModel
    >>> from thalweg.prox.l1 import L1
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.updates.surrogate import Surrogate
    >>> model = RobustModel(2, Fast(), L1(), None, L2Ball(), np.empty((4, 0)))
    >>> learner, batch = RobustLearner(model, Surrogate()), as_batch(np.ones((10, 4)))
    >>> learner.init(batch, DataForm(), np.random.default_rng(0)).W.shape
    (4, 2)
    """

    model: RobustModel
    dictionary_update: Surrogate

    def encoder(self, state: OnlineState) -> Encoder:
        """Return the encoder with the current outlier weight."""
        return self.model.encoder(state.outlier_weight, state.relative_scales)

    def update(self, state: OnlineState) -> DictionaryUpdate[Statistics]:
        """Return the dictionary update."""
        return self.dictionary_update

    def first_state(self, batch: Batch, form: DataForm, rng: np.random.Generator) -> OnlineState:
        """Return the initial dictionary and outlier weight."""
        W = self.model.dictionary(batch, rng)
        weight = self.model.first_weight(batch, W)
        prior = empty_prior(self.model.n_components)
        counts = ResidualCounts.none(len(W))
        return OnlineState(W, None, prior, form, outlier_weight=weight, residual_counts=counts)

    def training_encoder(self, state: OnlineState) -> Encoder:
        """Return a less accurate encoder, with a smaller weight in the first batches."""
        if not isinstance(self.model.base_encoder, Fast):
            return self.encoder(state)
        early = state.n_batches < _EARLY_BATCHES and self._adapts_early()
        share = _EARLY_WEIGHT_SHARE if early else 1.0
        tol = _TRAINING_TOL_FACTOR * self.model.base_encoder.tol
        weight, scales = share * state.outlier_weight, state.relative_scales
        return self.model.encoder(weight, scales, tol=tol, noise_tol=_TRAINING_SLACK)

    def update_target(self, state: OnlineState, batch: Batch, codes: Codes) -> Codes:
        """Return the codes, with extrapolated outliers in the first batches."""
        if state.n_batches >= _EARLY_BATCHES or not self._adapts_early():
            return codes
        factor = _EXTRAPOLATION * state.noise_estimate.scale / state.outlier_weight
        factor = min(factor, _LARGEST_EXTRAPOLATION)
        if factor <= 1.0:
            return codes
        residual = batch.V - times(state.W, codes.H) - codes.R  # 0 at missing entries
        return codes._replace(R=codes.R - codes.R.dtype.type(factor - 1.0) * residual)

    def follow_noise(
        self, state: OnlineState, batch: Batch, H: Array, every_feature: int = 1
    ) -> OnlineState:
        """Update noise scales and an automatic outlier weight from the residuals of a batch."""
        sampled = state.n_batches < MEMORY or state.n_batches % SAMPLED_EVERY == 0
        automatic = self.model.outlier_weight is None
        if not sampled or not (automatic or self.model.per_feature):
            return state
        scales = self._feature_scales(state)
        units = None if scales is None else scales[::every_feature]
        latest = estimate_noise(batch, state.W[::every_feature], H, units)
        noise = state.noise_estimate.averaged(latest)
        weight = (noise.outlier_weight if automatic else 0.0) or state.outlier_weight
        return state._replace(noise_estimate=noise, outlier_weight=weight, relative_scales=scales)

    def _feature_scales(self, state: OnlineState) -> Array | None:
        """Return the relative noise scales of the features; None if all are weighed the same."""
        if not self.model.per_feature or state.n_batches < _EARLY_BATCHES:
            return None
        counts, W, before = state.residual_counts, state.W, state.relative_scales
        is_due = state.n_batches < 2 * _EARLY_BATCHES or state.n_batches % _SCALED_EVERY == 0
        if before is not None and not is_due:
            return before
        assert counts is not None
        return relative_scales(counts, W, state.statistics.A, before).astype(W.dtype)

    def count_residuals(
        self, state: OnlineState, batch: Batch, codes: Codes
    ) -> ResidualCounts | None:
        """Return the residuals of a batch by size, of one batch in four once there are many."""
        counts = state.residual_counts
        is_sampled = state.n_samples >= ALL_COUNTED or len(state.W) > MANY_FEATURES
        if counts is None or (is_sampled and state.n_batches % COUNTED_EVERY):
            return None
        if batch.sample_weight is not None:
            batch, codes = resampled(batch, codes)
        return counts.empty().added_fit(
            batch.V, state.W, codes.H, codes.R, batch.observed, state.relative_scales
        )

    def add_counts(self, state: OnlineState, latest: ResidualCounts) -> OnlineState:
        """Return the state with the residuals of a batch; earlier ones weigh less."""
        assert state.residual_counts is not None
        forgetting = self.dictionary_update.forgetting
        if state.n_samples >= ALL_COUNTED or len(state.W) > MANY_FEATURES:
            forgetting = forgetting**COUNTED_EVERY
        counts = state.residual_counts.merged([latest]).aged(latest.n_samples, forgetting)
        return state._replace(residual_counts=counts)

    def batch_outlier_share(self, state: OnlineState, batch: Batch, codes: Codes) -> float:
        """Return the share of outliers at the current weight."""
        if state.n_batches < _EARLY_BATCHES and self._adapts_early():
            # encoded with a smaller weight
            near = np.abs(codes.R) <= (1.0 - _EARLY_WEIGHT_SHARE) * state.outlier_weight
            codes = codes._replace(R=np.where(near, 0, codes.R))
        return outlier_share(batch, codes.R)

    def _adapts_early(self) -> bool:
        """Test whether the first batches have a smaller weight and extrapolated outliers."""
        return (
            self.model.outlier_weight is None
            and isinstance(self.model.base_encoder, Fast)
            and isinstance(self.model.base_outliers, L1)
        )
