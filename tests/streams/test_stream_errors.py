"""Unreadable sources raise an error with the requirement, the value and a remedy."""

import os
import re
import sys
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from PIL import Image
from scipy import sparse
from scipy.io import wavfile

from thalweg import streams
from thalweg._rooms import members
from thalweg.errors import DependencyError, InputError, ParameterError
from thalweg.streams.images import ImageStream


def exhaust(stream):
    return [batch.X for batch in stream.batches(4)]


SUFFIXES = [suffix for kind in members("thalweg.streams").values() for suffix in kind.suffixes]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_files(tmp_path, suffix):
    with pytest.raises(InputError, match="missing"):
        streams.open(tmp_path / f"missing{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_of_something_else(tmp_path, suffix):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(b"\x00\xff\x01 not what the suffix says\n\x02\x03" * 9)
    with pytest.raises(InputError, match=r"broken.* must "):
        exhaust(streams.open(path))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_files(tmp_path, suffix):
    path = tmp_path / f"empty{suffix}"
    path.touch()
    with pytest.raises(InputError, match=r"empty.* must "):
        exhaust(streams.open(path))


def test_unknown_suffixes(tmp_path):
    (tmp_path / "x.docx").touch()
    with pytest.raises(InputError, match=r"must end in one of \.npy.*format="):
        streams.open(tmp_path / "x.docx")


def test_unknown_formats_and_options(tmp_path):
    (tmp_path / "x.csv").write_text("1,2\n")
    with pytest.raises(ParameterError, match="format must be one of 'array', 'arrow', 'csv'"):
        streams.open(tmp_path / "x.csv", format="excel")
    message = r"Options of format 'csv' must be among columns, .* got 'sheet'"
    with pytest.raises(ParameterError, match=message):
        streams.open(tmp_path / "x.csv", sheet=1)


@pytest.mark.parametrize("source", [".", "*.png"])
def test_folders_without_images(tmp_path, source):
    with pytest.raises(InputError, match=r"must be a folder of images, .* got no images"):
        streams.open(str(tmp_path / source))


def test_a_folder_instead_of_a_file(tmp_path):
    with pytest.raises(InputError, match="must be a file, got a folder"):
        streams.open(tmp_path, format="csv")


def test_images_of_different_sizes(tmp_path):
    Image.new("L", (4, 6)).save(tmp_path / "a.png")
    Image.new("L", (4, 7)).save(tmp_path / "b.png")
    with pytest.raises(InputError, match=r"6 x 4 pixels in .*a.png and 7 x 4 in .*b.png.*size="):
        exhaust(streams.open(tmp_path))


def test_a_truncated_image(tmp_path, write):
    Image.fromarray(write.pixels(64, 64)).save(tmp_path / "a.png")
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"a.png must be an image"):
        exhaust(streams.open(tmp_path))


def test_a_text_column_in_a_table(tmp_path):
    (tmp_path / "x.csv").write_text("name,level\nElbe,3.5\n")
    with pytest.raises(InputError, match=r"column 'name', got 'Elbe' in line 2.*columns="):
        exhaust(streams.open(tmp_path / "x.csv"))
    assert exhaust(streams.open(tmp_path / "x.csv", columns=["level"]))[0].tolist() == [[3.5]]
    pyarrow.parquet.write_table(pa.table({"name": ["Elbe"]}), tmp_path / "x.parquet")
    pyarrow.feather.write_feather(pa.table({"name": ["Elbe"]}), tmp_path / "x.feather")
    for file in ("x.parquet", "x.feather"):
        with pytest.raises(InputError, match=r"column 'name', got string.*columns="):
            streams.open(tmp_path / file).n_features  # noqa: B018


def test_ragged_tables_and_open_quotes(tmp_path):
    (tmp_path / "x.csv").write_text("1,2\n3\n")
    with pytest.raises(InputError, match="2 cells in each row, got 1 in line 2"):
        exhaust(streams.open(tmp_path / "x.csv"))
    (tmp_path / "y.csv").write_text('1,2\n"3,4\n' + "5,6\n" * 40_000)
    with pytest.raises(InputError, match="Look for an unclosed quote"):
        exhaust(streams.open(tmp_path / "y.csv"))


