"""Alarms: p-values of entries and samples under the law of the residuals."""

from collections.abc import Iterator
from numbers import Real
from typing import Any, Literal, overload

import numpy as np

from thalweg._checks import check_choices
from thalweg._typing import Array, Mask
from thalweg.errors import ParameterError
from thalweg.estimators.base import Factorization
from thalweg.learning.batches import in_standard_deviations
from thalweg.learning.resampling import resampled
from thalweg.noise.false_discoveries import benjamini_hochberg, combined
from thalweg.noise.leverage import studentised, unfitted
from thalweg.noise.residual_counts import ResidualCounts
from thalweg.noise.residual_law import ResidualLaw, fit_law

__all__ = ["Alarms"]

# Rows of a batch fit whose residuals are counted. Safety margin: noise scales from a thousand rows
# have an error of 3 %.
_COUNTED_ROWS = 4096


class Alarms(Factorization):
    """p-values and anomalies of the estimators that count their residuals while learning."""

    residual_counts_: ResidualCounts
    n_samples_seen_: int

    @property
    def residual_law_(self) -> ResidualLaw:
        """The law of the residuals: noise scale of each feature, and the tail they share."""
        return fit_law(self.residual_counts_)

    def p_values(self, X: Any, weights: Any = None) -> Array:
        """Return the probability that noise makes a residual as large as that of each entry.

        The law of the residuals is learned with the model: a robust scale of each feature, and a
        tail fitted to the residuals of all features, of which outliers are no part.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.

        Returns
        -------
        array of shape (n_samples, n_features)
            p-values; ``NaN`` at missing entries.
        """
        return np.vstack(
            [np.empty((0, self.components_.shape[1])), *self._p_value_blocks(X, weights)]
        )

    def anomalies(
        self, X: Any, *, weights: Any = None, fdr: float = 0.05, by: str = "batch"
    ) -> Mask:
        """Return the entries that noise does not explain.

        The procedure of Benjamini and Hochberg on the p-values: of all entries found, at most a
        share ``fdr`` is expected to be noise.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.
        fdr : float, default=0.05
            False discovery rate, between 0 and 1.
        by : {"batch", "sample"}, default="batch"
            Whether the rate holds over all of X, or in each sample.

        Returns
        -------
        boolean array of shape (n_samples, n_features)
            The anomalies; False at missing entries.
        """
        check_choices(by=(by, ("batch", "sample")))
        _check_rate(fdr)
        p = self.p_values(X, weights)
        if by == "sample":
            return benjamini_hochberg(p, fdr)
        return benjamini_hochberg(p.ravel(), fdr).reshape(p.shape)

    @overload
    def sample_p_values(
        self, X: Any, weights: Any = ..., *, return_contributions: Literal[False] = ...
    ) -> Array: ...

    @overload
    def sample_p_values(
        self, X: Any, weights: Any = ..., *, return_contributions: Literal[True]
    ) -> tuple[Array, Array]: ...

    def sample_p_values(
        self, X: Any, weights: Any = None, *, return_contributions: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the probability that noise alone makes samples fit as badly as those of X.

        If there is only noise, the sum of ``-log p`` over the m observed entries of a sample has a
        gamma law of shape m (Fisher), and the least p is below x with the probability
        ``1 - (1 - x)^m`` (Tippett). The first finds many small deviations, the second a single
        large one; twice the smaller of the two probabilities is returned, at most 1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.
        return_contributions : bool, default=False
            Whether to return the contribution of each feature as well.

        Returns
        -------
        p_values : array of shape (n_samples,)
            p-values; ``NaN`` for samples without observed entries.
        contributions : array of shape (n_samples, n_features)
            ``-log p`` of each entry, 0 at missing entries; about 1 for noise. Only with
            ``return_contributions=True``.
        """
        values: list[Array] = [np.empty(0)]
        parts: list[Array] = [np.empty((0, self.components_.shape[1]))]
        for p in self._p_value_blocks(X, weights):
            value, part = combined(p)
            values.append(value)
            if return_contributions:
                parts.append(part)
        p_values = np.concatenate(values)
        return (p_values, np.vstack(parts)) if return_contributions else p_values

    def count_residuals(self, X: Any) -> None:
        """Set ``residual_counts_`` from evenly spaced rows of the data that were fitted."""
        W = self.components_.T
        counts = None
        rows = X[:: max(1, X.shape[0] // _COUNTED_ROWS)]
        for encoded in self._encode_with(self._encoder(), W, rows):
            batch, codes = resampled(*encoded)
            residuals = studentised(
                batch.V, W, codes.H, codes.R, batch.observed, self._relative_scales()
            )
            share = 1.0 if batch.mask is None else batch.mask.mean(axis=1)
            residuals = unfitted(residuals, share * self.n_samples_seen_, W.shape[1])
            add = ResidualCounts.of if counts is None else counts.added
            counts = add(residuals, batch.mask, in_standard_deviations(batch))
        assert counts is not None  # there is at least one row
        self.residual_counts_ = counts

    def _relative_scales(self) -> Array | None:
        """Return the noise scales by which the encoder weighs the features; None if equal."""
        scales: Array | None = getattr(self._encoder(), "relative_scales", None)
        return scales

    def _p_value_blocks(self, X: Any, weights: Any) -> Iterator[Array]:
        """Yield the p-values of one block of rows after the other."""
        encoded, law, W = self._encode(X, weights), self.residual_law_, self.components_.T
        scales = self._relative_scales()
        for batch, codes in encoded:
            found = studentised(batch.V, W, codes.H, codes.R, batch.observed, scales)
            p = law.p_values(found.T)
            if batch.mask is not None:
                p[~batch.mask.T] = np.nan
            yield p


def _check_rate(fdr: Any) -> None:
    if not (isinstance(fdr, Real) and 0.0 < float(fdr) < 1.0):
        raise ParameterError(
            f"fdr must be between 0 and 1, got {fdr!r}. Use a share such as fdr=0.05."
        )
