"""Counts of which some are zero for another reason than a small mean."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Interval, _negative_binomial as entries
from thalweg.divergences._blocks import column_sums, filled
from thalweg.divergences._dispersion import checked_dispersion, fixed, key
from thalweg.errors import ParameterError

# Dispersion that stands for Poisson counts: a relative error of 1e-12 for counts up to 1.
_POISSON = 1e-12


@dataclass(frozen=True, eq=False)
class ZeroInflated:
    """The divergence of counts that are lost with probability q, and negative binomial otherwise.

    Positive counts have the negative binomial divergence of v and p. A zero has

        d(0 | p) = -log(q + (1 - q) (1 + a p)^(-1/a)),

    which is at most -log q: it does not say much against a large mean. This is the negative
    log-likelihood up to a constant. With a = 0 the counts are Poisson. The loss is not convex, and
    not among those of [D] Tables I to III. A zero counts in the gradient with the probability that
    it was not lost, so that multiplicative updates are steps of expectation maximisation.

    Parameters
    ----------
    dispersion : float, array of shape (n_features,), "common" or "per-feature"
        The dispersion a >= 0, as of :class:`NegativeBinomial`.
    inflation : float or "auto"
        Probability q of a lost count, in [0, 1). Estimators replace ``"auto"`` by an estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.zero_inflated import ZeroInflated
    >>> d = ZeroInflated(dispersion=0.0, inflation=0.5)
    >>> d.value(np.array([[0.0, 0.0, 3.0]]), np.array([[0.1, 50.0, 3.0]])).round(4)
    array([0.0488, 0.6931, 0.    ])
    """

    name: ClassVar[str] = "zero-inflated"
    aliases: ClassVar[tuple[str, ...]] = ("zinb",)
    convex: ClassVar[bool] = False
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    growth: ClassVar[tuple[float, float]] = (0.0, 1.0)
    slope_at_zero: ClassVar[None] = None
    dispersion: Any = "common"
    inflation: Any = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dispersion", checked_dispersion(self.dispersion, 0.0))
        q, numeric = self.inflation, isinstance(self.inflation, (int, float, np.number))
        if not (isinstance(q, str) and q == "auto") and not (numeric and 0.0 <= q < 1.0):
            raise ParameterError(
                f"inflation must be 'auto' or a number of at least 0 and below 1, got {q!r}. "
                "It is the share of the counts that are lost."
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZeroInflated) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> object:
        return key(self.dispersion), self.inflation

    @property
    def is_open(self) -> bool:
        """Whether the dispersion or the inflation is still to be estimated."""
        return isinstance(self.dispersion, str) or isinstance(self.inflation, str)

    def tuned(self, dispersion: float | Array, inflation: float = 0.1) -> "ZeroInflated":
        """Return the loss with estimates in the place of what is open."""
        a = dispersion if isinstance(self.dispersion, str) else self.dispersion
        q = float(inflation) if isinstance(self.inflation, str) else self.inflation
        return replace(self, dispersion=a, inflation=q) if self.is_open else self

    def restricted(self, features: Any) -> "ZeroInflated":
        """Return the loss of some features, or of one."""
        if not isinstance(self.dispersion, np.ndarray):
            return self
        return replace(self, dispersion=self.dispersion[features])

    def value(self, v: Array, p: Array) -> Array:
        """Return the divergence of each column."""
        return column_sums(_first, *2 * (self._entries(self._divergence, v, p),))

    def grad(self, v: Array, p: Array) -> Array:
        """Return the derivative in p; that of a zero is multiplied by its probability."""
        return self._entries(self._gradient, v, p)

    def curvature(self, v: Array, p: Array) -> Array:
        """Return 1 / (p (1 + a p)), the second derivative at v = p > 0."""
        return self._entries(entries.curvature, v, p)

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return v / p and (1 + a v) / (1 + a p), times the probability of a zero."""
        return entries.falling(v, p), self._entries(self._rising, v, p)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return 0, since the loss is not robust."""
        return filled(v, p, 0)

    def counted(self, v: Array, p: Array) -> Array:
        """Return the probability that an entry was not lost: 1 for positive counts."""
        return self._entries(self._probability, v, p)

    def _entries(self, function: entries.EntryFunction, v: Array, p: Array) -> Array:
        if isinstance(self.inflation, str):
            raise ParameterError(
                f"inflation must be known to compute the loss, got {self.inflation!r}. Use a "
                "number, or call tuned with an estimate."
            )
        known = fixed(self.dispersion, np.broadcast_shapes(v.shape, p.shape)[0])
        return entries.with_dispersion(function, v, p, np.maximum(known, _POISSON)[()])

    @np.errstate(all="ignore")
    def _divergence(self, v: Array, p: Array, a: Array) -> Array:
        lost = -np.log1p((1 - self.inflation) * np.expm1(-np.log1p(a * p) / a))
        return np.where(v == 0, lost, entries.divergence(v, p, a)).astype(p.dtype)

    def _gradient(self, v: Array, p: Array, a: Array) -> Array:
        return entries.gradient(v, p, a) * self._probability(v, p, a)

    def _rising(self, v: Array, p: Array, a: Array) -> Array:
        return entries.rising(v, p, a) * self._probability(v, p, a)

    @np.errstate(all="ignore")
    def _probability(self, v: Array, p: Array, a: Array) -> Array:
        odds = self.inflation / (1 - self.inflation) * np.exp(np.log1p(a * p) / a)
        if self.inflation == 0.0:
            odds = np.zeros_like(p)
        return np.where(v == 0, 1 / (1 + odds), 1).astype(p.dtype)


def _first(each: Array, _: Array) -> Array:
    return each
