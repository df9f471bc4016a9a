"""Parameters of online and batch NMF with a divergence."""

from dataclasses import replace
from typing import Any, ClassVar

from thalweg._checks import check_tol, choose
from thalweg.divergences.huber import Huber
from thalweg.encoders import Encoder
from thalweg.encoders.newton import Newton
from thalweg.encoders.sparse_kl import SparseKL
from thalweg.estimators import parameters
from thalweg.estimators._rank import RankSearch
from thalweg.learning.batches import DataForm
from thalweg.learning.dictionaries import INITS, frozen_columns
from thalweg.learning.divergence import DivergenceModel
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant

__all__ = ["DivergenceEstimator"]


# Least relative accuracy of the fits that compare ranks, the default of the online methods.
_TRIAL_TOL = 1e-3


class DivergenceEstimator(RankSearch):
    """Base of the estimators that minimise d(X | codes @ components)."""

    finds_rank = True
    n_components: Any
    n_features_in_: int
    loss: Any
    constraint: Any
    code_penalty: Any
    frozen_components: Any
    init: Any
    tol: Any
    form_: DataForm
    # losses with which init="auto" avoids singular vectors, since outliers distort them
    _outlier_losses: ClassVar[tuple[type, ...]] = (Huber,)
    _auto_init: ClassVar[str] = "auto"

    @property
    def floor_(self) -> float:
        """Smallest entry that is passed to losses that are infinite at 0; 0 for other losses."""
        return self.form_.floor

    @property
    def sparse_(self) -> bool:
        """Whether only nonzero entries are visited."""
        return self.form_.sparse

    def _model(self) -> DivergenceModel:
        """Check the parameters, and return the model."""
        count = self._rank()
        if isinstance(self.init, str):
            choose("init", self.init, INITS)
        return DivergenceModel(
            count,
            parameters.divergence(self.loss),
            parameters.code_penalty(self.code_penalty, count),
            self._constraint(),
            frozen_columns(self.frozen_components, count, self.n_features_in_),
            self._auto_init if isinstance(self.init, str) and self.init == "auto" else self.init,
            check_tol(self.tol),
            self._outlier_losses,
        )

    def _rank_model(self) -> DivergenceModel:
        return replace(self._model(), tol=max(_TRIAL_TOL, float(self.tol)))

    def _constraint(self) -> Prox:
        return parameters.constraint(self.constraint, self.n_features_in_)

    def _encoder_with_prior(self, penalty: Prox) -> Encoder | None:
        encoder = self._encoder()
        if isinstance(encoder, SparseKL) and encoder.penalty == Orthant():
            return Newton(loss=self._model().loss, penalty=penalty, tol=self.tol)
        return super()._encoder_with_prior(penalty)
