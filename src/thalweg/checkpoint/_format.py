r"""The file of a checkpoint: a preamble, a header in JSON, and the bytes of the arrays.

::

    8 bytes   the mark b"thalweg\0"
    4 bytes   the number of the schema, little-endian like all that follows
    4 bytes   the length of the header
    32 bytes  SHA-256 of the 16 bytes above and of the header
    header    JSON: what the manifest says, and the table of the arrays
    arrays    their bytes, one after the other, without anything in between

The table has the name, type, shape, order of axes and SHA-256 of each array. Where an array begins
is not written down: it follows from the sizes of those before it, so nothing can overlap, and all
sizes together have to be the size of the file, before any array is given room.
"""

import json
import struct
from collections.abc import Iterator
from hashlib import sha256
from math import prod
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SCHEMA",
    "Fault",
    "Header",
    "Spec",
    "check_arrays",
    "pack",
    "read_arrays",
    "read_header",
]

SCHEMA = 1
_MARK = b"thalweg\0"
_NUMBERS = struct.Struct("<II")
_DIGEST = 32
_BEGIN = len(_MARK) + _NUMBERS.size + _DIGEST
_LONGEST = 2**24  # bytes of a header
_DEEPEST = 32  # brackets within brackets
_AXES = 8
_BLOCK = 2**20
_TYPES = ("|b1", "|i1", "|u1", *(f"<{kind}{size}" for kind in "iuf" for size in (2, 4, 8)))


class Fault(Exception):  # noqa: N818 - the reader of a path makes an error of it
    """What is wrong with a file, as the end of a sentence that begins with its name."""


class Spec(NamedTuple):
    """An array of the table; with its axes in this order it is contiguous."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    digest: str

    @property
    def n_bytes(self) -> int:
        """Bytes in the file."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


class Header(NamedTuple):
    """What a file says about itself."""

    content: dict[str, Any]
    specs: tuple[Spec, ...]


def pack(content: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file with this content and these arrays."""
    laid = {name: _lay(array) for name, array in arrays.items()}
    table = [
        [name, flat.dtype.str, list(arrays[name].shape), axes, sha256(_raw(flat)).hexdigest()]
        for name, (flat, axes) in laid.items()
    ]
    header = json.dumps({"content": content, "arrays": table}, allow_nan=False).encode("ascii")
    _check_extent(header)
    begin = _MARK + _NUMBERS.pack(SCHEMA, len(header))
    yield begin + sha256(begin + header).digest() + header
    for flat, _ in laid.values():
        yield _raw(flat)


def read_header(file: BinaryIO, size: int) -> Header:
    """Return the header of a file of so many bytes, and leave the file where the arrays begin."""
    begin = file.read(_BEGIN)
    if begin[: len(_MARK)] != _MARK:
        raise Fault("is not a checkpoint")
    if len(begin) < _BEGIN:
        raise Fault(f"ends after {len(begin)} bytes, in the middle of its preamble")
    schema, length = _NUMBERS.unpack_from(begin, len(_MARK))
    if schema > SCHEMA:
        raise Fault(f"is of schema {schema}, and this version of the library reads up to {SCHEMA}")
    if length > min(_LONGEST, size - _BEGIN):
        raise Fault(f"should have a header of {length} bytes, but has {size - _BEGIN} in all")
    header = file.read(length)
    if sha256(begin[:-_DIGEST] + header).digest() != begin[-_DIGEST:]:
        raise Fault("is damaged: its header has not the digest that was written")
    content, specs = _parsed(header)
    wanted = _BEGIN + length + sum(spec.n_bytes for spec in specs)
    if wanted != size:
        raise Fault(f"should have {wanted} bytes by its header, but has {size}")
    return Header(content, specs)


def read_arrays(file: BinaryIO, specs: tuple[Spec, ...]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file whose header was read and fits its size."""
    arrays = {}
    for spec in specs:
        flat = np.empty([spec.shape[axis] for axis in spec.axes], np.dtype(spec.dtype))
        got = file.readinto(_raw(flat))  # type: ignore[attr-defined]
        if got != spec.n_bytes or sha256(_raw(flat)).hexdigest() != spec.digest:
            raise Fault(f"is damaged: its array {spec.name!r} has not the digest that was written")
        arrays[spec.name] = flat.transpose(np.argsort(spec.axes)) if spec.axes else flat
    return arrays


def check_arrays(file: BinaryIO, specs: tuple[Spec, ...]) -> None:
    """Compare the digests of the arrays, a block at a time."""
    for spec in specs:
        digest, missing = sha256(), spec.n_bytes
        while missing and (block := file.read(min(missing, _BLOCK))):
            digest.update(block)
            missing -= len(block)
        if missing or digest.hexdigest() != spec.digest:
            raise Fault(f"is damaged: its array {spec.name!r} has not the digest that was written")


def _lay(array: NDArray[Any]) -> tuple[NDArray[Any], list[int]]:
    """Return an array with its axes in the order of memory, little-endian, and that order.

    The order is kept since sums depend on it in their last bits.
    """
    axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    kind = array.dtype.newbyteorder("<")
    return np.ascontiguousarray(array.transpose(axes), kind).reshape(
        [array.shape[axis] for axis in axes]
    ), axes


def _raw(flat: NDArray[Any]) -> memoryview:
    return flat.reshape(-1).view(np.uint8).data


def _parsed(header: bytes) -> tuple[dict[str, Any], tuple[Spec, ...]]:
    _check_extent(header)
    try:
        found = json.loads(header, parse_constant=_refuse)
        content, table = found["content"], found["arrays"]
        specs = tuple(_spec(*row) for row in table)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Fault("has a header that is not one of a checkpoint") from error
    if not isinstance(content, dict) or len({spec.name for spec in specs}) < len(specs):
        raise Fault("has a header that is not one of a checkpoint")
    return content, specs


def _check_extent(header: bytes) -> None:
    """Raise if a header is too long or too deep to be parsed safely."""
    if len(header) > _LONGEST:
        raise Fault(f"has a header of {len(header)} bytes, of which {_LONGEST} are the most")
    outside = b"".join(header.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    signs = np.frombuffer(outside, np.uint8)
    steps = np.isin(signs, list(b"[{")).astype(np.int32) - np.isin(signs, list(b"]}"))
    if np.cumsum(steps).max(initial=0) > _DEEPEST:
        raise Fault(f"has a header with more than {_DEEPEST} brackets within one another")


def _spec(name: Any, dtype: Any, shape: Any, axes: Any, digest: Any) -> Spec:
    """Return a row of the table; what is not one is a ValueError."""
    whole = all(type(n) is int and 0 <= n < 2**62 for n in (*shape, *axes))
    if not (isinstance(name, str) and dtype in _TYPES and isinstance(digest, str) and whole):
        raise ValueError
    spec = Spec(name, dtype, tuple(shape), tuple(axes), digest)
    widest = prod(max(n, 1) for n in shape) * np.dtype(dtype).itemsize
    if len(shape) > _AXES or sorted(axes) != list(range(len(shape))) or widest >= 2**62:
        raise ValueError
    return spec


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
