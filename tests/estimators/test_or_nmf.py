"""OR-NMF: the paper's three algorithms end to end, its extensions, and what it learns."""

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.decomposition import NMF

import reference
from thalweg import ORNMF, DivergenceNMF, synthetic
from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.prox.box import Box
from thalweg.prox.l1 import L1
from thalweg.prox.simplex import Simplex
from thalweg.prox.squared_l2 import SquaredL2
from thalweg.updates.robust_approximation import Buffer


def data(n: int = 300, n_features: int = 20, rank: int = 3, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    clean = rng.gamma(0.7, 1.0, (n, rank)) @ rng.gamma(0.5, 1.0, (rank, n_features))
    return np.maximum(clean + 0.05 * clean.mean() * rng.normal(size=clean.shape), 0.0)


def transcription(
    X: Array,
    W: Array,
    seed: int,
    horizon: int,
    buffer: int,
    window: int,
    tol: float,
    project: Any = None,
    diameter: float | None = None,
) -> Array:
    """Return the dictionary of [R] Algorithms 1 to 3, with the misprints put right."""
    B: list[tuple[Array, Array]] = []
    bound, diameter = 0.0, diameter or sqrt(2 * W.shape[1])

    def steps(W: Array, V: Array, H: Array, theta: float, order: list[int], n: int) -> Any:
        def gradient(W: Array, v: Array, h: Array) -> Array:
            return np.outer(W @ h - v, h)

        span = theta * diameter
        into = project or Simplex().prox
        return reference.robust_approximation(V, H, W, order, bound, span, gradient, into, n)

    for t, start in enumerate(range(0, len(X), window), start=1):
        B += [(v, nnls(W, v)[0]) for v in X[start : start + window]]  # statements 2 to 4
        B = B[-buffer:]
        V, H = (np.array(part).T for part in zip(*B, strict=True))
        theta = 0.1 * np.cos((t - 1) * np.pi / (2 * horizon))  # statement 5
        order, seed = reference.random_permutation(len(B), seed)
        averages, _ = steps(W, V, H, theta, order, 300)  # statement 6
        k = next(
            k
            for k in range(max(2, len(B)), 300)
            if np.linalg.norm(averages[k] - averages[k - 1])
            <= tol * np.linalg.norm(averages[k - 1])  # (9)
        )
        (*_, W), bound = steps(W, V, H, theta, order, k)
    return W


def first_seed() -> Any:
    return np.random.default_rng(0).integers(2**64 - 1, size=1, dtype=np.uint64)[0]


@pytest.mark.parametrize(("buffer", "window"), [(None, 1), (5, 1), (None, 4), (6, 3)])
def test_the_estimator_is_the_paper_s_algorithm(buffer: int | None, window: int) -> None:
    X = data(24, 8, 3)
    start = np.random.default_rng(1).random((3, 8))
    model = ORNMF(
        3, buffer_size=buffer, window=window, init=start, horizon=24, tol=0.02, shuffle=False,
        batch_size=12, random_state=0,
    ).fit(X)  # fmt: skip
    W = (start / start.sum(axis=1, keepdims=True)).T
    expected = transcription(X, W, int(first_seed()), 24, buffer or 10**6, window, 0.02)
    np.testing.assert_allclose(model.components_.T, expected, rtol=0, atol=1e-8)
    assert np.abs(expected - W).max() > 0.01


def test_with_windows_of_one_the_cuts_into_batches_do_not_matter() -> None:
    X = data(120)
    whole = ORNMF(3, shuffle=False, random_state=0, init="random", batch_size=120).fit(X)
    start = whole.set_params(init=np.random.default_rng(5).random((3, 20)))
    ends = [start.set_params(batch_size=size).fit(X).components_ for size in (1, 7, 120)]
    assert np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[0], ends[2])
    explicit = start.set_params(window=1).fit(X).components_
    assert np.array_equal(ends[0], explicit)
    assert not np.allclose(ends[0], start.set_params(window=7).fit(X).components_)


def test_memory_is_constant_with_a_buffer_and_grows_without() -> None:
    sizes = {}
    for buffer in (12, None):
        model = ORNMF(3, buffer_size=buffer, random_state=0)
        for n in (60, 240):
            model.fit(data(n))
            sizes[buffer, n] = sum(part.nbytes for part in model.statistics_)
    assert sizes[12, 60] == sizes[12, 240]
    assert sizes[None, 240] > 3 * sizes[None, 60]


def test_the_buffer_of_its_own() -> None:
    X = data(150)
    for options, kept in (({}, 20), ({"n_components": 15}, 30), ({"window": 40}, 40)):
        model = ORNMF(**{"n_components": 3, "random_state": 0, **options}).fit(X)
        assert model.statistics_.V.shape[1] == kept


