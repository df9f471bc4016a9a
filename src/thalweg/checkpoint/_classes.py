"""The classes a checkpoint may contain: those of the library, and no others."""

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from thalweg._rooms import members
from thalweg.checkpoint._format import Fault

__all__ = ["component", "component_name", "estimators", "record", "record_name"]

# Packages of components (frozen dataclasses with a name), and packages with NamedTuples.
_ROOMS = (
    *("prox", "divergences", "solvers", "encoders", "updates", "trackers", "completion"),
    "dynamics",
)
_RECORDS = (*_ROOMS, "noise", "archetypes", "learning", "estimators")


@cache
def estimators() -> MappingProxyType[str, type[Any]]:
    """Return the public estimators of the library by class name."""
    found = {}
    for package in ("thalweg.estimators", "thalweg.baselines"):
        for info in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
            if info.ispkg or info.name.rpartition(".")[2].startswith("_"):
                continue
            for name, cls in inspect.getmembers(import_module(info.name), inspect.isclass):
                is_base = name.endswith("Estimator")
                own = cls.__module__ == info.name and not is_base
                if own and hasattr(cls, "fit") and hasattr(cls, "get_params"):
                    found[name] = cls
    return MappingProxyType(found)


def component_name(value: Any) -> tuple[str, str] | None:
    """Return the package and name of a component; None for other values."""
    room = type(value).__module__.removeprefix("thalweg.").partition(".")[0]
    name = getattr(type(value), "name", None)
    known = room in _ROOMS and members(f"thalweg.{room}").get(str(name)) is type(value)
    return (room, str(name)) if known else None


def component(room: Any, name: Any) -> type[Any]:
    """Return the class of a component."""
    if room not in _ROOMS or name not in members(f"thalweg.{room}"):
        raise Fault(f"contains the unknown component {name!r} of {room!r}")
    return members(f"thalweg.{room}")[name]


def record_name(value: Any) -> str | None:
    """Return the dotted name of a NamedTuple of the library; None for other values."""
    cls = type(value)
    name = f"{cls.__module__}.{cls.__name__}".removeprefix("thalweg.")
    return name if _record(name) is cls else None


def record(name: Any) -> type[Any]:
    """Return the NamedTuple class with this dotted name."""
    found = _record(name) if isinstance(name, str) else None
    if found is None:
        raise Fault(f"contains the unknown class {name!r}")
    return found


@cache
def _modules() -> frozenset[str]:
    return frozenset(
        info.name
        for room in _RECORDS
        for info in pkgutil.walk_packages(
            import_module(f"thalweg.{room}").__path__, f"thalweg.{room}."
        )
    )


def _record(name: str) -> type[Any] | None:
    module, _, last = f"thalweg.{name}".rpartition(".")
    if module not in _modules() and module not in {f"thalweg.{room}" for room in _RECORDS}:
        return None
    cls = vars(import_module(module)).get(last)
    named = inspect.isclass(cls) and issubclass(cls, tuple) and hasattr(cls, "_fields")
    return cls if named and cls.__module__ == module else None
