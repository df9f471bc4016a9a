"""gensim's Nmf: [O] without outliers; from a CSC matrix and from its own dense corpus."""

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.shared.timing import Method

__all__ = ["methods"]

# The best PSNR on the data of online_peers among kappa 0.5, 1, 1.5, 2 (it diverges from 2.5 on),
# tighter stops of h and of W, and fewer or more steps. Slower than the defaults.
_TUNED = {"kappa": 2.0, "w_stop_condition": 1e-5}


def methods(n_components: int, batch_size: int) -> list[Method]:
    """Return Nmf in both input forms with the defaults, and tuned in the faster one."""
    from gensim.matutils import Dense2Corpus

    def corpus(X: Any) -> Any:
        return Dense2Corpus(np.ascontiguousarray(X.T), documents_columns=True)

    def matrix(X: Any) -> Any:
        return sparse.csc_matrix(X.T)

    common = {
        "num_topics": n_components,
        "chunksize": batch_size,
        "passes": 1,
        "eval_every": None,
        "normalize": False,
        "random_state": 0,
    }
    return [
        _method("gensim Nmf csc", matrix, common),
        _method("gensim Nmf csc tuned", matrix, common | _TUNED),
        _method("gensim Nmf Dense2Corpus", corpus, common),
    ]


def _method(name: str, prepare: Any, settings: dict[str, Any]) -> Method:
    from gensim.models.nmf import Nmf

    def with_names(X: Any) -> Any:
        return prepare(X), {i: str(i) for i in range(X.shape[1])}

    def fit(data: Any) -> Any:
        return Nmf(data[0], id2word=data[1], **settings)

    def codes(model: Any, X: Any) -> Any:
        return model._solveproj(sparse.csc_matrix(X.T), model._W, v_max=np.inf).T

    return Method(
        name=name,
        family="gensim",
        dtype="float64",
        settings=settings,
        fit=fit,
        components=lambda model: model._W.T,
        transform=codes,
        prepare=with_names,
    )
