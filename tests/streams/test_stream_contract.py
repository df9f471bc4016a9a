"""The contract of all streams and wrappers."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from thalweg.errors import ParameterError
from thalweg.streams import Stream


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def whole(stream, size=4, start=0):
    """Return all samples from ``start``; check the numbering and size of the batches."""
    parts, expected = [np.empty((0, stream.n_features))], start
    batches = list(stream.batches(size, start))
    for batch in batches:
        assert batch.start == expected
        assert batch.X.shape[1] == stream.n_features
        expected += batch.X.shape[0]
        parts.append(dense(batch.X))
    assert all(batch.X.shape[0] == size for batch in batches[:-1])
    assert not batches or 1 <= batches[-1].X.shape[0] <= size
    return np.vstack(parts)


def test_every_kind_of_source_is_covered(covered):
    cases, kinds = covered
    assert cases == kinds
    assert len(kinds) >= 8


def test_samples_match_the_source(case):
    stream = case.open(dtype="float64")
    assert isinstance(stream, Stream)
    assert stream.n_features == case.X.shape[1]
    assert stream.n_samples in (None, len(case.X))
    np.testing.assert_allclose(whole(stream), case.X, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_have_the_requested_dtype(case, dtype):
    batch = next(case.open(dtype=dtype).batches(8))
    assert batch.X.dtype == dtype
    np.testing.assert_allclose(dense(batch.X), case.X[:8], rtol=1e-6, atol=1e-12)


def test_gaps_are_nan(case):
    gaps = np.isnan(whole(case.open()))
    assert np.array_equal(gaps, np.isnan(case.X))


@pytest.mark.parametrize("size", [1, 5, 7, 10_000])
def test_samples_do_not_depend_on_the_batch_size(case, size):
    stream = case.open()
    assert np.array_equal(whole(stream, size), whole(stream), equal_nan=True)


def test_reading_can_start_at_any_sample(case):
    stream = case.open()
    everything, n = whole(stream), len(case.X)
    for start in [0, 1, 6, 7, 8, 13, n - 2, n - 1, n, n + 5]:
        assert np.array_equal(whole(stream, 3, start), everything[start:], equal_nan=True)


def test_batches_repeat_from_the_start_of_a_batch(case):
    stream = case.open()
    first = list(stream.batches(5))
    again = list(case.open().batches(5, first[2].start))
    assert [batch.start for batch in again] == [batch.start for batch in first[2:]]
    for a, b in zip(again, first[2:], strict=True):
        assert np.array_equal(dense(a.X), dense(b.X), equal_nan=True)


def test_iterators_are_independent(case):
    stream = case.open()
    expected = whole(stream, 3)
    pairs = list(zip(stream.batches(3), stream.batches(3, 3), strict=False))
    for number, (ahead, behind) in enumerate(pairs):
        rows = slice(3 * number, 3 * number + 3)
        assert np.array_equal(dense(ahead.X), expected[rows], equal_nan=True)
        rows = slice(3 * number + 3, 3 * number + 6)
        assert np.array_equal(dense(behind.X), expected[rows], equal_nan=True)


def test_batches_are_writable_copies(case):
    stream = case.open()
    expected = dense(next(stream.batches(4)).X)
    X = next(stream.batches(4)).X
    X *= 0
    assert np.array_equal(dense(next(stream.batches(4)).X), expected, equal_nan=True)


def test_streams_can_be_pickled_and_copied(case):
    stream = case.open()
    for other in (pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream)):
        assert np.array_equal(whole(other), whole(stream), equal_nan=True)


@pytest.mark.parametrize(("size", "start"), [(0, 0), (-1, 0), (1.5, 0), (True, 0), (3, -1)])
def test_invalid_sizes_and_starts_raise(case, size, start):
    with pytest.raises(ParameterError, match="must be an integer >="):
        next(iter(case.open().batches(size, start)))


def test_invalid_dtypes_raise(case):
    with pytest.raises(ParameterError, match="dtype must be 'float32' or 'float64'"):
        case.open(dtype="int8")
