"""Threads of compiled loops and of BLAS, and blocks of samples on several threads."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import threadpoolctl
from joblib import effective_n_jobs

from thalweg import __version__, _native
from thalweg.errors import ParameterError

__all__ = ["few_threads", "map_in_threads", "pool_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Multiplications in the product W @ H of a batch below which one thread is faster than two.
# benchmark: threads
_SMALL_PRODUCT = 2**25


class _PoolController(threadpoolctl.LibController):  # type: ignore[misc]
    """Lets ``threadpool_limits`` limit the threads of compiled loops."""

    user_api = "thalweg"
    internal_api = "thalweg"
    filename_prefixes = ("_thalweg_core",)

    def get_num_threads(self) -> int:
        limit: int = _native.thread_limit()
        return limit

    def set_num_threads(self, num_threads: int) -> None:
        _native.set_thread_limit(num_threads)

    def get_version(self) -> str:
        return __version__


threadpoolctl.register(_PoolController)


class _Limit:
    """A limit of one BLAS thread while anybody holds it; the setting is global in the process."""

    def __init__(self) -> None:
        self._controller = threadpoolctl.ThreadpoolController().select(user_api="blas")
        self._lock = Lock()
        self._holders = 0
        self._restore = ExitStack()

    def hold(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._restore.enter_context(self._controller.limit(limits=1))
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
def pool_threads(n_jobs: Any) -> Iterator[None]:
    """Let compiled loops use ``n_jobs`` threads inside the block; None and -1 as in scikit-learn.

    With several threads, BLAS has one: its own threads would stay awake after each product, on the
    same processors.

    Examples
    --------
    >>> from thalweg._threads import pool_threads
    >>> with pool_threads(2):
    ...     pass
    """
    with few_threads(_SMALL_PRODUCT, 1, 1, n_jobs):
        yield


def _n_threads(n_jobs: Any) -> int:
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0):
        raise ParameterError(
            f"n_jobs must be None or an integer other than 0, got {n_jobs!r}. Use -1 for all cores."
        )
    count: int = effective_n_jobs(n_jobs)
    return count


@contextmanager
def few_threads(
    n_features: int, n_components: int, n_samples: int, n_jobs: Any = "unchanged"
) -> Iterator[None]:
    """Let compiled loops use ``n_jobs`` threads inside the block, and BLAS one if that is best.

    BLAS has one thread if batches of this size are small, or if compiled loops, which call it, have
    several threads.

    Examples
    --------
    >>> from thalweg._threads import few_threads
    >>> with few_threads(n_features=100, n_components=5, n_samples=64):
    ...     pass
    """
    count = _native.thread_count() if n_jobs == "unchanged" else _n_threads(n_jobs)
    one_blas_thread = count > 1 or n_features * n_components * n_samples < _SMALL_PRODUCT
    if one_blas_thread:
        _limit().hold()
    before = _native.set_thread_count(count)
    try:
        yield
    finally:
        _native.set_thread_count(before)
        if one_blas_thread:
            _limit().release()


def map_in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield ``function(item)`` for all items in order, on the threads that compiled loops may use.

    At most one result more than there are threads is held. Inside, compiled loops have one thread
    each. A single item is left to them.

    Examples
    --------
    >>> from thalweg._threads import map_in_threads, pool_threads
    >>> with pool_threads(2):
    ...     list(map_in_threads(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    n_threads = min(_native.thread_count(), _native.thread_limit(), len(items))
    if n_threads <= 1:
        yield from map(function, items)
        return
    pool, waiting = _executor(n_threads), deque[Future[Any]]()
    try:
        for item in items:
            waiting.append(pool.submit(copy_context().run, function, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        wait([future for future in waiting if not future.cancel()])


@cache
def _executor(n_threads: int) -> ThreadPoolExecutor:
    """Return threads that are kept for later calls: to start them takes as long as a short task."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="thalweg")


if hasattr(os, "register_at_fork"):  # a child has no threads of its parent
    os.register_at_fork(after_in_child=_executor.cache_clear)
