"""Folders of checkpoints: rotation, the newest intact file, and resuming a run."""

import copy
import shutil
import signal
import threading

import numpy as np
import pytest

from thalweg import ORNMF, PetrelsADMM, RobustOnlineNMF, checkpoint, streams
from thalweg.checkpoint import Keeper
from thalweg.errors import CheckpointError, InputError, ParameterError

MODELS = [
    RobustOnlineNMF(3, random_state=0),
    ORNMF(3, buffer_size=30, random_state=0),
    PetrelsADMM(3, init_samples=32, random_state=0),
]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def run(request, data):
    """Return a function that fits a model to a shuffled stream for two epochs."""
    stream = streams.Shuffled(streams.Repeated(streams.open(data), epochs=2), buffer=50, seed=3)
    model = request.param

    def fit(**options):
        fresh = copy.deepcopy(model).set_params(**options.pop("parameters", {}))
        return fresh.fit_stream(stream, batch_size=25, epochs=2, **options)

    return fit


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_same(one, other):
    assert np.array_equal(one.components_, other.components_)
    assert one.n_samples_seen_ == other.n_samples_seen_
    assert one.outlier_share_ == other.outlier_share_


def test_checkpoints_are_written_and_rotated(tmp_path, data):
    keeper = Keeper(tmp_path / "a" / "b", every=2, keep=2, extra={"seed": 5})
    RobustOnlineNMF(3, random_state=0).fit_stream(
        streams.open(data), batch_size=25, checkpoint=keeper
    )
    # batches end at 25, 50, 75, 100 and 120: written after 50, 100 and at the end
    assert names(keeper.directory) == ["checkpoint-00000002.thalweg", "checkpoint-00000003.thalweg"]
    found = [checkpoint.load(path) for path in sorted(keeper.directory.iterdir())]
    assert [kept.position for kept in found] == [(0, 100), (0, 120)]
    assert [kept.batch_size for kept in found] == [25, 25]
    assert found[0].extra == {"seed": 5}
    manifest = checkpoint.read_manifest(keeper.directory / "checkpoint-00000003.thalweg")
    assert (manifest.estimator, manifest.position) == ("RobustOnlineNMF", (0, 120))
    assert manifest.arrays["components_"] == ("<f8", (3, 12))


def test_checkpoints_are_due_by_count_or_time(tmp_path, model):
    keeper = Keeper(tmp_path, every=None, seconds=1e-9)
    assert keeper.due_after_batch()
    keeper = Keeper(tmp_path, every=3, seconds=None)
    assert [keeper.due_after_batch() for _ in range(3)] == [False, False, True]
    keeper.write(model)
    assert not keeper.due_after_batch()
    assert not Keeper(tmp_path, seconds=1e9).due_after_batch()


@pytest.mark.parametrize("options", [{"every": 0}, {"keep": 0}, {"seconds": 0.0}, {"every": 1.5}])
def test_invalid_settings(tmp_path, options):
    with pytest.raises(ParameterError, match=f"{next(iter(options))} must be a"):
        Keeper(tmp_path, **options)


def test_latest_returns_the_newest_intact_checkpoint(tmp_path, model):
    assert checkpoint.latest(tmp_path) is None
    assert checkpoint.latest(tmp_path / "nowhere") is None
    keeper = Keeper(tmp_path)
    first, second = keeper.write(model), keeper.write(model)
    (tmp_path / "checkpoint-99999999.thalweg.bak").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("mine")
    assert checkpoint.latest(tmp_path) == second
    second.write_bytes(second.read_bytes()[:-1])
    with pytest.warns(RuntimeWarning, match=r"Skipped .*: .*checkpoint-00000002\.thalweg must"):
        assert checkpoint.latest(tmp_path) == first
    first.write_bytes(b"")
    with (
        pytest.warns(RuntimeWarning, match="Skipped a checkpoint"),
        pytest.raises(CheckpointError, match="must contain an intact checkpoint"),
    ):
        checkpoint.latest(tmp_path)


def test_numbering_continues_and_incomplete_files_are_removed(tmp_path, model):
    (tmp_path / "checkpoint-100000000.thalweg").write_bytes(b"")
    incomplete = tmp_path / ".checkpoint-00000007.thalweg.12345678.part"
    incomplete.write_bytes(b"half")
    path = Keeper(tmp_path).write(model)
    assert path.name == "checkpoint-100000001.thalweg"
    assert not incomplete.exists()


def test_resuming_from_any_checkpoint_gives_the_same_result(run, tmp_path):
    uninterrupted = run()
    whole = run(checkpoint=Keeper(tmp_path / "all", every=1, keep=100))
    assert_same(uninterrupted, whole)
    paths = sorted((tmp_path / "all").iterdir())
    assert len(paths) == 20
    for path in paths:
        folder = tmp_path / path.stem
        folder.mkdir()
        shutil.copy(path, folder)
        resumed = run(checkpoint=folder, resume=True)
        assert_same(resumed, uninterrupted)
        assert checkpoint.load(checkpoint.latest(folder)).position == (1, 240)


def test_resume_without_checkpoints_starts_a_run(run, tmp_path):
    assert_same(run(checkpoint=tmp_path / "new", resume=True), run())
    done = names(tmp_path / "new")
    run(checkpoint=tmp_path / "new", resume=True)
    assert names(tmp_path / "new") == done  # the run was already complete


def test_more_epochs_than_before(tmp_path, data):
    stream = streams.open(data)
    first = RobustOnlineNMF(3, random_state=0)
    first.fit_stream(stream, epochs=1, checkpoint=tmp_path)
    more = RobustOnlineNMF(3, random_state=0)
    more.fit_stream(stream, epochs=3, checkpoint=tmp_path, resume=True)
    assert_same(more, RobustOnlineNMF(3, random_state=0).fit_stream(stream, epochs=3))


