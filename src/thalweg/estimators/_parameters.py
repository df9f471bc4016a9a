"""Checks of parameters, and components from names."""

from dataclasses import replace
from typing import Any

import numpy as np

from thalweg._checks import generator
from thalweg._rooms import resolve
from thalweg.errors import ParameterError
from thalweg.estimators._input import whole_number
from thalweg.prox import EntrywiseBox, Prox
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant

__all__ = [
    "check_archetypes",
    "check_callback",
    "check_count",
    "check_positive",
    "check_share",
    "check_whole",
    "choose",
    "code_penalty",
    "constraint",
    "dictionary_penalty",
    "entry_bounds",
    "generator",
    "outlier_penalty",
]


def choose(parameter: str, value: Any, options: tuple[str, ...]) -> str:
    """Return the value if it is one of the options."""
    if value not in options:
        raise ParameterError(
            f"{parameter} must be one of {', '.join(map(repr, options))}, got {value!r}. "
            "Use one of these names."
        )
    return str(value)


def check_count(parameter: str, value: Any) -> int:
    """Return the value if it is a positive integer."""
    if not whole_number(value):
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


def check_callback(value: Any) -> None:
    """Raise unless the value can be called, or is None."""
    if value is not None and not callable(value):
        raise ParameterError(
            f"callback must be None or a function of one argument, got {value!r}. "
            "Pass the function itself, not what it returns."
        )


def check_archetypes(count: int, n_samples: int) -> None:
    """Raise if there are more archetypes than samples: some would be equal."""
    if count > n_samples:
        raise ParameterError(
            f"n_components must be at most the number of samples, n_samples = {n_samples}, got "
            f"{count}. Archetypes are mixtures of samples: take fewer of them, or more data."
        )


def check_positive(parameter: str, value: Any) -> float:
    """Return the value if it is a finite number above 0."""
    if not (isinstance(value, (int, float, np.number)) and 0.0 < value < np.inf):
        raise ParameterError(
            f"{parameter} must be a finite number above 0, got {value!r}. Example: 1.0."
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


def constraint(spec: Any, n_features: int) -> Prox:
    """Return the set of the dictionary's columns, inside of the nonnegative orthant."""
    found = _component("constraint", spec)
    probes = [float(found.value(sign * np.ones(n_features))) for sign in (1.0, -1.0)]
    if probes[0] not in (0.0, np.inf) or probes[1] != np.inf:
        raise ParameterError(
            f"constraint must be a set of nonnegative vectors, got {found!r}. Penalties go "
            "into dictionary_penalty; a box needs a lower bound of 0 or more."
        )
    return found


def entry_bounds(spec: Any, shape: tuple[int, int]) -> Prox:
    """Return the set of the dictionaries between two bounds, given as components are."""
    try:
        lower, upper = (np.broadcast_to(np.asarray(b, dtype=np.float64), shape) for b in spec)
        sound = bool(np.all((lower >= 0.0) & (lower <= upper) & (upper < np.inf)))
    except (TypeError, ValueError):
        sound = False
    if not sound:
        found = [f"shape {b.shape}" if getattr(b, "ndim", 0) else repr(b) for b in spec]
        raise ParameterError(
            f"constraint as a pair must be two bounds, 0 <= lower <= upper < inf, each a number, "
            f"an array of length {shape[1]} or one of shape {shape}, got ({', '.join(found)}). "
            "Use (lower, upper), with components as rows."
        )
    return EntrywiseBox(np.ascontiguousarray(lower.T), np.ascontiguousarray(upper.T))


def code_penalty(spec: Any, n_components: int) -> Prox:
    """Return the penalty of the codes, on the nonnegative orthant."""
    if spec is None:
        return Orthant()
    penalty = _component("code_penalty", spec)
    if hasattr(penalty, "nonnegative"):
        penalty = replace(penalty, nonnegative=True)  # type: ignore[type-var]
    if not penalty.convex or float(penalty.value(-np.ones(n_components))) != np.inf:
        raise ParameterError(
            f"code_penalty must be convex and keep codes nonnegative, got {penalty!r}. "
            "Use 'l1' for sparse codes, and a lower bound of 0 or more in a box."
        )
    return penalty


def dictionary_penalty(spec: Any) -> tuple[float, float]:
    """Return the elastic-net weights on the dictionary."""
    if spec is None:
        return 0.0, 0.0
    coefficients = getattr(_component("dictionary_penalty", spec), "coefficients", None)
    if coefficients is None:
        raise ParameterError(
            f"dictionary_penalty must be 'l1', 'l2', 'elastic-net' or an object of theirs, got "
            f"{spec!r}. Other functions of an atom go into constraint."
        )
    return float(coefficients[0]), float(coefficients[1])


def outlier_penalty(weight: float, bound: Any, sign: str, structure: str) -> Prox:
    """Return the penalty of the outliers with their bounds; None and inf are none."""
    unbounded = bound is None or (isinstance(bound, (float, np.floating)) and bound == np.inf)
    limit = np.inf if unbounded else check_positive("outlier_bound", bound)
    nonnegative = sign == "nonnegative"
    if structure == "entries":
        return L1(weight, limit, nonnegative)
    if np.isfinite(limit):
        raise ParameterError(
            "outlier_bound must be None unless it bounds single entries, got "
            "outlier_structure='samples'. Leave the bound out, or use outlier_structure='entries'."
        )
    return GroupLasso(weight, None, nonnegative)


def _component(parameter: str, spec: Any) -> Prox:
    found = resolve("thalweg.prox", spec, parameter)
    if not isinstance(found, Prox):
        raise ParameterError(
            f"{parameter} must be a name or an object with value, prox and conjugate, got "
            f"{spec!r}. See thalweg.prox for what there is."
        )
    return found
