"""Pages of the API, one per room, written into ``docs/api`` before Sphinx looks for pages.

Rooms and their public names are found by walking the package, so a new file is on the site
without a line here.
"""

import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["setup"]

# In the order in which somebody meets them; a room that is not named here comes at the end.
ORDER = (
    *("estimators", "rivals", "streams", "checkpoint", "metrics", "synthetic", "report", "apps"),
    *("distributed", "divergences", "prox", "solvers", "encoders", "updates", "trackers"),
    *("completion", "archetypes", "errors"),
)
HEAD = """{title}
{line}

{text}

.. currentmodule:: thalweg

.. autosummary::
   :toctree: generated

{names}
"""
INDEX = """API reference
=============

What users call is in :doc:`estimators`, :doc:`streams`, :doc:`metrics` and :doc:`synthetic`. The
other rooms hold the parts that estimators are made of: :doc:`/architecture` shows how they fit,
:doc:`/adding` how to write one.

.. list-table::
   :widths: 20 80

{rows}

.. toctree::
   :hidden:

{rooms}
"""


def write(folder: Path) -> None:
    """Write a page for each room, and the page that lists them."""
    rooms = {name: names for name in _rooms() if (names := _names(name))}
    folder.mkdir(exist_ok=True)
    texts = {"index": _index(list(rooms))}
    for name, names in rooms.items():
        listed = "\n".join(f"   {each}" for each in names)
        title = f"thalweg.{name}" if name != "estimators" else "Estimators"
        texts[name] = HEAD.format(
            title=title, line="=" * len(title), text=_prose(_module(name)), names=listed
        )
    for name, text in texts.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def _rooms() -> list[str]:
    import thalweg

    there = {info.name for info in pkgutil.iter_modules(thalweg.__path__)} | {"rivals"}
    public = sorted(name for name in there if not name.startswith("_") and name != "cli")
    return sorted(public, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def _module(room: str) -> ModuleType:
    home = "estimators.rivals" if room == "rivals" else room
    return importlib.import_module(f"thalweg.{home}")


def _names(room: str) -> list[str]:
    """Return the public names of a room, as one writes them after ``thalweg.``."""
    import thalweg

    if room == "estimators":
        things = {name: getattr(thalweg, name) for name in sorted(thalweg.__all__)}
        return [name for name, thing in things.items() if not isinstance(thing, str | ModuleType)]
    found: dict[Any, str] = {}
    for module in [_module(room), *_parts(_module(room))]:
        short = module.__name__.removeprefix("thalweg.").removeprefix("estimators.")
        for name in getattr(module, "__all__", _own(module)):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found.setdefault(thing, f"{short}.{name}")
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
    return "\n\n".join(kept)


def _index(rooms: list[str]) -> str:
    first = {name: _prose(_module(name)).partition("\n\n")[0] for name in rooms}
    rows = (f"   * - :doc:`{name}`\n     - {' '.join(first[name].split())}" for name in rooms)
    return INDEX.format(rows="\n".join(rows), rooms="\n".join(f"   {name}" for name in rooms))


def _skip(app: Any, kind: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what the Attributes section of a docstring has already said."""
    if name in ("count", "index") or type(thing).__name__ == "_tuplegetter":
        return True
    return True if not (callable(thing) or isinstance(thing, property | classmethod)) else None


def setup(app: Any) -> dict[str, bool]:
    """Write the pages as soon as the settings are read."""
    app.connect("config-inited", lambda app, config: write(Path(app.srcdir) / "api"))
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
