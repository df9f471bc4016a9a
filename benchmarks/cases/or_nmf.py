"""[R] Fig. 2-5, 8, 9: loss of faces against samples and against seconds, OR-NMF and its rivals.

Figures
    [R] Fig. 2 and 3 (OR-NMF, MOR-NMF, OMF, OMF-DA, INMF), 4 and 5 (WOR-NMF, ONMF), 8 and 9
    (OR-NMF-IS, ONMF-IS). Fig. 6, 7 and 12 need the features of IAPR TC12, which are not at hand.
Data
    ``cbcl_faces.npz`` (500 faces of 2429) and ``orl_32x32.npz`` (400) in the folder that
    ``THALWEG_DATA`` names, divided by 255; for Itakura-Saito (1 + pixel) / 256.
Settings
    K = 10 and 50, two epochs in random order, one start and one order for all methods;
    ten of them, as in the paper (with ``--quick`` two, and only K = 10). A fit that takes
    ``LONGEST`` seconds is cut, and says so.
    OR-NMF: all samples in the buffer, the paper's schedule with its horizon. MOR-NMF: the same
    with 20 samples. *endless*: MOR-NMF with the schedule that needs no horizon. WOR-NMF and
    ONMF: windows of K. One BLAS thread. The inner loops of OR-NMF and OMF are compiled, those of
    OMF-DA, INMF and ONMF are NumPy: their seconds are those of this library, no more.
Measure
    Mean loss of all faces, codes exact (certified to 1e-4 for Itakura-Saito), with the
    components after so many samples; processor seconds, the clock stands while components are
    stored. (The paper
    takes the faces so far, with the codes found on the way.)
Claims
    OR-NMF and MOR-NMF are ahead of OMF, OMF-DA and INMF, WOR-NMF of ONMF, and OR-NMF-IS of
    ONMF-IS, at equal samples and at equal time.
Note
    OMF, whose loops are compiled here too, is ahead of MOR-NMF at equal samples, of OR-NMF at
    equal seconds, and of both for CBCL with K = 50, as is OMF-DA: with few samples for so many
    components the past, which they keep as a whole, counts for more than exact steps.
Picture
    ``docs/images/or_nmf.png`` (``results/quick/or_nmf.png`` with ``--quick``).
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _threads
from benchmarks._data import stored
from benchmarks._table import number, table
from thalweg import ORNMF, rivals
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.encoders.fast import Fast
from thalweg.encoders.newton import Newton
from thalweg.prox.l1 import L1

FILES = {"CBCL": ("cbcl_faces.npz", 500), "ORL": ("orl_32x32.npz", 400)}
STARTS = 10
SIZES = ((10, "squared"), (10, "itakura-saito"), (50, "squared"), (50, "itakura-saito"))
LONGEST = 120.0  # processor seconds of a fit
BUFFER = 20
SHARES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.4, 2.0)  # of an epoch, when components are stored
CLAIMS = {
    "squared": (("OR-NMF", "MOR-NMF"), ("OMF", "OMF-DA", "INMF")),
    "chunks": (("WOR-NMF",), ("ONMF",)),
    "itakura-saito": (("OR-NMF-IS",), ("ONMF-IS",)),
}
COLOURS = {
    "OR-NMF": "#1b6ca8", "MOR-NMF": "#5aa9e6", "endless": "#7bc8a4", "OMF": "#d1495b",
    "OMF-DA": "#e09f3e", "INMF": "#7a7a7a", "WOR-NMF": "#1b6ca8", "ONMF": "#7a7a7a",
    "OR-NMF-IS": "#1b6ca8", "ONMF-IS": "#d1495b",
}  # fmt: skip
ROOT = Path(__file__).parents[2]


class Snapshots:
    """A callback that keeps components after certain numbers of samples; the clock stands."""

    def __init__(self, model: Any, counts: list[int]) -> None:
        self.model, self.counts = model, counts
        self.rows: list[tuple[int, float, Any]] = []
        self.paused, self.begin = 0.0, time.process_time()

    def __call__(self, progress: Any) -> None:
        """Take a snapshot if it is time, and stop if the time is up."""
        now = time.process_time()
        elapsed = now - self.begin - self.paused
        if progress.n_samples_seen >= self.counts[min(len(self.rows), len(self.counts) - 1)]:
            self.rows.append((progress.n_samples_seen, elapsed, self.model.components_))
        self.paused += time.process_time() - now
        if elapsed > LONGEST:
            raise _Enough


class _Enough(Exception):  # noqa: N818 - not an error
    """The time is up."""


def run(quick: bool) -> dict[str, Any]:
    """Fit everything from every start, rate the snapshots, draw the picture."""
    curves: dict[str, Any] = {}
    starts = 2 if quick else STARTS
    with _threads.limit(1):
        for name, (file, n) in FILES.items():
            for K, loss in SIZES:
                if quick and K > 10:
                    continue
                X = _faces(file, loss)
                key = f"{name}, K = {K}, {loss}"
                few = min(n, 100) if quick else n
                curves[key] = _curves(X, few, K, starts, loss)
    result = {
        "starts": starts,
        "buffer": BUFFER,
        "curves": curves,
        "verdicts": _verdicts(curves),
    }
    path = Path(__file__).parents[1] / "results/quick" if quick else ROOT / "docs/images"
    _draw(curves, path / "or_nmf.png")
    return result


def _faces(file: str, loss: str) -> Any:
    with stored(file) as data:
        pixels = data["images"].reshape(len(data["images"]), -1).astype(np.float64)
    return pixels / 255 if loss == "squared" else (1 + pixels) / 256


def _models(K: int, n: int, loss: str) -> dict[str, Any]:
    common = {"batch_size": 10, "random_state": 0}
    if loss == "itakura-saito":
        return {
            "OR-NMF-IS": ORNMF(K, loss=loss, buffer_size=BUFFER, horizon=2 * n, **common),
            "ONMF-IS": rivals.ol_lef(K, batch_size=1),
        }
    return {
        "OR-NMF": ORNMF(K, buffer_size=None, horizon=2 * n, **common),
        "MOR-NMF": ORNMF(K, buffer_size=BUFFER, horizon=2 * n, **common),
        "endless": ORNMF(K, buffer_size=BUFFER, **common),
        "OMF": rivals.omf(K),
        "OMF-DA": rivals.omf_da(K),
        "INMF": rivals.inmf(K),
        "WOR-NMF": ORNMF(
            K, buffer_size=None, window=K, horizon=-(-2 * n // K), batch_size=K, random_state=0
        ),
        "ONMF": rivals.onmf(K),
    }


def _curves(faces: Any, n: int, K: int, starts: int, loss: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for model in _models(K, n, loss).values():
        model.fit(faces[:40])  # compiles
    for seed in range(starts):
        rng = np.random.default_rng(seed)
        X = faces[rng.permutation(len(faces))[:n]]
        stream = np.vstack([X[rng.permutation(n)] for _ in range(2)])
        first = rng.random((K, X.shape[1]))
        for name, model in _models(K, n, loss).items():
            curve = _rated(model.set_params(init=first, shuffle=False), stream, X, n, loss)
            found.setdefault(name, []).append(curve)
    return {name: _summary(runs) for name, runs in found.items()}


def _rated(model: Any, stream: Any, X: Any, n: int, loss: str) -> dict[str, Any]:
    snapshots = Snapshots(model, [max(1, round(share * n)) for share in SHARES])
    model.set_params(callback=snapshots)
    snapshots.begin = time.process_time()
    with suppress(_Enough):
        model.fit(stream)
    judge: Any = Fast(outliers=L1(1e30))
    if loss == "itakura-saito":
        judge = Newton(ItakuraSaito(), tol=1e-4)
    samples, seconds, components = zip(*snapshots.rows, strict=True)
    losses = [float(judge.encode(X.T, np.asfortranarray(W.T)).loss.mean()) for W in components]
    return {"samples": samples, "seconds": seconds, "losses": losses, "last": len(stream)}


def _summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    reached = min(len(r["samples"]) for r in runs)
    losses = [r["losses"][:reached] for r in runs]
    return {
        "samples": runs[0]["samples"][:reached],
        "cut": sum(r["samples"][-1] < r["last"] for r in runs),
        "seconds": np.mean([r["seconds"][:reached] for r in runs], axis=0),
        "mean": np.mean(losses, axis=0),
        "deviation": np.std(losses, axis=0),
    }


def _at(curve: dict[str, Any], key: str, when: float) -> float:
    """Return the loss of the last snapshot until then, or the first."""
    before = [m for at, m in zip(curve[key], curve["mean"], strict=True) if at <= when * 1.001]
    return float(before[-1] if before else curve["mean"][0])


def _verdicts(curves: dict[str, Any]) -> list[dict[str, Any]]:
    """Compare each of the paper's methods with each rival, when the first of both has ended."""
    found = []
    for key, own in curves.items():
        for ours, theirs in CLAIMS.values():
            for one in ours:
                for other in theirs:
                    if one in own and other in own:
                        a, b = own[one], own[other]
                        row = {"data": key, "method": one, "rival": other}
                        for unit in ("samples", "seconds"):
                            until = min(a[unit][-1], b[unit][-1])
                            row[f"at_equal_{unit}"] = _at(b, unit, until) / _at(a, unit, until)
                        found.append(row)
    return found


