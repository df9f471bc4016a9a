"""The objective of encoders with a divergence as loss: gaps, and an elastic net on the codes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from thalweg._typing import Array, Indices, Mask, Observed
from thalweg.divergences import Divergence
from thalweg.encoders import Codes
from thalweg.encoders.columns import take_columns, times
from thalweg.encoders.entry_weights import WeightedLoss, mask_of, weighted_loss
from thalweg.errors import ParameterError
from thalweg.prox import Prox

__all__ = ["DivergenceProblem", "coefficients", "dense_problem", "model_offset", "weighted_codes"]

# Power of the machine epsilon in the offset of the model: 1.8e-12 of the mean of a sample in double
# precision and 6e-6 in single precision. Above rounding errors, below the tolerances of encoders.
_MODEL_OFFSET_POWER = 0.75


def model_offset(dtype: DTypeLike) -> float:
    """Return the offset of the model W h, in units of the mean of the sample.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.divergence_problem import model_offset
    >>> model_offset(np.float64) < 1e-11
    True
    """
    return float(np.finfo(np.dtype(dtype)).eps ** _MODEL_OFFSET_POWER)


def coefficients(penalty: Prox) -> tuple[float, float]:
    """Return the weights (a, b) of a penalty a sum(h) + b |h|^2 / 2 of the codes.

    Raises ``ParameterError`` for other penalties.

    Examples
    --------
    >>> from thalweg.encoders.divergence_problem import coefficients
    >>> from thalweg.prox.l1 import L1
    >>> coefficients(L1(0.5, nonnegative=True))
    (0.5, 0.0)
    """
    found = getattr(penalty, "coefficients", None)
    if found is None:
        raise ParameterError(
            f"code_penalty must be an elastic net, got {penalty!r}. Use 'l1', "
            "'l2' or 'elastic-net'; RobustOnlineNMF accepts other penalties."
        )
    return float(found[0]), float(found[1])


def dense_problem(
    loss: Divergence,
    V: Array,
    W: Array,
    observed: Observed | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
) -> "DivergenceProblem":
    """Return the problem of dense samples, whose entries may have weights.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.squared_l2 import SquaredL2
    >>> from thalweg.encoders.divergence_problem import dense_problem
    >>> V, W, weights = np.array([[1.0], [3.0]]), np.ones((2, 1)), np.array([[2.0], [0.0]])
    >>> problem, H = dense_problem(SquaredL2(), V, W, weights), np.array([[4.0]])
    >>> problem.value(problem.model(H), H).round(6)
    array([9.])
    """
    return DivergenceProblem(weighted_loss(loss, observed), V, W, mask_of(observed), l1, l2)


@dataclass(frozen=True, eq=False)
class DivergenceProblem:
    """The objective d(V | W H) + l1 sum(H) + l2/2 |H|^2 of each column, over observed entries.

    At missing entries the data are replaced by the model, so that they do not contribute to the
    value. Gradient and curvature are 0 there.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    V : array of shape (F, B)
        Samples.
    W : array of shape (F, K)
        Dictionary.
    observed : boolean array of shape (F, B) or None
        False at missing entries.
    l1, l2 : float
        Weights of the penalty of the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.encoders.divergence_problem import DivergenceProblem
    >>> problem = DivergenceProblem(KL(), np.array([[1.0], [3.0]]), np.ones((2, 1)), None)
    >>> problem.start()
    array([[2.]])
    """

    loss: Divergence
    V: Array
    W: Array
    observed: Mask | None
    l1: float = 0.0
    l2: float = 0.0

    def start(self) -> Array:
        """Return uniform codes with sum(W h) = sum(v) over the observed entries."""
        if self.observed is None:
            weight = np.full(self.V.shape[1], self.W.sum(), self.V.dtype)
        else:
            weight = self.W.sum(axis=1) @ self.observed
        total = self._totals()
        level = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0.0)
        H: Array = np.repeat(level[:, None], self.W.shape[1], axis=1).T
        return H

    def model(self, H: Array) -> Array:
        """Return W H + eps^(3/4) mean(v), so that every loss is finite.

        Samples that are 0 get the constant tiny^(1/4).
        """
        P = times(self.W, H)
        kind, totals = np.finfo(P.dtype), self._totals()
        offset = np.where(totals > 0.0, model_offset(P.dtype) * totals / len(P), kind.tiny**0.25)
        if self.observed is not None:  # any model is exact for a sample without observed entries
            offset[~self.observed.any(axis=0)] = 1.0
        P += offset.astype(P.dtype)
        return P

    def value(self, P: Array, H: Array) -> Array:
        """Return the objective of each sample."""
        value: Array = self.loss.value(self._data(P), P) + self.cost(H)
        return value

    def cost(self, H: Array) -> Array:
        """Return the penalty of the codes of each sample."""
        cost = np.zeros(H.shape[1], H.dtype)
        if self.l1:
            cost += H.dtype.type(self.l1) * H.sum(axis=0)
        if self.l2:
            cost += H.dtype.type(0.5 * self.l2) * np.einsum("kb,kb->b", H, H)
        return cost

    def grad(self, P: Array) -> Array:
        """Return the derivative of the loss in the model."""
        return self._masked(self.loss.grad(self._data(P), P))

    def curvature(self, P: Array, steepest: float, filled: bool = False) -> Array:
        """Return the second derivative of the loss in the model, or half-quadratic weights.

        With ``filled``, missing entries count as exactly fitted ones, so that a curvature shared
        by all entries keeps its shape. Half-quadratic weights are inverse residuals, which are
        infinite for an exact fit: they are bounded by ``steepest`` times the weight of the mean
        residual of the sample.
        """
        curvature = self.loss.curvature(self._data(P), P)
        curvature = curvature if filled else self._masked(curvature)
        if not getattr(self.loss, "half_quadratic", False) or len(curvature) == 1:
            return curvature
        if not isinstance(self.loss, WeightedLoss):
            return _bounded(curvature, steepest)
        weights, observed = self.loss.weights, curvature > 0.0
        plain = np.divide(curvature, weights, out=np.zeros_like(curvature), where=observed)
        return weights * _bounded(plain, steepest)

    def entry_weights(self) -> Array:
        """Return the weights of the entries, 0 at missing ones."""
        if isinstance(self.loss, WeightedLoss):
            return self.loss.weights
        if self.observed is None:
            return np.ones_like(self.V)
        return np.asarray(self.observed, self.W.dtype)

    def residual(self, P: Array) -> Array:
        """Return model minus data, 0 at missing entries."""
        return self._masked(P - self.V)

    def split(self, P: Array) -> tuple[Array, Array]:
        """Return the negative and the positive part of the derivative of the loss in the codes.

        Both are nonnegative; the derivative is the second minus the first.
        """
        neg, pos = self.loss.split(self._data(P), P)
        return self._in_codes(neg), self._in_codes(pos)

    def split_in_dictionary(self, H: Array, shares: Array | None = None) -> tuple[Array, Array]:
        """Return the negative and the positive part of the derivative in the dictionary.

        ``shares`` are weights of the samples.
        """
        P = self.model(H)
        neg, pos = self.loss.split(self._data(P), P)
        G = weighted_codes(H, shares)
        return self._in_dictionary(neg, G), self._in_dictionary(pos, G)

    def take(self, columns: Indices | slice) -> "DivergenceProblem":
        """Return the problem of the selected samples, in column-major order."""
        observed = (
            None
            if self.observed is None
            else np.asfortranarray(take_columns(self.observed, columns))
        )
        loss: Any = self.loss
        if isinstance(loss, WeightedLoss):
            loss = loss.take(columns)
        V = np.asfortranarray(take_columns(self.V, columns))
        return replace(self, loss=loss, V=V, observed=observed)

    def codes(self, H: Array, solved: Mask) -> Codes:
        """Return the result of an encoder at codes H."""
        P = self.model(H)
        V = self._data(P)
        R = self.loss.outliers(V, P)
        if self.observed is not None:
            R = np.where(self.observed.T, R.T, (self.V - P).T).T
        cost = self.cost(H)
        return Codes(H, R, self.loss.value(V, P) + cost, cost, solved)

    def _totals(self) -> Array:
        """Return the sum of each sample over its observed entries."""
        totals: Array = (self.V if self.observed is None else self.V * self.observed).sum(axis=0)
        return totals

    def _data(self, P: Array) -> Array:
        if self.observed is None:
            return self.V
        V = P.copy(order="K")
        np.copyto(V, self.V, where=self.observed)
        return V

    def _masked(self, X: Array) -> Array:
        return X if self.observed is None else X * self.observed

    def _in_codes(self, part: Array) -> Array:
        """Return W' times a part of the gradient, which may be one number per sample."""
        part = self._masked(part)
        if part.shape == self.V.shape:
            return times(self.W.T, part)
        whole: Array = part * self.W.sum(axis=0)[:, None]
        return whole

    def _in_dictionary(self, part: Array, H: Array) -> Array:
        """Return a part of the gradient times H'; the part may be one number per sample."""
        part = self._masked(part)
        if part.shape == self.V.shape:
            return times(part, H.T)
        whole: Array = part * H.sum(axis=1)
        return whole


def weighted_codes(H: Array, shares: Array | None) -> Array:
    """Return the codes times the weights of their samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.divergence_problem import weighted_codes
    >>> weighted_codes(np.ones((1, 2)), np.array([0.5, 1.5]))
    array([[0.5, 1.5]])
    """
    return H if shares is None else H * shares.astype(H.dtype)


def _bounded(curvature: Array, steepest: float) -> Array:
    """Return half-quadratic weights, at most ``steepest`` times that of the mean residual."""
    observed = curvature > 0.0
    residual = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=observed)
    mean = residual.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    least = np.maximum(mean / steepest, np.finfo(curvature.dtype).tiny)
    bounded: Array = np.minimum(curvature, (1.0 / least).astype(curvature.dtype))
    return bounded
