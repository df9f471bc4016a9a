"""Exceptions of the library.

::

    ThalwegError
    |-- InputError        (also a ValueError)  the data cannot be processed
    |-- ParameterError    (also a ValueError)  a parameter is invalid
    |-- CheckpointError   (also an OSError)  a checkpoint cannot be read or written
    |-- DependencyError   (also an ImportError)  an optional library is not installed
    |-- BlockError        (also a RuntimeError)  a block of distributed data failed
    |-- ClusterError      (also a ConnectionError)  the connection to a cluster was lost

Each message states the condition, the value that violates it, and how to fix it.
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
    """Base class of the exceptions of the library.

    Examples
    --------
    >>> from thalweg.errors import ThalwegError, InputError
    >>> issubclass(InputError, ThalwegError)
    True
    """


class InputError(ThalwegError, ValueError):
    """The input data cannot be processed.

    Examples
    --------
    >>> from thalweg.errors import InputError
    >>> issubclass(InputError, ValueError)
    True
    """


class ParameterError(ThalwegError, ValueError):
    """A parameter, or a combination of parameters, is invalid.

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
    """An optional library that a function needs is not installed.

    Examples
    --------
    >>> from thalweg.errors import DependencyError
    >>> issubclass(DependencyError, ImportError)
    True
    """


class BlockError(ThalwegError, RuntimeError):
    """A block of distributed data failed.

    The message gives the number of the block, and ``__cause__`` the original exception.

    Examples
    --------
    >>> from thalweg.errors import BlockError
    >>> issubclass(BlockError, RuntimeError)
    True
    """


class ClusterError(ThalwegError, ConnectionError):
    """The scheduler of a cluster cannot be reached, or has lost the submitted tasks.

    Examples
    --------
    >>> from thalweg.errors import ClusterError
    >>> issubclass(ClusterError, ConnectionError)
    True
    """
