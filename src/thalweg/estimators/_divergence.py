"""What online and batch NMF under a divergence share: the loss, its data, its encoder."""

from typing import Any

import numpy as np
from scipy import sparse

from thalweg._rooms import resolve
from thalweg._typing import Array
from thalweg.divergences import Divergence
from thalweg.divergences.huber import Huber
from thalweg.divergences.kl import KL
from thalweg.encoders import Encoder
from thalweg.encoders.divergence_problem import coefficients
from thalweg.encoders.fast import Fast
from thalweg.encoders.multiplicative import Multiplicative
from thalweg.encoders.newton import Newton
from thalweg.encoders.sparse_divergence_problem import supports_sparse
from thalweg.encoders.sparse_kl import SparseKL
from thalweg.errors import ParameterError
from thalweg.estimators import _parameters as parameters
from thalweg.estimators._base import Factorization
from thalweg.estimators._input import Batch, as_batch, normal
from thalweg.estimators._noise import Noise, measure
from thalweg.estimators._start import frozen_columns, scaled_dictionary
from thalweg.prox import Prox
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.updates.atom_scaling import smallest_entries

__all__ = ["Diverging"]

# Rows that tell what the data are like.
_ENOUGH = 1000
# Data with a smaller share of entries that are not zero are visited only there.
_SPARSE = 0.1
# Losses that are infinite at zero see nothing below this share of the first data's mean.
_SILENCE = 1e-8
# Rounds of encoding and measuring that settle the scale of a loss without units.
_ROUNDS = 3


class Diverging(Factorization):
    """Base of the estimators that minimise d(X | codes @ components)."""

    n_components: Any
    n_features_in_: int
    loss: Any
    constraint: Any
    code_penalty: Any
    frozen_components: Any
    init: Any
    tol: Any
    loss_: Divergence
    floor_: float
    sparse_: bool
    # Losses of data with outliers, which singular vectors follow.
    _misled: tuple[type, ...] = (Huber,)

    def _encoder(self) -> Encoder:
        """Return the encoder that users get."""
        return self._encoder_for(self.loss_)

    def _encoder_for(self, loss: Divergence, looser: float = 1.0) -> Encoder:
        tol = looser * parameters.check_positive("tol", self.tol)
        penalty = self._code_penalty()
        if isinstance(loss, Huber):  # it is the envelope of the l1 norm of outliers
            return Fast(outliers=L1(float(loss.delta or 0.0)), penalty=penalty, tol=tol)
        if self.sparse_ and isinstance(loss, KL) and coefficients(penalty)[1] == 0.0:
            return SparseKL(penalty=penalty, tol=tol)
        if self.sparse_:
            return Multiplicative(loss=loss, penalty=penalty, tol=0.1 * tol, max_iter=1000)
        return Newton(loss=loss, penalty=penalty, tol=tol)

    def _encoder_with(self, penalty: Prox) -> Encoder | None:
        if isinstance(self._encoder(), SparseKL) and self._code_penalty() == Orthant():
            return Newton(loss=self.loss_, penalty=penalty, tol=self.tol)
        return super()._encoder_with(penalty)

    def _batch(self, rows: Any) -> Batch:
        """Return rows as a batch, in sparse form if the data are to be visited that way."""
        if self.sparse_ and not np.isnan(_values(rows)).any():
            seldom = sparse.csr_array(rows)
            seldom.data = normal(seldom.data)
            return Batch(seldom.T, None)
        batch = as_batch(rows)
        if self.floor_ > 0.0:
            return batch._replace(V=np.maximum(batch.V, batch.V.dtype.type(self.floor_)))
        return batch

    def _prepare(self, X: Any) -> None:
        """Settle the loss, and how data are shown to it, on the first call's data."""
        self.loss_ = _loss(self.loss)
        rows = X[:_ENOUGH]
        values = _values(rows)
        size = max(rows.shape[0] * rows.shape[1], 1)
        dense = np.count_nonzero(values) >= _SPARSE * size
        self.sparse_ = bool(supports_sparse(self.loss_) and not dense)
        mean = float(np.nansum(values, dtype=np.float64)) / size
        self.floor_ = 0.0 if self.loss_.domain.closed else _SILENCE * mean or 1.0

    def _check_loss(self) -> None:
        """Raise if the loss is not the one that the fit began with."""
        if type(_loss(self.loss)) is not type(self.loss_):
            raise ParameterError(
                f"loss must be {self.loss_!r}, as in the first batch, got "
                f"{self.loss!r}. Fit a new estimator for another loss."
            )

    def _code_penalty(self) -> Prox:
        count = parameters.check_count("n_components", self.n_components)
        return parameters.code_penalty(self.code_penalty, count)

    def _constraint(self) -> Prox:
        return parameters.constraint(self.constraint, self.n_features_in_)

    def _frozen(self) -> int:
        count = parameters.check_count("n_components", self.n_components)
        return int(frozen_columns(self.frozen_components, count, self.n_features_in_).shape[1])

    def _start(self, batch: Batch, rng: np.random.Generator) -> Array:
        """Return the first dictionary, and settle the loss's scale on the batch."""
        count = parameters.check_count("n_components", self.n_components)
        if isinstance(self.init, str):
            parameters.choose("init", self.init, ("auto", "svd", "random", "samples"))
        automatic = isinstance(self.init, str) and self.init == "auto"
        # Of data that are mostly gaps singular vectors are single entries that happened to be
        # observed.
        misled = isinstance(self.loss_, self._misled) or _mostly_gaps(batch)
        init = "random" if automatic and misled else self.init
        bounds = self._constraint()
        W = scaled_dictionary(init, self.frozen_components, count, batch, bounds, rng)
        lower = smallest_entries(W, self.loss_)
        lower[: self._frozen()] = 0.0
        W = np.asfortranarray(np.maximum(W, lower))
        self.noise_ = Noise()
        self._scale(batch, W)
        self._encoder()  # a wrong parameter of it is told before anything is learned
        return W

    def _scale(self, batch: Batch, W: Array) -> None:
        """Take the scale of a loss without units from the noise of the first batch."""
        loss = _loss(self.loss)
        if isinstance(loss, Huber):
            scale = 10.0 * float(batch.V.max(initial=0.0)) or 1.0
            for _ in range(_ROUNDS):
                self.loss_ = loss.tuned(scale)
                codes = self._encoder().encode(batch.V, W, observed=batch.observed)
                scale = measure(batch, W, codes.H).level or scale
            self.loss_ = loss.tuned(scale)

    def _follow(self, batch: Batch, W: Array, H: Array) -> None:
        """Let the scale of a loss without units follow the noise of the stream."""
        loss = _loss(self.loss)
        if isinstance(loss, Huber):
            self.noise_ = self.noise_.follow(measure(batch, W, H))
            self.loss_ = loss.tuned(self.noise_.level) if self.noise_.level else self.loss_


def _values(X: Any) -> Array:
    """Return the entries that are there."""
    values: Array = X.data if sparse.issparse(X) else X
    return values


def _loss(spec: Any) -> Divergence:
    loss = resolve("thalweg.divergences", spec, "loss")
    if not isinstance(loss, Divergence):
        raise ParameterError(
            f"loss must be a name or an object of thalweg.divergences, got {spec!r}. "
            "Use 'kl', 'itakura-saito', 'huber', ..., or for example Beta(1.5)."
        )
    return loss


def _mostly_gaps(batch: Batch) -> bool:
    return batch.observed is not None and bool(
        2 * np.count_nonzero(batch.observed) < batch.observed.size
    )
