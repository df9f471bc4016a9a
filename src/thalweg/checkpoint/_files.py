"""Estimators in files: what is written, and how it is read back."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fstat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from thalweg.checkpoint import _content, _format
from thalweg.checkpoint._decode import describe
from thalweg.checkpoint._format import Fault
from thalweg.checkpoint._write import write_whole
from thalweg.errors import CheckpointError

__all__ = ["Checkpoint", "Manifest", "load", "read_manifest", "restore", "save", "verify"]


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
    content, arrays = _content.of(estimator, position, batch_size, extra)
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
        content, arrays = _whole(file, size)
        return _checkpoint(_content.estimator(content, arrays, given), content)


def restore(path: str | PathLike[str], estimator: Any) -> Checkpoint:
    """Put what a file has learned into an estimator with the same parameters.

    Parameters
    ----------
    path : path
        A file that :func:`save` has written.
    estimator : estimator
        What it has learned is replaced. Objects and functions of your own stay; random generators
        are set to where they were.

    Returns
    -------
    Checkpoint
        With this estimator, and the position in its stream.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from thalweg import Grouse, checkpoint
    >>> model = Grouse(2, random_state=0).fit(np.random.default_rng(0).normal(size=(50, 4)))
    >>> path = checkpoint.save(tempfile.mkdtemp() + "/a.thalweg", model)
    >>> same = Grouse(2, random_state=0)
    >>> _ = checkpoint.restore(path, same)
    >>> np.array_equal(same.components_, model.components_)
    True
    """
    with _opened(path) as (file, size):
        content, arrays = _whole(file, size)
        _content.put_into(estimator, content, arrays, path)
        return _checkpoint(estimator, content)


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
        content = _content.checked(header.content)
        return Manifest(
            content["estimator"],
            {name: describe(node) for name, node in content["parameters"].items()},
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
        _content.checked(header.content)
        _format.check_arrays(file, header.specs)


def _whole(file: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    header = _format.read_header(file, size)
    content = _content.checked(header.content)
    return content, _format.read_arrays(file, header.specs)


def _checkpoint(estimator: Any, content: dict[str, Any]) -> Checkpoint:
    return Checkpoint(
        estimator,
        _content.position(content),
        content["batch_size"],
        content["extra"],
        content["version"],
    )


@contextmanager
def _opened(path: str | PathLike[str]) -> Iterator[tuple[BinaryIO, int]]:
    """Open a file with its size; what is wrong with it becomes one error that names it."""
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise Fault("is not a file")
        with Path(path).open("rb") as file:
            yield file, fstat(file.fileno()).st_size
    except Fault as fault:
        raise CheckpointError(
            f"{path} {fault}. Use a file that thalweg.checkpoint has written, or an earlier one."
        ) from fault
    except OSError as error:
        raise CheckpointError(
            f"{path} should be a checkpoint, but it cannot be read ({error.strerror or error}). "
            "Check the path."
        ) from error
