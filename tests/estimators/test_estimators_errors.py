"""Bad input gets one clear error: what was expected, what was given, what to do."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from thalweg import (
    DivergenceNMF,
    OnlineFactorization,
    PetrelsADMM,
    RobustNMF,
    RobustOnlineNMF,
    SignSplitter,
    SparseArchetypalNMF,
    streams,
)
from thalweg._typing import Array
from thalweg.divergences.kl import KL
from thalweg.encoders.fast import Fast
from thalweg.errors import InputError, ParameterError, ThalwegError
from thalweg.prox.l1 import L1
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.top import Top

GOOD = np.random.default_rng(0).random((12, 4))
DAYS = np.arange("2026-01-01", "2026-02-18", dtype="datetime64[D]").reshape(12, 4)
TIMES = ["real numbers", "dates or durations", "Pass numbers"]


def spoiled(value: float) -> Array:
    X = GOOD.copy()
    X[3, 2] = value
    return X


# name: data, and parts of the message in their order
DATA: dict[str, tuple[Any, list[str]]] = {
    "inf": (spoiled(np.inf), ["infinity", "Replace infinite entries"]),
    "minus inf": (spoiled(-np.inf), ["infinity", "Replace infinite entries"]),
    "no rows": (np.empty((0, 4)), ["0 sample", "(0, 4)", "minimum of 1"]),
    "no columns": (np.empty((5, 0)), ["0 feature", "(5, 0)", "minimum of 1"]),
    "one row as a vector": (GOOD[0], ["2D", "1D array", "Reshape"]),
    "a stack of matrices": (np.ones((2, 3, 4)), ["dim 3", "dim <= 2"]),
    "a number": (3.0, ["2D", "scalar", "Reshape"]),
    "text": (np.array([["a", "b"], ["c", "d"]]), ["'a'", "Convert text"]),
    "objects": (np.array([[1.0, "x"], [2.0, 3.0]], dtype=object), ["'x'", "Convert text"]),
    "complex": (GOOD + 1j, ["Complex data not supported"]),
    "a dictionary": ({"a": [1]}, ["number", "'dict'", "an array or a table of numbers"]),
    "rows of different lengths": ([[1.0, 2.0], [3.0]], ["inhomogeneous", "rows of equal length"]),
    "huge whole numbers": ([[10**400] * 4], ["too large", "other units"]),
    "dates": (DAYS, TIMES),
    "durations": (DAYS - DAYS[0], TIMES),
    "dates in lists": (list(map(list, DAYS)), TIMES),
    "dates among objects": (np.array([[1.0, DAYS[0, 0]]] * 3, dtype=object), TIMES),
    "dates behind a mask": (np.ma.masked_array(DAYS, np.eye(12, 4)), TIMES),
    "a pandas column of dates": (pd.DataFrame({"a": GOOD[:, 0], "b": DAYS[:, 0]}), TIMES),
    "a polars column of dates": (pl.DataFrame({"a": GOOD[:, 0], "b": DAYS[:, 0]}), TIMES),
    "pandas durations": (pd.DataFrame(DAYS - DAYS[0]), TIMES),
    "sparse and infinite": (sparse.csr_array(spoiled(np.inf)), ["infinity", "Replace"]),
}
NEGATIVE: dict[str, tuple[Any, list[str]]] = {
    "dense": (spoiled(-0.5), ["Negative", "zero or more", "-0.5", "Shift"]),
    "sparse": (sparse.csr_array(spoiled(-0.5)), ["Negative", "-0.5", "Shift"]),
}


def in_order(message: str, parts: list[str]) -> bool:
    places = [message.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_bad_data(make: Any, name: str) -> None:
    refuses(make, *DATA[name])


@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_data(make_nmf: Any, name: str) -> None:
    refuses(make_nmf, *NEGATIVE[name])


@cache
def fitted(make: Any) -> Any:
    """Return a fitted model, which an error does not change."""
    return make(2).fit(GOOD)


def refuses(make: Any, X: Any, parts: list[str]) -> None:
    """Assert that every method that takes data refuses these."""
    model = fitted(make)
    methods = [make(2).fit, model.transform, model.decompose, model.score]
    if hasattr(model, "partial_fit"):
        methods += [make(2).partial_fit, model.partial_fit]
    for method in methods:
        with pytest.raises(InputError) as caught:
            method(X)
        assert isinstance(caught.value, ValueError)
        assert in_order(str(caught.value), parts), str(caught.value)


@pytest.mark.parametrize("name", ["text", "a dictionary", "dates", "a pandas column of dates"])
def test_bad_data_to_split(name: str) -> None:
    X, parts = DATA[name]
    for method in (SignSplitter().fit, SignSplitter().fit(GOOD).transform):
        with pytest.raises(InputError) as caught:
            method(X)
        assert in_order(str(caught.value), parts), str(caught.value)


def test_entries_that_are_objects_are_a_type_error_too(make: Any) -> None:
    """As scikit-learn has it."""
    X = GOOD.astype(object)
    X[0, 0] = {"foo": "bar"}
    with pytest.raises(TypeError, match=r"argument must be .* string.* number") as caught:
        make(2).fit(X)
    assert isinstance(caught.value, InputError)


def test_wrong_width(make: Any) -> None:
    model = make(2).fit(GOOD)
    later = [model.transform, model.decompose, model.score, model.score_samples]
    if hasattr(model, "partial_fit"):
        later.append(model.partial_fit)
    for method in later:
        with pytest.raises(InputError) as caught:
            method(GOOD[:, :3])
        parts = ["3 features", "expecting 4 features", "columns of the first"]
        assert in_order(str(caught.value), parts), str(caught.value)


def test_bad_codes(make: Any) -> None:
    model = make(2).fit(GOOD)
    for codes in (np.ones((3, 5)), np.ones(2), np.ones((1, 1, 2))):
        with pytest.raises(InputError) as caught:
            model.inverse_transform(codes)
        parts = ["codes", "(n_samples, 2)", str(codes.shape), "transform"]
        assert in_order(str(caught.value), parts), str(caught.value)


# Values that are no numbers in rows, and how the message calls them.
NO_NUMBERS: list[tuple[Any, str]] = [
    ([["a", "b"], ["c", "d"]], "<U1"),
    ([["1", "2"], ["3", "4"]], "<U1"),
    ([[1.0, 2.0], [3.0]], "rows of different lengths"),
    ([[1.0, {}], [2.0, 3.0]], "object"),
    (np.ones((2, 2)) + 1j, "complex128"),
    (DAYS[:2, :2], "datetime64[D]"),
    ({"a": [1]}, "object"),
]


@pytest.mark.parametrize(("codes", "given"), NO_NUMBERS)
def test_codes_that_are_no_numbers(codes: Any, given: str) -> None:
    with pytest.raises(InputError) as caught:
        RobustNMF(2, random_state=0).fit(GOOD).inverse_transform(codes)
    assert in_order(str(caught.value), ["codes", "numbers", given, "transform"]), str(caught.value)


@pytest.mark.parametrize("name", ["inf", "text", "one row as a vector"])
def test_a_failed_batch_changes_nothing(make_streaming: Any, state_of: Any, name: str) -> None:
    stays_as_it_was(make_streaming, state_of, DATA[name][0])


def test_a_negative_batch_changes_nothing(make_nmf_streaming: Any, state_of: Any) -> None:
    stays_as_it_was(make_nmf_streaming, state_of, spoiled(-0.5))


# A value without meaning, for some parameter that every later batch looks at.
BROKEN = {"tol": -1.0, "on_jump": "panic", "encoder": "none"}


def stays_as_it_was(make: Any, state_of: Any, bad: Any) -> None:
    """Assert that calls that fail leave everything that was learned alone."""
    known = make().get_params()
    model = make(2, **({"keep_history": True} if "keep_history" in known else {}))
    for _ in range(3):
        model.partial_fit(GOOD)
    before = state_of(model)
    with pytest.raises(InputError):
        model.partial_fit(bad)
    with pytest.raises(InputError):
        model.partial_fit(np.ones((3, 7)))
    broken = next(name for name in BROKEN if name in known)
    with pytest.raises(ParameterError):
        model.set_params(**{broken: BROKEN[broken]}).partial_fit(GOOD)
    after = state_of(model)
    assert after.keys() == before.keys()
    for key, value in before.items():
        np.testing.assert_array_equal(after[key], value, err_msg=key)
    assert model.n_samples_seen_ == 36


def test_a_failed_batch_can_be_followed_by_a_good_one(make_streaming: Any) -> None:
    model, clean = make_streaming(2), make_streaming(2)
    values = [np.inf] if model.signed else [np.inf, -1.0]
    for _ in range(3):
        model.partial_fit(GOOD)
        clean.partial_fit(GOOD)
        for value in values:
            with pytest.raises(InputError):
                model.partial_fit(spoiled(value))
    assert np.array_equal(model.components_, clean.components_)


# parameter, value, and parts of the message
COMMON: list[tuple[str, Any, list[str]]] = [
    *(
        ("n_components", k, ["n_components", "positive integer", repr(k), "1 or more"])
        for k in (0, -1, 2.5, True, "3", None, np.nan)
    ),
    ("init", "zeros", ["init", "'random'", "'samples'", "'zeros'", "Use one of"]),
    *(
        ("init", W, ["init", "nonnegative", "(2, 4)", str(W.shape), "as rows"])
        for W in (np.ones((4, 2)), np.ones((3, 4)), -np.ones((2, 4)), np.full((2, 4), np.nan))
    ),
    *(
        ("init", W, ["init", "nonnegative", "(2, 4)", given, "Pass comp"])
        for W, given in NO_NUMBERS
    ),
    ("init", np.ma.masked_equal(np.eye(2, 4), 0.0), ["init", "finite", "(2, 4)", "as rows"]),
    *(
        ("random_state", s, ["random_state", "integer", repr(s), "such as random_state=0"])
        for s in ("a", -1, 1.5, object)
    ),
]
STREAMING: list[tuple[str, Any, list[str]]] = [
    *(
        ("batch_size", b, ["batch_size", "positive integer", repr(b), "1 or more"])
        for b in (0, -3, 2.5, "large")
    ),
    *(
        ("epochs", e, ["epochs", "positive integer", repr(e), "1 or more"])
        for e in (0, -1, 1.5, None)
    ),
]
ROBUST: list[tuple[str, Any, list[str]]] = [
    ("solver", "newton", ["solver", "'fast'", "'pgd'", "'admm'", "'newton'", "Use one of"]),
    ("constraint", "ball", ["constraint", "'l2-ball'", "'ball'", "Use one of"]),
    *(
        (
            parameter,
            cls,
            [parameter, "name or an object", f"class {cls.__name__}", "Create an"],
        )
        for parameter, cls in [
            ("constraint", L2Ball),
            ("code_penalty", L1),
            ("dictionary_penalty", L1),
        ]
    ),
    ("constraint", 3, ["constraint", "name or an object", "3", "thalweg.prox"]),
    ("constraint", None, ["constraint", "name or an object", "None", "thalweg.prox"]),
    ("code_penalty", "l7", ["code_penalty", "'l1'", "'l7'", "Use one of"]),
    ("code_penalty", 0.1, ["code_penalty", "name or an object", "0.1", "thalweg.prox"]),
    ("code_penalty", "top", ["code_penalty", "convex", "Top", "'l1'"]),
    ("code_penalty", Top(2), ["code_penalty", "convex", "Top", "'l1'"]),
    ("dictionary_penalty", "l7", ["dictionary_penalty", "'l1'", "'l7'", "Use one of"]),
    ("dictionary_penalty", "simplex", ["dictionary_penalty", "'l2'", "'simplex'", "constraint"]),
    ("dictionary_penalty", 0.1, ["dictionary_penalty", "name or an object", "0.1"]),
    *(
        ("tol", t, ["tol", "number of 0 or more", repr(t), "runs to its limit"])
        for t in (-1e-3, np.nan, np.inf, "small", None)
    ),
    ("outlier_weight", "big", ["outlier_weight", "'auto' or a number", "'big'", "estimates"]),
    *(
        ("outlier_weight", w, ["outlier_weight", "'auto' or a number", repr(w), "estimates"])
        for w in (-1, -0.1, np.nan, np.inf, None, [0.1], 1j)
    ),
    *(
        ("outlier_bound", m, ["outlier_bound", "number above 0", repr(m), "Example: "])
        for m in (0, -1.0, np.nan, "big")
    ),
    ("outlier_sign", "negative", ["outlier_sign", "'any'", "'nonnegative'", "'negative'"]),
    ("outlier_structure", "rows", ["outlier_structure", "'entries'", "'samples'", "'rows'"]),
    ("frozen_components", np.ones((3, 4)), ["frozen", "at most 2 rows of 4", "(3, 4)"]),
    ("frozen_components", np.ones((1, 5)), ["frozen", "(1, 4)", "(1, 5)", "as rows"]),
    ("frozen_components", np.ones(4), ["frozen", "at most 2 rows of 4", "(4,)"]),
    ("frozen_components", -np.ones((1, 4)), ["frozen", "nonnegative", "as rows"]),
    ("frozen_components", np.full((1, 4), np.nan), ["frozen", "finite", "as rows"]),
    *(
        ("frozen_components", W, ["frozen", "numbers", "at most 2 rows of 4", given, "one row"])
        for W, given in NO_NUMBERS
    ),
]
FORGETTING: list[tuple[str, Any, list[str]]] = [
    ("forgetting", f, ["forgetting", "above 0 and at most 1", repr(f), "half_life"])
    for f in (0, 0.0, 2, 1.0001, -0.5, np.nan, "slow", None)
]
BATCH: list[tuple[str, Any, list[str]]] = [
    ("max_iter", m, ["max_iter", "positive integer", repr(m), "1 or more"]) for m in (0, 2.5)
]
CASES = [
    (cls, *case)
    for cls, cases in [
        (RobustOnlineNMF, [*COMMON, *STREAMING, *ROBUST, *FORGETTING]),
        (RobustNMF, [*COMMON, *ROBUST, *BATCH]),
        (OnlineFactorization, [*COMMON, *STREAMING]),
    ]
    for case in cases
]


@pytest.mark.parametrize(
    ("cls", "parameter", "value", "parts"),
    CASES,
    ids=lambda v: getattr(v, "__name__", None) or (repr(v)[:40] if not isinstance(v, list) else ""),
)
def test_bad_parameters(cls: Any, parameter: str, value: Any, parts: list[str]) -> None:
    """Whatever the other parameters are; and nothing is left behind that looks fitted."""
    for others in ({}, {"outlier_weight": 0.1}):
        if cls is OnlineFactorization or parameter == "outlier_weight":
            others = {}
        model = cls(**{"n_components": 2, **others, parameter: value})
        with pytest.raises(ParameterError) as caught:
            model.fit(GOOD)
        assert isinstance(caught.value, ThalwegError)
        assert in_order(str(caught.value), parts), str(caught.value)
        assert not hasattr(model, "components_")


@pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF])
def test_a_bound_on_whole_samples(cls: Any) -> None:
    model = cls(2, outlier_bound=1.0, outlier_structure="samples")
    with pytest.raises(ParameterError) as caught:
        model.fit(GOOD)
    parts = ["outlier_bound", "single entries", "'samples'", "Remove the bound"]
    assert in_order(str(caught.value), parts), str(caught.value)


@pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF])
@pytest.mark.parametrize("structure", ["entries", "samples"])
@pytest.mark.parametrize("bound", [np.inf, np.float32(np.inf)])
def test_an_infinite_bound_is_none(cls: Any, structure: str, bound: Any) -> None:
    options = {"outlier_structure": structure, "random_state": 0}
    bounded = cls(2, outlier_bound=bound, **options).fit(GOOD)
    assert np.array_equal(bounded.components_, cls(2, **options).fit(GOOD).components_)


CALLBACK = ["callback", "function of one argument", "3", "itself"]


def test_a_callback_that_cannot_be_called(make: Any) -> None:
    if "callback" not in make().get_params():
        pytest.skip("has no callback")
    model = make(2, callback=3)
    with pytest.raises(ParameterError) as caught:
        model.fit(GOOD)
    assert in_order(str(caught.value), CALLBACK), str(caught.value)
    assert not hasattr(model, "components_")


def test_a_callback_that_cannot_be_called_changes_nothing(
    make_streaming: Any, state_of: Any
) -> None:
    model = make_streaming(2).partial_fit(GOOD)
    before = state_of(model)
    with pytest.raises(ParameterError, match="callback"):
        model.set_params(callback=3).partial_fit(GOOD)
    np.testing.assert_equal(state_of(model), before)


def test_a_callback_of_a_stream_that_cannot_be_called(make_streaming: Any) -> None:
    model = make_streaming(2)
    with pytest.raises(ParameterError) as caught:
        model.fit_stream(streams.open(GOOD), callback=3)
    assert in_order(str(caught.value), CALLBACK), str(caught.value)
    assert not hasattr(model, "components_")


def test_a_class_as_a_loss() -> None:
    with pytest.raises(ParameterError) as caught:
        DivergenceNMF(2, loss=KL).fit(GOOD)
    parts = ["loss", "name or an object", "class KL", "KL()"]
    assert in_order(str(caught.value), parts), str(caught.value)


@pytest.mark.parametrize(
    ("cls", "parameter", "expected", "advice"),
    [
        (PetrelsADMM, "init", ["'robust'", "finite array"], "earlier fit"),
        (SparseArchetypalNMF, "init", ["nonnegative", "(2, 4)"], "Pass components"),
    ],
)
def test_a_start_that_is_no_numbers(
    cls: Any, parameter: str, expected: list[str], advice: str
) -> None:
    for start, given in NO_NUMBERS:
        with pytest.raises(ParameterError) as caught:
            cls(2, **{parameter: start}).fit(GOOD)
        parts = [parameter, *expected, given, advice]
        assert in_order(str(caught.value), parts), str(caught.value)


def test_bad_parts_of_a_composition() -> None:
    for parameter, part in (("encoder", "fast"), ("update", "fast"), ("encoder", Fast)):
        with pytest.raises(ParameterError) as caught:
            OnlineFactorization(2, **{parameter: part}).fit(GOOD)
        parts = [parameter, "methods of", repr(part), "adding.md"]
        assert in_order(str(caught.value), parts), str(caught.value)


def test_a_first_batch_that_fails_leaves_nothing(make_streaming: Any) -> None:
    model = make_streaming(2, init="zeros")
    with pytest.raises(ParameterError):
        model.partial_fit(GOOD)
    assert not hasattr(model, "components_")
    model.set_params(init="random").partial_fit(GOOD[:, :3])
    assert model.components_.shape == (2, 3)


def test_parameters_are_checked_by_fit_and_not_before() -> None:
    """As scikit-learn asks: the constructor only keeps what it is given."""
    assert RobustOnlineNMF("many", solver=7, tol=-1).get_params()["solver"] == 7
