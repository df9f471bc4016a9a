"""Checks of numeric parameters, random states and optional dependencies."""

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
                f"{name} must be a finite number, got {value!r}. Use a number such as {name}=0.5."
            )


def require_positive(**parameters: float) -> None:
    """Raise unless each parameter is a positive finite number."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 < value < inf):
            raise ParameterError(
                f"{name} must be a positive finite number, got {value!r}. "
                f"Use a number such as {name}=1.0."
            )


def require_nonnegative(**parameters: float) -> None:
    """Raise unless each parameter is a finite number >= 0."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value < inf):
            raise ParameterError(
                f"{name} must be a finite number >= 0, got {value!r}. "
                f"Use a number such as {name}=1.0, or {name}=0.0 to leave the term out."
            )


def require_whole(least: int, /, **parameters: int) -> None:
    """Raise unless each parameter is an integer >= ``least``."""
    for name, value in parameters.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ParameterError(
                f"{name} must be an integer >= {least}, got {value!r}. "
                f"Use a number such as {name}={100 * least}."
            )


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator from a seed, None, a Generator or a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ParameterError(
            "random_state must be an integer >= 0, a Generator or RandomState of numpy.random, "
            f"or None, got {random_state!r}. Use a number such as random_state=0."
        ) from None


def need(module: str, package: str) -> Any:
    """Import and return a module of an optional dependency."""
    try:
        return import_module(module)
    except ImportError as error:
        raise DependencyError(
            f"This needs {package}, which cannot be imported ({error}). "
            "Install it with: pip install 'thalweg[app]'"
        ) from error
