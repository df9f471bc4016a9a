"""[T] II-B: the adaptive step and the variable forgetting factor, where the subspace rests and not.

Data
    ``synthetic.subspace_stream``: n = 50, r = 2, 3000 samples, 90 % observed, SNR 20 dB, noise
    relative to the signal. The subspace *rests*, *turns* by 1e-4 or 1e-3 radians a sample, or
    *jumps* at sample 1500. For *Petrels* without outliers, for *PetrelsADMM* with 20 % of them at
    intensity 5. 3 seeds (1 with ``--quick``).
Settings
    ``step`` is "full", "adaptive" ([T] (26): eta multiplies the step) or "forgetting" ([T] II-B:
    eta multiplies the forgetting factor, lambda_t = eta_t lambda), each with ``forgetting`` of
    0.9999 and 0.98. ``on_jump="note"``, so that a jump leads to no new start.
Measure
    SEP at the last sample, and for *jumps* also 300 samples after the jump; the median over seeds.
Claim
    [T] II-B: a variable forgetting factor "can enhance the overall performance" and control the
    memory "in a more flexible way". Held: with the same ``forgetting``, "forgetting" ends no
    higher than "full".
"""

from itertools import product
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import number, table
from benchmarks.shared.trackers import curve, estimator
from thalweg import synthetic

SIZES = {"n_samples": 3000, "n_features": 50, "n_components": 2, "missing": 0.1, "snr": 20.0}
STREAMS: dict[str, dict[str, Any]] = {
    "rests": {},
    "turns by 1e-4": {"rotation": 1e-4},
    "turns by 1e-3": {"rotation": 1e-3},
    "jumps": {"jumps": (1500,)},
}
SOON = 1800  # sample at which a jump is looked at
METHODS = {"Petrels": 0.0, "PetrelsADMM": 0.2}
STEPS, FACTORS = ("full", "adaptive", "forgetting"), (0.9999, 0.98)


def run(quick: bool) -> dict[str, Any]:
    """Follow every stream with every step."""
    seeds = range(1 if quick else 3)
    with blas_threads.limit(1):
        rows = [
            _row(stream, method, factor, seeds)
            for stream, method, factor in product(STREAMS, METHODS, FACTORS)
        ]
    return {"seeds": list(seeds), "rows": rows}


def _row(stream: str, method: str, factor: float, seeds: Any) -> dict[str, Any]:
    """Return the medians, soon after the middle and at the end, of every step."""
    found: dict[str, list[list[float]]] = {step: [] for step in STEPS}
    for seed in seeds:
        data = synthetic.subspace_stream(
            **SIZES, outlier_density=METHODS[method], outlier_intensity=5.0, random_state=seed,
            **STREAMS[stream],
        )  # fmt: skip
        for step in STEPS:
            how = {"forgetting": factor, "step_size": step, "on_jump": "note", "random_state": seed}
            ends = [SOON, SIZES["n_samples"]]
            found[step].append(curve(estimator(method, 2, **how), data, ends))
    median = {step: np.median(values, axis=0).tolist() for step, values in found.items()}
    return {"stream": stream, "method": method, "forgetting": factor, "sep": median}


def report(result: dict[str, Any]) -> str:
    """Return SEP of every step on every stream, and the claim."""
    rows, held = [], []
    for row in result["rows"]:
        soon = row["stream"] == "jumps"
        held.append(row["sep"]["forgetting"][1] <= row["sep"]["full"][1])
        name = f"{row['stream']}, {row['method']}, {row['forgetting']:g}"
        if soon:
            early = (number(row["sep"][step][0], ".1e") for step in STEPS)
            rows.append((f"{name}, after 300", *early, ""))
        last = (number(row["sep"][step][1], ".1e") for step in STEPS)
        rows.append((name, *last, "yes" if held[-1] else "NO"))
    heads = ("the subspace, method, forgetting", *STEPS, "no higher than full")
    return f"{table(heads, rows)}\nno higher than full: {sum(held)} of {len(held)} met"


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return where the variable forgetting factor and the adaptive step help, and where not."""
    end = {
        (row["stream"], row["method"], row["forgetting"]): {
            step: sep[1] for step, sep in row["sep"].items()
        }
        for row in result["rows"]
    }
    rest = [own["forgetting"] / own["full"] for key, own in end.items() if key[0] == "rests"]
    long = [end[stream, "Petrels", 0.9999] for stream in STREAMS if stream != "rests"]
    gain = [own["full"] / own["forgetting"] for own in long]
    short = {key[0] for key, own in end.items() if key[2] == 0.98 and _lower(own, "forgetting")}
    calm = [own["full"] / own["adaptive"] for key, own in end.items()
            if key[0] == "rests" and key[2] == 0.98]  # fmt: skip
    lower = sum(_lower(own, "adaptive") for own in end.values())
    return [
        Finding(
            f'Where the subspace rests, `step_size="forgetting"` ends {min(rest):.1f} to '
            f'{max(rest):.0f} times higher than `"full"`: the better a sample fits, the more of '
            "the past it takes off.",
            min(rest) > 1.0,
        ),
        Finding(
            "Where it turns or jumps and `forgetting` is far too long, the variable factor "
            f"follows, and the constant one does not: `Petrels` with 0.9999 ends {min(gain):.0f} "
            f"to {max(gain):.0f} times lower.",
            min(gain) > 10.0,
        ),
        Finding(
            "With a constant factor that suits the stream, 0.98, the variable one is lower only "
            "where the subspace turns by 1e-3 a sample.",
            short == {"turns by 1e-3"},
        ),
        Finding(
            f'`step_size="adaptive"` ends below `"full"` in {lower} of {len(end)} cells; where the '
            f"subspace rests and `forgetting` is 0.98 by {min(calm):.1f} to {max(calm):.1f} times.",
            min(calm) > 1.0 and lower < len(end) / 2,
        ),
    ]


def _lower(own: dict[str, float], step: str) -> bool:
    return own[step] < own["full"]
