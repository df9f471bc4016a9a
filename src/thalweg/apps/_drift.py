"""Measure the rotation of a subspace from batch to batch."""

from typing import Any

import numpy as np

from thalweg._typing import Array

__all__ = ["Drift"]

_MAX_POINTS = 4096  # beyond, neighbours are merged with the larger angle; bounds the memory


class Drift:
    """Record the largest principal angle between the subspaces before and after each batch."""

    def __init__(self) -> None:
        self.points: list[tuple[int, float]] = []
        self._before: Array | None = None

    def note(self, sample: int, model: Any) -> None:
        """Record the components after ``sample`` samples."""
        from thalweg.metrics import principal_angles

        basis = np.array(model.components_)
        # the basis of another rank is that of other rows, not a rotation
        if self._before is not None and self._before.shape == basis.shape:
            angle = float(np.max(principal_angles(basis, self._before)))
            self.points.append((sample, angle))
        self._before = basis
        if len(self.points) > _MAX_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            self.points = [(b, max(x, y)) for (_, x), (b, y) in pairs]
