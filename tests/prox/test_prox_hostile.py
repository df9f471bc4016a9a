"""A prox is finite, feasible and nonexpansive for all numbers, without warnings."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from hostile import within_time
from profiles import budget
from thalweg._rooms import members
from thalweg._typing import Array

ALL = [cls() for cls in members("thalweg.prox").values()]
LIMIT = {np.float32: 1e15, np.float64: 1e120}  # largest data that estimators accept


@st.composite
def columns(draw: Any, count: int = 1, ndim: int = 2) -> list[Array]:
    """Draw arrays of one shape: entries of all magnitudes, zeros, ties, any memory order."""
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=ndim, min_side=0, max_side=6))
    limit = float(np.dtype(dtype).type(LIMIT[dtype]))
    width = 8 * np.dtype(dtype).itemsize
    entries = st.floats(-limit, limit, width=width) | st.sampled_from([0.0, 1.0, -1.0, limit])
    return [_view(draw, draw(hnp.arrays(dtype, shape, elements=entries))) for _ in range(count)]


def _view(draw: Any, x: Array) -> Array:
    x = np.asfortranarray(x) if draw(st.booleans()) else x
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("g", ALL, ids=lambda g: g.name)
@given(arrays=columns(), step=st.floats(1e-12, 1e12))
@budget(50)
def test_finite_and_feasible(g: Any, arrays: list[Array], step: float) -> None:
    (x,) = arrays
    p = within_time(lambda: g.prox(x, step))
    assert p.shape == x.shape
    assert p.dtype == x.dtype
    assert np.isfinite(p).all()
    assert x.shape[0] == 0 or np.isfinite(g.value(p)).all()
    assert not np.isnan(g.value(x)).any()
    assert not np.isnan(g.conjugate(x)).any()


@pytest.mark.parametrize("g", [g for g in ALL if g.convex], ids=lambda g: g.name)
@given(arrays=columns(count=2, ndim=1), step=st.floats(1e-6, 1e6))
@budget(30)
def test_nonexpansive(g: Any, arrays: list[Array], step: float) -> None:
    """|prox(x) - prox(z)| <= |x - z|, up to the rounding of the larger one."""
    x, z = arrays
    scale = max(np.abs(x).max(initial=1.0), np.abs(z).max(initial=1.0))
    move = np.linalg.norm((g.prox(x, step).astype(float) - g.prox(z, step)) / scale)
    apart = np.linalg.norm((x.astype(float) - z) / scale)
    assert move <= apart + 16 * np.finfo(x.dtype).eps * np.sqrt(max(len(x), 1))


@pytest.mark.parametrize("g", ALL, ids=lambda g: g.name)
@given(wrong=st.sampled_from([np.nan, np.inf, -np.inf]), seed=st.integers(0, 3))
@budget(8)
def test_nan_and_inf_in_a_column_do_not_change_the_others(g: Any, wrong: float, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(5, 4))
    x[seed, 2] = wrong
    good = [0, 1, 3]
    with np.errstate(all="ignore"):  # callers check the data
        p = within_time(lambda: g.prox(x, 0.5))
        values = g.value(p), g.conjugate(x)
    np.testing.assert_array_equal(p[:, good], g.prox(x[:, good], 0.5))
    np.testing.assert_allclose(values[0][good], g.value(p[:, good]), rtol=1e-14)
    np.testing.assert_allclose(values[1][good], g.conjugate(x[:, good]), rtol=1e-14)
