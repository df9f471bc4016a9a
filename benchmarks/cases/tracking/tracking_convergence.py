"""[T] Fig. 2-4: outliers of a sample over the rounds of ADMM, the basis and its error over samples.

Figure
    [T] Fig. 2 (|s of a round - s of the one before|), Fig. 3 (|U of a sample - U of the one
    before|) and Fig. 4 (error of the subspace, beside PETRELS on data without gaps and outliers).
Data
    ``synthetic.subspace_stream``: n = 50, r = 2, 5000 samples, 90 % observed, in the paper's
    reading: noise of standard deviation 10^(-SNR / 20), outliers uniform on [0, intensity]. Fig. 2:
    density 5 %, intensity 0.1, 1 and 10, SNR 0 and 20 dB. Fig. 3: intensity 10, density 5 to
    40 %, SNR 0, 10 and 20 dB. Fig. 4: the same, density 5 %. 5 seeds (1 with ``--quick``; the
    paper: 100).
Settings
    *Fig. 2*: the last 100 samples of a stream, with the basis that ``PetrelsADMM`` has of it.
    Algorithm 2 as it is meant, written with arrays, since the library's keeps no history: l1 weight
    1 as the authors have it, penalties rho1 = rho2 = 0.1, 0.5, 1 and 1.5, 500 rounds. The paper
    does not say which of its weights is the rho that it varies. *default weight*: that of the
    library, half a noise level, with ``noise="common"``. *Fig. 3*: ``PetrelsADMM(2,
    forgetting=1.0, init="random", on_jump="note")``, one sample at a time. *Fig. 4*: the same with
    the paper's ``forgetting=0.9999``, and ``Petrels(2, init="random")`` with the clean data and
    their noise, all entries observed: with 0.98, which [T] II-B names for the original, and with
    0.9999.
Measures
    *stop*: rounds until the paper's rule, sqrt(n) 1e-5 + 1e-3 |rho1 r|, is met; *left*: variation
    after the last round; the median and the worst over samples. *slope*: of the logarithm of the
    relative change of U against log t from sample 500 on, -1 for 1 / t, the median over seeds.
    SEP, and SE, the sine of the largest angle, after the last sample, medians.
    *apart*: largest difference of the codes of Algorithm 2 from the library's exact fit.
Claim
    The variation ends at 1e-10 or below in all settings, and with rho of at least 0.5 the rule
    stops within 50 rounds. The change of U falls at least as fast as 1 / t^0.9. ``PetrelsADMM``
    ends below PETRELS with full observations, in SEP and in SE, and takes longer to 0.1.
Note
    The default solver, Newton's method, does not run the rounds of Algorithm 2. ``PetrelsADMM``
    has gaps, outliers, and 16 samples that it uses only to estimate the noise; PETRELS has none
    of these here.
Picture
    ``docs/images/tracking_convergence.png`` (``results/quick/`` with ``--quick``).
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import number, table
from benchmarks.shared.trackers import COLOURS, OURS, estimator
from thalweg import synthetic
from thalweg.metrics import sep, subspace_error

SAMPLES, LAST, ROUNDS, SHOWN = 5000, 100, 500, 120
INTENSITIES, RHOS = (0.1, 1.0, 10.0), (0.1, 0.5, 1.0, 1.5)
SNRS, DENSITIES = (0.0, 10.0, 20.0), (0.05, 0.1, 0.2, 0.4)
EDGES = np.unique(np.geomspace(10, SAMPLES, 40).astype(int))  # bins of samples
AT = np.unique(np.r_[np.arange(2, 100, 2), np.geomspace(100, SAMPLES, 50)].astype(int))
FULL = {f"Petrels, {factor:g}": factor for factor in (0.98, 0.9999)}
STILL, SOON, SLOPE, NEAR = 1e-10, 50, -0.9, 0.1
SHADES = ("#a9cce3", "#5aa9e6", "#1b6ca8", "#0b3954")


def run(quick: bool) -> dict[str, Any]:
    """Follow the rounds and the streams, and draw."""
    seeds = range(1 if quick else 5)
    with blas_threads.limit(1):
        result = {
            "seeds": list(seeds),
            "rounds": [_rounds(i, snr) for i in INTENSITIES for snr in SNRS[::2]],
            "samples": [_changes(snr, d, seeds) for snr in SNRS for d in DENSITIES],
            "errors": [_errors(snr, seeds) for snr in SNRS],
        }
    _draw(result, picture("tracking_convergence", quick))
    return result


def _stream(seed: int, **settings: float) -> synthetic.SubspaceStream:
    more: dict[str, Any] = {"outlier_intensity": 10.0, **settings}
    return synthetic.subspace_stream(SAMPLES, 50, 2, noise="absolute", random_state=seed, **more)


def _rounds(intensity: float, snr: float) -> dict[str, Any]:
    """Return the variation of the outliers over the rounds, for every rho and both weights."""
    stream = _stream(0, outlier_intensity=intensity, snr=snr)
    model = estimator(OURS, 2, noise="common", random_state=0).fit(stream.X)
    X, U = stream.X[-LAST:], model.components_.T
    found = {}
    for weight, name in ((1.0, "weight 1"), (0.5 * model.noise_scale_, "default weight")):
        for rho in RHOS:
            found[f"{name}, {rho:g}"] = _algorithm_2(X, U, weight, rho)
    return {"intensity": intensity, "snr": snr, "found": found}


def _algorithm_2(X: Any, U: Any, weight: float, rho: float) -> dict[str, Any]:
    """Run Algorithm 2 of [T] on the rows of X at once, and keep a diary."""
    observed = ~np.isnan(X)
    x, atoms = np.where(observed, X, 0.0), observed[:, :, None] * U
    inverse = np.linalg.pinv(atoms)
    s, dual, e, r = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), x
    moves, stop = [], np.full(len(x), ROUNDS)
    for step in range(ROUNDS):
        u = (r + rho * (s - dual)) / (1.0 + rho)  # [T] (15), its sign corrected
        new = _shrunk(u + dual, weight / rho)  # [T] (16)
        dual = dual + u - new
        moves.append(np.linalg.norm(new - s, axis=1))
        s = new
        rest = rho * np.linalg.norm(dual, axis=1)
        met = moves[-1] < np.sqrt(observed.sum(axis=1)) * 1e-5 * weight + 1e-3 * rest
        stop = np.where(met, np.minimum(stop, step + 1), stop)
        w = np.einsum("skn,sn->sk", inverse, x - s + e)  # [T] (20)
        r = x - np.einsum("snk,sk->sn", atoms, w)
        z = s - r  # [T] (21)
        e = (rho * z + _shrunk(z, weight * (1.0 + 1.0 / rho))) / (1.0 + rho)  # [T] (22)
    return {
        "median": np.median(moves[:SHOWN], axis=1),
        "left": float(np.max(moves[-1])),
        "stop": float(np.median(stop)),
        "last_stop": int(stop.max()),
        "apart": float(np.abs(w - _exact(x, observed, U, weight)).max()),
    }


def _shrunk(x: Any, by: float) -> Any:
    return np.sign(x) * np.maximum(np.abs(x) - by, 0.0)


def _exact(x: Any, observed: Any, U: Any, knee: float) -> Any:
    """Return the codes of the same problem by the library's exact fit."""
    from thalweg import _native
    from thalweg._linalg import pack_rows

    H, solved = np.zeros((len(x), U.shape[1])), np.zeros(len(x), bool)
    _native.huber_codes(x, observed, pack_rows(U), knee, 60, H, solved)
    return H


