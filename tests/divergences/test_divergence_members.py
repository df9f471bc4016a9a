"""Properties of single divergences, and their names."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from thalweg._rooms import members, resolve
from thalweg.divergences.alpha import Alpha
from thalweg.divergences.beta import Beta
from thalweg.divergences.huber import Huber
from thalweg.divergences.l1 import L1
from thalweg.divergences.l2 import L2
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.errors import InputError, ParameterError

ROOM = "thalweg.divergences"
ALIASES = {
    "kullback-leibler": "kl",
    "poisson": "kl",
    "is": "itakura-saito",
    "gamma": "itakura-saito",
    "frobenius": "squared-l2",
    "euclidean": "squared-l2",
    "squared": "squared-l2",
    "gaussian": "squared-l2",
    "manhattan": "l1",
    "laplace": "l1",
}
V, P = np.array([[1.0, 5.0], [4.0, 2.0]]), np.array([[2.0, 5.5], [1.0, 9.0]])


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_lead_to_the_same_class(alias: str) -> None:
    assert resolve(ROOM, alias, "loss") == resolve(ROOM, ALIASES[alias], "loss")
    assert alias not in members(ROOM)


def test_no_alias_is_taken_twice() -> None:
    found = [alias for cls in members(ROOM).values() for alias in (cls.name, *cls.aliases)]
    assert len(found) == len(set(found))
    assert set(ALIASES) <= set(found)


def test_rooms_without_aliases_are_resolved_as_before() -> None:
    assert resolve("thalweg.prox", "l1", "penalty").name == "l1"
    given = object()
    assert resolve("thalweg.prox", given, "penalty") is given


def test_unknown_names_are_answered_with_the_names() -> None:
    with pytest.raises(ParameterError, match="loss must be one of 'alpha', 'beta'") as caught:
        resolve(ROOM, "kullback", "loss")
    assert "'kl'" in str(caught.value)
    assert "poisson" not in str(caught.value)


@pytest.mark.parametrize("family", [Alpha, Beta])
@pytest.mark.parametrize("exponent", [np.nan, np.inf, "one", None])
def test_exponents_are_finite_numbers(family: Any, exponent: Any) -> None:
    with pytest.raises(ParameterError, match="must be a finite number"):
        family(exponent)


@pytest.mark.parametrize("exponent", [np.float64(1.3), 2, np.float32(0.5)])
@pytest.mark.parametrize("family", [Alpha, Beta])
def test_exponents_of_numpy_do_not_change_the_dtype(family: Any, exponent: Any) -> None:
    d, v, p = family(exponent), V.astype(np.float32), P.astype(np.float32)
    for result in (d.value(v, p), d.grad(v, p), d.curvature(v, p), *d.split(v, p)):
        assert result.dtype == np.float32


def test_shapes_of_curvature_tell_what_is_shared() -> None:
    shapes = {
        "squared-l2": (1, 1),
        "l2": (1, 2),
        **dict.fromkeys(["kl", "itakura-saito", "hellinger", "alpha", "beta", "l1"], (2, 2)),
    }
    for name, shape in shapes.items():
        assert resolve(ROOM, name, "loss").curvature(V, P).shape == shape, name
    assert Huber(1.0).curvature(V, P).shape == (2, 2)
    assert Mahalanobis().curvature(V, P).shape == (1, 1)
    assert Mahalanobis([1.0, 2.0]).curvature(V, P).shape == (2, 1)
    assert Mahalanobis([1.0, 2.0]).curvature(V[0], P[0]).shape == (2,)
    assert Mahalanobis(np.eye(2)).curvature(V, P).shape == (2, 1)


def test_huber_is_quadratic_up_to_delta_and_linear_beyond() -> None:
    d = Huber(delta=2.0)
    v, p = np.array([[0.0, 3.0, 4.0, 9.0]]), np.array([[1.0, 1.0, 7.0, 1.0]])
    np.testing.assert_array_equal(d.value(v, p), [0.5, 2.0, 4.0, 14.0])
    np.testing.assert_array_equal(d.grad(v, p), [[1.0, -2.0, 2.0, -2.0]])
    np.testing.assert_array_equal(d.curvature(v, p), [[1.0, 1.0, 2 / 3, 0.25]])
    np.testing.assert_array_equal(d.outliers(v, p), [[0.0, 0.0, -1.0, 6.0]])


def test_huber_without_delta_asks_to_be_tuned() -> None:
    for method in ("value", "grad", "curvature", "split", "outliers"):
        with pytest.raises(ParameterError, match=r"call tuned\(scale\)"):
            getattr(Huber(), method)(V, P)
    assert Huber().tuned(np.float64(2.0)) == Huber(delta=2.69)
    given = Huber(delta=3.0)
    assert given.tuned(2.0) is given


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan, np.inf, "auto"])
def test_huber_rejects_an_invalid_delta(delta: Any) -> None:
    with pytest.raises(ParameterError, match="delta must be a positive finite number"):
        Huber(delta)
    with pytest.raises(ParameterError, match="scale must be a positive finite number"):
        Huber().tuned(delta)


def test_the_whole_residual_of_a_norm_is_an_outlier() -> None:
    for d in (L1(), L2()):
        np.testing.assert_array_equal(d.outliers(V, P), V - P)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_norms_are_smooth_where_model_and_data_meet(dtype: Any) -> None:
    v = np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]], dtype=dtype)
    p = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]], dtype=dtype)
    for d in (L1(), L2()):
        neg, pos = d.split(v, p)
        np.testing.assert_array_equal(d.value(v, p), [0, 0, 2])
        np.testing.assert_array_equal(d.grad(v, p), [[0, 0, 1], [0, 0, 0]])
        assert np.all(np.isfinite(d.curvature(v, p)))
        np.testing.assert_array_equal(pos - neg, d.grad(v, p))


def test_norm_floor_follows_the_units_of_each_column() -> None:
    v = np.array([[1.0, 1e6], [3.0, 3e6]])
    np.testing.assert_allclose(L1().curvature(v, v), 0.5e10 * np.array([[1, 1e-6]] * 2))
    np.testing.assert_allclose(L2().curvature(v, v), 0.5e10 * np.array([[1, 1e-6]]))


def test_l2_has_the_whole_range() -> None:
    v = np.array([[3e-200, 3e200], [0.0, 0.0]])
    p = np.array([[0.0, 0.0], [4e-200, 4e200]])
    np.testing.assert_allclose(L2().value(v, p), [5e-200, 5e200], rtol=1e-15)
    np.testing.assert_allclose(L2().grad(v, p), [[-0.6, -0.6], [0.8, 0.8]], rtol=1e-15)


MATRIX = np.array([[2.0, -0.5], [-0.5, 1.0]])


def test_mahalanobis_weighs_the_residual() -> None:
    u = V - P
    np.testing.assert_allclose(
        Mahalanobis(MATRIX).value(V, P), np.diag(u.T @ MATRIX @ u) / 2, rtol=1e-14
    )
    for identity in (Mahalanobis(), Mahalanobis([1.0, 1.0]), Mahalanobis(np.eye(2))):
        np.testing.assert_allclose(identity.value(V, P), np.sum(u**2, axis=0) / 2, rtol=1e-15)
        np.testing.assert_array_equal(identity.grad(V, P), -u)


def test_mahalanobis_grows_as_its_signs_allow() -> None:
    assert Mahalanobis().growth == (1, 0)
    assert Mahalanobis([1.0, 0.0]).growth == (1, 0)
    assert Mahalanobis(np.abs(MATRIX)).growth == (1, 0)
    assert Mahalanobis(MATRIX).growth == (1, 1)


def test_mahalanobis_is_never_negative() -> None:
    direction = np.random.default_rng(0).normal(size=(30, 1))
    singular = Mahalanobis(direction @ direction.T)
    u = np.random.default_rng(1).normal(size=(30, 200))
    u -= direction @ (direction.T @ u) / (direction.T @ direction)
    value = singular.value(u + 10, np.full_like(u, 10))
    assert np.all(value >= 0)
    assert np.all(value < 1e-12)


def test_mahalanobis_keeps_a_copy_that_cannot_change() -> None:
    mine = MATRIX.copy()
    d = Mahalanobis(mine)
    mine[:] = 0
    assert d == Mahalanobis(MATRIX)
    with pytest.raises(ValueError, match="read-only"):
        d.matrix[0, 0] = 7.0


def test_mahalanobis_is_compared_by_its_entries() -> None:
    assert Mahalanobis(MATRIX) != Mahalanobis(2 * MATRIX)
    assert Mahalanobis(MATRIX) != Mahalanobis()
    assert Mahalanobis([1.0, 1.0]) != Mahalanobis(np.eye(2))
    assert Mahalanobis() != "mahalanobis"
    assert len({Mahalanobis(MATRIX), Mahalanobis(MATRIX), Mahalanobis()}) == 2
    assert clone(Mahalanobis(MATRIX), safe=False) == Mahalanobis(MATRIX)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        (np.ones((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.float64(2.0), r"shape \(\)"),
        (np.empty(0), r"shape \(0,\)"),
        ([[1.0, np.nan], [np.nan, 1.0]], "not finite"),
        ([1.0, np.inf], "not finite"),
        ([[1.0, 0.5], [0.4, 1.0]], "not symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "the eigenvalue -1"),
        ([1.0, -1e-3], "the eigenvalue -0.001"),
    ],
)
def test_mahalanobis_rejects_other_matrices(matrix: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Mahalanobis(matrix)


def test_mahalanobis_tolerates_rounding_errors() -> None:
    root = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    assert Mahalanobis(root @ root.T).growth == (1, 1)
    precision = np.linalg.inv(np.cov(np.random.default_rng(0).normal(size=(40, 90))))
    np.testing.assert_allclose(Mahalanobis(precision).matrix, precision, rtol=1e-9, atol=1e-12)


def test_mahalanobis_rejects_data_of_another_size() -> None:
    with pytest.raises(InputError, match="each of the 2 features, got 3 rows"):
        Mahalanobis([1.0, 1.0, 1.0]).value(V, P)
