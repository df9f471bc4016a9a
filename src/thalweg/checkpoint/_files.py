"""Estimators in files: what is written, and how it is read back."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike, fstat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from thalweg import __version__
from thalweg._checks import require_whole
from thalweg.checkpoint import _classes, _format, _tree
from thalweg.checkpoint._format import Fault
from thalweg.checkpoint._write import write_whole
from thalweg.errors import CheckpointError, ParameterError

__all__ = ["Checkpoint", "Manifest", "load", "read_manifest", "save", "verify"]

_ATTRIBUTE = re.compile(r"_?[a-z]\w*")
_CONTENT = ("version", "estimator", "parameters", "state", "position", "batch_size", "extra")


class Checkpoint(NamedTuple):
    """What :func:`load` reads from a file.

    Attributes
    ----------
    estimator : estimator
        As it was saved.
    position : Position or None
        How far the stream had been taken in.
    batch_size : int or None
        Samples in a batch of that stream.
    extra : dict
        What the caller had put there.
    version : str
        Version of the library that wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import RobustOnlineNMF, checkpoint
    >>> path = checkpoint.save(tempfile.mkdtemp() + "/a.thalweg", RobustOnlineNMF(3))
    >>> checkpoint.load(path).estimator
    RobustOnlineNMF(n_components=3)
    """

    estimator: Any
    position: Any
    batch_size: int | None
    extra: dict[str, Any]
    version: str


class Manifest(NamedTuple):
    """What a file says about itself, without its arrays.

    Attributes
    ----------
    estimator : str
        Name of the class.
    parameters : dict
        Numbers and texts as they are; of anything else a short description.
    arrays : dict of str to (str, tuple of int)
        Number type and shape of each array, by the attribute that it belongs to.
    position : tuple of (epoch, sample) or None
        How far the stream had been taken in.
    batch_size : int or None
        Samples in a batch of that stream.
    extra : dict
        What the caller had put there.
    version : str
        Version of the library that wrote the file.
    n_bytes : int
        Size of the file.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import RobustOnlineNMF, checkpoint
    >>> path = checkpoint.save(tempfile.mkdtemp() + "/a.thalweg", RobustOnlineNMF(3))
    >>> checkpoint.read_manifest(path).parameters["n_components"]
    3
    """

    estimator: str
    parameters: dict[str, Any]
    arrays: dict[str, tuple[str, tuple[int, ...]]]
    position: tuple[int, int] | None
    batch_size: int | None
    extra: dict[str, Any]
    version: str
    n_bytes: int


def save(
    path: str | PathLike[str],
    estimator: Any,
    position: tuple[int, int] | None = None,
    *,
    batch_size: int | None = None,
    extra: dict[str, Any] | None = None,
) -> Path:
    """Write an estimator into a file, which is there as a whole or not at all.

    Parameters
    ----------
    path : path
        The file; one that is there is replaced.
    estimator : estimator
        Of the library, fitted or not. Parameters that are objects or functions of your own, such
        as ``callback``, are left out, and given again to :func:`load`.
    position : Position or None, default=None
        How far a stream has been taken in.
    batch_size : int or None, default=None
        Samples in a batch of that stream.
    extra : dict or None, default=None
        Anything that JSON can hold, for the caller's own use.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from thalweg import PetrelsADMM, checkpoint
    >>> X = np.random.default_rng(0).normal(size=(200, 6))
    >>> model = PetrelsADMM(2, random_state=0).fit(X)
    >>> path = checkpoint.save(tempfile.mkdtemp() + "/model.thalweg", model)
    >>> np.array_equal(checkpoint.load(path).estimator.components_, model.components_)
    True
    """
    path = Path(path)
    arrays: dict[str, Any] = {}
    content = {
        "version": __version__,
        "estimator": _class_name(estimator),
        "parameters": _parameters(estimator, arrays),
        "state": _state(estimator, arrays),
        "position": None if position is None else _position(position),
        "batch_size": batch_size,
        "extra": _jsonable(extra or {}),
    }
    try:
        write_whole(path, _format.pack(content, arrays))
    except Fault as fault:
        raise CheckpointError(f"{path} cannot be written, since it {fault}.") from None
    return path


def load(path: str | PathLike[str], **given: Any) -> Checkpoint:
    """Read an estimator from a file. Nothing of the file is executed.

    Parameters
    ----------
    path : path
        A file that :func:`save` has written.
    **given
        Parameters that were left out, since they were objects or functions of your own: without
        them, ``callback`` is None, and others are asked for.

    Returns
    -------
    Checkpoint
        With the estimator, and the position in its stream.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import Grouse, checkpoint
    >>> path = checkpoint.save(tempfile.mkdtemp() + "/a.thalweg", Grouse(3), position=(0, 64))
    >>> checkpoint.load(path).position
    Position(epoch=0, sample=64)
    """
    with _opened(path) as (file, size):
        header = _format.read_header(file, size)
        content = _checked(header.content)
        cls = _estimator_class(content)
        arrays = _format.read_arrays(file, header.specs)
        parameters = _decode_parameters(content["parameters"], given, arrays)
        estimator = _built(cls, parameters, content["version"])
        vars(estimator).update(_decode_state(content["state"], cls, arrays))
        if arrays:
            raise Fault(f"has an array {min(arrays)!r} that nothing uses")
        position = content["position"]
        return Checkpoint(
            estimator,
            None if position is None else import_module("thalweg.estimators").Position(*position),
            content["batch_size"],
            content["extra"],
            content["version"],
        )


def read_manifest(path: str | PathLike[str]) -> Manifest:
    """Return what a checkpoint says about itself; its arrays are not read.

    Parameters
    ----------
    path : path
        A file that :func:`save` has written.

    Returns
    -------
    Manifest
        Class, parameters, arrays, position and version.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import Grouse, checkpoint
    >>> path = checkpoint.save(tempfile.mkdtemp() + "/a.thalweg", Grouse(3), position=(0, 64))
    >>> checkpoint.read_manifest(path).estimator
    'Grouse'
    """
    with _opened(path) as (file, size):
        header = _format.read_header(file, size)
        content = _checked(header.content)
        return Manifest(
            content["estimator"],
            {name: _tree.describe(node) for name, node in content["parameters"].items()},
            {spec.name: (spec.dtype, spec.shape) for spec in header.specs},
            None if content["position"] is None else tuple(content["position"]),
            content["batch_size"],
            content["extra"],
            content["version"],
            size,
        )


def verify(path: str | PathLike[str]) -> None:
    """Raise a CheckpointError unless a file is whole and undamaged.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import Grouse, checkpoint
    >>> checkpoint.verify(checkpoint.save(tempfile.mkdtemp() + "/a.thalweg", Grouse(3)))
    """
    with _opened(path) as (file, size):
        header = _format.read_header(file, size)
        _checked(header.content)
        _format.check_arrays(file, header.specs)


@contextmanager
def _opened(path: str | PathLike[str]) -> Iterator[tuple[BinaryIO, int]]:
    """Open a file with its size; what is wrong with it becomes one error that names it."""
    try:
        with Path(path).open("rb") as file:
            yield file, fstat(file.fileno()).st_size
    except Fault as fault:
        raise CheckpointError(
            f"{path} {fault}. Use a file that thalweg.checkpoint has written, or an earlier one."
        ) from fault
    except ParameterError:
        raise
    except OSError as error:
        raise CheckpointError(
            f"{path} should be a checkpoint, but it cannot be read ({error.strerror or error}). "
            "Check the path."
        ) from error


def _class_name(estimator: Any) -> str:
    name = type(estimator).__name__
    if _classes.estimators().get(name) is not type(estimator):
        raise ParameterError(
            f"estimator should be one of the library's own, but a {name} came. "
            "Save its estimators, one file each."
        )
    return name


def _parameters(estimator: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    nodes = {}
    for name, value in estimator.get_params(deep=False).items():
        own: dict[str, Any] = {}
        try:
            nodes[name] = _tree.encode(value, name, own)
            arrays.update(own)
        except _tree.Foreign:
            nodes[name] = {"is": "given", "class": type(value).__name__}
    return nodes


def _state(estimator: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    known = estimator.get_params(deep=False)
    state = {name: value for name, value in vars(estimator).items() if name not in known}
    try:
        return {name: _tree.encode(value, name, arrays) for name, value in state.items()}
    except _tree.Foreign as foreign:
        raise ParameterError(
            f"An estimator should have numbers, texts and arrays, but {foreign}. "
            "Take away what was put there from outside."
        ) from None


def _position(position: Any) -> list[int]:
    epoch, sample = position
    require_whole(0, epoch=epoch, sample=sample)
    return [int(epoch), int(sample)]


def _jsonable(extra: dict[str, Any]) -> dict[str, Any]:
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


def _checked(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content if all of it is there."""
    position, size = content.get("position"), content.get("batch_size")
    good = (
        set(content) == set(_CONTENT)
        and isinstance(content["version"], str)
        and all(isinstance(content[name], dict) for name in ("parameters", "state", "extra"))
        and (position is None or (isinstance(position, list) and len(position) == 2))
        and all(type(n) is int and n >= 0 for n in position or [])
        and (size is None or (type(size) is int and size >= 1))
    )
    if not good:
        raise Fault("has a header that is not one of a checkpoint")
    return content


