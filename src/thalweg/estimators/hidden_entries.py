"""Score estimators by entries that they have not seen."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from thalweg._checks import as_numbers, check_share, generator, in_words, unmasked
from thalweg._constants import MAD_TO_STANDARD_DEVIATION
from thalweg._typing import Array
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.errors import InputError
from thalweg.learning.held_out import LARGEST_DEVIATION, deviations

__all__ = ["hidden_entry_score", "split_entries"]

# Share of the entries that is hidden by default, as in ten folds.
_HIDDEN_SHARE = 0.1
# Entries of a block of rows that is scored at a time, which bounds the memory.
_BLOCK_ENTRIES = 2**20


def hidden_entry_score(
    estimator: Any, X: Any, y: Any = None, *, share: float = _HIDDEN_SHARE, random_state: Any = 0
) -> float:
    """Return the negative robust mean square of the deviations at hidden entries.

    A random share of the observed entries is hidden. The codes of each row are fitted to its other
    entries, and the low-rank part is compared with the hidden ones:

        score = -s^2 mean min(e / s, 3)^2,  s = 1.4826 median e.

    For squares and robust losses, e = |x - p| divided by the median absolute deviation of the
    feature; for other divergences, e = sqrt(2 d(x | p)). Outliers among the hidden entries count
    as 3 s.

    ``score`` fits the codes to the very entries that it evaluates. It rises with every component,
    so that a search takes the largest number. Here a component that follows the noise costs.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with ``decompose``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Data; ``NaN`` marks missing entries.
    y : array of shape (n_samples, n_features), optional
        Hidden entries, with ``NaN`` elsewhere, from :func:`split_entries`. Then nothing else is
        hidden. With None, a share of X is.
    share : float, default=0.1
        Share of the entries that is hidden, above 0 and at most 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the hidden entries.

    Returns
    -------
    float
        The score, at most 0; larger is better.

    Examples
    --------
    As a scorer of scikit-learn, ``score`` takes the largest number of components, hidden entries
    the one of the data:

    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from thalweg import DivergenceNMF, hidden_entry_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(1.0, 1.0, (200, 3)) @ rng.gamma(0.5, 40.0, (3, 30)))
    >>> model, grid = DivergenceNMF(random_state=0), {"n_components": [2, 3, 4, 5]}
    >>> GridSearchCV(model, grid, cv=3).fit(X).best_params_["n_components"]
    5
    >>> search = GridSearchCV(model, grid, cv=3, scoring=hidden_entry_score)
    >>> search.fit(X).best_params_["n_components"]
    3
    """
    check_is_fitted(estimator)
    seen, hidden = split_entries(X, share, random_state) if y is None else (_rows(X), _rows(y))
    if hidden.shape != seen.shape:
        raise InputError(
            f"y must be hidden entries of shape {seen.shape}, got {in_words(hidden)}. "
            "Use split_entries."
        )
    loss: Any = getattr(estimator, "loss_", SquaredL2())
    n_rows = max(1, _BLOCK_ENTRIES // seen.shape[1])
    values, model, features = [], [], []
    for start in range(0, len(seen), n_rows):
        part = slice(start, start + n_rows)
        where = ~np.isnan(hidden[part])
        if where.any():
            low_rank = estimator.decompose(seen[part]).low_rank
            values.append(hidden[part][where])
            model.append(low_rank[where])
            features.append(np.nonzero(where)[1])
    if not values:
        raise InputError(
            "X must have observed entries to hide, got none. Use more rows, or a larger share."
        )
    v, p = np.concatenate(values).astype(np.float64), np.concatenate(model).astype(np.float64)
    e = deviations(v, p, loss, getattr(estimator, "floor_", 0.0), np.concatenate(features))
    if hasattr(loss, "half_quadratic") or isinstance(loss, SquaredL2):
        e = e / _spreads(seen)[np.concatenate(features)]
    scale = MAD_TO_STANDARD_DEVIATION * float(np.median(e))
    if scale == 0.0:
        return -float(np.mean(np.square(e)))
    return -(scale**2) * float(np.mean(np.square(np.minimum(e / scale, LARGEST_DEVIATION))))


def split_entries(
    X: Any, share: float = _HIDDEN_SHARE, random_state: Any = 0
) -> tuple[Array, Array]:
    """Split data by entries: return the seen ones and the hidden ones, each NaN elsewhere.

    A search over whole matrices then needs no folds of rows: fit on the first array, and score with
    the second as ``y``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Data; ``NaN`` marks missing entries.
    share : float, default=0.1
        Share of the observed entries that is hidden, above 0 and at most 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the hidden entries.

    Returns
    -------
    seen, hidden : arrays of shape (n_samples, n_features)
        X with ``NaN`` at hidden entries, and with ``NaN`` at all others.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from thalweg import RobustMatrixCompletion, hidden_entry_score, split_entries
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 30)) + 0.1 * rng.normal(size=(200, 30))
    >>> seen, hidden = split_entries(X)
    >>> rows, grid = np.arange(len(X)), {"n_components": [1, 2, 3, 4, 5]}
    >>> model = RobustMatrixCompletion(random_state=0)
    >>> search = GridSearchCV(model, grid, cv=[(rows, rows)], scoring=hidden_entry_score)
    >>> search.fit(seen, hidden).best_params_["n_components"]
    3
    """
    share = check_share("share", share)
    rows = _rows(X)
    away = (generator(random_state).random(rows.shape) < share) & ~np.isnan(rows)
    nothing = rows.dtype.type(np.nan)
    return np.where(away, nothing, rows), np.where(away, rows, nothing)


def _rows(X: Any) -> Array:
    """Return data as a float array of rows."""
    found = as_numbers(X.toarray() if sparse.issparse(X) else unmasked(X))
    if found is None or found.ndim != 2:
        raise InputError(
            f"X must be rows of numbers, got {in_words(X)}. Mark missing entries with NaN."
        )
    rows: Array = found
    return rows


def _spreads(rows: Array) -> Array:
    """Return the median absolute deviation of each feature; a common one where it is 0."""
    known = np.where(np.isnan(rows), np.nan, rows).astype(np.float64)
    spreads = np.ones(rows.shape[1])
    for feature, column in enumerate(known.T):
        values = column[~np.isnan(column)]
        if values.size:
            spreads[feature] = np.median(np.abs(values - np.median(values)))
    positive = spreads[spreads > 0.0]
    return np.where(spreads > 0.0, spreads, np.median(positive) if positive.size else 1.0)
