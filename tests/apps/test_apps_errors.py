"""Invalid input raises one error with a one-line message and leaves no files."""

import zipfile

import numpy as np
import pytest
from PIL import Image

from thalweg import apps
from thalweg.errors import InputError, ParameterError, ThalwegError


def assert_raises(job, *arguments, match, error=ThalwegError, **options):
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
    assert_raises(job, tmp_path / name, out, match="must")


def test_an_empty_folder(tmp_path, out):
    (tmp_path / "frames").mkdir()
    assert_raises(apps.separate, tmp_path / "frames", out, match="got no images")


def test_frames_of_different_sizes(tmp_path, out):
    (tmp_path / "frames").mkdir()
    for i in range(4):
        Image.new("L", (8 + i // 3, 8)).save(tmp_path / "frames" / f"{i}.png")
    assert_raises(apps.separate, tmp_path / "frames", out, match="8 x 8 pixels .* and 8 x 9 in")


@pytest.mark.parametrize("job", [apps.track, apps.complete, apps.factor])
def test_a_column_of_text(job, tmp_path, out):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,north\n5,6\n")
    assert_raises(job, tmp_path / "t.csv", out, match="column 'b', got 'north' in line 3")


@pytest.mark.parametrize("job", [apps.track, apps.complete])
def test_a_column_of_gaps(job, tmp_path, out):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,\n2,\n" * 20)
    assert_raises(job, tmp_path / "t.csv", out, match="t.csv .* only gaps in 'b'", error=InputError)


def test_a_truncated_video(film, tmp_path, out):
    whole = apps.separate(film[:40], tmp_path / "whole").files["background"].read_bytes()
    for share in (0.3, 0.9):
        (tmp_path / "cut.mp4").write_bytes(whole[: int(share * len(whole))])
        assert_raises(apps.separate, tmp_path / "cut.mp4", out, match=r"cut.mp4 must .* truncated")


def test_output_at_or_below_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    X = np.eye(5)
    assert_raises(
        apps.factor, X, tmp_path / "file", match="must be a folder, got the file", components=2
    )
    assert_raises(apps.factor, X, tmp_path / "file" / "out", match="must be writable", components=2)


def test_a_nonempty_output_folder_raises_before_reading(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("x")
    assert_raises(apps.factor, "no such file", tmp_path / "out", match="which is not empty")


def test_unknown_methods_and_parameters(out):
    X = np.eye(6)
    assert_raises(apps.factor, X, out, method="pca", match="one of .*robust-online-nmf.*got 'pca'")
    assert_raises(apps.factor, X, out, method="--", match="got '--'")
    assert_raises(apps.factor, X, out, settings={"rank": 2}, match="Parameters .* got 'rank'")
    assert_raises(apps.factor, X, out, settings={"n_components": "x"}, match="n_components must")
    assert_raises(apps.separate, X, out, method="grasta", match="robust-online-nmf, petrels-admm")
    assert_raises(apps.factor, X, out, parts=["noise"], match="codes, low_rank, outliers")
    assert_raises(apps.factor, X, out, read={"colour": True}, match="Options of format 'array'")
    assert_raises(apps.complete, X, out, epochs=3, match="epochs must be None for the batch method")


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
    assert_raises(apps.apply, tmp_path / "m.thalweg", X, out, match="m.thalweg")
    assert_raises(apps.info, tmp_path / "m.thalweg", match="m.thalweg")


def test_a_model_for_other_data(tmp_path, out):
    X = np.random.default_rng(0).random((30, 4))
    model = apps.factor(X, tmp_path / "first", components=2).files["model"]
    assert_raises(apps.apply, model, X[:, :3], out, match="must have 4 features .* got 3")
    assert_raises(apps.apply, tmp_path / "none.thalweg", X, out, match="does not exist")


def test_samples_that_are_not_images(out):
    assert_raises(apps.separate, np.eye(5), out, match="must contain images, got samples of shape")
    assert_raises(apps.unmix, np.eye(5), out, match="an array of shape")
    assert_raises(apps.unmix, np.zeros((3, 4, 5)), out, match="positive numbers")
    assert_raises(apps.topics, -np.eye(5), out, match="negative numbers or gaps")


def test_links_to_files_outside_a_folder(tmp_path, out):
    (tmp_path / "frames").mkdir()
    Image.new("L", (8, 8)).save(tmp_path / "secret.png")
    Image.new("L", (8, 8)).save(tmp_path / "frames" / "0.png")
    (tmp_path / "frames" / "1.png").symlink_to(tmp_path / "secret.png")
    assert_raises(
        apps.separate, tmp_path / "frames", out, match=r"1.png, a symbolic link .*secret.png"
    )


def test_decompression_bombs_are_not_unpacked(tmp_path, out, monkeypatch):
    monkeypatch.setattr("thalweg.streams.arrays._MAX_UNPACKED_BYTES", 2**20)
    np.savez_compressed(tmp_path / "zeros.npz", x=np.zeros((2**11, 2**8)))
    assert (tmp_path / "zeros.npz").stat().st_size < 2**14
    assert_raises(apps.factor, tmp_path / "zeros.npz", out, match="at most 1048576 bytes")


def test_a_header_that_declares_a_huge_array(tmp_path, out):
    """The zip entry is small; the header of the array in it declares a huge shape."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"
    head += b" " * (117 - len(head)) + b"\n"
    body = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as file:
        file.writestr("x.npy", body)
    assert_raises(apps.factor, tmp_path / "huge.npz", out, match="8000000000000")


def test_a_million_columns(tmp_path, out):
    (tmp_path / "wide.csv").write_text("1," * 1_000_000 + "1\n")
    assert_raises(apps.track, tmp_path / "wide.csv", out, match="at most 100000 columns")


def test_a_line_without_end(tmp_path, out, monkeypatch):
    monkeypatch.setattr("thalweg.streams._lines.MAX_LINE_BYTES", 2**10)
    (tmp_path / "long.csv").write_text("1" * 2**12)
    assert_raises(apps.track, tmp_path / "long.csv", out, match="lines of at most 1024 bytes")


@pytest.mark.parametrize(
    "stem", ["-dash", "[red]x", "<script>alert(1)", "a\nb", "http:x", "sp ace", "ü*?"]
)
def test_unusual_file_names(stem, film, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = apps.separate(film[:20], tmp_path / "made", components=1, epochs=1)
    (tmp_path / f"{stem}.mp4").write_bytes(made.files["background"].read_bytes())
    result = apps.separate(f"{stem}.mp4", components=1, epochs=1)
    assert result.values["frames"] == 20
    assert result.out.parent == tmp_path
    assert "<script>alert" not in result.files["report"].read_text("utf-8")


def test_invalid_parameters(film, out):
    assert_raises(apps.separate, film, out, threshold=0.0, match="threshold", error=ParameterError)
    assert_raises(apps.topics, np.eye(4), out, words=0, match="words", error=ParameterError)
