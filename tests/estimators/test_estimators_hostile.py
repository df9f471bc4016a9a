"""Whatever comes in, finite numbers or one clear error come out, in time and without warnings."""

import re
import warnings
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.exceptions import ConvergenceWarning

from hostile import matrices, within_time
from profiles import budget
from thalweg import baselines
from thalweg.errors import InputError, ThalwegError

BASELINES = [getattr(baselines, name) for name in baselines.__all__]
GOOD = np.random.default_rng(0).random((16, 2)) @ np.random.default_rng(1).random((2, 5))


def short(model: Any) -> Any:
    """Limit the iterations of a batch method."""
    return model.set_params(max_iter=20) if hasattr(model, "max_iter") else model


def says_what_to_do(message: str) -> bool:
    """Tell whether a message has more than one sentence: what is wrong, and what to do."""
    return re.search(r"[.)\]]\s+[A-Z][a-z]", message) is not None


def finite(model: Any, X: Any) -> None:
    """Assert that all that a model has to say of X is made of numbers."""
    parts = model.decompose(X)._asdict()
    parts |= {"components": model.components_, "transform": model.transform(X)}
    parts["fill"] = model.fill(X)
    for name, part in parts.items():
        assert np.isfinite(part).all(), name
    assert not np.isnan(model.score_samples(X)).any()
    assert model.signed or (model.components_ >= 0.0).all()


def survives(job: Any) -> None:
    """Run a job that may raise one of the library's errors, and no other."""
    advice, told = True, ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "X has feature names")  # or has none any more
        try:
            within_time(job)
        except ThalwegError as error:
            told = str(error)
            advice = says_what_to_do(told)
        except TypeError as error:  # the one that scikit-learn asks for
            told = str(error)
            advice = re.search("argument must be .* string.* number", told) is not None
    assert advice, told


def learn_and_look(model: Any, X: Any) -> None:
    model.fit(X)
    finite(model, X)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X)
        finite(model, X)


def meet_later(model: Any, X: Any) -> None:
    if hasattr(model, "partial_fit"):
        model.partial_fit(X)
    finite(model, X)


@given(X=matrices(), n_components=st.sampled_from([1, 3]))
@budget(12)
def test_the_first_data(make: Any, X: Any, n_components: int) -> None:
    survives(lambda: learn_and_look(make(n_components), X))


@cache
def fitted(make: Any, single: bool) -> Any:
    return make().fit(GOOD.astype(np.float32) if single else GOOD)


@given(X=matrices(n_features=5), single=st.booleans())
@budget(12)
def test_later_data(make: Any, X: Any, single: bool) -> None:
    """A model that has learned from good data meets bad ones, and stays usable."""
    good = GOOD.astype(np.float32) if single else GOOD
    model = deepcopy(fitted(make, single))
    survives(lambda: meet_later(model, X))
    finite(model, good)


@given(X=matrices())
@budget(12)
def test_a_robust_start(make_tracking: Any, X: Any) -> None:
    survives(lambda: learn_and_look(make_tracking(), X))


@pytest.mark.parametrize("cls", BASELINES)
@given(X=matrices())
@budget(12)
def test_baselines(cls: Any, X: Any) -> None:
    model = cls(2, random_state=0)
    survives(lambda: learn_and_look(short(model), X))


HARD = {  # each of them once led to a warning, a wrong number or another library's error
    "ones and zeros": GOOD > 0.5,
    "one entry, all others gaps": np.where(np.arange(80).reshape(16, 5) == 7, 1.0, np.nan),
    "one huge beside one tiny": np.array([[1e-288, 2.5e11]]),
    "too large to square": 1e160 * GOOD,
    "too small to square": 1e-200 * GOOD,
    "too large to square in single precision": (1e20 * GOOD).astype(np.float32),
    "too small to square in single precision": (1e-20 * GOOD).astype(np.float32),
    "a sum of squares of squares": 1e100 * GOOD,
    "the same in single precision": (1e12 * GOOD).astype(np.float32),
    "one feature, all gaps": np.full((12, 1), np.nan),
    "one entry far above all others": np.where(np.arange(80).reshape(16, 5) == 0, 1, 1e-150 * GOOD),
    "all gaps in single precision": np.full((12, 5), np.nan, dtype=np.float32),
    "one feature, a zero": np.r_[[[0.0]], np.ones((11, 1))],
    "a faint row in single precision": (GOOD * np.r_[1e-20, np.ones(15)][:, None]).astype("f4"),
    "another order of bytes": pd.DataFrame(GOOD.astype(">f8")),
    "inf and -inf": np.array([[np.inf, -np.inf], [1.0, 2.0]]),
    "few counts": np.random.default_rng(0).poisson(0.5, (30, 5)).astype(float),
}
LATER = {
    "subnormal": 1e-320 * GOOD,
    "subnormal in single precision": 1e-44 * GOOD,
    "faint counts with a gap": np.where(GOOD > 0.9, np.nan, 1e-300 * (GOOD > 0.5)),
    "huge": 1e30 * GOOD,
}


@pytest.mark.parametrize("name", HARD)
def test_what_was_hard(make: Any, name: str) -> None:
    survives(lambda: learn_and_look(make(2), HARD[name]))


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_was_hard_later(make: Any, name: str, dtype: Any) -> None:
    """Numbers that another type could hold are numbers of the type that was learned."""
    good = GOOD.astype(dtype)
    model = make().fit(good)
    survives(lambda: meet_later(model, LATER[name]))
    finite(model, good)


@pytest.mark.parametrize(
    ("X", "parts"),
    [
        (1e160 * GOOD, ["float64", "2e+123", "a largest entry of", "other units"]),
        (1e-200 * GOOD, ["float64", "5e-93", "a largest entry of", "other units"]),
        (
            (1e16 * GOOD).astype(np.float32),
            ["float32", "3e+15", "a largest entry of", "or float64"],
        ),
        (-1e160 * GOOD, ["float64", "2e+123", "a largest entry of"]),
    ],
)
def test_sizes_out_of_range_are_refused(make: Any, X: Any, parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        make(2).fit(X)
    places = [str(caught.value).find(part) for part in parts]
    assert -1 not in places, str(caught.value)


def test_tiny_and_large_side_by_side_are_not_refused(make: Any) -> None:
    X = GOOD.copy()
    X[3] *= 1e-200
    assert np.isfinite(make(2).fit(X).components_).all()
