"""Sparse word counts of documents."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from thalweg._checks import generator
from thalweg._typing import Array
from thalweg.synthetic._blocks import blocks
from thalweg.synthetic._checks import require_shares, require_sizes

__all__ = ["SparseCounts", "sparse_counts"]

# Entries per dense block, which bounds the memory.
_BLOCK_ENTRIES = 2**20
# Rows and features from which the expected density is computed.
_SAMPLE = 1024
# Relative tolerance of the expected density.
_DENSITY_TOL = 1e-3
# Gamma shapes of the words in a topic and of the topics in a document: small shapes make most
# values tiny, so that each topic has few words and each document few topics.
_WORD_SHAPE, _TOPIC_SHAPE = 0.1, 0.3


class SparseCounts(NamedTuple):
    """Word counts, and the factors of their means.

    Attributes
    ----------
    X : sparse CSR array of shape (n_samples, n_features)
        Counts of each word in each document. A document may be empty.
    components : array of shape (n_components, n_features)
        The true topics, one per row.
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
    """Draw a sparse matrix of word counts from a Poisson topic model.

    X ~ Poisson(codes @ components). The word weights of a topic are Gamma(0.1), so that few words
    dominate it. The topic weights of a document are Gamma(0.3), scaled such that a share of about
    ``density`` of the counts is nonzero. Rows are drawn in blocks, so that the memory for zeros
    does not grow with ``n_samples``.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Numbers of documents, words and topics, at least 1.
    density : float
        Expected share of nonzero counts, in [0, 0.5].
    random_state : int, Generator or None
        Seed or random number generator.

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
    components = rng.gamma(_WORD_SHAPE, size=(n_components, n_features))
    codes = rng.gamma(_TOPIC_SHAPE, size=(n_samples, n_components))
    rates = codes[:_SAMPLE] @ components[:, :_SAMPLE]
    mean = codes.mean(axis=0) @ components.mean(axis=1)
    codes *= _mean_rate(rates / rates.mean(), density) / mean
    rows = [
        sparse.csr_array(rng.poisson(codes[block] @ components), dtype=np.float64)
        for block in blocks(n_samples, max(1, _BLOCK_ENTRIES // n_features))
    ]
    return SparseCounts(sparse.vstack(rows, format="csr"), components, codes)


def _mean_rate(rates: Array, density: float) -> float:
    """Return the s with mean(1 - exp(-s rates)) = density, for rates of mean 1.

    The left side is concave in s, and below ``density`` at s = density, so that Newton's method
    converges from below.
    """
    scale = density
    while True:
        zero = np.exp(-scale * rates)
        shortfall = density - 1 + float(zero.mean())
        if shortfall <= _DENSITY_TOL * density:
            return scale
        scale += shortfall / float(np.mean(rates * zero))
