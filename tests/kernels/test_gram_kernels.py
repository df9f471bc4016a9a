"""Gram matrices of each sample's own, and their inverses."""

import numpy as np
import pytest
from tests import reference

from thalweg import _native
from thalweg.solvers.nnls import invert, nnls, prepare

LIMIT = 1e8


def inverted(grams: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inverses, trusted = np.full_like(grams, np.nan), np.zeros(len(grams), bool)
    before = grams.copy()
    _native.definite_inverses(grams, LIMIT, inverses, trusted)
    assert np.array_equal(grams, before, equal_nan=True)
    return inverses, trusted


@pytest.mark.parametrize("K", [*range(1, 14), 49, 100])
def test_inverses(K: int) -> None:
    rng = np.random.default_rng(K)
    grams = np.stack([W.T @ W for W in rng.normal(size=(4, 2 * K + 3, K))])
    inverses, trusted = inverted(grams)
    assert trusted.all()
    condition = max(map(np.linalg.cond, grams))
    for gram, inverse in zip(grams, inverses, strict=True):
        np.testing.assert_allclose(inverse @ gram, np.eye(K), rtol=0, atol=1e-14 * condition)
    np.testing.assert_allclose(
        inverses, reference.definite_inverses(grams, LIMIT), rtol=0, atol=1e-14 * condition**2
    )


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_inverses_at_extreme_scales(size: float) -> None:
    W = np.random.default_rng(1).random((9, 6))
    (inverse,), (trusted,) = inverted(size * (W.T @ W)[None])
    assert trusted
    np.testing.assert_allclose(size * inverse, np.linalg.inv(W.T @ W), rtol=1e-9)


@pytest.mark.parametrize("exponent", range(1, 16))
def test_only_well_conditioned_inverses_are_trusted(exponent: int) -> None:
    rng = np.random.default_rng(exponent)
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    gram = (Q * np.geomspace(1.0, 10.0**-exponent, 6)) @ Q.T
    _, (trusted,) = inverted(gram[None])
    (expected,) = reference.definite_inverses(gram[None], LIMIT)
    assert trusted == (expected is not None)
    assert trusted == (exponent < 8)


def test_what_is_not_definite_has_no_inverse_and_spares_the_others() -> None:
    eye = np.eye(5)
    bad = [np.zeros((5, 5)), np.ones((5, 5)), -eye, np.full((5, 5), np.nan)]
    for k in range(5):
        bad.append(eye.copy())
        bad[-1][k, k] = 0.0
    _, trusted = inverted(np.stack([eye, *bad, eye]))
    assert trusted.tolist() == [True, *[False] * len(bad), True]


def test_no_matrices_at_all() -> None:
    inverses, trusted = inverted(np.empty((0, 4, 4)))
    assert inverses.shape == (0, 4, 4)
    assert trusted.size == 0


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_grams_of_what_is_kept(share: float) -> None:
    rng = np.random.default_rng(3)
    W = rng.random((23, 4))
    kept = rng.random((30, 23)) < share
    grams = np.full((30, 4, 4), np.nan)
    _native.subset_grams(W, kept, W.T @ W, 0.01, grams)
    np.testing.assert_allclose(grams, reference.subset_grams(W, kept), rtol=1e-12, atol=1e-14)


def test_a_small_difference_of_large_numbers_is_not_taken() -> None:
    W = np.random.default_rng(4).random((9, 3))
    W[0] *= 1e9
    kept = np.ones((1, 9), bool)
    kept[0, 0] = False
    grams = np.empty((1, 3, 3))
    _native.subset_grams(W, kept, W.T @ W, 0.01, grams)
    np.testing.assert_allclose(grams[0], W[1:].T @ W[1:], rtol=1e-13)


def test_right_hand_sides_that_share_matrices() -> None:
    rng = np.random.default_rng(5)
    Ws = rng.random((3, 12, 5))
    Ws[2, :, 1] = Ws[2, :, 0]  # its inverse is not to be trusted
    grams, place = np.stack([W.T @ W for W in Ws]), rng.integers(0, 3, size=40)
    C = np.stack([Ws[at].T @ rng.normal(size=12) for at in place], axis=1)
    gram = invert(grams, place)
    assert gram.trusted.tolist() == [True, True, False]
    H, support, solved = nnls(gram, C)
    assert solved.all()
    some = np.arange(5, 20)
    found, _, _ = nnls(gram.of(some), C[:, some], support[:, some])
    for b, at in enumerate(place):
        alone, _, _ = nnls(prepare(grams[at]), C[:, [b]])
        fitted = grams[at] @ H[:, b]  # codes of equal columns are not unique
        np.testing.assert_allclose(fitted, grams[at] @ alone[:, 0], rtol=0, atol=1e-10)
        if b in some:
            np.testing.assert_allclose(found[:, b - 5], H[:, b], rtol=0, atol=1e-10)
    assert np.array_equal(gram.each(), grams[place])
