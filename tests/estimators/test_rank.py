"""The number of components by hidden entries: planted ranks, evidence, streams, scorers."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from pairwise import all_pairs
from thalweg import (
    DivergenceNMF,
    OnlineFactorization,
    OnlineNMF,
    Petrels,
    PetrelsADMM,
    RobustMatrixCompletion,
    RobustNMF,
    RobustOnlineNMF,
    SparseArchetypalNMF,
    checkpoint,
    hidden_entry_score,
    select,
    split_entries,
)
from thalweg.divergences.kl import KL
from thalweg.errors import InputError, ParameterError
from thalweg.learning.held_out import deviations, hide, hide_counts
from thalweg.learning.rank_evidence import RankEvidence

pytestmark = pytest.mark.filterwarnings("ignore:.* stopped after max_iter")


def planted(noise: str, rank: int, seed: int, n: int = 300, outliers: float = 0.05):
    """Return rows with gaps, outliers, and a noise level of its own for each feature."""
    rng = np.random.default_rng(seed)
    clean = rng.gamma(1.0, 1.0, (n, rank)) @ rng.gamma(0.5, 1.0, (rank, 60))
    if noise == "poisson":
        clean *= 20.0 / clean.mean()
        X = rng.poisson(clean).astype(float)
    elif noise == "gamma":
        X = clean * rng.gamma(20.0, 1 / 20.0, clean.shape)
    else:
        levels = 0.1 * clean.std() * rng.permutation(np.geomspace(0.3, 3.0, 60))
        X = np.maximum(clean + levels * rng.standard_normal(clean.shape), 0.0)
    wrong = rng.random(X.shape) < outliers
    X[wrong] = np.ceil(rng.uniform(0.0, 3.0 * np.quantile(clean, 0.99), wrong.sum()))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


def planted_subspace(rank: int, seed: int, gaps: float):
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(300, rank)) @ rng.normal(size=(rank, 60))
    X = clean + 0.1 * clean.std() * np.geomspace(0.3, 3.0, 60) * rng.normal(size=clean.shape)
    wrong = rng.random(X.shape) < 0.05
    X[wrong] = 10.0 * clean.std() * rng.normal(size=wrong.sum())
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@all_pairs(
    pytest.mark.parametrize("rank", [1, 3, 6]),
    pytest.mark.parametrize("seed", [0, 1]),
    pytest.mark.parametrize(
        ("model", "noise", "outliers"),
        [
            (RobustNMF(max_iter=2), "normal", 0.05),
            (RobustOnlineNMF(), "normal", 0.05),
            (DivergenceNMF(loss="squared-l2", max_iter=2), "normal", 0.05),
            (DivergenceNMF(loss="huber", max_iter=2), "normal", 0.05),
            (DivergenceNMF(loss="kl", max_iter=2), "poisson", 0.0),
            (OnlineNMF(loss="itakura-saito"), "gamma", 0.0),
        ],
        ids=["robust", "robust-online", "squares", "huber", "kl", "itakura-saito"],
    ),
)
def test_planted_ranks_are_found(model, noise, outliers, rank, seed):
    one = clone(model).set_params(n_components="auto", random_state=seed)
    assert one.fit(planted(noise, rank, seed, outliers=outliers)).n_components_ == rank
    assert one.components_.shape == (rank, 60)


@pytest.mark.parametrize("rank", [1, 3])
def test_outliers_do_not_add_components_to_counts(rank):
    model = DivergenceNMF("auto", loss="kl", max_iter=2, random_state=0)
    assert model.fit(planted("poisson", rank, 0)).n_components_ == rank


@pytest.mark.parametrize("gaps", [0.1, 0.5])
@pytest.mark.parametrize("rank", [1, 3, 6, 12])
def test_planted_dimensions_are_found(rank, gaps):
    model = RobustMatrixCompletion("auto", random_state=0).fit(planted_subspace(rank, 0, gaps))
    assert model.n_components_ == rank
    assert model.rank_evidence_.chosen == rank


def test_topics_of_sparse_counts_are_counted_without_dense_rows():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(1000, 0.03), 5)
    X = sparse.csr_array(rng.poisson(80.0 * rng.dirichlet(np.full(5, 0.2), 600) @ topics) * 1.0)
    model = OnlineNMF("auto", random_state=0).fit(X)
    assert model.sparse_
    assert model.n_components_ == 5


def test_the_fit_is_that_with_the_number_that_was_found():
    X = planted("normal", 3, 0)
    for cls in (RobustNMF, RobustOnlineNMF):
        model = cls("auto", random_state=0).fit(X)
        twin = cls(model.n_components_, random_state=0).fit(X)
        np.testing.assert_array_equal(model.components_, twin.components_)
        assert twin.n_components_ == 3
        assert not hasattr(twin, "rank_evidence_")


def test_units_do_not_matter():
    X = planted("normal", 3, 1)
    losses = [
        RobustNMF("auto", max_iter=2, random_state=0).fit(c * X).rank_evidence_.losses
        for c in (1.0, 2.0**20)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-6)


@pytest.mark.parametrize("noise", [0.1, 0.01])
def test_little_noise_is_no_reason_for_more_components(noise):
    """Short fits of clean data are continued: their errors look like components."""
    rng = np.random.default_rng(0)
    clean = rng.gamma(1.0, 1.0, (200, 3)) @ (0.3 + rng.gamma(0.5, 1.0, (3, 30)))
    X = np.abs(clean + noise * clean.std() * rng.normal(size=clean.shape))
    assert RobustNMF("auto", max_iter=2, random_state=0).fit(X).n_components_ == 3
    assert RobustMatrixCompletion("auto", random_state=0).fit(X).n_components_ == 3


@pytest.mark.parametrize(
    "model",
    [RobustNMF(max_iter=2), DivergenceNMF(loss="kl", max_iter=2), OnlineNMF()],
    ids=["robust", "kl", "online"],
)
def test_exact_data_of_rank_one_have_one_component(model):
    rng = np.random.default_rng(0)
    for X in (np.outer(np.arange(1.0, 61.0), np.arange(1.0, 9.0)), rng.gamma(1, 1, (200, 1)) * 3.0):
        X = X @ rng.gamma(1, 1, (X.shape[1], 1)) @ rng.gamma(1, 1, (1, 20))
        one = clone(model).set_params(n_components="auto", random_state=0).fit(X)
        assert one.n_components_ == 1
        assert one.rank_evidence_.losses[0] == 0.0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_exact_data_have_their_dimensions(seed):
    rng = np.random.default_rng(seed)
    for k in (2, 3):
        X = rng.normal(size=(200, k)) @ rng.normal(size=(k, 30))
        assert RobustMatrixCompletion("auto", random_state=0).fit(X).n_components_ == k


def test_some_component_is_not_frozen():
    X = planted("normal", 2, 0)
    frozen = np.abs(np.random.default_rng(1).normal(size=(4, 60)))
    model = RobustNMF("auto", frozen_components=frozen, max_iter=2, random_state=0).fit(X)
    assert model.n_components_ >= 5
    np.testing.assert_array_equal(model.components_[:4], frozen)


def mixtures(k, seed, gaps):
    rng = np.random.default_rng(seed)
    clean = rng.dirichlet(np.full(k, 0.3), 200) @ rng.gamma(0.7, 1.0, (k, 30))
    X = np.maximum(clean + 0.1 * clean.std() * rng.normal(size=clean.shape), 0.0)
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_planted_archetypes_are_counted(k, gaps):
    model = SparseArchetypalNMF("auto", init="projections", max_iter=20, random_state=0)
    model.fit(mixtures(k, k, gaps))
    assert model.n_components_ == model.rank_evidence_.chosen == k
    assert model.components_.shape == (k, 30)


def test_archetypes_may_be_sparse_while_their_number_is_open():
    model = SparseArchetypalNMF("auto", sparsity=0.5, init="projections", random_state=0)
    model.set_params(max_iter=20).fit(mixtures(3, 0, 0.0))
    n_nonzeros = np.count_nonzero(model.components_)
    assert n_nonzeros <= 0.5 * model.components_.size
    with pytest.raises(ParameterError, match="sparsity must be None or a share"):
        model.set_params(sparsity=20).fit(mixtures(3, 0, 0.0))


# Streams


def test_a_stream_finds_its_rank_and_forgets_the_rows():
    X = planted("normal", 4, 1, n=2400)
    model = RobustOnlineNMF("auto", random_state=0)
    sizes = set()
    for start in range(0, len(X), 60):
        model.partial_fit(X[start : start + 60])
        if model.rank_window_ is not None:
            sizes.add(model.rank_window_.data.shape[0])
    assert model.n_components_ == 4
    assert model.rank_window_ is None
    assert max(sizes) <= 1200
    assert model.n_samples_seen_ == len(X)


def test_the_rank_follows_a_stream_that_forgets():
    X = np.vstack([planted("normal", 2, 0, n=1500), planted("normal", 5, 1, n=3600)])
    model = RobustOnlineNMF("auto", forgetting=0.99, random_state=0)
    starts = range(0, len(X), 100)
    ranks = [model.partial_fit(X[start : start + 100]).n_components_ for start in starts]
    assert ranks[14] == 2
    assert ranks[-1] == 5
    assert model.rank_window_.data.shape[0] <= 1100


def test_few_first_rows_are_enough_to_begin():
    X = planted("normal", 3, 0)
    model = RobustOnlineNMF("auto", random_state=0).partial_fit(X[:1])
    assert model.n_components_ == 1
    for start in range(1, 300, 13):
        model.partial_fit(X[start : start + 13])
    assert model.n_components_ == 3
    assert model.transform(X[:5]).shape == (5, 3)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_stream_can_be_resumed_while_the_rank_is_open(tmp_path, kind):
    X = planted("poisson", 3, 0, outliers=0.0)
    X = np.nan_to_num(X)
    if kind == "sparse":
        X = sparse.csr_array(np.random.default_rng(0).poisson(0.01 * X) * 1.0)
    model = OnlineNMF("auto", random_state=0)
    for start in (0, 50, 100):
        model.partial_fit(X[start : start + 50])
    checkpoint.save(tmp_path / "model", model)
    resumed = checkpoint.load(tmp_path / "model").estimator
    for one in (model, resumed):
        for start in (150, 200, 250):
            one.partial_fit(X[start : start + 50])
    np.testing.assert_array_equal(model.components_, resumed.components_)
    np.testing.assert_array_equal(model.rank_evidence_.losses, resumed.rank_evidence_.losses)


# Trackers


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_a_tracker_finds_its_number_of_dimensions(rank):
    X = planted_subspace(rank, 0, 0.2)
    model = PetrelsADMM("auto", random_state=0).fit(X)
    assert model.n_components_ == rank
    assert model.components_.shape == (rank, 60)
    assert model.rank_evidence_.chosen == rank


def test_the_dimensions_do_not_depend_on_how_the_stream_is_cut():
    X = planted_subspace(3, 0, 0.2)
    whole, parts = (Petrels("auto", random_state=0) for _ in range(2))
    whole.partial_fit(X)
    for start in range(0, len(X), 23):
        parts.partial_fit(X[start : start + 23])
    np.testing.assert_allclose(whole.components_, parts.components_, rtol=0, atol=1e-8)
    assert parts.n_components_ == 3


def test_a_jump_may_change_the_number_of_dimensions():
    X = np.vstack([np.vstack([planted_subspace(k, s, 0.0) for s in (0, 0)]) for k in (2, 5)])
    model = PetrelsADMM("auto", on_jump="reset", random_state=0).partial_fit(X[:600])
    assert model.n_components_ == 2
    model.partial_fit(X[600:])
    assert model.jumps_.size == 1
    assert model.n_components_ == 5


def test_a_tracker_can_be_resumed_while_its_dimensions_are_open(tmp_path):
    X = planted_subspace(3, 0, 0.2)
    model = PetrelsADMM("auto", random_state=0).partial_fit(X[:100])
    checkpoint.save(tmp_path / "model", model)
    resumed = checkpoint.load(tmp_path / "model").estimator
    for one in (model, resumed):
        one.partial_fit(X[100:])
    np.testing.assert_array_equal(model.components_, resumed.components_)
    assert resumed.n_components_ == 3


def test_a_tracker_needs_a_robust_start_to_find_its_dimensions():
    X = planted_subspace(3, 0, 0.2)
    for init in ("random", np.eye(2, 60)):
        with pytest.raises(ParameterError, match="init must be 'robust' with n_components='auto'"):
            PetrelsADMM("auto", init=init).fit(X)


# Evidence


def test_evidence_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    rows, counts = rng.random((3, 50)), rng.integers(1, 5, 50).astype(float)
    found = RankEvidence.of([4, 1, 2], rows, counts)
    np.testing.assert_array_equal(found.ranks, [1, 2, 4])
    losses = [sum(one) / counts.sum() for one in (rows[1], rows[2], rows[0])]
    np.testing.assert_allclose(found.losses, losses)
    best = [rows[1], rows[2], rows[0]][int(np.argmin(losses))]
    for one, error in zip((rows[1], rows[2], rows[0]), found.errors, strict=True):
        excess = one - best
        mean = excess.sum() / counts.sum()
        variance = sum((e - mean * m) ** 2 for e, m in zip(excess, counts, strict=True))
        assert error == pytest.approx(np.sqrt(variance) / counts.sum())


def test_entries_that_the_caller_has_hidden_with_the_same_seed_are_no_matter():
    X = planted_subspace(3, 0, 0.0)
    for share in (0.1, 0.2):
        seen, _ = split_entries(X, share, random_state=0)
        model = RobustMatrixCompletion("auto", random_state=0).fit(seen)
        assert model.n_components_ == 3
        assert model.rank_evidence_.n_hidden > 500


def test_hidden_entries_are_those_that_the_fit_does_not_see():
    X = np.random.default_rng(0).random((40, 30))
    X[0, 0] = np.nan
    seen, hidden = hide(X, 0.2, np.random.default_rng(1))
    np.testing.assert_array_equal(X[hidden.samples, hidden.features], hidden.values)
    assert np.isnan(seen[hidden.samples, hidden.features]).all()
    assert np.isnan(seen).sum() == hidden.n_hidden + 1
    assert 0.15 < hidden.n_hidden / X.size < 0.25
    W, H = np.random.default_rng(2).random((2, 3, 40))
    measured = hidden.measure(W[:, :30].T, H, KL())
    n, f = hidden.samples[7], hidden.features[7]
    p = sum(W[k, f] * H[k, n] for k in range(3))
    assert measured[7] == pytest.approx(np.sqrt(2 * (X[n, f] * np.log(X[n, f] / p) - X[n, f] + p)))


def test_hidden_counts_have_the_loss_of_their_entries_on_average():
    """The zeros count with their expectation: the mean over many masks is that of dense masks."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.2, (12, 40)) * 1.0)
    W, H = rng.random((40, 2)), rng.random((2, 12))
    share = 0.25
    found = [hide_counts(X, share, rng)[1].measure(W, H, KL()) for _ in range(3000)]
    dense, p = X.toarray(), (W @ H).T / (1 - share)
    expected = share * KL().value(dense.T, p.T)
    np.testing.assert_allclose(np.mean(found, axis=0), expected, rtol=0.02)


