"""One look at every entry of the data."""

from typing import Any

from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def count_odd(values: Any, bound: Any) -> Any:
    """Count the gaps, and the numbers other than zero that are smaller than the bound."""
    gaps, faint = 0, 0
    for i in range(values.size):
        gaps += values[i] != values[i]
        faint += (abs(values[i]) < bound) & (values[i] != 0.0)
    return gaps, faint
