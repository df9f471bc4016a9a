"""Estimators with the interface of scikit-learn.

Samples are rows here, and columns in the rooms below. Every estimator has ``fit``, ``transform``,
``inverse_transform``, ``decompose``, ``fill``, ``score_samples`` and ``score``; those for streams
also have ``partial_fit`` and ``fit_stream``. ``NaN`` marks missing entries.
"""

from thalweg.estimators.decomposition import Decomposition
from thalweg.estimators.divergence_nmf import DivergenceNMF
from thalweg.estimators.grasta import Grasta
from thalweg.estimators.grouse import Grouse
from thalweg.estimators.lr_geom_cg import LRGeomCG
from thalweg.estimators.norst import Norst
from thalweg.estimators.online_factorization import OnlineFactorization
from thalweg.estimators.online_nmf import OnlineNMF
from thalweg.estimators.online_robust_pca import OnlineRobustPCA
from thalweg.estimators.or_nmf import ORNMF
from thalweg.estimators.petrels import Petrels
from thalweg.estimators.petrels_admm import PetrelsADMM
from thalweg.estimators.petrels_cfar import PetrelsCFAR
from thalweg.estimators.reprocs import ReProCS
from thalweg.estimators.robust_matrix_completion import RobustMatrixCompletion
from thalweg.estimators.robust_nmf import RobustNMF
from thalweg.estimators.robust_online_nmf import RobustOnlineNMF
from thalweg.estimators.roseta import Roseta
from thalweg.estimators.rpca_gd import RPCAGD
from thalweg.estimators.sparse_archetypal_nmf import SparseArchetypalNMF
from thalweg.learning.progress import Position, Progress

__all__ = [
    "ORNMF",
    "RPCAGD",
    "Decomposition",
    "DivergenceNMF",
    "Grasta",
    "Grouse",
    "LRGeomCG",
    "Norst",
    "OnlineFactorization",
    "OnlineNMF",
    "OnlineRobustPCA",
    "Petrels",
    "PetrelsADMM",
    "PetrelsCFAR",
    "Position",
    "Progress",
    "ReProCS",
    "RobustMatrixCompletion",
    "RobustNMF",
    "RobustOnlineNMF",
    "Roseta",
    "SparseArchetypalNMF",
]
