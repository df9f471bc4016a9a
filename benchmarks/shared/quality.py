"""How well clean data come back from a library's components, by its own codes and by ours."""

from typing import Any

import numpy as np

from benchmarks.shared.timing import Method
from thalweg.encoders.fast import Fast
from thalweg.metrics import psnr
from thalweg.prox.l1 import L1
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["own_quality", "robust_quality"]

WEIGHTS = (0.01, 0.02, 0.04, 0.08)


def own_quality(method: Method, model: Any, X: Any, clean: Any) -> tuple[float, Any]:
    """Return the better PSNR of the library's transform and exact codes, and the result.

    A slow transform sees few samples. Components that may be negative have their own codes only,
    and our methods, whose codes know of outliers, too.
    """
    components = np.asarray(method.components(model), dtype=np.float64)
    few = slice(method.n_transform)
    found = []
    if method.transform is not None:
        low_rank = method.transform(model, X[few]) @ components
        found.append((psnr(clean[few], low_rank), low_rank))
    if not method.signed and not method.family.startswith("thalweg"):
        components = np.maximum(components, 0.0)
        codes, _, _ = nnls(prepare(components @ components.T), components @ X.T)
        low_rank = codes.T @ components
        found.append((psnr(clean, low_rank), low_rank))
    return max(found, key=lambda pair: pair[0])


def robust_quality(components: Any, X: Any, clean: Any) -> float:
    """Return the PSNR with robust codes, the best of four weights of outliers."""
    V, W = np.ascontiguousarray(X).T, np.ascontiguousarray(components).T
    found = (Fast(outliers=L1(weight)).encode(V, W).H for weight in WEIGHTS)
    return max(psnr(clean, H.T @ components) for H in found)
