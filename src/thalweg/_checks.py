"""Checks of numbers and seeds among the parameters, and of what is installed, in one place."""

from importlib import import_module
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np

from thalweg.errors import DependencyError, ParameterError


def require_finite(**parameters: float) -> None:
    """Raise unless each parameter is a finite number."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and -inf < value < inf):
            raise ParameterError(
                f"{name} should be a finite number, but {value!r} came. "
                f"Give a number such as {name}=0.5."
            )


def require_positive(**parameters: float) -> None:
    """Raise unless each parameter is a positive finite number."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 < value < inf):
            raise ParameterError(
                f"{name} should be a positive finite number, but {value!r} came. "
                f"Give a number such as {name}=1.0."
            )


def require_nonnegative(**parameters: float) -> None:
    """Raise unless each parameter is a finite number that is zero or more."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value < inf):
            raise ParameterError(
                f"{name} should be a finite number >= 0, but {value!r} came. "
                f"Give a number such as {name}=1.0, or {name}=0.0 to leave the term out."
            )


def require_whole(least: int, /, **parameters: int) -> None:
    """Raise unless each parameter is a whole number that is ``least`` or more."""
    for name, value in parameters.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ParameterError(
                f"{name} should be a whole number >= {least}, but {value!r} came. "
                f"Give a number such as {name}={100 * least}."
            )


def generator(random_state: Any) -> np.random.Generator:
    """Return a source of random numbers from a seed, None, a Generator or a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ParameterError(
            "random_state should be a whole number >= 0, a Generator or RandomState of "
            f"numpy.random, or None, but {random_state!r} came. Give a number such as "
            "random_state=0."
        ) from None


def need(module: str, package: str) -> Any:
    """Return a module of a package that is not installed with the library."""
    try:
        return import_module(module)
    except ImportError as error:
        raise DependencyError(
            f"This needs {package}, which cannot be imported here ({error}). "
            "Install it with: pip install 'thalweg[app]'"
        ) from error
