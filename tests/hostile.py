"""Invalid and extreme data, drawn by Hypothesis: shapes, types, containers, gaps and sizes."""

import faulthandler
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from scipy import sparse

# Seconds after which an example counts as hung, on a machine that is busy with other things.
PATIENCE = 300


def within_time(job: Callable[[], Any]) -> Any:
    """Return what the job returns; end the process, with all stacks, if it does not."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        return job()
    finally:
        faulthandler.cancel_dump_traceback_later()


def _grid(n: int, F: int, rng: np.random.Generator) -> Any:
    return rng.random((n, 2)) @ rng.random((2, F))


# What the numbers are, before anything is spoiled.
BODIES: dict[str, Callable[[int, int, np.random.Generator], Any]] = {
    "low rank": _grid,
    "noise": lambda n, F, rng: rng.exponential(size=(n, F)),
    "zeros": lambda n, F, rng: np.zeros((n, F)),
    "ones": lambda n, F, rng: np.ones((n, F)),
    "duplicates": lambda n, F, rng: np.repeat(rng.random((1, F)), n, axis=0),
    "a constant column": lambda n, F, rng: np.c_[np.ones(n), _grid(n, F, rng)][:, :F],
    "an empty column": lambda n, F, rng: np.c_[np.zeros(n), _grid(n, F, rng)][:, :F],
    "counts": lambda n, F, rng: rng.poisson(0.3, (n, F)).astype(float),
    "one entry": lambda n, F, rng: np.eye(n, F),
}
# What is done to them: each takes the array and a place in it, and changes it.
SPOILS: dict[str, Callable[[Any, tuple[int, int]], None]] = {
    "a gap": lambda X, at: X.__setitem__(at, np.nan),
    "a row of gaps": lambda X, at: X.__setitem__(at[0], np.nan),
    "a column of gaps": lambda X, at: X.__setitem__((slice(None), at[1]), np.nan),
    "every other entry a gap": lambda X, at: X.ravel().__setitem__(slice(at[1], None, 2), np.nan),
    "gaps but for one entry": lambda X, at: X.__setitem__(
        np.arange(X.size).reshape(X.shape) != at[0] * X.shape[1] + at[1], np.nan
    ),
    "nothing but gaps": lambda X, at: X.__setitem__(..., np.nan),
    "inf": lambda X, at: X.__setitem__(at, np.inf),
    "-inf": lambda X, at: X.__setitem__(at, -np.inf),
    "a negative entry": lambda X, at: X.__setitem__(at, -1.0),
    "all negative": lambda X, at: X.__imul__(-1.0),
    "minus zero": lambda X, at: X.__setitem__(at, -0.0),
    "an empty row": lambda X, at: X.__setitem__(at[0], 0.0),
    **{
        f"{what} times 1e{power}": (
            lambda X, at, where=where, factor=float(f"1e{power}"): X.__setitem__(
                where(at), X[where(at)] * factor
            )
        )
        for power in (-300, -20, -8, 8, 20, 150, 300)
        for what, where in {
            "an entry": lambda at: at,
            "a row": lambda at: at[0],
            "a column": lambda at: (slice(None), at[1]),
        }.items()
    },
}
POWERS = (-320, -300, -160, -150, -100, -40, -20, -12, -6, 6, 12, 20, 40, 100, 150, 160, 300)
TYPES = ("f4", "f2", "i8", "u1", "?", "O", "c16", ">f8", ">f4")


def _read_only(X: Any) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


def _frame(X: Any) -> Any:
    return pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])


def _polars(X: Any) -> Any:
    return pl.DataFrame({f"c{i}": X[:, i].tolist() for i in range(X.shape[1])}, strict=False)


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "Fortran order": np.asfortranarray,
    "read-only": _read_only,
    "a view with steps": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "a view from behind": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "lists": lambda X: X.tolist(),
    "pandas": _frame,
    "polars": _polars,
    "masked": lambda X: np.ma.masked_invalid(X) if X.dtype.kind == "f" else X,
    **{
        kind.__name__: kind
        for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.bsr_array)
    },
    **{
        kind.__name__: kind
        for kind in (sparse.csr_matrix, sparse.lil_array, sparse.dok_array, sparse.dia_array)
    },
}


def _cast(X: Any, dtype: str) -> Any:
    """Return X in another type; whole numbers have neither gaps nor infinities."""
    kind = np.dtype(dtype).kind
    with np.errstate(all="ignore"):
        if kind in "iub":
            least = -200.0 if kind == "i" else 0.0
            X = np.clip(np.nan_to_num(X), least, 200.0)
        return X.astype(dtype)


@st.composite
def matrices(draw: Any, n_features: int | None = None) -> Any:
    """Draw a matrix, most often with one or two things that are wrong with it."""
    n = draw(st.sampled_from([12, 30, 2, 1, 0]), label="rows")
    F = draw(st.sampled_from([5, 2, 1]), label="features") if n_features is None else n_features
    body = draw(st.sampled_from(sorted(BODIES)), label="body")
    X = BODIES[body](n, F, np.random.default_rng(draw(st.integers(0, 3), label="seed")))
    power = draw(st.one_of(st.just(0), st.sampled_from(POWERS)), label="power of ten")
    spoils = draw(st.lists(st.sampled_from(sorted(SPOILS)), max_size=2), label="spoils")
    with np.errstate(all="ignore"):
        X *= float(f"1e{power}")
        for spoil in spoils if n else []:
            at = draw(st.tuples(st.integers(0, n - 1), st.integers(0, F - 1)), label="place")
            SPOILS[spoil](X, at)
    X = _cast(X, draw(st.one_of(st.just("f8"), st.sampled_from(TYPES)), label="type"))
    kind = draw(st.one_of(st.none(), st.sampled_from(sorted(CONTAINERS))), label="container")
    # SciPy holds neither objects nor half precision nor the other order of bytes
    if kind is None or (kind in sparse.__all__ and X.dtype.newbyteorder("=").char not in "fdlB?"):
        return X
    return CONTAINERS[kind](X.astype(X.dtype.newbyteorder("=")) if kind in sparse.__all__ else X)
