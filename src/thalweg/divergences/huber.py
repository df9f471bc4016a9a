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

# Huber threshold, in standard deviations of the noise, with an efficiency of 95 % under Gaussian
# noise (P. J. Huber, Robust Statistics, 1981).
EFFICIENT_THRESHOLD = 1.345


@dataclass(frozen=True)
class Huber:
    """Huber's loss, sum h(v - p).

    h(u) is u^2 / 2 for |u| <= delta, and delta (|u| - delta / 2) otherwise: quadratic in small
    residuals and linear in large ones, whose excess over delta counts as outliers ([D] Table III,
    footnote, where delta is called alpha). It is differentiable and convex in p (Remark 1).

    Parameters
    ----------
    delta : float or None
        Huber threshold, > 0, in the units of the data. With None, :meth:`tuned` must be called
        before any other method.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.huber import Huber
    >>> Huber(delta=1.0).outliers(np.array([1.5, 9.0]), np.array([1.0, 1.0]))
    array([0., 7.])
    >>> Huber().tuned(scale=2.0)
    Huber(delta=2.69)
    """

    name: ClassVar[str] = "huber"
    aliases: ClassVar[tuple[str, ...]] = ()
    convex: ClassVar[bool] = True
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    growth: ClassVar[tuple[float, float]] = (1.0, 0.0)
    half_quadratic: ClassVar[bool] = True
    slope_at_zero: ClassVar[None] = None
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.delta is not None:
            require_positive(delta=self.delta)

    def tuned(self, scale: float) -> "Huber":
        """Return the loss with delta = 1.345 scale, or itself if delta is a number.

        ``scale`` is the standard deviation of the residuals without outliers.
        """
        if self.delta is not None:
            return self
        require_positive(scale=scale)
        return replace(self, delta=EFFICIENT_THRESHOLD * float(scale))

    @property
    def _threshold(self) -> float:
        if self.delta is None:
            raise ParameterError(
                "delta, the threshold of Huber's loss, must be a number, got None. Use a number, "
                "Huber(delta=1.0), or call tuned(scale) with the scale of the residuals."
            )
        return float(self.delta)

    def value(self, v: Array, p: Array) -> Array:
        """Return the loss of each column."""
        return column_sums(partial(_loss, delta=self._threshold), v, p)

    def grad(self, v: Array, p: Array) -> Array:
        """Return p - v, clipped to [-delta, delta]."""
        grad = p - v
        return np.clip(grad, -self._threshold, self._threshold, out=grad)

    def curvature(self, v: Array, p: Array) -> Array:
        """Return the half-quadratic weights delta / max(delta, |v - p|)."""
        return inverse(v - p, self._threshold, scale=self._threshold)

    def weights(self, residual: Array, floor: Array) -> Array:
        """Return delta / max(delta, |u|) of each entry; the floor has no effect."""
        return inverse(residual.copy(), self._threshold, scale=self._threshold)

    def smoothed(self, residual: Array, floor: Array) -> Array:
        """Return the loss of each entry, which has no kink."""
        return _loss(residual, np.zeros_like(residual), self._threshold)

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return w v and w p with the weights w of :meth:`curvature`."""
        return weighted_split(self.curvature(v, p), v, p)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return the excess of v - p over delta."""
        return entrywise(partial(_excess, delta=self._threshold), v, p)


def _loss(v: Array, p: Array, delta: float) -> Array:
    size = np.abs(v - p)
    low = np.minimum(size, delta)
    loss: Array = low * (size - low / 2)  # [D] Table III
    return loss


def _excess(v: Array, p: Array, delta: float) -> Array:
    residual = v - p
    residual -= np.clip(residual, -delta, delta)
    return residual