@pytest.mark.parametrize("columns", [["c9"], [7], [-1], "c0", []])
def test_unknown_columns(tmp_path, write, columns):
    path = write.csv(tmp_path / "x.csv", np.ones((2, 3)))
    with pytest.raises(ParameterError, match=r"columns must .*c0, c1, c2"):
        streams.open(path, columns=columns).n_features  # noqa: B018


@pytest.mark.parametrize("name", ["x.csv", "x.txt"])
def test_other_encodings(tmp_path, name):
    (tmp_path / name).write_bytes("Fluß,Höhe\n1,2\n".encode("latin-1"))
    with pytest.raises(InputError, match="must be text in utf-8, got the byte 0xdf"):
        exhaust(streams.open(tmp_path / name))
    assert exhaust(streams.open(tmp_path / name, encoding="latin-1"))


@pytest.mark.parametrize("bad", [[1.0, 2.0], [["a"]], [[1j]], [[None]]])
def test_arrays_of_something_else(bad):
    with pytest.raises(InputError, match="real numbers, one sample per row"):
        exhaust(streams.open(bad))


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="unreadable file"):
        exhaust(streams.open(tmp_path / "x.npy"))


def test_sparse_files_of_other_layouts(tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.bsr_matrix(np.eye(4)))
    with pytest.raises(InputError, match="CSR or CSC matrix, got the format 'bsr'"):
        exhaust(streams.open(tmp_path / "x.npz"))


@pytest.mark.parametrize("share", [0.3, 0.8])
@pytest.mark.parametrize(
    ("name", "codec", "options"),
    [
        ("x.mp4", "libx264", {}),
        ("x.mp4", "libx264", {"movflags": "faststart"}),
        ("x.mkv", "libx264", {}),
        ("x.avi", "mpeg4", {}),
    ],
    ids=["mp4", "streamed mp4", "mkv", "avi"],
)
def test_truncated_videos(tmp_path, write, name, codec, options, share):
    path = write.video(tmp_path / name, write.pixels(60, 32, 32, 3), codec, **options)
    assert sum(len(X) for X in exhaust(streams.open(path))) == 60
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=r"x\.\w+ must .* The file may be truncated"):
        exhaust(streams.open(path))


def test_a_file_without_video_track(tmp_path):
    with av.open(str(tmp_path / "x.mkv"), "w") as file:
        track = file.add_stream("pcm_s16le", rate=8000, layout="mono")
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 999), np.int16), layout="mono")
        silence.sample_rate = 8000
        for packet in [*track.encode(silence), *track.encode()]:
            file.mux(packet)
    with pytest.raises(InputError, match="without video track"):
        exhaust(streams.open(tmp_path / "x.mkv"))


def test_a_sound_file_is_not_a_video(tmp_path):
    wavfile.write(tmp_path / "x.wav", 8000, np.zeros(999, dtype=np.int16))
    with pytest.raises(InputError, match=r"x\.wav must be a video, got an unreadable file"):
        exhaust(streams.open(tmp_path / "x.wav", format="video"))


@pytest.mark.parametrize("frames", [(5, 5), (-1, 4), (0, 10, 0), (0, 10, -1), (5,), ()])
def test_invalid_ranges_of_frames(tmp_path, write, frames):
    path = write.video(tmp_path / "x.mkv", write.pixels(2, 16, 16))
    with pytest.raises(ParameterError, match="frames must be"):
        streams.open(path, frames=frames)


@pytest.mark.parametrize("size", [(0, 5), (5,), (1.5, 2)])
def test_invalid_image_sizes(tmp_path, size):
    Image.new("L", (2, 2)).save(tmp_path / "a.png")
    with pytest.raises(ParameterError, match="size must be"):
        streams.open(tmp_path, size=size)


def test_short_and_truncated_sounds(tmp_path):
    wavfile.write(tmp_path / "x.wav", 8000, np.zeros(5000, dtype=np.int16))
    with pytest.raises(InputError, match="must have at least 8192 audio samples, got 5000"):
        exhaust(streams.open(tmp_path / "x.wav", window=8192))
    whole = (tmp_path / "x.wav").read_bytes()
    (tmp_path / "x.wav").write_bytes(whole[:4000])
    with pytest.raises(InputError, match=r"x.wav must be a WAV file"):
        exhaust(streams.open(tmp_path / "x.wav"))


