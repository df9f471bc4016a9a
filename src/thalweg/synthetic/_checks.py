"""Checks of the parameters of the generators."""

from math import inf
from numbers import Integral, Real

from thalweg.errors import ParameterError


def require_sizes(**parameters: int) -> None:
    """Raise unless each parameter is an integer >= 1."""
    for name, value in parameters.items():
        if not (isinstance(value, Integral) and value >= 1):
            raise ParameterError(
                f"{name} must be an integer >= 1, got {value!r}. Use a number such as {name}=100."
            )


def require_shares(most: float = 1, /, **parameters: float) -> None:
    """Raise unless each parameter is a number between 0 and ``most``."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value <= most):
            raise ParameterError(
                f"{name} must be between 0 and {most}, got {value!r}. "
                f"Use a number such as {name}=0.1."
            )


def require_noise(**parameters: float) -> None:
    """Raise unless each parameter is a finite standard deviation >= 0."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value < inf):
            raise ParameterError(
                f"{name} must be a finite standard deviation >= 0, got {value!r}. "
                f"Use a number such as {name}=0.01, or 0 for no noise."
            )
