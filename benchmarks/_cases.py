"""Find the cases without importing them: NumPy must not be loaded before threads are set."""

import ast
import importlib
from pathlib import Path
from types import ModuleType

__all__ = ["docstring", "folders", "found", "headline", "load", "threads", "title"]

_CASES = Path(__file__).parent / "cases"


def folders() -> dict[str, list[str]]:
    """Return the names of the cases of each folder, in the order of the folders' titles.

    The titles of the papers' folders begin with a bracket, and come first.
    """
    names = sorted((path.parent.name for path in _CASES.glob("*/__init__.py")), key=_rank)
    return {name: sorted(path.stem for path in (_CASES / name).glob("[!_]*.py")) for name in names}


def found() -> list[str]:
    """Return the names of all cases; they are unique over all folders."""
    return sorted(name for names in folders().values() for name in names)


def load(name: str) -> ModuleType:
    """Import a case."""
    return importlib.import_module(f"benchmarks.cases.{_path(name).parent.name}.{name}")


def title(folder: str) -> str:
    """Return the first line of a folder's docstring."""
    return _first_line(_docstring(_CASES / folder / "__init__.py"))


def docstring(name: str) -> str:
    """Return a case's docstring: table or figure, data, settings, claim."""
    return _docstring(_path(name))


def headline(name: str) -> str:
    """Return the first line of a case's docstring."""
    return _first_line(docstring(name))


def threads(name: str) -> int:
    """Return how many BLAS threads a case may use: its ``THREADS``, or 1."""
    for node in _tree(_path(name)).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "THREADS":
            return int(ast.literal_eval(node.value))
    return 1


def _rank(folder: str) -> tuple[bool, str]:
    return not title(folder).startswith("["), folder


def _path(name: str) -> Path:
    paths = [*_CASES.glob(f"*/{name}.py")]
    if len(paths) != 1:
        raise ValueError(f"The name of a case must be in one folder, got {name!r} in {len(paths)}.")
    return paths[0]


def _docstring(path: Path) -> str:
    return ast.get_docstring(_tree(path)) or ""


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))