@pytest.mark.parametrize("name", ["x.parquet", "x.feather", "x.npy", "x.npz"])
def test_truncated_tables(tmp_path, name):
    X = np.random.default_rng(0).random((500, 2))
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "x.feather")
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=f"{name} must be"):
        exhaust(streams.open(tmp_path / name))


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\nshowpage\n%%EOF\n"


@pytest.fixture
def ghostscript(tmp_path, monkeypatch):
    """Install a fake Ghostscript; return the file it creates when it runs."""
    ran, folder = tmp_path / "ran", tmp_path / "bin"
    folder.mkdir()
    for name in ("gs", "gswin32c", "gswin64c"):
        (folder / name).write_text(f'#!/bin/sh\ntouch "{ran}"\n')
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    # Pillow caches whether Ghostscript is installed
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)
    return ran


@pytest.mark.skipif(os.name == "nt", reason="the fake is a shell script")
def test_the_fake_ghostscript_works(tmp_path, ghostscript):
    (tmp_path / "holiday.eps").write_bytes(POSTSCRIPT)
    with pytest.raises(OSError), Image.open(tmp_path / "holiday.eps") as image:  # noqa: PT011
        image.load()
    assert ghostscript.exists()


@pytest.mark.skipif(os.name == "nt", reason="the fake is a shell script")
@pytest.mark.parametrize("suffix", ImageStream.suffixes)
def test_postscript_is_rejected_without_running_ghostscript(tmp_path, ghostscript, suffix):
    (tmp_path / f"holiday{suffix}").write_bytes(POSTSCRIPT)
    for source in (tmp_path / f"holiday{suffix}", tmp_path):
        with pytest.raises(InputError, match=r"holiday\.\w+ must be an image"):
            exhaust(streams.open(source))
    assert not ghostscript.exists()


def test_all_images_are_opened_with_a_list_of_formats():
    root = Path(__file__).resolve().parents[2]
    files = [
        path for room in ("src", "benchmarks", "examples") for path in (root / room).rglob("*.py")
    ]
    calls = [
        call
        for path in files
        for call in re.findall(r"(?:Image|opener)\.open\([^)]*\)", path.read_text("utf-8"))
    ]
    assert calls
    assert [call for call in calls if "formats=" not in call] == []


def test_playlists_are_rejected_and_open_no_other_file(tmp_path, write):
    write.video(tmp_path / "film.mkv", write.pixels(2, 16, 16))
    (tmp_path / "list.mp4").write_text("ffconcat version 1.0\nfile film.mkv\n")
    with av.open(str(tmp_path / "list.mp4")) as file:
        assert file.format.name == "concat"  # FFmpeg would follow it
    with pytest.raises(InputError, match=r"list\.mp4 must be a video"):
        exhaust(streams.open(tmp_path / "list.mp4"))


def test_text_without_words(tmp_path):
    (tmp_path / "x.txt").write_text("1 2 3\n\n")
    with pytest.raises(InputError, match="must have words, got none"):
        exhaust(streams.open(tmp_path / "x.txt"))


def test_invalid_word_patterns(tmp_path):
    (tmp_path / "x.txt").write_text("river")
    with pytest.raises(ParameterError, match="pattern must be a regular expression"):
        streams.open(tmp_path / "x.txt", pattern="[")


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [("x.parquet", "pyarrow", "pyarrow"), ("x.png", "PIL", "Pillow"), ("x.mp4", "av", "PyAV")],
)
def test_missing_libraries(tmp_path, monkeypatch, name, module, package):
    (tmp_path / name).touch()
    for loaded in [m for m in sys.modules if m.partition(".")[0] == module]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DependencyError, match=rf"needs {package}, .*pip install 'thalweg\[app\]'"):
        streams.open(tmp_path / name).n_features  # noqa: B018


@pytest.mark.parametrize(
    ("wrapper", "options"),
    [("Shuffled", {"buffer": 0}), ("Shuffled", {"seed": -1}), ("Repeated", {"epochs": 0})],
)
def test_invalid_wrapper_options(wrapper, options):
    with pytest.raises(ParameterError, match=f"{next(iter(options))} must be an integer"):
        getattr(streams, wrapper)(streams.open([[1.0]]), **options)
