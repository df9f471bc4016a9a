"""The negative binomial divergence of counts."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Interval, _negative_binomial as entries
from thalweg.divergences._blocks import column_sums, filled
from thalweg.divergences._dispersion import checked_dispersion, fixed, key


@dataclass(frozen=True, eq=False)
class NegativeBinomial:
    """The negative binomial divergence, sum v log(v / p) - (v + 1/a) log((1 + a v) / (1 + a p)).

    It is the negative log-likelihood of counts v with mean p and variance p + a p^2, up to a
    constant: Poisson counts whose means vary by Gamma factors of mean 1 and variance a. It tends to
    Kullback-Leibler for a -> 0 and to 1/a times Itakura-Saito for a -> inf. It is differentiable
    but not convex in p, and not among the losses of [D] Tables I to III. The multiplicative updates
    are those of Gouvert, Oberlin and Fevotte, Negative binomial matrix factorization (2020).

    Parameters
    ----------
    dispersion : float, array of shape (n_features,), "common" or "per-feature"
        The dispersion a > 0. Estimators replace ``"common"`` by an estimate from their first
        samples, and ``"per-feature"`` by one estimate for each feature; other code must call
        :meth:`tuned` before any other method.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.negative_binomial import NegativeBinomial
    >>> NegativeBinomial(0.5).value(np.array([0.0, 4.0]), np.array([2.0, 4.0])).round(4)
    np.float64(1.3863)
    """

    name: ClassVar[str] = "negative-binomial"
    aliases: ClassVar[tuple[str, ...]] = ("nb",)
    convex: ClassVar[bool] = False
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    growth: ClassVar[tuple[float, float]] = (0.0, 1.0)
    slope_at_zero: ClassVar[None] = None
    dispersion: Any = "common"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dispersion", checked_dispersion(self.dispersion, inf))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, NegativeBinomial)
        return same and key(self.dispersion) == key(other.dispersion)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(key(self.dispersion))

    def tuned(self, dispersion: float | Array) -> "NegativeBinomial":
        """Return the loss with an estimated dispersion, or itself if its own is known."""
        return replace(self, dispersion=dispersion) if self.is_open else self

    @property
    def is_open(self) -> bool:
        """Whether the dispersion is still to be estimated."""
        return isinstance(self.dispersion, str)

    def restricted(self, features: Any) -> "NegativeBinomial":
        """Return the loss of some features, or of one."""
        if not isinstance(self.dispersion, np.ndarray):
            return self
        return replace(self, dispersion=self.dispersion[features])

    def value(self, v: Array, p: Array) -> Array:
        """Return the divergence of each column; log(1 + a p) / a where v is 0."""
        each = entries.with_dispersion(entries.divergence, v, p, self._known(v, p))
        return column_sums(_first, each, each)

    def grad(self, v: Array, p: Array) -> Array:
        """Return (p - v) / (p (1 + a p))."""
        return entries.with_dispersion(entries.gradient, v, p, self._known(v, p))

    def curvature(self, v: Array, p: Array) -> Array:
        """Return 1 / (p (1 + a p)), the second derivative at v = p, as Fisher scoring has it."""
        return entries.with_dispersion(entries.curvature, v, p, self._known(v, p))

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return v / p and (1 + a v) / (1 + a p), whose part is concave."""
        rising = entries.with_dispersion(entries.rising, v, p, self._known(v, p))
        return entries.falling(v, p), rising

    def outliers(self, v: Array, p: Array) -> Array:
        """Return 0, since the loss is not robust."""
        return filled(v, p, 0)

    def _known(self, v: Array, p: Array) -> float | Array:
        return fixed(self.dispersion, np.broadcast_shapes(v.shape, p.shape)[0])


def _first(each: Array, _: Array) -> Array:
    return each
