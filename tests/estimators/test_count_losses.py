"""Negative binomial and zero-inflated counts: estimates, fits, and what they are good for."""

import copy
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import nbinom

from thalweg import DivergenceNMF, OnlineNMF, checkpoint, hidden_entry_score
from thalweg.divergences.kl import KL
from thalweg.divergences.negative_binomial import NegativeBinomial
from thalweg.divergences.zero_inflated import ZeroInflated
from thalweg.errors import InputError, ParameterError
from thalweg.learning.batches import as_batch
from thalweg.learning.count_dispersion import dispersion_of, tuned_counts

pytestmark = pytest.mark.filterwarnings("ignore:.* stopped after max_iter")


def counts(seed=0, dispersion=0.5, lost=0.0, n=500, n_features=40, rank=3):
    """Return counts, their means, and the factors."""
    rng = np.random.default_rng(seed)
    codes, parts = rng.gamma(1.0, 1.0, (n, rank)), rng.gamma(0.5, 1.0, (rank, n_features))
    means = codes @ parts
    means *= 15.0 / means.mean()
    shape = 1.0 / np.broadcast_to(dispersion, n_features)
    X = rng.poisson(means * rng.gamma(shape, 1.0 / shape, means.shape)) * 1.0
    X[rng.random(X.shape) < lost] = 0.0
    return X, means, parts


def test_the_loss_is_the_likelihood_of_scipy():
    rng = np.random.default_rng(0)
    v, p, a = rng.poisson(9.0, 200) * 1.0, rng.gamma(2.0, 4.0, 200), 0.7
    likelihood = nbinom.logpmf(v, 1 / a, 1 / (1 + a * p)) - nbinom.logpmf(v, 1 / a, 1 / (1 + a * v))
    loss = NegativeBinomial(a).value(v[None], p[None])
    np.testing.assert_allclose(loss, -likelihood, rtol=1e-9, atol=1e-12)
    q = 0.3
    zero = -np.log(q + (1 - q) * nbinom.pmf(0, 1 / a, 1 / (1 + a * p)))
    found = ZeroInflated(a, q).value(0.0 * v[None], p[None])
    np.testing.assert_allclose(found, zero, rtol=1e-12)


def test_without_dispersion_and_inflation_it_is_the_poisson_loss():
    rng = np.random.default_rng(1)
    v, p = rng.poisson(3.0, (5, 30)) * 1.0, rng.gamma(2.0, 2.0, (5, 30))
    for name in ("value", "grad"):
        found, exact = (getattr(d, name)(v, p) for d in (ZeroInflated(0.0, 0.0), KL()))
        np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_zeros_of_lost_counts_have_finite_losses_and_gradients():
    d, p = ZeroInflated(0.0, 0.1), np.array([[1e-8, 1.0, 40.0, 1e6]])
    np.testing.assert_allclose(d.value(0.0 * p, p)[2:], -np.log(0.1), rtol=1e-12)
    numeric = (d.value(0.0 * p, p * (1 + 1e-6)) - d.value(0.0 * p, p)) / (1e-6 * p)
    np.testing.assert_allclose(d.grad(0.0 * p, p)[0, :2], numeric[0, :2], rtol=1e-5)
    assert d.grad(0.0 * p, p)[0, 3] == 0.0


@pytest.mark.parametrize("truth", [0.02, 0.3, 2.0])
def test_the_dispersion_maximises_the_likelihood(truth):
    rng = np.random.default_rng(0)
    p = rng.gamma(2.0, 10.0, (1, 3000))
    v = rng.poisson(p * rng.gamma(1 / truth, truth, p.shape)) * 1.0
    found = float(dispersion_of(v, p, np.ones(v.shape))[0])

    def likelihood(a):
        return nbinom.logpmf(v, 1 / a, 1 / (1 + a * p)).sum()

    assert all(likelihood(found) >= likelihood(found * f) for f in (0.98, 1.02))
    assert found == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize("cls", [DivergenceNMF, OnlineNMF])
@pytest.mark.parametrize("truth", [0.1, 1.0])
def test_estimators_find_the_dispersion(cls, truth):
    model = cls(3, loss="negative-binomial", random_state=0).fit(counts(dispersion=truth)[0])
    assert model.loss_.dispersion == pytest.approx(truth, rel=0.3)


