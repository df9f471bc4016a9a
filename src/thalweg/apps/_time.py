"""Completion of tables in time: settings of the model, and the errors of its fills."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.apps._columns import Units
from thalweg.apps._run import Run

__all__ = [
    "error_panels",
    "errors_by_gap",
    "errors_of",
    "fills_in_time",
    "rank_of",
    "standard_errors",
    "use_time",
]

_ERRORS = "errors of hidden entries"


def fills_in_time(model: Any) -> bool:
    """Return whether a model can use the times of a table."""
    return "times" in signature(model.fit).parameters


def use_time(model: Any, X: Array, units: Units, run: Run) -> None:
    """Let a model use time, choose its rank, and respect the signs of columns, unless set."""
    from thalweg.dynamics.bounds import sign_bounds

    lower, upper = (units.to(bound[None])[0] for bound in sign_bounds(X))
    chosen = {"dynamics": "auto", "bounds": (lower, upper)}
    if run.components is None:
        chosen["n_components"] = "auto"
    model.set_params(**{name: v for name, v in chosen.items() if name not in run.settings})


def rank_of(model: Any) -> int:
    """Return the number of components that fills were made with."""
    choice = getattr(model, "choice_", None)
    return len(model.components_) if choice is None else int(choice.best.n_components)


def standard_errors(model: Any, Z: Array, **when: Any) -> Array:
    """Return the standard errors of fills in standardised units; NaN where there is none."""
    if not hasattr(model, "choice_"):
        return np.full(Z.shape, np.nan)
    std: Array = model.fill(Z, return_std=True, **when)[1]
    return np.where(np.isnan(Z), std, np.nan)


def errors_of(model: Any) -> dict[str, Any]:
    """Return the errors of hidden entries by length of gap, if the model has measured them."""
    choice = getattr(model, "choice_", None)
    return {} if choice is None else errors_by_gap(choice.calibration, choice.baselines)


def errors_by_gap(calibration: Any, baselines: Mapping[str, Array]) -> dict[str, Any]:
    """Return the errors of hidden entries by length of gap, beside those of simple fills."""
    if not calibration.counts.any():
        return {}
    lines = {"this": calibration.errors, **baselines}
    return {
        f"{_ERRORS}, gaps of {_span(calibration.lengths, k)}": {
            name: float(values[k]) for name, values in lines.items()
        }
        for k in range(len(calibration.lengths))
    }


def error_panels(values: Mapping[str, Any]) -> list[Any]:
    """Return a panel with the errors by length of gap, if there are any."""
    from thalweg import report

    facts = {
        f"{title.removeprefix(_ERRORS + ', ')}, {name}": error
        for title, errors in values.items()
        if title.startswith(_ERRORS)
        for name, error in errors.items()
    }
    title = "Errors of hidden entries, in standard deviations of columns"
    return [report.Facts(title, facts)] if facts else []


def _span(lengths: Any, k: int) -> str:
    begin = int(lengths[k])
    if k + 1 == len(lengths):
        return f"{begin} rows and more"
    end = int(lengths[k + 1]) - 1
    return f"{begin} to {end} rows" if end > begin else f"{begin} row{'s' if begin > 1 else ''}"
