"""Convert estimators to the content of a header, and back."""

import json
import re
from typing import Any

import numpy as np

from thalweg import __version__
from thalweg._checks import require_whole
from thalweg.checkpoint import _classes
from thalweg.checkpoint._decode import decode, describe
from thalweg.checkpoint._encode import Arrays, Unserializable, encode
from thalweg.checkpoint._format import Fault
from thalweg.errors import ParameterError
from thalweg.learning.progress import Position

__all__ = ["build", "checked", "make_estimator", "position", "restore_state"]

Content = dict[str, Any]

_KEYS = {"version", "estimator", "parameters", "state", "position", "batch_size", "extra"}
_ATTRIBUTE = re.compile(r"_?[a-z]\w*")
_CALLBACK = "callback"  # parameter that is never saved, and None by default after loading


def build(model: Any, position: Any, batch_size: int | None, extra: Any) -> tuple[Content, Arrays]:
    """Return the content and the arrays of an estimator."""
    if position is not None:
        require_whole(0, epoch=position[0], sample=position[1])
    if batch_size is not None:
        require_whole(1, batch_size=batch_size)
    arrays: Arrays = {}
    content = {
        "version": __version__,
        "estimator": _class_name(model),
        "parameters": _parameters(model, arrays),
        "state": _state(model, arrays),
        "position": None if position is None else [int(n) for n in position],
        "batch_size": None if batch_size is None else int(batch_size),
        "extra": _json_dict({} if extra is None else extra),
    }
    return content, arrays


def checked(content: Content) -> Content:
    """Return the content if it is valid; raise otherwise."""
    position, size = content.get("position"), content.get("batch_size")
    valid = (
        set(content) == _KEYS
        and isinstance(content["version"], str)
        and all(isinstance(content[key], dict) for key in ("parameters", "state", "extra"))
        and (position is None or (isinstance(position, list) and len(position) == 2))
        and all(type(n) is int and n >= 0 for n in position or [])
        and (size is None or (type(size) is int and size >= 1))
    )
    if not valid:
        raise Fault("has an invalid header")
    return content


def make_estimator(content: Content, arrays: Arrays, given: dict[str, Any]) -> Any:
    """Return the estimator of a content; ``given`` holds the parameters that were not saved."""
    cls = _class(content)
    parameters = {}
    for name, node in content["parameters"].items():
        omitted = _kind(node) == "given"
        if omitted and name not in given and name != _CALLBACK:
            raise ParameterError(
                f"{name} must be passed again, got none. It was an object of the class "
                f"{node.get('class')}, which is not saved: use load(path, {name}=...)."
            )
        parameters[name] = None if omitted else decode(node, arrays)
    try:
        model = cls(**{**parameters, **given})
    except TypeError as error:
        raise Fault(f"has parameters unknown to {cls.__name__}: {error}") from error
    vars(model).update(_decode_state(content, cls, arrays))
    return model


def restore_state(model: Any, content: Content, arrays: Arrays, path: Any) -> None:
    """Replace the state of an estimator, if its parameters equal those of the content."""
    own: Arrays = {}
    mine = {"estimator": _class_name(model), **_parameters(model, own)}
    generators = {}
    for name, node in {"estimator": content["estimator"], **content["parameters"]}.items():
        theirs, ours = _take_arrays(name, arrays), _take_arrays(name, own)
        if _kind(node) == _kind(mine.get(name)) == "random":
            generators[name] = decode(node, theirs)
        elif name != _CALLBACK and not (mine.get(name) == node and _equal(theirs, ours)):
            raise ParameterError(
                f"{name} must be {describe(node)} as in {path}, got {describe(mine.get(name))}. "
                "Use the same parameters to resume a run, or another folder for a new run."
            )
    state = _decode_state(content, type(model), arrays)
    for name in vars(model).keys() - mine.keys():
        delattr(model, name)
    vars(model).update(state | generators)


def position(content: Content) -> Any:
    """Return the position in the stream, or None."""
    saved = content["position"]
    return None if saved is None else Position(*saved)


def _class_name(model: Any) -> str:
    name = type(model).__name__
    if _classes.estimators().get(name) is not type(model):
        raise ParameterError(
            f"estimator must be an estimator of the library, got {name}. "
            "Save the estimators of a pipeline one by one, and rebuild the rest."
        )
    return name


def _class(content: Content) -> type[Any]:
    name = content["estimator"]
    if not isinstance(name, str) or name not in _classes.estimators():
        raise Fault(f"contains the unknown estimator {name!r}")
    return _classes.estimators()[name]


def _parameters(model: Any, arrays: Arrays) -> dict[str, Any]:
    nodes = {}
    for name, value in model.get_params(deep=False).items():
        own: Arrays = {}
        try:
            nodes[name] = encode(value, name, own)
            arrays.update(own)
        except Unserializable:
            nodes[name] = {"is": "given", "class": type(value).__name__}
    return nodes


def _state(model: Any, arrays: Arrays) -> dict[str, Any]:
    known = model.get_params(deep=False)
    state = {name: value for name, value in vars(model).items() if name not in known}
    try:
        return {name: encode(value, name, arrays) for name, value in state.items()}
    except Unserializable as error:
        raise ParameterError(
            f"Attributes of an estimator must be numbers, strings and arrays, got {error}. "
            "Delete attributes that you added."
        ) from None


def _decode_state(content: Content, cls: type[Any], arrays: Arrays) -> dict[str, Any]:
    for name in content["state"]:
        if not _ATTRIBUTE.fullmatch(name) or hasattr(cls, name):
            raise Fault(f"has an invalid state attribute {name!r}")
    state = {name: decode(node, arrays) for name, node in content["state"].items()}
    if arrays:
        raise Fault(f"has an unused array {min(arrays)!r}")
    return state


def _json_dict(extra: Any) -> dict[str, Any]:
    try:
        converted = json.loads(json.dumps(extra, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            f"extra must be a JSON-serializable dict, got an error: {error}. "
            "Use strings, finite numbers, lists and dicts."
        ) from error
    if not isinstance(converted, dict):
        raise ParameterError(f"extra must be a dict, got {type(extra).__name__}.")
    return converted


def _kind(node: Any) -> Any:
    return node.get("is") if isinstance(node, dict) else None


def _take_arrays(name: str, arrays: Arrays) -> Arrays:
    """Remove the arrays of a parameter from a table, and return them."""
    names = [key for key in arrays if key == name or key.startswith(f"{name}.")]
    return {key: arrays.pop(key) for key in names}


def _equal(theirs: Arrays, ours: Arrays) -> bool:
    return theirs.keys() == ours.keys() and all(
        np.array_equal(array, ours[name], equal_nan=array.dtype.kind == "f")
        and array.dtype == ours[name].dtype.newbyteorder("<")
        for name, array in theirs.items()
    )
