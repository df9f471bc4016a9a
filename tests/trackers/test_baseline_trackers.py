"""Common properties of GROUSE, GRASTA, ROSETA and online robust PCA, beyond the contract."""

from typing import Any

import numpy as np
import pytest

from thalweg.errors import ParameterError
from thalweg.estimators import grasta, grouse, online_robust_pca, roseta
from thalweg.metrics import sep
from thalweg.synthetic import subspace_stream
from thalweg.trackers.grasta import GrastaTracker
from thalweg.trackers.grouse import GrouseTracker
from thalweg.trackers.online_robust_pca import OnlineRobustPCATracker
from thalweg.trackers.roseta import RosetaTracker

Array = Any
TRACKERS = [
    GrouseTracker(),
    GrouseTracker("constant", 0.3),
    GrouseTracker("diminishing"),
    GrastaTracker(),
    GrastaTracker("constant", 0.05),
    GrastaTracker("diminishing"),
    RosetaTracker(),
    OnlineRobustPCATracker(),
    OnlineRobustPCATracker(forgetting=0.95, sweeps=2),
]
EACH = pytest.mark.parametrize("tracker", TRACKERS, ids=str)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def stream(F: int = 20, K: int = 3, B: int = 40, seed: int = 0, dtype: Any = float) -> Any:
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(F, K)) @ rng.normal(size=(K, B)) + 0.1 * rng.normal(size=(F, B))
    V += (rng.random(V.shape) < 0.1) * 10.0
    U = np.linalg.qr(rng.normal(size=(F, K)))[0]
    return U.astype(dtype), V.astype(dtype), rng.random(V.shape) < 0.7


@DTYPES
@pytest.mark.parametrize("tracker", [made for made in TRACKERS if made.name != "orpca"], ids=str)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_entries_leave_a_basis_orthonormal(tracker: Any, dtype: Any, count: int) -> None:
    U, V, _ = stream(dtype=dtype)
    observed = np.zeros(V.shape, bool)
    observed[:count] = True
    state, _ = tracker.step(tracker.init(U), V, observed)
    bound = 1e-5 if dtype == np.float64 else 1e-3
    assert np.abs(state.U.T @ state.U - np.eye(3)).max() < bound


@EACH
def test_errors_are_medians_of_residuals_before_the_step(tracker: Any) -> None:
    U, V, observed = stream()
    state = tracker.init(U)
    for b in range(10):
        before = state.U
        state, track = tracker.step(state, V[:, b : b + 1], observed[:, b : b + 1])
        rest = (V[:, b] - before @ track.H[:, 0])[observed[:, b]]
        assert track.error[0] == pytest.approx(np.median(np.abs(rest)), rel=1e-9)


@EACH
def test_errors_of_long_samples_are_of_some_entries(tracker: Any) -> None:
    U, V, _ = stream(F=5000, B=1)
    _, track = tracker.step(tracker.init(U), V)
    rest = V[:, 0] - U @ track.H[:, 0]
    assert track.error[0] == pytest.approx(np.median(np.abs(rest[::4])), rel=1e-9)


