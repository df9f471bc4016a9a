r"""Read and write the file format: a preamble, a JSON header, and the bytes of the arrays.

::

    8 bytes   magic bytes b"thalweg\0"
    4 bytes   schema number; all numbers are little-endian
    4 bytes   length of the header
    32 bytes  SHA-256 of the 16 bytes above and of the header
    header    JSON: the manifest and the table of arrays
    arrays    their bytes, without padding

The table has the name, dtype, shape, axis order and SHA-256 of each array. Offsets are not stored:
they follow from the sizes, so arrays cannot overlap. The sizes must add up to the size of the file
before any memory is allocated.
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
_DIGEST_BYTES = 32  # SHA-256
_PREAMBLE_BYTES = len(_MARK) + _NUMBERS.size + _DIGEST_BYTES
# Safety limits for hostile files: far above those of any estimator.
_MAX_HEADER_BYTES = 2**24
_MAX_NESTING = 32  # nested brackets in the header
_MAX_AXES = 8
_MAX_SIZE = 2**62  # entries and bytes: keeps products of sizes within 64 bits
_READ_BYTES = 2**20  # read at a time; affects memory only
_TYPES = ("|b1", "|i1", "|u1", *(f"<{kind}{size}" for kind in "iuf" for size in (2, 4, 8)))


class Fault(Exception):  # noqa: N818 - internal: converted to a public error
    """A fault of a file: a phrase that follows the path in an error message."""


class Spec(NamedTuple):
    """An entry of the table of arrays; the array is contiguous with its axes in this order."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    digest: str

    @property
    def n_bytes(self) -> int:
        """Number of bytes in the file."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


class Header(NamedTuple):
    """Parsed header of a file."""

    content: dict[str, Any]
    specs: tuple[Spec, ...]


def pack(content: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file with this content and these arrays."""
    ordered = {name: _contiguous(array) for name, array in arrays.items()}
    table = [
        [name, flat.dtype.str, list(arrays[name].shape), axes, sha256(_raw(flat)).hexdigest()]
        for name, (flat, axes) in ordered.items()
    ]
    header = json.dumps({"content": content, "arrays": table}, allow_nan=False).encode("ascii")
    _check_header(header)
    begin = _MARK + _NUMBERS.pack(SCHEMA, len(header))
    yield begin + sha256(begin + header).digest() + header
    for flat, _ in ordered.values():
        yield _raw(flat)


def read_header(file: BinaryIO, size: int) -> Header:
    """Read the header of a file of ``size`` bytes; leaves the file at the first array."""
    begin = file.read(_PREAMBLE_BYTES)
    if begin[: len(_MARK)] != _MARK:
        raise Fault("is not a checkpoint")
    if len(begin) < _PREAMBLE_BYTES:
        raise Fault(f"is truncated after {len(begin)} bytes, within the preamble")
    schema, length = _NUMBERS.unpack_from(begin, len(_MARK))
    if schema > SCHEMA:
        raise Fault(f"has schema {schema} and needs a later version of the library")
    if length > _MAX_HEADER_BYTES:
        raise Fault(_too_long(length))
    if length > size - _PREAMBLE_BYTES:
        raise Fault(
            f"must have a header of {length} bytes, got {size - _PREAMBLE_BYTES} after the preamble"
        )
    header = file.read(length)
    if sha256(begin[:-_DIGEST_BYTES] + header).digest() != begin[-_DIGEST_BYTES:]:
        raise Fault("is damaged: the digest of the header does not match")
    content, specs = _parsed(header)
    expected = _PREAMBLE_BYTES + length + sum(spec.n_bytes for spec in specs)
    if expected != size:
        raise Fault(f"must have {expected} bytes by its header, got {size}")
    return Header(content, specs)


def read_arrays(file: BinaryIO, specs: tuple[Spec, ...]) -> dict[str, NDArray[Any]]:
    """Read the arrays of a file that :func:`read_header` has checked."""
    arrays = {}
    for spec in specs:
        flat = np.empty([spec.shape[axis] for axis in spec.axes], np.dtype(spec.dtype))
        got = file.readinto(_raw(flat))  # type: ignore[attr-defined]
        if got != spec.n_bytes or sha256(_raw(flat)).hexdigest() != spec.digest:
            raise Fault(_damaged(spec))
        arrays[spec.name] = flat.transpose(np.argsort(spec.axes)) if spec.axes else flat
    return arrays


def check_arrays(file: BinaryIO, specs: tuple[Spec, ...]) -> None:
    """Verify the digests of the arrays, one block at a time."""
    for spec in specs:
        digest, remaining = sha256(), spec.n_bytes
        while remaining and (block := file.read(min(remaining, _READ_BYTES))):
            digest.update(block)
            remaining -= len(block)
        if remaining or digest.hexdigest() != spec.digest:
            raise Fault(_damaged(spec))


def _damaged(spec: Spec) -> str:
    return f"is damaged: the digest of the array {spec.name!r} does not match"


def _too_long(length: int) -> str:
    return f"has a header of {length} bytes, more than the limit of {_MAX_HEADER_BYTES}"


def _contiguous(array: NDArray[Any]) -> tuple[NDArray[Any], list[int]]:
    """Return an array with axes in memory order, little-endian, and the order of the axes.

    The order is kept because the rounding of sums depends on it.
    """
    axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    ordered = array.transpose(axes)
    kind = array.dtype.newbyteorder("<")
    return np.ascontiguousarray(ordered, kind).reshape(ordered.shape), axes


def _raw(flat: NDArray[Any]) -> memoryview:
    return flat.reshape(-1).view(np.uint8).data


def _parsed(header: bytes) -> tuple[dict[str, Any], tuple[Spec, ...]]:
    _check_header(header)
    try:
        parsed = json.loads(header.decode("ascii"), parse_constant=_reject_constant)
        content, table = parsed["content"], parsed["arrays"]
        specs = tuple(_spec(*row) for row in table)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Fault("has an invalid header") from error
    if not isinstance(content, dict) or len({spec.name for spec in specs}) < len(specs):
        raise Fault("has an invalid header")
    return content, specs


def _check_header(header: bytes) -> None:
    """Raise if a header is too long or too deeply nested to be parsed safely."""
    if len(header) > _MAX_HEADER_BYTES:
        raise Fault(_too_long(len(header)))
    outside = b"".join(header.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    characters = np.frombuffer(outside, np.uint8)
    steps = np.isin(characters, list(b"[{")).astype(np.int32) - np.isin(characters, list(b"]}"))
    if np.cumsum(steps).max(initial=0) > _MAX_NESTING:
        raise Fault(f"has a header with more than {_MAX_NESTING} nested brackets")


def _spec(name: Any, dtype: Any, shape: Any, axes: Any, digest: Any) -> Spec:
    """Return a row of the table; raise ValueError if it is invalid."""
    sizes = all(type(n) is int and 0 <= n < _MAX_SIZE for n in (*shape, *axes))
    if not (isinstance(name, str) and dtype in _TYPES and isinstance(digest, str) and sizes):
        raise ValueError
    spec = Spec(name, dtype, tuple(shape), tuple(axes), digest)
    n_bytes = prod(max(n, 1) for n in shape) * np.dtype(dtype).itemsize
    permutation = sorted(axes) == list(range(len(shape)))
    if len(shape) > _MAX_AXES or not permutation or n_bytes >= _MAX_SIZE:
        raise ValueError
    return spec


def _reject_constant(constant: str) -> Any:
    raise ValueError(constant)
