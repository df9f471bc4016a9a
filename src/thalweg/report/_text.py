"""Format numbers, and choose evenly spaced indices."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from thalweg._typing import Indices

__all__ = ["evenly_spaced", "format_number"]

_MIN_GROUPED = 10_000  # numbers from which digits are grouped by thousands
_MAX_INTEGER = 1e7  # floats from which even integers are written with an exponent


def format_number(value: Any) -> str:
    """Format a value for readers; strings are returned unchanged.

    Examples
    --------
    >>> from thalweg.report._text import format_number
    >>> format_number(0.123456), format_number(1.0), format_number(True), format_number("l2")
    ('0.1235', '1', 'yes', 'l2')
    >>> format_number(25_000).replace("\N{NARROW NO-BREAK SPACE}", " ")
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
    """Format an integer; from five digits on with thousands separators."""
    separator = "\N{NARROW NO-BREAK SPACE}"
    return f"{number:,}".replace(",", separator) if abs(number) >= _MIN_GROUPED else str(number)


def _is_round(value: float) -> bool:
    return value.is_integer() and _MIN_GROUPED <= abs(value) < _MAX_INTEGER


def evenly_spaced(n: int, most: int) -> Indices:
    """Return at most ``most`` evenly spaced indices below ``n``, including both ends."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))
