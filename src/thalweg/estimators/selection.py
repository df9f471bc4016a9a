"""Parameters chosen by the loss of samples that were held out, [A] (37)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from thalweg._checks import check_count, choose, generator
from thalweg._typing import Array
from thalweg.errors import InputError, ParameterError

__all__ = ["Selection", "select", "select_weight"]


class Selection(NamedTuple):
    """Losses of held-out samples, and the chosen value.

    Attributes
    ----------
    values : tuple
        The values.
    losses, errors : arrays of shape (n_values,)
        Mean loss of held-out samples, averaged over the folds, and its standard error. The loss
        of archetypes is the squared distance of a sample from their hull.
    best : object
        The value with the smallest loss.
    chosen : object
        The simplest value whose loss is within one standard error of the smallest.

    Examples
    --------
    >>> from thalweg import SparseArchetypalNMF, select_weight
    >>> from thalweg.synthetic import archetypal_mixtures
    >>> X = archetypal_mixtures(60, 20, 3, spread=0.3, noise=0.05, random_state=0).X
    >>> model = SparseArchetypalNMF(3, init="projections", continuation_steps=3)
    >>> found = select_weight(model, X, [0.1, 1.0, 30.0], folds=3)
    >>> found.chosen >= found.best
    True
    """

    values: tuple[Any, ...]
    losses: Array
    errors: Array
    best: Any
    chosen: Any


def select(
    model: Any,
    X: Any,
    parameter: str,
    values: Any,
    *,
    folds: int = 5,
    simplest: str = "smallest",
    scoring: Callable[..., float] | None = None,
    random_state: Any = 0,
) -> Selection:
    """Choose the value of a parameter by cross-validation, with the one-standard-error rule.

    Parameters
    ----------
    model : estimator
        An estimator with ``fit`` and ``score``, such as :class:`thalweg.SparseArchetypalNMF`.
        Clones of it are fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    parameter : str
        Its name, such as ``"n_components"``, ``"sparsity"`` or ``"weight"``.
    values : sequence
        The candidates.
    folds : int
        Number of folds; each is held out once.
    simplest : {"smallest", "largest"}
        Whether the smallest or the largest value gives the simplest model: the smallest number of
        archetypes or nonzeros, but the largest weight.
    scoring : callable or None, default=None
        Function of a fitted estimator and held-out rows; larger is better. None is the method
        ``score``, which suits archetypes and penalties. It rises with every component of a
        factorisation: choose their number with :func:`thalweg.hidden_entry_score`.
    random_state : int, Generator, RandomState or None
        Seed of the random folds.

    Returns
    -------
    Selection
        Losses, and the chosen value.

    Examples
    --------
    >>> from thalweg import SparseArchetypalNMF, select
    >>> from thalweg.synthetic import archetypal_mixtures
    >>> X = archetypal_mixtures(80, 30, 3, spread=0.3, noise=0.01, random_state=0).X
    >>> model = SparseArchetypalNMF(init="projections", continuation_steps=3)
    >>> select(model, X, "n_components", [1, 2, 3, 4], folds=4).chosen
    3

    The number of components of a factorisation:

    >>> from thalweg import DivergenceNMF, hidden_entry_score
    >>> model, values = DivergenceNMF(loss="squared-l2", random_state=0), [2, 3, 4, 5]
    >>> select(model, X, "n_components", values, folds=3, scoring=hidden_entry_score).chosen
    3
    """
    choose("simplest", simplest, ("smallest", "largest"))
    values = tuple(values)
    if not values:
        raise ParameterError(
            f"values must be one or more values of {parameter}, got none. "
            "Example: [0.1, 1.0, 10.0]."
        )
    rows = X if hasattr(X, "shape") else np.asarray(X)
    if not 2 <= check_count("folds", folds) <= rows.shape[0]:
        raise InputError(
            f"folds must be between 2 and the number of samples, {rows.shape[0]}, got {folds!r}. "
            "Use fewer folds, or more samples."
        )
    seed = int(generator(random_state).integers(2**31))
    parts = list(KFold(folds, shuffle=True, random_state=seed).split(np.empty(rows.shape[0])))
    table = np.array(
        [[_held_out(model, rows, parameter, v, part, scoring) for part in parts] for v in values]
    )
    losses, errors = table.mean(axis=1), table.std(axis=1, ddof=1) / np.sqrt(folds)
    least = int(np.argmin(losses))
    near = [
        v for v, loss in zip(values, losses, strict=True) if loss <= losses[least] + errors[least]
    ]
    chosen = min(near) if simplest == "smallest" else max(near)
    return Selection(values, losses, errors, values[least], chosen)


def select_weight(
    model: Any, X: Any, weights: Any = None, *, folds: int = 5, random_state: Any = 0
) -> Selection:
    """Choose the weight of archetypal regularisation by cross-validation, [A] 4.4.

    Parameters
    ----------
    model : SparseArchetypalNMF
        The model; clones of it with other weights are fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    weights : sequence of float, optional
        The candidates; by default nine values from 0.1 to 20 in geometric progression.
    folds : int
        Number of folds; each is held out once.
    random_state : int, Generator, RandomState or None
        Seed of the random folds.

    Returns
    -------
    Selection
        ``chosen`` is the largest weight whose loss is within one standard error of the smallest.

    Examples
    --------
    >>> from thalweg import SparseArchetypalNMF, select_weight
    >>> from thalweg.synthetic import archetypal_mixtures
    >>> X = archetypal_mixtures(60, 20, 3, random_state=0).X
    >>> model = SparseArchetypalNMF(3, init="projections", continuation_steps=2)
    >>> found = select_weight(model, X, folds=2)
    >>> len(found.losses)
    9
    """
    values = np.geomspace(0.1, 20.0, 9).tolist() if weights is None else weights
    return select(
        model, X, "weight", values, folds=folds, simplest="largest", random_state=random_state
    )


def _held_out(model: Any, X: Any, parameter: str, value: Any, part: Any, scoring: Any) -> float:
    learn, test = part
    fitted = clone(model).set_params(**{parameter: value}).fit(X[learn])
    return -float(fitted.score(X[test]) if scoring is None else scoring(fitted, X[test]))
