"""Decode values that :mod:`thalweg.checkpoint._encode` has written to JSON and arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.checkpoint import _classes, _random
from thalweg.checkpoint._encode import COLUMNS, DTYPES, Arrays
from thalweg.checkpoint._format import Fault

__all__ = ["decode", "describe"]


def decode(node: Any, arrays: Arrays) -> Any:
    """Return the value of a node; used arrays are removed from the table."""
    if node is None or isinstance(node, (bool, str, int, float)):
        return node
    if isinstance(node, list):
        return [decode(item, arrays) for item in node]
    try:
        return _DECODERS[node["is"]](node, arrays)
    except (KeyError, TypeError) as error:
        raise Fault(f"has an invalid value: {str(node)[:80]}") from error


def describe(node: Any) -> Any:
    """Return numbers, strings and lists unchanged, and a short text for other values."""
    if isinstance(node, list):
        return [describe(item) for item in node]
    if not isinstance(node, dict):
        return node
    kind, inside = node.get("is"), node.get("items")
    if kind in ("tuple", "names") and isinstance(inside, list):
        return [describe(item) for item in inside]
    if kind == "float":
        return str(node.get("value"))
    named = node.get("class", node.get("name"))
    fields = node.get("fields")
    if isinstance(fields, dict):
        return f"{named}({', '.join(f'{k}={describe(v)}' for k, v in fields.items())})"
    return f"<{kind}>" if named is None else f"<{kind} {named}>"


def _float(node: Any, arrays: Arrays) -> float:
    return {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}[str(node["value"])]


def _dtype(node: Any, arrays: Arrays) -> np.dtype[Any]:
    if node["name"] not in DTYPES:
        raise Fault(f"has the unsupported dtype {node['name']!r}")
    dtype: np.dtype[Any] = np.dtype(node["name"])
    return dtype


def _array(node: Any, arrays: Arrays) -> NDArray[Any]:
    if not isinstance(node["name"], str) or node["name"] not in arrays:
        raise Fault(f"refers to a missing array {node['name']!r}, or uses it twice")
    return arrays.pop(node["name"])


def _column(node: Any, arrays: Arrays) -> list[Any]:
    array = _array(node, arrays)
    if array.ndim != 1 or array.dtype.str not in COLUMNS.values():
        raise Fault(f"has an array {node['name']!r} instead of a list of numbers")
    column: list[Any] = array.tolist()
    return column


def _scalar(node: Any, arrays: Arrays) -> Any:
    array = _array(node, arrays)
    if array.ndim:
        raise Fault(f"has an array {node['name']!r} instead of a number")
    return array[()]


def _names(node: Any, arrays: Arrays) -> NDArray[Any]:
    items = node["items"]
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise Fault("has feature names that are not strings")
    return np.array(items, dtype=object)


def _tuple(node: Any, arrays: Arrays) -> tuple[Any, ...]:
    items = decode(node["items"], arrays)
    if not isinstance(items, list):
        raise Fault("has an invalid tuple")
    return tuple(items)


def _dict(node: Any, arrays: Arrays) -> dict[str, Any]:
    return _fields(node["items"], arrays)


def _random_state(node: Any, arrays: Arrays) -> Any:
    parts = decode(node["state"], arrays)
    if not isinstance(parts, dict):
        raise Fault("has an invalid random state")
    return _random.generator(parts.get("made"), parts.get("state"))


def _record(node: Any, arrays: Arrays) -> Any:
    return _built(_classes.record(node["class"]), node, arrays)


def _records(node: Any, arrays: Arrays) -> list[Any]:
    cls, fields = _classes.record(node["class"]), _fields(node["fields"], arrays)
    columns = list(fields.values())
    if not columns or not all(type(c) is list and len(c) == len(columns[0]) for c in columns):
        raise Fault(f"has an invalid list of {cls.__name__}")
    return [cls(**dict(zip(fields, row, strict=True))) for row in zip(*columns, strict=True)]


def _component(node: Any, arrays: Arrays) -> Any:
    return _built(_classes.component(node["room"], node["name"]), node, arrays)


def _built(cls: type[Any], node: Any, arrays: Arrays) -> Any:
    """Return an object built from its fields, which the class validates."""
    fields = _fields(node["fields"], arrays)
    try:
        return cls(**fields)
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise Fault(f"has an invalid {cls.__name__}: {error}") from error


def _fields(items: Any, arrays: Arrays) -> dict[str, Any]:
    if not isinstance(items, dict):
        raise Fault("has an object without fields")
    return {name: decode(item, arrays) for name, item in items.items()}


_DECODERS: dict[Any, Any] = {
    "float": _float,
    "dtype": _dtype,
    "array": _array,
    "column": _column,
    "scalar": _scalar,
    "names": _names,
    "tuple": _tuple,
    "dict": _dict,
    "random": _random_state,
    "record": _record,
    "records": _records,
    "component": _component,
}
