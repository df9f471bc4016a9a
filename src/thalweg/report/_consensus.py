"""Panels of a consensus of runs."""

from typing import Any

import numpy as np

from thalweg.report.curve import Curve
from thalweg.report.facts import Facts
from thalweg.report.heat_map import HeatMap

__all__ = ["consensus_panels"]


def consensus_panels(found: Any) -> list[Any]:
    """Return the usual panels of a consensus of runs.

    They are key figures; the distances of the components of all runs, sorted by cluster, where a
    stable component is a dark square; the sorted distances from the nearest neighbours beside the
    largest that counts; and, for several numbers of components, how stable each is.

    Parameters
    ----------
    found : Consensus
        From :func:`thalweg.consensus`.

    Returns
    -------
    list of Panel
        Panels for :func:`write`.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import DivergenceNMF, consensus, report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(1.0, 1.0, (100, 2)) @ rng.gamma(0.5, 40.0, (2, 20)))
    >>> found = consensus(DivergenceNMF(2, max_iter=200), X, n_runs=4)
    >>> [panel.title for panel in report.consensus_panels(found)][1]
    'Distances of the components of all runs'
    """
    order = np.lexsort((found.distances, found.labels))
    units = found.runs[order]
    table = np.sqrt(np.maximum(2.0 - 2.0 * units @ units.T, 0.0))
    names = ["none" if k < 0 else str(k) for k in found.labels[order]]
    sizes = np.sort(found.distances)
    limit = np.full(len(sizes), found.max_distance)
    series = {"mean distance": sizes, "largest that counts": limit}
    panels = [
        Facts("Stability", _facts(found)),
        HeatMap("Distances of the components of all runs", {"distance": table}, names, names),
        Curve(
            "Distances from the nearest neighbours",
            np.arange(1, len(sizes) + 1),
            series,
            "component, from the nearest",
            "mean distance",
        ),
    ]
    return panels + _by_number(found.stability)


def _facts(found: Any) -> dict[str, Any]:
    own = next(one for one in found.stability if one.n_components == len(found.components))
    return {
        "components": own.n_components,
        "near others": f"{own.n_kept} of {own.n_total}",
        "silhouette": own.silhouette,
        "cophenetic correlation": own.cophenetic,
    }


def _by_number(stability: Any) -> list[Any]:
    if len(stability) < 2:
        return []
    ordered = sorted(stability)
    series = {
        "silhouette": np.array([one.silhouette for one in ordered]),
        "cophenetic correlation": np.array([one.cophenetic for one in ordered]),
    }
    numbers = np.array([one.n_components for one in ordered])
    return [Curve("Stability by number of components", numbers, series, "components", "stability")]
