"""Components of several runs: distances, stray ones, medians of clusters, and how well runs agree.

After D. Kotliar et al., "Identifying gene expression programs of cell-type identity and cellular
activity with single-cell RNA-Seq" (2019): components that have few others nearby are left out, and
a cluster is represented by its median.
"""

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from thalweg._typing import Array, Indices

__all__ = ["cluster_medians", "cophenetic", "distances", "neighbour_distances", "unit_rows"]


def unit_rows(components: Array) -> Array:
    """Return components with norm 1; zeros stay.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.component_clusters import unit_rows
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    norms = np.linalg.norm(components, axis=1, keepdims=True)
    units: Array = components / np.where(norms > 0.0, norms, 1.0)
    return units


def distances(units: Array) -> Array:
    """Return the Euclidean distances of unit vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.component_clusters import distances
    >>> distances(np.eye(2)).round(3)
    array([[0.   , 1.414],
           [1.414, 0.   ]])
    """
    squares = np.maximum(2.0 - 2.0 * (units @ units.T), 0.0)
    np.fill_diagonal(squares, 0.0)
    found: Array = np.sqrt(squares)
    return found


def neighbour_distances(table: Array, n_neighbours: int) -> Array:
    """Return the mean distance of each component from its nearest neighbours.

    Parameters
    ----------
    table : array of shape (n, n)
        Distances.
    n_neighbours : int
        Number of neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.component_clusters import neighbour_distances
    >>> neighbour_distances(np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]]), 1)
    array([1., 1., 3.])
    """
    n = min(n_neighbours, len(table) - 1)
    nearest = np.partition(table, n, axis=1)[:, : n + 1]  # with itself, at distance 0
    means: Array = nearest.sum(axis=1) / max(n, 1)
    return means


def cluster_medians(units: Array, labels: Indices) -> Array:
    """Return the median of each cluster, with norm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.component_clusters import cluster_medians
    >>> cluster_medians(np.array([[1.0, 0.0], [0.8, 0.6], [0.8, 0.6]]), np.array([0, 1, 1]))
    array([[1. , 0. ],
           [0.8, 0.6]])
    """
    clusters = np.unique(labels)
    return unit_rows(np.stack([np.median(units[labels == k], axis=0) for k in clusters]))


def cophenetic(assigned: Indices) -> float:
    """Return the cophenetic correlation of the runs' groups of some samples.

    Two samples are as near as the share of the runs that put them into one group. The figure is the
    correlation of these distances with those in the tree of their average linkage, as Brunet et
    al. (2004) have it; 1 if all runs agree.

    Parameters
    ----------
    assigned : integer array of shape (n_runs, n_samples)
        The group of each sample in each run.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.component_clusters import cophenetic
    >>> cophenetic(np.array([[0, 0, 1, 1], [1, 1, 0, 0]]))
    1.0
    """
    together = np.mean([run[:, None] == run[None] for run in assigned], axis=0)
    apart = squareform(1.0 - together, checks=False)
    if not apart.size or np.ptp(apart) == 0.0:
        return 1.0
    return float(cophenet(linkage(apart, "average"), apart)[0])
