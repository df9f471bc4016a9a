"""Numbered batches from arrays, tables, images, video, sound and text, from any sample on.

:func:`open` is all that is needed: it tells a source by its suffix. A stream holds settings, no
open file and no sample; each call of ``batches`` reads for itself, and keeps no more than one
batch. ``NaN`` marks gaps. Libraries that only one kind of file needs are loaded when such a file
is opened.

A kind of source is one file of this room: a frozen dataclass whose first field is the source,
with a ``name`` and the ``suffixes`` of its files, that keeps the contract of :class:`Stream`.
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
        an array with one sample per row. A stream comes back as it is.
    format : str or None, default=None
        Name of the kind of source, if the suffix does not tell: 'array', 'arrow', 'csv', 'images',
        'parquet', 'text', 'video' or 'wav'.
    **options
        What the kind of source can be told, such as ``columns=`` of a table, ``size=`` of images
        or ``follow=True`` of a growing CSV file.

    Returns
    -------
    Stream
        With ``n_features``, ``n_samples`` and ``batches(size, start=0)``.

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
            f"format should be one of {', '.join(map(repr, kinds))}, but {format!r} came. "
            "Use one of these names."
        )
    known = [field.name for field in fields(kind)][1:]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ParameterError(
            f"Options of {kind.name!r} are {', '.join(known)}, but {unknown[0]!r} came. "
            "Use one of these names."
        )
    stream: Stream = kind(source, **options)
    return stream


def _format(source: Any) -> str:
    """Return the name of the kind of source that something is."""
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
        f"{path} should end in one of {', '.join(known)}, but it ends in {path.suffix!r}. Rename "
        "it, or name its kind with format=, such as format='csv'."
    )


def _is_pattern(path: Path) -> bool:
    return any(mark in str(path) for mark in "*?[") and not path.exists()
