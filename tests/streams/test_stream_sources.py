"""Behaviour of each source, compared with other readers of the same file."""

import pickle
import subprocess
import sys
import threading
import time
import tracemalloc
import wave
from zlib import crc32

import av
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image
from scipy import sparse
from scipy.io import wavfile

from thalweg import streams
from thalweg.errors import InputError, ParameterError
from thalweg.streams.text import TextStream


def all_of(stream, size=100):
    blocks = [batch.X for batch in stream.batches(size)]
    return sparse.vstack(blocks).toarray() if sparse.issparse(blocks[0]) else np.vstack(blocks)


def test_open_returns_a_stream_unchanged():
    stream = streams.open([[1.0, 2.0]])
    assert streams.open(stream) is stream


def test_format_overrides_the_suffix(tmp_path):
    (tmp_path / "table.dat").write_text("1,2\n3,4\n")
    assert np.array_equal(
        all_of(streams.open(tmp_path / "table.dat", format="csv")), [[1, 2], [3, 4]]
    )


def test_suffixes_ignore_case(tmp_path):
    (tmp_path / "TABLE.CSV").write_text("1,2\n")
    assert np.array_equal(all_of(streams.open(str(tmp_path / "TABLE.CSV"))), [[1, 2]])


def test_float_dtypes_are_kept_and_others_become_float64():
    for given, expected in [("float32", "float32"), ("float64", "float64"), ("uint8", "float64")]:
        batch = next(streams.open(np.ones((2, 2), dtype=given)).batches(2))
        assert batch.X.dtype == expected


def test_masked_arrays_and_data_frames():
    masked = np.ma.masked_equal(np.arange(6).reshape(3, 2), 4)
    assert np.array_equal(
        all_of(streams.open(masked)), [[0, 1], [2, 3], [np.nan, 5]], equal_nan=True
    )
    assert np.array_equal(all_of(streams.open(pd.DataFrame({"a": [1, 2]}))), [[1], [2]])


def test_key_selects_an_array(tmp_path):
    frames = np.arange(24).reshape(4, 2, 3)
    np.savez(tmp_path / "x.npz", frames=frames, index=np.arange(4))
    stream = streams.open(tmp_path / "x.npz", key="frames")
    assert stream.shape == (2, 3)
    assert np.array_equal(all_of(stream), frames.reshape(4, 6))
    with pytest.raises(ParameterError, match=r"key must be .* Choose among 'frames', 'index'"):
        streams.open(tmp_path / "x.npz").n_features  # noqa: B018


def test_a_pickle_does_not_contain_the_data(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((1000, 50)))
    stream = streams.open(tmp_path / "x.npy")
    assert stream.n_features == 50
    assert len(pickle.dumps(stream)) < 1000


CSV = 'time;"a;b"; c \n\n1,5; NA ;3\n2e3;?;-7\n'


def test_csv_with_semicolons_and_decimal_commas(tmp_path):
    (tmp_path / "x.csv").write_text("\ufeff" + CSV, encoding="utf-8")
    stream = streams.open(tmp_path / "x.csv", decimal=",")
    assert stream.columns_ == ["time", "a;b", "c"]
    expected = [[1.5, np.nan, 3], [2000, np.nan, -7]]
    assert np.array_equal(all_of(stream), expected, equal_nan=True)


def test_columns_are_selected_by_name_or_index(tmp_path, write):
    X = np.arange(12.0).reshape(4, 3)
    path = write.csv(tmp_path / "x.csv", X)
    assert np.array_equal(all_of(streams.open(path, columns=["c2", 0])), X[:, [2, 0]])
    pyarrow.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "x.parquet")
    stream = streams.open(tmp_path / "x.parquet", columns=["b", "a"])
    assert stream.columns_ == ["b", "a"]
    assert np.array_equal(all_of(stream, 3), X[:, [1, 0]])


def test_a_numeric_header_needs_header_true(tmp_path):
    (tmp_path / "x.csv").write_text("2019,2020\n1,2\n")
    assert len(all_of(streams.open(tmp_path / "x.csv"))) == 2
    stream = streams.open(tmp_path / "x.csv", header=True)
    assert stream.columns_ == ["2019", "2020"]
    assert np.array_equal(all_of(stream), [[1, 2]])