def test_deviations_of_residuals_and_divergences():
    from thalweg.divergences.huber import Huber

    v, p = np.array([[1.0, 4.0]]), np.array([[3.0, 4.0]])
    np.testing.assert_allclose(deviations(v, p, Huber(1.0)), [[2.0, 0.0]])
    np.testing.assert_allclose(
        deviations(v, p, KL()), [[np.sqrt(2 * (np.log(1 / 3) - 1.0 + 3.0)), 0.0]]
    )


# Scorer and splitter


@pytest.mark.parametrize("outliers", [0.0, 0.05])
def test_searches_find_the_planted_rank_by_hidden_entries(outliers):
    X = planted("normal", 4, 0, outliers=outliers)
    model, values = DivergenceNMF(loss="huber", random_state=0, max_iter=40), [2, 3, 4, 5, 8]
    grid = {"n_components": values}
    scores = GridSearchCV(model, grid, cv=3, scoring=hidden_entry_score).fit(X)
    assert scores.best_params_["n_components"] == 4
    found = select(model, X, "n_components", values, folds=3, scoring=hidden_entry_score)
    assert found.chosen == 4
    by_rows = select(model, X, "n_components", values, folds=3)
    assert by_rows.best == 8, "the loss of whole rows falls with every component"


def test_cross_val_score_is_largest_at_the_planted_rank():
    X = planted("poisson", 3, 0, outliers=0.0)
    means = [
        cross_val_score(OnlineNMF(k, random_state=0), X, cv=3, scoring=hidden_entry_score).mean()
        for k in (2, 3, 4, 6)
    ]
    assert int(np.argmax(means)) == 1


