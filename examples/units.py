"""Choose the outlier weight: quality against weight in three units, and ``"auto"``.

    python examples/units.py [--output FOLDER]

Residuals above the weight become outliers, so the weight has the unit of the data. ``"auto"``
estimates it from the noise, in any unit. Draws ``units.png``.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from thalweg import RobustOnlineNMF, metrics, synthetic

mpl.use("Agg")
from matplotlib import pyplot as plt

SAMPLES, FEATURES, RANK = 1500, 80, 10
WEIGHTS = np.geomspace(1e-3, 1e2, 16)
UNITS = {"x 1": 1.0, "x 0.1": 0.1, "x 10": 10.0}
COLOURS = {"x 1": "#1b6ca8", "x 0.1": "#2e933c", "x 10": "#d1495b"}


def quality(data: synthetic.OutlierData, unit: float, weight: Any) -> float:
    """Return the PSNR of the low-rank part with respect to the clean data."""
    X = unit * data.X
    model = RobustOnlineNMF(RANK, outlier_weight=weight, random_state=0).fit(X)
    return metrics.psnr(data.clean, model.decompose(X).low_rank / unit)


def draw(curves: dict[str, Any], automatic: dict[str, float], picture: Path) -> None:
    """Draw a curve for each unit, and a line for ``"auto"``."""
    fig, ax = plt.subplots(figsize=(10, 5.2), layout="constrained")
    for name, curve in curves.items():
        ax.semilogx(WEIGHTS, curve, "o-", color=COLOURS[name], lw=2, label=f"data {name}")
    for name, value in automatic.items():
        ax.axhline(value, color=COLOURS[name], lw=1.2, ls=(0, (4, 3)))
    ax.annotate('"auto", for all units', (WEIGHTS[0], max(automatic.values())),
                xytext=(0, 6), textcoords="offset points", fontsize=12)  # fmt: skip
    ax.set(xlabel="outlier_weight", ylabel="PSNR of the low-rank part, dB")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    fig.savefig(picture, dpi=85)
    plt.close(fig)


def main(argv: list[str] | None = None) -> tuple[dict[str, Any], dict[str, float]]:
    """Generate the data, sweep, draw; return the curves and the PSNR of ``"auto"``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    data = synthetic.nmf_with_outliers(SAMPLES, FEATURES, RANK, random_state=0)
    curves, automatic = {}, {}
    for name, unit in UNITS.items():
        curves[name] = [quality(data, unit, weight) for weight in WEIGHTS]
        automatic[name] = quality(data, unit, "auto")
        best = int(np.argmax(curves[name]))
        print(
            f"data {name:5} best weight {WEIGHTS[best]:8.3g}: {curves[name][best]:.1f} dB, "
            f'"auto": {automatic[name]:.1f} dB'
        )
    options.output.mkdir(parents=True, exist_ok=True)
    draw(curves, automatic, options.output / "units.png")
    print(f"picture: {options.output / 'units.png'}")
    return curves, automatic


if __name__ == "__main__":
    main()
