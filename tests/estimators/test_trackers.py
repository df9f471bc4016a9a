"""Estimators that follow a subspace: streams, starts, jumps, drift, and what [T] shows."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thalweg
from thalweg import Grasta, Petrels, PetrelsADMM, half_life
from thalweg.errors import InputError, ParameterError
from thalweg.estimators import Progress
from thalweg.estimators._tracking import Tracking
from thalweg.metrics import outlier_scores, sep
from thalweg.synthetic import SubspaceStream, subspace_stream

Array = Any
CLASSES = [
    cls
    for name in sorted(thalweg.__all__)
    if isinstance(cls := getattr(thalweg, name), type) and issubclass(cls, Tracking)
]
EACH = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
OURS = pytest.mark.parametrize("cls", [Petrels, PetrelsADMM], ids=lambda cls: cls.__name__)


@cache
def stream(*sizes: int, **how: Any) -> SubspaceStream:
    return subspace_stream(*sizes, random_state=0, **how)


def random_basis(K: int, F: int, seed: int = 0) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(F, K)))[0].T


def same(one: Any, other: Any) -> bool:
    """Tell whether two estimators know the same, to the last bit."""
    names = ("components_", "drift_", "jumps_", "n_samples_seen_", "outlier_share_")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


# --- streams ---------------------------------------------------------------------------------


def test_the_trackers_are_discovered() -> None:
    assert {Petrels, PetrelsADMM, Grasta} < set(CLASSES)


@pytest.mark.parametrize(
    ("cls", "init"),
    [*((cls, "robust") for cls in CLASSES), (Petrels, "random"), (PetrelsADMM, "random")],
)
def test_any_cut_of_a_stream_gives_the_same(cls: Any, init: str) -> None:
    X = stream(240, 12, 2, jumps=(150,)).X
    how = {"init": init, "random_state": 3, "init_samples": 40, "on_jump": "reset"}
    whole = cls(2, **how).fit(X)
    for cuts in ([1, 2, 31, 32, 33, 64, 200], [40, 41, 128], range(1, 100)):
        pieces = cls(2, **how)
        for piece in np.split(X, cuts):
            pieces.partial_fit(piece)
        assert same(whole, pieces)


@OURS
def test_epochs_are_passes(cls: Any) -> None:
    X = stream(200, 20, 2).X
    twice = cls(2, epochs=2, random_state=0).fit(X)
    assert same(twice, cls(2, random_state=0).fit(X).partial_fit(X))
    assert twice.n_samples_seen_ == 400


@OURS
def test_fit_begins_anew(cls: Any) -> None:
    X = stream(200, 20, 2).X
    model = cls(2, random_state=0).fit(X[::-1])
    assert same(model.fit(X), cls(2, random_state=0).fit(X))


@OURS
def test_codes_of_a_row_do_not_depend_on_others(cls: Any) -> None:
    X = stream(200, 20, 2).X
    model = cls(2, random_state=0).fit(X)
    H = model.transform(X)
    for t in (0, 7, 199):
        np.testing.assert_allclose(model.transform(X[[t]])[0], H[t], rtol=1e-9, atol=1e-12)


@OURS
def test_sparse_rows_are_dense_rows(cls: Any) -> None:
    X = np.where(np.random.default_rng(0).random((150, 12)) < 0.5, stream(150, 12, 2).clean, 0.0)
    dense, thin = (cls(2, random_state=0).fit(data) for data in (X, sparse.csr_matrix(X)))
    assert same(dense, thin)
    assert np.array_equal(dense.transform(X), thin.transform(sparse.csr_matrix(X)))


@OURS
def test_a_callback_sees_progress(cls: Any) -> None:
    X, observed = stream(300, 20, 2).X, []
    model = cls(2, random_state=0, callback=observed.append).fit(X)
    assert [type(event) for event in observed] == [Progress] * len(observed)
    assert observed[-1].n_samples_seen == observed[-1].n_samples_total == 300
    assert same(model, cls(2, random_state=0).fit(X))
    model.partial_fit(X[:10])
    assert observed[-1].n_samples_seen == 310
    assert observed[-1].n_samples_total is None
    assert observed[-1].outlier_share == model.outlier_share_


def test_shares_of_outliers_are_those_of_late() -> None:
    data = subspace_stream(1500, 50, 2, outlier_density=0.2, random_state=0)
    model = PetrelsADMM(2, random_state=0).fit(data.X)
    late = data.outliers[-500:][~np.isnan(data.X[-500:])]
    assert model.outlier_share_ == pytest.approx(np.mean(late != 0.0), abs=0.03)
    assert Petrels(2, random_state=0).fit(data.X).outlier_share_ == 0.0


# --- starts ----------------------------------------------------------------------------------


@EACH
def test_a_basis_that_is_known_is_a_warm_start(cls: Any) -> None:
    data = stream(603, 30, 2, outlier_density=0.0)
    begun = cls(2, random_state=0).fit(data.X[:600])
    before = begun.components_.copy()
    warm = cls(2, init=begun.components_, random_state=0).fit(data.X[600:])
    random = cls(2, init="random", random_state=0).fit(data.X[600:])
    truth = data.basis_at(0).T
    assert sep(warm.components_, truth) < 0.5 * sep(random.components_, truth)
    assert np.array_equal(before, begun.components_)


@OURS
def test_a_random_start_depends_on_the_seed_alone(cls: Any) -> None:
    X = stream(40, 20, 2).X
    first, again, other = (cls(2, init="random", random_state=s).fit(X) for s in (1, 1, 2))
    assert same(first, again)
    assert sep(first.components_, other.components_) > 1e-6


@pytest.mark.parametrize("samples", [32, 100, "auto"])
def test_a_robust_start_ends(samples: Any) -> None:
    data = stream(600, 30, 2)
    model = PetrelsADMM(2, init_samples=samples, random_state=0)
    for t in range(600):
        model.partial_fit(data.X[[t]])
        if model.state_.init_samples is None:
            break
    least = {32: 32, 100: 128, "auto": 128 + 16}[samples]
    assert least <= model.n_samples_seen_ <= 2 * least
    assert sep(model.components_, data.basis_at(0).T) < 1e-2


@EACH
def test_components_are_orthonormal_where_asked(cls: Any) -> None:
    X = stream(100, 20, 3).X
    plain, straight = (cls(3, orthonormal=on, random_state=0).fit(X) for on in (False, True))
    np.testing.assert_allclose(straight.components_ @ straight.components_.T, np.eye(3), atol=1e-12)
    assert sep(plain.components_, straight.components_) < 1e-20
    parts = [model.decompose(X).low_rank for model in (plain, straight)]
    if cls.__name__ != "OnlineRobustPCA":  # whose ridge weighs codes, and so depends on the basis
        np.testing.assert_allclose(*parts, rtol=0, atol=0.05 * np.abs(parts[0]).max())


# --- jumps and drift -------------------------------------------------------------------------


@OURS
@pytest.mark.parametrize("seed", range(2))
def test_a_jump_is_noticed_and_followed(cls: Any, seed: int) -> None:
    density = 0.1 if cls is PetrelsADMM else 0.0
    data = subspace_stream(1500, 50, 2, outlier_density=density, jumps=[1000], random_state=seed)
    models = {on: cls(2, forgetting=0.9999, on_jump=on, random_state=0) for on in ("note", "reset")}
    for model in models.values():
        model.fit(data.X)
        assert len(model.jumps_) == 1
        assert 1000 < model.jumps_[0] <= 1064
    error = {on: sep(m.components_, data.basis_at(1499).T) for on, m in models.items()}
    assert error["reset"] < 1e-3
    assert error["reset"] < 0.1 * error["note"]


@OURS
@pytest.mark.parametrize("seed", range(5))
def test_a_stream_at_rest_has_no_jumps(cls: Any, seed: int) -> None:
    density = 0.1 if cls is PetrelsADMM else 0.0
    data = subspace_stream(5000, 30, 2, outlier_density=density, random_state=seed)
    assert cls(2, random_state=0, init_samples=64).fit(data.X).jumps_.size == 0


@OURS
@pytest.mark.parametrize("seed", range(2))
def test_a_subspace_that_turns_slowly_does_not_jump(cls: Any, seed: int) -> None:
    density = 0.1 if cls is PetrelsADMM else 0.0
    data = subspace_stream(4000, 50, 2, outlier_density=density, rotation=2e-4, random_state=seed)
    model = cls(2, forgetting=half_life(70), random_state=0).fit(data.X)
    assert model.jumps_.size == 0
    assert sep(model.components_, data.basis_at(3999).T) < 2e-3


@pytest.mark.parametrize("rotation", [2e-4, 1e-3])
def test_drift_is_the_angle_of_32_samples(rotation: float) -> None:
    data = subspace_stream(
        2000, 30, 2, outlier_density=0.0, rotation=rotation, snr=60, random_state=0
    )
    model = Petrels(2, forgetting=half_life(25), init_samples=64, random_state=0).fit(data.X)
    assert len(model.drift_) == 2000 // 32 - 2
    assert np.median(model.drift_[-40:]) == pytest.approx(32 * rotation, rel=0.25)


@OURS
def test_drift_at_rest_falls(cls: Any) -> None:
    data = stream(4000, 30, 2, outlier_density=0.0)
    drift = cls(2, forgetting=1.0, random_state=0).fit(data.X).drift_
    assert np.median(drift[-20:]) < 0.3 * np.median(drift[:20])


def test_drift_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.learning.cusum.MAX_HISTORY", 5)
    X = stream(600, 10, 2).X
    model = Petrels(2, init_samples=32, random_state=0).fit(X)
    assert len(model.drift_) == 5


# --- filling ---------------------------------------------------------------------------------


@EACH
def test_gaps_are_filled_and_the_rest_stays(cls: Any) -> None:
    data = stream(400, 20, 2, outlier_density=0.0, missing=0.3)
    gaps = np.isnan(data.X)
    model = cls(2, random_state=0).fit(data.X)
    before = model.components_.copy()
    filled = model.fill(data.X)
    assert np.array_equal(filled[~gaps], data.X[~gaps])
    assert np.array_equal(before, model.components_)
    assert np.linalg.norm((filled - data.clean)[gaps]) < 0.3 * np.linalg.norm(data.clean[gaps])


@EACH
def test_a_feature_that_was_never_seen_tells_nothing(cls: Any) -> None:
    """Its row is rounding at most, and the inverse of that must not come back as codes."""
    X = stream(400, 12, 3, outlier_density=0.0, missing=0.0).X.copy()
    alone, largest = np.full((2, 12), np.nan), float(np.abs(X).max())
    alone[0, 0], alone[1, :2] = largest, X[0, :2]
    X[:, 0] = np.nan
    model = cls(3, random_state=0).fit(X)
    assert np.abs(model.fill(alone)).max() < 10 * largest
    assert np.isfinite(model.partial_fit(alone).components_).all()


@pytest.mark.parametrize("cls", [PetrelsADMM, thalweg.RobustMatrixCompletion])
def test_samples_of_few_entries_with_outliers_are_not_filled_with_these(cls: Any) -> None:
    """Too few to tell an outlier by: the fill has to be better than none, which is off by 1."""
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(1500, 4)) @ rng.normal(size=(4, 20))
    X = clean + 0.1 * rng.normal(size=clean.shape)
    X += (rng.random(X.shape) < 0.1) * rng.uniform(-15, 15, size=X.shape)
    gaps = rng.random(X.shape) < 0.5
    filled = cls(4, random_state=0).fit(np.where(gaps, np.nan, X)).fill(np.where(gaps, np.nan, X))
    assert np.linalg.norm((filled - clean)[gaps]) < 0.8 * np.linalg.norm(clean[gaps])


def test_a_new_basis_after_a_jump_has_no_features_that_are_gone() -> None:
    """A sensor fails for good before the jump."""
    data = stream(2400, 30, 2, outlier_density=0.1, missing=0.1, jumps=(1200,))
    X = data.X.copy()
    X[600:, 4] = np.nan
    model = PetrelsADMM(2, random_state=0).fit(X)
    assert model.jumps_.size == 1
    rest = np.arange(30) != 4
    assert sep(model.components_[:, rest], data.basis_at(2399)[rest].T) < 1e-4
    assert np.isfinite(model.fill(X)).all()


def test_sensors_that_fail_do_not_spoil_real_fills(shared_data: Any) -> None:
    with np.load(shared_data("airquality_uci.npz"), allow_pickle=False) as data:
        X = data["X"].astype(np.float64)
    X = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    hidden = (np.random.default_rng(0).random(X.shape) < 0.3) & ~np.isnan(X)
    dirty = np.where(hidden, np.nan, X)
    filled = PetrelsADMM(4, random_state=0).fit(dirty).fill(dirty)
    assert np.sqrt(np.mean((filled - X)[hidden] ** 2)) < 1.0  # that of the mean


@OURS
def test_completion_is_several_passes_and_a_fill(cls: Any) -> None:
    data = stream(200, 40, 2, outlier_density=0.0, missing=0.5)
    gaps, model = np.isnan(data.X), cls(2, random_state=0)
    completed = model.complete(data.X, epochs=3)
    assert model.n_samples_seen_ == 600
    assert np.array_equal(completed, model.fill(data.X))
    assert np.array_equal(completed[~gaps], data.X[~gaps])
    assert np.linalg.norm((completed - data.clean)[gaps]) < 0.2 * np.linalg.norm(data.clean[gaps])
    with pytest.raises(ParameterError, match="epochs"):
        model.complete(data.X, epochs=0)


def test_completion_notes_jumps_and_keeps_its_basis() -> None:
    """The rows before a jump are filled as well, so what they taught must not be lost."""
    data = stream(2000, 30, 2, outlier_density=0.0, missing=0.3, jumps=(1000,))
    model = PetrelsADMM(4, on_jump="reset", random_state=0)
    completed = model.complete(data.X)
    assert model.jumps_.size > 0
    noting = PetrelsADMM(4, on_jump="note", random_state=0).fit(data.X)
    for _ in range(2):
        noting.partial_fit(data.X)
    assert np.array_equal(completed, noting.fill(data.X))
    assert model.on_jump == "reset", "later jumps have to reset the basis again"


# --- bad input -------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 21}, "at most the number of features"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 1.5}, "n_components"),
        ({"init": "pca"}, "init"),
        ({"init": np.ones((3, 20))}, r"init must be .* shape \(2, 20\)"),
        ({"init": np.full((2, 20), np.nan)}, "init must be"),
        ({"on_jump": "panic"}, "on_jump"),
        ({"init_samples": 0}, "init_samples"),
        ({"init_samples": "all"}, "init_samples"),
        ({"epochs": 0}, "epochs"),
    ],
)
def test_bad_parameters_are_told(cls: Any, parameters: Any, message: str) -> None:
    for method in ("fit", "partial_fit"):
        if method == "partial_fit" and "epochs" in parameters:
            continue
        with pytest.raises(ParameterError, match=message):
            getattr(cls(**{"n_components": 2, **parameters}), method)(stream(50, 20, 2).X)


@EACH
def test_a_basis_without_rank_is_told(cls: Any) -> None:
    with pytest.raises(ParameterError, match="linearly independent"):
        cls(2, init=np.ones((2, 20))).fit(stream(50, 20, 2).X)


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (Petrels, {"forgetting": 0.0}),
        (Petrels, {"step_size": "greedy"}),
        (Petrels, {"ridge": -1.0}),
        (PetrelsADMM, {"noise_scale": 0.0}),
        (PetrelsADMM, {"noise_scale": "none"}),
        (PetrelsADMM, {"solver": "lbfgs"}),
        (PetrelsADMM, {"threshold": 0.0}),
        (PetrelsADMM, {"huber_threshold": -1.0}),
        (PetrelsADMM, {"forgetting": [0.9]}),
    ],
)
def test_parameters_of_the_trackers_are_told(cls: Any, parameters: Any) -> None:
    with pytest.raises(ParameterError, match=r"must be"):
        cls(2, **parameters).fit(stream(50, 20, 2).X)


@OURS
def test_infinite_data_are_told(cls: Any) -> None:
    X = stream(50, 20, 2).X.copy()
    X[3, 4] = np.inf
    with pytest.raises(InputError, match="infinity"):
        cls(2).fit(X)


@EACH
def test_nothing_but_gaps_and_nothing_but_zeros_are_endured(cls: Any) -> None:
    for value in (np.nan, 0.0):
        model = cls(2, random_state=0).fit(np.full((300, 8), value))
        assert np.isfinite(model.components_).all()
        assert not model.transform(np.full((3, 8), value)).any()


# --- what [T] shows --------------------------------------------------------------------------


def setting_a(seed: int, density: float, intensity: float, **how: Any) -> SubspaceStream:
    """Return the stream of [T] V-A1: n = 50, r = 2, 5000 samples, 90 % observed, 20 dB."""
    return subspace_stream(
        5000, 50, 2, outlier_density=density, outlier_intensity=intensity, random_state=seed, **how
    )


def final(model: Any, data: SubspaceStream, X: Array) -> float:
    return sep(model.fit(X).components_, data.basis_at(len(X) - 1).T)


@pytest.mark.parametrize(
    ("noise", "density", "intensity", "factor"),
    [
        ("relative", 0.05, 5.0, 2.0),
        ("relative", 0.2, 10.0, 2.0),
        ("relative", 0.4, 5.0, 5.0),
        ("absolute", 0.2, 5.0, 2.0),
        ("absolute", 0.4, 10.0, 5.0),
    ],
)
def test_nearly_as_good_as_an_oracle(
    noise: Any, density: float, intensity: float, factor: float
) -> None:
    """PETRELS that is told where outliers are is hardly better."""
    data = setting_a(0, density, intensity, noise=noise)
    told = np.where(data.outliers != 0.0, np.nan, data.X)
    oracle = final(Petrels(2, forgetting=0.9999, random_state=0), data, told)
    assert final(PetrelsADMM(2, random_state=0), data, data.X) < factor * oracle


@pytest.mark.parametrize(
    ("noise", "density", "intensity"), [("relative", 0.4, 10.0), ("absolute", 0.2, 0.1)]
)
def test_units_do_not_matter(noise: Any, density: float, intensity: float) -> None:
    data = setting_a(0, density, intensity, noise=noise)
    units = [final(PetrelsADMM(2, random_state=0), data, u * data.X) for u in (1e-3, 1.0, 1e3)]
    np.testing.assert_allclose(units, units[1], rtol=1e-6)


@pytest.mark.parametrize(
    ("noise", "density", "intensity", "published"),
    [("relative", 0.4, 0.1, 2e-4), ("absolute", 0.2, 1.0, 4e-5), ("absolute", 0.4, 1.0, 2e-4)],
)
def test_outliers_hidden_in_the_noise(
    noise: Any, density: float, intensity: float, published: float
) -> None:
    """At most the error that the authors' code has."""
    data = setting_a(1, density, intensity, noise=noise)
    assert final(PetrelsADMM(2, random_state=0), data, data.X) < published


