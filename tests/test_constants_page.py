"""docs/constants.md has the values of the code."""

import ast
import operator
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "constants.md").read_text("utf-8")
ROW = re.compile(r"^\| \[`([\w.]+)`\]\(\.\./(src/[\w/]+\.py)\) \| `([^`]+)` \| (.+) \|$", re.M)
ROWS = {name: (path, value, rest.split(" | ")) for name, path, value, rest in ROW.findall(PAGE)}


def evaluated(text: str) -> object:
    """Return the number that a cell contains: a literal, or a power."""
    base, _, exponent = text.partition("**")
    numbers = [ast.literal_eval(part) for part in (base, exponent) if part]
    return operator.pow(*numbers) if exponent else numbers[0]


def test_every_row_is_read():
    lines = [line for line in PAGE.splitlines() if line.startswith("| [")]
    assert len(lines) == len(ROWS) > 40


@pytest.mark.parametrize("name", ROWS)
def test_the_value_is_that_of_the_code(name):
    path, value, _ = ROWS[name]
    module, _, constant = name.rpartition(".")
    assert path == f"src/thalweg/{module.replace('.', '/')}.py"
    assert getattr(import_module(f"thalweg.{module}"), constant) == evaluated(value)


@pytest.mark.parametrize("name", ROWS)
def test_unit_tradeoff_and_benchmark_are_given(name):
    unit, tradeoff, evidence = ROWS[name][2]
    assert unit
    assert tradeoff
    target = re.fullmatch(r"\[[\w/.]+\]\(([\w/.]+)\)", evidence)[1]
    assert (ROOT / "docs" / target).exists()


def test_powers_and_literals_are_understood():
    assert [evaluated(text) for text in ("2**25", "5_000", "1e-2")] == [2**25, 5000, 0.01]
