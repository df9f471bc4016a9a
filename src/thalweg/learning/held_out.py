"""Entries hidden from a fit, and their losses.

A component that is in the data lowers the loss of entries that the fit has not seen; one that only
follows the noise raises it. Single entries are hidden, not whole samples: the codes of a held-out
sample are fitted to the sample itself, so that its loss falls with every further component.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._constants import MAD_TO_STANDARD_DEVIATION
from thalweg._typing import Array, Indices
from thalweg.divergences import Divergence, HalfQuadratic
from thalweg.divergences.squared_l2 import SquaredL2

__all__ = [
    "LARGEST_DEVIATION",
    "HiddenCounts",
    "HiddenEntries",
    "deviations",
    "hide",
    "hide_counts",
]

# Deviations count up to this many scales, the usual limit of outliers: an outlier that was hidden
# then has the same loss for all ranks.
LARGEST_DEVIATION = 3.0
# Hidden entries of a feature from which it has a noise scale of its own; below, the error of a
# median exceeds the differences between features that matter.
_OWN_SCALE_ENTRIES = 10
# Smallest noise scale of a feature, as a share of that of all features.
_SMALLEST_FEATURE_SCALE = 0.1
# Deviations below this share of the accuracy of the fits count as none: data without noise have no
# others. Safety margin: any value in 0.01..0.1 gives the same results.
_RESOLUTION = 0.1


class HiddenEntries(NamedTuple):
    """Entries of dense data that a fit does not see.

    Attributes
    ----------
    samples, features : arrays of shape (n_hidden,)
        Positions.
    values : array of shape (n_hidden,)
        The data there.
    n_samples : int
        Number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.held_out import hide
    >>> X, hidden = hide(np.ones((20, 10)), 0.1, np.random.default_rng(0))
    >>> int(np.isnan(X).sum()) == len(hidden.values)
    True
    """

    samples: Indices
    features: Indices
    values: Array
    n_samples: int

    @property
    def n_hidden(self) -> int:
        """Number of hidden entries."""
        return len(self.values)

    @property
    def counts(self) -> Array:
        """Number of hidden entries of each sample."""
        return np.bincount(self.samples, minlength=self.n_samples).astype(np.float64)

    def measure(self, W: Array, H: Array, loss: Divergence, floor: float = 0.0) -> Array:
        """Return how far a model is from each hidden entry: |v - p|, or sqrt(2 d(v | p))."""
        p = np.einsum("nk,nk->n", W[self.features], H.T[self.samples])
        return deviations(self.values, p, loss, floor, self.features)

    def row_losses(
        self, measured: Array, loss: Divergence, floor: float = 0.0, accuracy: float = 0.0
    ) -> Array:
        """Return the losses of all samples for the deviations of several ranks.

        Deviations are divided by the scale that they have under the best rank. It is at least the
        accuracy of the fits, a share of the spread of the data: below, fits differ by how far they
        have converged, not by their rank.
        """
        medians, least = np.median(measured, axis=1), accuracy * self.spread(loss, floor)
        scales = self._scales(measured[np.argmin(medians)], loss, least or 1e-300)
        resolved = np.maximum(measured - _RESOLUTION * least, 0.0)
        capped = np.square(np.minimum(resolved / scales, LARGEST_DEVIATION))
        return np.stack([np.bincount(self.samples, one, self.n_samples) for one in capped])

    def spread(self, loss: Divergence, floor: float = 0.0) -> float:
        """Return the median deviation of the hidden entries from their mean."""
        v = self.values
        return float(
            np.median(deviations(v, np.full_like(v, v.mean()), loss, floor, self.features))
        )

    def _scales(self, measured: Array, loss: Divergence, least: float) -> Array:
        """Return the noise scale at each hidden entry."""
        v = self.values
        positive = measured[v != 0.0] if (v != 0.0).any() else measured
        common = max(MAD_TO_STANDARD_DEVIATION * float(np.median(positive)), least)
        scales = np.full(v.shape, common)
        if not _is_residual(loss):  # a divergence has the scale of its noise model
            return scales
        for feature in np.unique(self.features):
            own = self.features == feature
            if np.count_nonzero(own) >= _OWN_SCALE_ENTRIES:
                scales[own] = MAD_TO_STANDARD_DEVIATION * float(np.median(measured[own]))
        floored: Array = np.maximum(scales, max(_SMALLEST_FEATURE_SCALE * common, least))
        return floored


class HiddenCounts(NamedTuple):
    """Entries of sparse data that a fit sees as zeros.

    If every entry is hidden with probability q, the expected data are 1 - q times as large. So is
    the model, and a prediction is divided by 1 - q. Data with zeros in place of hidden entries stay
    sparse, and a loss whose minimum is at the mean is fitted without bias.

    Attributes
    ----------
    X : CSR matrix of shape (n_samples, n_features)
        All data.
    hidden : boolean array of shape (n_nonzeros,)
        The hidden entries among the nonzeros of X.
    share : float
        The probability q.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from thalweg.learning.held_out import hide_counts
    >>> X = sparse.csr_array(np.eye(50))
    >>> seen, hidden = hide_counts(X, 0.1, np.random.default_rng(0))
    >>> seen.nnz + int(hidden.hidden.sum())
    50
    """

    X: Any
    hidden: Any
    share: float

    @property
    def n_hidden(self) -> int:
        """Number of hidden nonzeros."""
        return int(np.count_nonzero(self.hidden))

    @property
    def counts(self) -> Array:
        """Expected number of hidden entries of each sample, zeros included."""
        n, F = self.X.shape
        return np.full(n, self.share * F)

    def measure(self, W: Array, H: Array, loss: Divergence, floor: float = 0.0) -> Array:
        """Return the loss of each sample: its hidden nonzeros, and the expected hidden zeros."""
        n = self.X.shape[0]
        sample, feature = np.repeat(np.arange(n), np.diff(self.X.indptr)), self.X.indices
        scaled = W / (1.0 - self.share)
        p = np.einsum("nk,nk->n", scaled[feature], H.T[sample])
        totals = H.T @ scaled.sum(axis=0) - np.bincount(sample, p, n)
        v = self.X.data[self.hidden].astype(np.float64)
        nonzeros = loss.value(v[None], np.maximum(p[self.hidden], _tiny(v))[None])
        zeros = self.share * float(loss.slope_at_zero or 0.0) * totals
        losses: Array = zeros + np.bincount(sample[self.hidden], nonzeros, n)
        return losses

    def spread(self, loss: Divergence, floor: float = 0.0) -> float:
        """Return 0: counts always have noise."""
        return 0.0

    def row_losses(
        self, measured: Array, loss: Divergence, floor: float = 0.0, accuracy: float = 0.0
    ) -> Array:
        """Return the losses as they are: those of counts have their own scale."""
        return measured


def hide(X: Array, share: float, rng: np.random.Generator) -> tuple[Array, HiddenEntries]:
    """Return rows with NaN at a share of the observed entries, and these entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.held_out import hide
    >>> hide(np.ones((30, 10)), 0.1, np.random.default_rng(0))[0].shape
    (30, 10)
    """
    # drawn from a generator of its own: a caller who hid entries with the same seed drew the same
    rng = np.random.default_rng(rng.integers(2**63))
    hidden = (rng.random(X.shape) < share) & ~np.isnan(X)
    samples, features = np.nonzero(hidden)
    entries = HiddenEntries(samples, features, X[hidden].astype(np.float64), len(X))
    return np.where(hidden, X.dtype.type(np.nan), X), entries


def hide_counts(X: Any, share: float, rng: np.random.Generator) -> tuple[Any, HiddenCounts]:
    """Return sparse rows without a share of their nonzeros, and the hidden entries.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from thalweg.learning.held_out import hide_counts
    >>> hide_counts(sparse.csr_array(np.eye(9)), 0.5, np.random.default_rng(0))[0].shape
    (9, 9)
    """
    X = sparse.csr_array(X)
    rng = np.random.default_rng(rng.integers(2**63))
    hidden = rng.random(X.nnz) < share
    seen = X.copy()
    seen.data = np.where(hidden, X.dtype.type(0), X.data)
    seen.eliminate_zeros()
    return seen, HiddenCounts(X, hidden, share)


def _is_residual(loss: Divergence) -> bool:
    """Whether a loss is a function of the residual v - p."""
    return isinstance(loss, (HalfQuadratic, SquaredL2))


def deviations(
    v: Array, p: Array, loss: Divergence, floor: float = 0.0, features: Indices | None = None
) -> Array:
    """Return |v - p| of each entry, or sqrt(2 d(v | p)) if the loss is not one of residuals.

    Parameters
    ----------
    v, p : arrays of one shape
        Data and model.
    loss : Divergence
        The loss d.
    floor : float
        Smallest entry.
    features : integer array of that shape, optional
        The feature of each entry, for losses with parameters of their own for each.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.learning.held_out import deviations
    >>> deviations(np.array([4.0, 0.0]), np.array([4.0, 0.5]), KL())
    array([0., 1.])
    """
    if _is_residual(loss):
        return np.abs(v - p)
    v, p = np.maximum(v, floor), np.maximum(p, max(floor, _tiny(v)))
    if features is None or not hasattr(loss, "restricted"):
        whole: Array = np.sqrt(2.0 * _each(loss, v, p))
        return whole
    each = np.empty(v.shape)
    for feature in np.unique(features):
        own = features == feature
        each[own] = _each(loss.restricted(feature), v[own], p[own])
    found: Array = np.sqrt(2.0 * each)
    return found


def _each(loss: Divergence, v: Array, p: Array) -> Array:
    each = np.maximum(loss.value(v.reshape(1, -1), p.reshape(1, -1)), 0.0)
    shaped: Array = each.reshape(v.shape)
    return shaped


def _tiny(v: Array) -> float:
    """Return a model value for entries that the model cannot explain."""
    return float(np.finfo(np.float64).eps) * max(float(np.abs(v).max(initial=0.0)), 1e-300)
