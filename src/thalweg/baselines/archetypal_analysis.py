"""Archetypal analysis (Cutler and Breiman, 1994)."""

from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes import DataMatrix
from thalweg.archetypes.archetypal_analysis import archetypal_analysis
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.initialisation import furthest_sum, random_samples
from thalweg.archetypes.simplex_codes import SimplexCodes
from thalweg.baselines._base import BatchBaseline, BatchResult
from thalweg.encoders import Encoder
from thalweg.estimators.parameters import check_archetypes
from thalweg.learning.dictionaries import given_components

__all__ = ["ArchetypalAnalysis"]


class ArchetypalAnalysis(BatchBaseline):
    """Archetypes in the convex hull of the samples.

    Minimises ``|X - W T X|^2`` over W and T with rows in the simplex, by the active-set method of
    Chen et al. The archetypes are the rows of T X. :class:`thalweg.SparseArchetypalNMF` allows
    archetypes outside of the hull.

    Parameters
    ----------
    n_components : int, default=10
        Number of archetypes, at most the number of samples.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative decrease of the objective in an iteration below which the fit stops. With 0 it
        runs to ``max_iter``.
    init : {"auto", "furthest-sum", "samples"} or array, default="auto"
        Initial archetypes: samples that are far from one another, random samples, or the points of
        the hull that are nearest to given ones. ``"auto"`` is ``"furthest-sum"``.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial archetypes.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The archetypes.
    objective_ : float
        ``|X - W T X|^2``.
    n_iter_ : int
        Number of iterations.
    n_samples_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    A. Cutler and L. Breiman, "Archetypal analysis", Technometrics, 1994.

    Y. Chen, J. Mairal and Z. Harchaoui, "Fast and robust archetypal analysis for representation
    learning", CVPR, 2014.

    M. Morup and L. K. Hansen, "Archetypal analysis for machine learning and data mining",
    Neurocomputing, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> X = np.vstack([corners, np.random.default_rng(0).dirichlet(np.ones(3), 40) @ corners])
    >>> model = baselines.ArchetypalAnalysis(3, random_state=0).fit(X)
    >>> bool(model.objective_ < 1e-6)
    True
    """

    _inits = ("auto", "furthest-sum", "samples")
    _auto_init = "furthest-sum"

    def __init__(
        self,
        n_components: int = 10,
        *,
        max_iter: int = 200,
        tol: float = 1e-6,
        init: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.random_state = random_state

    def _encoder(self) -> Encoder:
        return SimplexCodes()

    def _minimise(
        self, rows: DataMatrix, k: int, init: Any, rng: np.random.Generator
    ) -> BatchResult:
        check_archetypes(k, rows.shape[0])
        T = _initial_weights(init, rows, k, rng)
        found = archetypal_analysis(rows, T, self.tol, self.max_iter)
        converged = found.rounds < self.max_iter
        return BatchResult(rows.mixed(found.T), found.objective, found.rounds, converged)


def _initial_weights(init: Any, rows: DataMatrix, k: int, rng: np.random.Generator) -> Array:
    """Return the weights of the samples in the initial archetypes."""
    if not isinstance(init, str):
        H = given_components("init", init, (k, rows.shape[1]))
        return nearest_in_hull(rows, rows.correlated(H))[0]
    select = furthest_sum if init == "furthest-sum" else random_samples
    T = np.zeros((k, rows.shape[0]))
    T[np.arange(k), select(rows, k, rng)] = 1.0
    return T
