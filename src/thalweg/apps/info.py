"""Describe the content of a file."""

from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from thalweg.apps._run import Common, Result, Run
from thalweg.apps._streams import columns_of, length, open_source, read_batch_size

__all__ = ["info"]

_MAX_COLUMNS = 40  # whose ranges are listed


def info(source: Any, **common: Unpack[Common]) -> Result:
    """Describe a data file, a folder of images, a checkpoint or a model.

    Data are read once, batch by batch.

    Parameters
    ----------
    source : path, array or Stream
        Any source of :func:`thalweg.streams.open`, ``model.thalweg`` or its folder, a checkpoint,
        or a folder of checkpoints.
    **common
        See :class:`thalweg.apps.Common`; only ``read`` and ``progress`` are used.

    Returns
    -------
    Result
        The description is in ``values``; no files are written.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import apps
    >>> apps.info(np.array([[1.0, np.nan], [2.0, 4.0]])).values["gaps"]
    0.25
    """
    run = Run("info", source, **common)
    saved = _checkpoint(source)
    return Result("info", None, _of_data(run) if saved is None else _of_model(saved))


def _checkpoint(source: Any) -> Path | None:
    """Return the path of a checkpoint, or of the latest one of a folder; None for data."""
    from thalweg import checkpoint

    if not isinstance(source, (str, PathLike)):
        return None
    path = Path(source)
    if (path / "model.thalweg").is_file():  # the folder of a result
        return path / "model.thalweg"
    if path.is_dir():
        return checkpoint.latest(path)
    return path if path.suffix == ".thalweg" else None


def _of_model(path: Path) -> dict[str, Any]:
    from thalweg import checkpoint

    found = checkpoint.read_manifest(path)
    checkpoint.verify(path)
    values: dict[str, Any] = {"kind": "model", "estimator": found.estimator}
    values["parameters"] = found.parameters
    values["arrays"] = {name: list(shape) for name, (_, shape) in found.arrays.items()}
    if found.position is not None:
        values |= {"kind": "checkpoint", "epoch": found.position[0], "sample": found.position[1]}
    if "job" in found.extra:
        values["job"] = found.extra["job"]
    return {**values, "version": found.version, "bytes": found.n_bytes}


def _of_data(run: Run) -> dict[str, Any]:
    stream: Any = open_source(run)
    n_features = stream.n_features
    n = gaps = 0
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    for first, rows in stream.batches(read_batch_size(n_features)):
        X = rows if isinstance(rows, np.ndarray) else rows.toarray()
        n, gaps = first + len(X), gaps + int(np.count_nonzero(np.isnan(X)))
        low, high = np.fmin(low, np.fmin.reduce(X)), np.fmax(high, np.fmax.reduce(X))
        run.notify("reading", n, length(stream))
    values: dict[str, Any] = {"kind": getattr(stream, "name", "stream"), "samples": n}
    values |= {"features": n_features, "gaps": gaps / max(n * n_features, 1)}
    if len(getattr(stream, "shape", ())) > 1:
        values["shape"] = list(stream.shape)
    if n:
        values |= {"least": float(low.min()), "largest": float(high.max())}
    if hasattr(stream, "columns_"):
        ranges = zip(columns_of(stream), low.tolist(), high.tolist(), strict=True)
        values["columns"] = {name: [a, b] for name, a, b in list(ranges)[:_MAX_COLUMNS]}
    return values
