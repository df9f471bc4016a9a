"""Alarms: p-values of clean entries, and outliers of six noise levels found in a stream.

Data
    n = 50, r = 2, signal of variance 1 in each feature, noise of standard deviation 0.1 in each
    feature (*equal*) or log-uniform in [0.1 / 5, 0.1 * 5] (*unequal*), with a normal, a Laplace or
    a t law with 3 degrees of freedom. Seeds 0 to 2 (0 with ``--quick``).
Settings
    Defaults. *Clean*: fit of 1000 samples, then p-values of 16,000 others,
    so that the share of a feature is measured with an error of 0.0008. *Stream*: 4000 samples of
    which 5 % of the entries are moved by 6 noise scales of their feature; after 1000 samples, each
    batch of 200 goes through ``anomalies(fdr=0.05)`` and is then learned. *exact*: the same with
    p-values of the true noise under its true law, which no method can know.
Measures
    Share of p-values below 0.01 in all entries, and the least and largest share of a feature. False
    discovery rate and power of all alarms of a stream. *rejected*: share of clean entries that the
    model calls outliers, which its fit is protected by and which is no alarm.
Claim
    Clean: in [0.007, 0.015] in all and [0.004, 0.025] in each feature. In a stream: false
    discoveries at most 0.07 at a power of at least 0.95.
"""

from typing import Any

import numpy as np
from scipy import stats

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import number, table
from thalweg import PetrelsADMM
from thalweg.noise.false_discoveries import benjamini_hochberg

N_FEATURES, RANK = 50, 2
LAWS: dict[str, Any] = {
    "normal": stats.norm(),
    "Laplace": stats.laplace(scale=0.5**0.5),
    "t(3)": stats.t(3, scale=3**-0.5),
}
SCALES = ("equal", "unequal")
OVERALL, EACH = (0.007, 0.015), (0.004, 0.025)
MAX_FDR, MIN_POWER, NEAR_EXACT = 0.07, 0.95, 0.02
PLANTED, SIZE = 0.05, 6.0
LATER = 16_000


