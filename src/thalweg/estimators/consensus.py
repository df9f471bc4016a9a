"""Consensus of runs from several seeds: components on which they agree, and how stable they are."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from thalweg._checks import check_count, check_positive, generator
from thalweg._typing import Array, Indices
from thalweg.errors import ParameterError
from thalweg.estimators.fitting import is_auto
from thalweg.learning.component_clusters import (
    cluster_medians,
    cophenetic,
    distances,
    neighbour_distances,
    unit_rows,
)

__all__ = ["Consensus", "Stability", "consensus"]

# Neighbours of a component, as a share of the runs: a stable one has one of each run nearby.
_NEIGHBOURS = 0.3
# Samples whose groups are compared between runs, which bounds the memory.
_SAMPLES = 300
# Silhouettes that differ by no more are equal: fewer components are always somewhat more stable.
# Safety margin: any value in 0.03..0.2 gives the same results.
_EQUAL = 0.05
# Initial centres of k-means.
_N_INIT = 10


class Stability(NamedTuple):
    """How well runs with one number of components agree.

    Attributes
    ----------
    n_components : int
        The number of components.
    silhouette : float
        Mean silhouette of the clusters of components, 1 for identical runs; NaN if too few
        components are near others.
    cophenetic : float
        Cophenetic correlation of the groups of samples, 1 if all runs agree.
    n_kept, n_total : int
        Components that were near others, and all.

    Examples
    --------
    >>> from thalweg.estimators.consensus import Stability
    >>> Stability(3, 0.98, 1.0, 29, 30).n_kept
    29
    """

    n_components: int
    silhouette: float
    cophenetic: float
    n_kept: int
    n_total: int


class Consensus(NamedTuple):
    """The components on which several runs agree.

    Attributes
    ----------
    estimator : estimator
        An estimator fitted to the data from the consensus components.
    components : array of shape (n_components, n_features)
        Medians of the clusters, with norm 1, by the share that they explain.
    stability : tuple of Stability
        For each number of components.
    runs : array of shape (n_runs * n_components, n_features)
        Components of all runs, with norm 1.
    distances : array of shape (n_runs * n_components,)
        Mean distance of each from its nearest neighbours.
    labels : array of shape (n_runs * n_components,)
        The consensus component of each; -1 if it has none.
    max_distance : float
        Largest mean distance of a component that counts.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import DivergenceNMF, consensus
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(1.0, 1.0, (200, 3)) @ rng.gamma(0.5, 40.0, (3, 30)))
    >>> found = consensus(DivergenceNMF(3, max_iter=500), X, n_runs=4)
    >>> found.runs.shape, sorted(set(found.labels.tolist()))
    ((12, 30), [0, 1, 2])
    """

    estimator: Any
    components: Array
    stability: tuple[Stability, ...]
    runs: Array
    distances: Array
    labels: Indices
    max_distance: float


class _Run(NamedTuple):
    """Components of a run with norm 1, their shares, and the groups of some samples."""

    units: Array
    shares: Array
    groups: Indices


def consensus(
    estimator: Any,
    X: Any,
    *,
    n_runs: int = 20,
    n_components: int | Sequence[int] | None = None,
    max_distance: float = 0.5,
    client: Any = None,
    random_state: Any = 0,
) -> Consensus:
    """Fit an estimator from several seeds, and return the components on which the fits agree.

    Minimisers of a factorisation depend on the seed. As in consensus NMF (Kotliar et al., 2019),
    the components of all runs are scaled to norm 1. Those whose mean distance from their nearest
    neighbours, as many as 30 % of the runs, exceeds ``max_distance`` are left out. The others form
    clusters by k-means, whose medians are the consensus. Then the estimator is fitted from there.

    Runs with ``init="auto"`` begin at random components, since singular vectors are the same for
    all seeds. Memory holds the data once and the components of all runs; a stream is read by
    batches.

    Parameters
    ----------
    estimator : estimator
        An NMF estimator. Clones of it are fitted.
    X : array-like, sparse matrix of shape (n_samples, n_features) or Stream
        Data; ``NaN`` marks missing entries.
    n_runs : int, default=20
        Number of runs, at least 2.
    n_components : int or sequence of int, optional
        Numbers of components to compare; the largest one whose silhouette is within 0.05 of the
        best is taken. None is the parameter of the estimator, where ``"auto"`` finds the number
        once.
    max_distance : float, default=0.5
        Largest mean distance from the nearest neighbours; unit vectors at right angles have a
        distance of 1.41.
    client : dask.distributed.Client, optional
        Cluster for the runs; None runs them here one by one.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the seeds.

    Returns
    -------
    Consensus
        Fitted estimator, consensus components and stability.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import DivergenceNMF, consensus
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(1.0, 1.0, (200, 3)) @ rng.gamma(0.5, 40.0, (3, 30)))
    >>> model = DivergenceNMF(max_iter=300)
    >>> found = consensus(model, X, n_runs=5, n_components=[2, 3, 5])
    >>> len(found.components), found.estimator.components_.shape
    (3, (3, 30))
    """
    if check_count("n_runs", n_runs) < 2:
        raise ParameterError(f"n_runs must be at least 2, got {n_runs!r}. Use 10 or more.")
    max_distance, rng = check_positive("max_distance", max_distance), generator(random_state)
    found = []
    for count in _counts(estimator, X, n_components, rng):
        models = [_model(estimator, count, int(rng.integers(2**31))) for _ in range(n_runs)]
        found.append(_agreement(_runs(models, X, client), count, max_distance))
    valid = [one for one in found if not np.isnan(one[0].silhouette)]
    if not valid:
        raise ParameterError(
            f"max_distance must leave as many components as clusters, got {max_distance!r}, which "
            f"leaves {found[0][0].n_kept} of {found[0][0].n_total}. Use a larger one, more runs, "
            "or fewer components."
        )
    limit = max(one[0].silhouette for one in valid) - _EQUAL
    best = max((one for one in valid if one[0].silhouette >= limit), key=lambda one: one[0])
    components, runs, spread, labels = best[1:]
    seed = int(rng.integers(2**31))
    model = _model(estimator, len(components), seed).set_params(init=components)
    stability = tuple(one[0] for one in found)
    return Consensus(_fitted(model, X), components, stability, runs, spread, labels, max_distance)


def _counts(estimator: Any, X: Any, n_components: Any, rng: np.random.Generator) -> list[int]:
    """Return the numbers of components to compare."""
    given = estimator.n_components if n_components is None else n_components
    if is_auto(given):
        model = clone(estimator).set_params(random_state=int(rng.integers(2**31)))
        return [int(_fitted(model, X).n_components_)]
    several = [given] if np.ndim(given) == 0 else list(given)
    if not several:
        raise ParameterError("n_components must be one or more numbers, got none. Example: [3, 5].")
    return [check_count("n_components", one) for one in several]


def _model(estimator: Any, n_components: int, seed: int) -> Any:
    model = clone(estimator).set_params(n_components=n_components, random_state=seed)
    if is_auto(model.init):
        model.set_params(init="random")
    elif not isinstance(model.init, str):
        raise ParameterError(
            f"init must be a name, got an array of shape {np.shape(model.init)}. Runs from given "
            "components do not depend on the seed."
        )
    return model


def _runs(models: list[Any], X: Any, client: Any) -> list[_Run]:
    """Return the runs, here or on a cluster."""
    if client is None:
        return [_run(model, X) for model in models]
    data = X if hasattr(X, "batches") else client.scatter(X, hash=False)
    return list(client.gather([client.submit(_run, model, data, pure=False) for model in models]))


def _run(model: Any, X: Any) -> _Run:
    model = _fitted(model, X)
    components = model.components_.astype(np.float64)
    norms = np.linalg.norm(components, axis=1)
    codes = model.transform(_some_rows(X)) * norms
    return _Run(unit_rows(components), np.square(codes).mean(axis=0), np.argmax(codes, axis=1))


def _fitted(model: Any, X: Any) -> Any:
    return model.fit_stream(X) if hasattr(X, "batches") else model.fit(X)


def _some_rows(X: Any) -> Any:
    """Return the rows whose groups are compared, the same for all runs."""
    if hasattr(X, "batches"):
        return next(iter(X.batches(_SAMPLES)))[1]
    rows = X.tocsr() if sparse.issparse(X) else X if hasattr(X, "iloc") else np.asarray(X)
    n = rows.shape[0]
    which = np.arange(n) if n <= _SAMPLES else np.linspace(0, n - 1, _SAMPLES).astype(np.intp)
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def _agreement(
    runs: list[_Run], count: int, max_distance: float
) -> tuple[Stability, Array, Array, Array, Indices]:
    """Return stability, medians, all components, their distances from neighbours, and labels."""
    units = np.concatenate([run.units for run in runs])
    shares = np.concatenate([run.shares for run in runs])
    spread = neighbour_distances(distances(units), max(1, round(_NEIGHBOURS * len(runs))))
    kept = spread <= max_distance
    agreed, labels = cophenetic(np.stack([run.groups for run in runs])), np.full(len(units), -1)
    known = (count, float("nan"), agreed, int(kept.sum()), len(units))
    if kept.sum() < count:
        return Stability(*known), np.empty((0, units.shape[1])), units, spread, labels
    found = KMeans(count, n_init=_N_INIT, random_state=0).fit(units[kept]).labels_
    explained = [-float(np.median(shares[kept][found == k])) for k in range(count)]
    order = np.argsort(np.argsort(explained, kind="stable"))
    labels[kept] = order[found]
    within = silhouette_score(units[kept], found) if 1 < count < kept.sum() else 1.0
    stability = Stability(*known)._replace(silhouette=float(within))
    return stability, cluster_medians(units[kept], labels[kept]), units, spread, labels
