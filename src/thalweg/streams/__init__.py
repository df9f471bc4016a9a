"""Read arrays, tables, images, video, sound and text as numbered batches, from any sample.

:func:`open` is the entry point: it recognises a source by its suffix. A stream holds settings, but
no open file and no sample. Each call of ``batches`` opens the source again and keeps at most one
batch in memory. ``NaN`` marks gaps. Optional libraries are imported when a file needs them.

Each module of this package holds one kind of source: a frozen dataclass that follows the
:class:`Stream` protocol. Its first field is the source; ``name`` and ``suffixes`` identify it.
"""

from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

from thalweg._rooms import members
from thalweg.errors import InputError, ParameterError
from thalweg.streams._stream import Batch, Stream
from thalweg.streams.repeated import Repeated
from thalweg.streams.shuffled import Shuffled

__all__ = ["Batch", "Repeated", "Shuffled", "Stream", "open"]


def open(source: Any, *, format: str | None = None, **options: Any) -> Stream:
    """Return a stream of the samples in a file, a folder or an array.

    Parameters
    ----------
    source : path, array-like, sparse matrix or Stream
        A file of a known suffix; a folder of images, or a pattern such as ``"frames/*.png"``; or
        an array with one sample per row. A stream is returned unchanged.
    format : str or None, default=None
        Format of the source: 'array', 'arrow', 'csv', 'images', 'parquet', 'text', 'video' or
        'wav'. None infers it from the suffix.
    **options
        Options of the format, such as ``columns=`` for tables, ``size=`` for images or
        ``follow=True`` for a growing CSV file.

    Returns
    -------
    Stream
        Object with ``n_features``, ``n_samples`` and ``batches(size, start=0)``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import streams
    >>> stream = streams.open(np.eye(5))
    >>> [(batch.start, batch.X.shape) for batch in stream.batches(2)]
    [(0, (2, 5)), (2, (2, 5)), (4, (1, 5))]
    """
    if isinstance(source, Stream) and not options and format is None:
        return source
    kinds = members("thalweg.streams")
    kind = kinds.get(_format(source) if format is None else format)
    if kind is None:
        raise ParameterError(
            f"format must be one of {', '.join(map(repr, kinds))}, got {format!r}."
        )
    known = [field.name for field in fields(kind)][1:]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ParameterError(
            f"Options of format {kind.name!r} must be among {', '.join(known)}, got {unknown[0]!r}."
        )
    stream: Stream = kind(source, **options)
    return stream


def _format(source: Any) -> str:
    """Infer the format of a source."""
    if not isinstance(source, (str, PathLike)):
        return "array"
    path = Path(source)
    if path.is_dir():
        return "images"
    for name, kind in members("thalweg.streams").items():
        if path.suffix.lower() in kind.suffixes:
            return name
    if _is_pattern(path):
        return "images"
    known = [s for kind in members("thalweg.streams").values() for s in kind.suffixes]
    raise InputError(
        f"{path} must end in one of {', '.join(known)}, got {path.suffix!r}. Rename the file, or "
        "pass its format, such as format='csv'."
    )


def _is_pattern(path: Path) -> bool:
    return any(mark in str(path) for mark in "*?[") and not path.exists()
