"""[R] Fig. 11: faces recognised by their codes, against the number of components.

Figure
    [R] Fig. 11, on ORL. Fig. 10 has CBCL, whose images come without names here.
Data
    ``orl_32x32.npz`` in the folder THALWEG_DATA: 400 faces of 40 people, divided by 255. Of each
    person 3, 5 or 7 images, drawn at random, are learned from; the others are recognised.
Settings
    The protocol is that of ``examples/recognition.py``: K = 10 to 50 in steps of 10 ([R]: to 150;
    10 and 30, and 3 images, with ``--quick``), two passes, one random start for all methods,
    codes by least squares, the nearest code. OR-NMF: all samples in the buffer; MOR-NMF: 20;
    WOR-NMF, OMF, OMF-DA and INMF: 20 samples at a time; ONMF: K. *PCA* and the *pixels*
    themselves, which are not in the paper. 10 trials (1 with ``--quick``).
Measure
    Share of the other images that are recognised, mean and deviation over trials.
Claim
    OR-NMF and MOR-NMF are each ahead of OMF, OMF-DA, ONMF and INMF, for every K and number of
    images; OR-NMF, MOR-NMF and WOR-NMF with no K more than 0.02 below a smaller one.
Note
    OR-NMF is behind MOR-NMF, and so behind OMF: with all samples in the buffer it never leaves the
    codes of its first, poor components behind, with 20 it does; the differences to OMF and OMF-DA
    are mostly within the deviation over trials.
Picture
    ``docs/images/recognition.png`` (``results/quick/`` with ``--quick``).
"""

from typing import Any

from benchmarks import _threads
from benchmarks._data import located
from benchmarks._examples import example
from benchmarks._table import table
from benchmarks._trackers import picture

RANKS = (10, 20, 30, 40, 50)
OURS, STEADY = ("OR-NMF", "MOR-NMF"), ("OR-NMF", "MOR-NMF", "WOR-NMF")
RIVALS = ("OMF", "OMF-DA", "ONMF", "INMF")
FALL = 0.02


def run(quick: bool) -> dict[str, Any]:
    """Learn and recognise with every method, and draw."""
    faces = example("recognition")
    X, labels = faces.load(located("orl_32x32.npz"))
    amounts, ranks, trials = (
        (faces.LEARNED[:1], RANKS[:3:2], 1) if quick else (faces.LEARNED, RANKS, 10)
    )
    with _threads.limit(1):
        raw = {learned: faces.by_pixels(X, labels, learned, trials) for learned in amounts}
        scores = {
            (learned, name, rank): faces.recognise(X, labels, name, rank, learned, trials)
            for learned in amounts
            for name in faces.METHODS
            for rank in ranks
        }
    faces.draw(scores, raw, picture("recognition", quick))
    return {
        "trials": trials,
        "ranks": ranks,
        "pixels": {learned: score.mean for learned, score in raw.items()},
        "scores": {
            learned: {
                name: [scores[learned, name, rank]._asdict() for rank in ranks]
                for name in faces.METHODS
            }
            for learned in amounts
        },
    }


def report(result: dict[str, Any]) -> str:
    """Return a table for each number of images, and the claims."""
    parts, ahead, steady = [], {name: [] for name in OURS}, []
    heads = tuple(f"K = {rank}" for rank in result["ranks"])
    for learned, scores in result["scores"].items():
        means = {name: [cell["mean"] for cell in cells] for name, cells in scores.items()}
        rows = [
            (name, *(f"{cell['mean']:.3f} +- {cell['deviation']:.3f}" for cell in cells))
            for name, cells in scores.items()
        ]
        pixels = f"pixels {result['pixels'][learned]:.3f}"
        parts.append(f"{table((f'{learned} images', *heads), rows)}\n{pixels}\n")
        for name in OURS:
            ahead[name] += [
                own >= max(means[rival][i] for rival in RIVALS) for i, own in enumerate(means[name])
            ]
        steady += [
            own >= max(means[name][: i + 1]) - FALL
            for name in STEADY
            for i, own in enumerate(means[name])
            if i
        ]
    parts += [
        f"{name} ahead of {', '.join(RIVALS)}: {sum(held)} of {len(held)} met"
        for name, held in ahead.items()
    ]
    parts.append(f"no more than {FALL:g} below a smaller K: {sum(steady)} of {len(steady)} met")
    return "\n".join(parts)
