"""Files larger than memory are learned from, and reading them ahead saves time.

Claim
    ``fit_stream`` learns from 8 GB through 1 GB of memory. While a batch is learned from, a thread
    reads the next one: the result is the same, sooner.
Data
    Rank 10 in 2000 features with noise, in float32: 8 GB as ``.npy`` and 2 GB as Parquet (a 16th
    of it with ``--quick``), written a block at a time into a temporary folder and removed. For the
    gain: smaller files of five kinds.
Settings
    ``RobustOnlineNMF(10, random_state=0)`` with batches of 256, in a child process whose writable
    memory is capped at 1 GB by RLIMIT_DATA; the data as a whole must not fit. For the gain, the
    same with and without ``prefetch``, in turns, the least of three, with one BLAS thread; files
    are put out of the system's cache before each run where that can be done. On a machine with
    other jobs the gain means little, since the second core is not free.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.cases.scale._capped_fit import fit_capped
from benchmarks.shared.tables import number, table
from thalweg import RobustOnlineNMF, streams

GB = 10**9
F, K, BATCH, BLOCK = 2000, 10, 256, 4096
BYTES, CAP, PARQUET = 8 * GB, 1 * GB, 2 * GB
REPETITIONS = 3


def run(quick: bool) -> dict[str, Any]:
    """Write the files, learn from them, and remove them."""
    share = 16 if quick else 1
    with tempfile.TemporaryDirectory(prefix="thalweg-out-of-core-") as name:
        folder = Path(name)
        _check_room(folder, 1.1 * (BYTES + PARQUET) / share)
        capped = {
            "npy": _capped(_write_npy(folder / "x.npy", BYTES // share), CAP // share, quick),
            "parquet": _capped(_write_parquet(folder, PARQUET // share), CAP // share, quick),
        }
        gains = {name: _gain(*case) for name, case in _cases(folder).items()}
    return {"capped": capped, "gains": gains}


def _check_room(folder: Path, needed: float) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(
            f"{folder} should have {needed / GB:.1f} GB free, but has {free / GB:.1f}. "
            "Set TMPDIR to a larger disk."
        )


def _blocks(n_samples: int, n_features: int = F) -> Iterator[Any]:
    rng = np.random.default_rng(0)
    components = rng.random((K, n_features), dtype=np.float32)
    for begin in range(0, n_samples, BLOCK):
        rows = min(BLOCK, n_samples - begin)
        X = rng.random((rows, K), dtype=np.float32) @ components
        X += 0.01 * rng.random(X.shape, dtype=np.float32)
        yield X


def _write_npy(path: Path, n_bytes: int) -> Path:
    n = n_bytes // (4 * F)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n, F)}
        np.lib.format.write_array_header_2_0(file, header)
        for X in _blocks(n):
            X.tofile(file)
    return path


def _write_parquet(folder: Path, n_bytes: int, n_features: int = F) -> Path:
    import pyarrow
    import pyarrow.parquet

    path = folder / f"x{n_features}.parquet"
    schema = pyarrow.schema([(f"c{i}", pyarrow.float32()) for i in range(n_features)])
    with pyarrow.parquet.ParquetWriter(path, schema, compression="none") as writer:
        for X in _blocks(n_bytes // (4 * n_features), n_features):
            columns = [pyarrow.array(column) for column in np.ascontiguousarray(X.T)]
            writer.write_table(pyarrow.table(columns, schema=schema))
    return path


def _capped(path: Path, cap: int, quick: bool) -> dict[str, Any]:
    size = path.stat().st_size
    spare = cap if quick else None  # the libraries alone take more than a 16th of the cap
    options = {"n_components": K, "random_state": 0, "batch_size": BATCH}
    found = fit_capped(path, cap=cap, spare=spare, **options)
    path.unlink()
    met = found["refused"] and found["private"] < found["cap"] < size
    return {"bytes": size, **found, "met": bool(met)}


def _cases(folder: Path) -> dict[str, tuple[Any, Path]]:
    """Return streams of five kinds that are worth reading ahead, with what is on disk."""
    parquet = _write_parquet(folder, GB // 8, 400)
    npy = _write_npy(folder / "gain.npy", GB // 4)
    csv = folder / "x.csv"
    X = next(_blocks(4000, 100))
    np.savetxt(csv, X, delimiter=",", fmt="%.6g")
    images, video = _write_images(folder / "images"), _write_video(folder / "x.mkv")
    return {
        "npy, 2000 features": (streams.open(npy), npy),
        "Parquet, 400 features": (streams.open(parquet, dtype="float32"), parquet),
        "CSV, 100 features": (streams.open(csv), csv),
        "PNG, 96 x 128": (streams.open(images), images),
        "video, 96 x 128": (streams.open(video), video),
    }


def _frames(n: int) -> Iterator[Any]:
    rng = np.random.default_rng(0)
    still = rng.integers(0, 200, (96, 128))
    for _ in range(n):
        yield np.clip(still + rng.integers(0, 40, still.shape), 0, 255).astype(np.uint8)


def _write_images(folder: Path) -> Path:
    from PIL import Image

    folder.mkdir()
    for number_, frame in enumerate(_frames(1500)):
        Image.fromarray(frame).save(folder / f"{number_}.png")
    return folder


def _write_video(path: Path) -> Path:
    import av

    with av.open(str(path), "w") as file:
        track = file.add_stream("ffv1", rate=25, width=128, height=96)
        track.pix_fmt = "gray"
        for frame in _frames(1500):
            file.mux(track.encode(av.VideoFrame.from_ndarray(frame, format="gray")))
        file.mux(track.encode())
    return path


def _gain(stream: Any, path: Path) -> dict[str, Any]:
    seconds: dict[bool, list[float]] = {False: [], True: []}
    sums = set()
    for _ in range(REPETITIONS):
        for prefetch, times in seconds.items():
            _put_out_of_cache(path)
            model = RobustOnlineNMF(K, random_state=0)
            begin = time.perf_counter()
            model.fit_stream(stream, batch_size=BATCH, prefetch=prefetch)
            times.append(time.perf_counter() - begin)
            sums.add(model.components_.tobytes())
    begin = time.perf_counter()
    _put_out_of_cache(path)
    n = sum(len(batch.X) for batch in stream.batches(BATCH))
    return {
        "n_samples": n,
        "reading": time.perf_counter() - begin,
        "without": min(seconds[False]),
        "with": min(seconds[True]),
        "gain": min(seconds[False]) / min(seconds[True]),
        "same": len(sums) == 1,
    }


def _put_out_of_cache(path: Path) -> None:
    if not hasattr(os, "posix_fadvise"):
        return
    for file in path.iterdir() if path.is_dir() else [path]:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def report(result: dict[str, Any]) -> str:
    """Return a line for each file."""
    capped = (
        (
            name,
            number(row["bytes"] / GB),
            number(row["cap"] / GB),
            number(row["private"] / GB),
            f"{row['n_samples']:,}",
            number(row["seconds"], ".0f"),
            "met" if row["met"] else "NOT MET",
        )
        for name, row in result["capped"].items()
    )
    gains = (
        (
            name,
            number(row["reading"]),
            number(row["without"]),
            number(row["with"]),
            number(row["gain"]),
            "same" if row["same"] else "OTHER",
            "met" if row["same"] and row["gain"] > 1.0 else "NOT MET",
        )
        for name, row in result["gains"].items()
    )
    heads = ("file", "GB", "cap, GB", "private memory, GB", "samples", "s", "")
    return "\n\n".join(
        [
            table(heads, capped),
            table(
                ("read ahead", "reading alone, s", "without, s", "with, s", "gain", "result", ""),
                gains,
            ),
        ]
    )


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the memory of the large fits, and for which files reading ahead is faster."""
    found = [
        Finding(
            f"A fit of {row['bytes'] / GB:.1f} GB ({name}) has {row['private'] / GB:.2f} GB of "
            f"private memory, where {row['cap'] / GB:.0f} GB are allowed.",
            row["private"] < row["cap"] < row["bytes"],
        )
        for name, row in result["capped"].items()
    ]
    gains = result["gains"]
    figures = ", ".join(f"{row['gain']:.2f} ({name})" for name, row in gains.items())
    faster = sum(row["gain"] > 1.0 for row in gains.values())
    sentence = (
        f"Time without reading ahead over that with it: {figures}; it is faster for {faster} of "
        f"{len(gains)} kinds of files, and the result is the same for all."
    )
    return [*found, Finding(sentence, all(row["same"] for row in gains.values()))]
