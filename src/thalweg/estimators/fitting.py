"""Helpers of all fits: automatic parameters, rollback after an error, warning at max_iter."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

__all__ = ["is_auto", "rollback_on_error", "warn_max_iter"]


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


def warn_max_iter(estimator: Any, criterion: str, stacklevel: int = 3) -> None:
    """Warn that a fit stopped at ``max_iter``, unless ``tol=0`` asks for that.

    Parameters
    ----------
    estimator : object
        With ``max_iter`` and ``tol``.
    criterion : str
        The criterion that was not met, as a clause.
    stacklevel : int
        Number of frames up to the caller of ``fit``.

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
        warnings.warn(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} iterations "
            f"before {criterion}. Increase max_iter.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
