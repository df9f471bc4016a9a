"""The law of residuals: exact tails of known laws, outliers, units and small samples."""

import numpy as np
import pytest
from scipy import stats

from thalweg.noise.generalised_t import GeneralisedT
from thalweg.noise.residual_counts import ResidualCounts
from thalweg.noise.residual_law import fit_law

LAWS = {
    "normal": stats.norm(),
    "laplace": stats.laplace(scale=0.5**0.5),
    "t3": stats.t(3, scale=1 / 3**0.5),
}
N_FEATURES, N_SAMPLES = 50, 1000

each_law = pytest.mark.parametrize("name", LAWS)


def noise(name, n, seed=0):
    rng = np.random.default_rng([seed, sorted(LAWS).index(name)])
    return LAWS[name].rvs((N_FEATURES, n), random_state=rng)


def scales(equal):
    return np.ones(N_FEATURES) if equal else np.geomspace(0.2, 5.0, N_FEATURES)


def learned(R):
    """Count residuals as a stream does."""
    counts = ResidualCounts.none(len(R))
    for start in range(0, R.shape[1], 32):
        part = R[:, start : start + 32]
        counts = counts.added(part).aged(part.shape[1])
    return fit_law(counts)


@pytest.mark.parametrize(
    ("law", "exact"),
    [
        (GeneralisedT(2**0.5, 2.0, 0.0), stats.norm()),
        (GeneralisedT(1.0, 1.0, 0.0), stats.laplace()),
        (GeneralisedT(2**0.5, 2.0, 2 / 3), stats.t(3)),
        (GeneralisedT(2**0.5, 2.0, 2.0), stats.cauchy()),
        (GeneralisedT(1.0, 4.0, 0.0), stats.gennorm(4.0)),
    ],
)
def test_the_family_contains_known_laws(law, exact):
    sizes = np.array([0.0, 0.1, 1.0, 3.0, 5.0])
    np.testing.assert_allclose(law.survival(sizes), 2.0 * exact.sf(sizes), rtol=1e-9)


def test_heavy_and_exponential_tails_join():
    sizes = np.linspace(0.0, 5.0, 20)
    near, limit = (GeneralisedT(1.0, 2.0, h).survival(sizes) for h in (1.01e-5, 0.99e-5))
    np.testing.assert_allclose(near, limit, rtol=5e-3)


@pytest.mark.parametrize("equal", [True, False])
@each_law
def test_p_values_of_clean_data_are_calibrated(name, equal):
    s = scales(equal)[:, None]
    law = learned(s * noise(name, N_SAMPLES))
    p = law.p_values((s * noise(name, 4000, seed=1)).T)
    assert 0.007 <= np.mean(p < 0.01) <= 0.015
    shares = np.mean(p < 0.01, axis=0)
    assert shares.min() >= 0.004
    assert shares.max() <= 0.025


@each_law
def test_the_tail_is_the_exact_one_far_out(name):
    law = fit_law(ResidualCounts.of(noise(name, 20_000)))
    for share in (0.05, 1e-2, 1e-3):
        size = LAWS[name].isf(0.5 * share)
        ratio = law.p_values(np.full(N_FEATURES, size)).mean() / share
        assert 0.8 < ratio < 1.25, share


@pytest.mark.parametrize("n", [1000, 4000])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.15])
@each_law
def test_the_tail_is_the_exact_one_beside_outliers_of_six_scales(name, share, n):
    R, rng = noise(name, n, seed=5), np.random.default_rng(3)
    R += 6.0 * (rng.random(R.shape) < share) * rng.choice([-1.0, 1.0], R.shape)
    law = learned(R)
    assert law.outlier_share == pytest.approx(share, abs=0.006)
    for exact in (0.01, 0.0025):
        p = law.p_values(np.full(N_FEATURES, LAWS[name].isf(0.5 * exact))) / exact
        assert 0.6 < p.mean() < 1.6, exact
        assert p.max() < 3.0 * p.min()  # features have the same law


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_outliers_do_not_fatten_a_normal_tail(share):
    R, rng = noise("normal", N_SAMPLES), np.random.default_rng(3)
    R[rng.random(R.shape) < share] += 6.0
    law = learned(R)
    assert law.outlier_share == pytest.approx(share, abs=0.02)
    p = law.p_values(np.full(N_FEATURES, 2.5758))  # exact: 0.01
    assert 0.004 < p.mean() < 0.02
    assert np.median(law.p_values(np.full(N_FEATURES, 6.0))) < 1e-4


def test_far_outliers_are_left_out_whatever_the_noise():
    for name in LAWS:
        R, rng = noise(name, N_SAMPLES), np.random.default_rng(3)
        R[rng.random(R.shape) < 0.3] = 1e4
        law = learned(R)
        assert 0.27 < law.outlier_share < 0.4
        p = law.p_values(np.full(N_FEATURES, LAWS[name].isf(0.005)))
        assert 0.003 < np.median(p) < 0.03, name


def test_equal_scales_are_shrunk_to_one_and_others_kept():
    equal = learned(noise("normal", 300)).scales
    assert np.log(equal).std() < 0.4 / (2 * 225) ** 0.5  # 225 of 300 samples count
    different = learned(scales(False)[:, None] * noise("normal", N_SAMPLES)).scales
    np.testing.assert_allclose(different, scales(False), rtol=0.15)


def test_one_feature_apart_is_not_moved_to_the_others():
    s = np.ones(N_FEATURES)
    s[7] = 1.5
    law = learned(s[:, None] * noise("normal", N_SAMPLES))
    assert law.scales[7] == pytest.approx(1.5, rel=0.12)


def test_a_feature_with_another_tail_has_its_own():
    R, later = noise("normal", 4000), noise("normal", 4000, seed=1)
    R[3], later[3] = (stats.t(3).rvs(4000, random_state=seed) for seed in (1, 2))
    law = fit_law(ResidualCounts.of(R))
    assert law.exponents[3] < 0.8
    assert np.abs(np.log(np.delete(law.exponents, 3))).max() < 0.15
    own = np.mean(law.p_values(later.T)[:, 3] < 0.01)
    shared = np.mean(law._replace(exponents=np.ones(N_FEATURES)).p_values(later.T)[:, 3] < 0.01)
    assert abs(own - 0.01) < abs(shared - 0.01)


def test_units_have_no_effect():
    R = noise("laplace", 500)
    law, scaled = (fit_law(ResidualCounts.of(one)) for one in (R, np.ldexp(R, 30)))
    np.testing.assert_allclose(scaled.scales, np.ldexp(law.scales, 30), rtol=1e-12)
    assert scaled.tail == law.tail


def test_a_feature_without_residuals_has_the_common_scale():
    R = noise("normal", N_SAMPLES)
    R[5] = 0.0
    law = fit_law(ResidualCounts.of(R))
    assert law.scales[5] == pytest.approx(1.0, rel=0.02)
    empty = fit_law(ResidualCounts.none(3))
    np.testing.assert_array_equal(empty.p_values(np.array([0.0, 1.0, 9.0])), 1.0)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_few_residuals_give_finite_p_values(n):
    law = fit_law(ResidualCounts.of(noise("normal", n)[:3]))
    p = law.p_values(np.array([[0.0] * 3, [1.0] * 3, [1e9] * 3]))
    assert np.isfinite(p).all()
    np.testing.assert_array_equal(p[0], 1.0)
    assert np.all(np.diff(p, axis=0) <= 0.0)


def test_p_values_of_missing_entries_are_missing():
    law = fit_law(ResidualCounts.of(noise("normal", 100)))
    assert np.isnan(law.p_values(np.full(N_FEATURES, np.nan))).all()
