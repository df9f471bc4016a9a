"""Small products of matrices are faster on one thread than on several."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

__all__ = ["few_threads"]

# Multiplications in a batch's product W @ H below which a second thread costs more than it gives.
_SMALL = 2**25


class _Limit:
    """BLAS on one thread while anybody asks for it; the setting belongs to the whole process."""

    def __init__(self) -> None:
        self._controller = ThreadpoolController()
        self._lock = Lock()
        self._holders = 0
        self._undo = ExitStack()

    def hold(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._undo.enter_context(self._controller.limit(limits=1, user_api="blas"))
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._undo.close()


@cache
def _limit() -> _Limit:
    return _Limit()


@contextmanager
def few_threads(n_features: int, n_components: int, n_samples: int) -> Iterator[None]:
    """Keep BLAS to one thread inside, if batches of this size are small."""
    if n_features * n_components * n_samples >= _SMALL:
        yield
        return
    _limit().hold()
    try:
        yield
    finally:
        _limit().release()
