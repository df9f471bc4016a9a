"""The result of learning sparse archetypes."""

from typing import NamedTuple

from thalweg.archetypes import DataMatrix, State
from thalweg.archetypes.certificate import Certificate
from thalweg.archetypes.constrained_problem import ConstrainedResult
from thalweg.archetypes.continuation import PathPoint

__all__ = ["ArchetypalFit"]


class ArchetypalFit(NamedTuple):
    """The archetypes of a fit, and how they were found.

    Attributes
    ----------
    state : State
        Archetypes H, codes W and hull weights T.
    rows : DataMatrix
        The data, with missing entries imputed.
    objective : float
        Value of (17), or of (3) in the constrained form.
    converged : bool
        Whether the stopping criterion was met.
    init : str
        The initialisation that led to the lowest objective.
    init_objectives : dict of str to float
        The objective of each initialisation.
    path : tuple of PathPoint
        The solution for each weight, and after each relaxation; empty in the constrained form.
    stationarity : float
        Norm of a further step on H, relative to that of H; NaN in the constrained form.
    constrained : ConstrainedResult or None
        Feasibility and distances; None in the penalised form.
    certificate : Certificate or None
        Only for ``init="mip"`` and data without missing entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.learning.archetypal import ArchetypalLearner
    >>> learner = ArchetypalLearner(n_components=2, init="projections")
    >>> learner.run(DataMatrix.of(np.eye(3)), None, np.random.default_rng(0)).init
    'projections'
    """

    state: State
    rows: DataMatrix
    objective: float
    converged: bool
    init: str
    init_objectives: dict[str, float]
    path: tuple[PathPoint, ...] = ()
    stationarity: float = float("nan")
    constrained: ConstrainedResult | None = None
    certificate: Certificate | None = None
