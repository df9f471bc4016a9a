"""[O] Table II and Fig. 8, [D] Table VIII and Fig. 3: shadows removed from faces, and run times.

Tables
    [O] II, [D] VIII: running times. The papers show the faces (Fig. 8, Fig. 3) and rate them by
    eye; here they are rated by PSNR, since the faces without shadows are known.
Data
    The papers use the faces of a person under 64 lights (YaleB), which are not available here.
    Instead: ``orl_32x32.npz`` in the folder that ``THALWEG_DATA`` names, 400 faces of 40 people,
    each divided by its maximum. A quarter of them get a dark bar across (``examples/faces.py``);
    *shadows and noise*: and uniform noise on 30 % of all pixels, as in [D] VIII-F. 5 copies of
    each face as it is (the papers: 50 and 1500; 1 with ``--quick``), in random order.
Settings
    K = 49; two initial dictionaries (the papers: ten; one with ``--quick``), each for all methods;
    batches of 40, one BLAS thread. The methods of [O] as in ``robust_faces``. *Huber*:
    ``OnlineNMF(loss="huber")``, the default, with the Huber threshold from the noise. With the
    threshold 1/sqrt(F), the weight of [O], *OL*: ``solver="spsgd"`` of [D], *OL-Wang*:
    ``baselines.OLWang``, *Batch*: ``DivergenceNMF``. Batch methods fit each face once, which is the
    same problem. They have converged when the second half of their rounds has lowered the
    objective by less than 1 %. After 20 s of processor time (1 s with ``--quick``) they are stopped
    without, marked ~.
Measure
    PSNR of the recovered faces: over all, over those with a shadow, and over the pixels in the
    shadow alone; processor seconds of the fit. Means over the initial dictionaries. Codes by each
    method's ``decompose``; exact codes for *batch fast*, BPGD and BADMM, whose codes converge to
    these. A lower loss does not imply a higher PSNR here: a better fit can follow the shadows too.
Claims
    On both data sets, over the faces with a shadow: OPGD, OADMM and the fast solver at most 0.5
    dB below their batch counterparts, RobustOnlineNMF above ORPCA and ONMF, OL at least at OL-Wang
    and at most 0.5 dB below Batch; RobustOnlineNMF and OL faster than their batch counterparts.
Picture
    ``docs/images/shadows.png`` (``results/quick/`` with ``--quick``): faces with shadows, and
    with shadows and noise.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks._findings import Finding
from benchmarks.cases.outliers._algorithms import (
    CALM,
    COUNTERPARTS,
    DEFAULT,
    TO_THE_END,
    exact,
    fit,
    models,
)
from benchmarks.shared import blas_threads
from benchmarks.shared.examples import example
from benchmarks.shared.faces import faces
from benchmarks.shared.mosaic import mosaic
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import number, table
from thalweg import DivergenceNMF, OnlineNMF, RobustNMF, baselines
from thalweg.divergences.huber import Huber
from thalweg.metrics import psnr

K, COPIES, BATCH, SHOWN = 49, 5, 40, 6
NOISES = {"shadows": 0.0, "shadows and noise": 0.3}
GAP = 0.5
LONGEST = 20.0  # processor seconds of a batch fit
# One of ours, another, and by how much ours may be below it.
CLAIMS = (
    *((name, batch, GAP) for name, batch in COUNTERPARTS.items()),
    (DEFAULT, "ORPCA", 0.0),
    (DEFAULT, "ORPCA, same weight", 0.0),
    (DEFAULT, "ONMF", 0.0),
    ("OL", "OL-Wang", 0.0),
    ("OL", "Batch", GAP),
)
IN_BATCH = (*COUNTERPARTS.values(), "Batch")
FASTER = (*((DEFAULT, batch) for batch in COUNTERPARTS.values()), ("OL", "Batch"))


def run(quick: bool) -> dict[str, Any]:
    """Clean the faces by every method from every initial dictionary, and draw."""
    spoil = example("faces").spoil
    clean, shape = faces("orl_32x32")
    copies, starts, budget = (1, 1, 1.0) if quick else (COPIES, 2, LONGEST)
    found: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    with blas_threads.limit(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for model in _models(np.random.default_rng(0).random((2, clean.shape[1])), clean).values():
            fit(model, clean[:100], 0.1)  # fills the caches
        for name, share in NOISES.items():
            data = spoil(clean, shape, np.random.default_rng(0), share)
            bars = spoil(clean, shape, np.random.default_rng(0), 0.0).noisy != clean
            for seed in range(starts):
                rows, faces_ = _start(data, bars, copies, seed, budget)
                for method, row in rows.items():
                    found.setdefault(name, {}).setdefault(method, []).append(row)
            picks = np.flatnonzero(data.shaded)[:: data.shaded.sum() // SHOWN][:SHOWN]
            for method, low_rank in {"clean": clean, "noisy": data.noisy, **faces_}.items():
                shown.setdefault(method, []).extend(low_rank[picks])
    titles = {0: "shadows", SHOWN: "shadows and noise"}
    mosaic(shown, shape, titles, picture("shadows", quick))
    return {"copies": copies, "starts": starts, "data": found}


def _models(first: Any, X: Any) -> dict[str, Any]:
    common = {"init": first, "random_state": 0}
    online = {"batch_size": BATCH, **common}
    count, threshold = len(first), first.shape[1] ** -0.5
    return {
        **models(first, X, BATCH),
        "Huber": OnlineNMF(count, loss="huber", **online),
        "OL": OnlineNMF(count, loss=Huber(threshold), solver="spsgd", **online),
        "OL-Wang": baselines.OLWang(count, huber_threshold=threshold, **online),
        "Batch": DivergenceNMF(count, loss=Huber(threshold), solver="mu", **TO_THE_END, **common),
    }


def _start(
    data: Any, bars: Any, copies: int, seed: int, budget: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures of every method from one initial dictionary, and the recovered faces."""
    rng = np.random.default_rng(seed)
    X = data.noisy[rng.permutation(copies * len(data.noisy)) % len(data.noisy)]
    first = rng.random((K, X.shape[1]))
    rows, kept = {}, {}
    for name, model in _models(first, X).items():
        in_batch = isinstance(model, (RobustNMF, DivergenceNMF))
        fitted = fit(model, data.noisy if in_batch else X, budget)
        by_exact = isinstance(model, RobustNMF)
        low_rank = exact(model, data.noisy) if by_exact else model.decompose(data.noisy).low_rank
        parts = {"all": slice(None), "shaded": data.shaded, "shadow": bars}
        rows[name] = {key: psnr(data.clean[k], low_rank[k]) for key, k in parts.items()}
        rows[name] |= {**fitted._asdict(), "cut": float(fitted.cut)}
        if name == DEFAULT:
            rows[name]["weight"] = model.outlier_weight_
        kept[name] = low_rank
    return rows, kept


