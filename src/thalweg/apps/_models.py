"""Look up estimators by name."""

import re
from collections.abc import Mapping
from typing import Any

from thalweg.errors import ParameterError

__all__ = ["build", "methods"]

# Public names of the package that are not estimators.
_NOT_ESTIMATORS = {"Decomposition", "Position", "Progress", "baselines"}


def methods() -> dict[str, Any]:
    """Return the constructors of all estimators by name: 'robust-online-nmf', 'onmf', ..."""
    from thalweg import baselines, estimators

    names = [name for name in estimators.__all__ if name not in _NOT_ESTIMATORS]
    found = {name: getattr(estimators, name) for name in names}
    found |= {name: getattr(baselines, name) for name in baselines.__all__}
    return {
        _hyphenated(name): make for name, make in sorted(found.items(), key=lambda i: i[0].lower())
    }


def build(
    method: str,
    settings: Mapping[str, Any],
    *,
    components: int | str | None = None,
    seed: int = 0,
    default: int | None = None,
) -> Any:
    """Return the estimator with this name, with its parameters set.

    Without ``components`` it finds their number, or has the ``default`` of the job if it cannot.
    """
    known = methods()
    make = {_letters(name): make for name, make in known.items()}.get(_letters(method))
    if make is None or not _letters(method):
        raise ParameterError(f"method must be one of {', '.join(known)}, got {method!r}.")
    model = make()
    names = model.get_params(deep=False)
    unknown = [name for name in settings if name not in names]
    if unknown:
        raise ParameterError(
            f"Parameters of {method} must be among {', '.join(names)}, got {unknown[0]!r}."
        )
    chosen = dict(settings)
    if components is None:
        components = "auto" if finds_rank(model, settings) else default
    if components is not None:
        chosen.setdefault("n_components", components)
    if "random_state" in names:
        chosen.setdefault("random_state", seed)
    if "n_jobs" in names:  # a command has the machine to itself
        chosen.setdefault("n_jobs", -1)
    return model.set_params(**chosen)


def finds_rank(model: Any, settings: Mapping[str, Any]) -> bool:
    """Return whether a model can find its number of components with these settings."""
    init = settings.get("init", "robust")
    named = init == "robust" if hasattr(model, "init_samples") else isinstance(init, str)
    return bool(getattr(model, "finds_rank", False)) and named


def _hyphenated(name: str) -> str:
    """Convert the name of a class: RobustNMF becomes robust-nmf."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _letters(name: str) -> str:
    """Return the letters and digits of a name, so that spellings such as OR_NMF match."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
