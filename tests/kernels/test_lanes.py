"""Vectors as values of compiled code, against NumPy on the same numbers."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from thalweg._kernels.lanes import BYTES, above, fill, larger, load, store, total

Array = Any
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@njit
def arithmetic(a: Any, b: Any, start: Any, out: Any) -> Any:
    """Write what every operation gives, one vector after the other."""
    x, y = load(a, start), load(b, start)
    step = BYTES // a.itemsize
    store(out, 0, x + y)
    store(out, step, 2.0 - x)
    store(out, 2 * step, x * y)
    store(out, 3 * step, 1.0 / y)
    store(out, 4 * step, larger(x, y))
    store(out, 5 * step, larger(x, 0.5))
    store(out, 6 * step, above(x, y))
    store(out, 7 * step, above(0.5, x))
    z = fill(3.0, a)
    z += x
    z -= y
    z *= 2.0
    z /= x
    store(out, 8 * step, z)
    return total(x)


@DTYPES
@pytest.mark.parametrize("start", [0, 1, 5])
def test_every_operation_does_in_all_lanes_what_numpy_does(dtype: Any, start: int) -> None:
    lanes = BYTES // np.dtype(dtype).itemsize
    a, b = np.random.default_rng(0).uniform(0.2, 1.0, size=(2, lanes + 5)).astype(dtype)
    out = np.full(9 * lanes + 1, 7.0, dtype)
    summed = arithmetic(a, b, start, out)
    x, y = a[start : start + lanes], b[start : start + lanes]
    expected = [
        *(x + y, 2 - x, x * y, 1 / y, np.maximum(x, y), np.maximum(x, dtype(0.5))),
        *(x > y, x < 0.5, (3 + x - y) * 2 / x),
    ]
    close = 4 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(out[:-1].reshape(9, lanes), expected, rtol=close)
    assert out[-1] == 7.0  # nothing is written beyond
    assert summed == pytest.approx(x.sum(dtype=float), rel=lanes * close)


def test_an_array_with_strides_is_refused() -> None:
    a = np.zeros((64, 2))
    with pytest.raises(TypingError, match="contiguous"):
        arithmetic(a[:, 0], a[:, 1], 0, np.zeros(500))
