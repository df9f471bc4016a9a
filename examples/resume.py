"""Resume an interrupted fit from its checkpoint.

    python examples/resume.py [--output FOLDER]

A fit of a stream is interrupted in its second pass. A new estimator resumes from the folder of
checkpoints, and ends with the same components as an uninterrupted fit, bit for bit. Draws
``resume.png``: the loss on held-out samples, also for a fit that restarts from zero.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

from thalweg import RobustOnlineNMF, checkpoint, streams, synthetic

mpl.use("Agg")
from matplotlib import pyplot as plt

SAMPLES, HELD_OUT, FEATURES, RANK = 600, 300, 60, 5
BATCH, EPOCHS, EVERY = 25, 2, 4  # EVERY: batches between checkpoints
CUT = 700  # samples processed before the interruption
INK, BLUE, RED, SOFT = "#22303c", "#1b6ca8", "#d1495b", "#9aa7b2"


class PowerCut(Exception):  # noqa: N818 - not an error
    """Interrupt the run."""


class Run(NamedTuple):
    """A fit: samples processed and held-out loss after each batch, and the components."""

    processed: list[int]
    losses: list[float]
    components: Any


def learn(X: Any, test: Any, *, until: int | None = None, **options: Any) -> Run:
    """Fit a new estimator to the stream, and record the loss after each batch."""
    model = RobustOnlineNMF(RANK, outlier_weight=0.2, random_state=0)
    stream = streams.Shuffled(streams.open(X), buffer=200, seed=1)
    processed, losses = [], []

    def note(position: Any) -> None:
        processed.append(position.epoch * len(X) + position.sample)
        losses.append(-model.score(test))
        if processed[-1] == until:
            raise PowerCut

    try:
        model.fit_stream(stream, epochs=EPOCHS, batch_size=BATCH, callback=note, **options)
    except PowerCut:
        print(f"interrupted after {processed[-1]} samples of {EPOCHS * len(X)}")
    return Run(processed, losses, model.components_)


def compare(X: Any, test: Any, folder: Path) -> dict[str, Run]:
    """Return an uninterrupted fit, and both parts of an interrupted one."""
    keeper = checkpoint.Keeper(folder, every=EVERY)
    first = learn(X, test, until=CUT, checkpoint=keeper)
    kept = checkpoint.read_manifest(checkpoint.latest(folder))
    print(f"newest checkpoint: {kept.estimator}, position {kept.position}")
    return {
        "uninterrupted": learn(X, test),
        "until the interruption": first,
        "resumed": learn(X, test, checkpoint=keeper, resume=True),
    }


def draw(runs: dict[str, Run], picture: Path) -> None:
    """Draw the loss against the samples processed; a restart from zero wastes the first CUT."""
    straight, first, resumed = runs.values()
    fig, ax = plt.subplots(figsize=(10, 5.2), layout="constrained")
    ax.plot(straight.processed, straight.losses, color=SOFT, lw=9, alpha=0.5, label="uninterrupted")
    ax.plot(first.processed, first.losses, color=BLUE, lw=2.4, label="until the interruption")
    ax.plot(resumed.processed, resumed.losses, color=RED, lw=2.4, label="resumed")
    restarted = [CUT + n for n in straight.processed]
    ax.plot(restarted, straight.losses, color=INK, lw=1.4, ls=":", label="restarted")
    ax.axvline(CUT, color=INK, lw=1.0, ls=(0, (3, 3)))
    ax.set_ylim(0.95 * min(straight.losses), 1.35 * min(straight.losses))
    ax.set_xlim(0, straight.processed[-1] + BATCH)
    ax.set_xlabel("processed samples", fontsize=13)
    ax.set_ylabel("held-out loss", fontsize=13)
    ax.annotate(
        "interruption ", (CUT, ax.get_ylim()[1]), ha="right", va="top", fontsize=13, color=INK
    )
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=12, frameon=False)
    fig.savefig(picture, dpi=85)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[str, Run]:
    """Fit with and without an interruption, compare, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    data = synthetic.nmf_with_outliers(SAMPLES + HELD_OUT, FEATURES, RANK, random_state=0).X
    with tempfile.TemporaryDirectory() as folder:
        runs = compare(data[:SAMPLES], data[SAMPLES:], Path(folder))
    straight, _, resumed = runs.values()
    print(f"resumed, finished after {resumed.processed[-1]} samples")
    print("components identical:", np.array_equal(resumed.components, straight.components))
    options.output.mkdir(parents=True, exist_ok=True)
    draw(runs, options.output / "resume.png")
    print(f"picture: {options.output / 'resume.png'}")
    return runs


if __name__ == "__main__":
    main()
