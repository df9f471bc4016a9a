"""Encode values as JSON and arrays.

Numbers, strings and lists are written as such; other values become objects whose ``is`` names
their kind. Each array is named after its location and used once. Objects and functions of a user
cannot be serialized.
"""

from dataclasses import fields as fields_of
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.checkpoint import _classes, _random

__all__ = ["COLUMNS", "DTYPES", "Arrays", "Unserializable", "encode"]

Arrays = dict[str, NDArray[Any]]
DTYPES = ("float32", "float64")
_MIN_COLUMN = 16  # entries from which a list of numbers is stored as an array; only affects size
COLUMNS: dict[type, str] = {float: "<f8", int: "<i8"}


class Unserializable(Exception):  # noqa: N818 - internal: converted to a public error
    """Raised for values other than numbers, strings, arrays and objects of the library."""


def encode(value: Any, place: str, arrays: Arrays) -> Any:
    """Return a value as JSON; its arrays are added to ``arrays`` with names from ``place``."""
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return value if isfinite(value) else {"is": "float", "value": repr(value)}
    if type(value) is list:
        return _encode_list(value, place, arrays)
    return _encode_array(value, place, arrays) or _encode_object(value, place, arrays)


def _encode_list(value: list[Any], place: str, arrays: Arrays) -> Any:
    """Return a list as JSON; long lists of numbers or records, such as histories, as arrays."""
    kinds = {type(item) for item in value} if len(value) >= _MIN_COLUMN else set()
    for kind, dtype in COLUMNS.items():
        if kinds == {kind} and not (kind is int and max(map(abs, value)) >= 2**63):
            return _store_array(np.array(value, dtype), "column", place, arrays)
    name = _classes.record_name(value[0]) if len(kinds) == 1 else None
    if name is None:
        return [encode(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]
    columns = dict(zip(value[0]._fields, map(list, zip(*value, strict=True)), strict=True))
    defaults = value[0]._field_defaults
    fields = {
        field: encode(column, f"{place}.{field}", arrays)
        for field, column in columns.items()
        # a column of defaults is left out
        if field not in defaults or any(item is not defaults[field] for item in column)
    }
    return {"is": "records", "class": name, "fields": fields}


def _encode_array(value: Any, place: str, arrays: Arrays) -> dict[str, Any] | None:
    if isinstance(value, np.dtype) and value.name in DTYPES:
        return {"is": "dtype", "name": value.name}
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    array = np.asarray(value)
    if array.dtype == object and array.ndim == 1 and all(type(x) is str for x in array):
        return {"is": "names", "items": array.tolist()}  # feature_names_in_ of scikit-learn
    plain = isinstance(value, np.generic) or type(value) is np.ndarray
    if not plain or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise Unserializable(f"{place} of dtype {array.dtype}")
    return _store_array(array, "array" if type(value) is np.ndarray else "scalar", place, arrays)


def _store_array(array: NDArray[Any], kind: str, place: str, arrays: Arrays) -> dict[str, Any]:
    while place in arrays:  # keys of a dict may contain dots
        place += "_"
    arrays[place] = array
    return {"is": kind, "name": place}


def _encode_object(value: Any, place: str, arrays: Arrays) -> dict[str, Any]:
    def encoded(items: Any) -> dict[str, Any]:
        return {name: encode(item, f"{place}.{name}", arrays) for name, item in items}

    if type(value) is tuple:
        items = [encode(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]
        return {"is": "tuple", "items": items}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"is": "dict", "items": encoded(value.items())}
    if (state := _random.state_of(value)) is not None:
        return {"is": "random", "state": encode(state, place, arrays)}
    if isinstance(value, tuple) and (name := _classes.record_name(value)):
        fields = encoded(zip(value._fields, value, strict=True))  # type: ignore[attr-defined]
        return {"is": "record", "class": name, "fields": fields}
    if found := _classes.component_name(value):
        fields = encoded((field.name, getattr(value, field.name)) for field in fields_of(value))
        return {"is": "component", "room": found[0], "name": found[1], "fields": fields}
    raise Unserializable(f"{place} of type {type(value).__name__}")
