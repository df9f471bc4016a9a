"""Metrics against loops, hand-computed values and a general convex solver."""

from collections import Counter
from functools import partial
from math import inf, log2, log10, nan, pi, sqrt
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import subspace_angles

from thalweg.encoders.fast import Fast
from thalweg.errors import InputError, ParameterError, ThalwegError
from thalweg.metrics import (
    OutlierScores,
    empirical_loss,
    entropy,
    losses,
    outlier_error,
    outlier_scores,
    principal_angles,
    psnr,
    purity,
    reconstruction_loss,
    sep,
    subspace_error,
    surrogate_loss,
)
from thalweg.synthetic import nmf_with_outliers

WEIGHT = 0.15


@pytest.fixture
def small() -> Any:
    return nmf_with_outliers(6, 8, 3, density=0.3, missing=0.15, random_state=5)


def loss_by_loop(X: Any, codes: Any, outliers: Any, components: Any, weight: float) -> float:
    total = 0.0
    for i in range(len(X)):
        for j in range(len(X[0])):
            if not np.isnan(X[i][j]):
                fit = sum(codes[i][k] * components[k][j] for k in range(len(components)))
                total += (X[i][j] - fit - outliers[i][j]) ** 2 / 2 + weight * abs(outliers[i][j])
    return total / len(X)


def least_loss(x: Any, W: Any, weight: float, bound: float) -> float:
    """Solve [O] (5) for one sample, with gaps, by a general solver."""
    observed = ~np.isnan(x)
    h, r = cp.Variable(W.shape[1], nonneg=True), cp.Variable(int(observed.sum()))
    error = x[observed] - W[observed] @ h - r
    loss = cp.sum_squares(error) / 2 + weight * cp.norm1(r)
    problem = cp.Problem(cp.Minimize(loss), [cp.abs(r) <= bound] if bound < inf else [])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return float(problem.value)


def test_psnr_by_hand():
    # errors 0.3, 0.1, 0, 0.2: mean square 0.14 / 4
    clean, estimate = [[0.0, 0.5], [1.0, 0.2]], [[0.3, 0.4], [1.0, 0.0]]
    assert psnr(clean, estimate) == pytest.approx(-10 * log10(0.035), rel=1e-12)
    assert psnr(clean, estimate, peak=10) == pytest.approx(20 - 10 * log10(0.035), rel=1e-12)


def test_psnr_does_not_depend_on_the_unit(small):
    here = psnr(small.clean, small.X)
    assert psnr(255 * small.clean, 255 * small.X, peak=255) == pytest.approx(here, rel=1e-12)


def test_psnr_ignores_missing_entries():
    clean, estimate = np.zeros((3, 2)), np.full((3, 2), 0.1)
    clean[0, 0], estimate[1, 1] = nan, nan
    estimate[0, 0] = clean[1, 1] = 1e9
    assert psnr(clean, estimate) == pytest.approx(20, rel=1e-12)


def test_psnr_of_a_perfect_estimate(small):
    assert psnr(small.clean, small.clean) == inf


def test_psnr_of_single_precision_is_computed_in_double():
    clean = np.full((1000, 1000), 0.5, dtype=np.float32)
    estimate = clean + np.float32(2**-7)
    assert psnr(clean, estimate) == pytest.approx(140 * log10(2), rel=1e-12)


def test_psnr_is_the_reconstruction_loss_in_decibels(small):
    # (48) is (46) / (F / 2) on a logarithmic scale
    codes = small.codes + 0.1
    loss = reconstruction_loss(small.clean, codes, small.components)
    found = psnr(small.clean, codes @ small.components)
    assert found == pytest.approx(-10 * log10(loss * 2 / 8), rel=1e-12)


@pytest.mark.parametrize("clean", [np.full((2, 3), nan), np.empty((0, 3))])
def test_psnr_without_observed_entries(clean):
    with pytest.raises(InputError, match="have an entry that is a number in both"):
        psnr(clean, np.zeros(clean.shape))


@pytest.mark.parametrize("peak", [0, -1.0, inf, nan, "1", None])
def test_bad_peaks(peak):
    with pytest.raises(ParameterError, match="peak must be a positive finite number"):
        psnr([[1.0]], [[0.0]], peak=peak)


