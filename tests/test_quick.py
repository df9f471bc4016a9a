"""The list of quick tests names tests that exist."""

import ast

import pytest

from quick import QUICK, TESTS, is_quick


@pytest.mark.parametrize("file", QUICK)
def test_quick_tests_exist(file):
    body = ast.parse((TESTS / file).read_text("utf-8")).body
    there = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    assert set(QUICK[file]) <= there


def test_files_and_tests_are_told_apart():
    file = TESTS / "encoders/test_encoder_contract.py"
    assert is_quick(file)
    assert is_quick(file, "test_no_samples")
    assert not is_quick(file, "test_chunks_leave_no_trace")
    assert is_quick(TESTS / "test_imports.py", "anything")
    assert not is_quick(TESTS / "test_docs.py")
    assert not is_quick(TESTS.parent / "src" / "test_imports.py")
