"""The estimators under test, found by walking ``thalweg.estimators`` and ``thalweg.baselines``."""

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import thalweg.estimators as room
from thalweg import baselines
from thalweg._typing import Array
from thalweg.synthetic import OutlierData, nmf_with_outliers

SOLVERS = ("fast", "pgd", "admm")
ROBUST = ("RobustOnlineNMF", "RobustNMF")
# Ways to construct an estimator that are worth a run each; every other one runs as it comes.
# Caps keep the many fits below short; convergence has tests of its own.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "RobustOnlineNMF": [{"solver": solver} for solver in SOLVERS],
    "RobustNMF": [{"solver": solver, "max_iter": 50} for solver in SOLVERS],
    "LRGeomCG": [{"max_iter": 30}],
    "RPCAGD": [{"max_iter": 30}],
    "PetrelsADMM": [{"init_samples": 32}],
    # The default keeps the best of several starts, which may not depend on the seed, and with
    # more sweeps archetypes leave a given start: the codes of these data do not sum to 1.
    "SparseArchetypalNMF": [{"init": "samples", "continuation_steps": 2, "max_iter": 5}],
}
ESTIMATORS = {
    name: cls
    for name in room.__all__
    if inspect.isclass(cls := getattr(room, name)) and hasattr(cls, "fit")
}
# A robust start costs more than the stream after it, and is the same for every tracker: one has
# it in all tests, the others in those of trackers only.
TRACKERS = [cls for cls in ESTIMATORS.values() if cls.signed and hasattr(cls, "partial_fit")]
_QUICK = {cls.__name__: [{"init": "random"}] for cls in TRACKERS}
VARIANTS = [
    (cls, option)
    for name, cls in ESTIMATORS.items()
    for option in OPTIONS.get(name, _QUICK.get(name, [{}]))
]
BASELINES: list[tuple[Any, dict[str, Any]]] = [
    (getattr(baselines, name), {}) for name in baselines.__all__
]

Make = Callable[..., Any]
_MAKERS: dict[str, Make] = {}


def _name(variant: tuple[type, dict[str, Any]]) -> str:
    cls, options = variant
    return "-".join([cls.__name__, *map(str, options.values())])


def _maker(variant: tuple[type, dict[str, Any]]) -> Make:
    """Return a function from more parameters to an estimator with a seed.

    It is the same one for the same variant, so that tests can cache fits.
    """
    name, (cls, options) = _name(variant), variant
    if name in _MAKERS:
        return _MAKERS[name]

    def make(n_components: int = 3, **parameters: Any) -> Any:
        return cls(**{"n_components": n_components, "random_state": 0, **options, **parameters})

    make.cls = cls  # type: ignore[attr-defined]
    _MAKERS[name] = make
    return make


STREAMING = [v for v in VARIANTS if hasattr(v[0], "partial_fit")]
TRACKING = [(cls, {"init_samples": 32}) for cls in TRACKERS]
COMPLETING = [v for v in VARIANTS if v[0].signed and v not in STREAMING]


@pytest.fixture(params=VARIANTS, ids=_name)
def make(request: pytest.FixtureRequest) -> Make:
    """Every estimator."""
    return _maker(request.param)


@pytest.fixture(params={cls: (cls, o) for cls, o in reversed(VARIANTS)}.values(), ids=_name)
def make_class(request: pytest.FixtureRequest) -> Make:
    """Every estimator in one variant, for what does not depend on its solver."""
    return _maker(request.param)


@pytest.fixture(params=[*VARIANTS, *BASELINES], ids=_name)
def make_public(request: pytest.FixtureRequest) -> Make:
    """Every estimator and every baseline."""
    return _maker(request.param)


@pytest.fixture(params=STREAMING, ids=_name)
def make_streaming(request: pytest.FixtureRequest) -> Make:
    """Every estimator that learns from batches."""
    return _maker(request.param)


@pytest.fixture(params=[v for v in VARIANTS if not v[0].signed], ids=_name)
def make_nmf(request: pytest.FixtureRequest) -> Make:
    """Every nonnegative factorisation."""
    return _maker(request.param)


@pytest.fixture(params=[v for v in STREAMING if not v[0].signed], ids=_name)
def make_nmf_streaming(request: pytest.FixtureRequest) -> Make:
    """Every nonnegative factorisation that learns from batches."""
    return _maker(request.param)


@pytest.fixture(params=[v for v in VARIANTS if v[0].signed], ids=_name)
def make_signed(request: pytest.FixtureRequest) -> Make:
    """Every estimator of data of any sign."""
    return _maker(request.param)


@pytest.fixture(params=TRACKING, ids=_name)
def make_tracking(request: pytest.FixtureRequest) -> Make:
    """Every tracker, with a robust start from a few samples."""
    return _maker(request.param)


@pytest.fixture(params=COMPLETING, ids=_name)
def make_completing(request: pytest.FixtureRequest) -> Make:
    """Every method that completes a whole matrix of any sign."""
    return _maker(request.param)


@pytest.fixture(params=[v for v in VARIANTS if v[0].__name__ in ROBUST], ids=_name)
def make_robust(request: pytest.FixtureRequest) -> Make:
    """Robust NMF, online and batch, with each of its solvers."""
    return _maker(request.param)


@pytest.fixture(params=ROBUST)
def make_fast(request: pytest.FixtureRequest) -> Make:
    """Robust NMF, online and batch, with the solver that comes first."""
    return _maker((ESTIMATORS[request.param], {}))


def state_of(model: Any) -> dict[str, Any]:
    """Return copies of all that a model has beyond its parameters, tuples taken apart."""
    flat: dict[str, Any] = {}
    todo = [(name, v) for name, v in vars(model).items() if name not in model.get_params()]
    while todo:
        name, value = todo.pop()
        if isinstance(value, tuple):
            todo += [(f"{name}.{i}", part) for i, part in enumerate(value)]
        else:
            flat[name] = deepcopy(value)
    return flat


@pytest.fixture(scope="session", name="state_of")
def _state_of() -> Callable[[Any], dict[str, Any]]:
    return state_of


def plant(
    n_samples: int, n_features: int, n_components: int, seed: int, noise: float = 0.01
) -> OutlierData:
    """Return data like those of [O] VII-D1 but exactly of low rank.

    With few components the paper's clean data are clipped at 1 so often that they are not.
    """
    drawn = nmf_with_outliers(n_samples, n_features, n_components, random_state=seed)
    codes = drawn.codes / (drawn.codes @ drawn.components).max()
    clean = codes @ drawn.components
    rng = np.random.default_rng(seed)
    X = clean + drawn.outliers + rng.normal(0.0, noise, clean.shape)
    return OutlierData(np.clip(X, 0.0, 1.0), clean, drawn.outliers, drawn.components, codes)


@pytest.fixture(scope="session", name="plant")
def _plant() -> Callable[..., OutlierData]:
    return plant


@pytest.fixture(scope="session")
def planted() -> OutlierData:
    """A small matrix of rank 3 with outliers and noise; not to be written to."""
    data = plant(240, 20, 3, seed=7)
    for array in data:
        array.flags.writeable = False
    return data


@pytest.fixture(scope="session", name="X")
def _data(planted: OutlierData) -> Array:
    return planted.X


@pytest.fixture(scope="session")
def gappy(planted: OutlierData) -> Array:
    """The same with every fifth entry or so missing."""
    gaps = np.random.default_rng(1).random(planted.X.shape) < 0.2
    return np.where(gaps, np.nan, planted.X)