def test_split_entries_is_a_partition_of_the_observed_entries():
    X = planted("normal", 3, 0)
    seen, hidden = split_entries(X, 0.3, random_state=1)
    assert not (~np.isnan(seen) & ~np.isnan(hidden)).any()
    np.testing.assert_array_equal(np.where(np.isnan(seen), hidden, seen), X)
    assert 0.25 < np.sum(~np.isnan(hidden)) / np.sum(~np.isnan(X)) < 0.35


def test_the_score_is_that_of_the_formula():
    X = planted("poisson", 3, 0, outliers=0.0)
    model = OnlineNMF(3, random_state=0).fit(X)
    seen, hidden = split_entries(X)
    p = model.decompose(seen).low_rank[~np.isnan(hidden)]
    e = np.sqrt(2.0 * KL().value(hidden[~np.isnan(hidden)][None], p[None]))
    s = 1.4826 * np.median(e)
    expected = -(s**2) * np.mean(np.minimum(e / s, 3.0) ** 2)
    assert hidden_entry_score(model, X) == pytest.approx(expected, rel=1e-4)
    assert hidden_entry_score(model, seen, hidden) == pytest.approx(expected, rel=1e-4)
    assert hidden_entry_score(model, sparse.csr_array(np.nan_to_num(X))) < 0.0


