"""Fit, partial_fit, transform: the only room that knows scikit-learn, and the only transpose.

Rows are samples here; inside, columns are. Every estimator offers ``fit``, ``partial_fit``
where it streams, ``transform``, ``inverse_transform``, ``decompose``, ``score_samples`` and
``score``; ``NaN`` in the data means that nothing was seen there.
"""

from thalweg.estimators import rivals
from thalweg.estimators._streaming import Progress
from thalweg.estimators._surface import Decomposition
from thalweg.estimators.divergence_nmf import DivergenceNMF
from thalweg.estimators.online_factorization import OnlineFactorization
from thalweg.estimators.online_nmf import OnlineNMF
from thalweg.estimators.robust_nmf import RobustNMF
from thalweg.estimators.robust_online_nmf import RobustOnlineNMF
from thalweg.estimators.sparse_archetypal_nmf import SparseArchetypalNMF

__all__ = [
    "Decomposition",
    "DivergenceNMF",
    "OnlineFactorization",
    "OnlineNMF",
    "Progress",
    "RobustNMF",
    "RobustOnlineNMF",
    "SparseArchetypalNMF",
    "rivals",
]
