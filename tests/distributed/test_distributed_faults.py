"""Killed workers and restarted schedulers do not change the result."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone

from closeness import relative
from thalweg import DivergenceNMF, RobustNMF, RobustOnlineNMF, checkpoint, distributed
from thalweg._typing import Array
from thalweg.errors import BlockError, ClusterError

pytest.importorskip("distributed")


def test_killing_a_worker_does_not_change_the_result(
    mixed: Array, client: Any, tmp_path: Path
) -> None:
    dask = pytest.importorskip("dask")
    parts = [mixed[i : i + 60] for i in range(0, 600, 60)]

    def load(i: int, X: Array, folder: str) -> Array:
        """Return a block; the first worker that loads block 4 a second time kills itself."""
        if i == 4:
            for mark in ("sampled", "once", "killed"):
                path = Path(folder) / mark
                if not path.exists():
                    path.touch()
                    if mark == "killed":
                        os.kill(os.getpid(), signal.SIGKILL)
                    break
        return X

    def delayed(folder: Path) -> list[Any]:
        made = dask.delayed(load, pure=False)
        return [made(i, part, str(folder)) for i, part in enumerate(parts)]

    model = RobustOnlineNMF(3, epochs=3, random_state=0)
    here = distributed.fit(clone(model), parts, blocks_per_round=5)
    found = distributed.fit(clone(model), delayed(tmp_path), blocks_per_round=5, client=client)
    assert (tmp_path / "killed").exists()
    assert found.n_samples_seen_ == here.n_samples_seen_ == 1800
    assert float(found.statistics_.n_samples) == 1800
    assert relative(found.components_, here.components_) < 1e-10


@pytest.mark.parametrize(
    "model", [RobustNMF(3, max_iter=5), DivergenceNMF(3, max_iter=5)], ids=["robust", "divergence"]
)
def test_codes_of_a_killed_worker_are_recomputed(model: Any, mixed: Array, client: Any) -> None:
    killed = list[int]()

    def kill(_: Any) -> None:
        if not killed:
            killed.append(sorted(client.run(os.getpid).values())[0])
            os.kill(killed[0], signal.SIGKILL)

    X = mixed + 0.01
    model.set_params(random_state=0)
    here = distributed.fit(clone(model), X, block_size=60)
    found = distributed.fit(clone(model), X, block_size=60, client=client, callback=kill)
    assert killed[0] not in client.run(os.getpid).values()
    assert found.n_samples_seen_ == len(X)
    assert relative(found.components_, here.components_) < 1e-10
    assert abs(found.objective_ - here.objective_) < 1e-10 * here.objective_


def test_a_block_that_kills_every_worker_raises(mixed: Array, client: Any) -> None:
    dask = pytest.importorskip("dask")

    def poison() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    client.run_on_scheduler(allow_failures, 0)
    try:
        with pytest.raises(BlockError, match=r"Block 1 .*KilledWorker"):
            distributed.fit(RobustNMF(3), [mixed[:9], dask.delayed(poison)()], client=client)
    finally:
        client.run_on_scheduler(allow_failures, 3)


def allow_failures(count: int, dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = count


@contextmanager
def scheduler(file: Path) -> Iterator[tuple[Any, Any]]:
    """Start a scheduler and a worker as processes; yield the scheduler and a client."""
    from distributed import Client

    there = ["--scheduler-file", str(file), "--no-dashboard"]
    roles = {
        "scheduler": ["--host", "127.0.0.1", "--port", "0"],
        "worker": ["--nthreads", "1", "--no-nanny", "--death-timeout", "120"],
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{role}", *there, *more],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for role, more in roles.items()
    ]
    try:
        deadline = time.monotonic() + 120
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        # the timeout also limits the search for a scheduler that is gone
        with Client(scheduler_file=str(file), set_as_default=False, timeout="5s") as client:
            client.wait_for_workers(1, timeout=120)
            yield processes[0], client
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_fit_resumes_after_the_scheduler_is_killed(
    mixed: Array, client: Any, tmp_path: Path
) -> None:
    X = [mixed[i : i + 50] for i in range(0, 600, 50)]
    model = RobustOnlineNMF(3, random_state=0)
    whole = distributed.fit(clone(model), X, blocks_per_round=3)
    keeper = checkpoint.Keeper(tmp_path / "kept", every=1)
    with scheduler(tmp_path / "file.json") as (process, doomed):

        def kill(progress: Any) -> None:
            if progress.n_samples_seen == 300:
                process.kill()
                process.wait()

        with pytest.raises(ClusterError, match="resume=True"):
            distributed.fit(
                clone(model),
                X,
                blocks_per_round=3,
                client=doomed,
                checkpoint=keeper,
                callback=kill,
            )
    rounds = list[int]()
    found = distributed.fit(
        clone(model),
        X,
        blocks_per_round=3,
        client=client,
        checkpoint=tmp_path / "kept",
        resume=True,
        callback=lambda progress: rounds.append(progress.n_samples_seen),
    )
    assert rounds == [450, 600]
    assert relative(found.components_, whole.components_) < 1e-10
    assert found.n_samples_seen_ == whole.n_samples_seen_
