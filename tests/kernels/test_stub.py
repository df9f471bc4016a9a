"""The native module: its stub is current, and it is not older than its sources."""

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
