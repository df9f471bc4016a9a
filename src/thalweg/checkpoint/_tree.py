"""Values as JSON and arrays, and back.

Numbers, texts and lists stand for themselves; everything else is an object whose ``is`` says what.
Each array has the name of its place, and is used once. What cannot be written is *foreign*: the
objects and functions of a user.
"""

from dataclasses import fields as fields_of
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.checkpoint import _classes, _random
from thalweg.checkpoint._format import Fault

__all__ = ["Foreign", "decode", "describe", "encode"]

Arrays = dict[str, NDArray[Any]]
_DTYPES = ("float32", "float64")


class Foreign(Exception):  # noqa: N818 - the writer of a file makes an error of it
    """A value that is neither numbers, texts, arrays nor the library's own."""


def encode(value: Any, place: str, arrays: Arrays) -> Any:
    """Return a value as JSON, its arrays put aside under names that begin with ``place``."""
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return value if isfinite(value) else {"is": "float", "value": repr(value)}
    if type(value) is list:
        return [encode(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]
    return _encode_array(value, place, arrays) or _encode_object(value, place, arrays)


def _encode_array(value: Any, place: str, arrays: Arrays) -> dict[str, Any] | None:
    if isinstance(value, np.dtype) and value.name in _DTYPES:
        return {"is": "dtype", "name": value.name}
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    array = np.asarray(value)
    if array.dtype == object and array.ndim == 1 and all(type(x) is str for x in array):
        return {"is": "names", "items": array.tolist()}  # feature_names_in_ of scikit-learn
    plain = isinstance(value, np.generic) or type(value) is np.ndarray
    if not plain or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise Foreign(f"{place} is an array of {array.dtype}")
    while place in arrays:  # keys of a dict may have dots
        place += "_"
    arrays[place] = array
    return {"is": "scalar" if isinstance(value, np.generic) else "array", "name": place}


def _encode_object(value: Any, place: str, arrays: Arrays) -> dict[str, Any]:
    def inside(items: Any) -> dict[str, Any]:
        return {name: encode(item, f"{place}.{name}", arrays) for name, item in items}

    if type(value) is tuple:
        items = [encode(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]
        return {"is": "tuple", "items": items}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"is": "dict", "items": inside(value.items())}
    if (state := _random.state_of(value)) is not None:
        return {"is": "random", "state": encode(state, place, arrays)}
    if isinstance(value, tuple) and (name := _classes.record_name(value)):
        fields = inside(zip(value._fields, value, strict=True))  # type: ignore[attr-defined]
        return {"is": "record", "class": name, "fields": fields}
    if found := _classes.component_name(value):
        fields = inside((field.name, getattr(value, field.name)) for field in fields_of(value))
        return {"is": "component", "room": found[0], "name": found[1], "fields": fields}
    raise Foreign(f"{place} is a {type(value).__name__}")


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
    if node["name"] not in _DTYPES:
        raise Fault(f"has the number type {node['name']!r}, which no estimator has")
    found: np.dtype[Any] = np.dtype(node["name"])
    return found


def _array(node: Any, arrays: Arrays) -> NDArray[Any]:
    if not isinstance(node["name"], str) or node["name"] not in arrays:
        raise Fault(f"has no array {node['name']!r}, or uses it twice")
    return arrays.pop(node["name"])


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
    "scalar": _scalar,
    "names": _names,
    "tuple": _tuple,
    "dict": _dict,
    "random": _random_state,
    "record": _record,
    "component": _component,
}
