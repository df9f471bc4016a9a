"""Fit an estimator to blocks of rows, on a cluster or in this process."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from thalweg.distributed import _archetypes, _online, _rounds
from thalweg.distributed._blocks import blocks_of
from thalweg.distributed._dask import connected
from thalweg.distributed._executors import executor_for
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

__all__ = ["fit"]

E = TypeVar("E")

_RUNS: dict[type[Any], Callable[[Any, Any, Plan], None]] = {
    RobustOnlineNMF: _online.run,
    OnlineNMF: _online.run,
    ORNMF: _online.run,
    RobustNMF: _rounds.run_robust,
    DivergenceNMF: _rounds.run_divergence,
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
    """Fit an estimator to blocks of rows, on the workers of a Dask cluster or in this process.

    In each round, the workers encode their blocks with the current dictionary, and return the
    statistics that the update needs: sums, or for OR-NMF a few samples. The central process merges
    them in the order of the blocks, and updates the dictionary. The result does not depend on the
    number of workers, or on whether a worker dies during the fit.

    Parameters
    ----------
    estimator : RobustOnlineNMF, OnlineNMF, ORNMF, RobustNMF, DivergenceNMF or SparseArchetypalNMF
        Trackers need the samples in order; for many independent streams see :func:`track`.
    X : Dask array or DataFrame, list of blocks, stream, array or sparse matrix
        A block is a Dask delayed object or an array. A Dask collection keeps its own blocks, which
        are recomputed in each round unless it is persisted. The workers open a stream of
        :mod:`thalweg.streams`, each at its own position. Arrays of this process are sent once.
    client : distributed.Client, address of a scheduler, or None, default=None
        None runs the same functions in this process, one block after the other.
    block_size : int or None, default=None
        Rows per block, for data that are not in blocks; None is 4096.
    blocks_per_round : int or None, default=None
        Blocks per batch of a streaming estimator; None is 16. Use several times the number of
        workers. Batch estimators use all blocks in each round.
    rounds : int or None, default=None
        Number of dictionary updates. None is ``epochs`` passes over the data for a streaming
        estimator, and at most ``max_iter`` rounds for a batch estimator, which warns as ``fit``
        does if it stops there.
    callback : callable or None, default=None
        Called with a :class:`thalweg.estimators.Progress` after each round.
    checkpoint : path, Keeper or None, default=None
        Folder for checkpoints of the estimator; a :class:`thalweg.checkpoint.Keeper` sets how
        often they are written.
    resume : bool, default=False
        Whether to continue from the latest checkpoint of that folder, if there is one. For a
        streaming estimator the result is that of an uninterrupted fit. A batch estimator
        recomputes its codes from the components.

    Returns
    -------
    estimator
        The fitted estimator, the same object.

    Notes
    -----
    A round of a streaming estimator is a batch of ``fit`` with ``shuffle=False``. A round of
    :class:`~thalweg.RobustNMF` and :class:`~thalweg.DivergenceNMF` is an iteration of ``fit``. If
    the update uses only sums over samples, the result is that of ``fit``, up to rounding. The
    exceptions are:

    - The initial components come from about a million entries of the first blocks, and the noise
      scale from a few entries of each block.
    - With ``solver="spsgd"``, the curvature and the gradient are averaged over blocks.
    - A Huber threshold that follows the noise scale reaches ``solver="mu"`` and ``"spsgd"`` one
      round later than in ``fit``, since the blocks are summarised before the noise is estimated.
    - Rows are not shuffled.
    - A round of :class:`~thalweg.ORNMF` is one window, and each block adds its latest samples to
      the buffer.

    The central process holds the codes of :class:`~thalweg.SparseArchetypalNMF`, since they are
    its ``membership_``.

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
        raise ParameterError(_unsupported(estimator))
    plan = Plan.of(rounds, blocks_per_round, callback, checkpoint, resume)
    with connected(client) as dask_client:
        blocks = blocks_of(X, block_size)
        run(estimator, executor_for(dask_client, blocks), plan)
    if blocks.names is not None:
        estimator.feature_names_in_ = np.asarray(blocks.names, dtype=object)  # type: ignore[attr-defined]
    return estimator


def _unsupported(estimator: Any) -> str:
    supported = ", ".join(cls.__name__ for cls in _RUNS)
    advice = "Its update cannot be merged from blocks of rows: use its fit method."
    if hasattr(estimator, "init_samples"):  # a tracker
        advice = (
            "A tracker needs the samples in order: for independent streams use distributed.track."
        )
    return f"estimator must be one of {supported}, got {type(estimator).__name__}. {advice}"
