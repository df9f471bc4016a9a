"""The squared Mahalanobis distance."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums, filled, shared
from thalweg.divergences._psd import checked_psd
from thalweg.errors import InputError


@dataclass(frozen=True, eq=False)
class Mahalanobis:
    """Half the squared Mahalanobis distance, (v - p)' M (v - p) / 2.

    [D] Table II, where M is called A: differentiable and convex in p (Remark 1). If M is the
    inverse covariance of the noise, it is a Gaussian negative log-likelihood. Residuals in the null
    space of M have no loss.

    Parameters
    ----------
    matrix : array of shape (n_features, n_features) or (n_features,), or None
        M, symmetric and positive semidefinite, or the diagonal of a diagonal M; None for the
        identity. The array is copied.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.mahalanobis import Mahalanobis
    >>> Mahalanobis([1.0, 10.0]).value(np.array([1.0, 4.0]), np.array([3.0, 2.0]))
    np.float64(22.0)
    """

    name: ClassVar[str] = "mahalanobis"
    aliases: ClassVar[tuple[str, ...]] = ()
    convex: ClassVar[bool] = True
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    slope_at_zero: ClassVar[None] = None
    matrix: Array | None = None

    def __post_init__(self) -> None:
        if self.matrix is not None:
            object.__setattr__(self, "matrix", checked_psd(self.matrix))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mahalanobis) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> object:
        return None if self.matrix is None else (self.matrix.shape, self.matrix.tobytes())

    @property
    def growth(self) -> tuple[float, float]:
        """The exponents of :meth:`split`: (1, 0) if M has no negative entries, else (1, 1)."""
        return (1.0, 1.0 if self.matrix is not None and (self.matrix < 0).any() else 0.0)

    def value(self, v: Array, p: Array) -> Array:
        """Return the divergence of each column."""
        residual = v - p
        squares = column_sums(np.multiply, _product(self.matrix, residual), residual / 2)
        return np.maximum(squares, 0)  # [D] Table II

    def grad(self, v: Array, p: Array) -> Array:
        """Return M (p - v)."""
        return _product(self.matrix, p - v)

    def curvature(self, v: Array, p: Array) -> Array:
        """Return the diagonal of a diagonal M, or the row sums of |M|, which majorise M."""
        if self.matrix is None:
            return shared(v, p, 1)
        weights = np.abs(self.matrix)
        if weights.ndim == 2:
            weights = weights.sum(axis=1)
        weights = weights.astype(np.result_type(v, p), copy=False)
        return weights.reshape(-1, *(1,) * (max(v.ndim, p.ndim) - 1))

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return M+ v + M- p and M+ p + M- v, with M = M+ - M- and M+, M- nonnegative."""
        if self.matrix is None or self.growth[1] == 0:
            return _product(self.matrix, v), _product(self.matrix, p)
        plus, minus = np.maximum(self.matrix, 0), np.maximum(-self.matrix, 0)
        neg = _product(plus, v) + _product(minus, p)
        return neg, _product(plus, p) + _product(minus, v)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return 0, since the loss is not robust."""
        return filled(v, p, 0)


def _product(matrix: Array | None, x: Array) -> Array:
    """Return M x in the dtype of ``x``."""
    if matrix is None:
        return x
    if len(matrix) != len(x):
        raise InputError(
            f"matrix must have one row for each of the {len(x)} features, got {len(matrix)} rows. "
            "Pass a matrix of that size."
        )
    matrix = matrix.astype(x.dtype, copy=False)
    if matrix.ndim == 1:
        matrix = matrix.reshape(-1, *(1,) * (x.ndim - 1))
        return matrix * x
    product: Array = matrix @ x
    return product
