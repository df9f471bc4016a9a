"""What a header says of an estimator, and the estimator that it speaks of."""

import json
import re
from importlib import import_module
from typing import Any

import numpy as np

from thalweg import __version__
from thalweg._checks import require_whole
from thalweg.checkpoint import _classes
from thalweg.checkpoint._decode import decode, describe
from thalweg.checkpoint._encode import Arrays, Foreign, encode
from thalweg.checkpoint._format import Fault
from thalweg.errors import ParameterError

__all__ = ["checked", "estimator", "of", "position", "put_into"]

Content = dict[str, Any]

_KEYS = {"version", "estimator", "parameters", "state", "position", "batch_size", "extra"}
_ATTRIBUTE = re.compile(r"_?[a-z]\w*")
_CALLBACK = "callback"  # the parameter of an estimator that is dropped without further ado


def of(model: Any, position: Any, batch_size: int | None, extra: Any) -> tuple[Content, Arrays]:
    """Return what is to be written of an estimator."""
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
        "extra": _plain({} if extra is None else extra),
    }
    return content, arrays


def checked(content: Content) -> Content:
    """Return the content if all of it is there, and of an estimator of the library."""
    place, size = content.get("position"), content.get("batch_size")
    good = (
        set(content) == _KEYS
        and isinstance(content["version"], str)
        and all(isinstance(content[key], dict) for key in ("parameters", "state", "extra"))
        and (place is None or (isinstance(place, list) and len(place) == 2))
        and all(type(n) is int and n >= 0 for n in place or [])
        and (size is None or (type(size) is int and size >= 1))
    )
    if not good:
        raise Fault("has a header that is not one of a checkpoint")
    return content


def estimator(content: Content, arrays: Arrays, given: dict[str, Any]) -> Any:
    """Return the estimator of a content; ``given`` are parameters that were left out."""
    cls = _class(content)
    parameters = {}
    for name, node in content["parameters"].items():
        left_out = _kind(node) == "given"
        if left_out and name not in given and name != _CALLBACK:
            raise ParameterError(
                f"{name} was an object of your own class {node.get('class')}, which is not written "
                f"into files. Give it again: load(path, {name}=...)."
            )
        parameters[name] = None if left_out else decode(node, arrays)
    try:
        model = cls(**{**parameters, **given})
    except TypeError as error:
        raise Fault(f"has parameters that {cls.__name__} has not: {error}") from error
    vars(model).update(_decode_state(content, cls, arrays))
    return model


def put_into(model: Any, content: Content, arrays: Arrays, path: Any) -> None:
    """Replace what an estimator has learned, if its parameters are those of the content."""
    own: Arrays = {}
    mine = {"estimator": _class_name(model), **_parameters(model, own)}
    generators = {}
    for name, node in {"estimator": content["estimator"], **content["parameters"]}.items():
        theirs, ours = _belonging(name, arrays), _belonging(name, own)
        if _kind(node) == _kind(mine.get(name)) == "random":
            generators[name] = decode(node, theirs)
        elif name != _CALLBACK and not (mine.get(name) == node and _equal(theirs, ours)):
            raise ParameterError(
                f"A run should go on as it began, but {path} has {name}={describe(node)}, "
                f"and {name}={describe(mine.get(name))} came. Set it to what it was, or "
                "begin anew in another folder."
            )
    state = _decode_state(content, type(model), arrays)
    for name in vars(model).keys() - mine.keys():
        delattr(model, name)
    vars(model).update(state | generators)


def position(content: Content) -> Any:
    """Return the position in a stream, if there is one."""
    place = content["position"]
    return None if place is None else import_module("thalweg.estimators").Position(*place)


def _class_name(model: Any) -> str:
    name = type(model).__name__
    if _classes.estimators().get(name) is not type(model):
        raise ParameterError(
            f"estimator should be one of the library's own, but a {name} came. "
            "Save the estimators of a pipeline one by one, and rebuild the rest."
        )
    return name


def _class(content: Content) -> type[Any]:
    name = content["estimator"]
    if not isinstance(name, str) or name not in _classes.estimators():
        raise Fault(f"is of the estimator {name!r}, which the library has not")
    return _classes.estimators()[name]


def _parameters(model: Any, arrays: Arrays) -> dict[str, Any]:
    nodes = {}
    for name, value in model.get_params(deep=False).items():
        own: Arrays = {}
        try:
            nodes[name] = encode(value, name, own)
            arrays.update(own)
        except Foreign:
            nodes[name] = {"is": "given", "class": type(value).__name__}
    return nodes


def _state(model: Any, arrays: Arrays) -> dict[str, Any]:
    known = model.get_params(deep=False)
    state = {name: value for name, value in vars(model).items() if name not in known}
    try:
        return {name: encode(value, name, arrays) for name, value in state.items()}
    except Foreign as foreign:
        raise ParameterError(
            f"An estimator should hold numbers, texts and arrays, but {foreign}. "
            "Take away what was put there from outside."
        ) from None


def _decode_state(content: Content, cls: type[Any], arrays: Arrays) -> dict[str, Any]:
    for name in content["state"]:
        if not _ATTRIBUTE.fullmatch(name) or hasattr(cls, name):
            raise Fault(f"has a state {name!r}, which no estimator has")
    state = {name: decode(node, arrays) for name, node in content["state"].items()}
    if arrays:
        raise Fault(f"has an array {min(arrays)!r} that nothing uses")
    return state


def _plain(extra: Any) -> dict[str, Any]:
    try:
        plain = json.loads(json.dumps(extra, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            f"extra should be a dict that JSON can hold, but it is not: {error}. "
            "Use texts, finite numbers, lists and dicts."
        ) from error
    if not isinstance(plain, dict):
        raise ParameterError(
            f"extra should be a dict, but a {type(extra).__name__} came. Put it into one."
        )
    return plain


def _kind(node: Any) -> Any:
    return node.get("is") if isinstance(node, dict) else None


def _belonging(name: str, arrays: Arrays) -> Arrays:
    """Take the arrays of a parameter out of a table."""
    names = [key for key in arrays if key == name or key.startswith(f"{name}.")]
    return {key: arrays.pop(key) for key in names}


def _equal(theirs: Arrays, ours: Arrays) -> bool:
    return theirs.keys() == ours.keys() and all(
        array.dtype == ours[name].dtype and np.array_equal(array, ours[name])
        for name, array in theirs.items()
    )
