"""The sparse-group-lasso penalty."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from numbers import Real
from typing import ClassVar

from thalweg._checks import require_nonnegative
from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.prox._floats import on_floats
from thalweg.prox._groups import GroupPenalty, keep_labels


@on_floats
@dataclass(frozen=True)
class SparseGroupLasso:
    """Shrink by entries and groups: argmin_u g(u) + |u - x|^2 / (2 step).

    g(u) = weight (mix sum_a sqrt(size_a) |u_a|_2 + (1 - mix) |u|_1), [O] VI-B.

    Parameters
    ----------
    weight : float
        The weight of the whole penalty, >= 0.
    groups : sequence of hashable, optional
        The group label of each row; None for one group of all rows.
    mix : float
        The share of the group norms (nu in [O]), between 0 (l1 norm) and 1 (group lasso).
    nonnegative : bool
        Whether the entries must also be >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.sparse_group_lasso import SparseGroupLasso
    >>> SparseGroupLasso(weight=2.0, groups=[0, 0, 1]).prox(np.array([3.0, 0.5, 1.5]))
    array([0.58578644, 0.        , 0.        ])
    """

    name: ClassVar[str] = "sparse-group-lasso"
    convex: ClassVar[bool] = True
    weight: float = 1.0
    groups: Sequence[Hashable] | None = None
    mix: float = 0.5
    nonnegative: bool = False

    def __post_init__(self) -> None:
        require_nonnegative(weight=self.weight)
        if not (isinstance(self.mix, Real) and 0 <= self.mix <= 1):
            raise ParameterError(
                f"mix must be between 0 (l1 norm only) and 1 (group norms only), got {self.mix!r}."
            )
        object.__setattr__(self, "groups", keep_labels(self.groups))

    @cached_property
    def _penalty(self) -> GroupPenalty:
        l1, l2 = self.weight * (1 - self.mix), self.weight * self.mix
        return GroupPenalty(l1, l2, keep_labels(self.groups), self.nonnegative)

    def value(self, x: Array) -> Array:
        """Return g of each column."""
        return self._penalty.value(x)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Soft-threshold each entry, then reduce the norm of each group."""
        return self._penalty.prox(x, step)

    def conjugate(self, y: Array) -> Array:
        """Return 0 where the norms of all soft-thresholded groups are small enough, else inf."""
        return self._penalty.conjugate(y)

    def parts(self) -> tuple["SparseGroupLasso", tuple[float, float]]:
        """Return the norm without bounds, and the bounds of the entries, split as in [O] (24)."""
        return replace(self, nonnegative=False), (0.0 if self.nonnegative else -inf, inf)
