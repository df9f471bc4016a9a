"""Fill a stream of sensors from the past, and continue it, with error bars; draw them.

Eight sensors follow two slow variables, a daily cycle and a deviation of their own, with outages of
one sensor and missing rows. Draws ``time.png``: the newest rows of one sensor, filled before they
were learned, and the two days after them.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from thalweg import PetrelsADMM
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors

mpl.use("Agg")
import matplotlib.pyplot as plt

HOURS, AHEAD, SENSORS, DAY = 1500, 48, 8, 24.0
BATCH, SHOWN, SENSOR = 4, 200, 1
BLUE, RED, INK, SOFT = "#1b6ca8", "#d1495b", "#222a33", "#9aa5b1"


def generate(seed: int = 0) -> tuple[Any, Any]:
    """Return the sensors, the last hours of which are the future, and the same with gaps."""
    rng, n = np.random.default_rng(seed), HOURS + AHEAD

    def series(phi: float, width: int) -> Any:
        x = rng.normal(size=(n, width))
        for t in range(1, n):
            x[t] = phi * x[t - 1] + np.sqrt(1.0 - phi * phi) * x[t]
        return x

    day = np.outer(np.sin(2 * np.pi * np.arange(n) / DAY), rng.uniform(0.5, 1.5, SENSORS))
    X = series(0.98, 2) @ rng.normal(size=(2, SENSORS)) + 0.3 * series(0.95, SENSORS) + day
    X += 0.1 * rng.normal(size=X.shape)
    gaps = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    for start in rng.integers(0, HOURS - 60, 90):
        gaps[start : start + 12, rng.integers(SENSORS)] = np.nan
    gaps[HOURS - 110 : HOURS - 86, SENSOR] = np.nan  # an outage of a day
    gaps[HOURS - 40 : HOURS - 34] = np.nan  # of all sensors
    gaps[HOURS:] = np.nan
    return X, gaps


def follow(gaps: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """Return fills with intervals of all batches, each before it is learned, and a forecast."""
    model = PetrelsADMM(
        2, center=True, dynamics=AutoregressiveFactors(periods=(DAY,)), random_state=0
    )
    model.partial_fit(gaps[:BATCH])
    parts = []
    for start in range(BATCH, HOURS, BATCH):
        batch = gaps[start : start + BATCH]
        parts.append(model.fill(batch, interval=0.9))
        model.partial_fit(batch)
    filled = [np.vstack(part) for part in zip(*parts, strict=True)]
    return filled, model.forecast(AHEAD, interval=0.9)


def draw(X: Any, gaps: Any, filled: list[Any], ahead: tuple[Any, ...], picture: Path) -> None:
    """Draw the newest rows of a sensor with its gaps, and the forecast."""
    fig, axes = plt.subplots(figsize=(13, 4.6), layout="constrained")
    rows, first = np.arange(len(X)), HOURS - SHOWN
    missing = np.isnan(gaps[:HOURS, SENSOR])
    values, low, high = (np.vstack([gaps[:BATCH], part])[:, SENSOR] for part in filled)
    axes.plot(rows[first:], X[first:, SENSOR], color=SOFT, lw=1.2, label="truth")
    axes.plot(rows[first:HOURS], gaps[first:HOURS, SENSOR], ".", color=INK, ms=4, label="measured")
    hidden = rows[first:HOURS][missing[first:]]
    axes.errorbar(
        hidden,
        values[hidden],
        yerr=[values[hidden] - low[hidden], high[hidden] - values[hidden]],
        fmt="o",
        color=BLUE,
        ms=3,
        lw=0.8,
        label="filled from the past, 90 % intervals",
    )
    mean, lower, upper = (part[:, SENSOR] for part in ahead)
    axes.plot(rows[HOURS:], mean, color=RED, lw=1.8, label="forecast, 90 % intervals")
    axes.fill_between(rows[HOURS:], lower, upper, color=RED, alpha=0.18, lw=0)
    axes.axvline(HOURS - 0.5, color=SOFT, lw=0.8, ls="--")
    axes.set(xlabel="hour", ylabel="sensor", xlim=(first, len(X)))
    axes.legend(loc="upper left", ncols=2, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    fig.savefig(picture, dpi=80)
    plt.close(fig)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Fill, forecast, draw; return the errors of fills and the coverage of their intervals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path())
    output = parser.parse_args(arguments).output
    X, gaps = generate()
    filled, ahead = follow(gaps)
    output.mkdir(parents=True, exist_ok=True)
    draw(X, gaps, filled, ahead, output / "time.png")
    truth, half = X[BATCH:HOURS], HOURS // 2
    missing = np.isnan(gaps[BATCH:HOURS])
    missing[:half] = False
    values, low, high = filled
    column_mean = np.nanmean(gaps, axis=0) - truth
    found = {
        "error of fills": _size((values - truth)[missing]),
        "error of the mean": _size(column_mean[missing]),
        "covered": float(np.mean(((low <= truth) & (truth <= high))[missing])),
    }
    for name, value in found.items():
        print(f"{name}: {value:.3f}")
    return found


def _size(errors: Any) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


if __name__ == "__main__":
    main()
