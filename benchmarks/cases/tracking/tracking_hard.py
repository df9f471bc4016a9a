"""Trackers on streams with the faults of real sensors.

Data
    Sixteen kinds of streams, described in ``benchmarks/shared/faulty_streams.py``: n = 50, r = 2,
    5000 samples, SNR 20 dB, 10 % missing, faults of up to five times the largest clean entry. 3
    seeds (1 seed and 2000 samples with ``--quick``).
Settings
    All trackers with their defaults. *oracle*: ``Petrels(forgetting=0.9999)`` without the faulty
    entries. *best fixed*: ``PetrelsADMM`` with the best of the forgetting factors 0.9999, 0.999,
    0.995, 0.99, 0.98, 0.95, 0.9 and 0.85, chosen by the error itself.
Measure
    SEP after the last sample, median over seeds; the factors are compared on the streams that turn.
"""

from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.faulty_streams import STREAMS, faulty_stream
from benchmarks.shared.tables import number, table
from benchmarks.shared.trackers import OURS, estimator
from thalweg import Petrels

TRACKERS = ("PetrelsADMM", "PetrelsCFAR", "Norst", "ReProCS", "OnlineRobustPCA", "Grasta", "Roseta")
FACTORS = (0.9999, 0.999, 0.995, 0.99, 0.98, 0.95, 0.9, 0.85)
STILL = [name for name in STREAMS if not name.startswith("rotation") and name != "jump"]


def run(quick: bool) -> dict[str, Any]:
    """Follow every stream with every tracker."""
    seeds, n_samples = range(1 if quick else 3), 2000 if quick else 5000
    with blas_threads.limit(1):
        rows = {name: _row(name, n_samples, seeds) for name in STREAMS}
    return {"seeds": list(seeds), "n_samples": n_samples, "rows": rows}


def _row(name: str, n_samples: int, seeds: Any) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for seed in seeds:
        stream = faulty_stream(name, n_samples, seed)
        K = stream.n_components
        for tracker in TRACKERS:
            model = estimator(tracker, K, random_state=seed).fit(stream.X)
            found.setdefault(tracker, []).append(stream.error(model.components_))
        told = Petrels(K, forgetting=0.9999, random_state=seed)
        told.fit(np.where(stream.faulty, np.nan, stream.X))
        found.setdefault("told", []).append(stream.error(told.components_))
        if name.startswith("rotation"):
            for factor in FACTORS:
                model = estimator(OURS, K, forgetting=factor, random_state=seed).fit(stream.X)
                found.setdefault(f"{factor:g}", []).append(stream.error(model.components_))
    return {method: float(np.median(values)) for method, values in found.items()}


def _best_fixed(row: dict[str, float]) -> float | None:
    fixed = [row[f"{factor:g}"] for factor in FACTORS if f"{factor:g}" in row]
    return min(fixed) if fixed else None


def report(result: dict[str, Any]) -> str:
    """Return SEP of every tracker on every stream."""
    rows = []
    for name, row in result["rows"].items():
        best = _best_fixed(row)
        fixed = "" if best is None else number(best, ".1e")
        rows.append((name, *(number(row[method], ".1e") for method in (*TRACKERS, "told")), fixed))
    return table(("stream", *TRACKERS, "oracle", "best fixed"), rows)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return how near `PetrelsADMM` is to the oracle, and to the best fixed forgetting factor."""
    rows = result["rows"]
    noise = [rows[name][OURS] / rows[name]["told"] for name in STREAMS if "unequal" in name]
    faults = [rows[name][OURS] for name in ("bad sensors", "stuck sensors")]
    blocks = [rows[name][OURS] / rows[name]["told"] for name in ("moving block", "fixed pattern")]
    bursts = [rows[name][OURS] / rows[name]["told"] for name in ("bursts", "drop-outs")]
    turns = [row[OURS] / best for row in rows.values() if (best := _best_fixed(row)) is not None]
    first = [
        name
        for name, row in rows.items()
        if row[OURS] <= 1.1 * min(row[other] for other in TRACKERS)
    ]
    return [
        Finding(
            "With unequal noise `PetrelsADMM` ends at "
            f"{min(noise):.1f} to {max(noise):.1f} times the error of PETRELS without the "
            "outliers.",
            max(noise) < 3.0,
        ),
        Finding(
            "Bursts of bad samples and drop-outs of groups cost a factor of "
            f"{min(bursts):.1f} to {max(bursts):.1f} against it.",
            max(bursts) < 5.0,
        ),
        Finding(
            f"Outliers with a structure, a block that wanders over the features or one pattern in "
            f"many samples, cost a factor of {min(blocks):.1f} to {max(blocks):.1f}.",
            max(blocks) < 3.0,
        ),
        Finding(
            f"With a fifth of the sensors bad or stuck it ends at {min(faults):.0e} to "
            f"{max(faults):.0e}.",
            max(faults) < 1e-3,
        ),
        Finding(
            f'Where the subspace turns, `forgetting="auto"` ends at {min(turns):.1f} to '
            f"{max(turns):.1f} times the error of the best fixed factor.",
            max(turns) < 2.0,
        ),
        Finding(
            f"`PetrelsADMM` has the least error of all trackers, within 10 %, on {len(first)} of "
            f"{len(rows)} streams.",
            len(first) >= 0.75 * len(rows),
        ),
    ]
