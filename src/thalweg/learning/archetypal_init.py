"""Initial states of archetypes, and initial values of missing entries."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._typing import Array, Mask
from thalweg.archetypes import DataMatrix, Problem, State, initialisation
from thalweg.archetypes.block_descent import Descent
from thalweg.archetypes.certificate import Certificate
from thalweg.archetypes.outer_approximation import OuterApproximation

__all__ = ["INITS", "InitialState", "auto_inits", "impute", "impute_means", "initial_state"]

INITS = ("auto", "mip", "projections", "robust-projections", "random", "samples", "zero")
# Initialisations of "auto", and those for data with many entries, to bound the run time.
_AUTO_INITS = ("projections", "robust-projections", "zero", "samples", "random")
_AUTO_INITS_OF_LARGE_DATA = _AUTO_INITS[:2]
# Number of entries above which data are large (256 MB in float64). It only bounds the run time.
_LARGE = 2**25
# Sweeps after which the two results of the outer approximation are compared: (17) at the results
# themselves would be misleading, since they minimise (22).
_COMPARISON_SWEEPS = 10


class InitialState(NamedTuple):
    """An initial state, with its certificate if the outer approximation computed it.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import zero
    >>> from thalweg.learning.archetypal_init import InitialState
    >>> InitialState(zero(DataMatrix.of(np.eye(3)), 2)).state.H.shape
    (2, 3)
    """

    state: State
    certificate: Certificate | None = None


def auto_inits(shape: tuple[int, int]) -> tuple[str, ...]:
    """Return the initialisations that ``init="auto"`` tries, for data of a shape.

    Examples
    --------
    >>> from thalweg.learning.archetypal_init import auto_inits
    >>> auto_inits((10**6, 100))
    ('projections', 'robust-projections')
    """
    return _AUTO_INITS_OF_LARGE_DATA if shape[0] * shape[1] > _LARGE else _AUTO_INITS


def initial_state(
    name: str, problem: Problem, n_components: int, rng: np.random.Generator, mip_seconds: float
) -> InitialState:
    """Return the initial state of a named method.

    Parameters
    ----------
    name : str
        One of ``INITS``, except "auto".
    problem : Problem
        Data, weight and limit on the nonzeros.
    n_components : int
        Number of archetypes.
    rng : Generator
        For "samples" and "random".
    mip_seconds : float
        Time limit of "mip".

    Returns
    -------
    InitialState
        With a certificate for "mip".

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix, Problem
    >>> from thalweg.learning.archetypal_init import initial_state
    >>> problem = Problem(DataMatrix.of(np.eye(3)), weight=1.0)
    >>> initial_state("zero", problem, 2, np.random.default_rng(0), 1.0).state.H.max()
    np.float64(0.0)
    """
    rows, k = problem.rows, n_components
    if name == "mip":
        return _outer_approximation(problem, k, mip_seconds)
    if name == "zero":
        return InitialState(initialisation.zero(rows, k))
    if name == "random":
        H: Array = rng.random((k, rows.shape[1])) * rows.top
    elif name == "robust-projections":
        H = initialisation.robust_successive_projections(rows, k)
    elif name == "projections":
        H = rows.take(initialisation.successive_projections(rows, k))
    else:
        H = rows.take(initialisation.random_samples(rows, k, rng))
    return InitialState(initialisation.from_archetypes(rows, H))


def _outer_approximation(problem: Problem, n_components: int, seconds: float) -> InitialState:
    """Solve (22) with and without anchors, and keep the result with the smaller (17)."""
    rows = problem.rows
    nonzeros = problem.nonzeros or n_components * rows.shape[1]
    found = [
        OuterApproximation(n_components, anchors, seconds=seconds / 2).run(rows, nonzeros)
        for anchors in (None, initialisation.successive_projections(rows, n_components))
    ]
    short = Descent(max_sweeps=_COMPARISON_SWEEPS, swaps=False)
    best = min(found, key=lambda one: short.run(problem, one.state).point.objective).state
    return InitialState(best, Certificate.of(problem, best, *found))


def impute_means(X: Any) -> tuple[DataMatrix, Mask | None]:
    """Replace missing entries by the mean of their feature; also return the observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.archetypal_init import impute_means
    >>> rows, observed = impute_means(np.array([[1.0, 2.0], [3.0, np.nan]]))
    >>> float(rows.X[1, 1]), bool(observed[1, 1])
    (2.0, False)
    """
    values = X.data if sparse.issparse(X) else X
    if not np.isnan(np.sum(values, dtype=np.float64)):
        return DataMatrix.of(X), None
    # Contiguous, so that rounding errors of sums do not depend on the order in memory.
    dense = np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    observed = ~np.isnan(dense)
    known = np.where(observed, dense, 0.0)
    means = known.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    return DataMatrix.of(np.where(observed, known, means)), observed


def impute(observed: Mask | None, rows: DataMatrix, state: State) -> DataMatrix:
    """Replace missing entries by the low-rank part of a state.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix, State
    >>> from thalweg.learning.archetypal_init import impute
    >>> rows, state = DataMatrix.of(np.ones((1, 2))), State(np.full((1, 2), 5.0), np.eye(1), None)
    >>> impute(np.array([[True, False]]), rows, state).X
    array([[1., 5.]])
    """
    return rows if observed is None else DataMatrix(np.where(observed, rows.X, state.W @ state.H))
