"""Exceptions of the library.

::

    ThalwegError
    |-- InputError        (also a ValueError)  the data cannot be used as they are
    |-- ParameterError    (also a ValueError)  a parameter has no meaning here
    |-- CheckpointError   (also an OSError)  a checkpoint cannot be read or written
    |-- DependencyError   (also an ImportError)  a library that is asked for is not installed
    |-- BlockError        (also a RuntimeError)  a block of distributed data failed
    |-- ClusterError      (also a ConnectionError)  a cluster was lost on the way

Each message says what was expected, what came, and what to do about it.
"""

__all__ = [
    "BlockError",
    "CheckpointError",
    "ClusterError",
    "DependencyError",
    "InputError",
    "ParameterError",
    "ThalwegError",
]


class ThalwegError(Exception):
    """Base of every exception that the library raises on purpose.

    Examples
    --------
    >>> from thalweg.errors import ThalwegError, InputError
    >>> issubclass(InputError, ThalwegError)
    True
    """


class InputError(ThalwegError, ValueError):
    """The data handed in cannot be used as they are.

    Examples
    --------
    >>> from thalweg.errors import InputError
    >>> issubclass(InputError, ValueError)
    True
    """


class ParameterError(ThalwegError, ValueError):
    """A parameter, or a combination of parameters, has no meaning.

    Examples
    --------
    >>> from thalweg.errors import ParameterError
    >>> issubclass(ParameterError, ValueError)
    True
    """


class CheckpointError(ThalwegError, OSError):
    """A checkpoint cannot be written, or a file cannot be read as one.

    Examples
    --------
    >>> from thalweg.errors import CheckpointError
    >>> issubclass(CheckpointError, OSError)
    True
    """


class DependencyError(ThalwegError, ImportError):
    """A library that only some uses need is not installed.

    Examples
    --------
    >>> from thalweg.errors import DependencyError
    >>> issubclass(DependencyError, ImportError)
    True
    """


class BlockError(ThalwegError, RuntimeError):
    """A block of distributed data failed; the message has its number, the cause what happened.

    Examples
    --------
    >>> from thalweg.errors import BlockError
    >>> issubclass(BlockError, RuntimeError)
    True
    """


class ClusterError(ThalwegError, ConnectionError):
    """The scheduler of a cluster is gone, or has forgotten what it was asked for.

    Examples
    --------
    >>> from thalweg.errors import ClusterError
    >>> issubclass(ClusterError, ConnectionError)
    True
    """