def test_numbers_can_mark_gaps(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n-200,1\n2,-200\n3,4\n")
    stream = streams.open(tmp_path / "x.csv", missing=("-200",))
    assert np.array_equal(all_of(stream), [[np.nan, 1], [2, np.nan], [3, 4]], equal_nan=True)


def test_csv_agrees_with_pandas(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4)) * 10.0 ** np.arange(-100, 300, 100)
    frame = pd.DataFrame(X, columns=list("abcd")).mask(np.abs(X) < 1e-101)
    frame.to_csv(tmp_path / "x.csv", index=False)
    expected = pd.read_csv(tmp_path / "x.csv").to_numpy()
    assert np.array_equal(all_of(streams.open(tmp_path / "x.csv"), 7), expected, equal_nan=True)


def test_a_growing_file_gives_whole_rows_and_full_batches(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n3,")
    stream = streams.open(path, follow=True, poll=0.005, patience=20.0)
    received = []

    def read():
        for batch in stream.batches(2):
            received.append(batch)
            if len(received) == 2:
                return

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.05)
    assert received == []
    with path.open("a") as file:
        for piece in ["4", "5\n6,7\n", "8,9", "\n"]:
            file.write(piece)
            file.flush()
            time.sleep(0.02)
    reader.join(20.0)
    assert [batch.X.tolist() for batch in received] == [[[1, 2], [3, 45]], [[6, 7], [8, 9]]]
    path.write_text("a,b\n1,2\n3,4\n5")
    patient = streams.open(path, follow=True, poll=0.005, patience=0.02)
    assert np.array_equal(all_of(patient), [[1, 2], [3, 4]])


def test_a_followed_file_must_not_shrink(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n2\n")
    batches = streams.open(path, follow=True, poll=0.005, patience=5.0).batches(2)
    next(batches)
    path.write_text("a\n")
    with pytest.raises(InputError, match="only grow"):
        next(batches)


def test_arrow_types_are_converted(tmp_path):
    columns = {
        "whole": pa.array([1, None, 2**53 + 1], pa.int64()),
        "bits": pa.array([True, False, None]),
        "money": pa.array([1, 2, None], pa.decimal128(8, 2)),
        "none": pa.nulls(3),
    }
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    expected = [[1, 1, 1, np.nan], [np.nan, 0, 2, np.nan], [2.0**53, np.nan, np.nan, np.nan]]
    assert np.array_equal(all_of(streams.open(tmp_path / "x.parquet")), expected, equal_nan=True)


def test_images_sort_naturally_and_match_a_pattern(tmp_path):
    for number in (1, 2, 10):
        Image.new("L", (2, 2), number).save(tmp_path / f"a{number}.png")
    Image.new("L", (9, 9)).save(tmp_path / "other.png")
    (tmp_path / "notes.txt").write_text("not an image")
    stream = streams.open(str(tmp_path / "a*.png"))
    assert [path.name for path in stream.paths] == ["a1.png", "a2.png", "a10.png"]
    np.testing.assert_allclose(all_of(stream)[:, 0] * 255, [1, 2, 10], rtol=1e-6)
    assert streams.open(tmp_path / "a2.png").n_samples == 1


def test_images_of_all_modes_are_scaled_to_0_1(tmp_path, write):
    rgb = write.pixels(3, 4, 3)
    Image.fromarray(rgb).save(tmp_path / "rgb.png")
    Image.fromarray(np.arange(12, dtype=np.uint16).reshape(3, 4) * 5957).save(tmp_path / "deep.png")
    Image.fromarray(np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)).save(tmp_path / "f.tif")
    Image.fromarray(rgb).convert("P").save(tmp_path / "palette.png")
    assert np.array_equal(
        all_of(streams.open(tmp_path / "rgb.png", colour=True, dtype="float64")),
        rgb.reshape(1, -1) / 255,
    )
    ramp = np.arange(12) * 5957 / 65535
    np.testing.assert_allclose(all_of(streams.open(tmp_path / "deep.png"))[0], ramp, rtol=1e-6)
    colour = all_of(streams.open(tmp_path / "deep.png", colour=True))
    np.testing.assert_allclose(colour[0], np.repeat(ramp, 3), rtol=1e-6)
    np.testing.assert_allclose(
        all_of(streams.open(tmp_path / "f.tif"))[0], np.linspace(0, 1, 12), rtol=1e-6
    )
    palette = all_of(streams.open(tmp_path / "palette.png"))
    assert 0 <= palette.min() < palette.max() <= 1


