"""Raise alarms in a stream of sensors with unequal, heavy-tailed noise, and draw them."""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

from thalweg import PetrelsADMM

mpl.use("Agg")
import matplotlib.pyplot as plt

SAMPLES, SENSORS, RANK = 3000, 30, 2
FAULT, SIZE = slice(2300, 2330), 6.0  # samples of a drifting sensor, and its last deviation
SPIKES = 0.002  # share of wrong entries
BLUE, RED, INK, SOFT = "#1b6ca8", "#d1495b", "#222a33", "#68727d"


class Plant(NamedTuple):
    """Measured values, and what is wrong with them."""

    X: Any
    wrong: Any
    scales: Any


def generate() -> Plant:
    """Return sensors with Laplace noise of scales that differ up to 16 times."""
    rng = np.random.default_rng(0)
    scales = 0.1 * np.geomspace(0.25, 4.0, SENSORS)
    noise = rng.laplace(size=(SAMPLES, SENSORS)) * scales / 2**0.5
    wrong = rng.random(noise.shape) < SPIKES
    noise[wrong] += (10.0 * scales * rng.choice([-1.0, 1.0], noise.shape))[wrong]
    length = FAULT.stop - FAULT.start
    noise[FAULT, 3] += SIZE * scales[3] * np.linspace(1.0, 2.0, length)
    wrong[FAULT, 3] = True
    clean = rng.normal(size=(SAMPLES, RANK)) @ rng.normal(size=(RANK, SENSORS))
    return Plant(clean + noise, wrong, scales)


def search(plant: Plant) -> tuple[Any, Any, Any]:
    """Return p-values, alarms, and rejected entries of all batches after the first 1000 samples."""
    model, parts = PetrelsADMM(RANK, random_state=0).fit(plant.X[:1000]), []
    for start in range(1000, SAMPLES, 100):
        batch = plant.X[start : start + 100]
        rejected = model.decompose(batch).outliers != 0
        parts.append((model.p_values(batch), model.anomalies(batch, fdr=0.05), rejected))
        model.partial_fit(batch)
    return tuple(np.vstack(part) for part in zip(*parts, strict=True))  # type: ignore[return-value]


def draw(plant: Plant, p: Any, alarms: Any, rejected: Any, picture: Path) -> None:
    """Draw false alarms of each sensor, and the p-values of the sensor with a fault."""
    clean = ~plant.wrong[1000:]
    fig, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    for name, found, colour in (("rejected", rejected, SOFT), ("p < 0.01", p < 0.01, BLUE)):
        shares = (found & clean).sum(axis=0) / clean.sum(axis=0)
        left.plot(plant.scales, np.maximum(shares, 1e-4), "o-", color=colour, lw=1.5)
        left.annotate(f" {name}", (plant.scales[-1], shares[-1]), color=colour, fontsize=13)
    left.axhline(0.01, color=INK, lw=1.0, ls=(0, (3, 3)))
    left.set(xscale="log", yscale="log", ylim=(1e-3, 1.0), xlim=(0.02, 1.0))
    left.set_xlabel("noise scale of the sensor", fontsize=13)
    left.set_ylabel("share of its correct entries", fontsize=13)
    rows = np.arange(1000, SAMPLES)
    right.plot(rows, p[:, 3], ".", color=SOFT, ms=4)
    right.plot(rows[alarms[:, 3]], p[alarms[:, 3], 3], "o", color=RED, ms=6, mfc="none")
    right.set(yscale="log", ylim=(1e-12, 2.0))
    right.axvspan(FAULT.start, FAULT.stop, color=RED, alpha=0.12, lw=0)
    right.annotate("fault ", (FAULT.start, 1e-11), ha="right", fontsize=13, color=RED)
    right.set_xlabel("sample", fontsize=13)
    right.set_ylabel("p-value, and alarms at 5 % FDR", fontsize=13)
    for ax in (left, right):
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=12)
    fig.savefig(picture, dpi=85)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Generate a plant, raise alarms, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    plant = generate()
    p, alarms, rejected = search(plant)
    wrong = plant.wrong[1000:]
    found = {
        "p-values below 0.01": float(np.mean(p[~wrong] < 0.01)),
        "rejected": float(np.mean(rejected[~wrong])),
        "false discoveries": float(np.sum(alarms & ~wrong) / max(alarms.sum(), 1)),
        "power": float(alarms[wrong].mean()),
    }
    print(f"{SAMPLES} samples of {SENSORS} sensors, noise scales from 0.025 to 0.4\n")
    for name, share in found.items():
        print(f"{name:20}{share:8.3f}")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(plant, p, alarms, rejected, options.output / "alarms.png")
    print(f"\npicture: {options.output / 'alarms.png'}")
    return found


if __name__ == "__main__":
    main()
