"""The callbacks of scikit-learn (1.9 and later): iterations of a fit as tasks."""

from collections.abc import Callable
from typing import Any, TypeVar

try:
    from sklearn import callback as _sklearn
except ImportError:  # scikit-learn 1.7 and 1.8 have no callbacks
    _sklearn = None

__all__ = ["CallbackSupportMixin", "FitTasks", "has_callbacks", "with_callbacks"]

M = TypeVar("M", bound=Callable[..., Any])

# The method of scikit-learn's protocol that begins the tasks of a fit.
_BEGIN = "_init_callback_context"

_Base: Any = object if _sklearn is None else _sklearn.CallbackSupportMixin


class CallbackSupportMixin(_Base):
    """``set_callbacks`` of scikit-learn, where it has callbacks."""


def with_callbacks(method: M) -> M:
    """Decorate a fit, so that callbacks are torn down after it."""
    decorated: Any = method if _sklearn is None else _sklearn.with_callbacks(method)
    found: M = decorated
    return found


def has_callbacks(estimator: Any) -> bool:
    """Whether scikit-learn's callbacks are set on an estimator, or on one that it belongs to."""
    own = getattr(estimator, "_skl_callbacks", None)
    return bool(own) or hasattr(estimator, "_parent_callback_ctx")


class FitTasks:
    """The iterations of a fit, which scikit-learn's callbacks follow and may stop.

    Parameters
    ----------
    estimator : estimator
        The estimator; its ``fit`` is decorated by :func:`with_callbacks`.
    name : str
        What an iteration is called.
    count : int
        Largest number of iterations.
    X : array-like
        The training data.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators._callbacks import FitTasks
    >>> FitTasks(RobustNMF(), "iteration", 3, np.ones((2, 2))).ended()
    False
    """

    def __init__(self, estimator: Any, name: str, count: int, X: Any) -> None:
        self.estimator, self.name, self.X = estimator, name, X
        self.root: Any = None
        self.task: Any = None
        self.stopped = False
        if has_callbacks(estimator):
            self.root = getattr(estimator, _BEGIN)(max_subtasks=count)
            self.root.call_on_fit_task_begin(estimator=estimator, X=X)

    def begin(self) -> None:
        """Begin an iteration."""
        if self.root is not None:
            self.task = self.root.subcontext(task_name=self.name)
            self.task.call_on_fit_task_begin(estimator=self.estimator, X=self.X)

    def ended(self) -> bool:
        """End an iteration; return whether a callback asks for the end of the fit."""
        self.stopped = self._end(self.task)
        return self.stopped

    def close(self) -> None:
        """End the fit."""
        self._end(self.root)

    def _end(self, task: Any) -> bool:
        if task is None:
            return False
        fitted = {
            name: value
            for name, value in vars(self.estimator).items()
            if name.endswith("_") and not name.startswith("_")
        }
        stop = task.call_on_fit_task_end(
            estimator=self.estimator, X=self.X, reconstruction_attributes=fitted
        )
        return bool(stop)
