"""Exceptions of the library.

::

    ThalwegError
    |-- InputError        (also a ValueError)  the data cannot be used as they are
    |-- ParameterError    (also a ValueError)  a parameter has no meaning here
    |-- CheckpointError   (also an OSError)  a checkpoint cannot be read or written
    |-- DependencyError   (also an ImportError)  a library that is asked for is not installed

Each message says what was expected, what came, and what to do about it.
"""

__all__ = [
    "CheckpointError",
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
