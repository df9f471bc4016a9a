"""Threads of BLAS and OpenMP: set before NumPy is imported, and changed within a process."""

from contextlib import AbstractContextManager

__all__ = ["environment", "limit"]

_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def environment(count: int) -> dict[str, str]:
    """Return the variables that set the number of threads of every library in use."""
    return dict.fromkeys(_VARIABLES, str(count))


def limit(count: int) -> AbstractContextManager[object]:
    """Limit every loaded BLAS and OpenMP library to a number of threads."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=count)
    return limits
