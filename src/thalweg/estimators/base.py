"""Base of all estimators: encoding, scores and imputation with a fitted dictionary."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from thalweg._checks import check_count
from thalweg._threads import few_threads, map_in_threads
from thalweg._typing import Array
from thalweg.encoders import Codes, Encoder
from thalweg.encoders.columns import MAX_CHUNK_SIZE, rows_per_block
from thalweg.estimators._callbacks import CallbackSupportMixin
from thalweg.estimators._weights import check_sample_weight, weighted
from thalweg.estimators.decomposition import Decomposition
from thalweg.estimators.fitting import is_auto, warn_not_converged
from thalweg.estimators.validation import check_codes, check_data, filled
from thalweg.learning.batches import Batch, DataForm, WeightedRows, unweighted
from thalweg.learning.code_prior import CodePrior, empty_prior, estimate_prior, merged
from thalweg.prox import Prox
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.orthant import Orthant

__all__ = ["Factorization"]

# Entries of the first rows, from which batch estimators estimate the prior of the codes: one mean
# square per component. It bounds the time of the estimate.
_PRIOR_ENTRIES = 2**18


class Factorization(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base of the estimators: all methods that need only components and an encoder.

    Examples
    --------
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators.base import Factorization
    >>> issubclass(RobustNMF, Factorization)
    True
    """

    components_: Array
    code_prior_: CodePrior  # of estimators without a code penalty
    n_components: Any
    n_components_: int
    n_jobs: Any = None
    signed: ClassVar[bool] = False  # whether the data may have negative entries
    finds_rank: ClassVar[bool] = False  # whether n_components may be "auto"

    def _encoder(self) -> Encoder:
        """Return the encoder of the fitted model."""
        raise NotImplementedError

    def _rank(self) -> int:
        """Return the number of components: the parameter, or the one that was found."""
        if not is_auto(self.n_components):
            return check_count("n_components", self.n_components)
        frozen = getattr(self, "frozen_components", None)
        return getattr(self, "n_components_", 1 if frozen is None else len(frozen) + 1)

    def transform(self, X: Any, weights: Any = None) -> Array:
        """Return the codes of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.

        Returns
        -------
        array of shape (n_samples, n_components)
            The codes. Each row depends only on its own sample.
        """
        return np.vstack([codes.H.T for _, codes in self._encode(X, weights)])

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit the model to X, and return the codes of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data; ``NaN`` marks missing entries.
        y : ignored
            Present for scikit-learn.
        **fit_params : dict
            Parameters of ``fit``. The codes use the ``weights`` of the entries.

        Returns
        -------
        array of shape (n_samples, n_components)
            The codes, as ``fit(X).transform(X)``.
        """
        weights = fit_params.get("weights")
        fitted: Any = self.fit(X, y, **fit_params)
        codes: Array = fitted.transform(X) if weights is None else fitted.transform(X, weights)
        return codes

    def decompose(self, X: Any, weights: Any = None) -> Decomposition:
        """Decompose X into codes, low-rank part and outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.

        Returns
        -------
        Decomposition
            Codes, low-rank part and outliers.
        """
        check_is_fitted(self)
        X, W = weighted(check_data(self, X, reset=False), None, weights), self.components_.T
        (n, F), K, dtype = X.shape, W.shape[1], self.components_.dtype
        result = Decomposition(*(np.empty((n, width), dtype) for width in (K, F, F)))

        def write(start: int, batch: Batch, codes: Codes) -> None:
            rows, mask = slice(start, start + codes.H.shape[1]), batch.mask
            result.codes[rows] = codes.H.T
            result.low_rank[rows] = self._low_rank(codes.H.T)
            result.outliers[rows] = (codes.R if mask is None else codes.R * mask).T

        deque(self._encode_with(self._encoder(), W, X, write), maxlen=0)
        return result

    def fill(self, X: Any, weights: Any = None) -> Array:
        """Return X with missing entries filled by a low-rank part; the model is not changed.

        The codes maximise the posterior density under the prior ``code_prior_``. A sample with few
        observed entries hardly determines its codes, and the least-squares codes of
        :meth:`decompose` can then be far too large. With a ``code_penalty`` both methods use the
        same codes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.

        Returns
        -------
        array of shape (n_samples, n_features)
            X at observed entries, and the low-rank part elsewhere.
        """
        check_is_fitted(self)
        data = weighted(check_data(self, X, reset=False), None, weights)
        values = unweighted(data)
        rows: Array = values.toarray() if sparse.issparse(values) else values
        rows = rows.astype(np.result_type(rows, self.components_))  # a copy
        incomplete = np.flatnonzero(np.isnan(rows).any(axis=1))
        encoder, scales = self._posterior_encoder()
        some_rows = data[incomplete] if isinstance(data, WeightedRows) else rows[incomplete]
        found = self._encode_with(encoder, self.components_.T * scales, some_rows)
        begin = 0
        for _, codes in found:
            low_rank = self._low_rank(codes.H.T * scales)
            some = incomplete[begin : begin + len(low_rank)]
            rows[some], begin = filled(rows[some], low_rank), begin + len(low_rank)
        return rows

    def inverse_transform(self, X: Any) -> Array:
        """Return the low-rank part of given codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        array of shape (n_samples, n_features)
            ``X @ components_``, plus ``mean_`` if the model is centred.
        """
        check_is_fitted(self)
        return self._low_rank(check_codes(X, len(self.components_)))

    def _low_rank(self, codes: Array) -> Array:
        """Return the low-rank part of codes, with the mean of a centred model."""
        product: Array = codes @ self.components_
        mean = getattr(self, "mean_", None)
        return product if mean is None else product + mean

    def score_samples(self, X: Any, weights: Any = None) -> Array:
        """Return the negative loss of each sample, including outliers and penalties.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.

        Returns
        -------
        array of shape (n_samples,)
            Scores; larger for samples with a better fit.
        """
        return np.concatenate([-codes.loss for _, codes in self._encode(X, weights)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, weights: Any = None) -> float:
        """Return the mean of :meth:`score_samples`, weighted by ``sample_weight``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        y : ignored
            Present for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in the mean.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.

        Returns
        -------
        float
            The negative mean loss of the samples.
        """
        scores = self.score_samples(X, weights)
        if sample_weight is None:
            return float(np.mean(scores))
        return float(np.average(scores, weights=check_sample_weight(sample_weight, len(scores))))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def estimate_code_prior(self, X: Any) -> None:
        """Set ``code_prior_`` from the codes of the first rows."""
        K = len(self.components_)
        rows = X[: max(_PRIOR_ENTRIES // X.shape[1], 2 * K)]
        parts = self._encode_with(self._encoder(), self.components_.T, rows)
        self.code_prior_ = merged([estimate_prior(*part, empty_prior(K)) for part in parts])

    def order_components(self) -> None:
        """Sort the components by the share that they explain, frozen ones first as they are.

        The share is the mean square of a component times its codes, from ``code_prior_``. Given
        initial components keep their order.
        """
        if not isinstance(getattr(self, "init", "auto"), str):
            return
        frozen = getattr(self, "frozen_components", None)
        n_frozen = 0 if frozen is None else len(frozen)
        norms = np.einsum("kf,kf->k", *2 * (self.components_.astype(np.float64),))
        shares = self.code_prior_.squares * norms
        free = n_frozen + np.argsort(-shares[n_frozen:], kind="stable")
        order = np.concatenate([np.arange(n_frozen), free])
        self.components_ = np.ascontiguousarray(self.components_[order])
        self.code_prior_ = self.code_prior_._replace(squares=self.code_prior_.squares[order])

    def _encoder_with_prior(self, penalty: Prox) -> Encoder | None:
        """Return the encoder with a penalty of the codes; None if it already has one."""
        encoder: Any = self._encoder()
        free = getattr(encoder, "penalty", None) == Orthant()
        return replace(encoder, penalty=penalty) if free else None

    def _posterior_encoder(self) -> tuple[Encoder, Array]:
        """Return the encoder with the prior of the codes, and the scale of each code."""
        W, prior = self.components_.T, getattr(self, "code_prior_", None)
        if prior is not None and prior.dispersion > 0.0:
            encoder = self._encoder_with_prior(ElasticNet(0.0, prior.dispersion, nonnegative=True))
            if encoder is not None:
                return encoder, prior.sizes(W)
        return self._encoder(), np.ones(W.shape[1], W.dtype)

    def _encode(self, X: Any, weights: Any = None) -> Iterator[tuple[Batch, Codes]]:
        check_is_fitted(self)
        rows = weighted(check_data(self, X, reset=False), None, weights)
        return self._encode_with(self._encoder(), self.components_.T, rows)

    def _encode_with(
        self,
        encoder: Encoder,
        W: Array,
        X: Any,
        finish: Callable[[int, Batch, Codes], None] | None = None,
    ) -> Iterator[tuple[Batch, Codes]]:
        """Encode validated data, a block of rows at a time; ``finish`` is called in its thread."""
        X = X.astype(W.dtype, copy=False)
        rows = rows_per_block(*X.shape)
        solved, form = True, getattr(self, "form_", DataForm())
        mean = getattr(self, "mean_", None)

        def encode(start: int) -> tuple[Batch, Codes]:
            batch = form.batch(X[start : start + rows])
            if mean is not None:
                batch = batch._replace(V=batch.V - mean[:, None])
            codes = encoder.encode(batch.V, W, observed=batch.observed)
            if finish is not None:
                finish(start, batch, codes)
            return batch, codes

        size = X.shape[1], len(self.components_), min(rows, MAX_CHUNK_SIZE)
        with few_threads(*size, self.n_jobs):
            for batch, codes in map_in_threads(encode, range(0, X.shape[0], rows)):
                solved &= bool(codes.solved.all())
                yield batch, codes
        if not solved and getattr(encoder, "exit", "") == "gap":
            warn_not_converged(
                "Some codes did not reach the tolerance within the iteration limit. "
                "Use solver='fast' or a larger tol."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = not self.signed
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
