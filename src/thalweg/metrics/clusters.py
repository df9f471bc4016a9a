"""How well groups of samples agree with labels that are known."""

from math import log2

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Indices
from thalweg.errors import InputError
from thalweg.metrics._checks import require_shape

__all__ = ["entropy", "purity"]


def purity(labels: ArrayLike, found: ArrayLike) -> float:
    """Return the share of samples that have the most common label of their group.

    1 when no group mixes labels, and never less than the share of the most common label.
    Groups of one sample each are pure as well: compare groupings with equally many groups.

    Parameters
    ----------
    labels, found : arrays of shape (n_samples,)
        The true label of each sample, and the group it was put in; numbers or strings. For the
        codes of a factorisation ``codes.argmax(axis=1)`` is a grouping.

    Examples
    --------
    >>> from thalweg.metrics import purity
    >>> purity(["sport", "sport", "tech", "tech"], [0, 0, 0, 1])
    0.75
    """
    table = _table(labels, found)
    return float(table.max(axis=1).sum() / table.sum())


def entropy(labels: ArrayLike, found: ArrayLike) -> float:
    """Return the mean entropy of the labels in a group, as a share of the largest possible.

    -sum_g (n_g / n) sum_l p_gl log2(p_gl) / log2(n_labels), where p_gl is the share of label l
    in group g, so that groups count by their n_g samples. 0 when no group mixes labels, 1 when
    all labels are equally common in every group: lower is better.

    Parameters
    ----------
    labels, found : arrays of shape (n_samples,)
        The true label of each sample, and the group it was put in; numbers or strings.

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
    """Return how many samples of each group, a row, have each label, a column."""
    column, row = _numbered("labels", labels), _numbered("found", found)
    require_shape("found", row, column.shape, "labels")
    table = np.zeros((row.max() + 1, column.max() + 1), dtype=np.intp)
    np.add.at(table, (row, column), 1)
    return table


def _numbered(name: str, values: ArrayLike) -> Indices:
    """Return labels as numbers from 0 on, in the order of the labels."""
    try:
        labels = np.asarray(values)
        numbers = np.unique(labels, return_inverse=True)[1]
    except (TypeError, ValueError):
        raise InputError(
            f"{name} should be labels of one kind, numbers or strings, but {type(values).__name__} "
            "came with others in it. Give one label for each sample."
        ) from None
    if labels.ndim != 1 or labels.size == 0:
        raise InputError(
            f"{name} should be a list with a label for each sample, but an array of shape "
            f"{labels.shape} came. For codes, give codes.argmax(axis=1)."
        )
    if np.any(labels != labels):
        raise InputError(
            f"{name} should be known for each sample, but there is NaN among them. "
            "Leave such samples out of labels and found."
        )
    return numbers
