"""The group-lasso penalty."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import ClassVar

from thalweg._checks import require_nonnegative
from thalweg._typing import Array
from thalweg.prox._floats import on_floats
from thalweg.prox._groups import GroupPenalty, keep_labels


@on_floats
@dataclass(frozen=True)
class GroupLasso:
    """Shrink by groups: argmin_u weight sum_a sqrt(size_a) |u_a|_2 + |u - x|^2 / (2 step).

    [O] VI-B; u_a holds the entries of group a.

    Parameters
    ----------
    weight : float
        The weight of the sum of norms, >= 0.
    groups : sequence of hashable, optional
        The group label of each row; None for one group of all rows.
    nonnegative : bool
        Whether the entries must also be >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.group_lasso import GroupLasso
    >>> GroupLasso(groups=["a", "a", "a", "a", "b"]).prox(np.array([2.0, 2.0, 2.0, 2.0, 0.5]))
    array([1., 1., 1., 1., 0.])
    """

    name: ClassVar[str] = "group-lasso"
    convex: ClassVar[bool] = True
    weight: float = 1.0
    groups: Sequence[Hashable] | None = None
    nonnegative: bool = False

    def __post_init__(self) -> None:
        require_nonnegative(weight=self.weight)
        object.__setattr__(self, "groups", keep_labels(self.groups))

    @cached_property
    def _penalty(self) -> GroupPenalty:
        return GroupPenalty(0.0, self.weight, keep_labels(self.groups), self.nonnegative)

    def value(self, x: Array) -> Array:
        """Return weight sum_a sqrt(size_a) |x_a|_2 of each column."""
        return self._penalty.value(x)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the columns with the norm of each group reduced by weight sqrt(size_a) step."""
        return self._penalty.prox(x, step)

    def conjugate(self, y: Array) -> Array:
        """Return 0 where |y_a|_2 <= weight sqrt(size_a) for all groups, and inf elsewhere."""
        return self._penalty.conjugate(y)

    def parts(self) -> tuple["GroupLasso", tuple[float, float]]:
        """Return the norm without bounds, and the bounds of the entries, split as in [O] (24)."""
        return replace(self, nonnegative=False), (0.0 if self.nonnegative else -inf, inf)
