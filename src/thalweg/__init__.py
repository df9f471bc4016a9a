"""Find the low-rank path of a data stream, and what does not belong to it.

Examples
--------
>>> import numpy as np
>>> from thalweg import RobustOnlineNMF
>>> X = np.random.default_rng(0).random((60, 8))
>>> RobustOnlineNMF(n_components=3, random_state=0).fit(X).components_.shape
(3, 8)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg import (
        apps as apps,
        baselines as baselines,
        checkpoint as checkpoint,
        distributed as distributed,
        metrics as metrics,
        report as report,
        streams as streams,
        synthetic as synthetic,
    )
    from thalweg.estimators import (
        ORNMF as ORNMF,
        RPCAGD as RPCAGD,
        Decomposition as Decomposition,
        DivergenceNMF as DivergenceNMF,
        Grasta as Grasta,
        Grouse as Grouse,
        LRGeomCG as LRGeomCG,
        Norst as Norst,
        OnlineFactorization as OnlineFactorization,
        OnlineNMF as OnlineNMF,
        OnlineRobustPCA as OnlineRobustPCA,
        Petrels as Petrels,
        PetrelsADMM as PetrelsADMM,
        PetrelsCFAR as PetrelsCFAR,
        ReProCS as ReProCS,
        RobustMatrixCompletion as RobustMatrixCompletion,
        RobustNMF as RobustNMF,
        RobustOnlineNMF as RobustOnlineNMF,
        Roseta as Roseta,
        SparseArchetypalNMF as SparseArchetypalNMF,
    )
    from thalweg.estimators.consensus import consensus as consensus
    from thalweg.estimators.hidden_entries import (
        hidden_entry_score as hidden_entry_score,
        split_entries as split_entries,
    )
    from thalweg.estimators.selection import (
        select as select,
        select_weight as select_weight,
    )
    from thalweg.estimators.sign_splitter import SignSplitter as SignSplitter
    from thalweg.updates import half_life as half_life

    __version__: str

# Public names and where they live; each is loaded when it is first asked for, so that
# `import thalweg` stays light. Type checkers read the block above.
_HOMES = {
    "ORNMF": "thalweg.estimators",
    "Decomposition": "thalweg.estimators",
    "DivergenceNMF": "thalweg.estimators",
    "Grasta": "thalweg.estimators",
    "Grouse": "thalweg.estimators",
    "LRGeomCG": "thalweg.estimators",
    "Norst": "thalweg.estimators",
    "OnlineFactorization": "thalweg.estimators",
    "OnlineNMF": "thalweg.estimators",
    "OnlineRobustPCA": "thalweg.estimators",
    "Petrels": "thalweg.estimators",
    "PetrelsADMM": "thalweg.estimators",
    "PetrelsCFAR": "thalweg.estimators",
    "RPCAGD": "thalweg.estimators",
    "ReProCS": "thalweg.estimators",
    "RobustMatrixCompletion": "thalweg.estimators",
    "RobustNMF": "thalweg.estimators",
    "RobustOnlineNMF": "thalweg.estimators",
    "Roseta": "thalweg.estimators",
    "SignSplitter": "thalweg.estimators.sign_splitter",
    "SparseArchetypalNMF": "thalweg.estimators",
    "apps": "thalweg",
    "baselines": "thalweg",
    "checkpoint": "thalweg",
    "consensus": "thalweg.estimators.consensus",
    "distributed": "thalweg",
    "half_life": "thalweg.updates",
    "hidden_entry_score": "thalweg.estimators.hidden_entries",
    "metrics": "thalweg",
    "report": "thalweg",
    "select": "thalweg.estimators.selection",
    "select_weight": "thalweg.estimators.selection",
    "split_entries": "thalweg.estimators.hidden_entries",
    "streams": "thalweg",
    "synthetic": "thalweg",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = import_module("importlib.metadata").version("thalweg")
    elif name not in _HOMES:
        raise AttributeError(f"module 'thalweg' has no attribute {name!r}")
    elif _HOMES[name] == "thalweg":
        value = import_module(f"thalweg.{name}")
    else:
        value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
