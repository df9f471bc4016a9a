"""Lazy imports of Dask, with a clear error if it is not installed."""

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
            f"A Dask cluster needs {module}, which cannot be imported ({error}). "
            "Install it with: pip install 'thalweg[dask]', or use client=None."
        ) from error


def collection(X: Any) -> str:
    """Return 'array', 'frame' or 'delayed' for a Dask collection, and '' for other objects."""
    if not hasattr(X, "__dask_graph__"):
        return ""
    if isinstance(X, load("dask.delayed").Delayed):
        return "delayed"
    if type(X).__module__.startswith("dask.array"):
        return "array"
    return "frame"


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """Yield the client; a client created here from an address is closed at the end."""
    if isinstance(client, str):
        with load("distributed").Client(client, set_as_default=False) as made:
            yield made
        return
    if client is not None and (not hasattr(client, "gather") or client.asynchronous):
        raise ParameterError(
            "client must be a synchronous distributed.Client, the address of a scheduler, or None, "
            f"got {type(client).__name__}. "
            "Create it with distributed.Client(...) outside of a coroutine."
        )
    yield client
