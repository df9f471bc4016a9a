"""Save and load estimators."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fstat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from thalweg._atomic import write_atomically
from thalweg.checkpoint import _content, _format
from thalweg.checkpoint._decode import describe
from thalweg.checkpoint._format import Fault
from thalweg.errors import CheckpointError

__all__ = ["Checkpoint", "Manifest", "load", "read_manifest", "restore", "save", "verify"]


class Checkpoint(NamedTuple):
    """Result of :func:`load` and :func:`restore`.

    Attributes
    ----------
    estimator : estimator
        The estimator.
    position : Position or None
        Position in the stream.
    batch_size : int or None
        Number of samples per batch of the stream.
    extra : dict
        Data of the caller.
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
    """Description of a checkpoint, without the values of its arrays.

    Attributes
    ----------
    estimator : str
        Name of the class.
    parameters : dict
        Numbers and strings unchanged; a short description of other values.
    arrays : dict of str to (str, tuple of int)
        Dtype and shape of each array, by attribute name.
    position : tuple of (epoch, sample) or None
        Position in the stream.
    batch_size : int or None
        Number of samples per batch of the stream.
    extra : dict
        Data of the caller.
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
    """Write an estimator to a file, atomically.

    Parameters
    ----------
    path : path
        Output file; an existing one is replaced.
    estimator : estimator
        Estimator of the library, fitted or not. Parameters that are your own objects or functions,
        such as ``callback``, are not saved; pass them to :func:`load` again.
    position : Position or None, default=None
        Position in a stream.
    batch_size : int or None, default=None
        Number of samples per batch of the stream.
    extra : dict or None, default=None
        JSON-serializable data of the caller.

    Returns
    -------
    Path
        Path of the file.

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
    content, arrays = _content.build(estimator, position, batch_size, extra)
    try:
        write_atomically(path, _format.pack(content, arrays))
    except Fault as fault:
        raise CheckpointError(f"{path} cannot be written: it {fault}.") from None
    except OSError as error:
        raise CheckpointError(
            f"{path} must be writable, got an error ({error.strerror or error}). An existing file "
            "is unchanged. Free some space, or choose another folder."
        ) from error
    return path


def load(path: str | PathLike[str], **given: Any) -> Checkpoint:
    """Read an estimator from a file, without executing code from it.

    Parameters
    ----------
    path : path
        File written by :func:`save`.
    **given
        Parameters that were not saved because they are your own objects or functions. ``callback``
        is None by default; the others are required.

    Returns
    -------
    Checkpoint
        The estimator, and the position in its stream.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import Grouse, checkpoint
    >>> path = checkpoint.save(tempfile.mkdtemp() + "/a.thalweg", Grouse(3), position=(0, 64))
    >>> checkpoint.load(path).position
    Position(epoch=0, sample=64)
    """
    with _opened(path) as (file, size):
        content, arrays = _read(file, size)
        return _checkpoint(_content.make_estimator(content, arrays, given), content)


def restore(path: str | PathLike[str], estimator: Any) -> Checkpoint:
    """Restore the saved state into an estimator with the same parameters.

    Parameters
    ----------
    path : path
        File written by :func:`save`.
    estimator : estimator
        Its state is replaced. Your own objects and functions are kept; random generators are set
        to their saved state.

    Returns
    -------
    Checkpoint
        This estimator, and the position in its stream.

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
        content, arrays = _read(file, size)
        _content.restore_state(estimator, content, arrays, path)
        return _checkpoint(estimator, content)


def read_manifest(path: str | PathLike[str]) -> Manifest:
    """Read the description of a checkpoint, without its arrays.

    Parameters
    ----------
    path : path
        File written by :func:`save`.

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
    """Raise a CheckpointError unless a file is complete and undamaged.

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


def _read(file: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, Any]]:
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
    """Open a file and return its size; convert faults to a CheckpointError with its path."""
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise Fault("is not a file")
        with Path(path).open("rb") as file:
            yield file, fstat(file.fileno()).st_size
    except Fault as fault:
        raise CheckpointError(
            f"{path} {fault}. Use an intact file written by thalweg.checkpoint."
        ) from fault
    except OSError as error:
        raise CheckpointError(
            f"{path} must be a checkpoint, got an unreadable file ({error.strerror or error}). "
            "Check the path."
        ) from error
