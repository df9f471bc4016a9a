"""All kinds of data give the same fit; invalid arguments raise clear errors."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from closeness import relative
from thalweg import (
    ORNMF,
    OnlineFactorization,
    OnlineNMF,
    Petrels,
    RobustNMF,
    RobustOnlineNMF,
    SparseArchetypalNMF,
    checkpoint,
    distributed,
    streams,
)
from thalweg._typing import Array
from thalweg.errors import (
    BlockError,
    CheckpointError,
    DependencyError,
    InputError,
    ParameterError,
)

SIZE = 100


def fitted(X: Any, size: int | None = SIZE) -> Any:
    model = RobustOnlineNMF(3, random_state=0)
    return distributed.fit(model, X, block_size=size, blocks_per_round=2)


@pytest.fixture(scope="module")
def expected(mixed: Array) -> Array:
    return fitted(mixed).components_


def blocks(X: Array) -> list[Array]:
    return [X[i : i + SIZE] for i in range(0, len(X), SIZE)]


def test_arrays_sparse_matrices_and_lists(mixed: Array, expected: Array) -> None:
    assert relative(fitted(sparse.csc_array(mixed)).components_, expected) < 1e-12
    assert relative(fitted(blocks(mixed), None).components_, expected) < 1e-12
    listed = [sparse.csr_array(block) for block in blocks(mixed)]
    assert relative(fitted(listed, None).components_, expected) < 1e-12


def test_empty_blocks_add_nothing(mixed: Array, expected: Array) -> None:
    listed = blocks(mixed)
    with_empty = [listed[0][:0], *listed[:2], listed[0][:0], *listed[2:]]
    model = RobustOnlineNMF(3, random_state=0)
    distributed.fit(model, with_empty, blocks_per_round=8)
    whole = distributed.fit(RobustOnlineNMF(3, random_state=0), mixed, block_size=SIZE)
    assert model.n_samples_seen_ == len(mixed)
    assert relative(model.components_, whole.components_) < 1e-2
    batch = [
        distributed.fit(RobustNMF(3, max_iter=5, random_state=0), X, block_size=size)
        for X, size in ((with_empty, None), (mixed, SIZE))
    ]
    assert relative(batch[0].components_, batch[1].components_) < 1e-12


def test_streams_are_opened_by_position(mixed: Array, expected: Array, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", mixed)
    np.savetxt(tmp_path / "a.csv", mixed, delimiter=",", fmt="%.18e")
    for stream in (
        streams.open(tmp_path / "a.npy"),
        streams.open(tmp_path / "a.csv"),  # its length is unknown
        streams.open(mixed),
    ):
        assert relative(fitted(stream).components_, expected) < 1e-12


def test_a_truncated_stream_raises(mixed: Array, tmp_path: Path) -> None:
    from thalweg.distributed._blocks import Read

    np.save(tmp_path / "a.npy", mixed)
    with pytest.raises(InputError, match="more than 600 samples"):
        Read(streams.open(tmp_path / "a.npy"), 600, 10).load()


def test_dask_collections(mixed: Array, expected: Array) -> None:
    dask, array = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    delayed = [dask.delayed(block) for block in blocks(mixed)]
    for X in (
        array.from_array(mixed, chunks=(SIZE, 5)),
        delayed,
        [array.from_array(mixed, chunks=(SIZE, -1)).to_delayed()[0, 0], *blocks(mixed)[1:]],
    ):
        assert relative(fitted(X, None).components_, expected) < 1e-12
    rechunked = fitted(array.from_array(mixed, chunks=(70, 5)))
    assert relative(rechunked.components_, expected) < 1e-12


def test_frames_have_names(mixed: Array, expected: Array) -> None:
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = pandas.DataFrame(mixed, columns=[f"c{i}" for i in range(mixed.shape[1])])
    found = fitted(frames.from_pandas(table, npartitions=6, sort=False), None)
    assert relative(found.components_, expected) < 1e-12
    assert list(found.feature_names_in_) == list(table.columns)
    assert relative(found.transform(table), fitted(mixed).transform(mixed)) < 1e-9
    with pytest.raises(InputError, match=r"repartition"):
        fitted(frames.from_pandas(table, npartitions=2))


def test_codes_are_those_of_transform(mixed: Array) -> None:
    model = fitted(mixed)
    codes = model.transform(mixed)
    for X, size in ((mixed, 90), (blocks(mixed), None), (streams.open(mixed), 250)):
        assert relative(distributed.transform(model, X, block_size=size), codes) < 1e-12
    with pytest.raises(ParameterError, match="fitted"):
        distributed.transform(RobustNMF(3), mixed)


def test_codes_of_dask_collections_are_lazy(mixed: Array) -> None:
    dask, array = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    model = fitted(mixed)
    codes = model.transform(mixed)
    X = array.from_array(mixed, chunks=(SIZE, 5))
    table = frames.from_pandas(pandas.DataFrame(mixed), npartitions=4)
    found = distributed.transform(model, X)
    assert isinstance(found, array.Array)
    assert found.shape == codes.shape
    assert relative(found.compute(scheduler="synchronous"), codes) < 1e-12
    for other in (table, [dask.delayed(block) for block in blocks(mixed)]):
        lazy = distributed.transform(model, other)
        assert isinstance(lazy, array.Array)
        assert relative(lazy.compute(scheduler="synchronous"), codes) < 1e-12


def test_independent_streams(mixed: Array) -> None:
    parts = [mixed[:300], mixed[300:]]
    found = distributed.track(Petrels(2, random_state=0), parts, batch_size=50)
    for model, part in zip(found, parts, strict=True):
        alone = Petrels(2, random_state=0).fit_stream(streams.open(part), batch_size=50)
        assert np.array_equal(model.components_, alone.components_)
    with pytest.raises(ParameterError, match="fit_stream"):
        distributed.track(RobustNMF(2), parts)
    with pytest.raises(BlockError, match=r"Stream 1 \(counted from 0\) .* InputError"):
        distributed.track(Petrels(2), [mixed, np.full((3, 2), np.inf)])


def test_a_resumed_fit_equals_an_uninterrupted_one(mixed: Array, tmp_path: Path) -> None:
    models = [RobustOnlineNMF(3, random_state=0), OnlineNMF(3, random_state=0), ORNMF(3)]
    for model in models:
        folder = tmp_path / type(model).__name__
        settings: Any = {"block_size": 50, "blocks_per_round": 3}
        whole = distributed.fit(model.set_params(random_state=0), mixed, **settings).components_
        broken = type(model)(3, random_state=0)
        keeper = checkpoint.Keeper(folder, every=1)

        def stop(progress: Any) -> None:
            if progress.n_samples_seen == 300:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            distributed.fit(broken, mixed, checkpoint=keeper, callback=stop, **settings)
        again = type(model)(3, random_state=0)
        distributed.fit(again, mixed, checkpoint=folder, resume=True, **settings)
        assert relative(again.components_, whole) < 1e-12
        assert again.n_samples_seen_ == len(mixed)


def test_a_batch_fit_resumes_from_its_components(mixed: Array, tmp_path: Path) -> None:
    keeper = checkpoint.Keeper(tmp_path, every=1)
    begun = RobustNMF(3, outlier_weight=0.1, random_state=0)
    distributed.fit(begun, mixed, block_size=100, rounds=5, checkpoint=keeper)
    again = RobustNMF(3, outlier_weight=0.1, random_state=0)
    distributed.fit(again, mixed, block_size=100, rounds=9, checkpoint=tmp_path, resume=True)
    assert again.n_iter_ == 9
    assert again.objective_ < begun.objective_


def test_mismatched_checkpoints_raise(mixed: Array, tmp_path: Path) -> None:
    distributed.fit(RobustNMF(3), mixed, rounds=2, checkpoint=checkpoint.Keeper(tmp_path, every=1))
    with pytest.raises((CheckpointError, ParameterError), match="RobustNMF"):
        distributed.fit(RobustOnlineNMF(3), mixed, checkpoint=tmp_path, resume=True)
    with pytest.raises(ParameterError, match="rounds of 1 blocks"):
        distributed.fit(RobustNMF(3), mixed, block_size=50, checkpoint=tmp_path, resume=True)
    with pytest.raises(ParameterError, match="without checkpoints"):
        distributed.fit(RobustNMF(3), mixed, checkpoint=tmp_path)
    with pytest.raises(ParameterError, match="resume=True"):
        distributed.fit(RobustOnlineNMF(3), mixed, resume=True)


def test_block_errors_have_the_number_and_the_cause(mixed: Array) -> None:
    listed = blocks(mixed)
    listed[3] = -listed[3]
    for model in (RobustOnlineNMF(3), RobustNMF(3), SparseArchetypalNMF(3)):
        with pytest.raises(BlockError, match=r"Block 3 .*InputError: Negative values") as caught:
            distributed.fit(model, listed)
        assert isinstance(caught.value.__cause__, InputError)
    listed[3] = listed[0][:, :5]
    with pytest.raises(BlockError, match=r"Block 3 .*5 features"):
        distributed.fit(RobustOnlineNMF(3), listed)


@pytest.mark.parametrize(
    ("model", "advice"),
    [(Petrels(2), r"samples in order.*distributed\.track"), (OnlineFactorization(2), "")],
)
def test_unsupported_estimators_raise(model: Any, advice: str, mixed: Array) -> None:
    with pytest.raises(ParameterError, match=rf"one of RobustOnlineNMF, OnlineNMF.*{advice}"):
        distributed.fit(model, mixed)


def test_invalid_arguments_raise(mixed: Array) -> None:
    with pytest.raises(ParameterError, match="buffer_size"):
        distributed.fit(ORNMF(3, buffer_size=None), mixed)
    with pytest.raises(ParameterError, match="max_iter"):
        distributed.fit(SparseArchetypalNMF(3), mixed, rounds=3)
    with pytest.raises(BlockError, match="no missing entries"):
        distributed.fit(SparseArchetypalNMF(3), np.where(mixed > 0.5, np.nan, mixed))
    for bad in ({"block_size": 0}, {"rounds": 0}, {"blocks_per_round": 1.5}):
        with pytest.raises(ParameterError, match="must be an integer"):
            distributed.fit(RobustNMF(3), mixed, **bad)
    with pytest.raises(ParameterError, match="callback"):
        distributed.fit(RobustNMF(3), mixed, callback=3)
    with pytest.raises(ParameterError, match=r"distributed\.Client"):
        distributed.fit(RobustNMF(3), mixed, client=3)
    for bad in (np.zeros(3), [], np.zeros((2, 2, 2))):
        with pytest.raises(InputError):
            distributed.fit(RobustNMF(3), bad)
    with pytest.raises(InputError, match="rows"):
        distributed.fit(RobustNMF(3), [np.zeros((0, 3))])


def test_dask_is_imported_only_for_a_client(mixed: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, module, None)
    assert fitted(mixed).n_samples_seen_ == len(mixed)
    with pytest.raises(DependencyError, match=r"pip install 'thalweg\[dask\]'"):
        distributed.fit(RobustNMF(3), mixed, client="tcp://127.0.0.1:1")
