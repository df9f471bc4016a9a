"""Speed of the trackers: microseconds a sample in small, milliseconds a frame of video in large.

Data
    ``synthetic.subspace_stream``, SNR 20 dB, outlier intensity 5. *Small*: n = 50, r = 2, 90 %
    observed, density 20 %. *Frames*: n = 25344 (144 x 176 pixels), r = 10, all observed, density 5
    %.
Settings
    One BLAS thread, default parameters. *Small*: ``partial_fit`` of 4000 samples (1000 with
    ``--quick``) after 1000 others; *with start* is ``fit`` of all, robust start included.
    *Frames*: ``partial_fit`` of 32 frames after 48, from a given basis. *NumPy*: the same steps
    written straight with arrays: the same fit and rejection, then the rows' recursive least
    squares at once with ``einsum``. *stream*: the arrays of the state, multiplied by a number in
    place, with 16 copies in turns so that they come from memory; *cached*: one copy again and
    again. Methods take turns, the least processor time of 5 turns counts (2 with
    ``--quick``): all of them have one thread, and other jobs disturb it less than wall time.
Check
    *apart*: SEP between the subspaces of ``PetrelsADMM`` and of the NumPy version after 48 frames.
Claim
    At most 25 us a sample in small; on frames at least 10 times as fast as NumPy, and at most 3
    times as long as the stream.
Note
    About half of a frame's time is its robust fit, which goes over basis and frame several times
    besides the one pass over the state. The NumPy version does it by BLAS.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import number, table
from benchmarks.shared.timing import round_robin
from benchmarks.shared.trackers import HOMES, OURS, estimator, there
from thalweg import PetrelsADMM, synthetic
from thalweg.metrics import sep
from thalweg.trackers.noise_scale import truncated_variance

PIXELS, RANK, FRAMES, LISTEN, COPIES = 25344, 10, 32, 16, 16
TRACKERS = [name for name in HOMES if name not in ("RobustMatrixCompletion", "LRGeomCG", "RPCAGD")]
GOALS = {"us_per_sample": 25.0, "over_numpy": 10.0, "over_stream": 3.0}


def run(quick: bool) -> dict[str, Any]:
    """Time everything in turns."""
    turns = 2 if quick else 5
    with blas_threads.limit(1):
        small = _small(1000 if quick else 4000, turns)
        frames = _frames(turns)
    return {"goals": GOALS, "small": small, "frames": frames}


def _small(n: int, turns: int) -> dict[str, Any]:
    stream = synthetic.subspace_stream(1000 + n, 50, 2, outlier_density=0.2, random_state=0)
    names = there(TRACKERS)
    models = {name: estimator(name, 2, random_state=0).fit(stream.X[:1000]) for name in names}
    jobs: dict[str, Callable[[], Any]] = {}
    for name, model in models.items():
        jobs[name] = lambda model=model: model.partial_fit(stream.X[1000:])
        jobs[f"{name} with start"] = lambda name=name: estimator(name, 2, random_state=0).fit(
            stream.X
        )
    timed = {name: min(cpu) for name, (_, cpu, _) in round_robin(jobs, turns).items()}
    return {
        name: {
            "us_per_sample": 1e6 * timed[name] / n,
            "with_start": 1e6 * timed[f"{name} with start"] / (1000 + n),
        }
        for name in names
    }


def _frames(turns: int) -> dict[str, Any]:
    stream = synthetic.subspace_stream(
        48 + FRAMES, PIXELS, RANK, missing=0.0, outlier_density=0.05, random_state=0
    )
    rng = np.random.default_rng(1)
    true = stream.basis_at(0)
    first = np.linalg.qr(true + 0.05 * rng.standard_normal(true.shape) / PIXELS**0.5)[0]
    found = {}
    for dtype in ("float64", "float32"):
        X = stream.X.astype(dtype)
        model = PetrelsADMM(RANK, init=first.T, random_state=0).partial_fit(X[:48])
        tracker = _NumpyTracker(first.astype(dtype))
        for x in X[:48]:
            tracker.take(x)
        apart = sep(model.components_, tracker.U.T)
        copies = [[array.copy() for array in model.state_.tracker[:3]] for _ in range(COPIES)]
        jobs = {
            "ours": lambda model=model, X=X: model.partial_fit(X[48:]),
            "numpy": lambda tracker=tracker, X=X: [tracker.take(x) for x in X[48:52]],
            "stream": lambda copies=copies: [_scale(arrays) for arrays in copies],
            "cached": lambda copies=copies: [_scale(copies[0]) for _ in range(COPIES)],
        }
        timed = round_robin(jobs, turns)
        counts = {"ours": FRAMES, "numpy": 4, "stream": COPIES, "cached": COPIES}
        ms = {name: 1e3 * min(timed[name][1]) / count for name, count in counts.items()}
        found[dtype] = {
            "ms_per_frame": ms["ours"],
            "numpy_ms": ms["numpy"],
            "stream_ms": ms["stream"],
            "cached_ms": ms["cached"],
            "state_bytes": sum(array.nbytes for array in copies[0]),
            "over_numpy": ms["numpy"] / ms["ours"],
            "over_stream": ms["ours"] / ms["stream"],
            "apart": apart,
        }
    return found


def _scale(arrays: list[Any]) -> None:
    for array in arrays:
        array *= array.dtype.type(0.9999)


class _NumpyTracker:
    """PETRELS-ADMM on full samples, step by step with arrays: what one would write in NumPy."""

    def __init__(self, U: Any, forgetting: float = 0.9999) -> None:
        self.U, self.P = U.copy(), None
        self.forgetting, self.threshold, self.limit = forgetting, 0.5, 2.5
        self.scales: list[float] = []
        self.noise, self.weight, self.sizes = 0.0, 0.0, []

    def take(self, x: Any) -> None:
        """Fit, reject, and let the rows learn."""
        listening = len(self.scales) < LISTEN
        threshold = 1e-2 * np.median(np.abs(x)) if listening else self.threshold * self.noise
        w = self._huber(x, threshold)
        r = x - self.U @ w
        if listening:
            self.scales.append(1.4826 * float(np.median(np.abs(r))))
            self.noise = float(np.median(self.scales))
            limit = self.limit * self.scales[-1]
        else:
            limit = self.limit * self.noise
        w, r, clean = self._reject(x, w, r, limit)
        spare = np.count_nonzero(clean) - w.size
        self.sizes.append(float(w @ w))
        if listening:
            self.weight += spare
            return
        self._hear(float(np.sum(r[clean] ** 2)), spare)
        self._learn(x, w, clean)

    def _huber(self, x: Any, threshold: float) -> Any:
        """Three steps of reweighted least squares, then Newton's until no entry changes sides."""
        U, w = self.U, np.zeros(self.U.shape[1], self.U.dtype)
        sides = np.full(len(x), 2)
        for round_ in range(60):
            r = x - U @ w
            beyond = np.abs(r) > threshold
            now = np.where(beyond, np.sign(r), 0)
            if round_ > 3 and np.array_equal(now, sides):
                break
            sides = now
            far = threshold / np.maximum(np.abs(r), threshold) if round_ < 3 else ~beyond
            weight = np.where(beyond, far, 1).astype(U.dtype)
            g = U.T @ np.clip(r, -threshold, threshold).astype(U.dtype)
            w = w + np.linalg.solve((U * weight[:, None]).T @ U, g)
        return w

    def _reject(self, x: Any, w: Any, r: Any, limit: float) -> tuple[Any, Any, Any]:
        clean = np.abs(r) <= limit
        for _ in range(10):
            kept = self.U[clean]
            w = np.linalg.solve(kept.T @ kept, kept.T @ x[clean])
            r = x - self.U @ w
            now = np.abs(r) <= limit
            if np.array_equal(now, clean):
                break
            clean = now
        return w, r, clean

    def _hear(self, squares: float, spare: int) -> None:
        level = squares / (spare * truncated_variance(self.limit))
        self.weight = (1 - 1 / 200.0) * self.weight + spare
        self.noise *= (level / self.noise**2) ** (0.5 * spare / self.weight)

    def _learn(self, x: Any, w: Any, clean: Any) -> None:
        """Recursive least squares of all rows, with an inverse matrix for each."""
        kind, K = self.U.dtype.type, w.size
        if self.P is None:
            typical = np.exp(np.mean(np.log(self.sizes)))
            self.P = np.tile(np.eye(K, dtype=kind) * kind(K / typical), (len(x), 1, 1))
        self.P /= kind(self.forgetting)
        Pw = np.einsum("nij,j->ni", self.P, w)
        gain = Pw / (1 + Pw @ w)[:, None] * clean[:, None]
        self.U += gain * (x - self.U @ w)[:, None]
        self.P -= np.einsum("ni,nj->nij", gain, Pw)


