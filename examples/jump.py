"""Track a subspace that jumps, with gaps and outliers, and draw the error of three trackers."""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

from thalweg import Grasta, OnlineRobustPCA, PetrelsADMM, metrics, synthetic

mpl.use("Agg")
import matplotlib.pyplot as plt

SAMPLES, JUMP, EVERY = 5000, 3000, 32
MISSING, OUTLIERS = 0.3, 0.2
LEVEL = 1e-3  # the jump is over when the SEP stays below this
TRACKERS = {"PETRELS-ADMM": PetrelsADMM, "GRASTA": Grasta, "ORPCA": OnlineRobustPCA}
COLOURS = {"PETRELS-ADMM": "#1b6ca8", "GRASTA": "#d1495b", "ORPCA": "#c9910d"}
INK, SOFT = "#222a33", "#68727d"


class Result(NamedTuple):
    """The course of a tracker."""

    processed: Any  # number of samples
    sep: Any  # error after them
    recovery: int | None  # samples from the jump until the error stays below LEVEL
    drift: Any  # rotation of the estimated subspace, NaN during an initialisation
    jumps: Any  # samples at which a jump was detected


def follow(model: Any, stream: synthetic.SubspaceStream) -> Result:
    """Process the stream in small batches, and compute the error after each."""
    processed, errors, drift = [], [], []
    for start in range(0, len(stream.X), EVERY):
        looks = len(model.drift_) if start else 0
        model.partial_fit(stream.X[start : start + EVERY])
        processed.append(model.n_samples_seen_)
        truth = stream.basis_at(model.n_samples_seen_ - 1)
        errors.append(metrics.sep(model.components_, truth.T))
        drift.append(model.drift_[-1] if len(model.drift_) > looks else np.nan)
    far = [at for at, error in zip(processed, errors, strict=True) if error > LEVEL]
    found = far[-1] < processed[-1]
    recovery = max(far[-1] + EVERY - JUMP, EVERY) if found else None
    return Result(np.array(processed), np.array(errors), recovery, np.array(drift), model.jumps_)


def draw(results: dict[str, Result], picture: Path) -> None:
    """Draw the error above, and the drift and jumps that the tracker detects below."""
    fig, (top, bottom) = plt.subplots(
        2, 1, figsize=(11, 7.6), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    for name, result in results.items():
        wide = 3.0 if name == "PETRELS-ADMM" else 2.0
        top.plot(result.processed, result.sep, color=COLOURS[name], lw=wide)
        label, place = f" {name}", (result.processed[-1], result.sep[-1])
        top.annotate(label, place, color=COLOURS[name], fontsize=14, va="center")
    ours = results["PETRELS-ADMM"]
    bottom.plot(ours.processed, np.degrees(ours.drift), color=COLOURS["PETRELS-ADMM"], lw=2.0)
    for at in ours.jumps:
        bottom.axvline(at, color=COLOURS["PETRELS-ADMM"], lw=1.2)
        bottom.text(at - 40, 0.22, "detected", fontsize=13, color=INK, ha="right")
    for ax in (top, bottom):
        ax.axvline(JUMP, color=SOFT, lw=1.2, ls=(0, (3, 3)), zorder=1)
        ax.set_yscale("log")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=12)
    top.annotate("jump ", (JUMP, top.get_ylim()[1]), ha="right", va="top", fontsize=13)
    top.set_ylabel("error of the subspace (SEP)", fontsize=13)
    bottom.set_yticks([0.03, 0.1, 0.3], ["0.03", "0.1", "0.3"])
    bottom.minorticks_off()
    bottom.set_ylabel("drift, degrees", fontsize=13)
    bottom.set_xlabel("samples", fontsize=13)
    bottom.set_xlim(0, SAMPLES * 1.2)
    bottom.set_xticks(range(0, SAMPLES + 1, 1000))
    fig.savefig(picture, dpi=85)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[str, Result]:
    """Generate a stream, process it with every tracker, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    stream = synthetic.subspace_stream(
        SAMPLES, 50, 2, missing=MISSING, outlier_density=OUTLIERS, jumps=[JUMP], random_state=0
    )
    results = {name: follow(kind(2, random_state=0), stream) for name, kind in TRACKERS.items()}
    print(f"{SAMPLES} samples, {MISSING:.0%} missing, {OUTLIERS:.0%} outliers, a jump at {JUMP}\n")
    print(f"{'':14}{'SEP before':>12}{'at the end':>12}{'recovery, samples':>20}")
    for name, result in results.items():
        before, after = result.sep[JUMP // EVERY - 1], result.sep[-1]
        print(f"{name:14}{before:12.1e}{after:12.1e}{result.recovery or 'never':>20}")
    for at in results["PETRELS-ADMM"].jumps:
        print(f"\nPETRELS-ADMM detected a jump at sample {at}")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(results, options.output / "jump.png")
    print(f"picture: {options.output / 'jump.png'}")
    return results


if __name__ == "__main__":
    main()
