"""Estimators by the names that people type."""

import re
from collections.abc import Mapping
from typing import Any

from thalweg.errors import ParameterError

__all__ = ["build", "methods"]

# What the room has beside estimators.
_OTHERS = {"Decomposition", "Position", "Progress", "rivals"}


def methods() -> dict[str, Any]:
    """Return whatever makes an estimator, by name: 'robust-online-nmf', 'onmf', ..."""
    from thalweg import estimators
    from thalweg.estimators import rivals

    found = {name: getattr(estimators, name) for name in estimators.__all__ if name not in _OTHERS}
    found |= {name: getattr(rivals, name) for name in rivals.__all__}
    return {
        _typed(name): maker for name, maker in sorted(found.items(), key=lambda i: i[0].lower())
    }


def build(
    method: str, settings: Mapping[str, Any], *, components: int | None = None, seed: int = 0
) -> Any:
    """Return the estimator of a name, with its parameters set."""
    known = methods()
    maker = {_bare(name): maker for name, maker in known.items()}.get(_bare(method))
    if maker is None or not _bare(method):
        raise ParameterError(
            f"method should be one of {', '.join(known)}, but {method!r} came. Use one of these."
        )
    model = maker()
    names = model.get_params(deep=False)
    unknown = [name for name in settings if name not in names]
    if unknown:
        raise ParameterError(
            f"Parameters of {method} are {', '.join(names)}, but {unknown[0]!r} came. "
            "Use one of these names."
        )
    chosen = dict(settings)
    if components is not None:
        chosen.setdefault("n_components", components)
    if "random_state" in names:
        chosen.setdefault("random_state", seed)
    return model.set_params(**chosen)


def _typed(name: str) -> str:
    """Return the name of a class or function as it is typed: RobustNMF is robust-nmf."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).replace("_", "-").lower()


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