def _changes(snr: float, density: float, seeds: Any) -> dict[str, Any]:
    """Return the change of U with a sample, the median in bins of samples and over seeds."""
    curves, slopes = [], []
    for seed in seeds:
        stream = _stream(seed, snr=snr, outlier_density=density)
        model = estimator(OURS, 2, forgetting=1.0, init="random", on_jump="note", random_state=seed)
        change, before = np.zeros(SAMPLES), None
        for t, x in enumerate(stream.X):
            U = model.partial_fit(x[None]).components_
            if before is not None:
                change[t] = np.linalg.norm(U - before) / np.linalg.norm(U)
            before = U
        bins = [np.median(change[a:b]) for a, b in pairwise(EDGES)]
        late = _middles() >= 500
        curves.append(bins)
        slopes.append(np.polyfit(np.log(_middles()[late]), np.log(np.array(bins)[late]), 1)[0])
    return {
        "snr": snr,
        "density": density,
        "change": np.median(curves, axis=0),
        "slope": float(np.median(slopes)),
        "slopes": [float(slope) for slope in slopes],
    }


def _middles() -> Any:
    return np.sqrt(EDGES[:-1] * EDGES[1:])


def _errors(snr: float, seeds: Any) -> dict[str, Any]:
    """Return SEP and SE along the stream, of ours and of PETRELS on data that are whole."""
    curves: dict[str, list[Any]] = {name: [] for name in (OURS, *FULL)}
    for seed in seeds:
        stream = _stream(seed, snr=snr)
        whole = _stream(seed, snr=snr, outlier_density=0.0, missing=0.0).X
        plain = {"init": "random", "on_jump": "note", "random_state": seed}
        ours = estimator(OURS, 2, forgetting=0.9999, **plain)
        curves[OURS].append(_along(ours, stream.X, stream))
        for name, factor in FULL.items():
            model = estimator("Petrels", 2, forgetting=factor, **plain)
            curves[name].append(_along(model, whole, stream))
    medians = {name: np.median(found, axis=0) for name, found in curves.items()}
    return {
        "snr": snr,
        "sep": {name: found[:, 0] for name, found in medians.items()},
        "se": {name: found[:, 1] for name, found in medians.items()},
        "arrival": {name: _arrival(found[:, 0]) for name, found in medians.items()},
    }


