"""The fit of a tail to numbers of residuals: optimality, bounds, and outliers beyond the cut."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from thalweg.noise._tail_likelihood import CellCounts, fitted_law
from thalweg.noise.generalised_t import GeneralisedT

EDGES = np.concatenate([[-np.inf], np.arange(-3.0, 21.0), [np.inf]])  # bins: 4 log2 of the size
NORMAL = GeneralisedT(2.0**0.5, 2.0, 0.0)
LAWS = {
    "normal": stats.norm(),
    "laplace": stats.laplace(),
    "t3": stats.t(3),
    "flat": stats.gennorm(3.5),
}
each_law = pytest.mark.parametrize("name", LAWS)


def counts(numbers, cut=np.inf):
    n = len(numbers)
    within = EDGES[1:] <= cut
    end = np.array([np.flatnonzero(within)[-1] + 1])
    group = np.zeros(n, np.intp)
    return CellCounts(EDGES, np.arange(n), np.arange(1, n + 1), numbers, group, within, end)


def drawn(name, n, seed=0):
    sizes = np.abs(LAWS[name].rvs(n, random_state=seed))
    return np.histogram(sizes, np.exp2(EDGES / 4.0))[0].astype(float)


def log_posterior(shape, numbers, n_within):
    """The multinomial likelihood of the first cells, with the prior, written plainly."""
    s, p, h = np.exp(shape[0]), np.exp(shape[1]), shape[2]
    beyond = GeneralisedT(s, p, h).survival(np.exp2(EDGES / 4.0))
    q = -np.diff(beyond)[:n_within]
    likelihood = numbers[:n_within] @ np.log(np.maximum(q / q.sum(), 1e-300))
    return likelihood - 0.5 * (np.log(p / 2.0) / 0.5) ** 2 - 0.5 * h**2


@pytest.mark.parametrize("n", [300, 30_000, 3_000_000])
@each_law
def test_the_likelihood_is_as_large_as_that_of_a_general_optimiser(name, n):
    numbers = drawn(name, n)
    law = fitted_law(counts(numbers), NORMAL)
    found = log_posterior([np.log(law.scale), np.log(law.power), law.heaviness], numbers, 25)
    bounds = [(-2.0, 2.0), (np.log(0.4), np.log(4.0)), (0.0, 4.0)]
    best = max(
        -minimize(
            lambda shape: -log_posterior(shape, numbers, 25),
            start,
            method="Nelder-Mead",
            bounds=bounds,
            options={"xatol": 1e-7, "fatol": 1e-7, "maxiter": 3000},
        ).fun
        for start in ([0.0, 0.0, 0.01], [0.3, 0.69, 0.01], [0.3, 0.69, 0.7], [0.5, 1.2, 0.01])
    )
    assert found > best - 0.01


@each_law
def test_the_tail_is_the_exact_one(name):
    law = fitted_law(counts(drawn(name, 1_000_000)), NORMAL)
    sizes = LAWS[name].isf(0.5 * np.array([0.1, 1e-2, 1e-3]))
    np.testing.assert_allclose(law.survival(sizes), [0.1, 1e-2, 1e-3], rtol=0.05)


def test_the_start_has_no_effect():
    numbers = drawn("laplace", 100_000)
    starts = [NORMAL, GeneralisedT(1.0, 1.0, 0.0), GeneralisedT(2.0, 0.5, 3.0)]
    laws = [fitted_law(counts(numbers), start) for start in starts]
    tails = np.array([law.survival(np.array([1.0, 3.0, 6.0])) for law in laws])
    np.testing.assert_allclose(tails, tails[:1].repeat(3, axis=0), rtol=0.01)


def test_more_residuals_beyond_the_cut_have_no_effect_and_fewer_do():
    numbers, cut = drawn("laplace", 100_000), 4.0
    plain = fitted_law(counts(numbers, cut), NORMAL)
    more, fewer = numbers.copy(), numbers.copy()
    beyond = np.flatnonzero(EDGES[1:] > cut)
    more[beyond] += 1e4
    fewer[beyond] *= 0.1
    size = 6.0
    assert fitted_law(counts(more, cut), NORMAL).survival(size) >= plain.survival(size)
    assert fitted_law(counts(fewer, cut), NORMAL).survival(size) < 0.5 * plain.survival(size)
