"""The number of components: planted ranks with gaps, outliers and unequal noise, and real topics.

Tables
    None of the papers: they take the number as known.
Data
    300 samples of 60 features, products of gamma factors. Noise of squares: normal, with a standard
    deviation of its own for each feature, from 3 to 30 % of that of the data; of KL: Poisson, mean
    20; of Itakura-Saito: gamma, 22 %. 5 % of the entries are outliers up to three times the 99th
    percentile, for Itakura-Saito none. 10, 30 and 50 % of the entries are missing, in turn. The
    signed data are products of normal factors, with the noise of squares and outliers of ten
    standard deviations. ``bbc_news.npz`` in the folder that ``THALWEG_DATA`` names, as in
    ``topics``.
Settings
    ``n_components="auto"`` with defaults, 20 draws of each rank (4 with ``--quick``), one BLAS
    thread. Peers on the signed data with the means of the features at gaps: Minka's choice for PCA
    (scikit-learn) and parallel analysis (95th percentile of 20 permutations). RcppML's rule, own
    transcription of its published idea, on the data of squares in 5 draws: 10 % of the entries
    hidden from plain NMF by least squares, the rank of the least mean square.
Measures
    Share of draws in which the rank is exact, and in which it is wrong by at most 1. Processor time
    of a fit with ``"auto"`` relative to one with that number, at rank 6.
Claim
    Exact in 95 % of the draws for ranks up to 6, within 1 for ranks up to 12; 4 to 6 topics.
Note
    The time is that of small data. Trials use a sample of bounded size, so that the ratio falls
    with the size of the data: see the last rows.
"""

import time
import warnings
from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.cases.divergences.topics import _news
from benchmarks.shared import blas_threads
from benchmarks.shared.tables import table
from thalweg import DivergenceNMF, OnlineNMF, RobustMatrixCompletion, RobustNMF

RANKS = (1, 3, 6, 12)
GAPS = (0.1, 0.3, 0.5)
MODELS = {
    "squares": lambda k, seed: RobustNMF(k, random_state=seed),
    "kl": lambda k, seed: DivergenceNMF(k, loss="kl", random_state=seed),
    "itakura-saito": lambda k, seed: DivergenceNMF(k, loss="itakura-saito", random_state=seed),
    "signed": lambda k, seed: RobustMatrixCompletion(k, random_state=seed),
}


def run(quick: bool) -> dict[str, Any]:
    """Find planted ranks, time the fits, and count topics."""
    n_draws = 4 if quick else 20
    found: dict[str, Any] = {}
    with blas_threads.limit(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that are timed may stop at max_iter
        for kind in MODELS:
            for rank in RANKS:
                draws = [_found(kind, rank, seed) for seed in range(n_draws)]
                found.setdefault(kind, {})[str(rank)] = draws
        peers = _peers(n_draws)
        times = {kind: _ratio(kind, 300) for kind in MODELS}
        large = {kind: _ratio(kind, 1000 if quick else 5000) for kind in MODELS}
        X, _ = _news()
        topics = [OnlineNMF("auto", random_state=seed).fit(X).n_components_ for seed in range(3)]
    return {"found": found, "peers": peers, "times": times, "large": large, "topics": topics}


def planted(kind: str, rank: int, seed: int, n: int = 300) -> Any:
    """Return data with a planted rank."""
    rng = np.random.default_rng(seed)
    if kind == "signed":
        clean = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, 60))
    else:
        clean = rng.gamma(1.0, 1.0, (n, rank)) @ rng.gamma(0.5, 1.0, (rank, 60))
    if kind == "kl":
        clean *= 20.0 / clean.mean()
        X = rng.poisson(clean).astype(float)
    elif kind == "itakura-saito":
        X = clean * rng.gamma(20.0, 1 / 20.0, clean.shape)
    else:
        levels = 0.1 * clean.std() * rng.permutation(np.geomspace(0.3, 3.0, 60))
        X = clean + levels * rng.standard_normal(clean.shape)
    if kind != "itakura-saito":
        wrong = rng.random(X.shape) < 0.05
        size = 3.0 * np.quantile(clean, 0.99)
        X[wrong] = (
            10.0 * clean.std() * rng.normal(size=wrong.sum())
            if kind == "signed"
            else np.ceil(rng.uniform(0.0, size, wrong.sum()))
        )
    X = X if kind == "signed" else np.maximum(X, 0.0)
    X[rng.random(X.shape) < GAPS[seed % len(GAPS)]] = np.nan
    return X


def _found(kind: str, rank: int, seed: int) -> int:
    model = MODELS[kind]("auto", seed)
    if hasattr(model, "max_iter"):
        model.set_params(max_iter=1)  # the number is found before the first iteration
    return int(model.fit(planted(kind, rank, seed)).n_components_)


