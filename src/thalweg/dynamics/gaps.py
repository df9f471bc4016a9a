"""The gaps of a table: their lengths, straight lines across them, and entries to hide alike."""

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["gap_ages", "gap_lengths", "gap_starts", "hide_like_gaps", "interpolated"]

# Largest share of the observed entries to hide, and the share in a table without gaps: enough to
# estimate errors, and few enough not to change the fit.
_HIDDEN_SHARE = 0.1
# Rows that are hidden together: twice the length that most gaps do not exceed, at least this
# many, and such that a table has several blocks.
_COMMON_GAPS, _BLOCK_GAPS, _LEAST_BLOCK, _LEAST_BLOCKS = 0.9, 2, 32, 8
_MAX_FEATURE_SHARE = 0.3  # of the observed entries of a feature
_MAX_SHIFTS = 50  # shifted copies of the gaps until enough is hidden


def gap_lengths(missing: Mask) -> Array:
    """Return the number of consecutive missing rows around each missing entry, 0 elsewhere.

    Parameters
    ----------
    missing : boolean array of shape (N, F)
        Missing entries.

    Returns
    -------
    integer array of shape (N, F)
        Lengths of gaps, in rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.gaps import gap_lengths
    >>> gap_lengths(np.array([[1, 1, 0, 1]], bool).T).ravel()
    array([2, 2, 0, 1])
    """
    N, F = missing.shape
    edge = np.zeros((1, F), np.bool_)
    change = np.diff(np.vstack([edge, missing, edge]).astype(np.int8), axis=0).T
    (features, starts), (_, ends) = np.nonzero(change == 1), np.nonzero(change == -1)
    lengths: Array = np.zeros((F, N), np.intp)
    marks = np.zeros((F, N + 1), np.intp)
    np.add.at(marks, (features, starts), ends - starts)
    np.add.at(marks, (features, ends), starts - ends)
    lengths[:] = np.cumsum(marks, axis=1)[:, :N]
    return np.ascontiguousarray(lengths.T)


def gap_starts(missing: Mask) -> Array:
    """Return the row in which the gap of each missing entry begins.

    Parameters
    ----------
    missing : boolean array of shape (N, F)
        Missing entries.

    Returns
    -------
    integer array of shape (N, F)
        Rows; of no meaning at observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.gaps import gap_starts
    >>> gap_starts(np.array([[1, 1, 0, 1]], bool).T).ravel()
    array([0, 0, 0, 3])
    """
    before = np.vstack([np.zeros((1, missing.shape[1]), np.bool_), missing[:-1]])
    rows = np.arange(len(missing))[:, None]
    return np.asarray(np.maximum.accumulate(np.where(missing & ~before, rows, 0), axis=0))


def gap_ages(missing: Mask) -> Array:
    """Return the number of rows since each missing entry was last observed, 0 elsewhere.

    Parameters
    ----------
    missing : boolean array of shape (N, F)
        Missing entries.

    Returns
    -------
    integer array of shape (N, F)
        Numbers of rows; those of gaps at the begin count from the first row.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.gaps import gap_ages
    >>> gap_ages(np.array([[1, 1, 0, 1]], bool).T).ravel()
    array([1, 2, 0, 1])
    """
    ages = np.arange(len(missing))[:, None] - gap_starts(missing) + 1
    return np.asarray(np.where(missing, ages, 0))


def hide_like_gaps(missing: Mask, rng: np.random.Generator) -> Mask:
    """Return observed entries to hide: the gaps of the table, at other times.

    Blocks of consecutive rows of the mask of gaps are shifted in time, so that lengths of gaps,
    gaps of several features at once, and the shares of features stay as they are. At most a tenth
    of the observed entries is hidden, and less than a third of those of a feature. Without gaps,
    single entries are.

    Parameters
    ----------
    missing : boolean array of shape (N, F)
        Missing entries.
    rng : Generator
        Random number generator.

    Returns
    -------
    boolean array of shape (N, F)
        Entries to hide, all of them observed.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.gaps import hide_like_gaps
    >>> missing = np.zeros((400, 2), bool)
    >>> missing[50:60, 0] = True
    >>> hidden = hide_like_gaps(missing, np.random.default_rng(0))
    >>> int(hidden[:, 1].sum()), bool(hidden[:, 0].any()), bool((hidden & missing).any())
    (0, True, False)
    """
    N = len(missing)
    hidden = np.zeros_like(missing)
    wanted = _HIDDEN_SHARE * np.count_nonzero(~missing)
    whole = missing.all(axis=0)  # features without entries say nothing about gaps
    pattern = missing & ~whole
    if not pattern.any():
        return np.asarray((rng.random(missing.shape) < _HIDDEN_SHARE) & ~missing)
    limit = _MAX_FEATURE_SHARE * np.count_nonzero(~missing, axis=0)
    size = _block_size(pattern)
    for _ in range(_MAX_SHIFTS):
        shifted = np.roll(pattern, int(rng.integers(1, max(N, 2))), axis=0)
        for start in rng.permutation(np.arange(0, N, size)):
            rows = slice(start, start + size)
            added = shifted[rows] & ~missing[rows]
            allowed = np.count_nonzero(hidden, axis=0) + np.count_nonzero(added, axis=0) <= limit
            left = wanted - np.count_nonzero(hidden)
            hidden[rows] |= _within(added & allowed, left, rng)
        if 2 * np.count_nonzero(hidden) >= wanted:
            break
    return hidden


def interpolated(X: Array) -> Array:
    """Return a table whose gaps are filled by straight lines over the rows.

    Parameters
    ----------
    X : array of shape (N, F)
        The table; NaN marks missing entries.

    Returns
    -------
    array of shape (N, F)
        The table without gaps: before the first observed entry of a feature, and after the last,
        its value there; 0 for features without entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.gaps import interpolated
    >>> interpolated(np.array([[1.0], [np.nan], [3.0], [np.nan]])).ravel()
    array([1., 2., 3., 3.])
    """
    observed, rows = ~np.isnan(X), np.arange(len(X))
    filled = np.where(observed, X, 0.0)
    some = observed.any(axis=0) & ~observed.all(axis=0)
    for f in np.flatnonzero(some):
        known = observed[:, f]
        filled[:, f] = np.interp(rows, rows[known], X[known, f])
    return filled


def _block_size(pattern: Mask) -> int:
    """Return how many rows are hidden together: such that most gaps fit into a block."""
    N = len(pattern)
    starts = pattern & ~np.vstack([np.zeros((1, pattern.shape[1]), np.bool_), pattern[:-1]])
    most = int(np.quantile(gap_lengths(pattern)[starts], _COMMON_GAPS))
    return max(min(_BLOCK_GAPS * most, N // _LEAST_BLOCKS), min(_LEAST_BLOCK, N))


def _within(added: Mask, left: float, rng: np.random.Generator) -> Mask:
    """Return the features of a block, in random order, that do not exceed a number of entries."""
    counts = np.count_nonzero(added, axis=0)
    if counts.sum() <= left:
        return added
    order = rng.permutation(len(counts))
    kept = np.zeros(len(counts), np.bool_)
    kept[order] = np.cumsum(counts[order]) <= left
    return np.asarray(added & kept)