def test_transparent_pixels_are_gaps(tmp_path):
    rgba = np.full((2, 2, 4), 255, dtype=np.uint8)
    rgba[0, 1, 3] = 0
    Image.fromarray(rgba).save(tmp_path / "a.png")
    gray = all_of(streams.open(tmp_path / "a.png"))
    assert np.array_equal(gray, [[1, np.nan, 1, 1]], equal_nan=True)
    colour = all_of(streams.open(tmp_path / "a.png", colour=True))
    assert np.array_equal(colour, np.repeat(gray, 3, axis=1), equal_nan=True)


def test_images_and_frames_are_resized(tmp_path, write):
    (tmp_path / "images").mkdir()
    for name, shape in [("a", (4, 4)), ("b", (8, 12))]:
        Image.new("L", shape, 51).save(tmp_path / "images" / f"{name}.png")
    stream = streams.open(tmp_path / "images", size=(2, 3))
    assert stream.shape == (2, 3)
    np.testing.assert_allclose(all_of(stream), np.full((2, 6), 0.2), rtol=1e-6)
    path = write.video(tmp_path / "x.mkv", np.full((2, 16, 32), 51, dtype=np.uint8))
    small = streams.open(path, size=(4, 6), colour=True)
    assert small.shape == (4, 6, 3)
    np.testing.assert_allclose(all_of(small), np.full((2, 72), 0.2), atol=0.01)


def test_frames_selects_like_a_slice(tmp_path, write):
    frames = write.pixels(12, 16, 16, 3)
    path = write.video(tmp_path / "x.mkv", frames)
    stream = streams.open(path, frames=(2, 11, 3), colour=True, dtype="float64")
    assert stream.rate == 25
    assert np.array_equal(all_of(stream, 2), frames[2:11:3].reshape(3, -1) / 255)
    rest = [batch.X for batch in stream.batches(2, start=1)]
    assert np.array_equal(np.vstack(rest), frames[5:11:3].reshape(2, -1) / 255)


def test_frames_with_forward_references_are_in_order(tmp_path, write):
    level = np.linspace(20, 230, 30).astype(np.uint8)
    frames = np.tile(level[:, None, None, None], (1, 32, 32, 3))
    path = write.video(tmp_path / "x.mp4", frames, "libx264", movflags="faststart")
    stream = streams.open(path)
    assert stream.n_announced == 30
    means = all_of(stream).mean(axis=1) * 255
    np.testing.assert_allclose(means, level, atol=4)
    with av.open(str(path)) as file:
        other = [frame.to_ndarray(format="gray").mean() for frame in file.decode(video=0)]
    np.testing.assert_allclose(means, other, rtol=1e-5)