def test_reconstruction_loss_by_loop(small):
    codes = small.codes + 0.1
    nothing = np.zeros((6, 8))
    for clean in (small.clean, small.X):
        expected = loss_by_loop(clean, codes, nothing, small.components, 0.0)
        found = reconstruction_loss(clean, codes, small.components)
        assert found == pytest.approx(expected, rel=1e-12)


def test_surrogate_loss_by_loop(small):
    codes, outliers = small.codes + 0.1, small.outliers - 0.05
    expected = loss_by_loop(small.X, codes, outliers, small.components, 0.3)
    arguments = (small.X, codes, outliers, small.components)
    assert surrogate_loss(*arguments, outlier_weight=0.3) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("there", [nan, 1e6])
def test_outliers_at_missing_entries_do_not_count(small, there):
    gaps = np.isnan(small.X)
    assert gaps.any()
    losses = [
        surrogate_loss(
            small.X,
            small.codes,
            np.where(gaps, value, small.outliers),
            small.components,
            outlier_weight=WEIGHT,
        )
        for value in (0.0, there)
    ]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("bound", [inf, 0.3, 0.0])
def test_empirical_loss_against_a_general_solver(small, bound):
    W = small.components.T
    expected = np.mean([least_loss(x, W, WEIGHT, bound) for x in small.X])
    found = empirical_loss(
        small.X, small.components, outlier_weight=WEIGHT, outlier_bound=bound, tol=1e-9
    )
    assert found == pytest.approx(expected, rel=1e-7)


def test_empirical_loss_by_hand():
    # one component (1, 1), sample (0, 1): h = 1/2, residuals 1/2, beyond the weight a half:
    # 2 (weight / 2 - weight^2 / 2) with weight < 1/2; the other sample lies on the component
    found = empirical_loss([[0.0, 1.0], [3.0, 3.0]], [[1.0, 1.0]], outlier_weight=0.2)
    assert found == pytest.approx((2 * (0.1 - 0.02)) / 2, rel=1e-7)


def test_empirical_loss_is_the_mean_over_all_blocks_of_rows():
    data = nmf_with_outliers(1500, 12, 2, missing=0.1, random_state=6)
    whole = empirical_loss(data.X, data.components, outlier_weight=WEIGHT)
    parts = [
        empirical_loss(rows, data.components, outlier_weight=WEIGHT)
        for rows in np.split(data.X, 10)
    ]
    assert whole == pytest.approx(np.mean(parts), rel=1e-7)


def test_empirical_loss_is_the_minimum(small):
    rng = np.random.default_rng(0)
    least = empirical_loss(small.X, small.components, outlier_weight=WEIGHT)
    for size in (0.0, 0.01, 0.1, 1.0):
        codes = np.maximum(small.codes + size * rng.standard_normal(small.codes.shape), 0)
        outliers = small.outliers + size * rng.standard_normal(small.outliers.shape)
        other = surrogate_loss(small.X, codes, outliers, small.components, outlier_weight=WEIGHT)
        assert least < other


def test_a_sample_without_observed_entries_has_loss_zero(small):
    more = np.vstack([small.X, np.full((6, 8), nan)])
    half = empirical_loss(more, small.components, outlier_weight=WEIGHT)
    whole = empirical_loss(small.X, small.components, outlier_weight=WEIGHT)
    assert half == pytest.approx(whole / 2, rel=1e-12)


def test_reaching_max_iter_raises(small, monkeypatch):
    monkeypatch.setattr(losses, "Fast", partial(Fast, max_iter=1))
    with pytest.raises(ThalwegError, match=r"minima did not reach .* Use a larger tol"):
        empirical_loss(small.X, small.components, outlier_weight=WEIGHT)


@pytest.mark.parametrize("weight", [-0.1, inf, nan, None, "auto"])
def test_bad_weights(small, weight):
    with pytest.raises(ParameterError, match="outlier_weight must be a finite number >= 0"):
        empirical_loss(small.X, small.components, outlier_weight=weight)
    with pytest.raises(ParameterError, match="outlier_weight must be a finite number >= 0"):
        surrogate_loss(
            small.X, small.codes, small.outliers, small.components, outlier_weight=weight
        )


