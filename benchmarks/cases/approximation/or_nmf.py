"""[R] Fig. 1-5, 8, 9: loss of faces against samples and against seconds, OR-NMF and baselines.

Figures
    [R] Fig. 1 (learned components), 2 and 3 (OR-NMF, MOR-NMF, OMF, OMF-DA, INMF), 4 and 5
    (WOR-NMF, ONMF), 8 and 9 (OR-NMF-IS, ONMF-IS). Fig. 6 and 7 need the features of IAPR TC12,
    which are not available here.
Data
    ``cbcl_faces.npz`` (500 faces of 2429) and ``orl_32x32.npz`` (400) in the folder that
    ``THALWEG_DATA`` names, divided by 255; for Itakura-Saito (1 + pixel) / 256.
Settings
    K = 10 and 50, two epochs in random order; in each trial one point of the simplex, uniform
    numbers scaled to the sum 1, and one order of the samples for all methods. Ten trials, four for
    Itakura-Saito ([R]: ten; with ``--quick`` two, and only K = 10). A fit is stopped after 120
    processor seconds, and the table says so. OR-NMF: all samples in the buffer, the paper's
    schedule with its horizon. MOR-NMF and OR-NMF-IS: the same with min(ceil(n / 10), 20) = 20
    samples, the rule of II-C. *endless*: MOR-NMF with the schedule that needs no horizon. *auto*:
    MOR-NMF with ``buffer_size="auto"``, 2 K samples, where that is more than 20. WOR-NMF and ONMF:
    windows of K. One BLAS thread. The inner loops of OR-NMF and OMF are compiled, those of OMF-DA,
    INMF and ONMF are NumPy: their seconds rate these implementations, not the methods.
Measure
    Mean loss of all faces, codes exact (certified to 1e-4 for Itakura-Saito), with the
    components after each number of samples; processor seconds, without the time to store
    components. (The paper uses the faces so far, with the codes computed during the fit.)
Claims
    OR-NMF and MOR-NMF are ahead of OMF, OMF-DA and INMF, WOR-NMF of ONMF, and OR-NMF-IS of
    ONMF-IS, at equal samples and at equal time.
Note
    OMF and OMF-DA keep statistics of all samples, which can matter more than exact steps when
    there are few samples for many components.
Picture
    ``docs/images/or_nmf.png``, and the components of the first trial with K = 10, as Fig. 1 has
    them, in ``docs/images/or_nmf_bases.png`` (``results/quick/`` with ``--quick``).
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.data import stored
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import number, table
from thalweg import ORNMF, baselines
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.encoders.fast import Fast
from thalweg.encoders.newton import Newton
from thalweg.prox.l1 import L1

FILES = {"CBCL": ("cbcl_faces.npz", 500), "ORL": ("orl_32x32.npz", 400)}
STARTS = {"squared": 10, "itakura-saito": 4}
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
    "OR-NMF": "#1b6ca8", "MOR-NMF": "#5aa9e6", "endless": "#7bc8a4", "auto": "#9b5de5",
    "OMF": "#d1495b", "OMF-DA": "#e09f3e", "INMF": "#7a7a7a", "WOR-NMF": "#1b6ca8",
    "ONMF": "#7a7a7a", "OR-NMF-IS": "#1b6ca8", "ONMF-IS": "#d1495b",
}  # fmt: skip


class Snapshots:
    """A callback that keeps components after certain numbers of samples, outside of the time."""

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
    bases: dict[str, Any] = {}
    starts = dict.fromkeys(STARTS, 2) if quick else STARTS
    with blas_threads.limit(1):
        for name, (file, n) in FILES.items():
            for K, loss in SIZES:
                if quick and K > 10:
                    continue
                X = _faces(file, loss)
                key = f"{name}, K = {K}, {loss}"
                few = min(n, 100) if quick else n
                curves[key], components = _curves(X, few, K, starts[loss], loss)
                if (K, loss) == SIZES[0]:
                    bases[name] = {"faces": X[:K], **components}
    result = {
        "starts": starts,
        "buffer": BUFFER,
        "curves": curves,
        "verdicts": _verdicts(curves),
    }
    _draw(curves, picture("or_nmf", quick))
    _draw_bases(bases, picture("or_nmf_bases", quick))
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
            "ONMF-IS": baselines.OLLef(K, batch_size=1),
        }
    return {
        "OR-NMF": ORNMF(K, buffer_size=None, horizon=2 * n, **common),
        "MOR-NMF": ORNMF(K, buffer_size=BUFFER, horizon=2 * n, **common),
        "endless": ORNMF(K, buffer_size=BUFFER, **common),
        **({"auto": ORNMF(K, horizon=2 * n, **common)} if 2 * K > BUFFER else {}),
        "OMF": baselines.OMF(K),
        "OMF-DA": baselines.OMFDA(K),
        "INMF": baselines.INMF(K),
        "WOR-NMF": ORNMF(
            K, buffer_size=None, window=K, horizon=-(-2 * n // K), batch_size=K, random_state=0
        ),
        "ONMF": baselines.ONMF(K),
    }


def _curves(faces: Any, n: int, K: int, starts: int, loss: str) -> tuple[Any, Any]:
    """Return the curves of all methods, and the components of each after the first trial."""
    found: dict[str, Any] = {}
    components: dict[str, Any] = {}
    for model in _models(K, n, loss).values():
        model.fit(faces[:40])  # fills the caches
    for seed in range(starts):
        rng = np.random.default_rng(seed)
        X = faces[rng.permutation(len(faces))[:n]]
        stream = np.vstack([X[rng.permutation(n)] for _ in range(2)])
        first = on_the_simplex(rng, K, X.shape[1])
        for name, model in _models(K, n, loss).items():
            curve = _rated(model.set_params(init=first, shuffle=False), stream, X, n, loss)
            found.setdefault(name, []).append(curve)
            components.setdefault(name, model.components_)
    return {name: _summary(runs) for name, runs in found.items()}, components


def on_the_simplex(rng: np.random.Generator, K: int, n_features: int) -> Any:
    """Return uniform numbers scaled to the sum 1: in the set, so that no method moves them."""
    first = rng.random((K, n_features))
    return first / first.sum(axis=1, keepdims=True)


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
    """Compare each of the paper's methods with each baseline, when the first of both has ended."""
    found = []
    for key, own in curves.items():
        for ours, theirs in CLAIMS.values():
            for one in ours:
                for other in theirs:
                    if one in own and other in own:
                        a, b = own[one], own[other]
                        row = {"data": key, "method": one, "baseline": other}
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
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _draw_bases(bases: dict[str, Any], path: Path) -> None:
    """Draw faces and the components of each method, one row of images for each."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(bases), figsize=(13, 6.2), layout="constrained")
    for ax, (name, rows) in zip(axes, bases.items(), strict=True):
        ax.imshow(np.vstack([_strip(images) for images in rows.values()]), cmap="gray")
        side = int(np.sqrt(rows["faces"].shape[1])) + 2
        ax.set_yticks([(i + 0.5) * side for i in range(len(rows))], list(rows))
        ax.set_xticks([])
        ax.set_title(name)
        ax.spines[:].set_visible(False)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _strip(images: Any) -> Any:
    """Return square images side by side, each from black to white."""
    side = int(np.sqrt(images.shape[1]))
    squares = images.reshape(-1, side, side)
    squares = squares / squares.max(axis=(1, 2), keepdims=True)
    return np.hstack([np.pad(square, 1, constant_values=1.0) for square in squares])


def report(result: dict[str, Any]) -> str:
    """Return last losses and seconds of all methods, and the claims one by one."""
    rows = [
        (f"{key}: {name}", number(c["mean"][-1], ".4g"), number(c["deviation"][-1], ".2g"),
         number(c["seconds"][-1]), f"{c['cut']} stopped" if c["cut"] else "")
        for key, own in result["curves"].items()
        for name, c in own.items()
    ]  # fmt: skip
    words = [
        f"{v['data']}: {v['baseline']} / {v['method']} {v['at_equal_samples']:.3f} at equal "
        f"samples, {v['at_equal_seconds']:.3f} at equal seconds"
        for v in result["verdicts"]
    ]
    for key in ("at_equal_samples", "at_equal_seconds"):
        ahead = [v[key] >= 1.0 for v in result["verdicts"]]
        words.append(f"ahead {key.replace('_', ' ')}: {sum(ahead)} of {len(ahead)} met")
    heads = ("data: method", "loss", "+-", "seconds", "")
    return "\n".join([table(heads, rows), *words])


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return how the methods compare when they have ended, and at equal seconds."""
    curves = result["curves"]
    plain = [own for key, own in curves.items() if "squared" in key]
    return [
        *(_order(result, plain, one) for one in CLAIMS["squared"][0]),
        _factors(result, "WOR-NMF", "ONMF"),
        _factors(result, "OR-NMF-IS", "ONMF-IS"),
        _last(plain, "ONMF"),
        _ratios(plain, "endless", "Without a horizon MOR-NMF"),
        _ratios(plain, "auto", "With 2 K samples in the buffer, for K = 50, MOR-NMF"),
    ]