def test_a_table_that_has_grown(tmp_path, data):
    table, folder = tmp_path / "x.csv", tmp_path / "run"

    def fit(n_rows, **options):
        np.savetxt(table, data[:n_rows], delimiter=",", fmt="%.17g")
        model = RobustOnlineNMF(3, random_state=0)
        return model.fit_stream(streams.open(table), **options)

    assert fit(64, checkpoint=folder).n_samples_seen_ == 64
    assert_same(fit(120, checkpoint=folder, resume=True), fit(120, batch_size=64))


def test_an_invalid_folder_raises_before_the_first_batch(tmp_path, data):
    (tmp_path / "file").write_text("mine")
    calls = []
    with pytest.raises(CheckpointError, match="file must be a writable folder"):
        RobustOnlineNMF(3, callback=calls.append).fit_stream(
            streams.open(data), checkpoint=tmp_path / "file"
        )
    assert calls == []


def test_a_failed_resume_keeps_the_state_of_the_estimator(tmp_path, data):
    RobustOnlineNMF(3, random_state=0).fit_stream(streams.open(data), checkpoint=tmp_path)
    other = RobustOnlineNMF(2, random_state=0).fit(data)
    with pytest.raises(ParameterError, match=r"n_components must be 3 as in .*, got 2"):
        other.fit_stream(streams.open(data), checkpoint=tmp_path, resume=True)
    assert other.components_.shape == (2, 12)


def test_an_earlier_run_is_not_overwritten(tmp_path, data):
    model, stream = RobustOnlineNMF(3, random_state=0), streams.open(data)
    model.fit_stream(stream, checkpoint=tmp_path)
    with pytest.raises(ParameterError, match="with those of an earlier run"):
        model.fit_stream(stream, checkpoint=tmp_path)
    for wrong in ({}, {"checkpoint": tmp_path, "start": (0, 10)}):
        with pytest.raises(ParameterError, match="resume=True must be used with checkpoint="):
            model.fit_stream(stream, resume=True, **wrong)


def test_an_interrupt_waits_for_the_end_of_the_batch(run, tmp_path):
    count = []

    def interrupt(progress):  # called within partial_fit
        count.append(progress.n_samples_seen)
        if len(count) == 4:
            signal.raise_signal(signal.SIGINT)
            count.append("still there")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(parameters={"callback": interrupt}, checkpoint=tmp_path)
    assert signal.getsignal(signal.SIGINT) is before
    assert count[-1] == "still there"
    kept = checkpoint.load(checkpoint.latest(tmp_path))
    assert kept.position == (0, 100)
    assert kept.estimator.n_samples_seen_ == 100
    assert_same(run(checkpoint=tmp_path, resume=True), run())


def test_a_second_interrupt_takes_effect_immediately(run, tmp_path):
    def interrupt(progress):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("not reached")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(parameters={"callback": interrupt}, checkpoint=tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) is before
    assert checkpoint.latest(tmp_path / "run") is None  # no batch was completed


@pytest.mark.parametrize("reason", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_exceptions_between_batches_are_propagated(run, tmp_path, reason):
    def stop(progress):
        if progress.position == (0, 150):
            raise reason

    with pytest.raises(reason):
        run(callback=stop, checkpoint=tmp_path)
    assert checkpoint.load(checkpoint.latest(tmp_path)).position == (0, 150)
    assert_same(run(checkpoint=tmp_path, resume=True), run())


def test_an_error_in_a_batch_keeps_the_checkpoints(tmp_path, data):
    bad = data.copy()
    bad[60] = -1.0
    keeper = Keeper(tmp_path, every=1)
    with pytest.raises(InputError):
        RobustOnlineNMF(3, random_state=0).fit_stream(
            streams.open(bad), batch_size=25, checkpoint=keeper
        )
    assert checkpoint.load(checkpoint.latest(tmp_path)).position == (0, 50)
    resumed = RobustOnlineNMF(3, random_state=0)
    resumed.fit_stream(streams.open(data), checkpoint=tmp_path, resume=True)
    uninterrupted = RobustOnlineNMF(3, random_state=0).fit_stream(streams.open(data), batch_size=25)
    assert_same(resumed, uninterrupted)


def test_a_full_disk_raises_a_single_error(tmp_path, data, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    keeper = Keeper(tmp_path, every=1)
    RobustOnlineNMF(3).fit_stream(streams.open(data[:25]), batch_size=25, checkpoint=keeper)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CheckpointError, match="No space left on device") as caught:
        RobustOnlineNMF(3).fit_stream(
            streams.open(data), batch_size=25, checkpoint=keeper, start=(0, 25)
        )
    assert not isinstance(caught.value.__context__, CheckpointError)
    assert names(tmp_path) == ["checkpoint-00000001.thalweg"]


def test_checkpoints_can_be_written_in_other_threads(run, tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(run(checkpoint=tmp_path)))
    thread.start()
    thread.join()
    assert_same(found[0], run())


def test_the_state_of_a_generator_is_restored(tmp_path, data):
    stream = streams.open(data)

    def stop(progress):
        if progress.sample == 50:
            raise InterruptedError

    def fit(rng, **options):
        model = RobustOnlineNMF(3, random_state=rng)
        return model.fit_stream(stream, batch_size=25, **options)

    with pytest.raises(InterruptedError):
        fit(np.random.default_rng(7), checkpoint=tmp_path, callback=stop)
    uninterrupted = fit(np.random.default_rng(7))
    resumed = fit(np.random.default_rng(7), checkpoint=tmp_path, resume=True)
    assert_same(resumed, uninterrupted)
    assert resumed.random_state.random() == uninterrupted.random_state.random()