def test_bad_bounds_and_tolerances(small):
    for bad in ({"outlier_bound": -1.0}, {"tol": 0.0}, {"tol": nan}):
        with pytest.raises(ParameterError, match="must be a"):
            empirical_loss(small.X, small.components, outlier_weight=0.1, **bad)


@pytest.mark.parametrize("entry", [-0.1, nan])
def test_negative_components_raise(small, entry):
    components = small.components.copy()
    components[1, 2] = entry
    with pytest.raises(InputError, match="components must be >= 0"):
        empirical_loss(small.X, components, outlier_weight=0.1)


def test_outlier_scores_by_hand():
    # hits 2, false alarms 1, misses 3
    truth = np.array([[1, 1, 1, 1], [1, 0, 0, 0]], dtype=bool)
    found = np.array([[1, 1, 0, 0], [0, 1, 0, 0]], dtype=bool)
    scores = outlier_scores(truth, found)
    assert scores == pytest.approx((2 / 3, 2 / 5, 4 / 8), rel=1e-15)
    assert scores.f1 == pytest.approx(2 / (1 / scores.precision + 1 / scores.recall))


def test_outlier_scores_by_loop():
    rng = np.random.default_rng(0)
    truth, found = rng.random((2, 5, 6, 7)) < [[[[0.3]]], [[[0.5]]]]
    pairs = list(zip(truth.ravel().tolist(), found.ravel().tolist(), strict=True))
    hits, alarms, misses = (
        pairs.count(pair) for pair in [(True, True), (False, True), (True, False)]
    )
    expected = (
        hits / (hits + alarms),
        hits / (hits + misses),
        2 * hits / (2 * hits + alarms + misses),
    )
    assert outlier_scores(truth, found) == pytest.approx(expected, rel=1e-15)
    swapped = outlier_scores(found, truth)
    assert swapped == pytest.approx((expected[1], expected[0], expected[2]), rel=1e-15)


def test_outlier_scores_without_outliers():
    none, some = np.zeros((2, 3), dtype=bool), np.eye(2, 3, dtype=bool)
    assert outlier_scores(none, none) == OutlierScores(1.0, 1.0, 1.0)
    assert outlier_scores(some, none) == OutlierScores(1.0, 0.0, 0.0)
    assert outlier_scores(none, some) == OutlierScores(0.0, 1.0, 0.0)
    assert outlier_scores(some, some) == OutlierScores(1.0, 1.0, 1.0)


@pytest.mark.parametrize("kind", [float, int])
def test_masks_must_be_boolean(kind):
    mask = np.eye(3, dtype=bool)
    with pytest.raises(InputError, match="truth_mask must be boolean"):
        outlier_scores(mask.astype(kind), mask)
    with pytest.raises(InputError, match="found_mask must be boolean"):
        outlier_scores(mask, mask.astype(kind))


def test_outlier_error_by_hand():
    # errors 1, -2, 2 and outliers 3, 4: 3 / 5
    truth, found = [[3.0, 0.0], [0.0, 4.0]], [[4.0, -2.0], [0.0, 2.0]]
    assert outlier_error(truth, found) == pytest.approx(3 / 5, rel=1e-15)
    assert outlier_error(truth[0], found[0]) == pytest.approx(sqrt(5) / 3, rel=1e-15)


def test_outlier_error_limits_and_units(small):
    truth = small.outliers
    assert outlier_error(truth, truth) == 0
    assert outlier_error(truth, np.zeros_like(truth)) == 1
    assert outlier_error(truth, 1.25 * truth) == pytest.approx(0.25, rel=1e-12)
    here = outlier_error(truth, small.X)
    for unit in (1e-200, 9.0, 1e200):
        assert outlier_error(unit * truth, unit * small.X) == pytest.approx(here, rel=1e-12)


def test_outlier_error_ignores_missing_entries():
    truth, found = np.array([3.0, 4.0, 1e9, nan]), np.array([3.0, 3.0, nan, 1e9])
    assert outlier_error(truth, found) == pytest.approx(1 / 5, rel=1e-15)