class Source:
    """Samples of one subspace, with noise of one law."""

    def __init__(self, law: str, scales: str, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.law = LAWS[law]
        self.basis = self.rng.normal(size=(RANK, N_FEATURES)) / RANK**0.5
        factors = 5.0 ** self.rng.uniform(-1.0, 1.0, N_FEATURES)
        self.scales = 0.1 * (factors if scales == "unequal" else np.ones(N_FEATURES))

    def draw(self, n: int, planted: float = 0.0) -> tuple[Any, Any, Any]:
        """Return samples, the mask of planted outliers, and noise with outliers."""
        shape = n, N_FEATURES
        noise = self.law.rvs(shape, random_state=self.rng) * self.scales
        outliers = self.rng.random(shape) < planted
        noise = noise + outliers * SIZE * self.scales * self.rng.choice([-1.0, 1.0], shape)
        return self.rng.normal(size=(n, RANK)) @ self.basis + noise, outliers, noise


def run(quick: bool) -> dict[str, Any]:
    """Measure every law and both kinds of scales."""
    seeds = range(1 if quick else 3)
    with blas_threads.limit(1):
        rows = [
            {"law": law, "scales": scales, **_mean([_measured(law, scales, s) for s in seeds])}
            for law in LAWS
            for scales in SCALES
        ]
    return {"seeds": list(seeds), "rows": rows}


def _mean(found: list[dict[str, float]]) -> dict[str, float]:
    """Return means over seeds, and the extremes of the shares of features."""
    result = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    result["least"] = min(one["least"] for one in found)
    result["largest"] = max(one["largest"] for one in found)
    return result


def _measured(law: str, scales: str, seed: int) -> dict[str, float]:
    return {**_clean(law, scales, seed), **_stream(law, scales, seed)}


def _clean(law: str, scales: str, seed: int) -> dict[str, float]:
    source = Source(law, scales, seed)
    model = PetrelsADMM(RANK, random_state=seed).fit(source.draw(1000)[0])
    later = source.draw(LATER)[0]
    alarms = model.p_values(later) < 0.01
    shares = alarms.mean(axis=0)
    return {
        "overall": float(alarms.mean()),
        "least": float(shares.min()),
        "largest": float(shares.max()),
        "samples": float(np.mean(model.sample_p_values(later) < 0.01)),
        "rejected": float(np.mean(model.decompose(later).outliers != 0)),
    }


def _stream(law: str, scales: str, seed: int) -> dict[str, float]:
    source = Source(law, scales, seed)
    X, planted, noise = source.draw(4000, PLANTED)
    model, found, exact = PetrelsADMM(RANK, random_state=seed).fit(X[:1000]), [], []
    for start in range(1000, 4000, 200):
        batch = slice(start, start + 200)
        found.append(model.anomalies(X[batch]))
        p = 2.0 * source.law.sf(np.abs(noise[batch]) / source.scales)
        exact.append(benjamini_hochberg(p.ravel()).reshape(p.shape))
        model.partial_fit(X[batch])
    truth = planted[1000:]
    rates = {"": np.vstack(found), "exact ": np.vstack(exact)}
    return {
        f"{name}{key}": value
        for name, alarms in rates.items()
        for key, value in (
            ("fdr", float(np.sum(alarms & ~truth) / max(alarms.sum(), 1))),
            ("power", float(alarms[truth].mean())),
        )
    }


def report(result: dict[str, Any]) -> str:
    """Return a line per law and kind of scales."""
    heads = (
        *("noise", "p < 0.01", "least", "largest", "samples", "rejected"),
        *("FDR", "power", "exact FDR", "exact power"),
    )
    keys = ("overall", "least", "largest", "samples", "rejected", "fdr", "power")
    rows = [
        (
            f"{row['law']}, {row['scales']}",
            *(number(row[key], ".4f") for key in keys[:5]),
            *(number(row[key], ".3f") for key in keys[5:]),
            *(number(row[f"exact {key}"], ".3f") for key in keys[5:]),
        )
        for row in result["rows"]
    ]
    lines = [table(heads, rows)]
    for row in result["rows"]:
        found = row["fdr"] <= MAX_FDR and row["power"] >= MIN_POWER
        met = _within(row["overall"], OVERALL), _within_each(row), found
        words = ["met" if one else "NOT MET" for one in met]
        name = f"{row['law']}, {row['scales']}"
        lines.append(f"{name}: overall {words[0]}, each {words[1]}, stream {words[2]}")
    return "\n".join(lines)


def _within(value: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= value <= bounds[1]


def _within_each(row: dict[str, Any]) -> bool:
    return row["least"] >= EACH[0] and row["largest"] <= EACH[1]


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the calibration of clean data, and the alarms in a stream."""
    rows = result["rows"]
    shares = [row["overall"] for row in rows]
    each = sum(map(_within_each, rows))
    rejected = next(row["rejected"] for row in rows if row["law"] == "normal")
    return [
        Finding(
            f"Of clean entries, {min(shares):.2%} to {max(shares):.2%} have a p-value below 0.01, "
            "for normal, Laplace and t(3) noise of equal and unequal scales.",
            all(_within(share, OVERALL) for share in shares),
        ),
        Finding(
            f"In {each} of {len(rows)} settings the share is between {EACH[0]:.1%} and "
            f"{EACH[1]:.1%} in every one of {N_FEATURES} features and three streams.",
            each >= 3,
        ),
        Finding(
            f"The fit rejects {rejected:.1%} of clean normal entries to protect itself, which is "
            "no alarm.",
            rejected > OVERALL[1] / 2,
        ),
        *(_found(law, [row for row in rows if row["law"] == law]) for law in ("normal", "Laplace")),
        _undetectable([row for row in rows if row["law"] == "t(3)"]),
    ]


def _found(law: str, rows: list[dict[str, Any]]) -> Finding:
    """Return power and false discoveries for one law, beside the exact one."""
    power, fdr, exact = ([row[key] for row in rows] for key in ("power", "fdr", "exact power"))
    return Finding(
        f"In {law} noise `anomalies` finds outliers of {SIZE:g} noise scales with a power of "
        f"{min(power):.3f} to {max(power):.3f}, where the exact law has {min(exact):.3f}; "
        f"{min(fdr):.3f} to {max(fdr):.3f} of the alarms are false.",
        max(fdr) <= MAX_FDR and min(power) >= min(MIN_POWER, min(exact) - NEAR_EXACT),
    )


def _undetectable(rows: list[dict[str, Any]]) -> Finding:
    """Return power and false discoveries where the exact law finds nothing."""
    power, fdr, exact = ([row[key] for row in rows] for key in ("power", "fdr", "exact power"))
    return Finding(
        f"In t(3) noise the exact law has a power of {max(exact):.3f}: outliers of {SIZE:g} scales "
        f"lie at the limit of what the rate allows. `anomalies` has {min(power):.3f} to "
        f"{max(power):.3f}, and up to {max(fdr):.3f} of its alarms are false.",
        max(fdr) <= 2.0 * MAX_FDR,
    )
