"""Fill the gaps in sensor data: a robust subspace, interpolation and column means.

    python examples/sensors.py [--output FOLDER]

Thirty sensors depend on a daily cycle, a weekly cycle and the weather. Each has outages of several
hours, and some values are outliers. Draws ``sensors.png``: two sensors with gaps, and how each
method fills them.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

from thalweg import PetrelsADMM

mpl.use("Agg")
from matplotlib import pyplot as plt

HOURS, SENSORS, RANK = 24 * 56, 30, 3
DOWN, WRONG = 0.3, 0.03
COLOURS = {"PetrelsADMM": "#1b6ca8", "interpolation": "#c9910d", "column mean": "#d1495b"}
INK, SOFT = "#222a33", "#9aa7b2"


class Table(NamedTuple):
    """Rows are hours, columns are sensors."""

    X: Any  # observed data: NaN during outages
    truth: Any
    down: Any


def generate(seed: int = 0, hours: int = HOURS) -> Table:
    """Return sensors that depend on three factors, with outages and outliers."""
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    weather = np.convolve(rng.normal(size=hours + 71), np.hanning(72), "valid")
    causes = np.stack([np.sin(2 * np.pi * t / 24), np.sin(2 * np.pi * t / 168), weather / 4])
    truth = (rng.normal(size=(SENSORS, RANK)) @ causes).T
    X = truth + 0.05 * rng.normal(size=truth.shape)
    wrong = rng.random(X.shape) < WRONG
    X[wrong] += rng.uniform(-6, 6, wrong.sum())
    down = np.zeros(X.shape, dtype=bool)
    while down.mean() < DOWN:
        start, length = rng.integers(hours), rng.integers(3, 24)
        down[start : start + length, rng.integers(SENSORS)] = True
    return Table(np.where(down, np.nan, X), truth, down)


def interpolate(X: Any) -> Any:
    """Interpolate linearly over the gaps of each column."""
    t = np.arange(len(X))
    observed = ~np.isnan(X)
    columns = [np.interp(t, t[s], x[s]) for x, s in zip(X.T, observed.T, strict=True)]
    return np.column_stack(columns)


def fill(X: Any) -> dict[str, Any]:
    """Fill the gaps with each method."""
    return {
        "PetrelsADMM": PetrelsADMM(RANK, random_state=0).fit(X).decompose(X).low_rank,
        "interpolation": interpolate(X),
        "column mean": np.broadcast_to(np.nanmean(X, axis=0), X.shape),
    }


def draw(table: Table, filled: dict[str, Any], picture: Path) -> None:
    """Draw ten days of two sensors."""
    fig, axes = plt.subplots(2, 1, figsize=(11, 6.4), sharex=True, layout="constrained")
    shown = slice(24 * 20, 24 * 30)
    t = np.arange(len(table.X))[shown] / 24
    lost = table.down[shown].mean(axis=0) * table.truth[shown].std(axis=0)
    for ax, j in zip(axes, np.argsort(lost)[-2:], strict=True):
        ax.plot(t, table.truth[shown, j], color=SOFT, lw=5, alpha=0.5, label="truth")
        for name, X in filled.items():
            gaps = np.where(table.down[shown, j], X[shown, j], np.nan)
            ax.plot(t, gaps, color=COLOURS[name], lw=2, label=name)
        ax.plot(t, table.X[shown, j], ".", color=INK, ms=3.5, label="measured")
        ax.set_ylabel(f"sensor {j}", fontsize=12)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(loc="upper right", ncols=5, fontsize=10)
    axes[1].set_xlabel("days", fontsize=12)
    fig.savefig(picture, dpi=85)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Generate, fill, compare, draw; return the errors over the gaps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    table = generate()
    filled = fill(table.X)
    errors = {
        name: float(np.sqrt(np.mean((X - table.truth)[table.down] ** 2)))
        for name, X in filled.items()
    }
    print(f"{HOURS} hours of {SENSORS} sensors, {table.down.mean():.0%} missing")
    for name, error in errors.items():
        print(f"{name:14} error of missing values {error:.3f}")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(table, filled, options.output / "sensors.png")
    print(f"picture: {options.output / 'sensors.png'}")
    return errors


if __name__ == "__main__":
    main()
