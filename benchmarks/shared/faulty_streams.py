"""Streams as sensors make them: unequal noise, bursts, faults, drop-outs, drift."""

from typing import Any, NamedTuple

import numpy as np

from thalweg.metrics import sep
from thalweg.synthetic import SubspaceStream, subspace_stream

__all__ = ["STREAMS", "FaultyStream", "faulty_stream"]

# Names, and what is special.
STREAMS = {
    "papers'": "equal noise, 20 % scattered outliers",
    "unequal noise": "noise scales of the features log-uniform in [1/5, 5], 20 % outliers",
    "unequal noise, clean": "the same without outliers",
    "heavy tails": "noise of Student's t with 3 degrees of freedom, no outliers",
    "bursts": "of every 200 samples, 40 wholly corrupted",
    "bad sensors": "a fifth of the sensors corrupted for 500 samples, then others",
    "stuck sensors": "a fifth of the sensors stuck at a value for 500 samples, then others",
    "moving block": "ten adjacent features covered by one value, a block that wanders",
    "fixed pattern": "a fifth of the samples with multiples of one pattern on ten features",
    "drop-outs": "groups of sensors missing in long runs, 20 % outliers",
    "value-dependent gaps": "the largest quarter of the entries missing half of the time",
    "rotation 1e-4": "the subspace turns by 1e-4 radians a sample, 20 % outliers",
    "rotation 1e-3": "by 1e-3",
    "rotation 5e-3": "by 5e-3",
    "jump": "another subspace from the middle on, 20 % outliers",
    "n = 200, r = 20": "more features and dimensions, 20 % outliers",
}
_SNR = 20.0
_INTENSITY = 5.0  # largest outlier, in units of the largest clean entry


class FaultyStream(NamedTuple):
    """Samples with NaN at gaps, the mask of the faulty entries, and the stream behind them."""

    X: Any
    faulty: Any
    source: SubspaceStream

    @property
    def n_components(self) -> int:
        """Number of dimensions of the subspace."""
        return int(self.source.bases.shape[2])

    def error(self, components: Any) -> float:
        """Return the SEP of a basis after the last sample."""
        return sep(components, self.source.basis_at(len(self.X) - 1).T)


def faulty_stream(name: str, n_samples: int, seed: int) -> FaultyStream:
    """Draw one of the streams: SNR 20 dB, 10 % missing, n = 50 and r = 2 unless it says more."""
    F, K = (200, 20) if name.startswith("n = ") else (50, 2)
    rotation = float(name.split()[1]) if name.startswith("rotation") else 0.0
    jumps = [n_samples // 2] if name == "jump" else []
    source = subspace_stream(
        n_samples, F, K, missing=0.0, outlier_density=0.0, snr=_SNR, rotation=rotation,
        jumps=jumps, random_state=seed,
    )  # fmt: skip
    rng = np.random.default_rng(seed + 1000)
    noise = source.X - source.clean
    if name.startswith("unequal"):
        noise = noise * np.exp(rng.uniform(-np.log(5.0), np.log(5.0), size=F))
    if name == "heavy tails":
        noise = noise.std() * rng.standard_t(3, size=noise.shape) / np.sqrt(3.0)
    X, gaps = source.clean + noise, rng.random(source.X.shape) < 0.1
    faulty = _faults(name, X.shape, rng)
    size = _INTENSITY * float(np.abs(source.clean).max())
    if name == "stuck sensors":
        for start in range(0, n_samples, 500):
            block = slice(start, start + 500)
            X[block] = np.where(faulty[block], X[start], X[block])
    elif name == "fixed pattern":
        X += np.where(faulty, size * rng.random((n_samples, 1)) * rng.random(F), 0.0)
    elif name == "moving block":
        X = np.where(
            faulty, size * rng.random((n_samples // 500 + 1, 1)).repeat(500, 0)[:n_samples], X
        )
    else:
        X = np.where(faulty, X + size * rng.random(X.shape), X)
    if name == "drop-outs":
        gaps |= _runs(X.shape, rng)
    if name == "value-dependent gaps":
        gaps |= (np.quantile(X, 0.75) < X) & (rng.random(X.shape) < 0.5)
    return FaultyStream(np.where(gaps, np.nan, X), faulty, source)


def _faults(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Return the mask of the faulty entries."""
    faulty = np.zeros(shape, dtype=bool)
    if name == "bursts":
        faulty[np.arange(shape[0]) % 200 >= 160] = True
    elif name in ("bad sensors", "stuck sensors"):
        for start in range(0, shape[0], 500):
            faulty[start : start + 500, rng.choice(shape[1], shape[1] // 5, replace=False)] = True
    elif name == "moving block":  # one feature further every five samples
        first = np.arange(shape[0])[:, None] // 5
        faulty = (np.arange(shape[1]) - first) % shape[1] < 10
    elif name == "fixed pattern":
        faulty[np.ix_(rng.random(shape[0]) < 0.2, rng.choice(shape[1], 10, replace=False))] = True
    elif name not in ("unequal noise, clean", "heavy tails", "value-dependent gaps"):
        faulty = rng.random(shape) < 0.2
    return faulty


def _runs(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Return gaps of five groups of sensors, with exponential lengths of 200 samples on average."""
    gone = np.zeros(shape, dtype=bool)
    groups = np.arange(shape[1]) % 5
    for group in range(5):
        at = int(rng.exponential(400.0))
        while at < shape[0]:
            length = int(rng.exponential(200.0))
            gone[at : at + length, groups == group] = True
            at += length + int(rng.exponential(400.0))
    return gone
