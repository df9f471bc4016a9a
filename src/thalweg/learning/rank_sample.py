"""The sample of the data on which ranks are tried, and the share of its entries to hide."""

from typing import Any

import numpy as np
from scipy import sparse

from thalweg._typing import Indices
from thalweg.learning.batches import DataForm

__all__ = ["hidden_share", "sample_size", "search_sample"]

# Entries and features of the sample on which ranks are tried, which bound time and memory.
_SAMPLE_ENTRIES, _SAMPLE_FEATURES = 2**16, 256
_LEAST_SAMPLES = 200
# Share of the entries that is hidden; more of small data, for this many hidden entries.
# benchmark: rank
_HIDDEN_SHARE, _LARGEST_HIDDEN_SHARE, _HIDDEN_ENTRIES = 0.1, 0.2, 1000


def hidden_share(X: Any) -> float:
    """Return the share of entries to hide: a tenth, and up to a fifth of small data.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.rank_sample import hidden_share
    >>> hidden_share(np.ones((100, 8))), hidden_share(np.ones((1000, 80)))
    (0.2, 0.1)
    """
    n = X.nnz if sparse.issparse(X) else np.count_nonzero(~np.isnan(X))
    return float(np.clip(_HIDDEN_ENTRIES / max(n, 1), _HIDDEN_SHARE, _LARGEST_HIDDEN_SHARE))


def search_sample(X: Any, form: DataForm, rng: np.random.Generator) -> tuple[Any, Indices]:
    """Return random rows and features on which ranks are tried, and the features.

    Sparse data keep all features: their entries are counted by nonzeros.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import DataForm
    >>> from thalweg.learning.rank_sample import search_sample
    >>> X, features = search_sample(np.ones((2000, 1000)), DataForm(), np.random.default_rng(0))
    >>> X.shape, len(features)
    ((256, 256), 256)
    """
    n, F = X.shape
    features, size = np.arange(F), sample_size(X, form)
    if n > size:
        X = X[np.sort(rng.choice(n, size, replace=False))]
    if F > _SAMPLE_FEATURES and not form.sparse:
        features = np.sort(rng.choice(F, _SAMPLE_FEATURES, replace=False))
        X = X[:, features]
    return X, features


def sample_size(X: Any, form: DataForm) -> int:
    """Return the number of rows on which ranks are tried.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import DataForm
    >>> from thalweg.learning.rank_sample import sample_size
    >>> sample_size(np.ones((9, 64)), DataForm())
    1024
    """
    n, F = X.shape
    width = min(F, _SAMPLE_FEATURES)
    if form.sparse:
        width = max((X.nnz if sparse.issparse(X) else np.count_nonzero(X)) // max(n, 1), 1)
    return max(_LEAST_SAMPLES, _SAMPLE_ENTRIES // int(width))
