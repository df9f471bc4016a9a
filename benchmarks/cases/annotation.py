"""[R] Fig. 12: keywords of images by the codes of their features, on other images.

Figure
    [R] Fig. 12 (accuracy, recall and normalised score against the number of components).
Data
    The features of IAPR TC12 are not at hand. As in ``examples/annotation.py``: 302 tiles of
    7 x 7 pixels of Indian Pines (``indian_pines.npz`` in the folder THALWEG_DATA), their land
    covers as keywords (16, of which a tile has 1.26), and two features of 200 numbers: mean and
    standard deviation of the spectra. Half of the tiles, drawn at random, are learned from.
Settings
    The protocol of the example: K = 5, 10, 20, 40 and 80 (10 and 40 with ``--quick``), two
    passes, one random start for all, codes by least squares; two keywords ([R]: five, of 4.7) by
    the JEC transfer. OR-NMF: all samples in the buffer; MOR-NMF: 20; WOR-NMF, OMF, OMF-DA and
    INMF: 10 samples at a time; ONMF: K. *features*: the transfer without any components.
    10 trials (2 with ``--quick``).
Measures
    AC = r / (r + w), RC = r / n and NS = r / n - w / (N - n), for r right and w wrong keywords of
    an image that has n of N; means over images and trials.
Claim
    OR-NMF and WOR-NMF are ahead of ONMF, INMF, OMF and OMF-DA, for every K and measure, and
    MOR-NMF is behind OR-NMF.
Note
    MOR-NMF is ahead of OR-NMF, as in ``recognition``: 151 tiles are few, and the codes of the first
    components count to the end in a buffer of all. Other images, features and keywords than those
    of [R] allow no more than a look at the order, in which only ONMF is where [R] has it.
Picture
    ``docs/images/annotation.png`` (``results/quick/`` with ``--quick``).
"""

from pathlib import Path
from typing import Any

from benchmarks import _threads
from benchmarks._data import located
from benchmarks._examples import example
from benchmarks._table import table
from benchmarks._trackers import picture

RANKS, TRIALS = (5, 10, 20, 40, 80), 10
OURS, RIVALS = ("OR-NMF", "WOR-NMF"), ("ONMF", "INMF", "OMF", "OMF-DA")
MEASURES = {"accuracy": "AC", "recall": "RC", "normalised": "NS"}
COLOURS = {
    "OR-NMF": "#1b6ca8", "MOR-NMF": "#5aa9e6", "WOR-NMF": "#0b3954", "OMF": "#d1495b",
    "OMF-DA": "#e09f3e", "ONMF": "#2e933c", "INMF": "#7a7a7a",
}  # fmt: skip


def run(quick: bool) -> dict[str, Any]:
    """Learn and annotate with every method, and draw."""
    module = example("annotation")
    tiles = module.load(located("indian_pines.npz"))
    ranks, trials = (RANKS[1:4:2], 2) if quick else (RANKS, TRIALS)
    with _threads.limit(1):
        scores = {
            name: [module.annotate(tiles, name, rank, trials)._asdict() for rank in ranks]
            for name in module.METHODS
        }
        features = module.annotate(tiles, None, 0, trials)._asdict()
    result = {"trials": trials, "ranks": ranks, "scores": scores, "features": features}
    _draw(result, picture("annotation", quick))
    return result


def _draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["font.size"] = 12
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.7), layout="constrained")
    for ax, (measure, short) in zip(axes, MEASURES.items(), strict=True):
        for name, cells in result["scores"].items():
            values = [cell[measure] for cell in cells]
            ax.semilogx(result["ranks"], values, "o-", ms=4, color=COLOURS[name], label=name)
        ax.axhline(result["features"][measure], color="#222a33", ls=":", lw=1.2, label="features")
        ax.set_xticks(result["ranks"], [str(rank) for rank in result["ranks"]])
        ax.minorticks_off()
        ax.set(xlabel="components", title=f"{measure} ({short})")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=8, frameon=False)
    figure.savefig(path, dpi=85)
    plt.close(figure)


def report(result: dict[str, Any]) -> str:
    """Return all measures of everyone, and the claims."""
    scores = {**result["scores"]}
    heads = (" / ".join(MEASURES.values()), *(f"K = {rank}" for rank in result["ranks"]))
    rows = [(name, *(_cell(cell) for cell in cells)) for name, cells in scores.items()]
    lines = [table(heads, rows), f"features {_cell(result['features'])}"]
    for name in OURS:
        held = [
            cell[measure] >= max(scores[rival][i][measure] for rival in RIVALS)
            for i, cell in enumerate(scores[name])
            for measure in MEASURES
        ]
        lines.append(f"{name} ahead of {', '.join(RIVALS)}: {sum(held)} of {len(held)} met")
    behind = [
        cell[measure] <= scores["OR-NMF"][i][measure]
        for i, cell in enumerate(scores["MOR-NMF"])
        for measure in MEASURES
    ]
    lines.append(f"MOR-NMF behind OR-NMF: {sum(behind)} of {len(behind)} met")
    return "\n".join(lines)


def _cell(scores: dict[str, float]) -> str:
    return " ".join(f"{scores[measure]:.3f}" for measure in MEASURES)
