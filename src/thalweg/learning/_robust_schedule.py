"""When weights of batch NMF with outliers follow the residuals, and when its rounds end."""

from typing import TYPE_CHECKING

import numpy as np

from thalweg.learning.rounds import RoundState

if TYPE_CHECKING:
    from thalweg.learning.robust_rounds import RobustRounds

# Rounds in which an automatic outlier weight follows the residuals. It is fixed afterwards, so that
# all later rounds minimise the same objective.
_WEIGHT_ROUNDS = 10
# Noise scales of the features follow the residuals for so many rounds, once the fit with equal
# scales has converged, or after so many rounds: before, residuals contain what the dictionary has
# not learned yet. test: estimators/test_noise_per_feature.py
_SCALE_ROUNDS, _LONGEST_COMMON = 10, 50
# Rounds with a small change of the objective before the iteration stops: the objective of ADMM may
# not change in a single round.
_PATIENCE = {"fast": 1, "pgd": 1, "admm": 3}


class Schedule:
    """When weights follow the residuals, and when the rounds end."""

    def __init__(self, learner: "RobustRounds", state: RoundState) -> None:
        self.learner = learner
        self.last_followed = 0 if learner.model.outlier_weight is not None else _WEIGHT_ROUNDS
        self.scales_from: float = np.inf  # round from which scales follow the residuals
        self.waits = learner.model.per_feature and state.relative_scales is None
        self.plateau = self._plateau()

    def follows(self, n_iter: int) -> tuple[bool, bool]:
        """Return whether noise, and whether scales of features follow the residuals of a round."""
        follows = n_iter <= self.last_followed
        return follows, follows and n_iter >= self.scales_from

    def ends(self, n_iter: int, objective: float) -> bool:
        """Return whether the rounds end; at the end with equal scales, others follow."""
        ended = self.plateau.reached(n_iter, objective)
        if not self.waits:
            return ended
        if ended or n_iter >= _LONGEST_COMMON:
            self.waits, self.scales_from = False, n_iter + 1
            self.last_followed = n_iter + _SCALE_ROUNDS
            self.plateau = self._plateau()
        return False

    def _plateau(self) -> "_Plateau":
        return _Plateau(self.last_followed, self.learner.tol, _PATIENCE[self.learner.solver])


class _Plateau:
    """Stopping criterion: the objective has hardly changed for some rounds."""

    def __init__(self, ignored_rounds: int, tol: float, patience: int) -> None:
        self.ignored_rounds, self.tol, self.patience = ignored_rounds, tol, patience
        self.n_still, self.previous = 0, np.inf

    def reached(self, n_iter: int, objective: float) -> bool:
        """Test the criterion after round ``n_iter``, counted from 1."""
        if n_iter <= self.ignored_rounds or self.tol == 0.0:
            return False
        if np.isfinite(self.previous):
            still = abs(self.previous - objective) <= self.tol * self.previous
            self.n_still = self.n_still + 1 if still else 0
        self.previous = objective
        return self.n_still == self.patience
