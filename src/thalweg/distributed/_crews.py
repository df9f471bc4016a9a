"""Who does the work: the workers of a cluster, or this process, one block after the other."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol
from uuid import uuid4

from thalweg.distributed._blocks import Blocks, Held, Lazy, plain
from thalweg.distributed._dask import load
from thalweg.errors import BlockError, ClusterError

__all__ = ["Cluster", "Crew", "Here", "crew_of"]

# Data that are in memory here, and dictionaries, travel inside of tasks: what a worker that died
# had of them is then sent again by the scheduler. Dask warns of large tasks; these are meant.
_LARGE = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}


class Crew(Protocol):
    """Applies functions to blocks; what they return may stay where it was made."""

    blocks: Blocks

    def share(self, value: Any) -> Any:
        """Return a handle of something that all blocks need."""
        ...

    def map(
        self,
        task: str,
        function: Callable[..., Any],
        which: Sequence[int],
        *common: Any,
        each: Sequence[Any] = (),
    ) -> list[Any]:
        """Return handles of ``function(X, *common)`` for some blocks X, in their order.

        ``each`` has one more argument for each of the blocks, such as a handle of its state.
        """
        ...

    def follow(self, task: str, function: Callable[[Any], Any], handles: list[Any]) -> list[Any]:
        """Return handles of a function of what is behind other handles."""
        ...

    def collect(self, handles: list[Any], which: Sequence[int]) -> list[Any]:
        """Return what is behind the handles, or raise what the first of the blocks raised."""
        ...


class Here:
    """One process, this one; a handle is the value itself."""

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
        done = []
        for place, i in enumerate(which):
            try:
                one = self.blocks.blocks[i]
                done.append(_apply(one, list(each[place : place + 1]), function, list(common)))
            except Exception as error:
                raise _blamed(self.blocks.kind, i, error) from error
        return done

    def follow(self, task: str, function: Callable[[Any], Any], handles: list[Any]) -> list[Any]:
        """Apply the function to one value after the other."""
        return [function(handle) for handle in handles]

    def collect(self, handles: list[Any], which: Sequence[int]) -> list[Any]:
        """Return the values."""
        return handles


class Cluster:
    """The workers of a client; a handle is a future, and all of them are pure functions.

    The scheduler makes again what a worker had when it died, from the futures before, back to
    the blocks and the dictionaries.
    """

    def __init__(self, blocks: Blocks, client: Any) -> None:
        self.blocks, self.client = blocks, client
        self._token, self._count = uuid4().hex[:8], 0
        self._config = load("dask").config
        held = [i for i, block in enumerate(blocks.blocks) if isinstance(block, Held)]
        made = self._submit("block", _loaded, [blocks.blocks[i] for i in held])
        self._held = dict(zip(held, made, strict=True))

    def share(self, value: Any) -> Any:
        """Send something to a worker, from which the others fetch it."""
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
        """Submit a task for each handle, which runs where the handle is."""
        return self._submit(task, function, handles)

    def collect(self, handles: list[Any], which: Sequence[int]) -> list[Any]:
        """Wait for the results and fetch them."""
        try:
            fetched: list[Any] = self.client.gather(handles)
        except Exception as error:
            for i, future in zip(which, handles, strict=True):
                if future.status == "error":
                    cause = future.exception()
                    raise _blamed(self.blocks.kind, i, cause) from cause
            if any(future.status in ("cancelled", "lost") for future in handles):
                raise _lost(error) from error
            raise
        return fetched

    def _sources(self, which: Sequence[int]) -> list[Any]:
        """Return what the tasks get: futures of held and lazy blocks, else the block itself."""
        chosen = [self.blocks.blocks[i] for i in which]
        lazy = [block.delayed for block in chosen if isinstance(block, Lazy)]
        made = iter(self.client.compute(lazy) if lazy else [])
        return [
            next(made) if isinstance(block, Lazy) else self._held.get(i, block)
            for i, block in zip(which, chosen, strict=True)
        ]

    def _submit(self, task: str, function: Any, *columns: list[Any], **common: Any) -> list[Any]:
        """Submit tasks; the first words of their keys are what a dashboard shows."""
        self._count += 1
        keys = [(f"{task}-{self._token}-{self._count}", i) for i in range(len(columns[0]))]
        try:
            with self._config.set(_LARGE):
                futures: list[Any] = self.client.map(
                    function, *columns, key=keys, pure=False, **common
                )
        except load("distributed.client").ClosedClientError as error:
            raise _lost(error) from error
        return futures


def crew_of(client: Any, blocks: Blocks) -> Crew:
    """Return the crew of a client, or this process for none."""
    return Here(blocks) if client is None else Cluster(blocks, client)


def _apply(source: Any, each: list[Any], called: Any, common: list[Any]) -> Any:
    X = plain(source.load() if hasattr(source, "load") else source)
    return called(X, *common, *each)


def _same(value: Any) -> Any:
    return value


def _loaded(block: Held) -> Any:
    return block.load()


def _blamed(kind: str, number: int, error: BaseException) -> BlockError:
    return BlockError(
        f"{kind} {number}, counted from 0, should be taken in, but it raised "
        f"{type(error).__name__}: {error} Mend it, or leave it out."
    )


def _lost(error: BaseException) -> ClusterError:
    return ClusterError(
        f"The scheduler should be there until the fit is done, but {type(error).__name__} came. "
        "Start it again; with checkpoint= a fit goes on with resume=True."
    )
