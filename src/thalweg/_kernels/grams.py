"""Gram matrices of which each sample has its own, and their inverses."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def _gram_of(W: Any, flags: Any, wanted: Any, some: Any, gram: Any) -> Any:
    """Set gram to that of the rows of W whose flag is as wanted."""
    n = 0
    for i in range(flags.size):
        if flags[i] == wanted:
            for k in range(W.shape[1]):
                some[n, k] = W[i, k]
            n += 1
    if n == 0:
        gram[:] = 0.0
    else:
        np.dot(some[:n].T, some[:n], gram)


@njit(cache=True, nogil=True, error_model="numpy")
def kept_grams(W: Any, kept: Any, whole: Any, enough: Any, grams: Any) -> Any:
    """Set grams[s] to the Gram matrix of the rows of W that row s of ``kept`` has flags for.

    What a sample lacks is taken off the Gram matrix ``whole`` of all rows when that is less work,
    and leaves the share ``enough`` of each column: the difference of two large numbers is no
    small one.
    """
    some = np.empty(W.shape)
    for s in range(kept.shape[0]):
        gram, little_left = grams[s], False
        if 2 * np.count_nonzero(kept[s]) > kept.shape[1]:
            _gram_of(W, kept[s], False, some, gram)
            for k in range(len(whole)):
                little_left |= whole[k, k] - gram[k, k] < enough * whole[k, k]
                for j in range(len(whole)):
                    gram[k, j] = whole[k, j] - gram[k, j]
            if not little_left:
                continue
        _gram_of(W, kept[s], True, some, gram)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _eliminate_within(S: Any, first: Any, last: Any) -> Any:
    """Take the rows from the first on off those after them, up to the last; False if it fails."""
    K = S.shape[0]
    for p in range(first, last):
        row = S[p]
        if not row[p] > 0.0:
            return False
        for i in range(p + 1, last):
            target, factor = S[i], row[i] / row[p]
            for j in range(p):
                target[j] -= factor * row[j]
            target[p] = -factor
            for j in range(i, K):
                target[j] -= factor * row[j]
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _eliminate_below(S: Any, first: Any) -> Any:
    """Take four rows off all below them."""
    K, n = S.shape[0], first
    a, b, c, d = S[n], S[n + 1], S[n + 2], S[n + 3]
    for i in range(n + 4, K):
        # The matrix is symmetric, so that the factors stand in the rows that are taken off.
        p, q, r, s = a[i] / a[n], b[i] / b[n + 1], c[i] / c[n + 2], d[i] / d[n + 3]
        target = S[i]
        for j in range(n):
            target[j] -= p * a[j] + q * b[j] + r * c[j] + s * d[j]
        target[n] = -p - q * b[n] - r * c[n] - s * d[n]
        target[n + 1] = -q - r * c[n + 1] - s * d[n + 1]
        target[n + 2] = -r - s * d[n + 2]
        target[n + 3] = -s
        for j in range(i, K):
            target[j] -= p * a[j] + q * b[j] + r * c[j] + s * d[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _inverse_root(S: Any) -> Any:
    """Replace a definite matrix S, whose upper half is read, by R with R'R = S^-1.

    The rows of [S | 1] are eliminated, four at a time, in one array: what becomes zero left of
    the diagonal makes room for what becomes of 1. False if S is not definite.
    """
    K = S.shape[0]
    for first in range(0, K, 4):
        if not _eliminate_within(S, first, min(first + 4, K)):
            return False
        if first + 4 < K:
            _eliminate_below(S, first)
    for k in range(K):
        scale = 1.0 / np.sqrt(S[k, k])
        S[k, k] = 1.0
        S[k, : k + 1] *= scale
        S[k, k + 1 :] = 0.0
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _norm(S: Any) -> Any:
    total = 0.0
    for k in range(S.shape[0]):
        for j in range(S.shape[1]):
            total += S[k, j] * S[k, j]
    return np.sqrt(total)


@njit(cache=True, nogil=True, error_model="numpy")
def definite_inverses(grams: Any, limit: Any, inverses: Any, trusted: Any) -> Any:
    """Invert definite matrices; trusted are those whose condition number is below the limit.

    The condition number is that of the Frobenius norm.
    """
    root = np.empty(grams.shape[1:])
    for s in range(grams.shape[0]):
        root[:] = grams[s]
        trusted[s] = _inverse_root(root)
        if trusted[s]:
            np.dot(root.T, root, inverses[s])
            trusted[s] = _norm(grams[s]) * _norm(inverses[s]) < limit
