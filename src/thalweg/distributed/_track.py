"""Track many streams at once, each with its own estimator."""

from collections.abc import Iterable
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

from thalweg.distributed._blocks import Blocks, Held
from thalweg.distributed._dask import connected
from thalweg.distributed._executors import executor_for
from thalweg.errors import ParameterError
from thalweg.streams import Stream, open as open_stream

__all__ = ["track"]

E = TypeVar("E")


@dataclass(frozen=True, eq=False)
class Whole(Held):
    """A whole stream, which the worker opens."""


def track(
    estimator: E,
    streams: Iterable[Any],
    *,
    client: Any = None,
    batch_size: int | None = None,
    epochs: int = 1,
) -> list[E]:
    """Fit a copy of the estimator to each of many independent streams.

    A tracker processes samples in order, and each result depends on all earlier samples, so that
    one stream cannot be divided among workers. Each stream is processed by one worker.

    Parameters
    ----------
    estimator : estimator with fit_stream
        A tracker, or any streaming estimator. It is not modified.
    streams : iterable of streams, paths or arrays
        Arguments of :func:`thalweg.streams.open`.
    client : distributed.Client, address of a scheduler, or None, default=None
        None processes one stream after the other in this process.
    batch_size : int or None, default=None
        Samples per batch; None is the default of the estimator.
    epochs : int, default=1
        Number of passes over each stream.

    Returns
    -------
    list of estimators
        The fitted estimators, one for each stream, in order.

    Examples
    --------
    >>> from thalweg import Petrels, distributed, synthetic
    >>> streams = [synthetic.subspace_stream(300, 20, 2, random_state=i).X for i in range(3)]
    >>> [model.n_samples_seen_ for model in distributed.track(Petrels(2), streams)]
    [300, 300, 300]
    """
    if not hasattr(estimator, "fit_stream"):
        raise ParameterError(
            f"estimator must have a method fit_stream, got {type(estimator).__name__}. "
            "Use a tracker or a streaming estimator."
        )
    sources = Blocks([Whole(open_stream(source)) for source in streams], kind="Stream")
    all_streams, model = range(len(sources)), copy(estimator)
    model.callback = None  # type: ignore[attr-defined]  # it may not be picklable
    with connected(client) as dask_client:
        executor = executor_for(dask_client, sources)
        handles = executor.map("track-stream", _fit_stream, all_streams, model, epochs, batch_size)
        return executor.collect(handles, all_streams)


def _fit_stream(stream: Stream, estimator: Any, epochs: int, batch_size: int | None) -> Any:
    return deepcopy(estimator).fit_stream(stream, epochs=epochs, batch_size=batch_size)
