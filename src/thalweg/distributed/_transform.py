"""Codes of distributed data."""

from typing import Any

import numpy as np

from thalweg.distributed._blocks import Lazy, blocks_of, plain
from thalweg.distributed._dask import collection, connected, load
from thalweg.distributed._executors import executor_for
from thalweg.distributed._model import sent_copy
from thalweg.errors import ParameterError

__all__ = ["transform"]


def transform(estimator: Any, X: Any, *, client: Any = None, block_size: int | None = None) -> Any:
    """Return the codes of X, block by block.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.
    X : Dask array or DataFrame, list of blocks, stream, array or sparse matrix
        Data as in :func:`fit`.
    client : distributed.Client, address of a scheduler, or None, default=None
        The workers that encode blocks which are not Dask collections; None uses this process. For
        a Dask collection the scheduler is chosen when the result is computed.
    block_size : int or None, default=None
        Rows per block, for data that are not in blocks.

    Returns
    -------
    array or Dask array of shape (n_samples, n_components)
        A lazy Dask array if X is a Dask collection or a list of delayed blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustOnlineNMF, distributed
    >>> X = np.random.default_rng(0).random((60, 8))
    >>> model = RobustOnlineNMF(n_components=3, random_state=0).fit(X)
    >>> codes = distributed.transform(model, X, block_size=20)
    >>> np.allclose(codes, model.transform(X))
    True
    """
    if not hasattr(estimator, "components_"):
        raise ParameterError(
            f"estimator must be fitted, got an unfitted {type(estimator).__name__}. Call fit first."
        )
    blocks = blocks_of(X, block_size)
    model = sent_copy(estimator)
    if collection(X) or all(isinstance(block, Lazy) for block in blocks.blocks):
        return _lazily(model, blocks.blocks)
    all_blocks = range(len(blocks))
    with connected(client) as dask_client:
        executor = executor_for(dask_client, blocks)
        handles = executor.map("transform-block", _codes, all_blocks, executor.share(model))
        return np.vstack(executor.collect(handles, all_blocks))


def _lazily(model: Any, blocks: list[Any]) -> Any:
    """Return a Dask array with a block of codes for each block of rows."""
    array, delayed = load("dask.array"), load("dask").delayed
    dtype, width = model.components_.dtype, len(model.components_)
    codes, shared = delayed(_codes), delayed(model)
    return array.concatenate(
        [
            array.from_delayed(
                codes(block.delayed, shared, dask_key_name=f"transform-{block.delayed.key}"),
                shape=(np.nan if block.rows is None else block.rows, width),
                dtype=dtype,
            )
            for block in blocks
        ]
    )


def _codes(X: Any, model: Any) -> Any:
    X = plain(X)
    if X.shape[0] == 0:
        return np.empty((0, len(model.components_)), model.components_.dtype)
    return model.transform(X)
