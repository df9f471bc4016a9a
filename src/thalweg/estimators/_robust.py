"""What online and batch robust NMF share: the model with outliers, and its parameters."""

from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Encoder
from thalweg.encoders.admm import Admm
from thalweg.encoders.fast import Fast
from thalweg.encoders.pgd import Pgd
from thalweg.errors import ParameterError
from thalweg.estimators import _parameters as parameters
from thalweg.estimators._base import Factorization
from thalweg.estimators._input import Batch
from thalweg.estimators._noise import Noise, due, measure
from thalweg.estimators._start import dictionary
from thalweg.prox import Prox
from thalweg.solvers.admm import MatrixAdmm
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.solvers.projected_gradient import ProjectedGradient

__all__ = ["Robust"]

# Below this tolerance a small decrease says little, and the duality gap decides.
_TIGHT = 1e-5
_ENCODERS: dict[str, Any] = {"fast": Fast, "pgd": Pgd, "admm": Admm}
_SOLVERS: dict[str, Any] = {"fast": BlockCoordinate, "pgd": ProjectedGradient, "admm": MatrixAdmm}
# Rounds of encoding and measuring that settle the noise level of the first batch.
_ROUNDS = 3


class Robust(Factorization):
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

    def _encoder(self) -> Encoder:
        return self._encoder_for(self.outlier_weight_)

    def _encoder_for(self, weight: float, looser: float = 1.0, **options: Any) -> Encoder:
        method = _ENCODERS[parameters.choose("solver", self.solver, tuple(_ENCODERS))]
        tol = looser * parameters.check_positive("tol", self.tol)
        tight = {"exit": "gap", "max_iter": 100_000} if tol < _TIGHT else {}
        encoder: Encoder = method(
            outliers=self._outliers(weight),
            penalty=self._code_penalty(),
            tol=tol,
            **tight,
            **options,
        )
        return encoder

    def _encoder_with(self, penalty: Prox) -> Encoder | None:
        # The paper's solvers stop early, which keeps codes from going far.
        return super()._encoder_with(penalty) if self.solver == "fast" else None

    def _constraint(self) -> Prox:
        return parameters.constraint(self.constraint, self.n_features_in_)

    def _code_penalty(self) -> Prox:
        count = parameters.check_count("n_components", self.n_components)
        return parameters.code_penalty(self.code_penalty, count)

    def _outliers(self, weight: float) -> Prox:
        sign = parameters.choose("outlier_sign", self.outlier_sign, ("any", "nonnegative"))
        structure = parameters.choose(
            "outlier_structure", self.outlier_structure, ("entries", "samples")
        )
        return parameters.outlier_penalty(weight, self.outlier_bound, sign, structure)

    def _solver(self, **options: Any) -> Any:
        return _SOLVERS[parameters.choose("solver", self.solver, tuple(_SOLVERS))](**options)

    def _start(self, batch: Batch, rng: np.random.Generator) -> Array:
        """Return the first dictionary, and settle the outliers' weight on the batch."""
        count = parameters.check_count("n_components", self.n_components)
        if isinstance(self.init, str):
            parameters.choose("init", self.init, ("random", "samples"))
        W = dictionary(
            self.init,
            self.frozen_components,
            count,
            batch,
            self._constraint(),
            rng,
        )
        self.noise_ = Noise()
        self.outlier_weight_ = self._first_weight(batch, W)
        self._encoder()  # a wrong parameter of it is told before anything is learned
        return W

    def _first_weight(self, batch: Batch, W: Array) -> float:
        if not self._automatic():
            return float(self.outlier_weight)
        # So large a weight leaves no outlier.
        weight = 10.0 * float(batch.V.max(initial=0.0)) or 1.0
        for _ in range(_ROUNDS):
            codes = self._encoder_for(weight).encode(batch.V, W, observed=batch.observed)
            weight = measure(batch, W, codes.H).weight or weight
        return weight

    def _automatic(self) -> bool:
        """Tell whether the outliers' weight is to be found, or raise if it is neither."""
        if isinstance(self.outlier_weight, str):
            return bool(parameters.choose("outlier_weight", self.outlier_weight, ("auto",)))
        number = isinstance(self.outlier_weight, (int, float, np.floating, np.integer))
        if not (number and 0.0 <= self.outlier_weight < np.inf):
            raise ParameterError(
                f"outlier_weight must be 'auto' or a number of 0 or more, got "
                f"{self.outlier_weight!r}. 'auto' follows the noise in the data."
            )
        return False

    def _follow_noise(self, batch: Batch, n_batches: int, W: Array, H: Array) -> None:
        if self._automatic() and due(n_batches):
            self.noise_ = self.noise_.follow(measure(batch, W, H))
            self.outlier_weight_ = self.noise_.weight or self.outlier_weight_
