"""How far a subspace turns, from batch to batch."""

from typing import Any

import numpy as np

from thalweg._typing import Array

__all__ = ["Drift"]

_MOST = 4096  # points; beyond, neighbours become one, with the larger angle


class Drift:
    """Angles between the subspaces before and after each batch, in bounded memory."""

    def __init__(self) -> None:
        self.points: list[tuple[int, float]] = []
        self._before: Array | None = None

    def note(self, sample: int, model: Any) -> None:
        """Take in the components after so many samples."""
        from thalweg.metrics import principal_angles

        basis = np.array(model.components_)
        if self._before is not None:
            angle = float(np.max(principal_angles(basis, self._before)))
            self.points.append((sample, angle))
        self._before = basis
        if len(self.points) > _MOST:
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            self.points = [(b, max(x, y)) for (_, x), (b, y) in pairs]
