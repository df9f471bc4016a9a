"""Where Dask is imported: at first need, with one sentence if it is not there."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from thalweg.errors import DependencyError, ParameterError

__all__ = ["collection", "connected", "load"]


def load(module: str) -> Any:
    """Import a module of Dask."""
    try:
        return import_module(module)
    except ImportError as error:
        raise DependencyError(
            f"A Dask cluster should be reached through {module}, but it cannot be imported "
            f"({error}). Install it with pip install 'thalweg[dask]', or leave client out."
        ) from error


def collection(X: Any) -> str:
    """Return 'array', 'frame' or 'delayed' for a collection of Dask, and '' for all else."""
    if not hasattr(X, "__dask_graph__"):
        return ""
    if isinstance(X, load("dask.delayed").Delayed):
        return "delayed"
    if type(X).__module__.startswith("dask.array"):
        return "array"
    return "frame"


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """Yield the client; one that is made here of an address is closed in the end."""
    if isinstance(client, str):
        with load("distributed").Client(client, set_as_default=False) as made:
            yield made
        return
    if client is not None and (not hasattr(client, "gather") or client.asynchronous):
        raise ParameterError(
            "client should be a distributed.Client that is not asynchronous, the address of a "
            f"scheduler, or None, but {type(client).__name__} came. Make it with "
            "distributed.Client(...) outside of a coroutine."
        )
    yield client
