"""Gaps filled by nonnegative factors: likely codes compared with codes that fit best.

Data
    ``airquality_uci`` (9357 x 13, 13 % missing; each column less its minimum, over its mean),
    ``metrla_week_speed`` (2016 x 207 speeds), both from the folder THALWEG_DATA, and scikit-learn's
    digits (1797 x 64). 10, 50 and 80 % of the known entries are hidden, each by itself.
Settings
    K = 4 and 8, one seed (with ``--quick`` digits and K = 4 only); estimators with their
    defaults, ``RobustNMF`` for 30 rounds.
Measure
    Root mean square error over the hidden entries, over that of the mean of each column. *best
    fit*: the low-rank part of ``decompose``, whose codes have the least loss over what was
    observed. *likely*: ``fill``, whose codes have a Gaussian prior estimated from the data.
Claim
    Likely codes are nowhere worse than those that fit best, and below 1.5 times the error
    of the column mean.
Picture
    ``docs/images/fills.png`` (``results/quick/`` with ``--quick``): digits of which 80 % are hidden
    (black), filled by ``RobustOnlineNMF`` with K = 8.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.data import stored
from benchmarks.shared.mosaic import mosaic
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import number, table
from thalweg import ORNMF, DivergenceNMF, OnlineNMF, RobustNMF, RobustOnlineNMF

SHARES, SIZES, MOST = (0.1, 0.5, 0.8), (4, 8), 1.5
SHOWN = 10
MODELS: dict[str, Any] = {
    "RobustOnlineNMF": lambda K: RobustOnlineNMF(K, random_state=0),
    "OnlineNMF kl": lambda K: OnlineNMF(K, loss="kl", random_state=0),
    "OnlineNMF huber": lambda K: OnlineNMF(K, loss="huber", random_state=0),
    "OnlineNMF squared-l2": lambda K: OnlineNMF(K, loss="squared-l2", random_state=0),
    "ORNMF": lambda K: ORNMF(K, random_state=0),
    "DivergenceNMF kl": lambda K: DivergenceNMF(K, random_state=0),
    "RobustNMF": lambda K: RobustNMF(K, max_iter=30, random_state=0),
}


def run(quick: bool) -> dict[str, Any]:
    """Hide, learn, fill and compare."""
    rows = []
    with blas_threads.limit(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, X in _sets(quick).items():
            for share in SHARES:
                hidden = _hidden(X, share)
                for K in SIZES[:1] if quick else SIZES:
                    errors = _errors(X, hidden, K)
                    rows.append({"data": name, "share": share, "K": K, "errors": errors})
        _draw(_sets(True)["digits"], picture("fills", quick))
    return {"rows": rows}


def _hidden(X: Any, share: float) -> Any:
    return (np.random.default_rng(1).random(X.shape) < share) & ~np.isnan(X)


def _draw(X: Any, path: Any) -> None:
    """Show digits with gaps, and how they were filled."""
    hidden = _hidden(X, SHARES[-1])
    Y = np.where(hidden, np.nan, X)
    model = MODELS["RobustOnlineNMF"](SIZES[-1]).fit(Y)
    best = np.where(hidden, model.decompose(Y).low_rank, X)
    lines = {
        "digits": X,
        "what was observed": np.where(hidden, 0.0, X),
        "best fit": best,
        "likely": model.fill(Y),
    }
    mosaic({name: images[:SHOWN] for name, images in lines.items()}, (8, 8), {}, path)


def _sets(quick: bool) -> dict[str, Any]:
    digits = {"digits": load_digits().data / 16.0}
    if quick:
        return digits
    with stored("airquality_uci.npz") as data:
        air = data["X"].astype(np.float64)
    with stored("metrla_week_speed.npz") as data:
        speeds = data["X"].astype(np.float64)
    air = air - np.nanmin(air, axis=0)
    return {"air": air / np.nanmean(air, axis=0), "traffic": speeds / np.nanmean(speeds), **digits}


def _errors(X: Any, hidden: Any, K: int) -> dict[str, list[float]]:
    """Return the errors of the best fit and of likely codes, over that of the columns' means."""
    Y = np.where(hidden, np.nan, X)

    def error(filled: Any) -> float:
        return float(np.sqrt(np.mean(np.square((filled - X)[hidden]))))

    means = error(np.broadcast_to(np.nanmean(Y, axis=0), X.shape))
    found = {}
    for name, make in MODELS.items():
        model = make(K).fit(Y)
        fills = (model.decompose(Y).low_rank, model.fill(Y))
        found[name] = [error(filled) / means for filled in fills]
    return found


def report(result: dict[str, Any]) -> str:
    """Return a table for each data set, and the claims."""
    rows = result["rows"]
    lines: list[str] = []
    for data in dict.fromkeys(row["data"] for row in rows):
        cells = [row for row in rows if row["data"] == data]
        heads = (f"{data}: best fit / likely", *(f"{c['share']:.0%}, K={c['K']}" for c in cells))
        body = [
            (name, *(" / ".join(number(e, ".3g") for e in c["errors"][name]) for c in cells))
            for name in MODELS
        ]
        lines += [table(heads, body), ""]
    pairs = [pair for row in rows for pair in row["errors"].values()]
    better = sum(likely <= best for best, likely in pairs)
    bounded = sum(likely < MOST for _, likely in pairs)
    lines.append(f"likely codes no worse than the best fit: {better} of {len(pairs)} met")
    lines.append(f"below {MOST} times the error of the mean: {bounded} of {len(pairs)} met")
    return "\n".join(lines)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Compare likely codes with those of the best fit, and low rank with the mean."""
    rows = result["rows"]
    pairs = [pair for row in rows for pair in row["errors"].values()]
    sparse = [
        likely
        for row in rows
        if row["share"] == 0.8 and row["data"] != "traffic"
        for _, likely in row["errors"].values()
    ]
    poor = [
        f"{name}, {row['data']}, {row['share']:.0%} missing, K = {row['K']}: {likely:.3g}"
        for row in rows
        for name, (_, likely) in row["errors"].items()
        if likely >= MOST
    ]
    return [
        Finding(
            "Likely codes fill no worse than those of the best fit in "
            f"{sum(likely <= best for best, likely in pairs)} of {len(pairs)} cells.",
            all(likely <= best for best, likely in pairs),
        ),
        Finding(
            "With 80 % missing, low rank is worse than the mean of a column in air and digits: of "
            "the 13 columns of air, two or three entries per sample remain. The least error there "
            f"is {min(sparse):.2f} times that of the mean.",
            min(sparse) > 1.0,
        ),
        Finding(
            f"{len(poor)} of {len(pairs)} fills are worse than {MOST} times the mean "
            f"({'; '.join(poor)}): components have large entries where the samples that use them "
            "have gaps, and no choice of codes can correct that.",
            0 < len(poor) <= 3,
        ),
    ]
