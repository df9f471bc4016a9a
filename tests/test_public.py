"""Everything public can be imported and has a numpydoc docstring with an example."""

import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import thalweg

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = re.compile(r"^Examples\n-{8}\n(?=.*^>>> )", re.M | re.S)
HEADING = re.compile(r"^(\w[\w ]*)\n(-{3,})$", re.M)


def modules() -> list[ModuleType]:
    """Return the public modules of the library."""
    names = [
        info.name
        for info in pkgutil.walk_packages(thalweg.__path__, "thalweg.")
        if not any(part.startswith("_") for part in info.name.split("."))
    ]
    return [importlib.import_module(name) for name in names]


def definitions() -> dict[str, Any]:
    """Return the public classes and functions of these modules by dotted name."""
    return {
        f"{module.__name__}.{name}": thing
        for module in modules()
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
    }


def docstring_faults(thing: Any) -> list[str]:
    """Return what is wrong with a docstring, as sentences."""
    text = inspect.cleandoc(thing.__doc__ or "")
    if not text:
        return ["no docstring"]
    faults = [
        f"the line under {title!r} has not its length"
        for title, dashes in HEADING.findall(text)
        if len(title) != len(dashes)
    ]
    # a module is shown by what is in it, a protocol by those who keep it
    shown = inspect.ismodule(thing) or getattr(thing, "_is_protocol", False)
    if not shown and not EXAMPLES.search(text):
        faults.append("no Examples section with a >>> line")
    return faults


DEFINITIONS = definitions()


@pytest.mark.parametrize("name", sorted(set(thalweg.__all__) - {"__version__"}))
def test_public_names_are_there_and_documented(name):
    assert docstring_faults(getattr(thalweg, name)) == []


@pytest.mark.parametrize("name", DEFINITIONS)
def test_public_definitions_are_documented(name):
    assert docstring_faults(DEFINITIONS[name]) == []


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_modules_are_documented(module):
    assert docstring_faults(module) == []


def test_dir_lists_the_public_names():
    assert set(thalweg.__all__) <= set(dir(thalweg))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'Unknown'"):
        _ = thalweg.Unknown


def test_version_is_the_one_of_the_project_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert thalweg.__version__ == project["version"]


def test_citation_has_the_version_of_the_project():
    assert f"\nversion: {thalweg.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_bad_docstrings_are_seen():
    def bare():
        pass

    def sloppy():
        """Do it.

        Examples
        ---
        Call it.
        """

    assert docstring_faults(bare) == ["no docstring"]
    assert docstring_faults(sloppy) == [
        "the line under 'Examples' has not its length",
        "no Examples section with a >>> line",
    ]
