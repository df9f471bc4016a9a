"""Checks of the parameters of sparse archetypal NMF."""

from typing import Any

import numpy as np

from thalweg.errors import ParameterError

__all__ = ["check_alpha", "check_weight", "n_nonzeros", "share_of_nonzeros"]


def check_weight(weight: Any, alpha: Any) -> float | None:
    """Return the weight of the distance from the hull; None for the constrained form."""
    if weight is None:
        return None
    if alpha is not None:
        raise ParameterError(
            f"alpha must be None unless weight is None, got {alpha!r}. Set weight=None to "
            "minimise the distance from the hull with samples within alpha."
        )
    if not (isinstance(weight, (int, float, np.number)) and 0.0 <= weight < np.inf):
        raise ParameterError(
            f"weight must be a finite number that is 0 or more, got {weight!r}. "
            "Begin with 1; select_weight finds one by held-out samples."
        )
    return float(weight)


def check_alpha(alpha: Any) -> float:
    """Return the largest distance of a sample in the constrained form."""
    number = isinstance(alpha, (int, float, np.number)) and not isinstance(alpha, bool)
    if not (number and 0.0 < alpha < np.inf):
        raise ParameterError(
            f"alpha must be a finite number above 0 with weight=None, got {alpha!r}. It is the "
            "largest distance of a sample from the hull of the archetypes, in the data's units."
        )
    return float(alpha)


def n_nonzeros(sparsity: Any, n_entries: int) -> int | None:
    """Return the limit on the nonzeros of all archetypes; None for no limit."""
    if sparsity is None:
        return None
    if isinstance(sparsity, (int, np.integer)) and not isinstance(sparsity, bool):
        nonzeros = int(sparsity)
    elif isinstance(sparsity, (float, np.floating)) and 0.0 < sparsity <= 1.0:
        nonzeros = max(1, round(float(sparsity) * n_entries))
    else:
        nonzeros = 0
    if not 1 <= nonzeros <= n_entries:
        raise ParameterError(
            "sparsity must be None, a share above 0 and at most 1, or an integer from 1 "
            f"to {n_entries} (n_components times features), got {sparsity!r}. "
            "It is the number of nonzeros, not of zeros."
        )
    return nonzeros


def share_of_nonzeros(sparsity: Any) -> float:
    """Return the share of nonzeros of the archetypes while their number is open."""
    if isinstance(sparsity, (int, np.integer)) and not isinstance(sparsity, bool):
        raise ParameterError(
            f"sparsity must be None or a share with n_components='auto', got {sparsity!r}. "
            "A number of nonzeros needs the number of archetypes."
        )
    size = 10**6
    return (n_nonzeros(sparsity, size) or size) / size