@pytest.mark.parametrize("options", [{}, {"window": 5}, {"horizon": 900}])
def test_it_comes_near_to_batch_nmf(options: Any) -> None:
    """On three times the data; the best of batch fits is the level to reach."""
    X = data(300)
    best = min(
        NMF(3, init="random", random_state=s, max_iter=5000, tol=1e-5).fit(X).reconstruction_err_
        for s in range(3)
    )
    model = ORNMF(3, epochs=3, random_state=0, **options).fit(X)
    first = ORNMF(3, random_state=0).partial_fit(X[:1])
    assert -model.score(X) < 1.35 * best**2 / (2 * 300)
    assert -model.score(X) < 0.1 * -first.score(X)


def test_algorithm_1_never_forgets_the_codes_of_its_first_components() -> None:
    """A short buffer does; with all samples the first, poor codes weigh like the last ones."""
    X = data(300)
    short, whole = (
        ORNMF(3, epochs=3, buffer_size=size, random_state=0).fit(X).score(X) for size in (20, None)
    )
    assert short > 0.8 * whole  # scores are negative


def test_codes_are_exact() -> None:
    X = data(60)
    model = ORNMF(3, random_state=0).fit(X)
    expected = [nnls(model.components_.T, x) for x in X]
    np.testing.assert_allclose(model.transform(X), [h for h, _ in expected], atol=1e-9)
    np.testing.assert_allclose(-model.score_samples(X), [r**2 / 2 for _, r in expected], rtol=1e-6)


def test_gaps_pull_nothing() -> None:
    """A masked gradient: imputed by the model itself, gaps would slow the components down."""
    X = data(600, 20, 3, seed=2)
    gaps = np.random.default_rng(0).random(X.shape) < 0.3
    model = ORNMF(3, epochs=4, random_state=0).fit(np.where(gaps, np.nan, X))
    filled = model.decompose(np.where(gaps, np.nan, X)).low_rank
    mean = np.broadcast_to(np.nanmean(np.where(gaps, np.nan, X), axis=0), X.shape)
    error, guess = (np.mean((part - X)[gaps] ** 2) for part in (filled, mean))
    assert error < 0.05 * guess


# --- extensions --------------------------------------------------------------------------------


def test_l1_makes_codes_sparse() -> None:
    """III-A."""
    X = data(300)
    shares = [
        np.mean(ORNMF(6, code_penalty=p, random_state=0).fit(X).transform(X) > 0)
        for p in (None, L1(1.0))
    ]
    assert shares[1] < 0.8 * shares[0]


def test_l2_makes_components_smooth() -> None:
    """III-B: the more it weighs, the shorter the components; the codes' part goes to the codes."""
    X = data(300)
    lengths = []
    for weight in (0.0, 1.0, 100.0):
        model = ORNMF(
            3, dictionary_penalty=SquaredL2(weight), code_penalty="l2", random_state=0, epochs=2
        ).fit(X)
        lengths.append(np.linalg.norm(model.components_))
        np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-9)
    assert lengths[0] > lengths[1] > lengths[2]
    assert lengths[2] < 1.2 * sqrt(3 / 20)  # of flat components


@pytest.mark.parametrize("upper", [0.4, np.linspace(0.2, 0.6, 20)], ids=["number", "array"])
def test_components_in_a_box(upper: Any) -> None:
    """III-C."""
    X = data(300)
    model = ORNMF(3, constraint=Box(0.02, upper), epochs=3, random_state=0).fit(X)
    assert np.all(model.components_ >= 0.02)
    assert np.all(model.components_ <= upper)
    assert np.any(model.components_ < 0.0201)
    free = ORNMF(3, epochs=3, random_state=0).fit(X)
    assert model.score(X) > 10 * free.score(X)  # scores are negative; zeros cannot be reached


@pytest.mark.parametrize("shape", [(), (8,), (3, 8)], ids=["number", "features", "entries"])
def test_bounds_of_entries_are_the_paper_s_algorithm(shape: tuple[int, ...]) -> None:
    """III-C, with clipping as the projection."""
    X, rng = data(24, 8, 3), np.random.default_rng(7)
    lower, upper = 0.02 + 0.1 * rng.random(shape), 0.3 + rng.random(shape)
    start = rng.random((3, 8))
    model = ORNMF(
        3, constraint=(lower, upper), buffer_size=5, init=start, horizon=24, tol=0.02,
        shuffle=False, batch_size=12, random_state=0,
    ).fit(X)  # fmt: skip
    low, high = (np.broadcast_to(b, (3, 8)).T for b in (lower, upper))
    expected = transcription(
        X, np.clip(start.T, low, high), int(first_seed()), 24, 5, 1, 0.02,
        lambda W: np.minimum(np.maximum(W, low), high), float(np.sqrt(np.sum((high - low) ** 2))),
    )  # fmt: skip
    np.testing.assert_allclose(model.components_.T, expected, rtol=0, atol=1e-8)
    assert np.all((model.components_ >= lower) & (model.components_ <= upper))
    assert np.abs(expected - np.clip(start.T, low, high)).max() > 0.01
    if not shape:
        boxed = model.set_params(constraint=Box(float(lower), float(upper))).fit(X)
        np.testing.assert_array_equal(boxed.components_.T, model.components_.T)