def _estimator_class(content: dict[str, Any]) -> type[Any]:
    name = content["estimator"]
    known = _classes.estimators()
    if not isinstance(name, str) or name not in known:
        raise Fault(f"is of the estimator {name!r}, which the library has not")
    return known[name]


def _decode_parameters(
    nodes: dict[str, Any], given: dict[str, Any], arrays: dict[str, Any]
) -> dict[str, Any]:
    parameters = {}
    for name, node in nodes.items():
        left_out = isinstance(node, dict) and node.get("is") == "given"
        if left_out and name not in given and name != "callback":
            raise ParameterError(
                f"{name} was an object of a class of your own, {node.get('class')}, which is not "
                f"written into files. Give it again: load(path, {name}=...)."
            )
        parameters[name] = None if left_out else _tree.decode(node, arrays)
    return {**parameters, **given}


def _built(cls: type[Any], parameters: dict[str, Any], version: str) -> Any:
    try:
        return cls(**parameters)
    except TypeError as error:
        raise Fault(
            f"was written by version {version}, with parameters that {cls.__name__} has not here"
        ) from error


def _decode_state(nodes: dict[str, Any], cls: type[Any], arrays: dict[str, Any]) -> dict[str, Any]:
    for name in nodes:
        if not _ATTRIBUTE.fullmatch(name) or hasattr(cls, name):
            raise Fault(f"has a state {name!r}, which no estimator has")
    return {name: _tree.decode(node, arrays) for name, node in nodes.items()}
