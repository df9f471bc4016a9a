"""Sparse baselines of [A] at a given share of nonzeros: KP, PP and Hoyer as 5.1.1 sets them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thalweg import baselines
from thalweg.metrics import sparsity

__all__ = ["SPARSE", "matched", "nonzeros"]

HALVINGS = 6  # leave 1/64 of an interval of parameters
NEAR = 0.01  # of a share: near enough
ZERO = 1e-9  # of the largest entry


class Knob(NamedTuple):
    """A baseline by its parameter, and the ends between which its components get sparser."""

    make: Callable[..., Any]
    low: float
    high: float


def _kim_park(k: int, x: float, n_samples: int, **more: Any) -> Any:
    return baselines.KimParkNMF(k, penalty=n_samples * 10.0**x, **more)


def _peharz_pernkopf(k: int, x: float, n_samples: int, **more: Any) -> Any:
    return baselines.PeharzPernkopfNMF(k, sparsity=1.0 - x, **more)


def _hoyer(k: int, x: float, n_samples: int, **more: Any) -> Any:
    return baselines.HoyerNMF(k, sparseness=x, **more)


KNOBS = {
    "PP": Knob(_peharz_pernkopf, 0.0, 0.95),
    "KP": Knob(_kim_park, -6.0, 1.0),
    "Hoyer": Knob(_hoyer, 0.05, 0.95),
}
SPARSE = tuple(KNOBS)


def matched(name: str, k: int, X: Any, share: float, seed: int, **more: Any) -> Any:
    """Return components with the share of nonzeros nearest to a target, on the data's scale.

    The parameter is found by halving its interval. PP, whose parameter is a limit of nonzeros,
    may stay below it, and is then allowed more.
    """
    make, low, high = KNOBS[name]
    if name == "PP":
        high = 1.0 - share
    best, least = None, np.inf
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        H = _scaled(make(k, middle, len(X), random_state=seed, **more), X)
        found = nonzeros(H)
        if abs(found - share) < least:
            best, least = H, abs(found - share)
        if least < NEAR:
            break
        low, high = (middle, high) if found > share else (low, middle)
    return best


def nonzeros(H: Any) -> float:
    """Return the share of entries that are not zero but for rounding."""
    return sparsity(np.where(ZERO * H.max() < H, H, 0.0))


def _scaled(model: Any, X: Any) -> Any:
    """Return components times the mean of their codes' sums, so that codes sum to 1."""
    total = float(model.fit(X).transform(X).sum(axis=1).mean())
    return max(total, 1e-12) * model.components_
