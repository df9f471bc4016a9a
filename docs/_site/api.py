"""Pages of the API, one per room, written into ``docs/api`` before Sphinx looks for pages.

Rooms and their public names are found by walking the package, so a new file is on the site
without a line here.
"""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["setup"]

# In the order in which somebody meets them; a room that is not named here comes at the end.
ORDER = (
    *("estimators", "baselines", "streams", "checkpoint", "metrics", "synthetic", "report", "apps"),
    *("distributed", "divergences", "prox", "solvers", "encoders", "updates", "trackers"),
    *("completion", "dynamics", "archetypes", "errors"),
)
HEAD = """{title}
{line}

{modules}

.. currentmodule:: {module}

{text}

.. autosummary::
   :toctree: generated

{names}
"""
INDEX = """API reference
=============

Most users need :doc:`estimators`, :doc:`streams`, :doc:`metrics` and :doc:`synthetic` only. The
other rooms contain the components of the estimators: :doc:`/architecture` gives an overview, and
:doc:`/adding` explains how to write a component.

.. list-table::
   :widths: 20 80

{rows}

.. toctree::
   :hidden:

{rooms}
"""


def write(folder: Path) -> None:
    """Write a page for each room, and the page that lists them."""
    rooms = {room: names for room in _rooms() if (names := _names(room))}
    folder.mkdir(exist_ok=True)
    texts = {"index": _index(list(rooms))} | {r: _page(r, names) for r, names in rooms.items()}
    for name, text in texts.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def _page(room: str, names: list[str]) -> str:
    module = _module(room)
    title = "Estimators" if room == "estimators" else f"thalweg.{room}"
    parts = [] if room == "estimators" else _parts(module)
    # a function may have the name of its file; then the page is the function's
    parts = [part for part in parts if part.__name__.rpartition(".")[2] not in names]
    homes = [each.__name__ for each in [module, *parts]]
    return HEAD.format(
        title=title,
        line="=" * len(title),
        modules="\n".join(f".. py:module:: {home}" for home in homes),
        module=_prefix(room),
        text=_prose(module),
        names="\n".join(f"   {name}" for name in names),
    )


def _prefix(room: str) -> str:
    """Return the module after which names are written: users take estimators from the top."""
    return "thalweg" if room == "estimators" else _module(room).__name__


def _rooms() -> list[str]:
    import thalweg

    there = {info.name for info in pkgutil.iter_modules(thalweg.__path__)}
    public = sorted(name for name in there if not name.startswith("_") and name != "cli")
    return sorted(public, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def _module(room: str) -> ModuleType:
    return importlib.import_module(f"thalweg.{room}")


def _names(room: str) -> list[str]:
    """Return the public classes and functions of a room, as written after its prefix."""
    import thalweg

    top = [thalweg] if room == "estimators" else []
    deep = [] if room in ("estimators", "baselines") else _parts(_module(room))
    found: dict[Any, str] = {}
    for module in [*top, _module(room), *deep]:
        for name in sorted(getattr(module, "__all__", _own(module))):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                path = f"{module.__name__}.{name}".removeprefix(_prefix(room) + ".")
                found.setdefault(thing, path)
    return list(found.values())


def _parts(room: ModuleType) -> list[ModuleType]:
    return [
        importlib.import_module(f"{room.__name__}.{info.name}")
        for info in pkgutil.iter_modules(getattr(room, "__path__", []))
        if not info.name.startswith("_")
    ]


def _own(module: ModuleType) -> list[str]:
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    ]


def _prose(module: ModuleType) -> str:
    """Return the docstring up to its first section or drawing."""
    text = inspect.cleandoc(module.__doc__ or "")
    kept = []
    for paragraph in text.split("\n\n"):
        if "\n---" in paragraph or paragraph.endswith("::") or paragraph.startswith(" "):
            break
        kept.append(paragraph)
    return escaped("\n\n".join(kept))


def _index(rooms: list[str]) -> str:
    first = {name: _prose(_module(name)).partition("\n\n")[0] for name in rooms}
    rows = (f"   * - :doc:`{name}`\n     - {' '.join(first[name].split())}" for name in rooms)
    return INDEX.format(rows="\n".join(rows), rooms="\n".join(f"   {name}" for name in rooms))


def _skip(app: Any, kind: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what the Attributes section of a docstring has said, and what scikit-learn adds."""
    if name in ("count", "index") or type(thing).__name__ == "_tuplegetter":
        return True
    if not (callable(thing) or isinstance(thing, property | classmethod)):
        return True
    return True if (getattr(thing, "__module__", "") or "").startswith("sklearn") else None


def escaped(line: str) -> str:
    """Return a line in which |x| and components_ are text, outside of what is quoted."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = re.split(r"(``.*?``|`[^`]*`)", line)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(?<=\w)_(?![\w])", r"\\_", parts[i].replace("|", r"\|"))
    return "".join(parts)


def _escape(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = [escaped(line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Write the pages as soon as the settings are read."""
    app.connect("config-inited", lambda app, config: write(Path(app.srcdir) / "api"))
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _escape, priority=100)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
