"""Losses, and scores that compare an estimate with the truth.

Rows are samples. NaN marks a missing entry, which every sum leaves out.
"""

from thalweg.metrics.archetypes import (
    Robustness,
    archetype_distance,
    hull_distance,
    robustness,
    sparsity,
)
from thalweg.metrics.clusters import entropy, purity
from thalweg.metrics.losses import empirical_loss, psnr, reconstruction_loss, surrogate_loss
from thalweg.metrics.outliers import OutlierScores, outlier_error, outlier_scores
from thalweg.metrics.subspaces import principal_angles, sep, subspace_error

__all__ = [
    "OutlierScores",
    "Robustness",
    "archetype_distance",
    "empirical_loss",
    "entropy",
    "hull_distance",
    "outlier_error",
    "outlier_scores",
    "principal_angles",
    "psnr",
    "purity",
    "reconstruction_loss",
    "robustness",
    "sep",
    "sparsity",
    "subspace_error",
    "surrogate_loss",
]