def _along(model: Any, X: Any, stream: synthetic.SubspaceStream) -> Any:
    truth, begin, found = stream.basis_at(0).T, 0, []
    for end in AT:
        components = model.partial_fit(X[begin:end]).components_
        found.append((min(sep(components, truth), 1e3), subspace_error(components, truth)))
        begin = end
    return found


def _arrival(curve: Any) -> int | None:
    """Return the samples from which on the curve stays near."""
    far = np.flatnonzero(curve > NEAR)
    if len(far) == 0:
        return int(AT[0])
    return None if far[-1] == len(AT) - 1 else int(AT[far[-1] + 1])


def _draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["font.size"] = 13
    figure, axes = plt.subplots(3, 3, figsize=(15, 12.5), sharey="row", layout="constrained")
    for ax, intensity in zip(axes[0], INTENSITIES, strict=True):
        for row in (row for row in result["rounds"] if row["intensity"] == intensity):
            style = "-" if row["snr"] == SNRS[-1] else (0, (3, 2))
            for rho, colour in zip(RHOS, SHADES, strict=True):
                moves = np.asarray(row["found"][f"weight 1, {rho:g}"]["median"])
                moves = np.where(moves > 0.0, moves, np.nan)
                label = rf"$\rho$ = {rho:g}" if row["snr"] else None
                ax.semilogy(np.arange(1, SHOWN + 1), moves, ls=style, color=colour, label=label)
        ax.set(title=f"Fig. 2: intensity {intensity:g}", xlabel="round", xlim=(0, SHOWN))
    axes[0, 0].set(ylabel="variation of the outliers", ylim=(1e-16, 30.0))
    axes[0, 0].plot([], [], color="#7a7a7a", ls=(0, (3, 2)), label="0 dB")
    axes[0, 0].legend(fontsize=11, frameon=False)
    for ax, snr in zip(axes[1], SNRS, strict=True):
        rows = [row for row in result["samples"] if row["snr"] == snr]
        for row, colour in zip(rows, SHADES, strict=True):
            label = f"{row['density']:.0%} outliers"
            change = np.asarray(row["change"])
            moving = change > 0.0  # the first samples only serve to estimate the noise
            ax.loglog(_middles()[moving], change[moving], color=colour, lw=2, label=label)
        ax.loglog(_middles(), 1.0 / _middles(), color="#222a33", ls=":", label="1 / t")
        ax.set(title=f"Fig. 3: {snr:g} dB", xlabel="samples")
    axes[1, 0].set_ylabel("relative change of U")
    axes[1, 0].legend(fontsize=11, frameon=False)
    for ax, row in zip(axes[2], result["errors"], strict=True):
        for (name, curve), colour in zip(
            row["sep"].items(), (COLOURS[OURS], "#d1495b", "#7a7a7a"), strict=True
        ):
            label = name if name == OURS else f"{name}, all observed"
            ax.loglog(AT, curve, color=colour, lw=2.6 if name == OURS else 1.8, label=label)
        ax.set(title=f"Fig. 4: {row['snr']:g} dB", xlabel="samples")
    axes[2, 0].set_ylabel("SEP")
    axes[2, 0].legend(fontsize=11, frameon=False)
    for ax in axes.flat:
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def report(result: dict[str, Any]) -> str:
    """Return the three figures as tables, and the claims."""
    return "\n\n".join([_report_rounds(result), _report_samples(result), _report_errors(result)])


def _report_rounds(result: dict[str, Any]) -> str:
    rows, still, soon = [], [], []
    for row in result["rounds"]:
        for name, own in row["found"].items():
            rows.append(
                (
                    f"{row['intensity']:g}, {row['snr']:g} dB, {name}",
                    number(own["median"][SOON - 1], ".0e"),
                    number(own["left"], ".0e"),
                    number(own["stop"], ".0f"),
                    number(own["last_stop"], "d"),
                    number(own["apart"], ".0e"),
                )
            )
            if name.startswith("weight 1"):
                still.append(own["left"] <= STILL)
                if float(name.split()[-1]) >= 0.5:
                    soon.append(own["last_stop"] <= SOON)
    heads = ("intensity, SNR, weight, rho", f"after {SOON}", "left", "stop", "worst", "apart")
    return (
        f"{table(heads, rows)}\n"
        f"weight 1, variation at most {STILL:g}: {sum(still)} of {len(still)} met\n"
        f"weight 1, rho at least 0.5, stopped within {SOON} rounds: "
        f"{sum(soon)} of {len(soon)} met"
    )


