"""What fails before it has begun leaves an estimator as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["rollback_on_error"]


@contextmanager
def rollback_on_error(estimator: Any) -> Iterator[None]:
    """Take back all that is done here if an error ends it, so that a fitted model stays one.

    Attributes are set anew and never changed in place, so that to keep them is enough.
    """
    before = dict(vars(estimator))
    try:
        yield
    except Exception:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