@pytest.mark.parametrize("snr", [10.0, 20.0])
def test_outliers_are_found_in_place(snr: float) -> None:
    data = setting_a(0, 0.2, 5.0, snr=snr)
    found = PetrelsADMM(2, random_state=0).fit(data.X).decompose(data.X).outliers
    observed = ~np.isnan(data.X)
    assert outlier_scores((data.outliers != 0.0)[observed], (found != 0.0)[observed]).f1 >= 0.95


@pytest.mark.parametrize("seed", [1, 4])
def test_most_of_the_data_missing_or_wrong(seed: int) -> None:
    """[T] Fig. 14: of 40 % missing, and 40 % of all entries corrupted, SEP below 1e-3."""
    data = setting_a(seed, 0.4, 10.0, missing=0.4)
    assert final(PetrelsADMM(2, random_state=0), data, data.X) < 1e-3


def test_gaps_alone_and_a_jump() -> None:
    """[T] Fig. 10: n = 30, r = 2, 80 % missing, and another subspace from sample 3000 on."""
    data = subspace_stream(
        5000, 30, 2, outlier_density=0.0, missing=0.8, jumps=[3000], random_state=1
    )
    model = PetrelsADMM(2, random_state=0).fit(data.X[:3000])
    assert sep(model.components_, data.basis_at(2999).T) < 1e-3
    model.partial_fit(data.X[3000:3300])
    assert 3000 < model.jumps_[-1] <= 3064
    assert sep(model.components_, data.basis_at(3299).T) < 1e-2
    model.partial_fit(data.X[3300:])
    assert sep(model.components_, data.basis_at(4999).T) < 1e-3
