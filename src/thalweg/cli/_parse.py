"""What people type, as Python has it."""

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thalweg.errors import InputError, ParameterError

__all__ = ["names", "pairs", "side", "words"]


def pairs(option: str, given: Iterable[str]) -> dict[str, Any]:
    """Return ``["a=1", "b=x"]`` as ``{"a": 1, "b": "x"}``; values are Python's, or texts."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise ParameterError(
                f"{option} should be NAME=VALUE, but {text!r} came. Write {option} tol=1e-4, say."
            )
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def side(text: str | None) -> tuple[int, int] | None:
    """Return ``"120x160"`` as ``(120, 160)``."""
    if text is None:
        return None
    height, _, width = text.lower().partition("x")
    if not (height.isdecimal() and width.isdecimal()):
        raise ParameterError(
            f"--size should be HEIGHTxWIDTH in pixels, but {text!r} came. Write --size 120x160."
        )
    return int(height), int(width)


def names(text: str | None) -> list[str] | None:
    """Return ``"a,b"`` as ``["a", "b"]``."""
    return None if text is None else [name.strip() for name in text.split(",")]


def words(path: str | None) -> frozenset[str]:
    """Return the words of a file."""
    if path is None:
        return frozenset()
    try:
        return frozenset(Path(path).read_text("utf-8").lower().split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} should be a file of words, but it cannot be read ({error}). Check the path."
        ) from error
