"""The same fit on 1, 2 and 4 workers and in this process; messages; task names."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from closeness import relative
from thalweg import (
    ORNMF,
    DivergenceNMF,
    OnlineNMF,
    Petrels,
    RobustNMF,
    RobustOnlineNMF,
    SparseArchetypalNMF,
    distributed,
    streams,
)
from thalweg._typing import Array
from thalweg.distributed._online import shared_of, summarise
from thalweg.errors import BlockError

MODELS = [
    RobustOnlineNMF(3, random_state=0),
    OnlineNMF(3, random_state=0),
    OnlineNMF(3, solver="spsgd", random_state=0),
    ORNMF(3, buffer_size=60, random_state=0),
    RobustNMF(3, max_iter=3, random_state=0),
    RobustNMF(3, max_iter=2, solver="admm", random_state=0),
    DivergenceNMF(3, max_iter=3, random_state=0),
    SparseArchetypalNMF(3, init="projections", continuation_steps=1, max_iter=1, random_state=0),
]


def fit_all(X: Any, client: Any = None) -> list[Array]:
    """Return the components that each estimator finds."""
    settings: Any = {"client": client, "blocks_per_round": 3}
    return [distributed.fit(clone(model), X, **settings).components_ for model in MODELS]


def test_the_number_of_workers_does_not_matter(mixed: Array, scaled: Callable[[int], Any]) -> None:
    blocks = [mixed[i : i + 110] for i in range(0, len(mixed), 110)]
    here = fit_all(blocks)
    for n in (2, 3, 1):
        client = scaled(n)
        assert len(client.run(int)) == n
        for model, found, expected in zip(MODELS, fit_all(blocks, client), here, strict=True):
            assert relative(found, expected) < 1e-10, (model, n)


def test_dask_collections_on_a_cluster(mixed: Array, client: Any) -> None:
    array = pytest.importorskip("dask.array")
    model = RobustOnlineNMF(3, random_state=0)
    here = distributed.fit(clone(model), mixed, block_size=80, blocks_per_round=3)
    X = array.from_array(mixed, chunks=(80, -1))
    delayed = X.to_delayed().ravel().tolist()
    for data in (X, client.persist(X), delayed):
        found = distributed.fit(clone(model), data, client=client, blocks_per_round=3)
        assert relative(found.components_, here.components_) < 1e-10
    codes = distributed.transform(here, X)
    found = client.compute(codes, sync=True)
    assert relative(found, here.transform(mixed)) < 1e-12


def test_workers_open_streams(mixed: Array, client: Any, tmp_path: Any) -> None:
    np.save(tmp_path / "a.npy", mixed)
    stream = streams.open(tmp_path / "a.npy")
    here = distributed.fit(RobustOnlineNMF(3, random_state=0), stream, block_size=80)
    found = distributed.fit(
        RobustOnlineNMF(3, random_state=0), stream, block_size=80, client=client
    )
    assert relative(found.components_, here.components_) < 1e-10
    codes = distributed.transform(here, stream, block_size=80, client=client)
    assert relative(codes, here.transform(mixed)) < 1e-12


def test_streams_are_tracked_on_the_workers(mixed: Array, client: Any) -> None:
    parts = [mixed[i::3] for i in range(3)]
    model = Petrels(2, random_state=0, callback=lambda progress: None)
    here = distributed.track(model, parts, batch_size=50)
    for found, expected in zip(
        distributed.track(model, parts, batch_size=50, client=client), here, strict=True
    ):
        assert relative(found.components_, expected.components_) < 1e-12


def test_task_names_in_the_dashboard(mixed: Array, client: Any) -> None:
    told = []
    distributed.fit(
        RobustNMF(3, random_state=0),
        mixed,
        client=client,
        block_size=100,
        rounds=2,
        callback=lambda progress: told.append((progress, prefixes(client))),
    )
    assert len(told) == 2
    names = told[-1][1]
    assert {"block", "dictionary", "encode-block", "statistics", "loss-block"} <= names


def prefixes(client: Any) -> set[str]:
    """Return the first words of the keys that the scheduler has observed."""
    return set(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes)))


def test_no_data_stay_on_the_cluster(mixed: Array, client: Any) -> None:
    distributed.fit(RobustOnlineNMF(3), mixed, client=client, block_size=100)

    async def settled(dask_scheduler: Any) -> int:
        import asyncio

        for _ in range(1000):  # futures are released asynchronously
            if not dask_scheduler.tasks:
                break
            await asyncio.sleep(0.01)
        return len(dask_scheduler.tasks)

    assert client.run_on_scheduler(settled) == 0


def test_messages_hold_the_dictionary_and_the_statistics() -> None:
    F, K, B = 300, 20, 500
    X = np.random.default_rng(0).random((B, F))
    model = RobustOnlineNMF(K, init=np.ones((K, F)), random_state=0, callback=print)
    model.fit(X)
    shared = shared_of(model, model.make_learner(), model.get_state(), 1)
    out = len(pickle.dumps(shared))
    back = len(pickle.dumps(summarise(X, shared)))
    counts = F * (48 * 4 + 8)  # residuals by size, for p-values
    assert 8 * F * K < out < 8 * F * K + counts + 4096
    # A, B, and two thousand entries with their codes for the noise
    noise = 8 * 2048 + 8 * K * 8
    assert 8 * (F * K + K * K) < back < 8 * (F * K + K * K) + noise + counts + 4096


def test_client_by_address(mixed: Array, cluster: Any) -> None:
    here = distributed.fit(RobustOnlineNMF(3, random_state=0), mixed, block_size=100)
    found = distributed.fit(
        RobustOnlineNMF(3, random_state=0),
        mixed,
        block_size=100,
        client=cluster.scheduler_address,
    )
    assert relative(found.components_, here.components_) < 1e-10


def test_errors_on_a_worker_name_the_block(mixed: Array, client: Any) -> None:
    dask = pytest.importorskip("dask")

    def broken() -> Array:
        raise FileNotFoundError("part-3 is gone.")

    listed: list[Any] = [mixed[i : i + 100] for i in range(0, 600, 100)]
    listed[3] = dask.delayed(broken)()
    with pytest.raises(BlockError, match=r"Block 3 .*FileNotFoundError: part-3 is gone") as caught:
        distributed.fit(RobustNMF(3), listed, client=client)
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    listed[3] = mixed[:100, :5]
    with pytest.raises(BlockError, match=r"Block 3 .*InputError: .*5 features"):
        distributed.fit(RobustNMF(3), listed, client=client)
