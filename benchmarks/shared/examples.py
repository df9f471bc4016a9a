"""The scripts of ``examples/`` as modules: a case that measures one shares its code."""

import importlib.util
from pathlib import Path
from types import ModuleType

__all__ = ["example"]

_FOLDER = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    """Return a script of the examples as a module. It draws, and so needs Matplotlib."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", _FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
