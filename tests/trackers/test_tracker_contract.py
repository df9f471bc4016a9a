"""The contract of a tracker, for all trackers of the room."""

from dataclasses import FrozenInstanceError, fields, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from thalweg._rooms import members
from thalweg.encoders import Encoder
from thalweg.metrics import sep
from thalweg.trackers import Track, Tracker

Array = Any
ROOM = members("thalweg.trackers")
# Parameters to test; all other trackers are tested with their defaults.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "grouse": [{}, {"step_size": "constant", "rate": 0.3}, {"step_size": "diminishing"}],
    "grasta": [{}, {"step_size": "constant", "rate": 0.05}, {"step_size": "diminishing"}],
    "norst": [{"window": 25}, {"window": 25, "trusted": True}],
    "orpca": [{}, {"forgetting": 0.95, "sweeps": 2}],
    "petrels": [{}, {"forgetting": 1.0, "step_size": "adaptive"}],
    "petrels-admm": [{}, {"solver": "admm"}, {"noise_scale": 0.1, "step_size": "adaptive"}],
    "reprocs": [{"window": 25}, {"window": 25, "trusted": True}],
}
VARIANTS = [(cls, options) for name, cls in ROOM.items() for options in OPTIONS.get(name, [{}])]
TRACKERS = [cls(**options) for cls, options in VARIANTS]
EACH = pytest.mark.parametrize("tracker", TRACKERS, ids=repr)
# A given noise scale has the units of the data.
WITHOUT_UNITS = [made for made in TRACKERS if getattr(made, "noise_scale", "auto") == "auto"]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def stream(dtype: Any = float, F: int = 20, K: int = 3, B: int = 80, seed: int = 0) -> Any:
    """Return a basis near the truth, samples with outliers, and masks of none to all entries."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(F, K))
    V = U @ rng.normal(size=(K, B)) + 0.1 * rng.normal(size=(F, B))
    V += (rng.random(V.shape) < 0.1) * 10.0
    observed = rng.random(V.shape) < 0.8
    observed[:, 5], observed[K:, 6], observed[: F - K - 1, 40], observed[:, 20:30] = (
        False,
        False,
        False,
        True,
    )
    return (
        np.linalg.qr(U + 0.3 * rng.normal(size=U.shape))[0].astype(dtype),
        V.astype(dtype),
        observed,
    )


def arrays(state: Any) -> list[Array]:
    """Return the arrays and numbers of a state and of the tuples in it."""
    parts = (part if isinstance(part, tuple) else (part,) for part in state)
    return [np.asarray(leaf) for part in parts for leaf in part]


def same(one: Any, other: Any) -> bool:
    pairs = zip(arrays(one), arrays(other), strict=True)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def finite(state: Any) -> bool:
    """Return whether a state has a finite basis, and NaN only at gaps of a window."""
    window = getattr(state, "window", None)
    rest = [array for array in arrays(state) if window is None or array is not window.V]
    return bool(np.isfinite(state.U).all()) and not any(np.isnan(array).any() for array in rest)


def test_the_room_is_discovered() -> None:
    assert len(ROOM) >= 8
    assert set(OPTIONS) <= set(ROOM)


@pytest.mark.parametrize("name", ROOM)
def test_a_tracker_is_a_frozen_dataclass_that_needs_no_parameter(name: str) -> None:
    tracker = ROOM[name]()
    assert isinstance(tracker, Tracker)
    assert tracker.name == name
    assert is_dataclass(tracker)
    assert tracker == ROOM[name]()
    assert hash(tracker) == hash(ROOM[name]())
    with pytest.raises(FrozenInstanceError):
        setattr(tracker, fields(tracker)[0].name, None)


@EACH
def test_shapes(tracker: Any) -> None:
    U, V, observed = stream()
    state, track = tracker.step(tracker.init(U), V, observed)
    assert isinstance(state, tuple)
    assert hasattr(state, "U")
    assert all(part.dtype.kind in "fib" for part in arrays(state))
    assert state.U.shape == U.shape
    assert isinstance(track, Track)
    assert track.H.shape == (3, 80)
    assert track.R.shape == V.shape
    assert track.error.shape == (80,)
    assert not track.R[~observed].any()
    assert finite(state)
    assert np.isfinite(track.H).all()
    assert np.isfinite(track.R).all()
    assert np.array_equal(np.isnan(track.error), observed.sum(axis=0) <= 3)
    empty, nothing = tracker.step(state, V[:, :0], observed[:, :0])
    assert same(empty, state)
    assert nothing.H.shape == (3, 0)


@EACH
def test_first_state_has_the_given_basis(tracker: Any) -> None:
    U, _, _ = stream()
    assert np.array_equal(tracker.init(U).U, U)


@EACH
@DTYPES
def test_a_block_is_its_columns_one_by_one(tracker: Any, dtype: Any) -> None:
    U, V, observed = stream(dtype)
    state, track = tracker.step(tracker.init(U), V, observed)
    for cuts in (range(81), [0, 1, 33, 34, 80]):
        lone, tracks = tracker.init(U), []
        for start, stop in pairwise(cuts):
            lone, one = tracker.step(lone, V[:, start:stop], observed[:, start:stop])
            tracks.append(one)
        assert same(state, lone)
        for whole, pieces in zip(track, zip(*tracks, strict=True), strict=True):
            assert np.array_equal(whole, np.concatenate(pieces, axis=-1), equal_nan=True)


@EACH
@DTYPES
def test_precision_stays(tracker: Any, dtype: Any) -> None:
    U, V, observed = stream(dtype)
    state, track = tracker.step(tracker.init(U), V, observed)
    assert {state.U.dtype, track.H.dtype, track.R.dtype} == {np.dtype(dtype)}
    codes = tracker.encoder(state).encode(V, state.U, observed=observed)
    assert {codes.H.dtype, codes.R.dtype, codes.loss.dtype} == {np.dtype(dtype)}
    state, track = tracker.step(state, V.astype(float), observed)
    assert {state.U.dtype, track.H.dtype, track.R.dtype} == {np.dtype(dtype)}


@EACH
def test_arguments_are_not_changed(tracker: Any) -> None:
    U, V, observed = stream()
    first = tracker.init(U)
    state, _ = tracker.step(first, V, observed)
    before = [array.copy() for array in [*arrays(first), *arrays(state), U, V, observed]]
    tracker.step(first, V, observed)
    tracker.step(state, V, observed)
    tracker.encoder(state).encode(V, state.U, observed=observed)
    after = [*arrays(first), *arrays(state), U, V, observed]
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, after, strict=True))


@EACH
def test_values_at_gaps_have_no_effect(tracker: Any) -> None:
    U, V, observed = stream()
    one = tracker.step(tracker.init(U), V, observed)
    other = tracker.step(tracker.init(U), np.where(observed, V, -1e9), observed)
    assert same(one[0], other[0])
    assert same(one[1], other[1])
    full = tracker.step(tracker.init(U), V)
    assert same(full[0], tracker.step(tracker.init(U), V, np.ones(V.shape, bool))[0])


@EACH
def test_samples_without_any_entry_leave_the_state_alone(tracker: Any) -> None:
    U, V, observed = stream()
    learned, _ = tracker.step(tracker.init(U), V, observed)
    for state in (tracker.init(U), learned):
        after, track = tracker.step(state, V[:, :2], np.zeros((20, 2), bool))
        assert same(after, state)
        assert not track.H.any()
        assert not track.R.any()
        assert np.isnan(track.error).all()


@EACH
@DTYPES
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_hardly_more_entries_than_codes(tracker: Any, dtype: Any, count: int) -> None:
    U, V, _ = stream(dtype)
    observed = np.zeros(V.shape, bool)
    observed[:count] = True
    state, track = tracker.step(tracker.init(U), V, observed)
    assert finite(state)
    assert np.isfinite(track.H).all()
    assert np.isnan(track.error).all() == (count <= 3)
    codes = tracker.encoder(state).encode(V, state.U, observed=observed)
    assert np.isfinite(codes.H).all()
    if tracker.name != "orpca" and count <= 3:  # whose ridge is no small one
        expected = np.linalg.pinv(U[:count].astype(float)) @ V[:count, 0]
        np.testing.assert_allclose(track.H[:, 0], expected, rtol=0.02, atol=0.02)


@EACH
def test_codes_of_a_sample_do_not_depend_on_others(tracker: Any) -> None:
    U, V, observed = stream()
    state, _ = tracker.step(tracker.init(U), V, observed)
    encoder = tracker.encoder(state)
    assert isinstance(encoder, Encoder)
    whole = encoder.encode(V, state.U, observed=observed)
    if getattr(tracker, "solver", "") != "admm":  # the paper's cap is low for gross outliers
        assert whole.solved.all()
    for b in range(0, 80, 7):
        lone = encoder.encode(V[:, [b]], state.U, observed=observed[:, [b]])
        # Products of one column and of many are rounded differently by BLAS.
        np.testing.assert_allclose(lone.H[:, 0], whole.H[:, b], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(lone.R[:, 0], whole.R[:, b], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(lone.loss[0], whole.loss[b], rtol=1e-12)


@EACH
def test_outliers_at_gaps_are_the_difference_to_the_data(tracker: Any) -> None:
    U, V, observed = stream()
    state, _ = tracker.step(tracker.init(U), V, observed)
    codes = tracker.encoder(state).encode(V, state.U, observed=observed)
    np.testing.assert_allclose((V - codes.R)[~observed], (state.U @ codes.H)[~observed], atol=1e-12)


@pytest.mark.parametrize("tracker", WITHOUT_UNITS, ids=repr)
@pytest.mark.parametrize("power", [-300, -20, 20, 300])
def test_units_do_not_matter(tracker: Any, power: int) -> None:
    """Powers of two are exact in floating point: the results are the same to the last bit."""
    U, V, observed = stream()
    scale = 2.0**power
    one, track = tracker.step(tracker.init(U), V, observed)
    other, scaled = tracker.step(tracker.init(U), V * scale, observed)
    assert np.array_equal(one.U, other.U)
    assert np.array_equal(track.H * scale, scaled.H)
    assert np.array_equal(track.R * scale, scaled.R)
    assert np.array_equal(track.error * scale, scaled.error, equal_nan=True)


@EACH
def test_samples_of_zeros_are_accepted(tracker: Any) -> None:
    U, V, observed = stream()
    for start in (tracker.init(U), tracker.step(tracker.init(U), V, observed)[0]):
        state, track = tracker.step(start, np.zeros((20, 60)))
        assert finite(state)
        assert not track.H.any()
        assert not track.R.any()
        # The statistics of one are discounted, and others wait for a full window.
        if tracker.name not in ("orpca", "norst", "reprocs"):
            eps = np.finfo(state.U.dtype).eps  # noise scales of features round
            np.testing.assert_allclose(state.U, start.U, rtol=4 * eps, atol=0)


@EACH
def test_memory_is_bounded(tracker: Any) -> None:
    U, V, observed = stream()
    state, sizes = tracker.init(U), set()
    for _ in range(4):
        state, _ = tracker.step(state, V, observed)
        sizes.add(tuple(array.nbytes for array in arrays(state)))
    assert len(sizes) == 1


# Error on data without noise, for trackers that do not find the subspace exactly: some have a
# ridge or decreasing steps, others never forget what they learned with a wrong basis.
NEAR = {
    "grasta": 1e-9,
    "orpca": 1e-5,
    "petrels-admm": 1e-3,
    "petrels-cfar": 1e-3,
    "roseta": 1e-8,
}


@pytest.mark.parametrize("name", ROOM)
@pytest.mark.parametrize("seed", range(5))
def test_a_planted_subspace_is_found(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, U = (np.linalg.qr(rng.normal(size=(30, 3)))[0] for _ in range(2))
    V = truth @ rng.normal(size=(3, 3000)) * 30**0.5
    tracker, start = ROOM[name](), np.linalg.qr(truth + 0.2 * U)[0]
    state, track = tracker.step(tracker.init(start), V)
    assert sep(state.U.T, truth.T) < NEAR.get(name, 1e-20)
    # The ridge of online robust PCA makes codes a few percent too small.
    assert np.median(track.error[-100:]) < (0.1 if name == "orpca" else 0.01) * np.median(np.abs(V))
