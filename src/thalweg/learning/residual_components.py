"""Nonnegative components of residuals, with which a fit goes on to a higher rank."""

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["nonnegative_component", "with_residual_components"]

# Iterations that find a nonnegative component of the residuals; it converges in a few.
_POWER_ITERATIONS = 10


def with_residual_components(W: Array, E: Array, observed: Mask | None, rank: int) -> Array:
    """Return a dictionary with columns added up to a rank, each fitted to what residuals are left.

    Parameters
    ----------
    W : array of shape (F, K)
        The dictionary.
    E : array of shape (F, N)
        Residuals.
    observed : boolean array of shape (F, N), or None
        Mask of the observed entries.
    rank : int
        Number of columns of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.residual_components import with_residual_components
    >>> with_residual_components(np.ones((2, 1)), np.diag([3.0, 2.0]), None, 3)
    array([[1., 1., 0.],
           [1., 0., 1.]])
    """
    columns = [W]
    for _ in range(rank - W.shape[1]):
        E = E if observed is None else E * observed
        w = nonnegative_component(E)
        E = E - np.outer(w, np.maximum(w @ E, 0.0))
        columns.append(w[:, None])
    return np.hstack(columns)


def nonnegative_component(E: Array) -> Array:
    """Return w of the nonnegative w h' nearest to E, from the sample with the largest residual.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.residual_components import nonnegative_component
    >>> nonnegative_component(np.outer([3.0, 4.0], [1.0, 2.0]))
    array([0.6, 0.8])
    """
    worst = np.argmax(np.square(np.maximum(E, 0.0)).sum(axis=0))
    w = np.maximum(E[:, worst], 0.0)
    for _ in range(_POWER_ITERATIONS):
        moved = np.maximum(E @ np.maximum(w @ E, 0.0), 0.0)
        size = float(np.linalg.norm(moved))
        if size == 0.0:
            break
        w = moved / w.dtype.type(size)
    unit: Array = w if w.any() else np.full_like(w, 1.0 / np.sqrt(len(w)))
    return unit
