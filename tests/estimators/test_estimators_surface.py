"""The methods and attributes that every estimator has, and what they mean."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thalweg import OnlineFactorization, RobustNMF, RobustOnlineNMF, SparseArchetypalNMF
from thalweg._typing import Array
from thalweg.encoders.fast import Fast
from thalweg.errors import ParameterError
from thalweg.estimators import Decomposition, Progress
from thalweg.metrics import empirical_loss, outlier_scores
from thalweg.prox.l1 import L1
from thalweg.synthetic import OutlierData


def batches(X: Any, size: int) -> list[Any]:
    return [X[start : start + size] for start in range(0, X.shape[0], size)]


def test_fit_transform_is_fit_then_transform(make: Any, gappy: Array) -> None:
    assert np.array_equal(make().fit_transform(gappy), make().fit(gappy).transform(gappy))


def test_partial_fit_is_fit_without_shuffling(make_nmf_streaming: Any, gappy: Array) -> None:
    whole = make_nmf_streaming(shuffle=False, batch_size=32).fit(gappy)  # the last batch is smaller
    pieces = make_nmf_streaming()
    for batch in batches(gappy, 32):
        pieces.partial_fit(batch)
    assert np.array_equal(pieces.components_, whole.components_)
    assert pieces.objective_ == whole.objective_
    assert pieces.outlier_share_ == whole.outlier_share_
    assert (pieces.n_samples_seen_, pieces.n_batches_seen_) == (240, 8)
    for mine, theirs in zip(pieces.statistics_, whole.statistics_, strict=True):
        assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")


def test_epochs_count(make_nmf_streaming: Any, X: Array) -> None:
    twice = make_nmf_streaming(shuffle=False, batch_size=60, epochs=2).fit(X)
    pieces = make_nmf_streaming()
    for batch in batches(np.vstack([X, X]), 60):
        pieces.partial_fit(batch)
    assert np.array_equal(twice.components_, pieces.components_)
    assert (twice.n_samples_seen_, twice.n_batches_seen_) == (480, 8)


def test_shuffling_changes_the_order_only_where_asked(make_nmf_streaming: Any, X: Array) -> None:
    shuffled = make_nmf_streaming(batch_size=16).fit(X)
    assert not np.array_equal(
        shuffled.components_, make_nmf_streaming(batch_size=16, shuffle=False).fit(X).components_
    )
    assert np.array_equal(
        shuffled.components_, make_nmf_streaming(batch_size=16).fit(X).components_
    )


def test_a_row_does_not_depend_on_the_others(make: Any, X: Array, gappy: Array) -> None:
    model = make().fit(X)
    rows = np.vstack([X[:30], gappy[30:60]])
    together = model.decompose(rows)
    order = np.random.default_rng(0).permutation(60)
    alone = [model.decompose(rows[i : i + 1]) for i in range(60)]
    mixed = model.decompose(np.vstack([1e3 * gappy[100:200], rows[order]]))
    for part in range(3):
        # BLAS may round the product of one row otherwise than that of many
        one_by_one = np.vstack([a[part] for a in alone])
        assert np.allclose(one_by_one, together[part], rtol=1e-7, atol=1e-9)
        assert np.allclose(mixed[part][100:], together[part][order], rtol=1e-7, atol=1e-9)


def test_long_data_are_encoded_in_blocks(
    make: Any, X: Array, gappy: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make().fit(X)
    whole = model.decompose(gappy)
    score = model.score_samples(gappy)
    monkeypatch.setattr("thalweg.estimators.base.rows_per_block", lambda *shape: 7)
    for mine, theirs in zip(model.decompose(gappy), whole, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-7, atol=1e-9)
    assert np.allclose(model.score_samples(gappy), score, rtol=1e-7)


def test_decompose_takes_the_data_apart(make: Any, planted: OutlierData) -> None:
    model = make().fit(planted.X)
    found = model.decompose(planted.X)
    assert isinstance(found, Decomposition)
    assert found.codes.shape == (240, 3)
    assert found.low_rank.shape == found.outliers.shape == planted.X.shape
    assert np.array_equal(found.codes, model.transform(planted.X))
    assert np.allclose(found.low_rank, found.codes @ model.components_)


def test_a_factorisation_is_nonnegative(make_nmf: Any, X: Array, gappy: Array) -> None:
    for data in (X, gappy):
        model = make_nmf().fit(data)
        assert np.all(model.components_ >= 0)
        assert np.all(model.transform(data) >= 0)


def test_what_is_left_is_at_most_the_weight(make_robust: Any, gappy: Array) -> None:
    model = make_robust().fit(gappy)
    _, low_rank, outliers = model.decompose(gappy)
    observed = ~np.isnan(gappy)
    left = (gappy - low_rank - outliers)[observed]
    weight = model.outlier_weight_
    assert np.abs(left).max() <= weight * (1 + 1e-9)
    # an entry is an outlier exactly where the weight is used up, and on the side of the residual
    flagged = outliers[observed] != 0
    assert np.allclose(np.abs(left[flagged]), weight)
    assert np.all(left[flagged] * outliers[observed][flagged] > 0)
    assert np.all(outliers[~observed] == 0)
    assert np.all(np.isfinite(low_rank))


def test_outliers_are_found_where_they_were_planted(make_fast: Any, planted: OutlierData) -> None:
    model = make_fast().fit(planted.X)
    outliers = model.decompose(planted.X).outliers
    visible = np.abs(planted.X - planted.clean) > 0.1
    # an outlier is what a residual has beyond the weight
    scores = outlier_scores(visible, np.abs(outliers) + model.outlier_weight_ > 0.1)
    assert scores.recall > 0.85
    assert scores.precision > 0.85


def test_inverse_transform(make: Any, X: Array) -> None:
    model = make().fit(X)
    codes = model.transform(X)
    assert np.allclose(model.inverse_transform(codes), model.decompose(X).low_rank)
    assert np.array_equal(model.inverse_transform(np.eye(3)), model.components_)
    assert model.inverse_transform([[1, 2, 3]]).shape == (1, X.shape[1])


def test_score_is_minus_the_mean_loss(make: Any, X: Array, gappy: Array) -> None:
    model = make().fit(X)
    for data in (X, gappy):
        samples = model.score_samples(data)
        assert samples.shape == (240,)
        assert np.all(samples <= 0)
        assert model.score(data) == pytest.approx(samples.mean(), rel=1e-12)


@pytest.mark.parametrize("bound", [None, 0.3])
def test_score_is_minus_the_empirical_loss(
    make_robust: Any, X: Array, gappy: Array, bound: float | None
) -> None:
    model = make_robust(outlier_bound=bound).fit(X).set_params(tol=1e-9)
    for data in (X[:60], gappy[:60]):
        oracle = empirical_loss(
            data,
            model.components_,
            outlier_weight=model.outlier_weight_,
            outlier_bound=np.inf if bound is None else bound,
        )
        assert model.score(data) == pytest.approx(-oracle, rel=1e-7)


def test_score_of_a_composition(X: Array) -> None:
    encoder = Fast(outliers=L1(0.1), tol=1e-9, exit="gap")
    model = OnlineFactorization(3, encoder=encoder, random_state=0).fit(X)
    assert -model.score(X) == pytest.approx(
        empirical_loss(X, model.components_, outlier_weight=0.1), rel=1e-7
    )


def test_batch_objective_is_its_loss(X: Array) -> None:
    model = RobustNMF(3, outlier_weight=0.1, tol=1e-6, max_iter=3000, random_state=0).fit(X)
    loss = empirical_loss(X, model.components_, outlier_weight=0.1)
    assert model.objective_ == pytest.approx(loss, rel=1e-4)


def test_float32_stays(make: Any, X: Array, gappy: Array) -> None:
    model = make().fit(gappy.astype(np.float32))
    assert model.components_.dtype == np.float32
    found = model.decompose(X.astype(np.float32))
    assert {part.dtype for part in found} == {np.dtype(np.float32)}
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    # what was learned in single precision is applied in single precision
    assert model.transform(X).dtype == np.float32
    if hasattr(model, "partial_fit"):
        assert model.partial_fit(X).components_.dtype == np.float32


def test_statistics_stay_float32(make_nmf_streaming: Any, X: Array) -> None:
    model = make_nmf_streaming().fit(X.astype(np.float32))
    for _ in range(2):
        kept = [part.dtype for part in model.statistics_ if part.ndim >= 2]
        assert len(kept) >= 2
        assert set(kept) == {np.dtype(np.float32)}
        model.partial_fit(X)


@pytest.mark.parametrize("name", ["RobustOnlineNMF", "RobustNMF"])
def test_float32_is_nearly_float64(name: str, X: Array) -> None:
    cls = {"RobustOnlineNMF": RobustOnlineNMF, "RobustNMF": RobustNMF}[name]
    wide, narrow = (
        cls(3, outlier_weight=0.1, random_state=0).fit(X.astype(t))
        for t in (np.float64, np.float32)
    )
    assert np.allclose(narrow.components_, wide.components_, atol=0.02)
    assert narrow.score(X) == pytest.approx(wide.score(X), rel=1e-2)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float16])
def test_other_numbers_become_float64(make: Any, dtype: Any) -> None:
    X = np.random.default_rng(0).integers(0, 2, (30, 5)).astype(dtype)
    model = make().fit(X)
    assert model.components_.dtype == np.float64
    assert np.array_equal(model.components_, make().fit(X.astype(np.float64)).components_)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
def test_sparse_is_dense(make: Any, X: Array, form: str) -> None:
    X = np.where(X > 0.6, X, 0.0)
    thin = getattr(sparse, form)(X)
    model = make().fit(X)
    same = make().fit(thin)
    assert np.array_equal(same.components_, model.components_)
    for mine, theirs in zip(same.decompose(thin), model.decompose(X), strict=True):
        assert isinstance(mine, np.ndarray)
        assert np.array_equal(mine, theirs)
    assert same.score(thin) == model.score(X)


def test_sparse_partial_fit(make_streaming: Any, X: Array) -> None:
    X = np.where(X > 0.6, X, 0.0)
    dense, thin = make_streaming(), make_streaming()
    for batch in batches(X, 60):
        dense.partial_fit(batch)
        thin.partial_fit(sparse.csr_array(batch))
    assert np.array_equal(dense.components_, thin.components_)


def test_sparse_with_nan_stored_has_gaps(make: Any, X: Array) -> None:
    X = np.where(X > 0.6, X, 0.0)
    X[::7, ::3] = np.nan
    assert np.array_equal(make().fit(sparse.csr_array(X)).components_, make().fit(X).components_)


def test_memory_of_any_kind(make: Any, gappy: Array, tmp_path: Path) -> None:
    expected = make().fit(gappy)
    before = gappy.copy()
    path = tmp_path / "X.npy"
    np.save(path, gappy)
    for data in (
        np.asfortranarray(gappy),
        np.load(path, mmap_mode="r"),
        np.repeat(gappy, 2, axis=1)[:, ::2],
        gappy.tolist(),
    ):
        model = make().fit(data)
        assert np.array_equal(model.components_, expected.components_)
        assert np.array_equal(model.transform(data), expected.transform(gappy))
    frozen = gappy.copy()
    frozen.flags.writeable = False
    assert np.array_equal(make().fit(frozen).components_, expected.components_)
    assert np.array_equal(gappy, before, equal_nan=True)


def test_attributes(make: Any, X: Array) -> None:
    model = make().fit(X)
    assert model.components_.shape == (3, X.shape[1])
    assert model.components_.flags.c_contiguous
    assert model.n_samples_seen_ == 240
    assert model.n_features_in_ == X.shape[1]
    assert 0 <= model.outlier_share_ <= 1
    assert not hasattr(model, "history_")


def test_objective(make_nmf: Any, X: Array) -> None:
    model = make_nmf().fit(X)
    assert isinstance(model.objective_, float)
    assert model.objective_ > 0


def test_outlier_share_is_that_of_decompose(X: Array, gappy: Array) -> None:
    model = RobustNMF(3, random_state=0).fit(gappy)
    observed = ~np.isnan(gappy)
    share = np.count_nonzero(model.decompose(gappy).outliers[observed]) / observed.sum()
    assert model.outlier_share_ == pytest.approx(share, abs=0.02)
    online = RobustOnlineNMF(3, random_state=0, batch_size=24, shuffle=False, epochs=3).fit(X)
    share = np.count_nonzero(online.decompose(X).outliers) / X.size
    assert online.outlier_share_ == pytest.approx(share, abs=0.05)


def test_no_outliers_no_share() -> None:
    X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 3.0])
    for cls in (RobustOnlineNMF, RobustNMF):
        assert cls(1, outlier_weight=1e3, random_state=0).fit(X).outlier_share_ == 0.0


def test_nothing_that_grows_is_kept(make: Any, X: Array) -> None:
    model = make().fit(X)
    for name, value in vars(model).items():
        assert not isinstance(value, list), name
        sizes = [
            v.size for v in (value if isinstance(value, tuple) else [value]) if hasattr(v, "size")
        ]
        assert max(sizes, default=0) < X.size, name


def test_history_where_asked(make_nmf: Any, X: Array) -> None:
    model = make_nmf(keep_history=True)
    model.fit(X)
    history = model.history_
    assert all(isinstance(progress, Progress) for progress in history)
    last = history[-1]
    assert last.objective == model.objective_
    assert last.outlier_share == model.outlier_share_
    assert last.n_samples_seen == model.n_samples_seen_
    rounds = model.n_batches_seen_ if hasattr(model, "partial_fit") else model.n_iter_
    assert len(history) == rounds
    assert len(model.fit(X).history_) == rounds  # and not added to
    if hasattr(model, "partial_fit"):
        assert len(model.partial_fit(X).history_) == rounds + 1
    assert not hasattr(make_nmf().fit(X), "history_")
    assert not hasattr(model.set_params(keep_history=False).fit(X), "history_")


def test_watching_changes_nothing(make_nmf: Any, gappy: Array) -> None:
    records: list[Progress] = []
    watched = make_nmf(callback=records.append, keep_history=True).fit(gappy)
    assert np.array_equal(watched.components_, make_nmf().fit(gappy).components_)
    assert records == watched.history_


def test_callback_of_a_stream(make_nmf_streaming: Any, X: Array) -> None:
    records: list[Progress] = []
    model = make_nmf_streaming(callback=records.append, batch_size=50, epochs=2).fit(X)
    assert [p.n_samples_seen for p in records[:6]] == [50, 100, 150, 200, 240, 290]
    assert {p.n_samples_total for p in records} == {480}
    assert records[-1].objective == model.objective_
    model.partial_fit(X[:10])
    assert records[-1].n_samples_total is None
    assert records[-1].n_samples_seen == 490


def test_callback_of_a_batch_method_sees_descent(X: Array) -> None:
    records: list[Progress] = []
    RobustNMF(3, outlier_weight=0.1, random_state=0, callback=records.append).fit(X)
    assert len(records) > 3
    assert all(b.objective <= a.objective * (1 + 1e-3) for a, b in pairwise(records))
    assert records[-1].objective < 0.8 * records[0].objective


class StoppedError(Exception):
    pass


def test_an_exception_in_a_callback_leaves_a_usable_estimator(make_nmf: Any, gappy: Array) -> None:
    calls: list[Progress] = []

    def stop(progress: Progress) -> None:
        calls.append(progress)
        if len(calls) == 3:
            raise StoppedError

    model = make_nmf(callback=stop)
    with pytest.raises(StoppedError):
        model.fit(gappy)
    assert len(calls) == 3
    assert np.all(np.isfinite(model.components_))
    assert np.all(np.isfinite(model.decompose(gappy).low_rank))
    assert model.objective_ == calls[-1].objective
    assert model.n_samples_seen_ == calls[-1].n_samples_seen
    if hasattr(model, "partial_fit"):
        model.partial_fit(gappy)
        assert model.n_samples_seen_ == calls[2].n_samples_seen + len(gappy)
    assert np.array_equal(
        model.set_params(callback=None).fit(gappy).components_, make_nmf().fit(gappy).components_
    )


def test_given_start(make_nmf: Any, planted: OutlierData) -> None:
    truth = planted.components / np.linalg.norm(planted.components, axis=1, keepdims=True)
    model = make_nmf(init=truth).fit(planted.X)
    cosines = np.sum(model.components_ * truth, axis=1)
    cosines /= np.linalg.norm(model.components_, axis=1)
    assert cosines.min() > 0.9


@pytest.mark.parametrize("n_components", [1, 5, 12, 40])
def test_start_from_samples(make_nmf: Any, X: Array, n_components: int) -> None:
    # with fewer samples than components they are repeated; of archetypes there are no more
    if make_nmf.cls is SparseArchetypalNMF and n_components > 12:
        with pytest.raises(ParameterError, match=r"at most .* n_samples = 12, got 40"):
            make_nmf(n_components, init="samples").fit(X[:12])
        return
    model = make_nmf(n_components, init="samples").fit(X[:12])
    assert model.components_.shape == (n_components, X.shape[1])
    assert np.all(np.isfinite(model.components_))
    assert model.score(X[:12]) > make_nmf(1, init="samples").fit(X[:12]).score(X[:12]) - 0.1


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 2), (3, 30)])
def test_tiny_data(make: Any, shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).random(shape)
    K = min(4, shape[1]) if make.cls.signed else 4  # of more than there is room for, see below
    if make.cls is SparseArchetypalNMF:
        K = min(4, shape[0])
    found = make(K).fit(X).decompose(X)
    assert found.codes.shape == (shape[0], K)
    assert all(np.all(np.isfinite(part)) for part in found)


def test_zeros(make: Any) -> None:
    X = np.zeros((20, 6))
    model = make().fit(X)
    found = model.decompose(X)
    assert np.all(np.isfinite(model.components_))
    assert not found.low_rank.any()
    assert not found.outliers.any()
    # and a stream that begins with zeros goes on to learn
    if hasattr(model, "partial_fit"):
        rng = np.random.default_rng(0)
        data = rng.random((200, 3)) @ rng.random((3, 6))
        for batch in batches(data, 20):
            model.partial_fit(batch)
        assert np.sqrt(np.mean((model.decompose(data).low_rank - data) ** 2)) < 0.2 * data.std()
