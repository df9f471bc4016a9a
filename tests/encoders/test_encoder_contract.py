"""The contract of all encoders of ``thalweg.encoders``.

Here are those of the model with outliers; those of a divergence have a contract of their own.
"""

import tracemalloc
from math import inf
from typing import Any

import numpy as np
import pytest

import reference
from pairwise import all_pairs
from thalweg._rooms import members
from thalweg.encoders import Codes, Encoder
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.prox.sparse_group_lasso import SparseGroupLasso
from thalweg.updates.surrogate import Surrogate

Array = Any
NAMES = [n for n, cls in members("thalweg.encoders").items() if hasattr(cls(), "outliers")]
F, K, B = 10, 4, 16
MODELS = {
    "plain": (L1(0.2), Orthant()),
    "bounded": (L1(0.2, 0.5), Orthant()),
    "nonnegative": (L1(0.2, nonnegative=True), ElasticNet(0.05, 0.1, nonnegative=True)),
    "whole": (GroupLasso(0.15), L1(0.1, nonnegative=True)),
    "grouped": (L1(0.2), GroupLasso(0.1, (0, 0, 1, 1), nonnegative=True)),
    "mixed": (L1(0.2, 0.5), SparseGroupLasso(0.1, (0, 0, 1, 1), nonnegative=True)),
}
EXITS = {"decrease": {}, "gap": {"exit": "gap", "tol": 1e-4, "max_iter": 300}}

every_encoder = pytest.mark.parametrize("name", NAMES)
every_model = pytest.mark.parametrize("model", MODELS)
every_exit = pytest.mark.parametrize("end", EXITS)
with_gaps = pytest.mark.parametrize("gaps", [False, True], ids=["full", "gaps"])


def build(name: str, model: str = "plain", **options: Any) -> Any:
    outliers, penalty = MODELS[model]
    return members("thalweg.encoders")[name](outliers=outliers, penalty=penalty, **options)


def data(seed: int = 0, gaps: bool = False, B: int = B, dtype: Any = np.float64) -> Any:
    """Return V, W and observed; samples are of very different sizes, to be done at other times."""
    rng = np.random.default_rng(seed)
    W = np.abs(rng.normal(size=(F, K))) * (rng.random((F, K)) < 0.6) + 0.1
    W /= np.linalg.norm(W, axis=0)
    V = W @ rng.random((K, B)) + 0.05 * rng.normal(size=(F, B))
    V += (rng.random((F, B)) < 0.1) * rng.normal(size=(F, B))
    V *= rng.choice([0.3, 1.0, 3.0], size=B)
    observed = rng.random((F, B)) < 0.75 if gaps else None
    return V.astype(dtype), W.astype(dtype), observed


def same(left: Codes, right: Codes, rtol: float = 0.0, atol: float = 1e-9) -> None:
    for field in ("H", "loss", "cost"):
        np.testing.assert_allclose(
            getattr(left, field), getattr(right, field), rtol=rtol, atol=atol, err_msg=field
        )
    assert np.array_equal(left.solved, right.solved)


def feasible(codes: Codes, model: str, V: Array, W: Array, observed: Array | None) -> None:
    """Check what holds for any result, found to the end or not."""
    outliers, penalty = MODELS[model]
    kept = np.ones(V.shape, bool) if observed is None else observed
    assert codes.H.shape == (W.shape[1], V.shape[1])
    assert codes.R.shape == V.shape
    assert codes.loss.shape == codes.cost.shape == codes.solved.shape == V.shape[1:]
    for part in codes[:4]:
        assert np.all(np.isfinite(part))
        assert part.dtype == V.dtype
    assert np.all(codes.H >= 0)
    rest = np.where(kept, V - W @ codes.H - codes.R, 0.0)
    penalties = outliers.value(np.where(kept, codes.R, 0)) + penalty.value(codes.H)
    near = {"rtol": 1e-9, "atol": 1e-12} if V.dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(codes.cost, penalties, **near)
    np.testing.assert_allclose(codes.loss, 0.5 * np.sum(rest**2, axis=0) + penalties, **near)
    gaps, eps = (V - codes.R - W @ codes.H)[~kept], float(np.finfo(V.dtype).eps)
    np.testing.assert_allclose(gaps, 0.0, atol=100 * eps * np.abs(V).max(initial=0.0))


