"""Panels and files that several jobs write."""

from typing import Any

import numpy as np

from thalweg.apps._folder import Folder
from thalweg.apps._learn import History

__all__ = ["learning_panels", "rank_panels", "save_model", "write_report"]


def learning_panels(history: History) -> list[Any]:
    """Return curves of the objective and the outlier share, if they were recorded."""
    from thalweg import report

    done, objective, share = history.curve
    panels: list[Any] = []
    for title, values, label in (
        ("Convergence" if history.label == "objective" else "Noise", objective, history.label),
        ("Outliers", share, "fraction of entries"),
    ):
        known = np.isfinite(values)
        if np.count_nonzero(known) > 1 and values[known].any():
            panels.append(
                report.Curve(
                    title, done[known], {label: values[known]}, xlabel="samples", ylabel=label
                )
            )
    return panels


def rank_panels(evidence: Any) -> list[Any]:
    """Return the curve by which the number of components was found, if it was."""
    from thalweg import report

    several = evidence is not None and len(evidence.ranks) > 1
    return [report.rank_curve(evidence)] if several else []


def write_report(
    folder: Folder, title: str, panels: list[Any], summary: str, **parameters: Any
) -> None:
    """Write report.html."""
    from thalweg import report

    run = folder.run
    report.write(
        folder.file("report", "report.html"),
        title,
        panels,
        command=run.command,
        parameters=run.parameters(**parameters),
        summary=summary,
    )


def save_model(folder: Folder, model: Any, **extra: Any) -> None:
    """Write model.thalweg, with the data that ``apply`` needs."""
    from thalweg import checkpoint

    checkpoint.save(
        folder.file("model", "model.thalweg"), model, extra={"job": folder.run.job, **extra}
    )
