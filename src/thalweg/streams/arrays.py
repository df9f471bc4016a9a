"""Read samples from arrays, and from files written by NumPy and SciPy."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar
from zipfile import BadZipFile, ZipFile

import numpy as np
from scipy import sparse

from thalweg.errors import InputError, ParameterError
from thalweg.streams._files import check_dtype, existing_file
from thalweg.streams._stream import Batch, Source, check_cut

__all__ = ["ArrayStream", "shapes"]

# Arrays in an .npz file of a CSR or CSC matrix; SciPy adds "format".
_SPARSE_KEYS = {"data", "indices", "indptr", "shape"}
# Bytes of an unpacked .npz file. Safety limit: a small file can declare huge arrays.
_MAX_UNPACKED_BYTES = 2**32


@dataclass(frozen=True, eq=False)
class ArrayStream(Source):
    """Read the rows of an array.

    An ``.npy`` file is memory-mapped: only the rows of a batch are read. An ``.npz`` file is
    unpacked into memory. Sparse data give sparse batches. Arrays with more than two axes are
    flattened to (n_samples, n_features), for example frames to rows of pixels.

    Parameters
    ----------
    source : array-like, sparse matrix or path
        One sample per row; masked entries and ``NaN`` are gaps.
    key : str or None, default=None
        Name of the array in an ``.npz`` file; optional if the file holds a single array.
    dtype : 'float32', 'float64' or None, default=None
        Type of the batches; None keeps float32 and float64, and converts others to float64.

    Attributes
    ----------
    n_features, n_samples : int
        Number of columns and rows.
    shape : tuple of int
        Shape of one sample.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.streams.arrays import ArrayStream
    >>> stream = ArrayStream(np.arange(12).reshape(6, 2))
    >>> next(stream.batches(2, start=3))
    Batch(start=3, X=array([[6., 7.], [8., 9.]]))
    """

    source: Any
    key: str | None = None
    dtype: str | None = None
    name: ClassVar[str] = "array"
    suffixes: ClassVar[tuple[str, ...]] = (".npy", ".npz")

    def __post_init__(self) -> None:
        if isinstance(self.source, (str, PathLike)):
            existing_file(self.source)
        if self.dtype is not None:
            check_dtype(self.dtype)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self._array.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return tuple(self._array.shape[1:])

    @property
    def prefetch(self) -> bool:
        """Whether the rows are read from a memory-mapped file."""
        return isinstance(self._array, np.memmap)

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` rows, the first at row ``start``."""
        check_cut(size, start)
        dtype = self._array.dtype if self.dtype is None else check_dtype(self.dtype)
        dtype = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)
        for begin in range(start, self.n_samples, size):
            rows = self._array[begin : begin + size]
            if not sparse.issparse(rows):
                rows = _filled(rows, dtype).reshape(rows.shape[0], -1)
            yield Batch(begin, rows.astype(dtype))

    @cached_property
    def _array(self) -> Any:
        array = self.source
        if isinstance(array, (str, PathLike)):
            array = self._load(existing_file(array))
        if sparse.issparse(array):
            return array.tocsr()
        array = np.asanyarray(array)
        if array.ndim < 2 or array.dtype.kind not in "fiub":
            raise InputError(
                f"An array must hold real numbers, one sample per row, got dtype {array.dtype} "
                f"and shape {array.shape}. Use NaN for missing entries."
            )
        return array

    def _load(self, path: Path) -> Any:
        try:
            with path.open("rb") as file:
                if file.read(2) != b"PK":  # an .npz file is a zip file and starts with PK
                    return np.load(path, mmap_mode="r", allow_pickle=False)
                _check_sizes(path)
                file.seek(0)
                with np.load(file, allow_pickle=False) as loaded:
                    return self._unpack(loaded, path)
        except (EOFError, OSError, BadZipFile) as error:
            raise _unreadable(path, error) from error
        except ValueError as error:
            if isinstance(error, (InputError, ParameterError)):
                raise
            raise _unreadable(path, error) from error

    def _unpack(self, loaded: Any, path: Path) -> Any:
        if self.key is None and set(loaded) >= _SPARSE_KEYS:
            layout = str(loaded["format"].astype(str)) if "format" in loaded else "csr"
            if layout not in ("csr", "csc"):
                raise InputError(
                    f"{path} must hold a CSR or CSC matrix, got the format {layout!r}. "
                    "Save it with scipy.sparse.save_npz(path, X.tocsr())."
                )
            parts = tuple(loaded[part] for part in ("data", "indices", "indptr"))
            kind = sparse.csr_array if layout == "csr" else sparse.csc_array
            return kind(parts, shape=tuple(loaded["shape"]))
        key = next(iter(loaded)) if self.key is None and len(loaded) == 1 else self.key
        if key not in loaded:
            raise ParameterError(
                f"key must be the name of an array in {path}, got {key!r}. "
                f"Choose among {', '.join(map(repr, loaded))}."
            )
        return loaded[key]


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays in an .npz file, without unpacking them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from thalweg.streams.arrays import shapes
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "two.npz")
    ...     np.savez(path, a=np.zeros(3), b=np.zeros((2, 5)))
    ...     shapes(path)
    {'a': (3,), 'b': (2, 5)}
    """
    try:
        return {name.removesuffix(".npy"): shape for name, shape, _ in _headers(path)}
    except (EOFError, OSError, BadZipFile, ValueError) as error:
        raise _unreadable(path, error) from error


def _headers(path: Path) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """Yield the name, shape and number of bytes that the header of each array declares."""
    with ZipFile(path) as file:
        for entry in file.infolist():
            with file.open(entry) as part:
                version = np.lib.format.read_magic(part)
                newer = version >= (2, 0)
                first, second = (
                    np.lib.format.read_array_header_1_0,
                    np.lib.format.read_array_header_2_0,
                )
                shape, _, dtype = (second if newer else first)(part)
            yield entry.filename, shape, max(prod(shape) * dtype.itemsize, entry.file_size)


def _check_sizes(path: Path) -> None:
    """Raise if the unpacked arrays of an .npz file exceed the limit."""
    total = sum(n_bytes for _, _, n_bytes in _headers(path))
    if total > _MAX_UNPACKED_BYTES:
        raise InputError(
            f"{path} must have at most {_MAX_UNPACKED_BYTES} bytes when unpacked, got {total}. "
            "Save large arrays as .npy: such a file is read row by row."
        )


def _filled(rows: Any, dtype: np.dtype[Any]) -> Any:
    """Return rows as a plain array, with NaN for masked entries."""
    if isinstance(rows, np.ma.MaskedArray):
        return np.ma.filled(rows.astype(dtype), np.nan)
    return np.asarray(rows)


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} must be an array of numbers written by numpy.save or numpy.savez, got an "
        f"unreadable file: {error}. Save it again, as an array without Python objects."
    )
