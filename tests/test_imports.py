"""Imports point one way, heavy libraries stay in their rooms, the maths does no I/O."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src"

# From the top to the ground. A room imports rooms of lower layers only; those that share a
# layer do not know one another, except on the ground.
LAYERS = (
    {"__main__"},
    {"cli"},
    {"apps"},
    {"report", "distributed"},
    {"baselines"},
    {"streams", "estimators", "metrics", "synthetic"},
    {"checkpoint"},
    {"learning"},
    {"archetypes", "completion", "dynamics", "trackers", "updates"},
    {"encoders"},
    {"solvers"},
    {"noise", "prox", "divergences"},
    {
        *("_atomic", "_checks", "_constants", "_linalg", "_native", "_rooms", "_threads"),
        *("_typing", "errors"),
    },
)
DEPTH = {room: depth for depth, rooms in enumerate(LAYERS) for room in rooms}
GROUND = len(LAYERS) - 1
STRANGERS = {"prox", "divergences", "solvers"}  # rooms whose public modules do not meet
KEPT_IN = {"sklearn": ("baselines", "estimators")}
MATHS = {
    "_native",
    "archetypes",
    "completion",
    "divergences",
    "dynamics",
    "encoders",
    "learning",
    "metrics",
    "noise",
    "prox",
    "solvers",
    "synthetic",
    "trackers",
    "updates",
}
IMPURE_CALLS = {"print", "open", "input"}


def sources() -> dict[str, str]:
    """Return the source of each file of the library by dotted name, with ``__init__``."""
    return {
        ".".join(path.relative_to(SRC).with_suffix("").parts): path.read_text("utf-8")
        for path in sorted(SRC.rglob("*.py"))
    }


def room_of(module: str) -> str:
    """Return the second part of a dotted name: the room, for a module of the library."""
    return module.partition(".")[2].partition(".")[0]


def imported(module: str, source: str, known: set[str]) -> Iterator[str]:
    """Yield what a module imports, wherever the statement stands, as dotted names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in known or base == "thalweg" else base


def direction_faults(module: str, source: str, known: set[str]) -> list[str]:
    """Return what a module of the library imports against the rules, as sentences."""
    room = room_of(module)
    if room == "__init__":  # the front door names everything, and loads it lazily
        return []
    if room not in DEPTH:
        return [f"{module}: the room {room} has no place in LAYERS"]
    faults = (_fault(module, target) for target in imported(module, source, known))
    return [f"{module} imports {fault}" for fault in faults if fault]


def _fault(module: str, target: str) -> str:
    room, top, other = room_of(module), target.partition(".")[0], room_of(target)
    if top in KEPT_IN and room not in KEPT_IN[top]:
        return f"{target}, which is kept in {' and '.join(KEPT_IN[top])}"
    if top != "thalweg" or other == "__version__":
        return ""
    if other not in DEPTH:
        return f"{target}: import from the room instead"
    if not _points_down(room, other):
        return f"{target}, which is not below {room}"
    if room == other and room in STRANGERS and _is_sibling(module, target):
        return f"its sibling {target}"
    return ""


def _points_down(room: str, other: str) -> bool:
    on_ground = DEPTH[room] == DEPTH[other] == GROUND
    return room == other or on_ground or DEPTH[room] < DEPTH[other]


def _is_sibling(module: str, target: str) -> bool:
    mine, other = module.split(".")[2], (*target.split("."), "", "")[2]
    return mine != "__init__" and other not in ("", mine) and not other.startswith("_")


def private_imports(module: str, source: str, known: set[str]) -> list[str]:
    """Return the private modules and names of other rooms that a module imports."""
    room = room_of(module)
    faults = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("thalweg."):
            continue
        base = node.module or ""
        if room_of(base) == room:
            continue
        names = [f"{base}.{alias.name}" for alias in node.names]
        faults += [name for name in names if any(p.startswith("_") for p in name.split(".")[2:])]
    return faults


def private_names(source: str) -> tuple[set[str], set[str]]:
    """Return the private attributes that a source defines, and those that it uses of others."""
    defined, used = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            defined.add(node.target.id)
        elif isinstance(node, ast.Assign):
            defined |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            (defined if own else used).add(node.attr)
    return defined, {name for name in used if name.startswith("_") and name[1] != "_"}


