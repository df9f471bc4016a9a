"""One BLAS thread for small matrix products, which are slower on several."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

__all__ = ["few_threads"]

# Multiplications in the product W @ H of a batch below which one thread is faster than two.
# benchmark: threads
_SMALL_PRODUCT = 2**25


class _Limit:
    """A limit of one BLAS thread while anybody holds it; the setting is global in the process."""

    def __init__(self) -> None:
        self._controller = ThreadpoolController()
        self._lock = Lock()
        self._holders = 0
        self._restore = ExitStack()

    def hold(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._restore.enter_context(self._controller.limit(limits=1, user_api="blas"))
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._restore.close()


@cache
def _limit() -> _Limit:
    return _Limit()


@contextmanager
def few_threads(n_features: int, n_components: int, n_samples: int) -> Iterator[None]:
    """Limit BLAS to one thread inside the block if batches of this size are small.

    Examples
    --------
    >>> from thalweg.learning.threads import few_threads
    >>> with few_threads(n_features=100, n_components=5, n_samples=64):
    ...     pass
    """
    if n_features * n_components * n_samples >= _SMALL_PRODUCT:
        yield
        return
    _limit().hold()
    try:
        yield
    finally:
        _limit().release()
