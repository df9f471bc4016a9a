"""Running means over a stream, as named tuples whose last fields are weight and n_samples."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thalweg._typing import Array

__all__ = ["Share", "alone", "batch_share", "joined", "merge_means"]

S = TypeVar("S", bound=Any)


class Share(NamedTuple):
    """How a batch enters the means: with the part ``share``, the past with the rest."""

    share: float
    weight: Array
    n_samples: Array


def batch_share(weight: Array, n_samples: Array, n: int, forgetting: float, fade: float) -> Share:
    """Return the part of n new samples in the means, and the counts with them taken in.

    The past loses weight by the factor ``forgetting`` for each new sample, and as
    (n_samples / all samples)^fade.
    """
    total = n_samples + n
    own = float(n) if forgetting == 1.0 else (1.0 - forgetting**n) / (1.0 - forgetting)
    past = weight * forgetting**n * (n_samples / total) ** fade
    return Share(float(own / (past + own)), np.asarray(past + own), np.asarray(total))


def merge_means(states: Sequence[S]) -> S:
    """Return the means over all the samples behind several states, weighted."""
    weight = sum((s[-2] for s in states), np.zeros(()))
    if weight == 0.0:
        return states[0]
    means = [
        np.asarray(sum(s[i] * s[i].dtype.type(s[-2] / weight) for s in states))
        for i in range(len(states[0]) - 2)
    ]
    n_samples = sum((s[-1] for s in states), np.zeros(()))
    made: S = type(states[0])(*means, np.asarray(weight), np.asarray(n_samples))
    return made


def alone(update: S) -> S:
    """Return the update for samples without a past, which all count the same."""
    lone: S = replace(update, forgetting=1.0, fade=0.0)
    return lone


def joined(past: S, latest: S, forgetting: float, fade: float) -> S:
    """Return the means with those of a batch, whose samples all count the same, taken in."""
    if latest[-1] == 0.0:
        return past
    share, *counts = batch_share(past[-2], past[-1], int(latest[-1]), forgetting, fade)
    means = [
        np.asarray(old.dtype.type(1.0 - share) * old + old.dtype.type(share) * new)
        for old, new in zip(past[:-2], latest[:-2], strict=True)
    ]
    made: S = type(past)(*means, *counts)
    return made
