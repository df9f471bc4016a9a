"""Parametrise a test over all pairs of values instead of all combinations.

Most faults that depend on parameters depend on one or two of them. A covering array of strength two
has every value of every parameter, and every two values of two parameters together in some row:
about as many rows as the two longest parameters have combinations.
"""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pytest

__all__ = ["all_pairs", "covering_rows"]


def all_pairs(*parameters: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Join ``pytest.mark.parametrize`` decorators into one that covers all pairs of their values.

    A decorator of several names counts as one parameter: its values stay together. Of the options
    of ``parametrize``, ``ids`` is understood. Rows do not come grouped by any parameter: what is
    costly to make of one value belongs into a cached function, not into a fixture.

    Examples
    --------
    >>> every_size = pytest.mark.parametrize("size", [1, 2, 3])
    >>> every_dtype = pytest.mark.parametrize("dtype", ["f4", "f8"])
    >>> with_gaps = pytest.mark.parametrize("gaps", [False, True])
    >>> mark = all_pairs(every_size, every_dtype, with_gaps).mark
    >>> mark.args[0]
    ['size', 'dtype', 'gaps']
    >>> len(mark.args[1])  # of 12 combinations
    6
    """
    names: list[str] = []
    values: list[list[tuple[Any, ...]]] = []
    labels: list[list[str]] = []
    for parameter in parameters:
        given, found = parameter.args
        own = [name.strip() for name in (given.split(",") if isinstance(given, str) else given)]
        names += own
        values.append([(value,) if len(own) == 1 else tuple(value) for value in found])
        labels.append(_labels(own, values[-1], parameter.kwargs.get("ids")))
    rows = covering_rows([len(found) for found in values])
    return pytest.mark.parametrize(
        names,
        [sum((values[i][j] for i, j in enumerate(row)), ()) for row in rows],
        ids=["-".join(labels[i][j] for i, j in enumerate(row)) for row in rows],
    )


def _labels(names: list[str], values: list[tuple[Any, ...]], ids: Any) -> list[str]:
    """Return what each value of a parameter is called in the name of a test, as pytest has it."""
    if ids is not None and not callable(ids):
        return [str(label) for label in ids]
    return [
        "-".join(
            ids(value) if ids else _label(value, f"{name}{i}")
            for name, value in zip(names, row, strict=True)
        )
        for i, row in enumerate(values)
    ]


def _label(value: Any, otherwise: str) -> str:
    if value is None or isinstance(value, (str, int, float, complex)):
        return str(value)
    return str(getattr(value, "__name__", otherwise))


def covering_rows(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return rows of indices below ``sizes`` that cover all pairs of indices of any two places.

    Greedy and deterministic: each row begins with the first pair that is not covered yet, and
    takes in every other place the index that covers most pairs with the places before.
    """
    if len(sizes) < 2:
        return [(i,) for size in sizes for i in range(size)]
    # the longest first: rows of their pairs have to be there, and the others fit in
    order = sorted(range(len(sizes)), key=lambda place: -sizes[place])
    missing = {  # a dictionary keeps the order, a set does not
        ((a, i), (b, j)): None
        for a, b in combinations(order, 2)
        for i, j in product(range(sizes[a]), range(sizes[b]))
    }
    rows = []
    while missing:
        row = dict(next(iter(missing)))
        for place in order:
            if place not in row:
                row[place] = max(
                    range(sizes[place]),
                    key=lambda i: sum(pair in missing for pair in _pairs(row, (place, i), order)),
                )
        for a, b in combinations(order, 2):
            missing.pop(((a, row[a]), (b, row[b])), None)
        rows.append(tuple(row[place] for place in range(len(sizes))))
    return rows


def _pairs(row: dict[int, int], new: tuple[int, int], order: list[int]) -> list[Any]:
    """Return the pairs of a place with those of a row, each in the order of the places."""
    rank = order.index
    return [tuple(sorted([old, new], key=lambda place: rank(place[0]))) for old in row.items()]
