"""How far a model is from the data: losses d(v | p) of a factorisation, summed over columns.

v is what was observed and p = W h what the model says. All of them work on the columns of an
array: each column is one sample, and a one-dimensional array is one sample. A divergence is a
frozen dataclass that can be built without arguments, and lives in a file of its own, where it
is found by name or by one of its aliases.

Beyond the contract below a divergence may say ``half_quadratic``: that it is a loss of the
residual, and its curvature the weights of squares that majorise it. It then follows
:class:`HalfQuadratic`, too.

At p = 0 the methods give the limit p -> 0 for the v at hand, which may be inf; none gives NaN
for finite v, p >= 0. Results have the dtype of the arguments.
"""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from thalweg._typing import Array

__all__ = ["Divergence", "HalfQuadratic", "Interval"]


class Interval(NamedTuple):
    """The data that a divergence can take, from ``low`` to ``high``, which may be inf.

    Attributes
    ----------
    low, high : float
        The ends.
    closed : bool
        Whether ``low`` itself belongs to it.

    Examples
    --------
    >>> from thalweg.divergences.itakura_saito import ItakuraSaito
    >>> ItakuraSaito().domain
    Interval(low=0.0, high=inf, closed=False)
    """

    low: float
    high: float
    closed: bool


@runtime_checkable
class Divergence(Protocol):
    """A function d(v | p) >= 0 of data v and model p, zero where they are equal.

    Attributes
    ----------
    name : str
        What users write to choose it.
    aliases : tuple of str
        What they may write instead.
    convex : bool
        Whether d is convex in p: the class D_2 of [D], Remark 1.
    domain : Interval
        Where the data v have to lie. The model p lies in [0, inf).
    growth : tuple of float
        The exponents (up, down) that belong to :meth:`split`.
    slope_at_zero : float or None
        The derivative in p at v = 0, if it is the same for all p > 0: then the zeros of sparse
        data need no visit.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]]

    @property
    def convex(self) -> bool: ...  # noqa: D102  described above
    @property
    def domain(self) -> Interval: ...  # noqa: D102
    @property
    def growth(self) -> tuple[float, float]: ...  # noqa: D102
    @property
    def slope_at_zero(self) -> float | None: ...  # noqa: D102

    def value(self, v: Array, p: Array) -> Array:
        """Return d(v | p) of each column: shape (n_columns,), or () for one vector."""
        ...

    def grad(self, v: Array, p: Array) -> Array:
        """Return the derivative in p, or a subgradient, entry by entry."""
        ...

    def curvature(self, v: Array, p: Array) -> Array:
        """Return weights c >= 0: the diagonal of the Hessian in p, or one that majorises it.

        The shape tells what is shared: (F, B), or (F, 1) when all samples have the same
        weights, (1, B) when all features have, (1, 1) when there is one for all; without the
        last axis for one vector.
        """
        ...

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return (neg, pos), both >= 0, with grad = pos - neg; they may be v and p themselves.

        With (up, down) = :attr:`growth` they majorise the divergence: let p = W h~ and
        h = r h~, entry by entry. The function that equals d(v | W h~) at h~ and has the
        derivative (W' pos) r^up - (W' neg) r^(-down) in h is nowhere below d(v | W h). Hence
        h~ (W' neg / W' pos)^(1 / (up + down)) is never worse than h~.
        """
        ...

    def outliers(self, v: Array, p: Array) -> Array:
        """Return the part of v - p that the loss takes for outliers; zeros for most."""
        ...


@runtime_checkable
class HalfQuadratic(Divergence, Protocol):
    """A loss f of the residual u, or of its length, that weighted squares majorise.

    Where f has a kink, f_e is the loss with a parabola below a floor e. For any u and u~,

        f(u) <= f_e(u) <= f_e(u~) + w (u^2 - u~^2) / 2,  w = weights(u~, e),

    and f_e(u) does not rise when e falls, so that a descent may lower e as it goes. Both methods
    have the shape of :meth:`curvature`: an entry each, or one for each column.
    """

    half_quadratic: ClassVar[bool]

    def weights(self, residual: Array, floor: Array) -> Array:
        """Return the weights w at residuals of shape (F, B), with a floor for each column."""
        ...

    def smoothed(self, residual: Array, floor: Array) -> Array:
        """Return f_e."""
        ...
