"""A divergence between data and model, with gaps and with the codes' elastic-net penalty."""

from dataclasses import dataclass, replace

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.divergences import Divergence
from thalweg.encoders import Codes
from thalweg.encoders.columns import take_columns, times
from thalweg.errors import ParameterError
from thalweg.prox import Prox

__all__ = ["DivergenceProblem", "coefficients"]


def coefficients(penalty: Prox) -> tuple[float, float]:
    """Return the weights of a codes' penalty a sum(h) + b |h|^2 / 2.

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
            "'l2' or 'elastic-net'; others go with RobustOnlineNMF."
        )
    return float(found[0]), float(found[1])


@dataclass(frozen=True, eq=False)
class DivergenceProblem:
    """d(V | W H) + l1 sum(H) + l2/2 |H|^2 for each column, over the entries observed.

    A gap is an entry that fits: there the data are taken to be the model, so that it adds
    nothing to the value, and it is left out of the gradient and of the curvature.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    V : array of shape (F, B)
        Samples.
    W : array of shape (F, K)
        Dictionary.
    observed : boolean array of shape (F, B) or None
        False at gaps.
    l1, l2 : float
        Weights of the codes' penalty.

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
        """Return equal codes for each sample, of the size that its sum asks for."""
        if self.observed is None:
            weight = np.full(self.V.shape[1], self.W.sum(), self.V.dtype)
        else:
            weight = self.W.sum(axis=1) @ self.observed
        total = self._totals()
        level = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0.0)
        H: Array = np.repeat(level[:, None], self.W.shape[1], axis=1).T
        return H

    def model(self, H: Array) -> Array:
        """Return W H, and a tiny share of the mean of each sample.

        No loss is then infinite, not even where no atom has anything, nor a sample.
        """
        P = times(self.W, H)
        kind, totals = np.finfo(P.dtype), self._totals()
        haze = np.where(totals > 0.0, kind.eps**0.75 * totals / len(P), kind.tiny**0.25)
        if self.observed is not None:  # where nothing was observed any model will do
            haze[~self.observed.any(axis=0)] = 1.0
        P += haze.astype(P.dtype)
        return P

    def value(self, P: Array, H: Array) -> Array:
        """Return the objective of each sample."""
        value: Array = self.loss.value(self._data(P), P) + self.cost(H)
        return value

    def cost(self, H: Array) -> Array:
        """Return what the penalty of the codes makes up."""
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
        """Return its second derivative, or weights that stand for it.

        With ``filled`` gaps count like entries that fit, and what is shared stays shared.
        The weights of the l1 distance are inverse residuals, and would hold an entry that fits
        where it is: they are at most ``steepest`` times that of the sample's mean residual.
        """
        curvature = self.loss.curvature(self._data(P), P)
        curvature = curvature if filled else self._masked(curvature)
        if not getattr(self.loss, "half_quadratic", False) or len(curvature) == 1:
            return curvature
        observed = curvature > 0.0
        residual = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=observed)
        mean = residual.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
        least = np.maximum(mean / steepest, np.finfo(curvature.dtype).tiny)
        bounded: Array = np.minimum(curvature, (1.0 / least).astype(curvature.dtype))
        return bounded

    def residual(self, P: Array) -> Array:
        """Return model minus data, zero at gaps."""
        return self._masked(P - self.V)

    def split(self, P: Array) -> tuple[Array, Array]:
        """Return the two nonnegative parts of the derivative of the loss in the codes."""
        neg, pos = self.loss.split(self._data(P), P)
        return self._back(neg), self._back(pos)

    def split_in_dictionary(self, H: Array) -> tuple[Array, Array]:
        """Return the two nonnegative parts of the derivative of the loss in the dictionary."""
        P = self.model(H)
        neg, pos = self.loss.split(self._data(P), P)
        return self._across(neg, H), self._across(pos, H)

    def take(self, columns: Indices | slice) -> "DivergenceProblem":
        """Return the problem of some samples only, each of them one run of memory."""
        observed = (
            None
            if self.observed is None
            else np.asfortranarray(take_columns(self.observed, columns))
        )
        return replace(self, V=np.asfortranarray(take_columns(self.V, columns)), observed=observed)

    def codes(self, H: Array, solved: Mask) -> Codes:
        """Return the result at some codes."""
        P = self.model(H)
        V = self._data(P)
        R = self.loss.outliers(V, P)
        if self.observed is not None:
            R = np.where(self.observed.T, R.T, (self.V - P).T).T
        cost = self.cost(H)
        return Codes(H, R, self.loss.value(V, P) + cost, cost, solved)

    def _totals(self) -> Array:
        """Return the sum of each sample over the entries observed."""
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

    def _back(self, part: Array) -> Array:
        """Return W' times a part of the gradient, which may be one number for all entries."""
        part = self._masked(part)
        if part.shape == self.V.shape:
            return times(self.W.T, part)
        whole: Array = part * self.W.sum(axis=0)[:, None]
        return whole

    def _across(self, part: Array, H: Array) -> Array:
        """Return a part of the gradient times H'."""
        part = self._masked(part)
        if part.shape == self.V.shape:
            return times(part, H.T)
        whole: Array = part * H.sum(axis=1)
        return whole
