"""Fit an estimator to data in several places."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from thalweg.distributed import _archetypes, _divergence, _online, _robust
from thalweg.distributed._blocks import blocks_of
from thalweg.distributed._crews import crew_of
from thalweg.distributed._dask import connected
from thalweg.distributed._plan import Plan
from thalweg.errors import ParameterError
from thalweg.estimators import (
    ORNMF,
    DivergenceNMF,
    OnlineNMF,
    Progress,
    RobustNMF,
    RobustOnlineNMF,
    SparseArchetypalNMF,
)
from thalweg.estimators._tracking import Tracking

__all__ = ["fit"]

E = TypeVar("E")

_RUNS: dict[type[Any], Callable[[Any, Any, Plan], None]] = {
    RobustOnlineNMF: _online.run,
    OnlineNMF: _online.run,
    ORNMF: _online.run,
    RobustNMF: _robust.run,
    DivergenceNMF: _divergence.run,
    SparseArchetypalNMF: _archetypes.run,
}


def fit(
    estimator: E,
    X: Any,
    *,
    client: Any = None,
    block_size: int | None = None,
    blocks_per_round: int | None = None,
    rounds: int | None = None,
    callback: Callable[[Progress], None] | None = None,
    checkpoint: Any = None,
    resume: bool = False,
) -> E:
    """Fit an estimator to blocks of rows, on the workers of a Dask cluster or here.

    In a round the workers encode blocks with the dictionary of the round, and send back what the
    update needs to know of them: sums, or for OR-NMF a few samples. The centre puts that together
    in the order of the blocks, and moves the dictionary. The result does not depend on the number
    of workers, or on whether one of them dies on the way.

    Parameters
    ----------
    estimator : RobustOnlineNMF, OnlineNMF, ORNMF, RobustNMF, DivergenceNMF or SparseArchetypalNMF
        Trackers follow one sample after the other; for many streams of their own see
        :func:`track`.
    X : Dask array or DataFrame, list of blocks, stream, array or sparse matrix
        A block is a Dask delayed object or an array. Of a Dask collection the blocks are its own,
        made anew in each round unless it is persisted. A stream of :mod:`thalweg.streams` is
        opened by the workers, each at its place. What is in memory here is sent once.
    client : distributed.Client, address of a scheduler, or None, default=None
        None runs the same functions here, one block after the other.
    block_size : int or None, default=None
        Rows of a block, for data that do not come in blocks; 4096 by default.
    blocks_per_round : int or None, default=None
        Blocks of a streaming estimator that are one batch to it; 16 by default. Several times the
        number of workers keeps these busy. Batch estimators take all blocks in each round.
    rounds : int or None, default=None
        How often the dictionary moves. None is ``epochs`` times over the data for a streaming
        estimator, and ``max_iter`` at most for a batch estimator.
    callback : callable or None, default=None
        Called with a :class:`thalweg.estimators.Progress` after each round.
    checkpoint : path, Keeper or None, default=None
        Folder in which the estimator is written on the way; a
        :class:`thalweg.checkpoint.Keeper` says how often.
    resume : bool, default=False
        Go on from the latest checkpoint of that folder, if there is one. A streaming estimator
        ends as if there had been no break. The codes that a batch estimator had are found anew
        from its components.

    Returns
    -------
    estimator
        The one that came, fitted.

    Notes
    -----
    A round of a streaming estimator is a batch of ``fit`` with ``shuffle=False``, and a round of
    :class:`~thalweg.RobustNMF` and :class:`~thalweg.DivergenceNMF` is one of ``fit``: where all
    that an update needs are sums over samples, the result is that of ``fit``, up to rounding.
    These are not sums: the first components and the scale of the noise, which come from about a
    million entries of the first blocks, and from a few entries of each block; and the curvature in
    ``solver="spsgd"``, which is averaged over blocks, as its gradient is. The knee of Huber's loss,
    where it follows the noise, reaches ``solver="mu"`` and ``"spsgd"`` a round later than in
    ``fit``: blocks are summarised before the centre has heard of them. Rows are not shuffled.
    A round of :class:`~thalweg.ORNMF` is one window, to whose buffer each block adds its latest
    samples. The codes of :class:`~thalweg.SparseArchetypalNMF` are at the centre, as they are in
    ``membership_``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustOnlineNMF, distributed, synthetic
    >>> X = synthetic.nmf_with_outliers(1000, 30, 3, random_state=0).X
    >>> model = RobustOnlineNMF(3, outlier_weight=0.1, random_state=0)
    >>> model = distributed.fit(model, X, block_size=50, blocks_per_round=4)
    >>> alone = RobustOnlineNMF(
    ...     3, outlier_weight=0.1, batch_size=200, shuffle=False, random_state=0
    ... )
    >>> np.allclose(model.components_, alone.fit(X).components_, rtol=1e-10)
    True
    """
    run = next((run for cls, run in _RUNS.items() if isinstance(estimator, cls)), None)
    if run is None:
        raise ParameterError(_refusal(estimator))
    plan = Plan.of(rounds, blocks_per_round, callback, checkpoint, resume)
    with connected(client) as crew_client:
        blocks = blocks_of(X, block_size)
        run(estimator, crew_of(crew_client, blocks), plan)
    if blocks.names is not None:
        estimator.feature_names_in_ = np.asarray(blocks.names, dtype=object)  # type: ignore[attr-defined]
    return estimator


def _refusal(estimator: Any) -> str:
    offered = ", ".join(cls.__name__ for cls in _RUNS)
    reason = "it has no update that is put together from blocks of rows"
    advice = "Fit it with all samples in one place"
    if isinstance(estimator, Tracking):
        reason = "a tracker follows one sample after the other"
        advice = "For many streams of their own use distributed.track"
    return (
        f"distributed.fit offers {offered}, but {type(estimator).__name__} came: {reason}. "
        f"{advice}."
    )
