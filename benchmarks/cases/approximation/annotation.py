"""[R] Fig. 12, Table III: keywords of images by the codes of their features, on other images.

Figure
    [R] Fig. 12 (accuracy, recall and normalised score against the number of components), and
    Table III (keywords that OR-NMF finds for five images, beside the true ones).
Data
    The features of IAPR TC12 are not available here. As in ``examples/annotation.py``: 302 tiles of
    7 x 7 pixels of Indian Pines (``indian_pines.npz`` in the folder THALWEG_DATA), their land
    covers as keywords (16, of which a tile has 1.26), and two features of 200 numbers: mean and
    standard deviation of the spectra. Half of the tiles, drawn at random, are learned from.
Settings
    The protocol of the example: K = 5, 10, 20, 40 and 80 (10 and 40 with ``--quick``), two
    passes, in each trial one point of the simplex at which all methods begin, codes by least
    squares; two keywords ([R]: five, of 4.7) by the JEC transfer. OR-NMF: all samples in the
    buffer; MOR-NMF: min(ceil(n / 10), 20) = 16, the rule of II-C; WOR-NMF, OMF, OMF-DA and INMF:
    10 samples at a time; ONMF: K. *features*: the transfer without any components. 5 trials (2
    with ``--quick``). Table III: the first five tiles of the first trial, K = 40.
Measures
    AC = r / (r + w), RC = r / n and NS = r / n - w / (N - n), for r right and w wrong keywords of
    an image that has n of N; means over images and trials.
Claim
    OR-NMF and WOR-NMF are ahead of ONMF, INMF, OMF and OMF-DA, for every K and measure, and
    MOR-NMF is behind OR-NMF.
Note
    151 tiles are few, and the codes of the first components count to the end in a buffer of all.
    Other images, features and keywords than those of [R] allow no more than a look at the order.
Picture
    ``docs/images/annotation.png`` (``results/quick/`` with ``--quick``).
"""

from pathlib import Path
from typing import Any

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.data import located
from benchmarks.shared.examples import example
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import table

RANKS, TRIALS = (5, 10, 20, 40, 80), 5
SHOWN, SHOWN_RANK = 5, 40  # tiles of Table III, and components
OURS, BASELINES = ("OR-NMF", "WOR-NMF"), ("ONMF", "INMF", "OMF", "OMF-DA")
MEASURES = {"accuracy": "AC", "recall": "RC", "normalised": "NS"}
# the land covers of Indian Pines, in the order of their labels
COVERS = (
    "alfalfa", "corn, no till", "corn, min till", "corn", "grass, pasture", "grass, trees",
    "grass, mown", "hay", "oats", "soybean, no till", "soybean, min till", "soybean, clean",
    "wheat", "woods", "buildings and trees", "stone and steel towers",
)  # fmt: skip
COLOURS = {
    "OR-NMF": "#1b6ca8", "MOR-NMF": "#5aa9e6", "WOR-NMF": "#0b3954", "OMF": "#d1495b",
    "OMF-DA": "#e09f3e", "ONMF": "#2e933c", "INMF": "#7a7a7a",
}  # fmt: skip


def run(quick: bool) -> dict[str, Any]:
    """Learn and annotate with every method, and draw."""
    module = example("annotation")
    tiles = module.load(located("indian_pines.npz"))
    ranks, trials = (RANKS[1:4:2], 2) if quick else (RANKS, TRIALS)
    with blas_threads.limit(1):
        scores = {
            name: [module.annotate(tiles, name, rank, trials)._asdict() for rank in ranks]
            for name in module.METHODS
        }
        features = module.annotate(tiles, None, 0, trials)._asdict()
        shown = _keywords(*module.keywords(tiles, "OR-NMF", SHOWN_RANK, 0))
    result = {
        "trials": trials, "ranks": ranks, "scores": scores, "features": features, "shown": shown,
    }  # fmt: skip
    _draw(result, picture("annotation", quick))
    return result


def _keywords(found: Any, true: Any) -> dict[str, Any]:
    """Return the keywords of the first tiles, and of how many tiles all were found."""

    def words(row: Any) -> list[str]:
        return [cover for cover, has in zip(COVERS, row, strict=True) if has]

    pairs = zip(found[:SHOWN], true[:SHOWN], strict=True)
    return {
        "tiles": [{"found": words(one), "true": words(other)} for one, other in pairs],
        "complete": int((found | ~true).all(axis=1).sum()),
        "of": len(true),
    }


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
            cell[measure] >= max(scores[baseline][i][measure] for baseline in BASELINES)
            for i, cell in enumerate(scores[name])
            for measure in MEASURES
        ]
        lines.append(f"{name} ahead of {', '.join(BASELINES)}: {sum(held)} of {len(held)} met")
    behind = [
        cell[measure] <= scores["OR-NMF"][i][measure]
        for i, cell in enumerate(scores["MOR-NMF"])
        for measure in MEASURES
    ]
    lines.append(f"MOR-NMF behind OR-NMF: {sum(behind)} of {len(behind)} met")
    tiles = [(", ".join(t["found"]), ", ".join(t["true"])) for t in result["shown"]["tiles"]]
    lines.append(f"\n{table(('found by OR-NMF', 'on the ground'), tiles)}")
    return "\n".join(lines)


def _cell(scores: dict[str, float]) -> str:
    return " ".join(f"{scores[measure]:.3f}" for measure in MEASURES)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return who is ahead, by the normalised score, and how many tiles have all keywords."""
    scores, ranks = result["scores"], result["ranks"]
    ns = {name: [cell["normalised"] for cell in cells] for name, cells in scores.items()}
    best = [max(ns, key=lambda name: ns[name][i]) for i in range(len(ranks))]
    over = sum(mor > all_ for mor, all_ in zip(ns["MOR-NMF"], ns["OR-NMF"], strict=True))
    last = sum(ns["ONMF"][i] == min(own[i] for own in ns.values()) for i in range(len(ranks)))
    shown = result["shown"]
    leaders = ", ".join(f"{name} for K = {rank}" for name, rank in zip(best, ranks, strict=True))
    return [
        Finding(
            f"The best normalised scores are those of {leaders}.",
            all(ns[name][i] >= max(own[i] for own in ns.values()) for i, name in enumerate(best)),
        ),
        Finding(
            f"MOR-NMF is ahead of OR-NMF for {over} of {len(ranks)} K, where [R] has it behind.",
            0 < over <= len(ranks),
        ),
        Finding(
            f"With K = {ranks[-1]} the normalised scores of OR-NMF, MOR-NMF and WOR-NMF are "
            "above those of INMF, OMF and OMF-DA, as in [R].",
            min(ns[name][-1] for name in ("OR-NMF", "MOR-NMF", "WOR-NMF"))
            > max(ns[name][-1] for name in ("INMF", "OMF", "OMF-DA")),
        ),
        Finding(
            f"ONMF has the lowest normalised score for {last} of {len(ranks)} K.",
            0 <= last <= len(ranks),
        ),
        Finding(
            f"Table III: OR-NMF with K = {SHOWN_RANK} finds all keywords of {shown['complete']} of "
            f"{shown['of']} tiles in the first trial.",
            0 <= shown["complete"] <= shown["of"],
        ),
    ]
