"""Folders of checkpoints: which are kept, which is the newest, and how a run goes on from it."""

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
    PetrelsADMM(3, start_samples=32, random_state=0),
]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def run(request, data):
    """A function from more options to a fit of a shuffled stream in two epochs."""
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


def test_it_writes_as_it_goes_and_keeps_the_last(tmp_path, data):
    keeper = Keeper(tmp_path / "a" / "b", every=2, keep=2, extra={"seed": 5})
    RobustOnlineNMF(3, random_state=0).fit_stream(
        streams.open(data), batch_size=25, checkpoint=keeper
    )
    # batches end at 25, 50, 75, 100 and 120: two that were due, and the end
    assert names(keeper.directory) == ["checkpoint-00000002.thalweg", "checkpoint-00000003.thalweg"]
    found = [checkpoint.load(path) for path in sorted(keeper.directory.iterdir())]
    assert [kept.position for kept in found] == [(0, 100), (0, 120)]
    assert [kept.batch_size for kept in found] == [25, 25]
    assert found[0].extra == {"seed": 5}
    manifest = checkpoint.read_manifest(keeper.directory / "checkpoint-00000003.thalweg")
    assert (manifest.estimator, manifest.position) == ("RobustOnlineNMF", (0, 120))
    assert manifest.arrays["components_"] == ("<f8", (3, 12))


def test_the_clock_makes_it_due_too(tmp_path, model):
    keeper = Keeper(tmp_path, every=None, seconds=1e-9)
    assert keeper.due_after_batch()
    keeper = Keeper(tmp_path, every=3, seconds=None)
    assert [keeper.due_after_batch() for _ in range(3)] == [False, False, True]
    keeper.write(model)
    assert not keeper.due_after_batch()
    assert not Keeper(tmp_path, seconds=1e9).due_after_batch()


@pytest.mark.parametrize("options", [{"every": 0}, {"keep": 0}, {"seconds": 0.0}, {"every": 1.5}])
def test_settings_that_mean_nothing(tmp_path, options):
    with pytest.raises(ParameterError, match=f"{next(iter(options))} must be a"):
        Keeper(tmp_path, **options)


def test_the_newest_that_is_whole(tmp_path, model):
    assert checkpoint.latest(tmp_path) is None
    assert checkpoint.latest(tmp_path / "nowhere") is None
    keeper = Keeper(tmp_path)
    first, second = keeper.write(model), keeper.write(model)
    (tmp_path / "checkpoint-99999999.thalweg.bak").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("mine")
    assert checkpoint.latest(tmp_path) == second
    second.write_bytes(second.read_bytes()[:-1])
    with pytest.warns(RuntimeWarning, match=r"passed over: .*checkpoint-00000002\.thalweg should"):
        assert checkpoint.latest(tmp_path) == first
    first.write_bytes(b"")
    with (
        pytest.warns(RuntimeWarning, match="passed over"),
        pytest.raises(CheckpointError, match="should have a checkpoint that is whole"),
    ):
        checkpoint.latest(tmp_path)


def test_numbers_go_on_and_litter_is_swept(tmp_path, model):
    (tmp_path / "checkpoint-100000000.thalweg").write_bytes(b"")
    litter = tmp_path / ".checkpoint-00000007.thalweg.12345678.part"
    litter.write_bytes(b"half")
    path = Keeper(tmp_path).write(model)
    assert path.name == "checkpoint-100000001.thalweg"
    assert not litter.exists()


def test_from_every_checkpoint_it_ends_as_if_there_had_been_no_break(run, tmp_path):
    straight = run()
    whole = run(checkpoint=Keeper(tmp_path / "all", every=1, keep=100))
    assert_same(straight, whole)
    paths = sorted((tmp_path / "all").iterdir())
    assert len(paths) == 20
    for path in paths:
        folder = tmp_path / path.stem
        folder.mkdir()
        shutil.copy(path, folder)
        resumed = run(checkpoint=folder, resume=True)
        assert_same(resumed, straight)
        assert checkpoint.load(checkpoint.latest(folder)).position == (1, 240)


def test_a_folder_without_checkpoints_is_a_beginning(run, tmp_path):
    assert_same(run(checkpoint=tmp_path / "new", resume=True), run())
    done = names(tmp_path / "new")
    run(checkpoint=tmp_path / "new", resume=True)
    assert names(tmp_path / "new") == done  # nothing was left to do


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