@pytest.mark.parametrize("bits", [8, 16, 24, 32, "float"])
def test_power_does_not_depend_on_the_bit_depth(tmp_path, bits):
    sine = 0.5 * np.sin(2 * np.pi * 0.125 * np.arange(2000))
    path = tmp_path / "x.wav"
    if bits == "float":
        wavfile.write(path, 8000, sine.astype(np.float32))
    else:
        scaled = np.round(sine * (2 ** (bits - 1) - 1)).astype(np.int64)
        raw = (scaled + 128 if bits == 8 else scaled).astype("<i8").view(np.uint8).reshape(-1, 8)
        with wave.open(str(path), "wb") as file:
            file.setparams((2, bits // 8, 8000, 0, "NONE", ""))
            file.writeframes(np.repeat(raw[:, : bits // 8], 2, axis=0).tobytes())
    stream = streams.open(path, window=64, hop=32)
    X = all_of(stream)
    assert X.shape == (1 + (2000 - 64) // 32, 33)
    assert stream.frequencies[X[0].argmax()] == 1000.0
    np.testing.assert_allclose(X[:, 8], 0.25 * 0.5**2, rtol=0.03)


TEXT = ["river river bed", "river sea", "sky sky sky"]


def test_words_with_the_largest_sums_are_kept(tmp_path):
    (tmp_path / "x.txt").write_text("\n".join(TEXT))
    stream = streams.open(tmp_path / "x.txt", n_terms=2)
    assert stream.words.terms == ("sky", "bed")  # (1 + log 3) log 3, then log 3 before 'sea'
    log3 = np.log(3)
    expected = [[0, log3], [0, 0], [(1 + log3) * log3, 0]]
    np.testing.assert_allclose(all_of(stream), expected, rtol=1e-12)
    assert next(stream.batches(3)).X.nnz == 2
    less = streams.open(tmp_path / "x.txt", stop_words={"sky"}, n_terms=1)
    assert less.words.terms == ("bed",)


def test_hashed_words_share_columns(tmp_path, write):
    (tmp_path / "x.txt").write_text("\n".join(TEXT))
    stream = streams.open(tmp_path / "x.txt", n_terms=3, hashing=True)
    expected = write.tf_idf(TEXT, lambda word: crc32(word.encode()) % 3, 3)
    np.testing.assert_allclose(all_of(stream), expected, rtol=1e-12)


@pytest.mark.parametrize("hashing", [False, True])
def test_a_vocabulary_can_be_reused(tmp_path, hashing):
    (tmp_path / "old.txt").write_text("\n".join(TEXT))
    (tmp_path / "new.txt").write_text("river\nunknown\n")
    old = TextStream(tmp_path / "old.txt", n_terms=50, hashing=hashing)
    new = TextStream(tmp_path / "new.txt", vocabulary=old.words)
    X = all_of(new)
    assert X.shape == (2, old.n_features)
    assert X[0].sum() == pytest.approx(np.log(3 / 2))
    assert X[1].sum() == 0.0 or hashing


def test_shuffling_repeated_epochs_gives_different_orders():
    numbers = streams.open(np.arange(40.0).reshape(40, 1))
    mixed = all_of(streams.Shuffled(streams.Repeated(numbers, epochs=2), buffer=40, seed=3)).ravel()
    first, second = mixed[:40], mixed[40:]
    assert sorted(first) == sorted(second) == list(range(40))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.arange(40))
    other = all_of(streams.Shuffled(numbers, buffer=40, seed=4)).ravel()
    assert not np.array_equal(first, other)


def peak(stream):
    tracemalloc.start()
    for _ in stream.batches(16):
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("kind", ["csv", "npy", "txt", "wav", "mkv", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, write, kind):
    peaks = []
    scale = 60 if kind == "parquet" else 1  # Parquet is converted in blocks of 0.5 MB
    for n in (300 * scale, 1500 * scale):
        path, options = tmp_path / f"{n}.{kind}", {}
        X = np.random.default_rng(0).random((n, 20))
        if kind == "csv":
            write.csv(path, X)
        elif kind == "npy":
            np.save(path, X)
        elif kind == "txt":
            path.write_text("\n".join("river bed and sea" for _ in range(n)))
        elif kind == "wav":
            wavfile.write(path, 8000, X.ravel())
            options = {"window": 64}
        elif kind == "mkv":
            write.video(path, np.tile(write.pixels(1, 16, 16), (n // 10, 1, 1)))
        else:
            table = pa.table({f"c{i}": x for i, x in enumerate(X.T)})
            pyarrow.parquet.write_table(table, path, row_group_size=5000)
        stream = streams.open(path, **options)
        assert stream.n_features
        peak(stream)  # warm-up: one-time imports and caches
        peaks.append(peak(stream))
    assert peaks[1] < 1.25 * peaks[0] + 10_000


def test_optional_libraries_are_imported_lazily():
    code = "\n".join(
        [
            "import sys",
            "from thalweg import streams",
            "streams.open([[1.0]])",
            "print(*{'av', 'PIL', 'pyarrow', 'sklearn'} & sys.modules.keys())",
        ]
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
