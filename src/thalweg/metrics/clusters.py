"""Scores of a clustering against known labels."""

from math import log2

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Indices
from thalweg.errors import InputError
from thalweg.metrics._checks import require_shape

__all__ = ["entropy", "purity"]


def purity(labels: ArrayLike, found: ArrayLike) -> float:
    """Return the share of samples that have the most common label of their cluster.

    The purity is 1 if no cluster mixes labels, and at least the share of the most common label.
    Clusters of one sample each have purity 1, so compare clusterings with equal numbers of
    clusters.

    Parameters
    ----------
    labels, found : arrays of shape (n_samples,)
        The true label and the cluster of each sample, as numbers or strings. For the codes of a
        factorisation, ``codes.argmax(axis=1)`` is a clustering.

    Examples
    --------
    >>> from thalweg.metrics import purity
    >>> purity(["sport", "sport", "tech", "tech"], [0, 0, 0, 1])
    0.75
    """
    table = _table(labels, found)
    return float(table.max(axis=1).sum() / table.sum())


def entropy(labels: ArrayLike, found: ArrayLike) -> float:
    """Return the mean entropy of the labels in a cluster, relative to the largest possible.

    -sum_g (n_g / n) sum_l p_gl log2(p_gl) / log2(n_labels), where p_gl is the share of label l
    among the n_g samples of cluster g. It is 0 if no cluster mixes labels, and 1 if all labels are
    equally common in every cluster. Lower is better.

    Parameters
    ----------
    labels, found : arrays of shape (n_samples,)
        The true label and the cluster of each sample, as numbers or strings.

    Examples
    --------
    >>> from thalweg.metrics import entropy
    >>> entropy(["sport", "tech", "tech", "tech"], [0, 0, 1, 1])
    0.5
    """
    table = _table(labels, found)
    n_labels = table.shape[1]
    if n_labels == 1:
        return 0.0
    bits = np.log2(table.sum(axis=1, keepdims=True) / np.maximum(table, 1))
    return float(np.sum(table * bits) / (table.sum() * log2(n_labels)))


def _table(labels: ArrayLike, found: ArrayLike) -> Indices:
    """Count the samples of each cluster (rows) and label (columns)."""
    column, row = _numbered("labels", labels), _numbered("found", found)
    require_shape("found", row, column.shape, "labels")
    table = np.zeros((row.max() + 1, column.max() + 1), dtype=np.intp)
    np.add.at(table, (row, column), 1)
    return table


def _numbered(name: str, values: ArrayLike) -> Indices:
    """Encode labels as integers 0, 1, ... in sorted order."""
    try:
        labels = np.asarray(values)
        numbers = np.unique(labels, return_inverse=True)[1]
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be labels of one type, numbers or strings, got a {type(values).__name__} "
            "with mixed or nested entries. Use one label for each sample."
        ) from None
    if labels.ndim != 1 or labels.size == 0:
        raise InputError(
            f"{name} must be a list with one label for each sample, got an array of shape "
            f"{labels.shape}. For codes, use codes.argmax(axis=1)."
        )
    if np.any(labels != labels):
        raise InputError(
            f"{name} must be known for each sample, got NaN among them. "
            "Remove these samples from labels and found."
        )
    return numbers