@every_encoder
def test_follows_the_protocol(name: str) -> None:
    encoder = members("thalweg.encoders")[name]()
    assert isinstance(encoder, Encoder)
    assert encoder.name == name
    assert encoder.tol == 1e-3  # [O] VII-B2
    assert "argmin" in type(encoder).__doc__.splitlines()[0]
    assert hash(encoder) == hash(members("thalweg.encoders")[name]())


@pytest.mark.parametrize("name", ["pgd", "admm"])
def test_the_papers_cap_is_the_default(name: str) -> None:
    assert members("thalweg.encoders")[name]().max_iter == 50


@all_pairs(
    every_encoder,
    every_model,
    with_gaps,
    every_exit,
    pytest.mark.parametrize("order", ["C", "F"]),
)
def test_results_are_feasible_and_inputs_not_modified(
    name: str, model: str, gaps: bool, end: str, order: Any
) -> None:
    V, W, observed = data(1, gaps)
    inputs = [np.array(V, order=order), np.array(W, order=order)]
    mask = None if observed is None else np.array(observed, order=order)
    codes = build(name, model, **EXITS[end]).encode(*inputs, observed=mask)
    feasible(codes, model, V, W, observed)
    assert np.array_equal(inputs[0], V)
    assert np.array_equal(inputs[1], W)
    assert mask is None or np.array_equal(mask, observed)
    other = build(name, model, **EXITS[end]).encode(V.copy(), W.copy(), observed=observed)
    same(codes, other, rtol=1e-9)


@all_pairs(every_encoder, every_model, with_gaps)
def test_float32_stays_float32(name: str, model: str, gaps: bool) -> None:
    V, W, observed = data(2, gaps, dtype=np.float32)
    for end in EXITS.values():
        encoder = build(name, model, **{**end, "max_iter": 2000})
        codes = encoder.encode(V, W, observed=observed)
        feasible(codes, model, V, W, observed)
        wide = encoder.encode(V.astype(np.float64), W.astype(np.float64), observed=observed)
        # Stops may differ by a step; the loss then differs by the tolerance.
        np.testing.assert_allclose(codes.loss, wide.loss, rtol=5e-3, atol=1e-4)


