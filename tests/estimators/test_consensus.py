"""Consensus of runs: planted components, stray ones, the steps of consensus NMF, clusters."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.optimize import linear_sum_assignment

from thalweg import DivergenceNMF, OnlineNMF, RobustNMF, consensus, report
from thalweg.errors import ParameterError
from thalweg.learning.component_clusters import (
    cluster_medians,
    cophenetic,
    distances,
    neighbour_distances,
    unit_rows,
)
from thalweg.streams.arrays import ArrayStream

pytestmark = pytest.mark.filterwarnings("ignore:.* stopped after max_iter")


def counts(seed=0, rank=4, n=400, n_features=50):
    rng = np.random.default_rng(seed)
    parts = rng.gamma(0.3, 1.0, (rank, n_features))
    X = rng.poisson(5.0 * rng.gamma(0.5, 1.0, (n, rank)) @ parts)
    return X * 1.0, unit_rows(parts)


def cosines(found, truth):
    """Return the cosines of matched components."""
    table = unit_rows(found) @ truth.T
    return table[linear_sum_assignment(-table)]


def test_consensus_finds_planted_components():
    X, truth = counts()
    found = consensus(DivergenceNMF(4, max_iter=100), X, n_runs=8)
    assert cosines(found.components, truth).min() > 0.97
    assert cosines(found.estimator.components_, truth).min() > 0.98
    assert found.stability[0].silhouette > 0.9
    assert found.stability[0].n_total == 32
    np.testing.assert_allclose(np.linalg.norm(found.components, axis=1), 1.0)


def test_components_are_in_the_order_of_their_shares():
    X, _ = counts()
    found = consensus(DivergenceNMF(4, max_iter=100), X, n_runs=5)
    codes = found.estimator.transform(X)
    shares = np.square(codes).mean(axis=0) * np.square(found.estimator.components_).sum(axis=1)
    assert np.all(np.diff(shares) < 0.1 * shares[:-1])


def test_stray_components_are_left_out():
    X, _ = counts()
    found = consensus(DivergenceNMF(7, max_iter=30), X, n_runs=8, max_distance=0.25)
    stray = found.distances > 0.25
    np.testing.assert_array_equal(found.labels < 0, stray)
    assert stray.any()
    assert found.stability[0].n_kept == np.sum(~stray)


def test_the_steps_are_those_of_consensus_nmf():
    """A transcription of the published steps, one component at a time."""
    X, _ = counts(n=150)
    found = consensus(DivergenceNMF(3, max_iter=20), X, n_runs=6, max_distance=0.4)
    runs, n = found.runs, len(found.runs)
    table = np.array([[np.linalg.norm(a - b) for b in runs] for a in runs])
    near = [np.sort(np.delete(table[i], i))[:2].mean() for i in range(n)]
    np.testing.assert_allclose(found.distances, near, atol=1e-7)
    for k, median in enumerate(found.components):
        own = np.median(runs[found.labels == k], axis=0)
        np.testing.assert_allclose(median, own / np.linalg.norm(own), atol=1e-12)
    kept = np.flatnonzero(found.labels >= 0)
    widths = []
    for i in kept:
        same = [table[i, j] for j in kept if found.labels[j] == found.labels[i] and j != i]
        others = [
            np.mean([table[i, j] for j in kept if found.labels[j] == k])
            for k in range(3)
            if k != found.labels[i]
        ]
        a, b = np.mean(same), min(others)
        widths.append((b - a) / max(a, b))
    assert found.stability[0].silhouette == pytest.approx(np.mean(widths), abs=1e-6)


def test_cophenetic_correlation_is_that_of_the_tree():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 3, (7, 12))
    apart = [
        1.0 - np.mean(groups[:, i] == groups[:, j]) for i in range(12) for j in range(i + 1, 12)
    ]
    tree = cophenet(linkage(apart, "average"))
    assert cophenetic(groups) == pytest.approx(np.corrcoef(tree, apart)[0, 1])
    assert cophenetic(np.array([[0, 0, 1], [2, 2, 0]])) == 1.0
    assert cophenetic(np.zeros((3, 5), int)) == 1.0


def test_single_components_and_zeros():
    units = unit_rows(np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert neighbour_distances(distances(units), 5).shape == (2,)
    np.testing.assert_array_equal(cluster_medians(units, np.array([0, 1])), units)


def test_the_most_stable_number_is_taken():
    X, _ = counts(rank=3)
    found = consensus(DivergenceNMF(max_iter=150), X, n_runs=6, n_components=[3, 6])
    assert [one.n_components for one in found.stability] == [3, 6]
    assert len(found.components) == 3
    assert found.stability[0].silhouette > found.stability[1].silhouette


def test_the_number_may_be_found_first():
    X, _ = counts(rank=3)
    found = consensus(DivergenceNMF("auto", max_iter=30), X, n_runs=3)
    assert found.estimator.n_components_ == 3


@pytest.mark.parametrize("kind", ["sparse", "stream", "gaps"])
def test_sparse_data_streams_and_gaps(kind):
    X, truth = counts()
    data = {"sparse": sparse.csr_array(X), "stream": ArrayStream(X), "gaps": X.copy()}[kind]
    if kind == "gaps":
        data[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    found = consensus(OnlineNMF(4, epochs=5), data, n_runs=5)
    assert cosines(found.components, truth).min() > 0.9


def test_robust_estimators_agree_despite_outliers():
    X, truth = counts()
    X[np.random.default_rng(1).random(X.shape) < 0.03] = 200.0
    found = consensus(RobustNMF(4, max_iter=100), X, n_runs=5)
    assert cosines(found.components, truth).min() > 0.9


def test_seeds_decide():
    X, _ = counts(n=100)
    one, same, other = (
        consensus(
            DivergenceNMF(3, max_iter=5), X, n_runs=2, max_distance=2.0, random_state=seed
        ).runs
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_the_report_shows_what_was_found():
    X, _ = counts(n=100)
    found = consensus(DivergenceNMF(max_iter=20), X, n_runs=3, n_components=[2, 3])
    panels = report.consensus_panels(found)
    assert [panel.name for panel in panels] == ["facts", "heat-map", "curve", "curve"]
    table = panels[1].layers["distance"]
    assert table.shape == (len(found.runs),) * 2
    np.testing.assert_allclose(np.diag(table), 0.0, atol=1e-7)


def test_wrong_requests_are_errors():
    X, _ = counts(n=60)
    with pytest.raises(ParameterError, match="n_runs must be at least 2"):
        consensus(DivergenceNMF(3), X, n_runs=1)
    with pytest.raises(ParameterError, match="init must be a name"):
        consensus(DivergenceNMF(2, init=np.ones((2, 50))), X)
    with pytest.raises(ParameterError, match="n_components must be one or more numbers"):
        consensus(DivergenceNMF(2), X, n_components=[])
    with pytest.raises(ParameterError, match="max_distance must leave as many components"):
        consensus(DivergenceNMF(5, max_iter=3), X, n_runs=2, max_distance=1e-6)
