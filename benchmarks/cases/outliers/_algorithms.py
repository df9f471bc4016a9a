"""The algorithms that [O] VII compares, with its canonical settings, and ours with its defaults."""

import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.shared.recorder import record
from thalweg import ORNMF, DivergenceNMF, OnlineRobustPCA, RobustNMF, RobustOnlineNMF

__all__ = ["CALM", "COUNTERPARTS", "DEFAULT", "TO_THE_END", "Fitted", "exact", "fit", "models"]

DEFAULT = "RobustOnlineNMF"
# The batch counterpart of each online method.
COUNTERPARTS = {"online fast": "batch fast", "OPGD": "BPGD", "OADMM": "BADMM"}
NO_OUTLIERS = 1e3
# A batch method has converged if the second half of its rounds lowered the objective by less
# than this share.
CALM = 0.01
# Rounds end by that criterion or by time, not by the estimator's own criterion.
TO_THE_END = {"tol": 1e-5, "max_iter": 1_000_000}
SOLVERS = {
    "online fast": "fast", "OPGD": "pgd", "OADMM": "admm",
    "batch fast": "fast", "BPGD": "pgd", "BADMM": "admm",
}  # fmt: skip


def models(first: Any, X: Any, batch_size: int = 40) -> dict[str, Any]:
    """Return all methods, unfitted, with the same initial dictionary.

    *RobustOnlineNMF*: default parameters, with the outlier weight estimated from the data; the
    others have that of [O], 1/sqrt(F), and the bound 1. *ORPCA*: its default weights, which are
    for samples of norm 1; *same weight*: that of [O] in its units. *ONMF*: OR-NMF of Guan et al.
    with a buffer, the ONMF of [O]. *no outliers*: `RobustOnlineNMF` with a weight so large that
    no entry is an outlier.
    """
    K, n_features = first.shape
    common: dict[str, Any] = {"init": first, "random_state": 0}
    paper = {"outlier_weight": n_features**-0.5, "outlier_bound": 1.0, **common}
    online = {"batch_size": batch_size}
    found: dict[str, Any] = {DEFAULT: RobustOnlineNMF(K, **online, **common)}
    for name in COUNTERPARTS:
        found[name] = RobustOnlineNMF(K, solver=SOLVERS[name], **online, **paper)
    for name in COUNTERPARTS.values():
        found[name] = RobustNMF(K, solver=SOLVERS[name], **TO_THE_END, **paper)
    length = float(np.median(np.linalg.norm(X, axis=1)))
    found["ORPCA"] = OnlineRobustPCA(K, **common)
    found["ORPCA, same weight"] = OnlineRobustPCA(K, lambda2=n_features**-0.5 / length, **common)
    found["ONMF"] = ORNMF(K, **common)
    found["no outliers"] = RobustOnlineNMF(K, outlier_weight=NO_OUTLIERS, **online, **common)
    return found


class Fitted(NamedTuple):
    """Processor seconds of a fit, and whether it was stopped before it had converged.

    ``fall`` is the decrease of the objective in the second half of the rounds of a batch method,
    as a share of its last value; 0 for online methods.
    """

    seconds: float
    cut: bool
    fall: float = 0.0


def fit(model: Any, X: Any, budget: float) -> Fitted:
    """Fit a model; a batch method until it has converged, or for ``budget`` seconds."""
    if isinstance(model, (RobustNMF, DivergenceNMF)):
        recorder = record(model, X, budget, clock=time.process_time, calm=CALM)
        return Fitted(recorder.times[-1], recorder.ended == "up", recorder.fall())
    begin = time.process_time()
    model.fit(X)
    return Fitted(time.process_time() - begin, False)


def exact(model: Any, X: Any) -> Any:
    """Return the low-rank part by the components of a robust NMF and exact codes.

    OPGD and OADMM stop before their codes are optimal. The codes of a batch method converge to
    the exact ones.
    """
    return model.set_params(solver="fast", callback=None).decompose(X).low_rank
