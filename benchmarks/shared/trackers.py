"""The trackers that cases compare: their settings, their colours, and SEP along a stream."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from thalweg.metrics import sep
from thalweg.synthetic import SubspaceStream

__all__ = ["COLOURS", "HOMES", "OURS", "curve", "estimator", "final", "there"]

OURS = "PetrelsADMM"
# Where each estimator lives. One that is absent is left out with a word.
HOMES = {
    "PetrelsADMM": "petrels_admm",
    "PetrelsCFAR": "petrels_cfar",
    "Norst": "norst",
    "ReProCS": "reprocs",
    "OnlineRobustPCA": "online_robust_pca",
    "Grasta": "grasta",
    "Roseta": "roseta",
    "Petrels": "petrels",
    "Grouse": "grouse",
    "RobustMatrixCompletion": "robust_matrix_completion",
    "LRGeomCG": "lr_geom_cg",
    "RPCAGD": "rpca_gd",
}
COLOURS = {
    "oracle": "#222a33",
    "PetrelsADMM": "#1b6ca8",
    "RobustMatrixCompletion": "#1b6ca8",
    "PetrelsCFAR": "#7b4ab5",
    "Norst": "#2e933c",
    "ReProCS": "#8fbf3f",
    "OnlineRobustPCA": "#c9910d",
    "Grasta": "#d1495b",
    "Roseta": "#e58aa0",
    "Petrels": "#7a7a7a",
    "Petrels, adaptive": "#222a33",
    "Grouse": "#d1495b",
}


def there(names: Sequence[str]) -> list[str]:
    """Return the names of estimators that can be imported; print the others."""
    known = []
    for name in names:
        try:
            import_module(f"thalweg.estimators.{HOMES[name]}")
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
        else:
            known.append(name)
    return known


def estimator(name: str, n_components: int, **settings: Any) -> Any:
    """Return an unfitted estimator."""
    kind = getattr(import_module(f"thalweg.estimators.{HOMES[name]}"), name)
    return kind(n_components, **settings)


def final(model: Any, stream: SubspaceStream, X: Any = None) -> float:
    """Return the SEP after one pass over the stream, or over X that was made from it."""
    model.fit(stream.X if X is None else X)
    return _against(model, stream, len(stream.X))


def curve(model: Any, stream: SubspaceStream, at: Sequence[int], X: Any = None) -> list[float]:
    """Return the SEP after each number of samples in ``at``."""
    X = stream.X if X is None else X
    found, begin = [], 0
    for end in at:
        model.partial_fit(X[begin:end])
        found.append(_against(model, stream, end))
        begin = end
    return found


def _against(model: Any, stream: SubspaceStream, n: int) -> float:
    """Return the SEP after n samples; 1e3 stands for infinitely wrong and for no basis at all."""
    components = model.components_
    if not np.isfinite(components).all() or np.linalg.matrix_rank(components) < len(components):
        return 1e3
    return min(sep(components, stream.basis_at(n - 1).T), 1e3)
