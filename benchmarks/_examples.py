"""The scripts of ``examples/`` as modules: a case that measures one shares its code."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

__all__ = ["data", "example"]

_FOLDER = Path(__file__).parents[1] / "examples"


def example(name: str) -> ModuleType:
    """Return a script of the examples as a module. It draws, and so needs Matplotlib."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", _FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def data(file: str) -> Path:
    """Return where a file of the folder THALWEG_DATA is; leave if it is not there."""
    folder = os.environ.get("THALWEG_DATA")
    if folder is None or not (Path(folder) / file).exists():
        raise SystemExit(f"this case needs {file}: set THALWEG_DATA to the folder that has it")
    return Path(folder) / file
