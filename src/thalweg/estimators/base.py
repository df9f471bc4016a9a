"""The surface that every estimator has once it has a dictionary."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from thalweg._typing import Array
from thalweg.encoders import Codes, Encoder
from thalweg.encoders.columns import MAX_CHUNK_SIZE
from thalweg.estimators.validation import check_codes, check_data, filled
from thalweg.learning.batches import Batch, DataForm
from thalweg.learning.code_prior import CodePrior, empty_prior, estimate_prior, merged
from thalweg.learning.threads import few_threads
from thalweg.prox import Prox
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.orthant import Orthant

__all__ = ["Decomposition", "Factorization", "rollback_on_error", "warn_max_iter"]

# Entries of the data that are encoded at a time: memory beyond the result stays bounded.
_BLOCK = 2**22
# Entries of the rows that tell a batch method what codes are as a rule.
_USUAL = 2**18


class Decomposition(NamedTuple):
    """A matrix taken apart: ``X = low_rank + outliers`` up to noise, where X was observed.

    Attributes
    ----------
    codes : array of shape (n_samples, n_components)
        What :meth:`transform` returns.
    low_rank : array of shape (n_samples, n_features)
        ``codes @ components_``; over gaps it is the estimate of what was not observed.
    outliers : array of shape (n_samples, n_features)
        What does not belong; zero over gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustOnlineNMF
    >>> X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 3.0])
    >>> RobustOnlineNMF(1, random_state=0).fit(X).decompose(X).low_rank.shape
    (8, 3)
    """

    codes: Array
    low_rank: Array
    outliers: Array


class Factorization(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators: everything that needs a dictionary and an encoder.

    Examples
    --------
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators.base import Factorization
    >>> issubclass(RobustNMF, Factorization)
    True
    """

    components_: Array
    code_prior_: CodePrior  # of those whose codes nothing else holds back
    signed: ClassVar[bool] = False  # whether data may be negative

    def _encoder(self) -> Encoder:
        """Return the encoder of the fitted model."""
        raise NotImplementedError

    def transform(self, X: Any) -> Array:
        """Return the codes of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data like those of ``fit``; ``NaN`` marks gaps.

        Returns
        -------
        array of shape (n_samples, n_components)
            Each row depends on its own sample only.
        """
        return np.vstack([codes.H.T for _, codes in self._encode(X)])

    def decompose(self, X: Any) -> Decomposition:
        """Take X apart into codes, low-rank part and outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data like those of ``fit``; ``NaN`` marks gaps.

        Returns
        -------
        Decomposition
            Outliers are zero over gaps, where the low-rank part fills in.
        """
        parts = []
        for batch, codes in self._encode(X):
            R = codes.R if batch.observed is None else codes.R * batch.observed
            parts.append((codes.H.T, codes.H.T @ self.components_, R.T))
        return Decomposition(*(np.vstack(part) for part in zip(*parts, strict=True)))

    def fill(self, X: Any) -> Array:
        """Return X with its gaps filled by a low-rank part; nothing is learned.

        Few entries tell little of the codes, and those that fit them best may lead far away.
        Here codes are the most likely ones, given the size that codes have as a rule; those of
        :meth:`decompose` fit best, whatever their size. With a penalty of the codes of one's own
        the two are the same.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data like those of ``fit``; ``NaN`` marks gaps.

        Returns
        -------
        array of shape (n_samples, n_features)
            X where it was observed, and the low-rank part elsewhere.
        """
        check_is_fitted(self)
        X = check_data(self, X, reset=False)
        rows: Array = X.toarray() if sparse.issparse(X) else X
        rows = rows.astype(np.result_type(rows, self.components_))  # a copy
        gappy = np.flatnonzero(np.isnan(rows).any(axis=1))
        encoder, sizes = self._likely()
        found = self._encode_with(encoder, self.components_.T * sizes, rows[gappy])
        begin = 0
        for _, codes in found:
            low_rank = (codes.H.T * sizes) @ self.components_
            some = gappy[begin : begin + len(low_rank)]
            rows[some], begin = filled(rows[some], low_rank), begin + len(low_rank)
        return rows

    def inverse_transform(self, X: Any) -> Array:
        """Return the low-rank part that belongs to codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        array of shape (n_samples, n_features)
            ``X @ components_``.
        """
        check_is_fitted(self)
        product: Array = check_codes(X, len(self.components_)) @ self.components_
        return product

    def score_samples(self, X: Any) -> Array:
        """Return minus the loss of each sample, outliers and penalties included.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data like those of ``fit``; ``NaN`` marks gaps.

        Returns
        -------
        array of shape (n_samples,)
            The larger, the better the sample is explained.
        """
        return np.concatenate([-codes.loss for _, codes in self._encode(X)])

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of :meth:`score_samples`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data like those of ``fit``; ``NaN`` marks gaps.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        float
            Minus the empirical loss of the fitted components.
        """
        return float(np.mean(self.score_samples(X)))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def estimate_code_prior(self, X: Any) -> None:
        """Note what codes are as a rule, by the first rows of the data."""
        K = len(self.components_)
        rows = X[: max(_USUAL // X.shape[1], 2 * K)]
        parts = self._encode_with(self._encoder(), self.components_.T, rows)
        self.code_prior_ = merged([estimate_prior(*part, empty_prior(K)) for part in parts])

    def _encoder_with_prior(self, penalty: Prox) -> Encoder | None:
        """Return the encoder with a penalty of the codes; None if it has one already."""
        encoder: Any = self._encoder()
        free = getattr(encoder, "penalty", None) == Orthant()
        return replace(encoder, penalty=penalty) if free else None

    def _likely(self) -> tuple[Encoder, Array]:
        """Return the encoder of the most likely codes, and their units."""
        W, usual = self.components_.T, getattr(self, "code_prior_", None)
        if usual is not None and usual.dispersion > 0.0:
            encoder = self._encoder_with_prior(ElasticNet(0.0, usual.dispersion, nonnegative=True))
            if encoder is not None:
                return encoder, usual.sizes(W)
        return self._encoder(), np.ones(W.shape[1], W.dtype)

    def _encode(self, X: Any) -> Iterator[tuple[Batch, Codes]]:
        check_is_fitted(self)
        X = check_data(self, X, reset=False)
        return self._encode_with(self._encoder(), self.components_.T, X)

    def _encode_with(self, encoder: Encoder, W: Array, X: Any) -> Iterator[tuple[Batch, Codes]]:
        """Encode validated data, a block of rows at a time."""
        X = X.astype(W.dtype, copy=False)
        rows = max(1, _BLOCK // X.shape[1])
        solved, form = True, getattr(self, "form_", DataForm())
        for start in range(0, X.shape[0], rows):
            batch = form.batch(X[start : start + rows])
            with few_threads(X.shape[1], len(self.components_), min(rows, MAX_CHUNK_SIZE)):
                codes = encoder.encode(batch.V, W, observed=batch.observed)
            solved &= bool(codes.solved.all())
            yield batch, codes
        if not solved and getattr(encoder, "exit", "") == "gap":
            warnings.warn(
                "Some samples were not encoded to the tolerance before the iteration cap. "
                "Use solver='fast' or a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = not self.signed
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@contextmanager
def rollback_on_error(estimator: Any) -> Iterator[None]:
    """Restore the attributes of an estimator if the block raises, so that a fitted one stays so.

    Attributes are replaced and never changed in place, so that references are enough.

    Examples
    --------
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators.base import rollback_on_error
    >>> model = RobustNMF()
    >>> try:
    ...     with rollback_on_error(model):
    ...         model.objective_ = 1.0
    ...         raise ValueError
    ... except ValueError:
    ...     hasattr(model, "objective_")
    False
    """
    before = dict(vars(estimator))
    try:
        yield
    except Exception:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def warn_max_iter(estimator: Any, criterion: str, stacklevel: int = 3) -> None:
    """Warn that a fit stopped at ``max_iter``, unless ``tol=0`` asks for that.

    Parameters
    ----------
    estimator : object
        With ``max_iter`` and ``tol``.
    criterion : str
        The criterion that was not met, as a clause.
    stacklevel : int
        Number of frames up to the caller of ``fit``.

    Examples
    --------
    >>> import warnings
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators.base import warn_max_iter
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_max_iter(RobustNMF(max_iter=3), "the objective changed by less than tol")
    >>> print(caught[0].message)
    RobustNMF stopped after max_iter=3 iterations before the objective changed by less than tol.
    Increase max_iter.
    """
    if estimator.tol > 0.0:
        warnings.warn(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} iterations "
            f"before {criterion}. Increase max_iter.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
