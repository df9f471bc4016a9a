"""Every divergence of the room, and more members of its families."""

from typing import Any

import numpy as np
import pytest

from thalweg._rooms import members
from thalweg._typing import Array
from thalweg.divergences.alpha import Alpha
from thalweg.divergences.beta import Beta
from thalweg.divergences.huber import Huber
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.divergences.negative_binomial import NegativeBinomial
from thalweg.divergences.zero_inflated import ZeroInflated

FEATURES = 6


def full_matrix(signed: bool) -> Array:
    """Return a positive definite matrix with entries of both signs, or of one."""
    root = np.random.default_rng(3).uniform(-1.0 if signed else 0.0, 1.0, (FEATURES, FEATURES))
    return root @ root.T + 0.1 * np.eye(FEATURES)


def discovered(cls: type[Any]) -> Any:
    built = cls()
    return built.tuned(0.4) if hasattr(built, "tuned") else built


CASES = {
    **{name: discovered(cls) for name, cls in members("thalweg.divergences").items()},
    **{f"alpha({a})": Alpha(a) for a in (-1.0, -0.4, 0.0, 0.3, 0.5, 1.0, 2.0, 3.5)},
    **{f"beta({b})": Beta(b) for b in (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)},
    "mahalanobis(diagonal)": Mahalanobis(np.array([0.5, 1.0, 2.0, 3.0, 0.1, 7.0])),
    "mahalanobis(positive)": Mahalanobis(full_matrix(signed=False)),
    "mahalanobis(signed)": Mahalanobis(full_matrix(signed=True)),
    "huber(3)": Huber(delta=3.0),
    **{f"negative-binomial({a})": NegativeBinomial(a) for a in (0.2, 1.0, 50.0)},
    "negative-binomial(features)": NegativeBinomial(np.geomspace(0.1, 5.0, FEATURES)),
    "zero-inflated(nothing)": ZeroInflated(1.0, 0.0),
    "zero-inflated(features)": ZeroInflated(np.geomspace(0.1, 5.0, FEATURES), 0.4),
}


CONVEX = [label for label, case in CASES.items() if case.convex]
OF_RESIDUAL = ("squared-l2", "mahalanobis", "huber", "l1", "l2")


@pytest.fixture(params=CASES)
def d(request: pytest.FixtureRequest) -> Any:
    return CASES[request.param]


@pytest.fixture(params=CONVEX)
def convex(request: pytest.FixtureRequest) -> Any:
    return CASES[request.param]


@pytest.fixture(
    params=[label for label in CASES if label not in CONVEX and not label.endswith("(features)")]
)
def nonconvex(request: pytest.FixtureRequest) -> Any:
    """Return a divergence that is not convex, of any number of features."""
    return CASES[request.param]


@pytest.fixture(params=[label for label, case in CASES.items() if case.name in OF_RESIDUAL])
def of_residual(request: pytest.FixtureRequest) -> Any:
    """Return a divergence that is a function of v - p."""
    return CASES[request.param]


@pytest.fixture(
    params=[
        label
        for label in CASES
        if not label.startswith("mahalanobis(") and not label.endswith("(features)")
    ]
)
def of_any_size(request: pytest.FixtureRequest) -> Any:
    """Return a divergence that takes any number of features."""
    return CASES[request.param]
