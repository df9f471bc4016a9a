"""Covering arrays: every value, every pair, few rows, the same rows each time."""

from itertools import combinations, product

import pytest

from pairwise import all_pairs, covering_rows


@pytest.mark.parametrize(
    ("sizes", "most"),  # at least the product of the two largest
    [
        ((), 0),
        ((3,), 3),
        ((3, 4), 12),
        ((2, 2, 2), 4),
        ((11, 4, 3, 2, 2), 44),
        ((2, 9, 24), 216),
        ((3, 3, 3, 3), 12),
        ((2,) * 10, 12),
    ],
)
def test_rows_cover_all_pairs(sizes, most):
    rows = covering_rows(sizes)
    assert len(rows) == len(set(rows)) <= most
    for a, b in combinations(range(len(sizes)), 2):
        found = {(row[a], row[b]) for row in rows}
        assert found == set(product(range(sizes[a]), range(sizes[b])))
    for place, size in enumerate(sizes):
        assert {row[place] for row in rows} == set(range(size))
    assert rows == covering_rows(sizes)


def test_no_values_give_no_rows():
    assert covering_rows([3, 0]) == []


SIZES = pytest.mark.parametrize(("rows", "columns"), [(1, 2), (3, 4)])
NAMES = pytest.mark.parametrize("name", {"a": 1, "b": 2})
GAPS = pytest.mark.parametrize("gaps", [False, True])


def test_decorators_are_joined():
    mark = all_pairs(SIZES, NAMES, GAPS).mark
    assert mark.name == "parametrize"
    assert mark.args[0] == ["rows", "columns", "name", "gaps"]
    assert len(mark.args[1]) == 4
    assert {row[:2] for row in mark.args[1]} == {(1, 2), (3, 4)}
    assert {row[2:] for row in mark.args[1]} == set(product("ab", [False, True]))


@all_pairs(SIZES, NAMES, GAPS)
def test_a_test_gets_its_values(rows, columns, name, gaps):
    assert (rows, columns) in [(1, 2), (3, 4)]
    assert name in ("a", "b")
    assert gaps in (False, True)


def test_rows_are_named_as_pytest_names_them():
    kinds = pytest.mark.parametrize("kind", [int, 1.5, (), None])
    shown = pytest.mark.parametrize("shown", [1, 2], ids=["full", "gaps"])
    asked = pytest.mark.parametrize("asked", [1, 2], ids=lambda value: f"<{value}>")
    ids = all_pairs(kinds, SIZES, shown, asked).mark.kwargs["ids"]
    assert len(set(ids)) == len(ids)
    parts = [set(part) for part in zip(*(name.split("-") for name in ids), strict=True)]
    assert parts == [
        {"int", "1.5", "kind2", "None"},
        {"1", "3"},
        {"2", "4"},
        {"full", "gaps"},
        {"<1>", "<2>"},
    ]
