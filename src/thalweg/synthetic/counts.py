"""Counts of words in documents, most of them zero."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from thalweg._checks import generator
from thalweg._typing import Array
from thalweg.synthetic._blocks import blocks
from thalweg.synthetic._checks import require_shares, require_sizes

__all__ = ["SparseCounts", "sparse_counts"]

# Entries that are drawn together: only they are ever in memory with their zeros.
_ENTRIES = 2**20
# Rows and features from which the share of nonzero entries is foretold.
_SAMPLE = 1024


class SparseCounts(NamedTuple):
    """Counts, and what they were made of.

    Attributes
    ----------
    X : sparse CSR array of shape (n_samples, n_features)
        How often each word stands in each document. A document may be empty.
    components : array of shape (n_components, n_features)
        The true topics, one a row.
    codes : array of shape (n_samples, n_components)
        The true weights: ``codes @ components`` is the mean of ``X``.

    Examples
    --------
    >>> from thalweg.synthetic import sparse_counts
    >>> counts = sparse_counts(200, 300, 5, random_state=0)
    >>> counts.X.format, counts.X.shape
    ('csr', (200, 300))
    """

    X: sparse.csr_array
    components: Array
    codes: Array


def sparse_counts(
    n_samples: int = 2000,
    n_features: int = 2000,
    n_components: int = 20,
    *,
    density: float = 0.02,
    random_state: int | np.random.Generator | None = None,
) -> SparseCounts:
    """Draw documents as counts of words: Poisson numbers around topics, as a sparse array.

    Words are Gamma(0.1) in a topic, so that each topic has few that matter, and topics are
    Gamma(0.3) in a document, times a number that makes about ``density`` of the counts nonzero.
    Rows are drawn some at a time: the memory for the zeros does not grow with ``n_samples``.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Numbers of documents, words and topics, at least 1.
    density : float
        Share of counts that are not zero, in [0, 0.5].
    random_state : int, Generator or None
        Seed or source of the random numbers.

    Returns
    -------
    SparseCounts
        ``X``, ``components`` and ``codes``, in float64.

    Examples
    --------
    >>> from thalweg.synthetic import sparse_counts
    >>> counts = sparse_counts(1000, 500, 10, density=0.05, random_state=0)
    >>> round(counts.X.nnz / (1000 * 500), 2)
    0.05
    """
    require_sizes(n_samples=n_samples, n_features=n_features, n_components=n_components)
    require_shares(0.5, density=density)
    rng = generator(random_state)
    components = rng.gamma(0.1, size=(n_components, n_features))
    codes = rng.gamma(0.3, size=(n_samples, n_components))
    rates = codes[:_SAMPLE] @ components[:, :_SAMPLE]
    mean = codes.mean(axis=0) @ components.mean(axis=1)
    codes *= _mean_rate(rates / rates.mean(), density) / mean
    rows = [
        sparse.csr_array(rng.poisson(codes[block] @ components), dtype=np.float64)
        for block in blocks(n_samples, max(1, _ENTRIES // n_features))
    ]
    return SparseCounts(sparse.vstack(rows, format="csr"), components, codes)


def _mean_rate(rates: Array, density: float) -> float:
    """Return the s with mean(1 - exp(-s rates)) = density, for rates of mean 1.

    The left side is concave in s, and at s = density too small: Newton's steps come near from
    below.
    """
    scale = density
    while True:
        zero = np.exp(-scale * rates)
        lack = density - 1 + float(zero.mean())
        if lack <= 1e-3 * density:
            return scale
        scale += lack / float(np.mean(rates * zero))
