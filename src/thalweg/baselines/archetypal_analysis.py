"""Exact archetypal analysis (Cutler and Breiman, 1994)."""

from typing import Any

import numpy as np

from thalweg.archetypes import DataMatrix
from thalweg.archetypes.archetypal_analysis import archetypal_analysis
from thalweg.archetypes.initialisation import furthest_sum
from thalweg.archetypes.simplex_codes import SimplexCodes
from thalweg.baselines._base import Baseline, Learned
from thalweg.encoders import Encoder
from thalweg.estimators.parameters import check_archetypes

__all__ = ["ArchetypalAnalysis"]


class ArchetypalAnalysis(Baseline):
    """Archetypes that are mixtures of samples themselves (Cutler and Breiman, 1994).

    Minimises |X - W T X|^2 over W and T with rows in the simplex, by the active sets of Chen et
    al.; :class:`thalweg.SparseArchetypalNMF` lets archetypes leave the hull of the data.

    Parameters
    ----------
    n_components : int, default=10
        Number of archetypes, at most that of the samples.
    max_iter : int, default=200
        Cap on the rounds.
    tol : float, default=1e-6
        Relative decrease in a round at which to end.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start: samples far from one another, found from one by chance.

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

    def __init__(
        self,
        n_components: int = 10,
        *,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _encoder(self) -> Encoder:
        return SimplexCodes()

    def _learn(self, rows: DataMatrix, k: int, rng: np.random.Generator) -> Learned:
        check_archetypes(k, rows.shape[0])
        T = np.zeros((k, rows.shape[0]))
        T[np.arange(k), furthest_sum(rows, k, rng)] = 1.0
        found = archetypal_analysis(rows, T, self.tol, self.max_iter)
        return Learned(rows.mixed(found.T), found.objective, found.rounds)
