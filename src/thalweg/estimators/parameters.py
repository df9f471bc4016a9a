"""Components from the parameters of estimators."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from thalweg._checks import check_choices, check_count, check_positive, check_tol
from thalweg._rooms import resolve
from thalweg.divergences import Divergence
from thalweg.encoders.admm import Admm
from thalweg.encoders.fast import Fast
from thalweg.encoders.pgd import Pgd
from thalweg.errors import ParameterError
from thalweg.learning.dictionaries import INITS, frozen_columns
from thalweg.learning.robust import RobustModel
from thalweg.prox import EntrywiseBox, Prox
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant

__all__ = [
    "check_archetypes",
    "code_penalty",
    "constraint",
    "dictionary_penalty",
    "divergence",
    "entry_bounds",
    "outlier_penalty",
    "outlier_weight",
    "robust_model",
]

_NONNEGATIVE = Orthant()
# Below this tolerance, a small decrease of the loss does not imply accuracy, and the duality gap is
# the stopping criterion.
_GAP_TOL = 1e-5
_GAP_MAX_ITER = 100_000
ENCODERS: dict[str, Any] = {"fast": Fast, "pgd": Pgd, "admm": Admm}


def check_archetypes(count: int, n_samples: int) -> None:
    """Raise if there are more archetypes than samples, since some would be equal.

    Examples
    --------
    >>> from thalweg.estimators.parameters import check_archetypes
    >>> check_archetypes(3, n_samples=10)
    """
    if count > n_samples:
        raise ParameterError(
            f"n_components must be at most the number of samples, n_samples = {n_samples}, got "
            f"{count}. Archetypes are mixtures of samples: use fewer of them, or more data."
        )


def constraint(spec: Any, n_features: int) -> Prox:
    """Return the set of the dictionary's columns, a subset of the nonnegative orthant.

    Examples
    --------
    >>> from thalweg.estimators.parameters import constraint
    >>> constraint("l2-ball", n_features=3)
    L2Ball(radius=1.0)
    """
    return _named_set(spec) if isinstance(spec, str) else _checked_set(spec, n_features)


@cache
def _named_set(name: str) -> Prox:
    """Return the set of a name; it is checked once, since it is a constant."""
    return _checked_set(name, 1)


def _checked_set(spec: Any, n_features: int) -> Prox:
    found = _component("constraint", spec)
    probes = [float(found.value(sign * np.ones(n_features))) for sign in (1.0, -1.0)]
    if probes[0] not in (0.0, np.inf) or probes[1] != np.inf:
        raise ParameterError(
            f"constraint must be a set of nonnegative vectors, got {found!r}. Use "
            "dictionary_penalty for a penalty, and a lower bound of 0 or more in a box."
        )
    return found


def entry_bounds(spec: Any, shape: tuple[int, int]) -> Prox:
    """Return the set of dictionaries between two bounds of the shape of ``components_``.

    Examples
    --------
    >>> from thalweg.estimators.parameters import entry_bounds
    >>> type(entry_bounds((0.0, 1.0), (2, 3))).__name__
    'EntrywiseBox'
    """
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
    """Return the penalty of the codes, on the nonnegative orthant.

    Examples
    --------
    >>> from thalweg.estimators.parameters import code_penalty
    >>> code_penalty("l1", n_components=2)
    L1(weight=1.0, bound=inf, nonnegative=True)
    """
    if spec is None:
        return _NONNEGATIVE
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
    """Return the elastic-net weights on the dictionary.

    Examples
    --------
    >>> from thalweg.estimators.parameters import dictionary_penalty
    >>> dictionary_penalty("l1")
    (1.0, 0.0)
    """
    if spec is None:
        return 0.0, 0.0
    coefficients = getattr(_component("dictionary_penalty", spec), "coefficients", None)
    if coefficients is None:
        raise ParameterError(
            f"dictionary_penalty must be 'l1', 'l2', 'elastic-net' or an object of theirs, got "
            f"{spec!r}. Use constraint for sets of components."
        )
    return float(coefficients[0]), float(coefficients[1])


def divergence(spec: Any) -> Divergence:
    """Return the loss.

    Examples
    --------
    >>> from thalweg.estimators.parameters import divergence
    >>> divergence("kl").name
    'kl'
    """
    loss = resolve("thalweg.divergences", spec, "loss")
    if not isinstance(loss, Divergence):
        raise ParameterError(
            f"loss must be a name or an object of thalweg.divergences, got {spec!r}. "
            "Use 'kl', 'itakura-saito', 'huber', ..., or for example Beta(1.5)."
        )
    return loss


def outlier_weight(value: Any) -> float | None:
    """Return the weight of the outliers; None for ``"auto"``.

    Examples
    --------
    >>> from thalweg.estimators.parameters import outlier_weight
    >>> outlier_weight(2), outlier_weight("auto")
    (2.0, None)
    """
    if isinstance(value, str) and value == "auto":
        return None
    number = isinstance(value, (int, float, np.floating, np.integer))
    if not (number and 0.0 <= value < np.inf):
        raise ParameterError(
            f"outlier_weight must be 'auto' or a number of 0 or more, got "
            f"{value!r}. 'auto' estimates it from the noise."
        )
    return float(value)


def robust_model(estimator: Any) -> RobustModel:
    """Check the parameters of an estimator, and return its model with outliers.

    Examples
    --------
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators.parameters import robust_model
    >>> model = RobustNMF(3)
    >>> model.n_features_in_ = 5
    >>> robust_model(model).n_components
    3
    """
    check_choices(
        solver=(estimator.solver, tuple(ENCODERS)),
        outlier_sign=(estimator.outlier_sign, ("any", "nonnegative")),
        outlier_structure=(estimator.outlier_structure, ("entries", "samples")),
        noise=(estimator.noise, ("common", "per-feature")),
        init=("random" if not isinstance(estimator.init, str) else estimator.init, INITS),
    )
    given, tol = estimator.n_components, check_tol(estimator.tol)
    count = estimator._rank() if isinstance(given, str) else check_count("n_components", given)
    bound = _outlier_bound(estimator.outlier_bound)
    nonnegative = estimator.outlier_sign == "nonnegative"
    outliers = outlier_penalty(bound, nonnegative, estimator.outlier_structure)
    certified = {"exit": "gap", "max_iter": _GAP_MAX_ITER} if tol < _GAP_TOL else {}
    penalty = code_penalty(estimator.code_penalty, count)
    frozen, n_features = estimator.frozen_components, estimator.n_features_in_
    return RobustModel(
        count,
        ENCODERS[estimator.solver](outliers=outliers, penalty=penalty, tol=tol, **certified),
        outliers,
        outlier_weight(estimator.outlier_weight),
        constraint(estimator.constraint, n_features),
        np.empty((n_features, 0)) if frozen is None else frozen_columns(frozen, count, n_features),
        estimator.init,
        estimator.noise == "per-feature",
    )


def _outlier_bound(bound: Any) -> float:
    """Return the largest absolute value of an outlier; inf for None."""
    unbounded = bound is None or (isinstance(bound, (float, np.floating)) and bound == np.inf)
    return np.inf if unbounded else check_positive("outlier_bound", bound)


@cache
def outlier_penalty(bound: float, nonnegative: bool, structure: str) -> Prox:
    """Return the penalty of the outliers with weight 1, and a bound of their absolute value.

    Examples
    --------
    >>> from thalweg.estimators.parameters import outlier_penalty
    >>> outlier_penalty(2.0, nonnegative=False, structure="entries")
    L1(weight=1.0, bound=2.0, nonnegative=False)
    """
    if structure == "entries":
        return L1(1.0, bound, nonnegative)
    if np.isfinite(bound):
        raise ParameterError(
            "outlier_bound must be None unless it bounds single entries, got "
            "outlier_structure='samples'. Remove the bound, or use outlier_structure='entries'."
        )
    return GroupLasso(1.0, None, nonnegative)


def _component(parameter: str, spec: Any) -> Prox:
    found = resolve("thalweg.prox", spec, parameter)
    if not isinstance(found, Prox):
        raise ParameterError(
            f"{parameter} must be a name or an object with value, prox and conjugate, got "
            f"{spec!r}. See thalweg.prox for the choices."
        )
    return found