def _means(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: sum(run[key] for run in runs) / len(runs) for key in runs[0]}


def report(result: dict[str, Any]) -> str:
    """Return a table for each data set, and the claims."""
    lines: list[str] = []
    claims: dict[str, list[bool]] = {}
    for name, found in result["data"].items():
        mean = {method: _means(runs) for method, runs in found.items()}
        rows = [
            (
                method + " ~" * bool(row["cut"]),
                *(number(row[key]) for key in ("all", "shaded", "shadow", "seconds")),
            )
            for method, row in mean.items()
        ]
        heads = (f"{name}: PSNR in dB", "all", "with shadow", "in shadow", "seconds")
        lines += [table(heads, rows), ""]
        for ours, other, gap in CLAIMS:
            claim = (
                f"{ours} at most {gap} dB below {other}" if gap else f"{ours} at least at {other}"
            )
            held = mean[ours]["shaded"] >= mean[other]["shaded"] - gap
            claims.setdefault(claim, []).append(held)
        for ours, other in FASTER:
            held = mean[ours]["seconds"] < mean[other]["seconds"]
            claims.setdefault(f"{ours} faster than {other}", []).append(held)
    words = [f"{claim}: {sum(held)} of {len(held)} met" for claim, held in claims.items()]
    return "\n".join([*lines, "~ stopped by time before it had converged", "", *words])


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the order over faces with a shadow, the automatic weight, and stopped methods."""
    found = []
    for name, own in result["data"].items():
        mean = {method: _means(runs) for method, runs in own.items()}
        order = sorted(mean, key=lambda method: -mean[method]["shaded"])
        first = ", ".join(f"{method} {mean[method]['shaded']:.1f}" for method in order[:4])
        place = order.index(DEFAULT) + 1
        found.append(
            Finding(
                f"{name.capitalize()}, PSNR in dB over faces with a shadow: {first}; {DEFAULT} is "
                f"number {place} of {len(order)}, with a weight of {mean[DEFAULT]['weight']:.3f} "
                "where 1/sqrt(F) is 0.031.",
                mean[order[0]]["shaded"] >= mean[DEFAULT]["shaded"],
            )
        )
        found += [_of_stopped(name, own), _beside(name, mean)]
    return found


def _of_stopped(name: str, own: dict[str, list[dict[str, float]]]) -> Finding:
    """Return which batch methods were stopped by time, and how fast their losses still fell."""
    falls = {
        method: [100.0 * run["fall"] for run in runs if run["cut"]]
        for method, runs in own.items()
        if any(run["cut"] for run in runs)
    }
    seconds = [run["seconds"] for runs in own.values() for run in runs if run["cut"]]
    if not falls:
        return Finding(f"{name.capitalize()}: all batch methods converged.", True)
    late = ", ".join(f"{method} {max(of_runs):.1f} %" for method, of_runs in falls.items())
    converged = [batch for batch in IN_BATCH if batch not in falls]
    rest = f" Converged: {', '.join(converged)}." if converged else ""
    return Finding(
        f"{name.capitalize()}, stopped after {min(seconds):.0f} s in at least one run, before "
        "convergence, with the largest decrease of the loss in the second half of the rounds: "
        f"{late}. Their PSNR may still change in either direction.{rest}",
        set(falls) <= set(IN_BATCH)
        and max(seconds) < 1.05 * min(seconds)
        and all(fall > 100.0 * CALM for of_runs in falls.values() for fall in of_runs),
    )


def _beside(name: str, mean: dict[str, dict[str, float]]) -> Finding:
    """Return the PSNR of online methods less that of their batch counterparts."""
    pairs = {**COUNTERPARTS, "OL": "Batch"}
    parts = [
        f"{ours} {mean[ours]['shaded'] - mean[batch]['shaded']:+.1f} ({batch})"
        for ours, batch in pairs.items()
    ]
    sentence = f"{name.capitalize()}, PSNR less that of the batch counterpart: {', '.join(parts)}."
    return Finding(sentence, set(pairs.values()) == set(IN_BATCH))
