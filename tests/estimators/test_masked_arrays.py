"""What is masked was not observed: a mask says the same as NaN."""

from typing import Any

import numpy as np
import pytest

from thalweg import RobustOnlineNMF, SignSplitter, baselines
from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.estimators.validation import check_data


@pytest.fixture(scope="module")
def masked(X: Array, gappy: Array) -> Any:
    """The data with gaps as a masked array; what is behind the mask would be refused."""
    values = np.where(np.isnan(gappy), -np.inf, X)
    return np.ma.masked_array(values, np.isnan(gappy))


def test_learning(make: Any, masked: Any, gappy: Array) -> None:
    assert np.array_equal(make().fit(masked).components_, make().fit(gappy).components_)


def test_learning_from_batches(make_streaming: Any, masked: Any, gappy: Array) -> None:
    models = [make_streaming(), make_streaming()]
    for start in (0, 80, 160):
        for model, data in zip(models, (masked, gappy), strict=True):
            model.partial_fit(data[start : start + 80])
    assert np.array_equal(models[0].components_, models[1].components_)


def test_use(make: Any, masked: Any, gappy: Array) -> None:
    model = make().fit(gappy)
    for method in (model.transform, model.fill, model.score_samples):
        assert np.array_equal(method(masked), method(gappy))
    for mine, theirs in zip(model.decompose(masked), model.decompose(gappy), strict=True):
        assert np.array_equal(mine, theirs)
    assert model.score(masked) == model.score(gappy)
    assert not isinstance(model.fill(masked), np.ma.MaskedArray)


def test_completion(make_completing: Any, masked: Any, gappy: Array) -> None:
    assert np.array_equal(make_completing().complete(masked), make_completing().complete(gappy))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int64, np.float64),
        (np.uint8, np.float64),
        (np.bool_, np.float64),
        (object, np.float64),
    ],
)
def test_types(kind: Any, expected: Any) -> None:
    X = np.ma.masked_array(np.ones((3, 2), dtype=kind), np.eye(3, 2))
    checked = check_data(RobustOnlineNMF(), X, reset=True)
    assert checked.dtype == expected
    assert np.array_equal(checked, np.where(np.eye(3, 2), np.nan, 1.0), equal_nan=True)


def test_what_is_behind_a_mask_may_be_no_number() -> None:
    X = np.ma.masked_array([[1.0, "lost"], [2.0, 3.0]], [[0, 1], [0, 0]], dtype=object)
    checked = check_data(RobustOnlineNMF(), X, reset=True)
    assert np.array_equal(checked, [[1.0, np.nan], [2.0, 3.0]], equal_nan=True)


@pytest.mark.parametrize("mask", [np.ma.nomask, False, np.zeros((3, 2), dtype=bool)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_copy_without_a_mask(mask: Any, dtype: Any) -> None:
    X = np.ma.masked_array(np.ones((3, 2), dtype=dtype), mask)
    checked = check_data(RobustOnlineNMF(), X, reset=True)
    assert type(checked) is np.ndarray
    assert np.shares_memory(checked, X.data)


def test_the_data_stay_as_they_are(masked: Any) -> None:
    before = masked.copy()
    RobustOnlineNMF(3, random_state=0).fit(masked).fill(masked)
    assert np.array_equal(masked.data, before.data)
    assert np.array_equal(masked.mask, before.mask)


@pytest.mark.parametrize(
    "cls", [baselines.HoyerNMF, baselines.KimParkNMF, baselines.PeharzPernkopfNMF]
)
def test_who_needs_complete_data_says_so(cls: Any, masked: Any, X: Array, gappy: Array) -> None:
    model = cls(2, random_state=0).fit(X)
    for method in (cls(2).fit, model.transform, model.decompose, model.fill, model.score):
        for data in (masked, gappy):
            with pytest.raises(InputError, match="complete data, got NaN"):
                method(data)


def test_split_signs(masked: Any, gappy: Array) -> None:
    assert np.array_equal(
        SignSplitter().fit_transform(masked), SignSplitter().fit_transform(gappy), equal_nan=True
    )
