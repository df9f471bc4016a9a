"""Whatever comes in, finite numbers or one clear error come out, in time and without warnings."""

import inspect
import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, strategies as st
from sklearn.exceptions import ConvergenceWarning

from hostile import budget, matrices, within_time
from thalweg import rivals
from thalweg.errors import ThalwegError

RIVALS = [thing for name in rivals.__all__ if inspect.isclass(thing := getattr(rivals, name))]
GOOD = np.random.default_rng(0).random((16, 2)) @ np.random.default_rng(1).random((2, 5))


def says_what_to_do(error: ThalwegError) -> bool:
    """Tell whether a message has a second sentence, which begins with a verb or says how."""
    return bool(re.search(r"[.)\]]\s+[A-Z][^.]*[\w'\")\]]\.?$", str(error), re.S))


def finite(model: Any, X: Any) -> None:
    """Assert that all that a model has to say of X is made of numbers."""
    parts = model.decompose(X)._asdict()
    parts |= {"components": model.components_, "transform": model.transform(X)}
    for name, part in parts.items():
        assert np.isfinite(part).all(), name
    assert not np.isnan(model.score_samples(X)).any()
    assert model.signed or (model.components_ >= 0.0).all()


def survives(job: Any) -> None:
    """Run a job that may raise one of the library's errors, and no other."""
    advice = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "X has feature names")  # or has none any more
        try:
            within_time(job)
        except ThalwegError as error:
            advice = says_what_to_do(error)
            note(str(error))
        except TypeError as error:  # the one that scikit-learn asks for
            advice = re.search("argument must be .* string.* number", str(error)) is not None
    assert advice


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
@budget(20)
def test_the_first_data(make: Any, X: Any, n_components: int) -> None:
    survives(lambda: learn_and_look(make(n_components), X))


@given(X=matrices(n_features=5), single=st.booleans())
@budget(20)
def test_later_data(make: Any, X: Any, single: bool) -> None:
    """A model that has learned from good data meets bad ones, and stays usable."""
    good = GOOD.astype(np.float32) if single else GOOD
    model = make().fit(good)
    survives(lambda: meet_later(model, X))
    finite(model, good)


@given(X=matrices())
@budget(12)
def test_a_robust_start(make_tracking: Any, X: Any) -> None:
    survives(lambda: learn_and_look(make_tracking(), X))


@pytest.mark.parametrize("cls", RIVALS)
@given(X=matrices())
@budget(12)
def test_rivals(cls: Any, X: Any) -> None:
    survives(lambda: learn_and_look(cls(2, max_iter=20, random_state=0), X))
