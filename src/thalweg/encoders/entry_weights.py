"""Weights of entries, which generalise the mask of the observed entries.

The argument ``observed`` of encoders and updates is a mask, or an array of weights w >= 0 that are
0 at missing entries. Under a loss of the residual u = v - p, weights are inverse variances: the
loss is f(sqrt(w) u), with residuals in units of their standard deviations. Under other divergences
the loss is w d(v | p). For squares both are w u^2 / 2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._typing import Array, Indices, Mask, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.errors import ParameterError

__all__ = ["WeightedLoss", "are_weights", "mask_of", "require_mask", "scales_of", "weighted_loss"]


def are_weights(observed: Observed | None) -> bool:
    """Whether entries have weights other than 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.entry_weights import are_weights
    >>> are_weights(np.array([True, False])), are_weights(np.array([0.5, 2.0]))
    (False, True)
    """
    return observed is not None and observed.dtype != np.bool_


def mask_of(observed: Any) -> Mask | None:
    """Return the mask of the observed entries; None if all are observed.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.entry_weights import mask_of
    >>> mask_of(np.array([0.5, 0.0]))
    array([ True, False])
    """
    if not are_weights(observed):
        same: Mask | None = observed
        return same
    mask: Mask = observed > 0.0
    return None if mask.all() else mask


def require_mask(observed: Observed | None, method: str) -> None:
    """Raise if entries have weights, for a method that has none.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.entry_weights import require_mask
    >>> require_mask(np.array([True, False]), "Pgd")
    """
    if are_weights(observed):
        raise ParameterError(
            f"weights must be None or 0 and 1 with {method}, got other weights. Use solver='fast', "
            "or sample_weight."
        )


def scales_of(observed: Any) -> Array | None:
    """Return the square roots of weights; None for a mask.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.entry_weights import scales_of
    >>> scales_of(np.array([4.0, 0.0]))
    array([2., 0.])
    """
    return np.sqrt(observed) if are_weights(observed) else None


def weighted_loss(loss: Divergence, observed: Observed | None) -> Any:
    """Return the loss with the weights of the entries, or itself for a mask.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.encoders.entry_weights import weighted_loss
    >>> weighted_loss(KL(), np.array([[True]]))
    KL()
    """
    return WeightedLoss(loss, np.asarray(observed)) if are_weights(observed) else loss


@dataclass(frozen=True, eq=False)
class WeightedLoss:
    """A divergence with weights: a divergence of arrays of the shape of the weights.

    ``sum_f w_f d(v_f | p_f)``, or ``f(sqrt(w) (v - p))`` for a loss f of the residual.

    Parameters
    ----------
    loss : Divergence
        The loss without weights.
    weights : array of shape (F, B)
        Weights w of the entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.squared_l2 import SquaredL2
    >>> from thalweg.encoders.entry_weights import WeightedLoss
    >>> loss = WeightedLoss(SquaredL2(), np.array([[4.0], [1.0]]))
    >>> loss.value(np.array([[1.0], [2.0]]), np.array([[0.0], [0.0]]))
    array([4.])
    """

    loss: Divergence
    weights: Array

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the loss without weights, such as ``growth``."""
        if name.startswith("__") or name in ("loss", "weights"):
            raise AttributeError(name)
        return getattr(self.loss, name)

    def take(self, columns: Indices | slice) -> "WeightedLoss":
        """Return the loss of the selected samples."""
        return WeightedLoss(self.loss, np.asfortranarray(self.weights.T[columns].T))

    def value(self, v: Array, p: Array) -> Array:
        """Return the loss of each column."""
        if self._standardises:
            value: Array = self.loss.value(*self._standardised(v, p))
            return value
        # one column per entry
        each = self.loss.value(v.reshape(1, -1, order="F"), p.reshape(1, -1, order="F"))
        weighted: Array = self.weights * each.reshape(v.shape, order="F")
        sums = np.asarray(np.sum(weighted, axis=0, dtype=np.float64))
        return sums.astype(weighted.dtype)

    def grad(self, v: Array, p: Array) -> Array:
        """Return the derivative in p."""
        if self._standardises:
            return self._scales * self.loss.grad(*self._standardised(v, p))
        return self.weights * self.loss.grad(v, p)

    def curvature(self, v: Array, p: Array) -> Array:
        """Return the weights times the curvature of the loss."""
        if self._standardises:
            v, p = self._standardised(v, p)
        curvature: Array = self.weights * self.loss.curvature(v, p)
        return curvature

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return the negative and the positive part of the derivative in p."""
        factor = self.weights
        if self._standardises:
            factor, (v, p) = self._scales, self._standardised(v, p)
        neg, pos = self.loss.split(v, p)
        return factor * neg, factor * pos

    def outliers(self, v: Array, p: Array) -> Array:
        """Return the outliers, in the units of the data."""
        if not self._standardises:
            return self.loss.outliers(v, p)
        found = self.loss.outliers(*self._standardised(v, p))
        observed = self.weights > 0.0
        return np.divide(found, self._scales, out=np.zeros_like(found), where=observed)

    @property
    def _standardises(self) -> bool:
        """Whether the loss is a function of the residual."""
        residual = getattr(self.loss, "half_quadratic", False)
        return bool(residual) or isinstance(self.loss, Mahalanobis)

    @property
    def _scales(self) -> Array:
        scales: Array = np.sqrt(self.weights)
        return scales

    def _standardised(self, v: Array, p: Array) -> tuple[Array, Array]:
        scales = self._scales
        return scales * v, scales * p