@DTYPES
@pytest.mark.parametrize(
    "tracker",
    [GrouseTracker(), GrastaTracker(max_inner_iter=5), RosetaTracker(max_inner_iter=5)],
    ids=str,
)
@pytest.mark.parametrize("fault", [0.0, 0.01])
def test_bases_stay_orthonormal_over_many_samples(tracker: Any, dtype: Any, fault: float) -> None:
    """Large rotations remove rounding errors and small ones do not, so steps are small here."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(10, 3)))[0]
    state = tracker.init((U + fault * rng.normal(size=U.shape)).astype(dtype))
    worst = 0.0
    for _ in range(20):
        V = U @ rng.normal(size=(3, 5000)) + 1e-3 * rng.normal(size=(10, 5000))
        state, _ = tracker.step(state, V.astype(dtype), rng.random(V.shape) < 0.7)
        worst = max(worst, float(np.abs(state.U.T.astype(float) @ state.U - np.eye(3)).max()))
    assert worst < (1e-8 if dtype == np.float64 else 3e-4)


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (GrouseTracker, {"step_size": "adaptive"}),
        (GrouseTracker, {"rate": 0.0}),
        (GrastaTracker, {"step_size": "greedy"}),
        (GrastaTracker, {"rho": -1.0}),
        (GrastaTracker, {"max_inner_iter": 0}),
        (RosetaTracker, {"rate": float("nan")}),
        (RosetaTracker, {"tol": -1e-3}),
        (OnlineRobustPCATracker, {"lambda1": -1.0}),
        (OnlineRobustPCATracker, {"lambda2": 0.0}),
        (OnlineRobustPCATracker, {"forgetting": 1.5}),
        (OnlineRobustPCATracker, {"sweeps": 0}),
    ],
)
def test_invalid_parameters_raise(cls: Any, parameters: Any) -> None:
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        cls(**parameters)


# --- as estimators -----------------------------------------------------------------------------

MODELS = pytest.mark.parametrize(
    ("model", "bound"),
    [
        (grouse.Grouse(2, step_size="diminishing", random_state=0), None),
        (grasta.Grasta(2, random_state=0), 1e-3),
        (roseta.Roseta(2, random_state=0), 1e-2),
        (online_robust_pca.OnlineRobustPCA(2, random_state=0), 5e-4),
    ],
    ids=lambda value: type(value).__name__,
)


@MODELS
@pytest.mark.parametrize("seed", range(3))
def test_estimators_find_a_subspace(model: Any, bound: Any, seed: int) -> None:
    density = 0.0 if bound is None else 0.1
    data = subspace_stream(2000, 30, 2, outlier_density=density, random_state=seed)
    truth = data.basis_at(1999).T
    assert sep(model.fit(data.X).components_, truth) < (bound or 2e-4)
    model.fit(data.X[:700]).partial_fit(data.X[700:])
    assert sep(model.components_, truth) < (bound or 2e-4)
    assert model.n_samples_seen_ == 2000
    parts, clean = model.decompose(data.X[:200]), data.clean[:200]
    assert not parts.outliers[np.isnan(data.X[:200])].any()
    # The ridge of online robust PCA makes codes a few percent too small.
    assert np.linalg.norm(parts.low_rank - clean) < 0.15 * np.linalg.norm(clean)


@MODELS
def test_estimators_give_the_same_in_pieces(model: Any, bound: Any) -> None:
    X = subspace_stream(600, 20, 2, random_state=1).X
    whole = model.fit(X).components_
    model.fit(X[:100])
    for start in (100, 101, 400):
        model.partial_fit(X[start : {100: 101, 101: 400, 400: 600}[start]])
    assert np.array_equal(model.components_, whole)
    single = model.fit(X.astype(np.float32))
    assert single.components_.dtype == np.float32
    assert single.transform(X[:5].astype(np.float32)).dtype == np.float32


def test_estimators_raise_for_invalid_parameters() -> None:
    X = subspace_stream(50, 20, 2, random_state=1).X
    for model, name in [
        (grouse.Grouse(step_size="full"), "step_size"),
        (grasta.Grasta(max_inner_iter=0), "max_inner_iter"),
        (roseta.Roseta(rate=-1.0), "rate"),
        (online_robust_pca.OnlineRobustPCA(sweeps=1.5), "sweeps"),
    ]:
        with pytest.raises(ParameterError, match=name):
            model.fit(X)


@pytest.mark.parametrize(
    "model",
    [
        grasta.Grasta(2, tol=0.0, max_inner_iter=7, random_state=0),
        roseta.Roseta(2, tol=0.0, max_inner_iter=7, random_state=0),
        online_robust_pca.OnlineRobustPCA(2, tol=0.0, max_inner_iter=7, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_without_a_tolerance_all_iterations_are_done(model: Any) -> None:
    X = subspace_stream(100, 20, 2, random_state=1).X
    few = model.fit(X).components_
    more = model.set_params(max_inner_iter=8).fit(X).components_
    assert np.isfinite(few).all()
    assert not np.array_equal(few, more)
    with pytest.raises(ParameterError, match="tol must be a finite number >= 0"):
        model.set_params(tol=-1.0).fit(X)
