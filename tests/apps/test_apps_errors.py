"""What cannot be used is told in one message, and leaves nothing behind."""

import zipfile

import numpy as np
import pytest
from PIL import Image

from thalweg import apps
from thalweg.errors import InputError, ParameterError, ThalwegError


def refused(job, *arguments, match, error=ThalwegError, **options):
    with pytest.raises(error, match=match) as caught:
        job(*arguments, **options)
    assert "\n" not in str(caught.value)


@pytest.fixture
def out(tmp_path):
    yield tmp_path / "out"
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".thalweg-*"))


JOBS = [
    apps.separate,
    apps.denoise,
    apps.topics,
    apps.track,
    apps.complete,
    apps.unmix,
    apps.factor,
]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
@pytest.mark.parametrize("name", ["none.mp4", "none.csv", "none.npz", "none", "*.png"])
def test_missing_files(job, name, tmp_path, out):
    refused(job, tmp_path / name, out, match="must")


def test_an_empty_folder(tmp_path, out):
    (tmp_path / "frames").mkdir()
    refused(apps.separate, tmp_path / "frames", out, match="got no images")


def test_frames_of_different_sizes(tmp_path, out):
    (tmp_path / "frames").mkdir()
    for i in range(4):
        Image.new("L", (8 + i // 3, 8)).save(tmp_path / "frames" / f"{i}.png")
    refused(apps.separate, tmp_path / "frames", out, match="8 x 8 pixels .* and 8 x 9 in")


@pytest.mark.parametrize("job", [apps.track, apps.complete, apps.factor])
def test_a_column_of_text(job, tmp_path, out):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,north\n5,6\n")
    refused(job, tmp_path / "t.csv", out, match="column 'b', got 'north' in line 3")


@pytest.mark.parametrize("job", [apps.track, apps.complete])
def test_a_column_of_gaps(job, tmp_path, out):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,\n2,\n" * 20)
    refused(job, tmp_path / "t.csv", out, match="'b' of t.csv has gaps only", error=InputError)


def test_a_truncated_video(film, tmp_path, out):
    whole = apps.separate(film[:40], tmp_path / "whole").files["background"].read_bytes()
    for share in (0.3, 0.9):
        (tmp_path / "cut.mp4").write_bytes(whole[: int(share * len(whole))])
        refused(apps.separate, tmp_path / "cut.mp4", out, match=r"cut.mp4 must .* truncated")


def test_an_output_that_is_a_file_or_below_one(tmp_path):
    (tmp_path / "file").write_text("x")
    X = np.eye(5)
    refused(apps.factor, X, tmp_path / "file", match="is a file", components=2)
    refused(apps.factor, X, tmp_path / "file" / "out", match="cannot be written", components=2)


def test_an_output_that_is_taken_is_told_before_anything_is_read(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("x")
    refused(apps.factor, "no such file", tmp_path / "out", match="has something in it")


def test_unknown_methods_and_parameters(out):
    X = np.eye(6)
    refused(apps.factor, X, out, method="pca", match="one of .*robust-online-nmf.*'pca' came")
    refused(apps.factor, X, out, method="--", match="'--' came")
    refused(apps.factor, X, out, settings={"rank": 2}, match="Parameters .* 'rank' came")
    refused(apps.factor, X, out, settings={"n_components": "x"}, match="n_components should")
    refused(apps.separate, X, out, method="grasta", match="robust-online-nmf, petrels-admm")
    refused(apps.factor, X, out, parts=["noise"], match="codes, low_rank, outliers")
    refused(apps.factor, X, out, read={"colour": True}, match="Options of format 'array'")
    refused(apps.complete, X, out, epochs=3, match="takes in all samples at once")


@pytest.mark.parametrize("change", ["cut", "flip", "text"])
def test_broken_models(change, tmp_path, out):
    X = np.random.default_rng(0).random((30, 4))
    whole = apps.factor(X, tmp_path / "first", components=2).files["model"].read_bytes()
    broken = {
        "cut": whole[: len(whole) // 2],
        "flip": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
        "text": b"no model",
    }[change]
    (tmp_path / "m.thalweg").write_bytes(broken)
    refused(apps.apply, tmp_path / "m.thalweg", X, out, match="m.thalweg")
    refused(apps.info, tmp_path / "m.thalweg", match="m.thalweg")


def test_a_model_for_other_data(tmp_path, out):
    X = np.random.default_rng(0).random((30, 4))
    model = apps.factor(X, tmp_path / "first", components=2).files["model"]
    refused(apps.apply, model, X[:, :3], out, match="should have 4 features .* it has 3")
    refused(apps.apply, tmp_path / "none.thalweg", X, out, match="no file is there")


def test_samples_that_are_no_pictures(out):
    refused(apps.separate, np.eye(5), out, match="should have pictures, but a sample has the shape")
    refused(apps.unmix, np.eye(5), out, match="an array of shape")
    refused(apps.unmix, np.zeros((3, 4, 5)), out, match="positive numbers")
    refused(apps.topics, -np.eye(5), out, match="negative numbers or gaps")


def test_links_out_of_a_folder(tmp_path, out):
    (tmp_path / "frames").mkdir()
    Image.new("L", (8, 8)).save(tmp_path / "secret.png")
    Image.new("L", (8, 8)).save(tmp_path / "frames" / "0.png")
    (tmp_path / "frames" / "1.png").symlink_to(tmp_path / "secret.png")
    refused(apps.separate, tmp_path / "frames", out, match=r"1.png, a symbolic link .*secret.png")


def test_a_bomb_is_not_unpacked(tmp_path, out, monkeypatch):
    monkeypatch.setattr("thalweg.streams.arrays._MAX_UNPACKED_BYTES", 2**20)
    np.savez_compressed(tmp_path / "zeros.npz", x=np.zeros((2**11, 2**8)))
    assert (tmp_path / "zeros.npz").stat().st_size < 2**14
    refused(apps.factor, tmp_path / "zeros.npz", out, match="at most 1048576 bytes")


def test_a_header_that_announces_too_much(tmp_path, out):
    """The zip file itself is small and says so; the array in it claims to be huge."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"
    head += b" " * (117 - len(head)) + b"\n"
    body = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as file:
        file.writestr("x.npy", body)
    refused(apps.factor, tmp_path / "huge.npz", out, match="8000000000000")


def test_a_million_columns(tmp_path, out):
    (tmp_path / "wide.csv").write_text("1," * 1_000_000 + "1\n")
    refused(apps.track, tmp_path / "wide.csv", out, match="at most 100000 columns")


def test_a_line_without_end(tmp_path, out, monkeypatch):
    monkeypatch.setattr("thalweg.streams._lines.MAX_LINE_BYTES", 2**10)
    (tmp_path / "long.csv").write_text("1" * 2**12)
    refused(apps.track, tmp_path / "long.csv", out, match="lines of at most 1024 bytes")


@pytest.mark.parametrize(
    "stem", ["-dash", "[red]x", "<script>alert(1)", "a\nb", "http:x", "sp ace", "ü*?"]
)
def test_names_are_names(stem, film, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = apps.separate(film[:20], tmp_path / "made", components=1, epochs=1)
    (tmp_path / f"{stem}.mp4").write_bytes(made.files["background"].read_bytes())
    result = apps.separate(f"{stem}.mp4", components=1, epochs=1)
    assert result.values["frames"] == 20
    assert result.out.parent == tmp_path
    assert "<script>alert" not in result.files["report"].read_text("utf-8")


def test_parameters_without_sense(film, out):
    refused(apps.separate, film, out, levels=0.0, match="levels", error=ParameterError)
    refused(apps.topics, np.eye(4), out, words=0, match="words", error=ParameterError)
