"""[R] Fig. 11: faces recognised by their codes, against the number of components.

Figure
    [R] Fig. 11, on ORL. Fig. 10 has CBCL, whose images come without names here.
Data
    ``orl_32x32.npz`` in the folder THALWEG_DATA: 400 faces of 40 people, divided by 255. Of each
    person 3, 5 or 7 images, drawn at random, are learned from; the others are recognised.
Settings
    The protocol is that of ``examples/recognition.py``: K = 10, 40, 80 and 150 ([R]: 10 to 150 in
    steps of 10; 10 and 40, and 3 images, with ``--quick``), two passes, in each trial one point
    of the simplex at which all methods begin, codes by least squares, the nearest code. OR-NMF:
    all samples in the buffer; MOR-NMF: min(ceil(n / 10), 20), the rule of II-C, which is 12 for
    3 images and 20 for 5 and 7; WOR-NMF, OMF, OMF-DA and INMF: 20 samples at a time; ONMF: K.
    *PCA*, with at most as many components as images, and the *pixels* themselves, which are not
    in the paper. 7 trials ([R]: 10; 1 with ``--quick``).
Measure
    Share of the other images that are recognised, mean and deviation over trials.
Claim
    OR-NMF and MOR-NMF are each ahead of OMF, OMF-DA, ONMF and INMF, for every K and number of
    images. That OR-NMF, MOR-NMF and WOR-NMF are robust, with no K more than 0.02 below a smaller
    one, orders no methods and is not counted among these claims.
Note
    With all samples in its buffer, OR-NMF keeps the codes of its first, poor components to the
    end; with a small buffer it discards them.
Picture
    ``docs/images/recognition.png`` (``results/quick/`` with ``--quick``).
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.data import located
from benchmarks.shared.examples import example
from benchmarks.shared.partial import Partial
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import table

RANKS, TRIALS = (10, 40, 80, 150), 7
OURS, STEADY = ("OR-NMF", "MOR-NMF"), ("OR-NMF", "MOR-NMF", "WOR-NMF")
BASELINES = ("OMF", "OMF-DA", "ONMF", "INMF")
FALL = 0.02
SETTLED = 2.0  # standard errors of a mean difference


def run(quick: bool) -> dict[str, Any]:
    """Learn and recognise with every method, and draw."""
    faces = example("recognition")
    X, labels = faces.load(located("orl_32x32.npz"))
    amounts, ranks, trials = (
        (faces.LEARNED[:1], RANKS[:2], 1) if quick else (faces.LEARNED, RANKS, TRIALS)
    )
    cells = [
        (learned, name, rank) for learned in amounts for name in faces.METHODS for rank in ranks
    ]
    shares: dict[tuple[int, str, int], list[float]] = {cell: [] for cell in cells}
    kept = Partial("recognition_quick" if quick else "recognition")
    with blas_threads.limit(1):
        raw = {learned: faces.by_pixels(X, labels, learned, trials) for learned in amounts}
        for trial in range(trials):
            for learned, name, rank in cells:
                compute = partial(faces.once, X, labels, name, rank, learned, trial)
                share = kept.run(f"{learned} images, {name}, K = {rank}, trial {trial}", compute)
                shares[learned, name, rank].append(share)
    scores = {cell: faces.Score(tuple(own), 0.0) for cell, own in shares.items()}
    faces.draw(scores, raw, picture("recognition", quick))
    return {
        "trials": trials,
        "ranks": ranks,
        "pixels": {learned: score.mean for learned, score in raw.items()},
        "scores": {
            learned: {
                name: [_figures(scores[learned, name, rank]) for rank in ranks]
                for name in faces.METHODS
            }
            for learned in amounts
        },
    }


def _figures(score: Any) -> dict[str, Any]:
    return {"shares": score.shares, "mean": score.mean, "deviation": score.deviation}


def report(result: dict[str, Any]) -> str:
    """Return a table for each number of images, and the claims."""
    parts = []
    heads = tuple(f"K = {rank}" for rank in result["ranks"])
    for learned, scores in result["scores"].items():
        rows = [
            (name, *(f"{cell['mean']:.3f} +- {cell['deviation']:.3f}" for cell in cells))
            for name, cells in scores.items()
        ]
        pixels = f"pixels {result['pixels'][learned]:.3f}"
        parts.append(f"{table((f'{learned} images', *heads), rows)}\n{pixels}\n")
    for name in OURS:
        held = [_ahead(means, name, i) for means, i in _cells(result)]
        parts.append(f"{name} ahead of {', '.join(BASELINES)}: {sum(held)} of {len(held)} met")
    fell, cells = _falls(result)
    parts.append(f"more than {FALL:g} below a smaller K (no claim of order): {fell} of {cells}")
    return "\n".join(parts)


def _cells(result: dict[str, Any]) -> Iterator[tuple[dict[str, list[float]], int]]:
    """Yield the means of all methods for each number of images, and the place of each K."""
    for scores in result["scores"].values():
        means = {name: [cell["mean"] for cell in cells] for name, cells in scores.items()}
        for i in range(len(result["ranks"])):
            yield means, i


def _ahead(means: dict[str, list[float]], name: str, i: int) -> bool:
    return means[name][i] >= max(means[baseline][i] for baseline in BASELINES)


def _falls(result: dict[str, Any]) -> tuple[int, int]:
    """Return in how many cells of OR-NMF and its variants accuracy is below a smaller K's."""
    fell = [
        means[name][i] < max(means[name][:i]) - FALL
        for means, i in _cells(result)
        for name in STEADY
        if i
    ]
    return sum(fell), len(fell)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return whose order is settled, and whether accuracy falls with K."""
    cells = list(_cells(result))
    fell, of = _falls(result)
    pixels = result["pixels"].values()
    top = [max(c["mean"] for own in s.values() for c in own) for s in result["scores"].values()]
    return [
        *(_settled(result, name, BASELINES) for name in OURS),
        Finding(
            f"OR-NMF is below MOR-NMF in all {len(cells)} cells.",
            all(means["OR-NMF"][i] < means["MOR-NMF"][i] for means, i in cells),
        ),
        _onmf(result),
        Finding(
            f"{', '.join(STEADY)} are more than {FALL:g} below a smaller K in {fell} of {of} "
            "cells, where [R] has none.",
            fell > 0,
        ),
        Finding(
            f"The pixels themselves recognise {_listed(pixels)} with {_numbers(result['scores'])} "
            f"images, the best of all codes {_listed(top)}.",
            list(result["scores"]) == list(result["pixels"]),
        ),
    ]


def _settled(result: dict[str, Any], name: str, others: tuple[str, ...]) -> Finding:
    """Count in how many cells the order of two methods is settled, by paired differences."""
    parts, most = [], 0.0
    for other in others:
        ahead = behind = every = 0
        for scores in result["scores"].values():
            for ours, theirs in zip(scores[name], scores[other], strict=True):
                gain = np.subtract(ours["shares"], theirs["shares"])
                error = float(np.std(gain, ddof=1)) / len(gain) ** 0.5
                ahead += bool(gain.mean() > SETTLED * error)
                behind += bool(gain.mean() < -SETTLED * error)
                every += 1
                most = max(most, error)
        parts.append(f"ahead of {other} in {ahead}, behind in {behind}")
    return Finding(
        f"{name}, over {result['trials']} trials with the same images and initial components, of "
        f"{every} cells: {'; '.join(parts)}. In the others the mean difference is within "
        f"{SETTLED:g} standard errors (one is at most {most:.3f}), and the order is not settled.",
        len(parts) == len(others) and every == len(list(_cells(result))),
    )


def _onmf(result: dict[str, Any]) -> Finding:
    """Compare ONMF with the others for the smallest and the largest K."""
    tables = [
        {name: [cell["mean"] for cell in cells] for name, cells in scores.items() if name != "PCA"}
        for scores in result["scores"].values()
    ]
    ranks = result["ranks"]
    lowest = all(min(m[name][0] for name in m) == m["ONMF"][0] for m in tables)
    highest = all(max(m[name][-1] for name in m) == m["ONMF"][-1] for m in tables)
    return Finding(
        f"With K = {ranks[0]} ONMF is below all other methods, by far; with K = {ranks[-1]} it is "
        "at or above all other online methods, where [R] has it fall.",
        lowest and highest,
    )


def _listed(shares: Any) -> str:
    return ", ".join(f"{share:.3f}" for share in shares)


def _numbers(counts: Any) -> str:
    *first, last = counts
    return f"{', '.join(map(str, first))} and {last}" if first else str(last)
