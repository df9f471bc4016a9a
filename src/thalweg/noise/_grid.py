"""The generalised t law on the grid of counted residuals: sizes in bins, 4 log2 of the size."""

import numpy as np
from scipy.optimize import brentq

from thalweg._typing import Array
from thalweg.noise.generalised_t import GeneralisedT
from thalweg.noise.residual_counts import BINS_PER_OCTAVE

__all__ = ["NORMAL", "cells", "in_bins", "quantile_ratio", "survival"]

NORMAL = GeneralisedT(2.0**0.5, 2.0, 0.0)


def in_bins(size: float) -> float:
    return float(BINS_PER_OCTAVE * np.log2(size))


def survival(edges: Array, law: GeneralisedT) -> Array:
    return law.survival(np.exp2(edges / BINS_PER_OCTAVE))


def cells(edges: Array, law: GeneralisedT) -> Array:
    """Return the probabilities between edges in bins, log2 sizes times 4, along the last axis."""
    probabilities: Array = -np.diff(survival(edges, law), axis=-1)
    return probabilities


def quantile_ratio(law: GeneralisedT) -> float:
    """Return the size that a share of 31.7 % exceeds: one standard deviation of a normal law."""
    share = float(NORMAL.survival(1.0))
    found = brentq(lambda log: float(law.survival(np.exp(log))) - share, -9.0, 9.0)
    return float(np.exp(found))
