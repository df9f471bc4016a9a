"""The formulas in 80 digits or more, the limits of the families, and the ends of the range."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from thalweg._typing import Array
from thalweg.divergences.alpha import Alpha
from thalweg.divergences.beta import Beta
from thalweg.divergences.hellinger import Hellinger
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.divergences.kl import KL
from thalweg.divergences.negative_binomial import NegativeBinomial
from thalweg.divergences.squared_l2 import SquaredL2

ALPHAS = (-3.0, -1.0, -1e-9, 0.0, 1e-7, 0.3, 0.5, 1 - 1e-8, 1.0, 1 + 1e-6, 1.5, 2.0, 4.2)
BETAS = (-2.1, -1.0, -1e-7, 0.0, 1e-9, 0.5, 1 - 1e-6, 1.0, 1 + 1e-8, 1.5, 2.0, 2.5, 3.0, 3.7)
SCALES = [10.0**k for k in (-150, -110, -60, -20, -3, 0, 1, 7, 50, 90, 150)]
GAPS = [sign * 10.0**-k for k in range(1, 16) for sign in (-1, 1)]


def exact_alpha(v: Decimal, p: Decimal, a: Decimal) -> dict[str, Decimal]:
    t = v / p
    if a == 0:
        value = p * (-t.ln()) - p + v
        half, log = Decimal("0.5"), t.ln()
        neg, pos = half + max(log, Decimal()), half + max(-log, Decimal())
    else:
        value = v * t.ln() - v + p if a == 1 else (p * (t**a - 1) - a * (v - p)) / (a * (a - 1))
        neg, pos = (t**a / a, 1 / a) if a > 0 else (-1 / a, -(t**a) / a)
    return {"value": value, "neg": neg, "pos": pos, "curvature": t**a / p}


def exact_beta(v: Decimal, p: Decimal, b: Decimal) -> dict[str, Decimal]:
    if b == 0:
        value = v / p - (v / p).ln() - 1
    elif b == 1:
        value = v * (v / p).ln() - v + p
    else:
        value = (v**b + (b - 1) * p**b - b * v * p ** (b - 1)) / (b * (b - 1))
    second = (b - 1) * p ** (b - 2) + (2 - b) * v * p ** (b - 3)
    if not 1 <= b <= 2:
        second = p ** (b - 2)
    return {"value": value, "neg": v * p ** (b - 2), "pos": p ** (b - 1), "curvature": second}


def exact_negative_binomial(v: Decimal, p: Decimal, a: Decimal) -> dict[str, Decimal]:
    value = v * (v / p).ln() - (v + 1 / a) * ((1 + a * v) / (1 + a * p)).ln()
    curvature = 1 / (p * (1 + a * p))
    return {"value": value, "neg": v / p, "pos": (1 + a * v) / (1 + a * p), "curvature": curvature}


FORMULAS: dict[str, tuple[Any, Callable[..., dict[str, Decimal]], float]] = {
    **{f"alpha({a})": (Alpha(a), exact_alpha, a) for a in ALPHAS},
    **{f"beta({b})": (Beta(b), exact_beta, b) for b in BETAS},
    **{
        f"negative-binomial({a})": (NegativeBinomial(a), exact_negative_binomial, a)
        for a in (1e-9, 1e-3, 0.3, 1.0, 70.0)
    },
    "kl": (KL(), exact_alpha, 1.0),
    "hellinger": (Hellinger(), exact_alpha, 0.5),
    "itakura-saito": (ItakuraSaito(), exact_beta, 0.0),
    "squared-l2": (SquaredL2(), exact_beta, 2.0),
}


def computed(d: Any, v: Array, p: Array) -> dict[str, Array]:
    """Return what ``d`` makes of single entries."""
    neg, pos = (np.broadcast_to(part, (1, len(v))) for part in d.split(v[None], p[None]))
    curvature = np.broadcast_to(d.curvature(v[None], p[None]), neg.shape)
    return {
        "value": d.value(v[None], p[None]),
        "grad": d.grad(v[None], p[None])[0],
        "curvature": curvature[0],
        "neg": neg[0],
        "pos": pos[0],
    }


def oracle(exact: Any, exponent: float, v: Array, p: Array) -> dict[str, list[Decimal]]:
    with localcontext() as context:
        context.prec = 400 if exact is exact_negative_binomial else 80
        context.Emax, context.Emin = 99_999, -99_999
        rows = [
            exact(Decimal(float(x)), Decimal(float(y)), Decimal(exponent))
            for x, y in zip(v, p, strict=True)
        ]
        for row in rows:
            row["grad"] = row["pos"] - row["neg"]
    return {key: [row[key] for row in rows] for key in rows[0]}


def check(label: str, v: Array, p: Array, rtol: float) -> int:
    """Compare all entries whose true value can be represented, and return their number."""
    d, exact, exponent = FORMULAS[label]
    limits, compared = np.finfo(v.dtype), 0
    got, expected = computed(d, v, p), oracle(exact, exponent, v, p)
    for key, truths in expected.items():
        for x, y, result, truth in zip(v, p, got[key], truths, strict=True):
            if x == y and key in ("value", "grad"):
                assert result == 0, (key, x, y)
            elif Decimal(float(limits.tiny)) <= abs(truth) <= Decimal(float(limits.max)):
                error = abs((Decimal(float(result)) - truth) / truth) if np.isfinite(result) else 9
                assert error <= rtol, (key, x, y, result, truth)
                compared += 1
            elif abs(truth) > 1:
                assert abs(result) >= limits.max * (1 - rtol), (key, x, y)
            else:
                assert abs(result) <= limits.tiny * (1 + rtol), (key, x, y)
    return compared


@pytest.mark.parametrize("label", FORMULAS)
def test_all_sizes(label: str) -> None:
    v, p = (x.ravel() for x in np.meshgrid(SCALES, SCALES))
    assert check(label, 1.7 * v, p, rtol=1e-10) > 200


@pytest.mark.parametrize("label", FORMULAS)
def test_near_equality(label: str) -> None:
    p, gap = (x.ravel() for x in np.meshgrid([1e-60, 0.013, 1.0, 777.0, 1e40], GAPS))
    assert check(label, p * (1 + gap), p, rtol=1e-10) > 200


@pytest.mark.parametrize("label", FORMULAS)
def test_across_the_switch_to_a_series(label: str) -> None:
    ratio = 1 + np.concatenate([np.linspace(-0.02, 0.02, 81), np.linspace(-0.9, 9, 60)])
    assert check(label, 3.1 * ratio, np.full_like(ratio, 3.1), rtol=1e-10) > 500


@pytest.mark.parametrize("label", FORMULAS)
def test_single_precision(label: str) -> None:
    p, gap = (x.ravel() for x in np.meshgrid([1e-6, 0.7, 1e5], [*GAPS[:6], -0.9, 0.4, 9.0, 1e3]))
    v = (p * (1 + gap)).astype(np.float32)
    assert check(label, v, p.astype(np.float32), rtol=1e-4) > 100


def random_pair() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, size=(6, 40)), rng.gamma(1.0, size=(6, 40))


@pytest.mark.parametrize(
    ("family", "member"),
    [
        (Alpha(1.0), KL()),
        (Beta(1.0), KL()),
        (Alpha(0.5), Hellinger()),
        (Beta(0.0), ItakuraSaito()),
        (Beta(2.0), SquaredL2()),
    ],
    ids=repr,
)
def test_members_of_a_family_have_their_own_file(family: Any, member: Any) -> None:
    v, p = random_pair()
    ours, theirs = computed(family, v[0], p[0]), computed(member, v[0], p[0])
    for key, result in ours.items():
        np.testing.assert_allclose(result, theirs[key], rtol=1e-12, err_msg=key)
    for attribute in ("convex", "domain", "growth", "slope_at_zero"):
        assert getattr(family, attribute) == getattr(member, attribute)


@pytest.mark.parametrize("distance", [s * 10.0**-k for k in range(5, 17) for s in (-1, 1)])
@pytest.mark.parametrize(
    ("family", "centre"), [(Alpha, 0.0), (Alpha, 1.0), (Beta, 0.0), (Beta, 1.0)]
)
def test_limits_are_approached_smoothly(family: Any, centre: float, distance: float) -> None:
    v, p = random_pair()
    limit = family(centre)
    near = family(centre + distance)
    for method in ("value", "grad"):
        a, b = getattr(near, method)(v, p), getattr(limit, method)(v, p)
        scale = 30 * abs(distance) + 1e-13
        assert np.all(np.abs(a - b) <= scale * np.max(np.abs(b), axis=0)), method


BORDER = {  # value and gradient at (v, p) = (0, 2), (2, 0), (0, 0)
    "kl": ([2, np.inf, 0], [1, -np.inf, 1]),
    "hellinger": ([4, 4, 0], [2, -np.inf, 2]),
    "itakura-saito": ([np.inf, np.inf, 0], [0.5, -np.inf, np.inf]),
    "squared-l2": ([2, 2, 0], [2, -2, 0]),
    "negative-binomial(1.0)": ([np.log(3), np.inf, 0], [1 / 3, -np.inf, 1]),
    "alpha(-3.0)": ([np.inf, 0.5, 0], [np.inf, -1 / 3, np.inf]),
    "alpha(-1.0)": ([np.inf, 1, 0], [np.inf, -1, np.inf]),
    "alpha(0.0)": ([np.inf, 2, 0], [np.inf, -np.inf, np.inf]),
    "alpha(0.5)": ([4, 4, 0], [2, -np.inf, 2]),
    "alpha(1.0)": ([2, np.inf, 0], [1, -np.inf, 1]),
    "alpha(1.5)": ([4 / 3, np.inf, 0], [2 / 3, -np.inf, 2 / 3]),
    "alpha(2.0)": ([1, np.inf, 0], [0.5, -np.inf, 0.5]),
    "beta(-1.0)": ([np.inf, np.inf, 0], [0.25, -np.inf, np.inf]),
    "beta(0.0)": ([np.inf, np.inf, 0], [0.5, -np.inf, np.inf]),
    "beta(0.5)": ([2**1.5, np.inf, 0], [0.5**0.5, -np.inf, np.inf]),
    "beta(1.0)": ([2, np.inf, 0], [1, -np.inf, 1]),
    "beta(1.5)": ([2**1.5 / 1.5, 2**1.5 / 0.75, 0], [2**0.5, -np.inf, 0]),
    "beta(2.0)": ([2, 2, 0], [2, -2, 0]),
    "beta(3.0)": ([8 / 3, 8 / 6, 0], [4, 0, 0]),
}


@pytest.mark.parametrize("label", BORDER)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_border(label: str, dtype: Any) -> None:
    v, p = np.array([[0, 2, 0]], dtype=dtype), np.array([[2, 0, 0]], dtype=dtype)
    values, slopes = BORDER[label]
    d = FORMULAS[label][0]
    tolerance = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(d.value(v, p), values, rtol=tolerance)
    np.testing.assert_allclose(d.grad(v, p)[0], slopes, rtol=tolerance)


CURVED = {  # curvature at (v, p) = (0, 2), (2, 0), (0, 0)
    "kl": [0, np.inf, 0],
    "hellinger": [0, np.inf, 0],
    "itakura-saito": [0.25, np.inf, np.inf],
    "negative-binomial(1.0)": [1 / 6, np.inf, np.inf],
    "alpha(-3.0)": [np.inf, 0, np.inf],
    "alpha(-1.0)": [np.inf, 0.5, np.inf],
    "alpha(0.0)": [0.5, np.inf, np.inf],
    "alpha(2.0)": [0, np.inf, 0],
    "beta(0.0)": [0.25, np.inf, np.inf],
    "beta(1.0)": [0, np.inf, 0],
    "beta(1.5)": [0.5 * 0.5**0.5, np.inf, np.inf],
    "beta(2.0)": [1, 1, 1],
    "beta(3.0)": [2, 0, 0],
}


@pytest.mark.parametrize("label", CURVED)
def test_curvature_at_the_boundary(label: str) -> None:
    v, p = np.array([[0.0, 2.0, 0.0]]), np.array([[2.0, 0.0, 0.0]])
    curvature = FORMULAS[label][0].curvature(v, p)
    np.testing.assert_allclose(curvature[0], CURVED[label], rtol=1e-14)
