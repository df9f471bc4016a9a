"""Helpers of all fits: automatic parameters, rollback after an error, warnings."""

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from sklearn.exceptions import ConvergenceWarning

__all__ = ["is_auto", "rollback_on_error", "warn_caller", "warn_max_iter", "warn_not_converged"]

_PACKAGE = __name__.partition(".")[0]


def is_auto(value: Any) -> bool:
    """Whether a parameter is ``"auto"``; it may also be an array.

    Examples
    --------
    >>> from thalweg.estimators.fitting import is_auto
    >>> is_auto("auto"), is_auto(3)
    (True, False)
    """
    return isinstance(value, str) and value == "auto"


@contextmanager
def rollback_on_error(estimator: Any) -> Iterator[None]:
    """Restore the attributes of an estimator if the block raises.

    Attributes are replaced, never changed in place, so that keeping references is sufficient.

    Examples
    --------
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators.fitting import rollback_on_error
    >>> model = RobustNMF()
    >>> try:
    ...     with rollback_on_error(model):
    ...         model.objective_ = 1.0
    ...         raise ValueError
    ... except ValueError:
    ...     hasattr(model, "objective_")
    False
    """
    before = dict(vars(estimator))
    try:
        yield
    except Exception:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def warn_max_iter(estimator: Any, criterion: str) -> None:
    """Warn that a fit stopped at ``max_iter``, unless ``tol=0`` asks for that.

    Parameters
    ----------
    estimator : object
        With ``max_iter`` and ``tol``.
    criterion : str
        The criterion that was not met, as a clause.

    Examples
    --------
    >>> import warnings
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators.fitting import warn_max_iter
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_max_iter(RobustNMF(max_iter=3), "the objective changed by less than tol")
    >>> print(caught[0].message)
    RobustNMF stopped after max_iter=3 iterations before the objective changed by less than tol.
    Increase max_iter.
    """
    if estimator.tol > 0.0:
        warn_not_converged(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} iterations "
            f"before {criterion}. Increase max_iter."
        )


def warn_not_converged(message: str) -> None:
    """Issue a ``ConvergenceWarning``, with :func:`warn_caller`.

    Parameters
    ----------
    message : str
        The text of the warning.

    Examples
    --------
    >>> import warnings
    >>> from thalweg.estimators.fitting import warn_not_converged
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_not_converged("Increase max_iter.")
    >>> print(caught[0].category.__name__, caught[0].message)
    ConvergenceWarning Increase max_iter.
    """
    warn_caller(message, ConvergenceWarning)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that names the line outside the library that called it.

    Parameters
    ----------
    message : str
        The text of the warning.
    category : type, default=UserWarning
        Class of the warning.

    Examples
    --------
    >>> import warnings
    >>> from thalweg.estimators.fitting import warn_caller
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("X has no observed entries.")
    >>> print(caught[0].category.__name__, caught[0].message)
    UserWarning X has no observed entries.
    """
    frame, level = inspect.currentframe(), 1
    while (frame := frame and frame.f_back) and _in_library(frame):
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)


def _in_library(frame: FrameType) -> bool:
    module: str = frame.f_globals.get("__name__", "")
    return module.partition(".")[0] == _PACKAGE
