"""Values from JSON and arrays: what :mod:`thalweg.checkpoint._encode` has written, and no more."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.checkpoint import _classes, _random
from thalweg.checkpoint._encode import COLUMNS, DTYPES, Arrays
from thalweg.checkpoint._format import Fault

__all__ = ["decode", "describe"]


def decode(node: Any, arrays: Arrays) -> Any:
    """Return the value of a node; arrays are taken out of the table as they are used."""
    if node is None or isinstance(node, (bool, str, int, float)):
        return node
    if isinstance(node, list):
        return [decode(item, arrays) for item in node]
    try:
        return _DECODERS[node["is"]](node, arrays)
    except (KeyError, TypeError) as error:
        raise Fault(f"has a value that is none: {str(node)[:80]}") from error


def describe(node: Any) -> Any:
    """Return numbers, texts and lists as they are, and of anything else a short text."""
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
        raise Fault(f"has the number type {node['name']!r}, which no estimator has")
    found: np.dtype[Any] = np.dtype(node["name"])
    return found


def _array(node: Any, arrays: Arrays) -> NDArray[Any]:
    if not isinstance(node["name"], str) or node["name"] not in arrays:
        raise Fault(f"has no array {node['name']!r}, or uses it twice")
    return arrays.pop(node["name"])


def _column(node: Any, arrays: Arrays) -> list[Any]:
    array = _array(node, arrays)
    if array.ndim != 1 or array.dtype.str not in COLUMNS.values():
        raise Fault(f"has an array {node['name']!r} where a list of numbers should be")
    column: list[Any] = array.tolist()
    return column


def _scalar(node: Any, arrays: Arrays) -> Any:
    array = _array(node, arrays)
    if array.ndim:
        raise Fault(f"has an array {node['name']!r} where a number should be")
    return array[()]


def _names(node: Any, arrays: Arrays) -> NDArray[Any]:
    items = node["items"]
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise Fault("has names of features that are no texts")
    return np.array(items, dtype=object)


def _tuple(node: Any, arrays: Arrays) -> tuple[Any, ...]:
    items = decode(node["items"], arrays)
    if not isinstance(items, list):
        raise Fault("has a tuple that is none")
    return tuple(items)


def _dict(node: Any, arrays: Arrays) -> dict[str, Any]:
    return _inside(node["items"], arrays)


def _random_state(node: Any, arrays: Arrays) -> Any:
    parts = decode(node["state"], arrays)
    if not isinstance(parts, dict):
        raise Fault("has a random state that is not one")
    return _random.generator(parts.get("made"), parts.get("state"))


def _record(node: Any, arrays: Arrays) -> Any:
    return _built(_classes.record(node["class"]), node, arrays)


def _records(node: Any, arrays: Arrays) -> list[Any]:
    cls, fields = _classes.record(node["class"]), _inside(node["fields"], arrays)
    columns = list(fields.values())
    if not columns or not all(type(c) is list and len(c) == len(columns[0]) for c in columns):
        raise Fault(f"has a list of {cls.__name__} that is none")
    return [cls(**dict(zip(fields, row, strict=True))) for row in zip(*columns, strict=True)]


def _component(node: Any, arrays: Arrays) -> Any:
    return _built(_classes.component(node["room"], node["name"]), node, arrays)


def _built(cls: type[Any], node: Any, arrays: Arrays) -> Any:
    """Return an object from its fields; the class checks them as it does those of a user."""
    fields = _inside(node["fields"], arrays)
    try:
        return cls(**fields)
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise Fault(f"has a {cls.__name__} that cannot be: {error}") from error


def _inside(items: Any, arrays: Arrays) -> dict[str, Any]:
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
