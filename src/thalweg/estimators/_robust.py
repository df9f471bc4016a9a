"""Base of online and batch robust NMF: parameters, and the encoder with a prior."""

from typing import Any

from thalweg.encoders import Encoder
from thalweg.estimators._alarms import Alarms
from thalweg.prox import Prox
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


class RobustEstimator(Alarms):
    """Base of the estimators of X = codes @ components + outliers."""

    n_components: Any
    n_features_in_: int
    solver: Any
    outlier_weight: Any
    outlier_bound: Any
    outlier_sign: Any
    outlier_structure: Any
    constraint: Any
    code_penalty: Any
    dictionary_penalty: Any
    frozen_components: Any
    init: Any
    tol: Any
    outlier_weight_: float

    def _encoder_with_prior(self, penalty: Prox) -> Encoder | None:
        # The solvers of [O] stop early, which already shrinks the codes.
        return super()._encoder_with_prior(penalty) if self.solver == "fast" else None
