"""The evidence for a number of components, as a curve."""

from typing import Any

import numpy as np

from thalweg.report.curve import Curve

__all__ = ["rank_curve"]


def rank_curve(evidence: Any, title: str = "Loss of hidden entries") -> Curve:
    """Return a panel of the losses of hidden entries over the number of components.

    The chosen number is the first at which the loss is on or below the second line.

    Parameters
    ----------
    evidence : RankEvidence
        ``rank_evidence_`` of an estimator with ``n_components="auto"``.
    title : str
        Heading of the panel.

    Returns
    -------
    Curve
        A panel for :func:`write`.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustMatrixCompletion, report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 30)) + 0.1 * rng.normal(size=(200, 30))
    >>> model = RobustMatrixCompletion("auto", random_state=0).fit(X)
    >>> sorted(report.rank_curve(model.rank_evidence_).series)
    ['loss', 'smallest loss plus one standard error']
    """
    smallest = float(np.min(evidence.losses))
    series = {
        "loss": np.asarray(evidence.losses),
        "smallest loss plus one standard error": smallest + np.asarray(evidence.errors),
    }
    return Curve(title, np.asarray(evidence.ranks), series, "components", "loss per hidden entry")
