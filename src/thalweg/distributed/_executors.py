"""Executors: the workers of a cluster, or this process, one block after the other."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol
from uuid import uuid4

from thalweg.distributed._blocks import Blocks, Held, Lazy, plain
from thalweg.distributed._dask import load
from thalweg.errors import BlockError, ClusterError

__all__ = ["DaskExecutor", "Executor", "LocalExecutor", "executor_for"]

# Data of this process and dictionaries are part of the task graph, so that the scheduler can send
# them again after a worker dies. This silences the warning of Dask about large graphs.
_LARGE = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}


class Executor(Protocol):
    """An executor: applies functions to blocks; the results may stay on the workers."""

    blocks: Blocks

    def share(self, value: Any) -> Any:
        """Return a handle of a value that all blocks need."""
        ...

    def map(
        self,
        task: str,
        function: Callable[..., Any],
        which: Sequence[int],
        *common: Any,
        each: Sequence[Any] = (),
    ) -> list[Any]:
        """Return handles of ``function(X, *common)`` for the blocks X of ``which``, in order.

        ``each`` has one more argument for each block, such as a handle of its state.
        """
        ...

    def follow(self, task: str, function: Callable[[Any], Any], handles: list[Any]) -> list[Any]:
        """Return handles of the function applied to the results of other handles."""
        ...

    def collect(self, handles: list[Any], which: Sequence[int]) -> list[Any]:
        """Return the results of the handles, or raise the error of the first block that failed."""
        ...


class LocalExecutor:
    """Executor in this process; a handle is the value itself."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    def share(self, value: Any) -> Any:
        """Return the value."""
        return value

    def map(
        self,
        task: str,
        function: Callable[..., Any],
        which: Sequence[int],
        *common: Any,
        each: Sequence[Any] = (),
    ) -> list[Any]:
        """Apply the function to one block after the other."""
        results = []
        for place, i in enumerate(which):
            try:
                one = self.blocks.blocks[i]
                results.append(_apply(one, list(each[place : place + 1]), function, list(common)))
            except Exception as error:
                raise _block_error(self.blocks.kind, i, error) from error
        return results

    def follow(self, task: str, function: Callable[[Any], Any], handles: list[Any]) -> list[Any]:
        """Apply the function to one value after the other."""
        return [function(handle) for handle in handles]

    def collect(self, handles: list[Any], which: Sequence[int]) -> list[Any]:
        """Return the values."""
        return handles


class DaskExecutor:
    """Executor on the workers of a Dask client; a handle is a future of a pure function.

    If a worker dies, the scheduler recomputes its results from earlier futures, back to the blocks
    and the dictionaries.
    """

    def __init__(self, blocks: Blocks, client: Any) -> None:
        self.blocks, self.client = blocks, client
        self._token, self._count = uuid4().hex[:8], 0
        self._config = load("dask").config
        held = [i for i, block in enumerate(blocks.blocks) if isinstance(block, Held)]
        made = self._submit("block", _loaded, [blocks.blocks[i] for i in held])
        self._held = dict(zip(held, made, strict=True))

    def share(self, value: Any) -> Any:
        """Send a value to one worker, from which the others fetch it."""
        return self._submit("dictionary", _same, [value])[0]

    def map(
        self,
        task: str,
        function: Callable[..., Any],
        which: Sequence[int],
        *common: Any,
        each: Sequence[Any] = (),
    ) -> list[Any]:
        """Submit a task for each block."""
        sources = self._sources(which)
        more = [[one] for one in each] or [[] for _ in which]
        return self._submit(task, _apply, sources, more, called=function, common=list(common))

    def follow(self, task: str, function: Callable[[Any], Any], handles: list[Any]) -> list[Any]:
        """Submit a task for each handle, which runs on the worker that holds its result."""
        return self._submit(task, function, handles)

    def collect(self, handles: list[Any], which: Sequence[int]) -> list[Any]:
        """Wait for the results and fetch them."""
        try:
            fetched: list[Any] = self.client.gather(handles)
        except Exception as error:
            for i, future in zip(which, handles, strict=True):
                if future.status == "error":
                    cause = future.exception()
                    raise _block_error(self.blocks.kind, i, cause) from cause
            if any(future.status in ("cancelled", "lost") for future in handles):
                raise _cluster_error(error) from error
            raise
        return fetched

    def _sources(self, which: Sequence[int]) -> list[Any]:
        """Return the arguments of the tasks: futures of held and lazy blocks, else the block."""
        chosen = [self.blocks.blocks[i] for i in which]
        lazy = [block.delayed for block in chosen if isinstance(block, Lazy)]
        made = iter(self.client.compute(lazy) if lazy else [])
        return [
            next(made) if isinstance(block, Lazy) else self._held.get(i, block)
            for i, block in zip(which, chosen, strict=True)
        ]

    def _submit(self, task: str, function: Any, *columns: list[Any], **common: Any) -> list[Any]:
        """Submit tasks; the dashboard shows them by the first words of their keys."""
        self._count += 1
        keys = [(f"{task}-{self._token}-{self._count}", i) for i in range(len(columns[0]))]
        try:
            with self._config.set(_LARGE):
                futures: list[Any] = self.client.map(
                    function, *columns, key=keys, pure=False, **common
                )
        except load("distributed.client").ClosedClientError as error:
            raise _cluster_error(error) from error
        return futures


def executor_for(client: Any, blocks: Blocks) -> Executor:
    """Return the executor of a client, or of this process if it is None."""
    return LocalExecutor(blocks) if client is None else DaskExecutor(blocks, client)


def _apply(source: Any, each: list[Any], called: Any, common: list[Any]) -> Any:
    X = plain(source.load() if hasattr(source, "load") else source)
    return called(X, *common, *each)


def _same(value: Any) -> Any:
    return value


def _loaded(block: Held) -> Any:
    return block.load()


def _block_error(kind: str, number: int, error: BaseException) -> BlockError:
    return BlockError(
        f"{kind} {number} (counted from 0) failed; fix or remove it. "
        f"The cause is {type(error).__name__}: {error}"
    )


def _cluster_error(error: BaseException) -> ClusterError:
    return ClusterError(
        f"The connection to the scheduler was lost ({type(error).__name__}). Restart it; "
        "a fit with checkpoint= continues with resume=True."
    )