def test_wrong_scoring_is_an_error():
    X = planted("normal", 2, 0)
    model = OnlineNMF(2, random_state=0).fit(X)
    with pytest.raises(InputError, match="y must be hidden entries of shape"):
        hidden_entry_score(model, X, np.ones((3, 3)))
    with pytest.raises(InputError, match="X must have observed entries to hide"):
        hidden_entry_score(model, np.full((4, 60), np.nan))
    with pytest.raises(ParameterError, match="share must be"):
        split_entries(X, 2.0)
    with pytest.raises(InputError, match="X must be rows of numbers"):
        split_entries([1.0, 2.0])


# Parameters


def test_wrong_requests_are_errors():
    X = planted("normal", 2, 0)
    with pytest.raises(ParameterError, match="init must be a name with n_components='auto'"):
        RobustNMF("auto", init=np.ones((2, 60))).fit(X)
    with pytest.raises(ParameterError, match="n_components must be a positive integer"):
        RobustNMF("many").fit(X)
    with pytest.raises(ParameterError, match="n_components must be a positive integer"):
        RobustMatrixCompletion("many").fit(X)
    with pytest.raises(ParameterError, match="n_components must be a positive integer"):
        OnlineFactorization("auto").fit(X)


def test_tiny_data_have_one_component():
    for X in (np.ones((1, 5)), np.ones((6, 1)), np.ones((2, 2))):
        assert RobustNMF("auto", random_state=0).fit(X).n_components_ == 1
        assert RobustMatrixCompletion("auto", random_state=0).fit(X).n_components_ == 1
        assert OnlineNMF("auto", random_state=0).fit(X).n_components_ == 1


# Order


@pytest.mark.parametrize("model", [RobustNMF(4), DivergenceNMF(4, loss="kl")])
def test_components_are_sorted_by_the_share_that_they_explain(model):
    X = planted("poisson", 4, 0, outliers=0.0)
    fits = [clone(model).set_params(random_state=seed).fit(X) for seed in (0, 1)]
    for one in fits:
        codes = one.transform(X)
        shares = np.square(codes).mean(axis=0) * np.square(one.components_).sum(axis=1)
        assert (np.diff(shares) < 0.1 * shares.max()).all()
        np.testing.assert_allclose(one.inverse_transform(codes), one.decompose(X).low_rank)
        assert one.fill(X).shape == X.shape
    cosines = np.einsum("kf,kf->k", *(one.components_ for one in fits))
    assert (cosines > 0.95).all(), "runs from several seeds have the same order"


def test_frozen_components_stay_first():
    X = planted("normal", 3, 0)
    frozen = np.zeros((1, 60))
    frozen[0, 0] = 1e-3
    model = RobustNMF(4, frozen_components=frozen, random_state=0).fit(X)
    np.testing.assert_array_equal(model.components_[:1], frozen)
