"""Numbers as text, and which of many things are shown."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from thalweg._typing import Indices

__all__ = ["figure", "spread"]


def figure(value: Any) -> str:
    """Return a number as people write it; a text stays as it is.

    Examples
    --------
    >>> from thalweg.report._text import figure
    >>> figure(0.123456), figure(1.0), figure(True), figure("l2")
    ('0.1235', '1', 'yes', 'l2')
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        number = int(value)
        return f"{number:,}".replace(",", "\u202f") if abs(number) >= 10_000 else str(number)
    if isinstance(value, Real):
        return f"{float(value):.4g}"
    return str(value)


def spread(n: int, most: int) -> Indices:
    """Return at most ``most`` of the numbers below ``n``, evenly spread, with both ends."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))