def _end(own: dict[str, Any], name: str) -> float:
    return float(own[name]["mean"][-1])


def _order(result: dict[str, Any], plain: list[dict[str, Any]], one: str) -> Finding:
    """Count the cells in which a method is below each baseline, at the end and at equal times."""
    others = CLAIMS["squared"][1]
    rows = [v for v in result["verdicts"] if v["method"] == one]
    ends = [sum(_end(own, one) <= _end(own, other) for own in plain) for other in others]
    times = [
        sum(v["at_equal_seconds"] >= 1.0 for v in rows if v["baseline"] == other)
        for other in others
    ]
    # the losses after two epochs are those at equal samples
    met = [
        sum(v["at_equal_samples"] >= 1.0 for v in rows if v["baseline"] == other)
        for other in others
    ]
    ended, timed = (
        ", ".join(f"{other} in {k}" for other, k in zip(others, found, strict=True))
        for found in (ends, times)
    )
    return Finding(
        f"Of {len(plain)} cells {one} ends below or level with {ended}; at equal seconds it is "
        f"below or level with {timed}.",
        ends == met and len(rows) == len(plain) * len(others),
    )


def _factors(result: dict[str, Any], one: str, other: str) -> Finding:
    rows = [v for v in result["verdicts"] if (v["method"], v["baseline"]) == (one, other)]
    samples, seconds = ([v[f"at_equal_{unit}"] for v in rows] for unit in ("samples", "seconds"))
    return Finding(
        f"{one} is ahead of {other} in every cell, by factors of {min(samples):.2f} to "
        f"{max(samples):.2f} at equal samples and {min(seconds):.2f} to {max(seconds):.2f} at "
        "equal seconds.",
        min(samples + seconds) > 1.0,
    )


def _last(plain: list[dict[str, Any]], name: str) -> Finding:
    above = [_end(own, name) / max(_end(own, o) for o in own if o != name) for own in plain]
    return Finding(
        f"{name} ends above all other methods in every cell, by factors of {min(above):.2f} to "
        f"{max(above):.2f} over the next.",
        min(above) > 1.0,
    )


def _ratios(plain: list[dict[str, Any]], name: str, words: str) -> Finding:
    ratios = [_end(own, name) / _end(own, "MOR-NMF") for own in plain if name in own]
    return Finding(
        f"{words} ends at {min(ratios):.3f} to {max(ratios):.3f} times the loss of MOR-NMF with "
        f"a horizon and {BUFFER} samples.",
        0.0 < min(ratios) <= max(ratios),
    )
