"""Checks of parameters, random states and optional dependencies."""

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


def choose(parameter: str, value: Any, options: tuple[str, ...]) -> str:
    """Return the value if it is one of the options."""
    if not isinstance(value, str) or value not in options:
        raise ParameterError(
            f"{parameter} must be one of {', '.join(map(repr, options))}, got {value!r}. "
            "Use one of these names."
        )
    return value


def check_choices(**parameters: tuple[Any, tuple[str, ...]]) -> None:
    """Raise unless the value of each parameter is one of its options."""
    for name, (value, options) in parameters.items():
        if not isinstance(value, str) or value not in options:
            choose(name, value, options)


def check_count(parameter: str, value: Any) -> int:
    """Return the value if it is a positive integer."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ParameterError(
            f"{parameter} must be a positive integer, got {value!r}. Set it to 1 or more."
        )
    return int(value)


def check_whole(parameter: str, value: Any) -> int:
    """Return the value if it is an integer of 0 or more."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise ParameterError(
            f"{parameter} must be an integer of 0 or more, got {value!r}. 0 leaves it out."
        )
    return int(value)


def check_positive(parameter: str, value: Any) -> float:
    """Return the value if it is a finite number above 0."""
    if not (isinstance(value, (int, float, np.number)) and 0.0 < value < np.inf):
        raise ParameterError(
            f"{parameter} must be a finite number above 0, got {value!r}. Example: 1.0."
        )
    return float(value)


def check_tol(value: Any) -> float:
    """Return the tolerance if it is a finite number of 0 or more."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not (number and 0.0 <= value < np.inf):
        raise ParameterError(
            f"tol must be a finite number of 0 or more, got {value!r}. "
            "With 0 the iteration runs to its limit."
        )
    return float(value)


def check_share(parameter: str, value: Any) -> float:
    """Return the value if it is above 0 and at most 1."""
    if not (isinstance(value, (int, float, np.number)) and 0.0 < value <= 1.0):
        raise ParameterError(
            f"{parameter} must be above 0 and at most 1, got {value!r}. "
            "1 forgets nothing; half_life(n) gives the factor that halves after n samples."
        )
    return float(value)


def check_flag(parameter: str, value: Any) -> bool:
    """Return a parameter that is True or False; raise ParameterError otherwise."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{parameter} must be True or False, got {value!r}.")
    return bool(value)


def check_callback(value: Any) -> None:
    """Raise unless the value can be called, or is None."""
    if value is not None and not callable(value):
        raise ParameterError(
            f"callback must be None or a function of one argument, got {value!r}. "
            "Pass the function itself, not what it returns."
        )


def unmasked(X: Any) -> Any:
    """Return a masked array as a plain one, with NaN where it is masked; others as they are."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X) or X.dtype.kind not in "biufO":  # other types are invalid anyway
        return X.data
    return np.ma.filled(X.astype(np.float64) if X.dtype.kind in "biu" else X, np.nan)


def as_numbers(values: Any) -> Any:
    """Return values as an array of floats, or None if they are not real numbers in rows."""
    try:
        array = np.asarray(unmasked(values))
        if array.dtype in (np.float32, np.float64):
            return array
        return array.astype(np.float64) if array.dtype.kind in "biufO" else None
    except (OverflowError, TypeError, ValueError):  # rows of different lengths, text
        return None


def in_words(values: Any) -> str:
    """Return shape and type of an array, for error messages."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        return "rows of different lengths"
    return f"an array of shape {array.shape} and type {array.dtype}"


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
