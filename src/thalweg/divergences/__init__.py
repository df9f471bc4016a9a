"""Losses d(v | p) of data v and model p = W h, summed over the entries of a sample.

The columns of an array are samples; a one-dimensional array is one sample. A divergence is a
frozen dataclass that can be created without arguments. It is found by its name or an alias.

A divergence with ``half_quadratic = True`` is a function of the residual, and its curvature gives
the weights of a quadratic majoriser. It also implements :class:`HalfQuadratic`.

At p = 0 all methods return the limit for p -> 0, which may be inf. They never return NaN for finite
v, p >= 0. Results have the dtype of the arguments.
"""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from thalweg._typing import Array

__all__ = ["Divergence", "HalfQuadratic", "Interval"]


class Interval(NamedTuple):
    """The domain of the data of a divergence, from ``low`` to ``high``.

    Attributes
    ----------
    low, high : float
        Bounds; ``high`` may be inf.
    closed : bool
        Whether ``low`` belongs to the domain.

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
    """A function d(v | p) >= 0 of data v and model p, 0 where they are equal.

    Attributes
    ----------
    name : str
        Name of the divergence, for the parameter ``loss``.
    aliases : tuple of str
        Other names.
    convex : bool
        Whether d is convex in p: the class D_2 of [D], Remark 1.
    domain : Interval
        Domain of the data v. The domain of the model p is [0, inf).
    growth : tuple of float
        The exponents (up, down) of the majoriser of :meth:`split`.
    slope_at_zero : float or None
        The derivative in p at v = 0 if it is the same for all p > 0, otherwise None. With a
        constant derivative, the zeros of sparse data are not visited.
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
        """Return weights c >= 0: the diagonal of the Hessian in p, or of a majoriser.

        The shape is (F, B), (F, 1) if all samples have the same weights, (1, B) if all features
        have, and (1, 1) for a constant; without the last axis for one vector.
        """
        ...

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return (neg, pos), both >= 0, with grad = pos - neg; possibly v and p themselves.

        With (up, down) = :attr:`growth` they define a majoriser. Let p = W h~ and h = r h~, entry
        by entry. The function with the value d(v | W h~) at h~ and the derivative
        (W' pos) r^up - (W' neg) r^(-down) in h is an upper bound of d(v | W h). Its minimum is at
        h~ (W' neg / W' pos)^(1 / (up + down)), which therefore does not increase the divergence.
        """
        ...

    def outliers(self, v: Array, p: Array) -> Array:
        """Return the part of v - p that counts as outliers; 0 for losses that are not robust."""
        ...


@runtime_checkable
class HalfQuadratic(Divergence, Protocol):
    """A loss f of the residual u, or of its norm, with a weighted square as majoriser.

    If f has a kink at 0, f_e is the loss with a parabola below the smoothing width e (``floor``).
    For all u and u~,

        f(u) <= f_e(u) <= f_e(u~) + w (u^2 - u~^2) / 2,  w = weights(u~, e),

    and f_e decreases with e, so that a descent may reduce e between two steps. The results of both
    methods have the shape of :meth:`curvature`: one number per entry, or per column.
    """

    half_quadratic: ClassVar[bool]

    def weights(self, residual: Array, floor: Array) -> Array:
        """Return the weights w at residuals of shape (F, B), with one floor per column."""
        ...

    def smoothed(self, residual: Array, floor: Array) -> Array:
        """Return the smoothed loss f_e."""
        ...
