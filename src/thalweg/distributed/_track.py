"""Many streams at once, each followed by an estimator of its own."""

from collections.abc import Iterable
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

from thalweg.distributed._blocks import Blocks, Held
from thalweg.distributed._crews import crew_of
from thalweg.distributed._dask import connected
from thalweg.errors import ParameterError
from thalweg.streams import Stream, open as open_stream

__all__ = ["track"]

E = TypeVar("E")


@dataclass(frozen=True, eq=False)
class Whole(Held):
    """A whole stream, which a worker opens by itself."""


def track(
    estimator: E,
    streams: Iterable[Any],
    *,
    client: Any = None,
    batch_size: int | None = None,
    epochs: int = 1,
) -> list[E]:
    """Follow many independent streams at once, each with a copy of the estimator.

    One stream cannot be shared out: a tracker follows one sample after the other, and what it
    makes of a sample depends on all before. Streams of their own can, a worker for each.

    Parameters
    ----------
    estimator : estimator with fit_stream
        A tracker, or any streaming estimator. It stays as it is.
    streams : iterable of streams, paths or arrays
        What :func:`thalweg.streams.open` takes.
    client : distributed.Client, address of a scheduler, or None, default=None
        None follows one stream after the other, here.
    batch_size : int or None, default=None
        Samples in a batch; None leaves it to the estimator.
    epochs : int, default=1
        How many times each stream is taken in.

    Returns
    -------
    list of estimators
        Fitted, one for each stream, in their order.

    Examples
    --------
    >>> from thalweg import Petrels, distributed, synthetic
    >>> streams = [synthetic.subspace_stream(300, 20, 2, random_state=i).X for i in range(3)]
    >>> [model.n_samples_seen_ for model in distributed.track(Petrels(2), streams)]
    [300, 300, 300]
    """
    if not hasattr(estimator, "fit_stream"):
        raise ParameterError(
            f"estimator should have fit_stream, but {type(estimator).__name__} has not. Use a "
            "tracker or a streaming estimator."
        )
    sources = Blocks([Whole(open_stream(source)) for source in streams], kind="Stream")
    everyone, model = range(len(sources)), copy(estimator)
    model.callback = None  # type: ignore[attr-defined]  # it may not travel
    with connected(client) as crew_client:
        crew = crew_of(crew_client, sources)
        handles = crew.map("track-stream", _follow, everyone, model, epochs, batch_size)
        return crew.collect(handles, everyone)


def _follow(stream: Stream, estimator: Any, epochs: int, batch_size: int | None) -> Any:
    return deepcopy(estimator).fit_stream(stream, epochs=epochs, batch_size=batch_size)