def test_a_component_can_be_kept_out_of_some_features() -> None:
    X = data(300)
    upper = np.full((3, 20), 0.5)
    upper[0, :10] = upper[1, 10:] = 0.0
    model = ORNMF(3, constraint=(0.0, upper), epochs=2, random_state=0).fit(X.astype(np.float32))
    assert model.components_.dtype == np.float32
    assert np.all(model.components_ <= upper.astype(np.float32))
    assert model.components_[0, 10:].max() > 0.0
    first = ORNMF(3, constraint=(0.0, upper), random_state=0).partial_fit(X[:1])
    assert model.score(X) > 0.6 * first.score(X)  # scores are negative


@pytest.mark.parametrize("loss", ["itakura-saito", "kl"])
def test_other_losses(loss: str) -> None:
    """III-D: far below the start, and not far above what all samples at once lead to."""
    noise = {"itakura-saito": "gamma", "kl": "poisson"}[loss]
    X = synthetic.nmf_with_noise(
        600, 20, 3, noise=noise, gamma_shape=5.0, offset=0.5, random_state=0
    ).X
    X = np.maximum(X, 1e-3 * X.mean())
    first = ORNMF(3, loss=loss, random_state=0).partial_fit(X[:1])
    model = ORNMF(3, loss=loss, epochs=5, random_state=0).fit(X)
    batch = DivergenceNMF(3, loss=loss, random_state=0, max_iter=300).fit(X)
    assert -model.score(X) < 0.7 * -first.score(X)
    assert -model.score(X) < 1.5 * -batch.score(X)


def test_frozen_components_stay() -> None:
    X = data(200)
    known = np.random.default_rng(0).random((1, 20))
    model = ORNMF(3, frozen_components=known, random_state=0).fit(X)
    np.testing.assert_array_equal(model.components_[:1], known)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"buffer_size": "all"}, "buffer_size.*'auto'"),
        ({"buffer_size": 0}, "buffer_size.*positive"),
        ({"window": 0}, "window"),
        ({"horizon": -1}, "horizon"),
        ({"tol": -1.0}, "tol"),
        ({"loss": "huber"}, "beta-divergence"),
        ({"constraint": "nonnegative"}, "bounded"),
        ({"constraint": Box(0.0, np.inf)}, "bounded"),
        ({"constraint": (0.0, np.inf)}, r"0 <= lower <= upper < inf.*\(2, 20\)"),
        ({"constraint": (-1.0, 1.0)}, "pair.*0 <= lower"),
        ({"constraint": (0.0, np.ones((20, 2)))}, r"of shape \(2, 20\).*components as rows"),
        ({"constraint": (0.5, 0.4)}, "pair.*lower <= upper"),
        ({"constraint": (0.0, 0.5, 1.0)}, "pair must be two bounds"),
        ({"dictionary_penalty": "group-lasso"}, "dictionary_penalty"),
        ({"init": "zeros"}, "init"),
    ],
)
def test_wrong_parameters(options: Any, words: str) -> None:
    model = ORNMF(2, **options)
    with pytest.raises(ParameterError, match=words):
        model.fit(data(30))
    assert not hasattr(model, "components_")


def test_faces(shared_data: Any) -> None:
    """CBCL: far from the start, and near to batch NMF."""
    with np.load(shared_data("cbcl_faces.npz")) as file:
        X = file["images"].reshape(2429, -1)[:600] / 255.0
    batch = NMF(10, init="nndsvda", max_iter=2000, tol=1e-3).fit(X).reconstruction_err_ ** 2 / (
        2 * 600
    )
    model = ORNMF(10, epochs=2, random_state=0).fit(X)
    assert -model.score(X) < 1.25 * batch


@pytest.mark.parametrize("loss", ["itakura-saito", "kl"])
def test_other_losses_take_zeros_gaps_sparse_and_single_precision(loss: str) -> None:
    X = data(80)
    X = np.where(np.median(X) > X, 0.0, X)
    model = ORNMF(3, loss=loss, random_state=0)
    dense = model.fit(X).components_
    thin = model.fit(sparse.csr_array(X)).components_
    np.testing.assert_allclose(thin, dense, atol=1e-6)  # the floor is a sum in another order
    gappy = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    narrow = model.fit(gappy.astype(np.float32))
    assert narrow.components_.dtype == np.float32
    found = narrow.decompose(gappy.astype(np.float32))
    assert all(np.isfinite(part).all() for part in found)
    np.testing.assert_allclose(narrow.components_.sum(axis=1), 1.0, rtol=1e-5)


def test_a_stream_goes_on_from_its_arrays() -> None:
    """All that a stream needs is components, arrays of its state, and counts."""
    X = data(60)
    whole = ORNMF(3, random_state=0).partial_fit(X[:30])
    state = [np.array(part) for part in whole.statistics_]
    other = ORNMF(3, random_state=99).partial_fit(X[:1])
    other.components_ = whole.components_.copy()
    other.statistics_ = Buffer(*state)
    whole.partial_fit(X[30:])
    other.partial_fit(X[30:])
    assert np.array_equal(other.components_, whole.components_)