def test_outlier_error_without_outliers():
    none = np.zeros((2, 3))
    assert outlier_error(none, none) == 0
    assert outlier_error(none, none + 1e-9) == inf
    # the only outlier is at a missing entry
    assert outlier_error([[5.0, 0.0]], [[nan, 0.0]]) == 0


def planted(angles: Any, n_features: int, seed: int = 0) -> tuple[Any, Any]:
    """Return bases, as rows, of two subspaces that have these principal angles."""
    rng, k = np.random.default_rng(seed), len(angles)
    Q = np.linalg.qr(rng.standard_normal((n_features, 2 * k)))[0].T
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    return c * Q[:k] + s * Q[k:], Q[:k]


def mixed(basis: Any, seed: int) -> Any:
    """Return another basis of the same space, with rows of very different lengths."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((len(basis), len(basis))))[0]
    other = (turn + 0.1 * rng.standard_normal(turn.shape)) @ basis
    return other * 10.0 ** rng.integers(-150, 150, (len(basis), 1))


@pytest.mark.parametrize(("rank", "features"), [(1, 2), (2, 50), (5, 12), (3, 6)])
@pytest.mark.parametrize("seed", range(3))
def test_subspace_metrics_against_scipy_and_the_trace_formula(rank, features, seed):
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((2, rank, features))
    angles = subspace_angles(U.T, V.T)
    np.testing.assert_allclose(principal_angles(U, V), angles, atol=1e-14)
    assert subspace_error(U, V) == pytest.approx(np.sin(angles[0]), abs=1e-14)
    es, ex = np.linalg.qr(U.T)[0], np.linalg.qr(V.T)[0]
    shared = np.trace(es.T @ ex @ ex.T @ es)
    rest = np.trace(es.T @ (np.eye(features) - ex @ ex.T) @ es)
    assert sep(U, V) == pytest.approx(rest / shared, rel=1e-12, abs=1e-14)
    assert sep(U, V) == pytest.approx(
        np.sum(np.sin(angles) ** 2) / np.sum(np.cos(angles) ** 2), rel=1e-12, abs=1e-14
    )


@pytest.mark.parametrize("largest", [1e-10, 1e-8, 1e-5, 0.01, 0.7, 1.5, pi / 2 - 1e-10, pi / 2])
def test_known_angles_are_accurate_to_the_last_digits(largest):
    angles = np.array([largest, 0.5 * largest, 1e-3 * largest, 0.0])
    estimate, truth = planted(angles, 30)
    found = principal_angles(estimate, truth)
    np.testing.assert_allclose(found, angles, rtol=0, atol=3e-15)
    assert subspace_error(estimate, truth) == pytest.approx(np.sin(largest), rel=0, abs=3e-15)
    expected = np.sum(np.sin(angles) ** 2) / np.sum(np.cos(angles) ** 2)
    assert sep(estimate, truth) == pytest.approx(expected, rel=1e-4)
    assert found.min() >= 0
    assert found.max() <= pi / 2 + 1e-15


@pytest.mark.parametrize("seed", range(3))
def test_subspaces_with_common_directions(seed):
    # four dimensions of six: two angles are zero, whatever the others are
    angles = np.array([1.2, 1e-9, 0.0, 0.0])
    rng = np.random.default_rng(seed)
    e = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    c, s = np.cos(angles), np.sin(angles)
    estimate = np.stack([e[2], c[0] * e[0] + s[0] * e[4], c[1] * e[1] + s[1] * e[5], e[3]])
    np.testing.assert_allclose(principal_angles(estimate, e[:4]), angles, rtol=0, atol=3e-15)
    assert subspace_error(estimate, e[:4]) == pytest.approx(s[0], rel=1e-14)
    assert sep(estimate, e[:4]) == pytest.approx(np.sum(s**2) / np.sum(c**2), rel=1e-14)
    assert subspace_error(e, rng.standard_normal((6, 6))) < 1e-14  # both are the whole space


def test_right_and_tiny_angles_together():
    angles = np.array([pi / 2, pi / 2 - 1e-9, 0.8, 1e-9, 1e-10])
    found = principal_angles(*planted(angles, 15, seed=1))
    np.testing.assert_allclose(found, angles, rtol=0, atol=3e-15)


@pytest.mark.parametrize("largest", [1e-6, 0.3, 1.4])
@pytest.mark.parametrize("seed", range(3))
def test_subspace_metrics_do_not_depend_on_the_bases(largest, seed):
    estimate, truth = planted(np.array([largest, 0.2 * largest, 0.1 * largest]), 20, seed)
    others = mixed(estimate, seed + 10), mixed(truth, seed + 20)
    np.testing.assert_allclose(
        principal_angles(*others), principal_angles(estimate, truth), atol=1e-14
    )
    for metric in (subspace_error, sep):
        here = metric(estimate, truth)
        assert metric(*others) == pytest.approx(here, rel=1e-8)
        assert metric(truth, estimate) == pytest.approx(here, rel=1e-8)


def test_subspace_error_differs_from_the_printed_formula():
    # one common direction: the largest cosine is 1, and the printed formula would give 0
    shared, other = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]]
    assert subspace_error(shared, other) == pytest.approx(0.8, rel=1e-14)
    assert sep(shared, other) == pytest.approx(0.64 / 1.36, rel=1e-14)


def test_subspace_metrics_limits():
    first, last = np.eye(2, 5), np.eye(5)[3:]
    for basis in (first, first[::-1], first * 1e200, first * -1e-200):
        assert subspace_error(basis, first) == 0
        assert sep(basis, first) == 0
        assert principal_angles(basis, first).tolist() == [0, 0]
    assert subspace_error(first, last) == 1
    assert sep(first, last) == inf
    np.testing.assert_allclose(principal_angles(first, last), pi / 2, rtol=1e-15)


@pytest.mark.parametrize("metric", [sep, subspace_error, principal_angles])
@pytest.mark.parametrize(
    ("estimate", "truth", "message"),
    [
        (np.eye(2, 5), np.eye(2, 4), r"estimate must have shape \(2, 4\) to match truth"),
        (np.eye(3, 5), np.eye(2, 5), r"estimate must have shape \(2, 5\) .* got \(3, 5\)"),
        (np.eye(5, 2), np.eye(2, 5), "estimate must have linearly independent rows.* transposed"),
        (np.eye(2, 5), np.ones((2, 5)), "truth must have linearly .* got 2 rows of rank 1"),
        (np.eye(2, 5) * [[1], [0]], np.eye(2, 5), "estimate must have linearly .* of rank 1"),
        (np.zeros((2, 5)), np.eye(2, 5), "estimate must have linearly .* of rank 0"),
        (np.eye(2, 5), np.ones(5), r"truth must be a nonempty matrix, got .* \(5,\)"),
        (np.eye(2, 5), np.ones((0, 5)), "truth must be a nonempty matrix"),
        (np.eye(2, 5) * nan, np.eye(2, 5), "estimate must be finite, got NaN"),
        (np.eye(2, 5), np.diag([1, inf]), "truth must be finite, got inf"),
        ("U", np.eye(2, 5), "estimate must be an array of numbers"),
    ],
)
def test_bad_bases(metric, estimate, truth, message):
    with pytest.raises(InputError, match=message):
        metric(estimate, truth)


def test_purity_and_entropy_by_hand():
    # cluster 0 has labels a a b, cluster 1 has b c c c, cluster 2 has a
    labels, found = list("aabbccca"), [0, 0, 0, 1, 1, 1, 1, 2]
    assert purity(labels, found) == pytest.approx((2 + 3 + 1) / 8, rel=1e-15)
    thirds = log2(3) - 2 / 3
    quarters = 2 - 3 / 4 * log2(3)
    expected = (3 * thirds + 4 * quarters) / (8 * log2(3))
    assert entropy(labels, found) == pytest.approx(expected, rel=1e-14)


def agreement_by_loop(labels: Any, found: Any) -> tuple[float, float]:
    best, bits = 0, 0.0
    for group in set(found):
        inside = [label for label, other in zip(labels, found, strict=True) if other == group]
        counts = Counter(inside).values()
        best += max(counts)
        bits -= sum(count * log2(count / len(inside)) for count in counts)
    return best / len(labels), bits / len(labels) / log2(len(set(labels)))


@pytest.mark.parametrize("seed", range(4))
def test_purity_and_entropy_by_loop(seed):
    rng = np.random.default_rng(seed)
    labels, found = rng.integers(0, 4, 200), 10 * rng.integers(-3, 3, 200)
    expected = agreement_by_loop(labels.tolist(), found.tolist())
    assert (purity(labels, found), entropy(labels, found)) == pytest.approx(expected, rel=1e-12)
    names = np.array(["sport", "tech", "politics", "business"])[labels]
    order = rng.permutation(200)
    again = purity(names[order], found[order]), entropy(names[order], found[order])
    assert again == pytest.approx(expected, rel=1e-12)


def test_purity_and_entropy_limits():
    labels = [0, 1, 2, 0, 1, 2]
    for pure in ([5, 3, 4, 5, 3, 4], range(6)):
        assert purity(labels, pure) == 1
        assert entropy(labels, pure) == 0
    for mixed in ([0] * 6, [0, 0, 0, 1, 1, 1]):
        assert purity(labels, mixed) == pytest.approx(1 / 3)
        assert entropy(labels, mixed) == pytest.approx(1, rel=1e-15)
    assert purity([7, 7, 7], [0, 0, 1]) == 1
    assert entropy([7, 7, 7], [0, 0, 1]) == 0


@pytest.mark.parametrize("score", [purity, entropy])
@pytest.mark.parametrize(
    ("labels", "found", "message"),
    [
        ([0, 1, 1], [0, 1], r"found must have shape \(3,\) to match labels"),
        ([], [], "labels must be a list with one label for each sample"),
        ([0, 1], np.ones((2, 3)), r"found must be a list .* got .*\(2, 3\).*argmax"),
        (1, [1], r"labels must be a list .* got .* shape \(\)"),
        ([0.0, nan], [0, 1], "labels must be known for each sample, got NaN"),
        ([0, 1], np.array([None, "a"]), "found must be labels of one type"),
        ([0, [1]], [0, 1], "labels must be labels of one type"),
    ],
)
def test_bad_labels(score, labels, found, message):
    with pytest.raises(InputError, match=message):
        score(labels, found)


X, H, R, W = np.ones((4, 5)), np.ones((4, 2)), np.zeros((4, 5)), np.ones((2, 5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: psnr(X, X.T), r"estimate must have shape \(4, 5\) .* got \(5, 4\)"),
        (lambda: psnr(X, X[0]), r"estimate must have shape \(4, 5\) .* got \(5,\)"),
        (lambda: outlier_scores(X > 0, X.T > 0), r"found_mask must have shape \(4, 5\)"),
        (lambda: outlier_error(X, X.T), r"found must have shape \(4, 5\) .* got \(5, 4\)"),
        (lambda: outlier_error(X, X * inf), "truth and found must be finite, got inf"),
        (lambda: outlier_error(X, X * nan), "must have an entry that is a number in both"),
        (lambda: outlier_error("X", X), "truth must be an array of numbers"),
        (lambda: reconstruction_loss(X, H.T, W), r"codes must have shape \(4, 2\)"),
        (lambda: reconstruction_loss(X, H, W.T), r"components must have shape \(5, 5\)"),
        (lambda: reconstruction_loss(X[0], H, W), r"clean must be a nonempty .*\(5,\)"),
        (lambda: reconstruction_loss(X[:0], H[:0], W), "clean must be a nonempty matrix"),
        (lambda: reconstruction_loss(X, [[1, 2], [3]], W), "codes must be an array of numbers"),
        (lambda: reconstruction_loss(X, H * nan, W), "must be finite, got NaN"),
        (lambda: reconstruction_loss(X * inf, H, W), "clean must be finite"),
        (lambda: surrogate_loss(X, H, R.T, W, outlier_weight=1), "outliers must have shape"),
        (lambda: surrogate_loss(X, H, R * nan, W, outlier_weight=1), "got NaN"),
        (lambda: empirical_loss(X, W.T, outlier_weight=1), "components must have shape"),
        (lambda: empirical_loss(X * inf, W, outlier_weight=1), "X must be finite"),
        (lambda: empirical_loss("X", W, outlier_weight=1), "X must be an array of numbers"),
    ],
)
def test_bad_arrays(call, message):
    with pytest.raises(InputError, match=message):
        call()