def test_a_folder_that_cannot_be_one_is_told_before_the_first_batch(tmp_path, data):
    (tmp_path / "file").write_text("mine")
    begun = []
    with pytest.raises(CheckpointError, match="file should be a folder to write checkpoints in"):
        RobustOnlineNMF(3, callback=begun.append).fit_stream(
            streams.open(data), checkpoint=tmp_path / "file"
        )
    assert begun == []


def test_a_run_that_cannot_go_on_keeps_what_it_has(tmp_path, data):
    RobustOnlineNMF(3, random_state=0).fit_stream(streams.open(data), checkpoint=tmp_path)
    other = RobustOnlineNMF(2, random_state=0).fit(data)
    with pytest.raises(ParameterError, match="n_components=3, and n_components=2 came"):
        other.fit_stream(streams.open(data), checkpoint=tmp_path, resume=True)
    assert other.components_.shape == (2, 12)


def test_an_earlier_run_is_not_overwritten(tmp_path, data):
    model, stream = RobustOnlineNMF(3, random_state=0), streams.open(data)
    model.fit_stream(stream, checkpoint=tmp_path)
    with pytest.raises(ParameterError, match="has those of an earlier run"):
        model.fit_stream(stream, checkpoint=tmp_path)
    for wrong in ({}, {"checkpoint": tmp_path, "start": (0, 10)}):
        with pytest.raises(ParameterError, match="resume=True should come with checkpoint="):
            model.fit_stream(stream, resume=True, **wrong)


def test_an_interrupt_in_a_batch_waits_for_its_end(run, tmp_path):
    count = []

    def interrupt(progress):  # is called in the middle of partial_fit
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


def test_a_second_interrupt_is_let_through(run, tmp_path):
    def interrupt(progress):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("not reached")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(parameters={"callback": interrupt}, checkpoint=tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) is before
    assert checkpoint.latest(tmp_path / "run") is None  # there was no whole batch


@pytest.mark.parametrize("reason", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_whatever_ends_it_between_two_batches_is_passed_on(run, tmp_path, reason):
    def stop(position):
        if position == (0, 150):
            raise reason

    with pytest.raises(reason):
        run(callback=stop, checkpoint=tmp_path)
    assert checkpoint.load(checkpoint.latest(tmp_path)).position == (0, 150)
    assert_same(run(checkpoint=tmp_path, resume=True), run())


def test_an_error_in_a_batch_leaves_the_checkpoints_as_they_are(tmp_path, data):
    bad = data.copy()
    bad[60] = -1.0
    keeper = Keeper(tmp_path, every=1)
    with pytest.raises(InputError):
        RobustOnlineNMF(3, random_state=0).fit_stream(
            streams.open(bad), batch_size=25, checkpoint=keeper
        )
    assert checkpoint.load(checkpoint.latest(tmp_path)).position == (0, 50)
    mended = RobustOnlineNMF(3, random_state=0)
    mended.fit_stream(streams.open(data), checkpoint=tmp_path, resume=True)
    straight = RobustOnlineNMF(3, random_state=0).fit_stream(streams.open(data), batch_size=25)
    assert_same(mended, straight)


def test_a_disk_that_fills_up_is_one_error(tmp_path, data, monkeypatch):
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


def test_other_threads_can_write_checkpoints(run, tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(run(checkpoint=tmp_path)))
    thread.start()
    thread.join()
    assert_same(found[0], run())


def test_a_generator_goes_on_where_it_was(tmp_path, data):
    stream = streams.open(data)

    def stop(position):
        if position.sample == 50:
            raise InterruptedError

    def fit(rng, **options):
        model = RobustOnlineNMF(3, random_state=rng)
        return model.fit_stream(stream, batch_size=25, **options)

    with pytest.raises(InterruptedError):
        fit(np.random.default_rng(7), checkpoint=tmp_path, callback=stop)
    straight = fit(np.random.default_rng(7))
    resumed = fit(np.random.default_rng(7), checkpoint=tmp_path, resume=True)
    assert_same(resumed, straight)
    assert resumed.random_state.random() == straight.random_state.random()
