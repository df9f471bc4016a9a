"""Synthetic data with known ground truth: the generators of the papers, and a demo scene.

Rows are samples. The same seed gives the same data.
"""

from thalweg.synthetic.archetypes import Mixtures, archetypal_mixtures
from thalweg.synthetic.copies import replicate
from thalweg.synthetic.counts import SparseCounts, sparse_counts
from thalweg.synthetic.noises import NoisyData, nmf_with_noise
from thalweg.synthetic.outliers import OutlierData, nmf_with_outliers
from thalweg.synthetic.scene import Scene, moving_scene
from thalweg.synthetic.subspaces import SubspaceStream, subspace_stream

__all__ = [
    "Mixtures",
    "NoisyData",
    "OutlierData",
    "Scene",
    "SparseCounts",
    "SubspaceStream",
    "archetypal_mixtures",
    "moving_scene",
    "nmf_with_noise",
    "nmf_with_outliers",
    "replicate",
    "sparse_counts",
    "subspace_stream",
]
