"""[T] Fig. 15: completion of a matrix with gaps and outliers, as a phase diagram.

Figure
    [T] Fig. 15: 400 x 400, rank 2, SNR 40 dB, outlier intensity 0.1, 1 and 10.
Data
    ``synthetic.subspace_stream`` in the paper's reading, noise of standard deviation 0.01 and
    outliers uniform on [0, intensity]; 0 to 90 % missing in steps of 30 %, and 0 to 90 % of the
    entries outliers in steps of 15 % (both 45 % with ``--quick``). One matrix a cell.
Settings
    All know the rank. *RobustMatrixCompletion* and *Grasta*: defaults, Grasta with
    ``complete``. *LRGeomCG*: ``tol=1e-5``, at most 200 iterations. *RPCA-GD*: its default
    share of outliers, and the true one up to 0.24 (twice that is its limit), the better of the
    two in each cell; at most 300 iterations.
Measure
    Relative error of the low-rank part that ``decompose`` gives, |L - L^| / |L|, over all entries.
Claim
    A cell is recovered with an error below 0.02: twice the noise. At intensities 1 and 10
    ``RobustMatrixCompletion`` recovers the most cells; at 0.1 no method recovers more.
Picture
    ``docs/images/completion_phase.png`` (``results/quick/`` with ``--quick``): white is an error
    of 1e-3 and below, black one of 1 and above.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import number, table
from benchmarks.shared.trackers import OURS, estimator, there
from thalweg import synthetic

SIZE, RANK, SNR = 400, 2, 40.0
INTENSITIES = (0.1, 1.0, 10.0)
RECOVERED = 0.02
LARGEST_SHARE = 0.24
METHODS = ("RobustMatrixCompletion", "Grasta", "LRGeomCG", "RPCAGD")
NAMES = {"RPCAGD": "RPCA-GD", "Grasta": "GRASTA"}


def run(quick: bool) -> dict[str, Any]:
    """Complete every matrix by every method, and draw."""
    gaps, shares = (np.arange(0.0, 0.95, 0.45 if quick else step) for step in (0.3, 0.15))
    methods = there(METHODS)
    if METHODS[0] not in methods:
        methods.insert(0, OURS)
    errors = {name: np.full((len(INTENSITIES), len(gaps), len(shares)), np.nan) for name in methods}
    with blas_threads.limit(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a failure is part of the diagram
        for i, intensity in enumerate(INTENSITIES):
            for j, missing in enumerate(gaps):
                for k, density in enumerate(shares):
                    matrix = _matrix(intensity, missing, density)
                    for name in methods:
                        errors[name][i, j, k] = _error(name, matrix, density)
    result = {
        "missing": gaps,
        "shares": shares,
        "intensities": INTENSITIES,
        "errors": errors,
        "recovered": {
            name: [int(np.count_nonzero(part < RECOVERED)) for part in found]
            for name, found in errors.items()
        },
    }
    _draw(result, picture("completion_phase", quick))
    return result


def _matrix(intensity: float, missing: float, density: float) -> synthetic.SubspaceStream:
    return synthetic.subspace_stream(
        SIZE, SIZE, RANK, missing=missing, outlier_density=density, outlier_intensity=intensity,
        snr=SNR, noise="absolute", random_state=0,
    )  # fmt: skip


def _error(name: str, matrix: synthetic.SubspaceStream, density: float) -> float:
    """Return the error of the low-rank part, the least of the settings of a method."""
    share = float(np.clip(density, 0.01, LARGEST_SHARE))
    settings: dict[str, list[dict[str, Any]]] = {
        "LRGeomCG": [{"tol": 1e-5, "max_iter": 200}],
        "RPCAGD": [{"max_iter": 300}, {"max_iter": 300, "outlier_share": share}],
    }
    errors = []
    for own in settings.get(name, [{}]):
        model = estimator(name, RANK, random_state=0, **own)
        model.complete(matrix.X)
        low_rank = model.decompose(matrix.X).low_rank
        errors.append(np.linalg.norm(low_rank - matrix.clean) / np.linalg.norm(matrix.clean))
    return float(min(errors))


def _draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["font.size"] = 13
    names = list(result["errors"])
    box = (*_edges(result["shares"]), *_edges(result["missing"]))
    figure, axes = plt.subplots(
        len(INTENSITIES), len(names), figsize=(3.6 * len(names) + 1, 10.2), sharex=True,
        sharey=True, layout="constrained",
    )  # fmt: skip
    for name, down in zip(names, axes.T, strict=True):
        for error, ax in zip(result["errors"][name], down, strict=True):
            level = np.log10(np.clip(np.nan_to_num(error, nan=1.0), 1e-3, 1.0))
            shown = ax.imshow(
                level, cmap="gray_r", vmin=-3, vmax=0, origin="lower", extent=box, aspect="auto"
            )
            ax.set(xticks=(0.0, 0.3, 0.6, 0.9), yticks=(0.0, 0.3, 0.6, 0.9))
            ax.xaxis.set_major_formatter("{x:.0%}")
            ax.yaxis.set_major_formatter("{x:.0%}")
            ax.spines[:].set_color("#9aa3ad")
        down[0].set_title(NAMES.get(name, name), fontsize=15)
        down[-1].set_xlabel("outliers")
    for ax, intensity in zip(axes[:, 0], INTENSITIES, strict=True):
        ax.set_ylabel(f"intensity {intensity:g}\nmissing")
    bar = figure.colorbar(shown, ax=axes, shrink=0.6, pad=0.01, ticks=(-3, -2, -1, 0))
    bar.ax.set_yticklabels(["0.001", "0.01", "0.1", "1"])
    bar.set_label("relative error of the low-rank part")
    figure.savefig(path, dpi=75)
    plt.close(figure)


def _edges(centres: Any) -> tuple[float, float]:
    """Return where the cells around evenly spaced centres begin and end."""
    half = (centres[1] - centres[0]) / 2
    return float(centres[0] - half), float(centres[-1] + half)


def report(result: dict[str, Any]) -> str:
    """Return how many cells everyone recovers, and the claims."""
    cells = len(result["missing"]) * len(result["shares"])
    rows = [(name, *counts) for name, counts in result["recovered"].items()]
    heads = (f"cells of {cells} recovered", *(f"intensity {i:g}" for i in result["intensities"]))
    ours, *others = (counts for _, *counts in rows)
    lines = [table(heads, rows)]
    for i, intensity in enumerate(result["intensities"]):
        best = max(other[i] for other in others)
        lines.append(
            f"intensity {intensity:g}: ours {number(ours[i], 'd')}, best other {best}: "
            f"{'met' if ours[i] >= best else 'NOT MET'}"
        )
    return "\n".join(lines)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return who recovers most, and what 60 % of outliers no larger than the signal do."""
    counts, intensities = result["recovered"], result["intensities"]
    ours, others = counts[METHODS[0]], [counts[name] for name in counts if name != METHODS[0]]
    named = ", ".join(
        f"{mine} (the best other {max(other[i] for other in others)}) at {intensities[i]:g}"
        for i, mine in enumerate(ours)
    )
    many = int(np.argmin(np.abs(np.asarray(result["shares"]) - 0.6)))
    found = {
        name: np.asarray(errors)[intensities.index(1.0), :, many]
        for name, errors in result["errors"].items()
    }
    mine, grasta = found[METHODS[0]], found["Grasta"]
    return [
        Finding(
            f"`RobustMatrixCompletion` recovers the most cells at every intensity, or as many as "
            f"the best other: {named}.",
            all(mine >= max(other[i] for other in others) for i, mine in enumerate(ours)),
        ),
        Finding(
            "With 60 % of outliers at intensity 1, no larger than the signal, its error is "
            f"{mine[0]:.4f} without gaps and {mine[-1]:.3f} with 90 % missing, where GRASTA has "
            f"{grasta[0]:.4f} and {grasta[-1]:.3f}.",
            bool((mine < grasta).all()),
        ),
    ]
