"""Registries of components: find the classes of a package, and look them up by name.

A *room* is a package such as ``thalweg.prox``. Its members are the public classes of its public
modules that have an attribute ``name``. A new file adds a component. A class may also have
``aliases``: other names that users may pass.
"""

import importlib
import inspect
import pkgutil
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any

from thalweg.errors import ParameterError


@cache
def members(room: str) -> MappingProxyType[str, type[Any]]:
    """Return the classes of a room by name, in alphabetical order."""
    package = importlib.import_module(room)
    by_name = {
        cls.name: cls
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_")
        for cls in _public_classes(importlib.import_module(f"{room}.{info.name}"))
    }
    return MappingProxyType(dict(sorted(by_name.items())))


def resolve(room: str, spec: Any, parameter: str) -> Any:
    """Return the component with the name ``spec``, or ``spec`` itself if it is an object."""
    if isinstance(spec, type):  # a class passes the check of the protocol
        raise ParameterError(
            f"{parameter} must be a name or an object of {room}, got the class {spec.__name__}. "
            f"Create an object, for example {spec.__name__}()."
        )
    if not isinstance(spec, str):
        return spec
    known = members(room)
    for name, cls in known.items():
        if spec in (name, *getattr(cls, "aliases", ())):
            return cls()
    raise ParameterError(
        f"{parameter} must be one of {', '.join(map(repr, known))} or an object of {room}, "
        f"got {spec!r}. Use one of these names."
    )


def _public_classes(module: ModuleType) -> list[type[Any]]:
    return [
        cls
        for name, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__ and not name.startswith("_") and hasattr(cls, "name")
    ]