@all_pairs(every_encoder, every_model, every_exit)
def test_values_at_missing_entries_have_no_effect(name: str, model: str, end: str) -> None:
    V, W, observed = data(3, gaps=True)
    encoder = build(name, model, **EXITS[end])
    clean = encoder.encode(np.where(observed, V, 0.0), W, observed=observed)
    update = Surrogate()
    atoms, state = update.step(W, update.init(W), np.where(observed, V, 0.0), clean)
    rng = np.random.default_rng(0)
    for garbage in (1e3, -5.0, 1e3 * rng.normal(size=V.shape)):
        dirty = np.where(observed, V, garbage)
        codes = encoder.encode(dirty, W, observed=observed)
        feasible(codes, model, dirty, W, observed)
        for field in ("H", "loss", "cost", "solved"):
            assert np.array_equal(getattr(codes, field), getattr(clean, field)), field
        assert np.array_equal(codes.R[observed], clean.R[observed])
        moved, statistics = update.step(W, update.init(W), dirty, codes)
        np.testing.assert_allclose(moved, atoms, rtol=0, atol=1e-10)
        for one, other in zip(statistics, state, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


@every_encoder
@pytest.mark.parametrize("model", [m for m in MODELS if m != "whole"])  # it counts all rows
def test_a_missing_entry_equals_a_removed_row(name: str, model: str) -> None:
    V, W, _ = data(4)
    rows = np.ones(F, bool)
    rows[[2, 5, 6]] = False
    observed = np.broadcast_to(rows[:, None], V.shape)
    encoder = build(name, model, exit="gap", tol=1e-6, max_iter=20_000)
    gaps = encoder.encode(V, W, observed=observed)
    less = encoder.encode(V[rows], W[rows])
    assert gaps.solved.all()
    np.testing.assert_allclose(gaps.loss, less.loss, rtol=2e-6)


@every_encoder
@every_model
def test_a_full_mask_equals_no_mask(name: str, model: str) -> None:
    V, W, _ = data(5)
    encoder = build(name, model)
    same(encoder.encode(V, W, observed=np.ones(V.shape, bool)), encoder.encode(V, W), rtol=1e-9)


@every_encoder
@every_model
@every_exit
def test_a_sample_without_observed_entries(name: str, model: str, end: str) -> None:
    V, W, observed = data(6, gaps=True)
    observed[:, [0, 7]] = False
    V[:, 7] = 1e3
    codes = build(name, model, **EXITS[end]).encode(V, W, observed=observed)
    feasible(codes, model, V, W, observed)
    np.testing.assert_allclose(codes.loss[[0, 7]], 0.0, atol=1e-12)
    assert codes.solved[[0, 7]].all()
    rest = np.setdiff1d(np.arange(B), [0, 7])
    others = build(name, model, **EXITS[end]).encode(V[:, rest], W, observed=observed[:, rest])
    np.testing.assert_allclose(codes.H[:, rest], others.H, rtol=1e-7, atol=1e-8)


@all_pairs(every_encoder, every_model, with_gaps, every_exit)
def test_samples_do_not_depend_on_one_another(name: str, model: str, gaps: bool, end: str) -> None:
    V, W, observed = data(7, gaps)
    encoder = build(name, model, **EXITS[end])
    together = encoder.encode(V, W, observed=observed)
    for b in range(0, B, 3):
        mask = None if observed is None else observed[:, [b]]
        alone = encoder.encode(V[:, [b]], W, observed=mask)
        part = Codes(*(x[..., [b]] for x in together))
        same(alone, part, rtol=1e-9)
    order = np.random.default_rng(1).permutation(B)
    turned = encoder.encode(
        V[:, order], W, observed=None if observed is None else observed[:, order]
    )
    same(turned, Codes(*(x[..., order] for x in together)), rtol=1e-9)


@every_encoder
@with_gaps
def test_results_do_not_depend_on_chunks(name: str, gaps: bool) -> None:
    V, W, observed = data(8, gaps, B=600)
    encoder = build(name, tol=1e-4, max_iter=500)
    together = encoder.encode(V, W, observed=observed)
    feasible(together, "plain", V, W, observed)
    for part in (slice(0, 100), slice(200, 320), slice(500, 600)):
        alone = encoder.encode(
            V[:, part], W, observed=None if observed is None else observed[:, part]
        )
        same(alone, Codes(*(x[..., part] for x in together)), rtol=1e-9)
        np.testing.assert_allclose(alone.R, together.R[:, part], rtol=0, atol=1e-9)
    H0 = np.random.default_rng(2).random((K, 600))
    together = encoder.encode(V, W, H0=H0, observed=observed)
    part = slice(250, 270)
    mask = None if observed is None else observed[:, part]
    alone = encoder.encode(V[:, part], W, H0=H0[:, part], observed=mask)
    same(alone, Codes(*(x[..., part] for x in together)), rtol=1e-9)


@every_encoder
@every_model
def test_the_result_does_not_depend_on_the_initial_codes(name: str, model: str) -> None:
    V, W, _ = data(9)
    encoder = build(name, model, exit="gap", tol=1e-7, max_iter=20_000)
    H0 = 3.0 * np.random.default_rng(3).random((K, B))
    before = H0.copy()
    cold, warm = encoder.encode(V, W), encoder.encode(V, W, H0=H0)
    assert np.array_equal(H0, before)
    assert cold.solved.all()
    assert warm.solved.all()
    np.testing.assert_allclose(warm.loss, cold.loss, rtol=2e-7)
    again = encoder.encode(V, W, H0=cold.H)
    np.testing.assert_allclose(again.loss, cold.loss, rtol=2e-7)


@every_encoder
def test_samples_at_max_iter_are_not_solved(name: str) -> None:
    V, W, _ = data(10)
    codes = build(name, max_iter=1, exit="gap", tol=1e-12).encode(V, W)
    feasible(codes, "plain", V, W, None)
    assert not codes.solved.all()
    assert build(name, max_iter=50_000, exit="gap", tol=1e-6).encode(V, W).solved.all()


@pytest.mark.parametrize("name", [n for n in NAMES if n != "admm"])
@every_model
@with_gaps
def test_the_loss_falls_with_each_step(name: str, model: str, gaps: bool) -> None:
    V, W, observed = data(11, gaps)
    H0 = np.random.default_rng(4).random((K, B))
    for end in ({"tol": 0.0}, {"exit": "gap", "tol": 1e-15}):
        losses = [
            build(name, model, max_iter=n, **end).encode(V, W, H0=H0, observed=observed).loss
            for n in (0, 1, 2, 3, 5, 8, 9, 10, 11)
        ]
        falls = -np.diff(losses, axis=0)
        assert np.all(falls >= -1e-12 * losses[0])
        assert np.all(falls[0] > 0)


# --- the paper's two encoders, iteration for iteration -----------------------------------------


@pytest.mark.parametrize("bound", [inf, 0.3])
@with_gaps
@pytest.mark.parametrize("kappa", [0.3, 0.7, 1.0])
def test_pgd_is_the_papers(bound: float, gaps: bool, kappa: float) -> None:
    V, W, observed = data(12, gaps)
    kept = np.ones(V.shape, bool) if observed is None else observed
    for n in (0, 1, 2, 5, 30):
        encoder = members("thalweg.encoders")["pgd"](
            outliers=L1(0.2, bound), tol=0.0, max_iter=n, kappa=kappa
        )
        codes = encoder.encode(V, W, observed=observed)
        for b in range(0, B, 3):
            track = reference.opgd_encode(V[:, b], W, 0.2, bound, kappa, n, kept[:, b])
            np.testing.assert_allclose(codes.H[:, b], track[n][0], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(codes.R[:, b], track[n][1], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("bound", [inf, 0.3])
@with_gaps
@pytest.mark.parametrize("rho", [0.5, 1.0, 4.0])
def test_admm_is_the_papers(bound: float, gaps: bool, rho: float) -> None:
    V, W, observed = data(13, gaps)
    kept = np.ones(V.shape, bool) if observed is None else observed
    for n in (0, 1, 2, 5, 30):
        encoder = members("thalweg.encoders")["admm"](
            outliers=L1(0.2, bound), tol=0.0, max_iter=n, rho=rho
        )
        codes = encoder.encode(V, W, observed=observed)
        for b in range(0, B, 3):
            track = reference.oadmm_encode(V[:, b], W, 0.2, bound, rho, n, kept[:, b])
            np.testing.assert_allclose(codes.H[:, b], track[n], rtol=1e-10, atol=1e-11)


def test_pgd_stops_by_the_papers_rule() -> None:
    V, W, _ = data(14)
    kept = np.ones(F, bool)
    for tol in (1e-4, 1e-5):
        codes = build("pgd", tol=tol).encode(V, W)
        ends = []
        for b in range(B):
            track = reference.opgd_encode(V[:, b], W, 0.2, inf, 0.7, 50, kept)
            losses = [reference.sample_loss(V[:, b], W, h, r, 0.2, kept) for h, r in track]
            ends.append(reference.stops(losses, tol))
            np.testing.assert_allclose(codes.H[:, b], track[ends[-1]][0], rtol=1e-10, atol=1e-12)
            assert codes.loss[b] == pytest.approx(losses[ends[-1]], rel=1e-12)
            assert codes.solved[b] == (ends[-1] < 50)
        assert len(set(ends)) >= 5, "all samples stop together: the test shows little"


def test_admm_stops_by_the_papers_rule() -> None:
    """The rule holds at the feasible copy that is returned, and at the paper's h and r too."""
    V, W, _ = data(15)
    for tol in (1e-2, 1e-3):
        codes = build("admm", tol=tol).encode(V, W)
        ends = []
        for b in range(B):
            track = reference.oadmm_encode(V[:, b], W, 0.2, inf, 1.0, 50, np.ones(F, bool))
            reached = [k for k, u in enumerate(track) if np.allclose(codes.H[:, b], u, atol=1e-11)]
            assert reached
            ends.append(reached[0])
            if codes.solved[b]:
                E, values = reference.envelope_l1(
                    (V[:, [b]] - W @ np.transpose(track)).T, 0.2, inf, -inf
                )
                assert E.shape == (51, F)
                assert reference.stops(list(values), tol) <= ends[-1]
                change = abs(values[ends[-1]] - values[ends[-1] - 1])
                assert change <= tol * values[ends[-1] - 1]
        assert np.all((np.array(ends) < 50) | ~codes.solved)
        assert len(set(ends)) >= 5, "all samples stop together: the test shows little"


@pytest.mark.parametrize("model", MODELS)
def test_admm_does_not_stop_while_its_copy_rests(model: str) -> None:
    """A penalty keeps u at zero until the dual variable has grown: that is no convergence."""
    rng = np.random.default_rng(16)
    W = np.abs(rng.normal(size=(40, K)))
    W /= np.linalg.norm(W, axis=0)
    V = W @ rng.random((K, B)) + 0.02 * rng.normal(size=(40, B))
    penalty = L1(0.5, nonnegative=True) if model == "plain" else MODELS[model][1]
    admm = members("thalweg.encoders")["admm"]
    exact = admm(penalty=penalty, exit="gap", tol=1e-6, max_iter=20_000).encode(V, W)
    usual = admm(penalty=penalty).encode(V, W)
    assert exact.solved.all()
    assert np.all(usual.loss <= 1.02 * exact.loss)


# --- degenerate problems -----------------------------------------------------------------------


def degenerate() -> dict[str, Array]:
    rng = np.random.default_rng(17)
    W = np.abs(rng.normal(size=(F, K)))
    zero = W.copy()
    zero[:, [0, 2]] = 0.0
    lone = W.copy()
    lone[1:, 0] = 1e-9  # nearly nothing is left of this atom where its first row is a gap
    return {
        "zero": np.zeros((F, K)),
        "zero-columns": zero,
        "duplicates": W[:, [0, 1, 0, 1]],
        "wide": np.abs(rng.normal(size=(2, K))),
        "one-feature": np.abs(rng.normal(size=(1, K))),
        "lone": lone,
        "one-atom": W[:, :1],
        "ones": np.ones((F, K)),
        "nearly-dependent": W[:, [0, 0, 1, 1]] + 1e-9 * W,
        "large": 1e6 * W,
        "small": 1e-6 * W,
    }


@all_pairs(
    every_encoder,
    every_exit,
    with_gaps,
    pytest.mark.parametrize("case", degenerate()),
    pytest.mark.parametrize("model", ["plain", "bounded", "nonnegative", "whole"]),
)
def test_degenerate_dictionaries(name: str, end: str, gaps: bool, case: str, model: str) -> None:
    W = degenerate()[case]
    rng = np.random.default_rng(18)
    V = rng.random((len(W), B))
    V[:, 0] = 0.0
    observed = rng.random(V.shape) < 0.7 if gaps else None
    codes = build(name, model, **{**EXITS[end], "max_iter": 300}).encode(V, W, observed=observed)
    feasible(codes, model, V, W, observed)
    kept = np.ones(V.shape, bool) if observed is None else observed
    nothing = MODELS[model][0]
    # No codes at all is a point that every encoder knows of.
    zero = np.array([
        0.5 * np.sum((v - nothing.prox(v)) ** 2) + nothing.value(nothing.prox(v))
        for v in np.where(kept, V, 0.0).T
    ])  # fmt: skip
    # (ADMM is not monotone, and its rho is absolute: with large atoms it is on its way yet.)
    if (name, case) != ("admm", "large"):
        assert np.all(codes.loss <= zero * (1 + 1e-9) + 1e-12)
    assert codes.loss[0] == 0.0


@all_pairs(
    pytest.mark.parametrize("case", degenerate()),
    pytest.mark.parametrize("model", ["plain", "bounded", "nonnegative"]),
    with_gaps,
)
def test_fast_is_certain_of_degenerate_dictionaries(case: str, model: str, gaps: bool) -> None:
    W = degenerate()[case]
    rng = np.random.default_rng(19)
    V = rng.random((len(W), B))
    observed = rng.random(V.shape) < 0.7 if gaps else None
    codes = build("fast", model, exit="gap", tol=1e-6).encode(V, W, observed=observed)
    feasible(codes, model, V, W, observed)
    assert codes.solved.all()


@all_pairs(every_encoder, every_model, every_exit, with_gaps)
def test_no_samples(name: str, model: str, end: str, gaps: bool) -> None:
    _, W, _ = data(20)
    V = np.empty((F, 0))
    codes = build(name, model, **EXITS[end]).encode(
        V, W, observed=np.empty((F, 0), bool) if gaps else None
    )
    feasible(codes, model, V, W, np.empty((F, 0), bool))


@all_pairs(
    every_encoder,
    every_exit,
    with_gaps,
    pytest.mark.parametrize("weight", [0.0, 1e-6, 1e6]),
    pytest.mark.parametrize("penalty", [0.0, 1e-6, 1e6]),
)
def test_extreme_weights(name: str, end: str, gaps: bool, weight: float, penalty: float) -> None:
    V, W, observed = data(21, gaps)
    encoder = members("thalweg.encoders")[name](
        outliers=L1(weight),
        penalty=L1(penalty, nonnegative=True),
        **{**EXITS[end], "max_iter": 200},
    )
    codes = encoder.encode(V, W, observed=observed)
    kept = np.ones(V.shape, bool) if observed is None else observed
    assert all(np.all(np.isfinite(part)) for part in codes[:4])
    assert np.all(codes.H >= 0)
    if penalty == 1e6:
        np.testing.assert_allclose(codes.H, 0.0, atol=1e-12)
    if weight == 0.0:
        np.testing.assert_allclose(codes.loss, penalty * codes.H.sum(axis=0), atol=1e-12)
    if weight == 1e6:
        assert not np.any(codes.R[kept]), "so dear an outlier is never taken"
    # A tiny weight makes it a problem of least absolute deviations, on which all are slow.
    if end == "gap" and name == "fast" and (weight != 1e-6 or penalty == 1e6):
        assert codes.solved.all()


@pytest.mark.parametrize("size", [2.0**-400, 2.0**-20, 2.0**20, 2.0**400])
@every_exit
@with_gaps
def test_fast_does_not_depend_on_units(size: float, end: str, gaps: bool) -> None:
    """With data and weight in other units, the codes are in those units."""
    V, W, observed = data(22, gaps)
    codes = members("thalweg.encoders")["fast"](outliers=L1(0.2), **EXITS[end])
    scaled = members("thalweg.encoders")["fast"](outliers=L1(0.2 * size), **EXITS[end])
    one, other = (
        codes.encode(V, W, observed=observed),
        scaled.encode(V * size, W, observed=observed),
    )
    np.testing.assert_allclose(other.H / size, one.H, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.loss / size / size, one.loss, rtol=1e-9)


@every_exit
@with_gaps
@pytest.mark.parametrize("name", NAMES)
def test_initial_codes_are_not_modified(name: str, end: str, gaps: bool) -> None:
    V, W, observed = data(23, gaps)
    H0 = np.asfortranarray(np.random.default_rng(23).random((W.shape[1], V.shape[1])))
    kept = H0.copy()
    build(name, **EXITS[end]).encode(V, W, H0=H0, observed=observed)
    assert np.array_equal(H0, kept)


@pytest.mark.parametrize("noise", [1e-2, 1e-3, 1e-4, 1e-6])
def test_fast_finds_the_codes_behind_outliers_far_above_the_noise(noise: float) -> None:
    """A small weight from the start would stop near the least-squares solution."""
    rng = np.random.default_rng(24)
    W = np.abs(rng.normal(size=(60, 6)))
    W /= np.linalg.norm(W, axis=0)
    H = rng.random((6, 100))
    outliers = (rng.random((60, 100)) < 0.1) * rng.random((60, 100))
    V = W @ H + noise * rng.normal(size=(60, 100)) + outliers
    fast = members("thalweg.encoders")["fast"](outliers=L1(2 * noise))
    plain = members("thalweg.encoders")["fast"](outliers=L1(1e3))
    error = np.abs(fast.encode(V, W).H - H).mean()
    assert error < 3 * noise + 0.05 * np.abs(plain.encode(V, W).H - H).mean()


@pytest.mark.parametrize("name", NAMES)
def test_no_certificate_for_signed_dictionaries(name: str) -> None:
    V, W, _ = data(25, False)
    W = W - W.mean()
    codes = build(name, tol=1e-3, exit="gap", max_iter=20).encode(V, W)
    assert not codes.solved.any()


def test_many_atoms_and_gaps_take_bounded_memory() -> None:
    """Each sample with gaps has matrices of its own, so that fewer are encoded at a time."""
    rng = np.random.default_rng(0)
    W, V = rng.random((320, 300)), rng.random((320, 256))
    observed = rng.random(V.shape) < 0.9
    tracemalloc.start()
    try:
        members("thalweg.encoders")["fast"](outliers=L1(1.0), max_iter=1).encode(
            V, W, observed=observed
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    one_for_each = V.shape[1] * W.shape[1] ** 2 * W.itemsize
    assert peak < 0.6 * one_for_each
