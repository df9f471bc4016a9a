"""Weighted means of the fills of several models, with weights for each length of gap."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics import Expected
from thalweg.dynamics.calibration import length_classes
from thalweg.learning.hidden_trials import MAX_ERROR, HiddenTrials, Trial, error_ratio

__all__ = ["Blend", "Mixture", "blend_trials", "mix"]

# Models of a blend: each is fitted to the whole table.
_MAX_MEMBERS = 3
# A further model must reduce the error of hidden entries to this share.
_REQUIRED_GAIN = 0.99
# Prior of the weight 0 of a further model, in entries: weights of few entries are shrunk.
_PRIOR_ENTRIES = 50.0


class Blend(NamedTuple):
    """Models, and their weights in gaps of each length.

    Attributes
    ----------
    members : tuple of Trial
        The models; the first is the best one.
    lengths : integer array of shape (n,)
        Length of gap from which each class begins.
    weights : array of shape (n, n_members)
        Nonnegative weights with the sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics import Expected
    >>> from thalweg.learning.blending import Blend
    >>> zero, one = (Expected(np.full((1, 1), x), np.ones((1, 1))) for x in (0.0, 1.0))
    >>> blend = Blend((), np.ones(1, int), np.array([[0.75, 0.25]]))
    >>> blend.combine([zero, one], np.ones((1, 1), int)).mean
    array([[0.25]])
    """

    members: tuple[Trial, ...]
    lengths: Any
    weights: Array

    def combine(self, parts: Sequence[Expected], lengths: Array) -> Expected:
        """Return weighted means of values and of standard deviations, for lengths of gaps."""
        if len(parts) == 1:
            return parts[0]
        found = np.searchsorted(self.lengths, np.maximum(lengths, 1), side="right") - 1
        shares = np.moveaxis(self.weights[np.maximum(found, 0)], -1, 0)
        mean = sum(share * part.mean for share, part in zip(shares, parts, strict=True))
        std = sum(share * part.std for share, part in zip(shares, parts, strict=True))
        return Expected(np.asarray(mean), np.asarray(std))


def blend_trials(table: HiddenTrials, best: Trial) -> Blend:
    """Return the best trial, and others while they make it better on hidden entries.

    The weight w of a further model minimises sum ((1 - w) e_1 + w e_2)^2 over the errors e_1 and
    e_2 of both, in each class of lengths of gaps.

    Parameters
    ----------
    table : HiddenTrials
        The trials.
    best : Trial
        The first member.

    Returns
    -------
    Blend
        Members and weights.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> from thalweg.learning.blending import blend_trials
    >>> from thalweg.learning.hidden_trials import HiddenTrials
    >>> X = np.sin(np.arange(200.0) / 9)[:, None]
    >>> table = HiddenTrials(X, np.arange(200.0), np.random.default_rng(0))
    >>> best = table.timed(AutoregressiveFactors(), 0)
    >>> len(blend_trials(table, best).members)
    1
    """
    own = table.lengths[table.hidden]
    edges = length_classes(own)
    classes = np.searchsorted(edges, own, side="right") - 1
    first = next(i for i, trial in enumerate(table.trials) if trial is best)
    errors = [_clipped(table, trial) for trial in table.trials]
    mixture = mix(errors, first, classes, len(edges))
    members = tuple(table.trials[i] for i in mixture.members)
    return Blend(members, edges, mixture.weights)


class Mixture(NamedTuple):
    """Members of a blend, their weights, and the errors of the blend.

    Attributes
    ----------
    members : list of int
        Numbers of the models.
    weights : array of shape (n_classes, n_members)
        Their weights in each class.
    errors : array of shape (n_entries,)
        Errors of the blend.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.blending import Mixture
    >>> Mixture([0], np.ones((1, 1)), np.zeros(3)).members
    [0]
    """

    members: list[int]
    weights: Array
    errors: Array


def mix(errors: Sequence[Array], first: int, classes: Any, n_classes: int) -> Mixture:
    """Return a model, and others while they make it better, with weights for each class.

    Parameters
    ----------
    errors : sequence of arrays of shape (n_entries,)
        Errors of each model.
    first : int
        Number of the first member.
    classes : integer array of shape (n_entries,)
        Class of each entry.
    n_classes : int
        Number of classes.

    Returns
    -------
    Mixture
        Members, weights and errors.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.blending import mix
    >>> errors = np.ones(500), -np.ones(500)
    >>> mix(errors, 0, np.zeros(500, int), 1).weights.round(2)
    array([[0.55, 0.45]])
    """
    found = Mixture([first], np.ones((n_classes, 1)), errors[first])
    while len(found.members) < _MAX_MEMBERS:
        others = [i for i in range(len(errors)) if i not in found.members]
        pairs = [(i, *_mixed(found.errors, errors[i], classes, n_classes)) for i in others]
        if not pairs:
            break
        i, mixed, w = min(pairs, key=lambda pair: error_ratio(pair[1], found.errors))
        if not error_ratio(mixed, found.errors) < _REQUIRED_GAIN:
            break
        weights = np.column_stack([(1.0 - w)[:, None] * found.weights, w])
        found = Mixture([*found.members, i], weights, mixed)
    return found


def _clipped(table: HiddenTrials, trial: Trial) -> Array:
    return np.clip(table.errors(table.expected(trial).mean), -MAX_ERROR, MAX_ERROR)


def _mixed(one: Array, two: Array, classes: Any, n: int) -> tuple[Array, Array]:
    """Return the errors of the best mixture, and the weight of the second model in each class."""
    move = one - two
    products = np.bincount(classes, one * move, n)
    squares = np.bincount(classes, np.square(move), n)
    counts = np.maximum(np.bincount(classes, minlength=n), 1)
    prior = _PRIOR_ENTRIES * squares / counts
    w = np.clip(products / np.maximum(squares + prior, 1e-300), 0.0, 1.0)
    return one - w[classes] * move, w
