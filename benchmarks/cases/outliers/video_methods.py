"""[O] Table III and Fig. 9, [T] Fig. 16: people removed from two films, and the time per frame.

Table
    [O] III: running times. The papers show the frames and rate them by eye; here they are rated
    by the frames on which people were outlined by hand.
Data
    The hall and the buffet of the I2R set in the folder that ``THALWEG_DATA`` names, as
    ``examples/track_video.py`` takes them: ``i2r_hall``, 44 frames of 144 x 176 (the paper: 200),
    and ``i2r_bootstrap_half``, 1019 frames of 60 x 80 (200 with ``--quick``), 20 frames of each
    outlined. The escalator of [O] and the other films of [T] are not available here.
Settings
    Rank of the background 1 in the hall and 2 at the buffet, as in the example, for all ([O]: 49;
    [T] does not state it). *RobustOnlineNMF*: default parameters; *OPGD*, *OADMM*: those of [O],
    with the outlier weight 1/sqrt(F) and the bound 1, and with the weight from the noise (*auto*);
    *ONMF*: the OR-NMF of Guan et al. These make 10 passes over the frames in random order in the
    hall, as in [O], and 2 at the buffet, which are the 2000 frames of [O] (1 with ``--quick``).
    *RobustNMF*: the batch method with default parameters; *BPGD*, *BADMM*: the batch methods of
    [O]. All three end after 200 rounds, or a round that lowers the objective by less than 1e-4,
    whether or not they have converged by then. *PetrelsADMM*, *PetrelsCFAR*, *Grasta*, *ReProCS*,
    *OnlineRobustPCA*: defaults, one pass in the order of the frames. *median frame*: of the
    whole film. One BLAS thread.
Measure
    F-measure of the pixels that differ from the background by more than 0.1 after a median
    filter of 3 x 3, against the outlines; background by ``decompose`` of the outlined frames.
    Milliseconds of processor time of the fit for each frame of the film, all passes together.
Claims
    On both films RobustOnlineNMF is at least at the F-measure of ONMF and of OnlineRobustPCA,
    at most 0.02 below RobustNMF, and takes less time; OPGD and OADMM are at most 0.02 below
    their batch counterparts; PetrelsADMM at most 0.02 below Grasta and PetrelsCFAR ("competitive"
    in [T]).
Note
    With 1/sqrt(F), 0.006 in the hall, the residual that moves the codes of OPGD and OADMM is
    clipped at such a small value that 50 steps end far from the brightness of the scene.
Picture
    ``docs/images/video_methods.png`` (``results/quick/`` with ``--quick``): one outlined frame
    of each film, the background that each method finds, and its mask.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.data import located
from benchmarks.shared.examples import example
from benchmarks.shared.mosaic import compact
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import number, table
from benchmarks.shared.trackers import estimator, there
from thalweg import ORNMF, RobustNMF, RobustOnlineNMF

PASSES, NEAR = {"hall": 10, "buffet": 2}, 0.02
TRACKERS = ("PetrelsADMM", "PetrelsCFAR", "Grasta", "ReProCS", "OnlineRobustPCA")
MEDIAN = "median frame"
# A method of this library, another method, and by how much the first may be below it.
CLAIMS = (
    ("RobustOnlineNMF", "ONMF", 0.0),
    ("RobustOnlineNMF", "OnlineRobustPCA", 0.0),
    ("RobustOnlineNMF", "RobustNMF", NEAR),
    ("OPGD", "BPGD", NEAR),
    ("OADMM", "BADMM", NEAR),
    ("PetrelsADMM", "Grasta", NEAR),
    ("PetrelsADMM", "PetrelsCFAR", NEAR),
)


def run(quick: bool) -> dict[str, Any]:
    """Take both films apart by every method, and draw."""
    track_video = example("track_video")
    films, found = {}, {}
    with blas_threads.limit(1):
        for name, (file, rank, _) in track_video.SCENES.items():
            film = track_video.load(located(file))
            film = film._replace(frames=film.frames[:200]) if quick else film
            films[name], found[name] = film, {}
            models = _models(rank, film.frames.shape[1], 1 if quick else PASSES[name])
            for method, model in models.items():
                found[name][method] = _rate(track_video, film, model)
            median = np.median(film.frames, axis=0)[None]
            found[name][MEDIAN] = track_video.judge(film, median)
    _draw(track_video, films, found, picture("video_methods", quick))
    return {
        name: {
            "frames": len(films[name].frames),
            "shape": films[name].shape,
            "methods": {
                method: {**own.scores._asdict(), "milliseconds": own.milliseconds}
                for method, own in methods.items()
            },
        }
        for name, methods in found.items()
    }


def _models(rank: int, n_features: int, passes: int) -> dict[str, Any]:
    paper = {"outlier_weight": n_features**-0.5, "outlier_bound": 1.0, "random_state": 0}
    online: dict[str, Any] = {"epochs": passes, "random_state": 0}
    return {
        "RobustOnlineNMF": RobustOnlineNMF(rank, **online),
        "OPGD": RobustOnlineNMF(rank, solver="pgd", **online | paper),
        "OADMM": RobustOnlineNMF(rank, solver="admm", **online | paper),
        "OPGD, auto": RobustOnlineNMF(rank, solver="pgd", **online),
        "OADMM, auto": RobustOnlineNMF(rank, solver="admm", **online),
        "ONMF": ORNMF(rank, **online),
        "RobustNMF": RobustNMF(rank, random_state=0),
        "BPGD": RobustNMF(rank, solver="pgd", **paper),
        "BADMM": RobustNMF(rank, solver="admm", **paper),
        **{name: estimator(name, rank, random_state=0) for name in there(TRACKERS)},
    }


def _rate(example: Any, film: Any, model: Any) -> Any:
    model.fit(film.frames[:8, :64])  # fills the caches
    begin = time.process_time()
    model.fit(film.frames)
    seconds = time.process_time() - begin
    return example.judge(film, model.decompose(film.outlined).low_rank, seconds)


def _draw(example: Any, films: dict[str, Any], found: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(["#14181f", *example.VERDICTS.values()])
    names = ["frame, outlines", *next(iter(found.values()))]
    lines = -(-len(names) // 2)
    figure, axes = plt.subplots(lines, 8, figsize=(17, 1.45 * lines), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.01, wspace=0.0, hspace=0.0)
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    places = [axes[i % lines, 4 * (i // lines) : 4 * (i // lines) + 4] for i in range(len(names))]
    for name, place in zip(names, places, strict=True):
        for column, (scene, film) in enumerate(films.items()):
            t = example.SCENES[scene][2][0]
            grey, truth = film.outlined[t], film.masks[t]
            mask = truth
            if name in found[scene]:
                own = found[scene][name]
                grey, mask = np.broadcast_to(own.background, film.outlined.shape)[t], own.mask[t]
            judged = np.select([truth & mask, mask, truth], [1, 2, 3]).reshape(film.shape)
            place[2 * column].imshow(grey.reshape(film.shape), cmap="gray", vmin=0, vmax=1)
            place[2 * column + 1].imshow(judged, cmap=colours, vmin=0, vmax=3)
        place[0].set_ylabel(name, fontsize=11, rotation=0, ha="right", va="center", labelpad=8)
    handles = [plt.Rectangle((0, 0), 1, 1, fc=c, ec="#9aa3ad") for c in example.VERDICTS.values()]
    figure.legend(handles, example.VERDICTS, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=70)
    plt.close(figure)
    compact(path, 160)


def report(result: dict[str, Any]) -> str:
    """Return a table for each film, and the claims."""
    lines: list[str] = []
    claims: dict[str, list[bool]] = {}
    for name, film in result.items():
        methods = film["methods"]
        rows = [
            (
                method,
                *(number(row[key], ".3f") for key in ("f1", "precision", "recall")),
                number(row["milliseconds"] or None),
            )
            for method, row in methods.items()
        ]
        heads = (f"{name}, {film['frames']} frames", "F", "precision", "recall", "ms a frame")
        lines += [table(heads, rows), ""]
        for ours, other, gap in CLAIMS:
            claim = f"{ours} {f'at most {gap} below' if gap else 'at least at'} {other}"
            held = methods[ours]["f1"] >= methods[other]["f1"] - gap
            claims.setdefault(claim, []).append(held)
        faster = methods["RobustOnlineNMF"]["milliseconds"] < methods["RobustNMF"]["milliseconds"]
        claims.setdefault("RobustOnlineNMF faster than RobustNMF", []).append(faster)
    words = [f"{claim}: {sum(held)} of {len(held)} met" for claim, held in claims.items()]
    return "\n".join([*lines, *words])


def findings(result: dict[str, Any]) -> list[Finding]:
    """Compare trackers with the median, methods with the default, and printed weights."""
    f1 = {film: {m: row["f1"] for m, row in own["methods"].items()} for film, own in result.items()}
    return [
        _of_the_median(f1),
        _of_the_default(f1),
        *(
            Finding(
                f"{method} with the printed weight 1/sqrt(F): F = {_figures(f1, method)}, below "
                f"{_figures(f1, f'{method}, auto')} with a weight from the noise.",
                _below(f1, method, f"{method}, auto"),
            )
            for method in ("OPGD", "OADMM")
        ),
    ]


def _of_the_median(f1: dict[str, Any]) -> Finding:
    """Return where trackers are below the median of all frames."""
    parts, below = [], []
    for film, own in f1.items():
        figures = ", ".join(f"{name} {own[name]:.3f}" for name in ("PetrelsADMM", "Grasta", MEDIAN))
        parts.append(f"{film}: {figures}")
        below += [film] * (own["PetrelsADMM"] < own[MEDIAN])
    where = f"below the plain {MEDIAN} on {len(below)} of {len(f1)} films"
    named = f" ({', '.join(below)})" if below else ""
    return Finding(f"PetrelsADMM is {where}{named}. F, {'; '.join(parts)}.", len(f1) == len(PASSES))


def _figures(f1: dict[str, Any], method: str) -> str:
    return " and ".join(f"{own[method]:.3f}" for own in f1.values())


def _below(f1: dict[str, Any], one: str, other: str) -> bool:
    return all(own[one] < own[other] for own in f1.values())


def _of_the_default(f1: dict[str, Any]) -> Finding:
    """Return which methods are ahead of RobustOnlineNMF on each film."""
    parts = []
    for film, own in f1.items():
        ahead = [m for m in own if own[m] > own["RobustOnlineNMF"]]
        most = max((own[m] - own["RobustOnlineNMF"] for m in ahead), default=0.0)
        names = ", ".join(ahead) or "none"
        parts.append(f"{film}: {names}" + (f", by up to {most:.3f}" if ahead else ""))
    return Finding(f"Methods ahead of RobustOnlineNMF: {'; '.join(parts)}.", True)
