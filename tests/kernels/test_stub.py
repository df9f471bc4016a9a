"""The native module: its stub is current, and it is not older than its sources."""

import ast
import importlib.util
from pathlib import Path

import pytest

import thalweg
from thalweg._native import _thalweg_core

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "src" / "thalweg" / "_native"


def test_stub_is_current():
    pytest.importorskip("nanobind", reason="nanobind, which writes the stub, is not installed")
    spec = importlib.util.spec_from_file_location("native", ROOT / ".ci" / "native.py")
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    stored = (NATIVE / "_thalweg_core.pyi").read_text("utf-8")
    assert native.stub_text() == stored, "run `make stub`"


def test_module_is_compiled_from_the_sources():
    if not Path(thalweg.__file__).is_relative_to(ROOT / "src"):
        pytest.skip("the installed package is not this checkout's")
    built = Path(_thalweg_core.__file__).stat().st_mtime
    newer = [path.name for path in NATIVE.rglob("*.?pp") if path.stat().st_mtime > built]
    assert not newer, "compile these again: make native"


# Parts of kernels, and the choice of an instruction set, which only tests call by themselves.
FOR_TESTS = {
    "admm_codes",
    "approximate_huber_codes",
    "least_l1_outliers",
    "random_permutation",
    "set_target_level",
    "target_level",
}


def bound_functions() -> list[ast.FunctionDef]:
    stub = ast.parse((NATIVE / "_thalweg_core.pyi").read_text("utf-8"))
    return [node for node in stub.body if isinstance(node, ast.FunctionDef)]


def test_every_kernel_is_called_by_the_library():
    sources = [path for path in (ROOT / "src").rglob("*.py") if path.parent != NATIVE]
    called = {
        node.attr
        for path in sources
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
    }
    assert {function.name for function in bound_functions()} - called == FOR_TESTS


def test_kernels_have_few_arguments():
    many = {f.name for f in bound_functions() if len(f.args.args + f.args.kwonlyargs) > 8}
    assert not many


def test_native_files_are_short():
    long = [p.name for p in NATIVE.rglob("*.?pp") if len(p.read_text("utf-8").splitlines()) > 300]
    assert not long