def _draw(curves: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    rows = list(curves)
    figure, axes = plt.subplots(
        len(rows), 2, figsize=(11, 3.0 * len(rows)), layout="constrained", squeeze=False
    )
    for key, across in zip(rows, axes, strict=True):
        for ax, measure in zip(across, ("samples", "seconds"), strict=True):
            for name, curve in curves[key].items():
                style = "--" if name in ("WOR-NMF", "ONMF") else "-"
                ax.plot(curve[measure], curve["mean"], style, color=COLOURS[name], lw=1.8,
                        label=name)  # fmt: skip
                low, high = (
                    np.asarray(curve["mean"]) + s * np.asarray(curve["deviation"]) for s in (-1, 1)
                )
                ax.fill_between(curve[measure], low, high, color=COLOURS[name], alpha=0.12, lw=0)
            ax.set(xscale="log", yscale="log", xlabel=measure, ylabel="mean loss")
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.set_title(key, fontsize=10)
            ax.grid(which="both", alpha=0.25)
        across[1].legend(fontsize=8, ncols=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def report(result: dict[str, Any]) -> str:
    """Return last losses and seconds of all methods, and the claims one by one."""
    rows = [
        (f"{key}: {name}", number(c["mean"][-1], ".4g"), number(c["deviation"][-1], ".2g"),
         number(c["seconds"][-1]), f"{c['cut']} cut" if c["cut"] else "")
        for key, own in result["curves"].items()
        for name, c in own.items()
    ]  # fmt: skip
    words = [
        f"{v['data']}: {v['rival']} / {v['method']} {v['at_equal_samples']:.3f} at equal "
        f"samples, {v['at_equal_seconds']:.3f} at equal seconds"
        for v in result["verdicts"]
    ]
    for key in ("at_equal_samples", "at_equal_seconds"):
        ahead = [v[key] >= 1.0 for v in result["verdicts"]]
        words.append(f"ahead {key.replace('_', ' ')}: {sum(ahead)} of {len(ahead)} met")
    heads = ("data: method", "loss", "+-", "seconds", "")
    return "\n".join([table(heads, rows), *words])
