"""Check the dispersion of counts: a number, one per feature, or how to estimate it."""

from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.errors import InputError, ParameterError

ESTIMATED = ("common", "per-feature")


def checked_dispersion(dispersion: Any, least: float) -> float | Array | str:
    """Return a number or a read-only array; raise ``ParameterError`` if invalid."""
    if isinstance(dispersion, str) and dispersion in ESTIMATED:
        return dispersion
    try:
        given = np.array(dispersion, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    above = given >= least if least == 0.0 else given > 0.0
    if given.ndim > 1 or given.size == 0 or not (above & (given < np.inf)).all():
        bound = "nonnegative" if least == 0.0 else "positive"
        raise ParameterError(
            f"dispersion must be {bound} numbers, one or one per feature, 'common' or "
            f"'per-feature', got {dispersion!r}. 'common' estimates one number from the data."
        )
    given.setflags(write=False)
    return float(given) if given.ndim == 0 else given


def fixed(dispersion: Any, n_features: int) -> float | Array:
    """Return the dispersion if it is known, for data of this many features."""
    if isinstance(dispersion, str):
        raise ParameterError(
            f"dispersion must be known to compute the loss, got {dispersion!r}. Use a number, or "
            "call tuned with an estimate."
        )
    if np.ndim(dispersion) == 1 and len(dispersion) != n_features:
        raise InputError(
            f"dispersion must have one number for each of the {n_features} features, got "
            f"{len(dispersion)}. Pass an array of that length."
        )
    known: float | Array = dispersion
    return known


def key(dispersion: float | Array | str) -> object:
    """Return what makes two dispersions equal."""
    return dispersion.tobytes() if isinstance(dispersion, np.ndarray) else dispersion
