"""Find the cases without importing them: NumPy must not be loaded before threads are set."""

import ast
from pathlib import Path

__all__ = ["docstring", "found", "headline", "threads"]

_FOLDER = Path(__file__).parent / "cases"


def found() -> list[str]:
    """Return the names of all cases."""
    return sorted(path.stem for path in _FOLDER.glob("[!_]*.py"))


def docstring(name: str) -> str:
    """Return a case's docstring: table or figure, data, settings, claim."""
    return ast.get_docstring(_tree(name)) or ""


def headline(name: str) -> str:
    """Return the first line of a case's docstring."""
    return docstring(name).partition("\n")[0]


def threads(name: str) -> int:
    """Return how many BLAS threads a case may use: its ``THREADS``, or 1."""
    for node in _tree(name).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "THREADS":
            return int(ast.literal_eval(node.value))
    return 1


def _tree(name: str) -> ast.Module:
    return ast.parse((_FOLDER / f"{name}.py").read_text())
