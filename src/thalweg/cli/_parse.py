"""Parse the values of options."""

import ast
from collections.abc import Iterable
from typing import Any

from thalweg.errors import ParameterError

__all__ = ["names", "pairs", "side"]


def pairs(option: str, given: Iterable[str]) -> dict[str, Any]:
    """Parse ``["a=1", "b=x"]`` to ``{"a": 1, "b": "x"}``: Python literals, or strings."""
    parsed = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise ParameterError(
                f"{option} must be NAME=VALUE, got {text!r}. Example: {option} tol=1e-4."
            )
        parsed[name] = _value(value)
    return parsed


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def side(text: str | None) -> tuple[int, int] | None:
    """Parse ``"120x160"`` to ``(120, 160)``."""
    if text is None:
        return None
    height, _, width = text.lower().partition("x")
    if not (height.isdecimal() and width.isdecimal()):
        raise ParameterError(
            f"--size must be HEIGHTxWIDTH in pixels, got {text!r}. Example: --size 120x160."
        )
    return int(height), int(width)


def names(text: str | None) -> list[str] | None:
    """Parse ``"a,b"`` to ``["a", "b"]``."""
    return None if text is None else [name.strip() for name in text.split(",")]
