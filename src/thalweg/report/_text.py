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
    >>> figure(25_000).replace("\N{NARROW NO-BREAK SPACE}", " ")
    '25 000'
    """
    if value is None:
        return "none"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return _grouped(int(value))
    if isinstance(value, Real):
        real = float(value)
        return _grouped(int(real)) if _is_round(real) else f"{real:.4g}"
    return str(value)


def _grouped(number: int) -> str:
    """Return a whole number, with its thousands apart if it has five digits or more."""
    apart = "\N{NARROW NO-BREAK SPACE}"
    return f"{number:,}".replace(",", apart) if abs(number) >= 10_000 else str(number)


def _is_round(value: float) -> bool:
    return value.is_integer() and 10_000 <= abs(value) < 1e7


def spread(n: int, most: int) -> Indices:
    """Return at most ``most`` of the numbers below ``n``, evenly spread, with both ends."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))
