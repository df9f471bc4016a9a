"""Small data, one cluster for all tests of a process, and helpers for comparisons."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from thalweg import synthetic
from thalweg._typing import Array


@pytest.fixture(scope="session")
def mixed() -> Array:
    """Nonnegative data with outliers."""
    return synthetic.nmf_with_outliers(600, 12, 3, random_state=0).X


@pytest.fixture(scope="session")
def counts() -> Array:
    """Counts without empty rows and columns."""
    rng = np.random.default_rng(0)
    return rng.poisson(rng.gamma(0.7, 1.0, (400, 3)) @ rng.gamma(0.5, 20.0, (3, 14))) + 1.0


@pytest.fixture(scope="session")
def gappy(mixed: Array) -> Array:
    """The data of ``mixed`` with gaps."""
    return np.where(np.random.default_rng(1).random(mixed.shape) < 0.1, np.nan, mixed)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of processes with one thread each; tests scale it.

    It ends with its module: its threads allocate now and then, and other tests measure memory.
    """
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    """A client of the cluster."""
    from distributed import Client

    with Client(cluster, set_as_default=False) as made:
        yield made


@pytest.fixture
def scaled(cluster: Any, client: Any) -> Iterator[Callable[[int], Any]]:
    """Return a function that gives the client a number of workers."""

    def scale(n: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cluster.scale(n)
            client.wait_for_workers(n, timeout=120)
        while len(client.scheduler_info(n_workers=-1)["workers"]) > n:
            client.sync(_turn)
        return client

    yield scale
    scale(2)


async def _turn() -> None:
    """Let the event loop run once."""
    import asyncio

    await asyncio.sleep(0.01)
