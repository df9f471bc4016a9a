"""Components are found by walking a package, and looked up by name.

A *room* is a package such as ``thalweg.prox``. Every public class of its public modules that
carries a ``name`` is a member; adding a component is adding a file. A class may have
``aliases`` too: other names that users may write.
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
    found = {
        cls.name: cls
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_")
        for cls in _public_classes(importlib.import_module(f"{room}.{info.name}"))
    }
    return MappingProxyType(dict(sorted(found.items())))


def resolve(room: str, spec: Any, parameter: str) -> Any:
    """Return the component that ``spec`` names, or ``spec`` itself when it is an object."""
    if isinstance(spec, type):  # it has the methods of its objects, so that it looks like one
        raise ParameterError(
            f"{parameter} should be a name or an object of {room}, but the class {spec.__name__} "
            f"came. Make an object of it, such as {spec.__name__}()."
        )
    if not isinstance(spec, str):
        return spec
    known = members(room)
    for name, cls in known.items():
        if spec in (name, *getattr(cls, "aliases", ())):
            return cls()
    raise ParameterError(
        f"{parameter} should be one of {', '.join(map(repr, known))} or an object of "
        f"{room}, but {spec!r} came. Use one of these names."
    )


def _public_classes(module: ModuleType) -> list[type[Any]]:
    return [
        cls
        for name, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__ and not name.startswith("_") and hasattr(cls, "name")
    ]
