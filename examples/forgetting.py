"""Choose a forgetting factor: error of a tracker against its half-life on a rotating subspace.

    python examples/forgetting.py [--output FOLDER]

A long memory averages out the noise, a short one follows the rotation. The best half-life lies in
between, and is shorter for a faster rotation. Draws ``forgetting.png``.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from thalweg import PetrelsADMM, half_life, metrics, synthetic

mpl.use("Agg")
from matplotlib import pyplot as plt

SAMPLES, FEATURES, RANK, EVERY = 3000, 40, 3, 50
TURNS = {"still": 0.0, "slow": 3e-5, "fast": 3e-4}  # radians per sample
LIVES = (20, 40, 80, 160, 320, 640, 1280, 5000)
COLOURS = {"still": "#1b6ca8", "slow": "#c9910d", "fast": "#d1495b"}


def error(stream: synthetic.SubspaceStream, life: int) -> float:
    """Return the median SEP over the second half of the stream."""
    model = PetrelsADMM(RANK, forgetting=half_life(life), on_jump="note", random_state=0)
    found = []
    for start in range(0, len(stream.X), EVERY):
        model.partial_fit(stream.X[start : start + EVERY])
        truth = stream.basis_at(model.n_samples_seen_ - 1)
        found.append(metrics.sep(model.components_, truth.T))
    return float(np.median(found[len(found) // 2 :]))


def draw(errors: dict[str, Any], picture: Path) -> None:
    """Draw a curve for each speed, and mark its lowest point."""
    fig, ax = plt.subplots(figsize=(9.4, 5.2), layout="constrained")
    for name, curve in errors.items():
        best = int(np.argmin(curve))
        ax.loglog(LIVES, curve, "o-", color=COLOURS[name], lw=2)
        ax.plot(LIVES[best], curve[best], "o", ms=13, mfc="none", mew=2, color=COLOURS[name])
        ax.annotate(f"  {name}", (LIVES[-1], curve[-1]), color=COLOURS[name], va="center",
                    fontsize=13)  # fmt: skip
    ax.set_xlim(LIVES[0] * 0.8, LIVES[-1] * 1.9)
    ax.set_xlabel("half-life, samples", fontsize=12)
    ax.set_ylabel("error of the subspace (SEP)", fontsize=12)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.3)
    fig.savefig(picture, dpi=85)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Track streams of three speeds with each half-life, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    errors = {}
    for name, turn in TURNS.items():
        stream = synthetic.subspace_stream(
            SAMPLES, FEATURES, RANK, missing=0.1, outlier_density=0.1, rotation=turn, random_state=0
        )
        errors[name] = [error(stream, life) for life in LIVES]
        best = int(np.argmin(errors[name]))
        print(f"{name:6} best half-life {LIVES[best]:5d}, SEP {errors[name][best]:.1e}")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(errors, options.output / "forgetting.png")
    print(f"picture: {options.output / 'forgetting.png'}")
    return errors


if __name__ == "__main__":
    main()
