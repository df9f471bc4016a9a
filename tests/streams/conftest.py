"""Small sources of every kind, with the samples they must give."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from PIL import Image
from scipy import signal, sparse
from scipy.io import wavfile

from thalweg import streams
from thalweg._rooms import members

N = 23


class Case(NamedTuple):
    """A stream and its expected samples."""

    open: Callable[..., Any]  # takes further options
    X: Any


def table(n: int = N) -> Any:
    """Return numbers with gaps, not all representable in float32."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def write_csv(path: Path, X: Any, delimiter: str = ",") -> Path:
    rows = [["" if math.isnan(cell) else repr(float(cell)) for cell in row] for row in X]
    names = [f"c{place}" for place in range(X.shape[1])]
    path.write_text("".join(delimiter.join(row) + "\n" for row in [names, *rows]))
    return path


def write_video(path: Path, frames: Any, codec: str = "ffv1", **options: str) -> Path:
    """Write gray or colour frames; the default codec and pixel format are lossless."""
    lossless = "gray" if frames.ndim == 3 else "bgr0"
    with av.open(str(path), "w", options=options) as file:
        track = file.add_stream(codec, rate=25, width=frames.shape[2], height=frames.shape[1])
        track.pix_fmt = lossless if codec == "ffv1" else "yuv420p"
        for pixels in frames:
            form = "gray" if frames.ndim == 3 else "rgb24"
            for packet in track.encode(av.VideoFrame.from_ndarray(pixels, format=form)):
                file.mux(packet)
        for packet in track.encode():
            file.mux(packet)
    return path


def pixels(*shape: int) -> Any:
    return np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)


LINES = [
    "The river runs. The river bends, the bed deepens",
    "A river bed of gravel",
    "",
    "Snow melts; the snow feeds the river",
    "Sand and gravel: sand, sand!",
]