def _ratio(kind: str, n: int) -> float:
    """Return the time of an automatic fit relative to one with its number, at rank 6."""
    X, seconds, number = planted(kind, 6, 1, n), [], "auto"
    for _ in range(2):
        begin = time.process_time()
        number = MODELS[kind](number, 0).fit(X).n_components_
        seconds.append(time.process_time() - begin)
    return seconds[0] / seconds[1]


def _peers(n_draws: int) -> dict[str, dict[str, list[int]]]:
    from sklearn.decomposition import PCA

    found: dict[str, dict[str, list[int]]] = {}
    for rank in RANKS:
        for seed in range(n_draws):
            X = planted("signed", rank, seed)
            X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
            minka = int(PCA("mle", svd_solver="full").fit(X).n_components_)
            found.setdefault("Minka", {}).setdefault(str(rank), []).append(minka)
            parallel = found.setdefault("parallel analysis", {}).setdefault(str(rank), [])
            parallel.append(_parallel_analysis(X, np.random.default_rng(seed)))
        for seed in range(min(n_draws, 5)):
            rule = found.setdefault("RcppML's rule", {}).setdefault(str(rank), [])
            rule.append(_speckled_squares(planted("squares", rank, seed), seed))
    return found


def _parallel_analysis(X: Any, rng: np.random.Generator) -> int:
    """Return the number of leading singular values above those of permuted columns."""

    def values(data: Any) -> Any:
        return np.linalg.svd(data - data.mean(axis=0), compute_uv=False)

    shuffled = [values(rng.permuted(X, axis=0)) for _ in range(20)]
    above = values(X) > np.quantile(shuffled, 0.95, axis=0)
    return int(np.argmin(above)) if not above.all() else len(above)


def _speckled_squares(X: Any, seed: int) -> int:
    """Return the rank of the least mean square at hidden entries, by plain least squares."""
    rng = np.random.default_rng(seed)
    hidden = (rng.random(X.shape) < 0.1) & ~np.isnan(X)
    seen, errors = np.where(hidden, np.nan, X), []
    for rank in range(1, 16):
        model = DivergenceNMF(rank, loss="squared-l2", max_iter=100, random_state=seed).fit(seen)
        errors.append(np.mean((X - model.decompose(seen).low_rank)[hidden] ** 2))
    return int(np.argmin(errors)) + 1


def _shares(draws: dict[str, list[int]]) -> dict[int, tuple[float, float]]:
    """Return the share of exact draws, and of those wrong by at most 1, for each rank."""
    return {
        int(rank): (
            float(np.mean(np.array(found) == int(rank))),
            float(np.mean(np.abs(np.array(found) - int(rank)) <= 1)),
        )
        for rank, found in draws.items()
    }


def report(result: dict[str, Any]) -> str:
    """Return the shares of exact and of nearly exact draws, and the times."""
    rows = []
    for name, draws in {**result["found"], **result["peers"]}.items():
        shares = _shares(draws)
        rows.append((name, *(f"{exact:.2f} / {near:.2f}" for exact, near in shares.values())))
    head = ("method: exact / within 1 at rank", *map(str, RANKS))
    times = [
        (kind, f"{result['times'][kind]:.1f}", f"{result['large'][kind]:.1f}") for kind in MODELS
    ]
    timed = table(("time relative to a fit with the number", "300 samples", "5000 samples"), times)
    topics = f"topics found in the BBC news, three seeds: {result['topics']}"
    return "\n".join([table(head, rows), timed, topics])


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return how often the planted rank is found."""
    exact, near = [], []
    for kind in MODELS:
        shares = _shares(result["found"][kind])
        exact += [shares[rank][0] for rank in RANKS if rank <= 6]
        near += [shares[rank][1] for rank in RANKS]
    large = [result["large"][kind] for kind in MODELS]
    met = sum(share >= 0.95 for share in exact)
    return [
        Finding(
            f'`n_components="auto"` finds planted ranks up to 6 exactly in {min(exact):.0%} to '
            f"{max(exact):.0%} of the draws; in {met} of {len(exact)} settings in at least 95 %.",
            max(exact) >= 0.95,
        ),
        Finding(
            f"Ranks up to 12 are found within 1 in {min(near):.0%} to {max(near):.0%} of the "
            "draws; 12 nonnegative components in 60 features of which half are missing are not.",
            max(near) >= 0.95,
        ),
        Finding(
            f"With 5000 samples, an automatic fit takes {min(large):.1f} to {max(large):.1f} "
            "times as long as one with the number.",
            max(large) < 5.0,
        ),
        Finding(
            f"It finds {min(result['topics'])} to {max(result['topics'])} topics in the BBC news, "
            "which have 5 labels.",
            min(result["topics"]) >= 1,
        ),
    ]
