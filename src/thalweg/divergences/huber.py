"""Huber's loss."""

from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._checks import require_positive
from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums, entrywise
from thalweg.divergences._half_quadratic import inverse, weighted_split
from thalweg.errors import ParameterError

EFFICIENT = 1.345  # 95 % as efficient as least squares on Gaussian noise of scale one


@dataclass(frozen=True)
class Huber:
    """sum h(v - p), with h(u) = u^2 / 2 for |u| <= alpha, else alpha (|u| - alpha / 2).

    [D] Table III, footnote: quadratic in small residuals and linear in large ones, which it
    takes for outliers. Differentiable and convex in p (Remark 1).

    Parameters
    ----------
    alpha : float or None
        The knee, > 0, in the units of the data. None leaves it to :meth:`tuned`, which has to
        be called before any other method.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.huber import Huber
    >>> Huber(alpha=1.0).outliers(np.array([1.5, 9.0]), np.array([1.0, 1.0]))
    array([0., 7.])
    >>> Huber().tuned(scale=2.0)
    Huber(alpha=2.69)
    """

    name: ClassVar[str] = "huber"
    aliases: ClassVar[tuple[str, ...]] = ()
    convex: ClassVar[bool] = True
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    growth: ClassVar[tuple[float, float]] = (1.0, 0.0)
    half_quadratic: ClassVar[bool] = True
    slope_at_zero: ClassVar[None] = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.alpha is not None:
            require_positive(alpha=self.alpha)

    def tuned(self, scale: float) -> "Huber":
        """Return the loss with alpha = 1.345 scale, or itself when alpha was given.

        ``scale`` is the standard deviation of the residuals without their outliers.
        """
        if self.alpha is not None:
            return self
        require_positive(scale=scale)
        return replace(self, alpha=EFFICIENT * float(scale))

    @property
    def _knee(self) -> float:
        if self.alpha is None:
            raise ParameterError(
                "alpha, the threshold of Huber's loss, must be a number, got None. Use a number, "
                "Huber(alpha=1.0), or call tuned(scale) with the scale of the residuals."
            )
        return float(self.alpha)

    def value(self, v: Array, p: Array) -> Array:
        """Return the loss of each column."""
        return column_sums(partial(_loss, knee=self._knee), v, p)

    def grad(self, v: Array, p: Array) -> Array:
        """Return p - v, clipped to the knee."""
        grad = p - v
        return np.clip(grad, -self._knee, self._knee, out=grad)

    def curvature(self, v: Array, p: Array) -> Array:
        """Return the weights alpha / max(alpha, |v - p|), which majorise."""
        return inverse(v - p, self._knee, scale=self._knee)

    def weights(self, residual: Array, floor: Array) -> Array:
        """Return alpha / max(alpha, |u|), an entry each; the floor does not matter."""
        return inverse(residual.copy(), self._knee, scale=self._knee)

    def smoothed(self, residual: Array, floor: Array) -> Array:
        """Return the loss, an entry each: it is smooth itself."""
        return _loss(residual, np.zeros_like(residual), self._knee)

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return w v and w p with the weights w of :meth:`curvature`."""
        return weighted_split(self.curvature(v, p), v, p)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return v - p as far as it is beyond the knee."""
        return entrywise(partial(_excess, knee=self._knee), v, p)


def _loss(v: Array, p: Array, knee: float) -> Array:
    size = np.abs(v - p)
    low = np.minimum(size, knee)
    loss: Array = low * (size - low / 2)  # [D] Table III
    return loss


def _excess(v: Array, p: Array, knee: float) -> Array:
    residual = v - p
    residual -= np.clip(residual, -knee, knee)
    return residual
