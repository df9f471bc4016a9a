"""Parameters of online and batch robust NMF: the model with outliers."""

from typing import Any

from thalweg._checks import check_count, check_tol, choose
from thalweg.encoders import Encoder
from thalweg.encoders.admm import Admm
from thalweg.encoders.fast import Fast
from thalweg.encoders.pgd import Pgd
from thalweg.estimators import parameters
from thalweg.estimators.base import Factorization
from thalweg.learning.dictionaries import frozen_columns
from thalweg.learning.robust import RobustModel
from thalweg.prox import Prox
from thalweg.solvers import MatrixSolver
from thalweg.solvers.admm import MatrixAdmm
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.solvers.projected_gradient import ProjectedGradient

__all__ = ["RobustEstimator"]

# Below this tolerance, a small decrease of the loss does not imply accuracy, and the duality gap is
# the stopping criterion.
_GAP_TOL = 1e-5
_GAP_MAX_ITER = 100_000
_ENCODERS: dict[str, Any] = {"fast": Fast, "pgd": Pgd, "admm": Admm}
_MATRIX_SOLVERS: dict[str, Any] = {
    "fast": BlockCoordinate,
    "pgd": ProjectedGradient,
    "admm": MatrixAdmm,
}


class RobustEstimator(Factorization):
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

    def _model(self) -> RobustModel:
        """Return the model of these parameters, which are checked."""
        solver = choose("solver", self.solver, tuple(_ENCODERS))
        count, tol = check_count("n_components", self.n_components), check_tol(self.tol)
        sign = choose("outlier_sign", self.outlier_sign, ("any", "nonnegative"))
        structure = choose("outlier_structure", self.outlier_structure, ("entries", "samples"))
        outliers = parameters.outlier_penalty(self.outlier_bound, sign, structure)
        certified = {"exit": "gap", "max_iter": _GAP_MAX_ITER} if tol < _GAP_TOL else {}
        penalty = parameters.code_penalty(self.code_penalty, count)
        if isinstance(self.init, str):
            choose("init", self.init, ("random", "samples"))
        return RobustModel(
            count,
            _ENCODERS[solver](outliers=outliers, penalty=penalty, tol=tol, **certified),
            outliers,
            parameters.outlier_weight(self.outlier_weight),
            parameters.constraint(self.constraint, self.n_features_in_),
            frozen_columns(self.frozen_components, count, self.n_features_in_),
            self.init,
        )

    def _matrix_solver(self) -> MatrixSolver:
        solver: MatrixSolver = _MATRIX_SOLVERS[self.solver]()
        return solver

    def _encoder_with_prior(self, penalty: Prox) -> Encoder | None:
        # the paper's solvers stop early, which keeps codes small
        return super()._encoder_with_prior(penalty) if self.solver == "fast" else None