def impurities(module: str, source: str) -> list[str]:
    """Return the calls to print, open or input, and the imports of logging, as sentences."""
    faults = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in IMPURE_CALLS:
                faults.append(f"{module}:{node.lineno} calls {called}")
    if any(name.split(".")[0] == "logging" for name in imported(module, source, set())):
        faults.append(f"{module} imports logging")
    return faults


SOURCES = sources()
MODULES = {name.removesuffix(".__init__") for name in SOURCES}


@pytest.mark.parametrize("module", SOURCES)
def test_imports_point_down(module):
    assert not direction_faults(module, SOURCES[module], MODULES)


@pytest.mark.parametrize("module", [name for name in SOURCES if room_of(name) in MATHS])
def test_maths_does_no_input_or_output(module):
    assert not impurities(module, SOURCES[module])


@pytest.mark.parametrize("module", SOURCES)
def test_nothing_private_is_imported_from_another_room(module):
    assert not private_imports(module, SOURCES[module], MODULES)


# public methods of named tuples, in spite of their names
TUPLE_METHODS = {"_replace", "_fields", "_asdict", "_make", "_field_defaults"}


@pytest.mark.parametrize("room", sorted(DEPTH))
def test_nothing_private_is_used_of_another_room(room):
    names = [private_names(source) for name, source in SOURCES.items() if room_of(name) == room]
    defined = set().union(*(own for own, _ in names))
    assert set().union(*(used for _, used in names)) <= defined | TUPLE_METHODS


KNOWN = {"thalweg.prox", "thalweg.prox._sums", "thalweg.prox.box", "thalweg.prox.l1"}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("thalweg.prox.l1", "from thalweg.encoders import Encoder"),
        ("thalweg.prox.l1", "import thalweg.solvers"),
        ("thalweg.prox.l1", "def f():\n    from thalweg import estimators"),
        ("thalweg.prox.l1", "from ..solvers import fista"),
        ("thalweg.prox.l1", "from .. import solvers"),
        ("thalweg.prox.l1", "from thalweg import RobustNMF"),
        ("thalweg.prox.l1", "from thalweg.prox.box import Box"),
        ("thalweg.prox.l1", "from thalweg.prox import box"),
        ("thalweg.prox.l1", "from .box import Box"),
        ("thalweg.prox.l1", "from . import box"),
        ("thalweg.prox.__init__", "from ..encoders import Encoder"),
        ("thalweg.metrics", "from thalweg.synthetic import scene"),
        ("thalweg.errors", "from thalweg.prox import Prox"),
        ("thalweg.solvers.fista", "import sklearn.base"),
        ("thalweg.encoders.fast", "from sklearn.base import BaseEstimator"),
        ("thalweg.utils", "import math"),
    ],
)
def test_a_wrong_import_is_seen(module, source):
    assert len(direction_faults(module, source, KNOWN)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("thalweg.prox.l1", "from thalweg.prox import Prox"),
        ("thalweg.prox.l1", "from . import _sums"),
        ("thalweg.prox.l1", "from thalweg.prox._sums import total"),
        ("thalweg.prox.l1", "from thalweg import __version__, _native"),
        ("thalweg.prox.__init__", "from thalweg.prox.box import Box\nfrom .l1 import L1"),
        ("thalweg.encoders.fast", "from thalweg.encoders.pgd import step"),
        ("thalweg._rooms", "from thalweg.errors import ParameterError"),
        ("thalweg.estimators.base", "import sklearn\nfrom thalweg.updates import half_life"),
        ("thalweg.__init__", "from thalweg.estimators import RobustNMF"),
    ],
)
def test_a_right_import_is_left_alone(module, source):
    assert not direction_faults(module, source, KNOWN)


def test_private_crossings_are_seen():
    source = "from thalweg.prox._sums import total\nfrom thalweg.prox.box import _clip\nx._value"
    assert len(private_imports("thalweg.encoders.fast", source, KNOWN)) == 2
    assert not private_imports("thalweg.prox.l1", source, KNOWN)
    assert private_names(source)[1] == {"_value"}


@pytest.mark.parametrize(
    "source",
    ["print(1)", "with open('x') as f: pass", "path.open()", "import logging", "input()"],
)
def test_input_and_output_are_seen(source):
    assert len(impurities("thalweg.prox.l1", source)) == 1


def test_importing_the_library_is_light():
    code = (
        "import sys, thalweg; print(*{'scipy', 'sklearn', 'thalweg._native'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
