"""Checks of the generators' parameters, worded in one place."""

from math import inf
from numbers import Integral, Real

from thalweg.errors import ParameterError


def require_sizes(**parameters: int) -> None:
    """Raise unless each parameter is an integer that is one or more."""
    for name, value in parameters.items():
        if not (isinstance(value, Integral) and value >= 1):
            raise ParameterError(
                f"{name} should be an integer >= 1, but {value!r} came. "
                f"Give a number such as {name}=100."
            )


def require_shares(most: float = 1, /, **parameters: float) -> None:
    """Raise unless each parameter is a number from zero to ``most``."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value <= most):
            raise ParameterError(
                f"{name} should be a share between 0 and {most}, but {value!r} came. "
                f"Give a number such as {name}=0.1."
            )


def require_noise(**parameters: float) -> None:
    """Raise unless each parameter can be the standard deviation of noise."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value < inf):
            raise ParameterError(
                f"{name} should be a standard deviation >= 0, but {value!r} came. "
                f"Give a number such as {name}=0.01, or 0 for none."
            )