def _report_samples(result: dict[str, Any]) -> str:
    found = {(row["snr"], row["density"]): row for row in result["samples"]}
    rows = [(f"{snr:g} dB", *(number(found[snr, d]["slope"]) for d in DENSITIES)) for snr in SNRS]
    heads = ("slope of the change of U", *(f"{d:.0%} outliers" for d in DENSITIES))
    steep = [row["slope"] <= SLOPE for row in result["samples"]]
    return f"{table(heads, rows)}\nslope at most {SLOPE:g}: {sum(steep)} of {len(steep)} met"


def _report_errors(result: dict[str, Any]) -> str:
    rows, below, later = [], [], []
    original = next(iter(FULL))
    for row in result["errors"]:
        for name in (OURS, *FULL):
            last = [row[measure][name][-1] for measure in ("sep", "se")]
            arrival = row["arrival"][name]
            shown = (*(number(value, ".1e") for value in last), number(arrival, "d"))
            rows.append(
                (f"{row['snr']:g} dB, {name}{'' if name == OURS else ', all observed'}", *shown)
            )
        below += [row[m][OURS][-1] < row[m][original][-1] for m in ("sep", "se")]
        ours, other = (row["arrival"][name] for name in (OURS, original))
        later.append(other is not None and (ours is None or ours >= other))
    heads = ("SNR, method", "SEP", "SE", f"samples to {NEAR:g}")
    return (
        f"{table(heads, rows)}\n"
        f"below {original}, all observed, in SEP and SE: {sum(below)} of {len(below)} met\n"
        f"later than it at a SEP of {NEAR:g}: {sum(later)} of {len(later)} met"
    )


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return what the three figures show."""
    return [*_of_rounds(result), *_of_samples(result), *_of_errors(result)]


def _of_rounds(result: dict[str, Any]) -> list[Finding]:
    paper, ours = (
        {(i, name): own for i, row in enumerate(result["rounds"])
         for name, own in row["found"].items() if name.startswith(start)}
        for start in ("weight 1", "default")
    )  # fmt: skip
    left = max(own["left"] for own in paper.values())
    late = max(own["last_stop"] for (_, name), own in paper.items() if not name.endswith(", 0.1"))
    first = [own["stop"] for (_, name), own in paper.items() if name.endswith(", 0.1")]
    long = max(own["last_stop"] for own in ours.values())
    return [
        Finding(
            "Fig. 2: with the authors' weight Algorithm 2 brings the variation of the outliers to "
            f"zero in every setting (at most {left:.0e} is left), and with rho of at least 0.5 its "
            f"rule stops within {late} rounds.",
            left <= STILL and late <= SOON,
        ),
        Finding(
            "With rho = 0.1 the rule stops half of the samples in the first round in every "
            "setting, before any outlier is found; with the library's weight it takes up to "
            f"{long} rounds.",
            all(stop == 1 for stop in first) and long > SOON,
        ),
    ]


def _of_samples(result: dict[str, Any]) -> list[Finding]:
    slopes = [row["slope"] for row in result["samples"]]
    few = [row["slope"] for row in result["samples"] if row["density"] <= 0.2]
    return [
        Finding(
            "Fig. 3: without forgetting the change of U falls like 1 / t (slopes of "
            f"{max(few):.2f} to {min(few):.2f} up to 20 % of outliers), and no slower with 40 %.",
            max(slopes) <= SLOPE and min(few) >= -1.1,
        )
    ]


def _of_errors(result: dict[str, Any]) -> list[Finding]:
    short, long = FULL
    last = [{name: row["sep"][name][-1] for name in (OURS, *FULL)} for row in result["errors"]]
    below = [own[short] / own[OURS] for own in last]
    above = [own[OURS] / own[long] - 1.0 for own in last]
    return [
        Finding(
            f"Fig. 4: `PetrelsADMM` ends {min(below):.0f} to {max(below):.0f} times below PETRELS "
            "with all entries observed and a forgetting factor of 0.98. That is due to the factor: "
            f"it ends {min(above):.0%} to {max(above):.0%} above PETRELS with 0.9999.",
            min(below) > 1.0 and min(above) > 0.0,
        )
    ]