def naive_tf_idf(lines: list[str], column: Callable[[str], int], F: int) -> Any:
    """Compute (1 + log v) log(n / df) exactly as printed in [D] VIII-E."""
    V = np.zeros((len(lines), F))
    for row, line in zip(V, lines, strict=True):
        for word in re.findall("[a-z]{2,}", line.lower()):
            row[column(word)] += 1
    df = (V > 0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(V > 0, (1 + np.log(V)) * np.log(len(lines) / df), 0.0)


def _array(folder: Path) -> tuple[Any, Any]:
    return table(), table()


def _sparse(folder: Path) -> tuple[Any, Any]:
    X = np.where(np.isnan(table()), 0.0, table())
    return sparse.coo_matrix(X), X


def _npy(folder: Path) -> tuple[Any, Any]:
    np.save(folder / "x.npy", table())
    return folder / "x.npy", table()


def _npz(folder: Path) -> tuple[Any, Any]:
    np.savez_compressed(folder / "x.npz", X=pixels(N, 3, 2))
    return folder / "x.npz", pixels(N, 3, 2).reshape(N, 6).astype(float)


def _sparse_npz(folder: Path) -> tuple[Any, Any]:
    X = np.where(np.isnan(table()), 0.0, table())
    sparse.save_npz(folder / "x.npz", sparse.csc_matrix(X))
    return folder / "x.npz", X


def _csv(folder: Path) -> tuple[Any, Any]:
    return write_csv(folder / "x.csv", table()), table()


def _tsv(folder: Path) -> tuple[Any, Any]:
    return write_csv(folder / "x.tsv", table(), "\t"), table()


def _parquet(folder: Path) -> tuple[Any, Any]:
    columns = {f"c{i}": pa.array(x, from_pandas=True) for i, x in enumerate(table().T)}
    pyarrow.parquet.write_table(pa.table(columns), folder / "x.parquet", row_group_size=7)
    return folder / "x.parquet", table()


def _feather(folder: Path) -> tuple[Any, Any]:
    columns = {f"c{i}": pa.array(x, from_pandas=True) for i, x in enumerate(table().T)}
    pyarrow.feather.write_feather(pa.table(columns), folder / "x.feather", chunksize=7)
    return folder / "x.feather", table()


def _arrow_stream(folder: Path) -> tuple[Any, Any]:
    columns = {f"c{i}": pa.array(x, from_pandas=True) for i, x in enumerate(table().T)}
    whole = pa.table(columns)
    with pa.ipc.new_stream(folder / "x.arrows", whole.schema) as writer:
        writer.write_table(whole, max_chunksize=7)
    return folder / "x.arrows", table()


def _images(folder: Path) -> tuple[Any, Any]:
    for number, image in enumerate(pixels(N, 4, 6)):
        Image.fromarray(image).save(folder / f"frame {number}.png")
    return folder, pixels(N, 4, 6).reshape(N, -1) / 255


def _video(folder: Path) -> tuple[Any, Any]:
    path = write_video(folder / "x.mkv", pixels(N, 16, 32))
    return path, pixels(N, 16, 32).reshape(N, -1) / 255


def _sound(folder: Path) -> tuple[Any, Any]:
    values = np.random.default_rng(2).integers(-(2**15), 2**15, 1024 + 256 * (N - 1) + 100)
    wavfile.write(folder / "x.wav", 8000, values.astype(np.int16))
    _, _, S = signal.stft(values / 2**15, nperseg=1024, noverlap=768, boundary=None, padded=False)
    return folder / "x.wav", np.abs(S.T) ** 2


def _text(folder: Path) -> tuple[Any, Any]:
    lines = (LINES * 5)[:N]
    (folder / "x.txt").write_text("\n".join(lines) + "\n")
    words = sorted({word for line in lines for word in re.findall("[a-z]{2,}", line.lower())})
    V = naive_tf_idf(lines, words.index, len(words))
    return folder / "x.txt", V[:, np.lexsort((np.arange(len(words)), -V.sum(axis=0)))]


def _wrapped(wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda source, **options: wrap(streams.open(source, **options))


def _shuffled() -> Any:
    parts = [table()[begin : begin + 8] for begin in range(0, N, 8)]
    orders = [np.random.default_rng([5, b]).permutation(len(part)) for b, part in enumerate(parts)]
    return np.vstack([part[order] for part, order in zip(parts, orders, strict=True)])


# Format; function that writes the source and returns it with its samples; function that opens it.
CASES: dict[str, tuple[str, Callable[[Path], tuple[Any, Any]], Callable[..., Any]]] = {
    "array": ("array", _array, streams.open),
    "sparse array": ("array", _sparse, streams.open),
    "npy": ("array", _npy, streams.open),
    "npz": ("array", _npz, streams.open),
    "sparse npz": ("array", _sparse_npz, streams.open),
    "csv": ("csv", _csv, streams.open),
    "tsv": ("csv", _tsv, streams.open),
    "growing csv": (
        "csv",
        _csv,
        lambda source, **more: streams.open(source, follow=True, patience=0.0, poll=0.01, **more),
    ),
    "parquet": ("parquet", _parquet, streams.open),
    "feather": ("arrow", _feather, streams.open),
    "arrow stream": ("arrow", _arrow_stream, streams.open),
    "images": ("images", _images, streams.open),
    "video": ("video", _video, streams.open),
    "wav": ("wav", _sound, streams.open),
    "text": ("text", _text, streams.open),
    "repeated": (
        "csv",
        lambda folder: (_csv(folder)[0], np.tile(table(), (3, 1))),
        _wrapped(lambda stream: streams.Repeated(stream, epochs=3)),
    ),
    "shuffled": (
        "csv",
        lambda folder: (_csv(folder)[0], _shuffled()),
        _wrapped(lambda stream: streams.Shuffled(stream, buffer=8, seed=5)),
    ),
    "shuffled sparse array": (
        "array",
        lambda folder: (sparse.csr_array(np.nan_to_num(table())), np.nan_to_num(_shuffled())),
        _wrapped(lambda stream: streams.Shuffled(stream, buffer=8, seed=5)),
    ),
}


@pytest.fixture(scope="session")
def covered() -> tuple[set[str], set[str]]:
    """Return the formats with a case, and all formats."""
    return {kind for kind, _, _ in CASES.values()}, set(members("thalweg.streams"))


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    _, write, opened = CASES[request.param]
    source, X = write(tmp_path_factory.mktemp("source"))
    return Case(lambda **options: opened(source, **options), X)


@pytest.fixture(scope="session")
def write() -> Any:
    """Return the functions that write sources."""

    class Writers:
        csv = staticmethod(write_csv)
        video = staticmethod(write_video)
        pixels = staticmethod(pixels)
        tf_idf = staticmethod(naive_tf_idf)

    return Writers
