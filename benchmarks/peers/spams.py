"""SPAMS: online dictionary learning (Mairal et al., 2010) with nonnegative factors."""

from typing import Any

import numpy as np

from benchmarks.shared.timing import Method

__all__ = ["methods"]

_LAMBDAS = (1e-3, 1e-2, 1e-1)


def methods(n_components: int, batch_size: int) -> list[Method]:
    """Return trainDL over a grid of lambda1, and nmf, which is lambda1 = 0."""
    import spams

    def train(dtype: str, lambda1: float) -> Method:
        settings = {"lambda1": lambda1, "posAlpha": True, "posD": True, "verbose": False}
        name = f"SPAMS trainDL lambda1={lambda1:g}"
        return _method(name, dtype, spams.trainDL, settings, n_components, batch_size)

    def nmf(dtype: str) -> Method:
        return _method("SPAMS nmf", dtype, spams.nmf, {}, n_components, batch_size)

    grid = [train("float64", lambda1) for lambda1 in _LAMBDAS]
    return [*grid, nmf("float64"), train("float32", 1e-2), nmf("float32")]


def _method(
    name: str, dtype: str, learn: Any, own: dict[str, Any], n_components: int, batch_size: int
) -> Method:
    import spams

    settings = {"K": n_components, "batchsize": batch_size, "numThreads": 1, **own}

    def fit(V: Any) -> Any:
        return learn(V, iter=V.shape[1] // batch_size, **settings)

    def codes(D: Any, X: Any) -> Any:
        V = np.asfortranarray(X.T, dtype=D.dtype)
        return spams.lasso(V, D=D, lambda1=own.get("lambda1", 0.0), pos=True, numThreads=1).T

    return Method(
        name=f"{name} {dtype}",
        family="spams",
        dtype=dtype,
        settings={**settings, "iter": "n_samples / batchsize"},
        fit=fit,
        components=lambda D: D.T,
        transform=lambda D, X: codes(D, X).toarray(),
        prepare=lambda X: np.asfortranarray(X.T),
    )
