"""Convert random generators to numbers and arrays, and back."""

from typing import Any

import numpy as np

from thalweg.checkpoint._format import Fault

__all__ = ["generator", "state_of"]

_BITS = {
    bits.__name__: bits
    for bits in (
        np.random.MT19937,
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
    )
}
_LEGACY = "RandomState"
# Largest valid buffer indices: NumPy does not check them and would read out of bounds.
_INDEX_LIMITS = {"pos": 624, "buffer_pos": 4}


def state_of(value: Any) -> dict[str, Any] | None:
    """Return the state of a Generator or RandomState; None for other values."""
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=False)
        return {"made": _LEGACY, "state": dict(state)}
    if isinstance(value, np.random.Generator) and type(value.bit_generator).__name__ in _BITS:
        return {"made": "Generator", "state": dict(value.bit_generator.state)}
    return None


def generator(made: Any, state: Any) -> np.random.Generator | np.random.RandomState:
    """Return a generator in this state."""
    try:
        bits = _BITS[state["bit_generator"]]()
        _check_indices(state)
        if made == _LEGACY:
            legacy = np.random.RandomState(bits)
            legacy.set_state(state)
            return legacy
        bits.state = state
        return np.random.Generator(bits)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise Fault("has an invalid random state") from error


def _check_indices(state: dict[str, Any]) -> None:
    for name, last in _INDEX_LIMITS.items():
        for part in (state, state["state"]):
            if name in part and not (type(part[name]) is int and 0 <= part[name] <= last):
                raise ValueError(name)