def report(result: dict[str, Any]) -> str:
    """Return times, ratios and the claims."""
    rows = [
        (name, number(row["us_per_sample"], ".1f"), number(row["with_start"], ".1f"))
        for name, row in result["small"].items()
    ]
    lines = [table(("n = 50, r = 2", "us a sample", "with start"), rows), ""]
    rows = [
        (
            dtype,
            *(number(row[key]) for key in ("ms_per_frame", "numpy_ms", "stream_ms", "cached_ms")),
            *(number(row[key]) for key in ("over_numpy", "over_stream")),
            number(row["apart"], ".1e"),
        )
        for dtype, row in result["frames"].items()
    ]
    heads = (
        "n = 25344, r = 10",
        *("ms a frame", "NumPy", "stream", "cached", "x NumPy", "x stream", "apart"),
    )
    lines.append(table(heads, rows))
    us, goals = result["small"][OURS]["us_per_sample"], result["goals"]
    lines.append(f"at most {goals['us_per_sample']:g} us a sample: {_word(us <= 25.0)} ({us:.1f})")
    for dtype, row in result["frames"].items():
        lines += [
            f"{dtype}: at least {goals['over_numpy']:g} times NumPy: "
            f"{_word(row['over_numpy'] >= goals['over_numpy'])} ({row['over_numpy']:.1f})",
            f"{dtype}: at most {goals['over_stream']:g} times the stream: "
            f"{_word(row['over_stream'] <= goals['over_stream'])} ({row['over_stream']:.1f})",
        ]
    return "\n".join(lines)


def _word(held: bool) -> str:
    return "met" if held else "NOT MET"


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the times of ``PetrelsADMM``."""
    us, frames = result["small"][OURS]["us_per_sample"], result["frames"].values()
    numpy, stream = ([row[key] for row in frames] for key in ("over_numpy", "over_stream"))
    goals = result["goals"]
    return [
        Finding(
            f"A sample of n = 50 takes {us:.1f} us.",
            us <= goals["us_per_sample"],
        ),
        Finding(
            f"A frame of 25,344 pixels is {min(numpy):.0f} to {max(numpy):.0f} times as fast as "
            f"the NumPy version, and takes {min(stream):.1f} to {max(stream):.1f} times as long as "
            "reading and writing the state once.",
            min(numpy) >= goals["over_numpy"] and max(stream) <= goals["over_stream"],
        ),
    ]