def test_features_have_their_own_dispersion():
    truth = np.geomspace(0.05, 2.0, 40)
    X, _, _ = counts(dispersion=truth, n=2000)
    loss = NegativeBinomial("per-feature")
    model = DivergenceNMF(3, loss=loss, max_iter=20, random_state=0).fit(X)
    ratio = model.loss_.dispersion / truth
    assert np.median(np.abs(np.log(ratio))) < 0.15
    assert hidden_entry_score(model, X) < 0.0


def test_lost_counts_are_estimated():
    X, _, _ = counts(dispersion=0.2, lost=0.3)
    model = DivergenceNMF(3, loss="zero-inflated", max_iter=100, random_state=0).fit(X)
    assert model.loss_.inflation == pytest.approx(0.3, abs=0.05)
    assert model.loss_.dispersion == pytest.approx(0.2, rel=0.5)


def test_means_are_nearer_than_those_of_poisson_losses():
    for loss, settings, most in (
        ("negative-binomial", {"dispersion": 1.5}, 0.95),
        ("zero-inflated", {"dispersion": 0.1, "lost": 0.4}, 0.9),
    ):
        X, means, _ = counts(**settings)
        errors = []
        for one in (loss, "kl"):
            model = DivergenceNMF(3, loss=one, max_iter=200, random_state=0).fit(X)
            fitted = model.decompose(X).low_rank
            errors.append(np.mean(np.abs(np.sqrt(fitted) - np.sqrt(means))))
        assert errors[0] < most * errors[1]


@pytest.mark.parametrize("loss", ["negative-binomial", "zero-inflated"])
def test_the_number_of_components_is_found(loss):
    X, _, _ = counts(dispersion=0.3, lost=0.2 if loss == "zero-inflated" else 0.0)
    model = DivergenceNMF("auto", loss=loss, max_iter=2, random_state=0).fit(X)
    assert model.n_components_ == 3


@pytest.mark.parametrize("loss", ["negative-binomial", "zero-inflated"])
def test_gaps_streams_and_checkpoints(tmp_path, loss):
    X, _, _ = counts(lost=0.1)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = OnlineNMF(3, loss=loss, random_state=0).partial_fit(X[:200])
    checkpoint.save(tmp_path / "model", model)
    resumed = checkpoint.load(tmp_path / "model").estimator
    assert resumed.loss_ == model.loss_
    for one in (model, resumed):
        one.partial_fit(X[200:])
    np.testing.assert_array_equal(model.components_, resumed.components_)
    assert np.isfinite(model.score(X))
    batch = DivergenceNMF(3, loss=loss, max_iter=30, keep_history=True, random_state=0).fit(X)
    objectives = [one.objective for one in batch.history_]
    assert all(b <= a * (1 + 1e-10) for a, b in pairwise(objectives))


def test_known_parameters_are_kept():
    X, _, _ = counts()
    for loss in (NegativeBinomial(0.25), ZeroInflated(0.25, 0.1)):
        assert tuned_counts(loss, as_batch(X), np.ones((40, 1))) is loss
        model = DivergenceNMF(3, loss=loss, max_iter=2, random_state=0).fit(X)
        assert model.loss_ == loss == copy.deepcopy(loss)
    assert ZeroInflated(0.25).tuned(9.0, 0.2) == ZeroInflated(0.25, 0.2)
    assert NegativeBinomial([0.1, 0.2]).restricted(1) == NegativeBinomial(0.2)


def test_wrong_parameters_are_errors():
    for bad in (0.0, -1.0, np.nan, [[1.0]], "auto", None, [1.0, np.inf]):
        with pytest.raises(ParameterError, match="dispersion must be positive numbers"):
            NegativeBinomial(bad)
    with pytest.raises(ParameterError, match="dispersion must be nonnegative numbers"):
        ZeroInflated(-1.0)
    for bad in (1.0, -0.1, "common", None):
        with pytest.raises(ParameterError, match="inflation must be 'auto' or a number"):
            ZeroInflated(inflation=bad)
    v = np.ones((3, 2))
    with pytest.raises(ParameterError, match="dispersion must be known"):
        NegativeBinomial().value(v, v)
    with pytest.raises(ParameterError, match="inflation must be known"):
        ZeroInflated(1.0).grad(v, v)
    with pytest.raises(InputError, match="dispersion must have one number for each of the 3"):
        NegativeBinomial([1.0, 2.0]).value(v, v)
