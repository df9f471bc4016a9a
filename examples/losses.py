"""Compare losses: which one recovers the truth best under which noise.

    python examples/losses.py [--output FOLDER]

Fits five losses to the same low-rank data with four kinds of noise. Draws ``losses.png``: the error
of each loss, relative to the best one for the same noise.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from thalweg import OnlineNMF

mpl.use("Agg")
from matplotlib import pyplot as plt

SAMPLES, FEATURES, RANK, EPOCHS = 1500, 60, 5, 4
LOSSES = ("squared-l2", "kl", "itakura-saito", "huber", "l1")
INK = "#222a33"


def noisy(clean: Any, rng: Any) -> dict[str, Any]:
    """Return the clean data with each of four kinds of noise."""
    hit = rng.random(clean.shape) < 0.05
    return {
        "counts (Poisson)": rng.poisson(clean).astype(float),
        "multiplicative (Gamma)": clean * rng.gamma(4.0, 0.25, clean.shape),
        "additive (Gauss)": np.maximum(clean + rng.normal(0, 1.0, clean.shape), 0),
        "5 % outliers": np.where(hit, rng.uniform(0, 100, clean.shape), clean),
    }


def compare(seed: int = 0) -> dict[str, dict[str, float]]:
    """Return the median relative error of the low-rank part, for each noise and loss."""
    rng = np.random.default_rng(seed)
    clean = 5 * rng.gamma(1.0, 1.0, (SAMPLES, RANK)) @ rng.gamma(0.7, 0.6, (RANK, FEATURES)) + 0.5
    found: dict[str, dict[str, float]] = {}
    for noise, X in noisy(clean, rng).items():
        X = X + 1e-3 if noise != "counts (Poisson)" else X + 0.1  # Itakura-Saito needs X > 0
        found[noise] = {}
        for loss in LOSSES:
            model = OnlineNMF(RANK, loss=loss, epochs=EPOCHS, init="svd", random_state=0).fit(X)
            low_rank = model.decompose(X).low_rank
            found[noise][loss] = float(np.median(np.abs(low_rank - clean) / clean))
    return found


def draw(found: dict[str, dict[str, float]], picture: Path) -> None:
    """Draw a heat map: the darker, the larger the error relative to the best of the row."""
    errors = np.array([list(row.values()) for row in found.values()])
    relative = errors / errors.min(axis=1, keepdims=True)
    fig, ax = plt.subplots(figsize=(9.4, 4.6), layout="constrained")
    ax.imshow(np.log(relative), cmap="Blues", vmin=0, vmax=np.log(6), aspect="auto")
    for (i, j), ratio in np.ndenumerate(relative):
        text = f"{errors[i, j]:.1%}\n" + ("best" if ratio == 1 else f"{ratio:.1f} x")
        ax.text(j, i, text, ha="center", va="center", color="white" if ratio > 3 else INK)
    ax.set_xticks(range(len(LOSSES)), LOSSES, fontsize=12)
    ax.set_yticks(range(len(found)), list(found), fontsize=12)
    ax.set_title("median relative error of the low-rank part", fontsize=13, color=INK)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    fig.savefig(picture, dpi=85)
    plt.close(fig)


def main(argv: list[str] | None = None) -> dict[str, dict[str, float]]:
    """Compare, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    found = compare()
    print(f"{'':24}" + "".join(f"{loss:>15}" for loss in LOSSES))
    for noise, row in found.items():
        print(f"{noise:24}" + "".join(f"{error:15.1%}" for error in row.values()))
    options.output.mkdir(parents=True, exist_ok=True)
    draw(found, options.output / "losses.png")
    print(f"picture: {options.output / 'losses.png'}")
    return found


if __name__ == "__main__":
    main()
