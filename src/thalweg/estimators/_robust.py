"""Base of online and batch robust NMF: parameters, and the encoder with a prior."""

from typing import Any

from thalweg.divergences.huber import Huber
from thalweg.encoders import Encoder
from thalweg.estimators import parameters
from thalweg.estimators._alarms import Alarms
from thalweg.estimators._rank import RankSearch
from thalweg.learning.divergence import DivergenceModel
from thalweg.learning.whitened_encoder import WhitenedEncoder
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant
from thalweg.solvers import MatrixSolver
from thalweg.solvers.admm import MatrixAdmm
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.solvers.projected_gradient import ProjectedGradient

__all__ = ["MATRIX_SOLVERS", "RobustEstimator"]

MATRIX_SOLVERS: dict[str, type[MatrixSolver]] = {
    "fast": BlockCoordinate,
    "pgd": ProjectedGradient,
    "admm": MatrixAdmm,
}


# Relative accuracy of the fits that compare ranks, as the default of the online methods.
_TRIAL_TOL = 1e-3


class RobustEstimator(Alarms, RankSearch):
    """Base of the estimators of X = codes @ components + outliers."""

    finds_rank = True
    n_components: Any
    n_features_in_: int
    solver: Any
    outlier_weight: Any
    outlier_bound: Any
    outlier_sign: Any
    outlier_structure: Any
    noise: Any
    constraint: Any
    code_penalty: Any
    dictionary_penalty: Any
    frozen_components: Any
    init: Any
    tol: Any
    outlier_weight_: float

    def _rank_model(self) -> DivergenceModel:
        """Return the model with Huber's loss, which is what outliers with an l1 norm amount to."""
        model, weight = (
            parameters.robust_model(self),
            parameters.outlier_weight(self.outlier_weight),
        )
        penalty = parameters.code_penalty(self.code_penalty, model.n_components)
        if not hasattr(penalty, "coefficients"):
            penalty = Orthant()  # Huber's loss is fitted without other penalties
        loss = Huber(weight or None)
        return DivergenceModel(
            model.n_components, loss, penalty, model.constraint, model.frozen, tol=_TRIAL_TOL
        )

    def _encoder_with_prior(self, penalty: Prox) -> Encoder | None:
        if self.solver != "fast":
            return None  # the solvers of [O] stop early, which already shrinks the codes
        encoder = self._encoder()
        if isinstance(encoder, WhitenedEncoder) and encoder.penalty == Orthant():
            return encoder.with_penalty(penalty)
        return super()._encoder_with_prior(penalty)
