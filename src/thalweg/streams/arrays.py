"""Samples from arrays in memory, and from the files that NumPy and SciPy write."""

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
from thalweg.streams._files import check_dtype, existing
from thalweg.streams._stream import Batch, Source, check_cut

__all__ = ["ArrayStream", "shapes"]

# What an .npz file of a compressed sparse matrix holds; SciPy adds the format.
_SPARSE = {"data", "indices", "indptr", "shape"}
# Bytes that an .npz file may have when it is unpacked: few bytes can announce very many.
_MOST_BYTES = 2**32


@dataclass(frozen=True, eq=False)
class ArrayStream(Source):
    """The rows of an array.

    An ``.npy`` file is mapped, so that only the rows of a batch are read; an ``.npz`` file is
    unpacked into memory. Sparse data give sparse batches. The axes of an array with more than two
    are run together behind the first: frames become rows of pixels.

    Parameters
    ----------
    source : array-like, sparse matrix or path
        One sample per row; masked entries and ``NaN`` are gaps.
    key : str or None, default=None
        Which array of an ``.npz`` file; not needed if there is one only.
    dtype : 'float32', 'float64' or None, default=None
        Type of the batches; None keeps these two, and makes float64 of others.

    Attributes
    ----------
    n_features, n_samples : int
        Columns and rows.
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
            existing(self.source)
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
    def read_ahead(self) -> bool:
        """Whether rows come from a file that is mapped."""
        return isinstance(self._array, np.memmap)

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield ``size`` rows at a time, from row ``start`` on."""
        check_cut(size, start)
        dtype = self._array.dtype if self.dtype is None else check_dtype(self.dtype)
        dtype = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)
        for begin in range(start, self.n_samples, size):
            rows = self._array[begin : begin + size]
            if not sparse.issparse(rows):
                rows = _plain(rows, dtype).reshape(rows.shape[0], -1)
            yield Batch(begin, rows.astype(dtype))

    @cached_property
    def _array(self) -> Any:
        found = self.source
        if isinstance(found, (str, PathLike)):
            found = self._load(existing(found))
        if sparse.issparse(found):
            return found.tocsr()
        found = np.asanyarray(found)
        if found.ndim < 2 or found.dtype.kind not in "fiub":
            raise InputError(
                f"An array should hold real numbers, one sample per row, but one of type "
                f"{found.dtype} and shape {found.shape} came. Give numbers in rows, with NaN "
                "where one is missing."
            )
        return found

    def _load(self, path: Path) -> Any:
        try:
            with path.open("rb") as file:
                if file.read(2) != b"PK":  # no .npz, which is a zip file
                    return np.load(path, mmap_mode="r", allow_pickle=False)
                _check_sizes(path)
                file.seek(0)
                with np.load(file, allow_pickle=False) as loaded:
                    return self._unpack(loaded, path)
        except (EOFError, OSError, BadZipFile) as error:
            raise _broken(path, error) from error
        except ValueError as error:
            if isinstance(error, (InputError, ParameterError)):
                raise
            raise _broken(path, error) from error

    def _unpack(self, loaded: Any, path: Path) -> Any:
        if self.key is None and set(loaded) >= _SPARSE:
            layout = str(loaded["format"].astype(str)) if "format" in loaded else "csr"
            if layout not in ("csr", "csc"):
                raise InputError(
                    f"{path} should hold a CSR or CSC matrix, but the format is {layout!r}. "
                    "Save it with scipy.sparse.save_npz(path, X.tocsr())."
                )
            parts = tuple(loaded[part] for part in ("data", "indices", "indptr"))
            kind = sparse.csr_array if layout == "csr" else sparse.csc_array
            return kind(parts, shape=tuple(loaded["shape"]))
        key = next(iter(loaded)) if self.key is None and len(loaded) == 1 else self.key
        if key not in loaded:
            raise ParameterError(
                f"key should name an array of {path}, but {key!r} came. "
                f"Choose among {', '.join(map(repr, loaded))}."
            )
        return loaded[key]


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays in an .npz file, none of which is unpacked.

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
        return {name.removesuffix(".npy"): shape for name, shape, _ in _announced(path)}
    except (EOFError, OSError, BadZipFile, ValueError) as error:
        raise _broken(path, error) from error


def _announced(path: Path) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """Yield name, shape and bytes of each array as the headers have them."""
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
    """Raise if the arrays of an .npz file would not fit into memory."""
    total = sum(n_bytes for _, _, n_bytes in _announced(path))
    if total > _MOST_BYTES:
        raise InputError(
            f"{path} should have at most {_MOST_BYTES} bytes when it is unpacked, but it has "
            f"{total}. Save large arrays as .npy, of which only the rows that are needed are read."
        )


def _plain(rows: Any, dtype: np.dtype[Any]) -> Any:
    """Return rows as a plain array, with NaN where they are masked."""
    if isinstance(rows, np.ma.MaskedArray):
        return np.ma.filled(rows.astype(dtype), np.nan)
    return np.asarray(rows)


def _broken(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} should be an array of numbers as numpy.save or numpy.savez write it, but it "
        f"cannot be read: {error}. Write it again, without objects in it."
    )
