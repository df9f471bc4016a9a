"""The algorithms that [O] VII compares, with its canonical settings, and ours with its defaults."""

import time
from typing import Any

import numpy as np

from benchmarks._recorder import record
from thalweg import ORNMF, DivergenceNMF, OnlineRobustPCA, RobustNMF, RobustOnlineNMF

__all__ = ["DEFAULT", "TWINS", "fit", "models"]

DEFAULT = "RobustOnlineNMF"
# Of each online method its batch twin.
TWINS = {"online fast": "batch fast", "OPGD": "BPGD", "OADMM": "BADMM"}
NO_OUTLIERS = 1e3
SOLVERS = {
    "online fast": "fast", "OPGD": "pgd", "OADMM": "admm",
    "batch fast": "fast", "BPGD": "pgd", "BADMM": "admm",
}  # fmt: skip


def models(first: Any, X: Any, batch_size: int = 40) -> dict[str, Any]:
    """Return all methods, unfitted, with one and the same first dictionary.

    *RobustOnlineNMF*: ours as it comes, the weight of outliers from the data; the others have
    [O]'s, 1/sqrt(F) and the bound 1. *ORPCA*: its own weights, which are for samples of length
    1; *same weight*: that of [O] in its units. *ONMF*: OR-NMF of Guan et al. with a buffer, as
    [O] compares with. *no outliers*: ours with a weight that leaves none.
    """
    K, n_features = first.shape
    common: dict[str, Any] = {"init": first, "random_state": 0}
    paper = {"outlier_weight": n_features**-0.5, "outlier_bound": 1.0, **common}
    online = {"batch_size": batch_size}
    found: dict[str, Any] = {DEFAULT: RobustOnlineNMF(K, **online, **common)}
    for name in TWINS:
        found[name] = RobustOnlineNMF(K, solver=SOLVERS[name], **online, **paper)
    for name in TWINS.values():
        found[name] = RobustNMF(K, solver=SOLVERS[name], **paper)
    length = float(np.median(np.linalg.norm(X, axis=1)))
    found["ORPCA"] = OnlineRobustPCA(K, **common)
    found["ORPCA, same weight"] = OnlineRobustPCA(K, lambda2=n_features**-0.5 / length, **common)
    found["ONMF"] = ORNMF(K, **common)
    found["no outliers"] = RobustOnlineNMF(K, outlier_weight=NO_OUTLIERS, **online, **common)
    return found


def fit(model: Any, X: Any, budget: float) -> float:
    """Fit a model, a batch method for about ``budget`` seconds at most; return the seconds."""
    if isinstance(model, (RobustNMF, DivergenceNMF)):
        return float(record(model, X, budget).times[-1])
    begin = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - begin
