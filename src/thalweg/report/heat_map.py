"""Panel of heat maps."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array, Indices
from thalweg.report import _checks
from thalweg.report._blocks import block_edges, block_max_abs, block_means
from thalweg.report._html import Html, data, join, note, tag
from thalweg.report._images import has_gaps

__all__ = ["HeatMap"]

_MAX_ROWS, _MAX_COLUMNS = 160, 120  # cells of a map
_MAX_LABELS = 8  # that fit along an axis
_QUANTILES = (0.01, 0.99)  # ends of the colour scale, robust to extreme values


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Show tables of equal shape as heat maps: data, completed data, outliers.

    The pointer or the arrow keys select a cell and show its value. All layers share one colour
    scale, from the 1 % to the 99 % quantile. A layer with median 0, such as outliers, has its own
    diverging scale, symmetric around 0. Large tables are reduced to blocks, and a note says so: a
    block shows the mean of its values or, on a diverging scale, the value of largest magnitude.

    Parameters
    ----------
    title : str
        Heading of the panel.
    layers : dict of str to array of shape (rows, columns)
        Tables by name, with NaN for gaps.
    row_labels, column_labels : sequence of str or None, default=None
        Labels of rows and columns; None counts from 0.
    by_column : bool, default=False
        Whether each column has its own scale, for columns in different units.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import report
    >>> table = np.arange(12.0).reshape(4, 3)
    >>> panel = report.HeatMap("Wells", {"data": table}, column_labels=["a", "b", "c"])
    >>> panel.html().count("<canvas")
    1
    """

    title: str
    layers: Mapping[str, Any]
    row_labels: Sequence[Any] | None = None
    column_labels: Sequence[Any] | None = None
    by_column: bool = False
    name: ClassVar[str] = "heat-map"

    def __post_init__(self) -> None:
        _checks.text("title", self.title)
        _checks.mapping("layers", self.layers)
        layers = {n: _checks.numbers(f"layer {n!r}", a, 2) for n, a in self.layers.items()}
        _checks.same_shape("layers", layers, axes=2)
        n_rows, n_columns = next(iter(layers.values())).shape
        _checks.labels("row_labels", self.row_labels, n_rows)
        _checks.labels("column_labels", self.column_labels, n_columns)
        object.__setattr__(self, "layers", layers)

    def html(self) -> Html:
        """Return the panel without its heading."""
        n_rows, n_columns = self._shape()
        rows, columns = block_edges(n_rows, _MAX_ROWS), block_edges(n_columns, _MAX_COLUMNS)
        diverging = {name: _has_zero_median(table) for name, table in self.layers.items()}
        cells = {
            name: (block_max_abs if diverging[name] else block_means)(table, rows, columns)
            for name, table in self.layers.items()
        }
        row_names, column_names = _names(rows, self.row_labels), _names(columns, self.column_labels)
        maps = self._maps(cells, diverging)
        axes = (
            _axis("row-axis", row_names, self.row_labels, n_rows),
            _axis("column-axis", column_names, self.column_labels, n_columns),
        )
        figures = [_figure(name, len(row_names), len(column_names), *axes) for name in cells]
        hint = "Point at a cell or use the arrow keys to read its value."
        return join(
            tag("div", *figures, class_="maps"),
            tag("p", hint, class_="value", role="status"),
            self._note(len(row_names), len(column_names)),
            data({"rows": row_names, "columns": column_names, "maps": maps}),
        )

    def _shape(self) -> tuple[int, int]:
        shape: tuple[int, int] = next(iter(self.layers.values())).shape
        return shape

    def _maps(self, cells: dict[str, Array], diverging: dict[str, bool]) -> list[dict[str, Any]]:
        """Return the data of each layer for the script."""
        shared = [table for name, table in cells.items() if not diverging[name]]
        limits = self._limits(np.concatenate(shared)) if shared else []
        return [
            {
                "name": name,
                "diverging": diverging[name],
                "limits": self._symmetric_limits(table) if diverging[name] else limits,
                "cells": b64encode(table.astype("<f8").tobytes()).decode("ascii"),
            }
            for name, table in cells.items()
        ]

    def _limits(self, table: Array) -> list[list[float]]:
        return [_quantiles(part) for part in (table.T if self.by_column else [table])]

    def _symmetric_limits(self, table: Array) -> list[list[float]]:
        magnitudes = np.abs(np.where(table == 0, np.nan, table))
        return [[-high, high] for _, high in self._limits(magnitudes)]

    def _note(self, n_rows: int, n_columns: int) -> Html | None:
        shape, notes = self._shape(), []
        if (n_rows, n_columns) != shape:
            notes.append(
                f"{shape[0]} x {shape[1]} values are shown as {n_rows} x {n_columns} blocks: "
                "means or, on a scale around 0, the value of largest magnitude."
            )
        if self.by_column:
            notes.append("Each column has its own scale.")
        return note(notes, has_gaps(*self.layers.values()))


def _figure(name: str, n_rows: int, n_columns: int, left: Html, below: Html) -> Html:
    canvas = tag(
        "canvas",
        width=n_columns,
        height=n_rows,
        tabindex=0,
        role="application",
        aria_roledescription="heat map",
        aria_label=f"{name}, {n_rows} rows by {n_columns} columns; arrow keys read values",
    )
    return tag(
        "figure",
        tag("figcaption", name),
        left,
        tag("div", canvas, tag("span", class_="spot", hidden=True), class_="map"),
        below,
        tag("div", class_="scale", aria_hidden="true"),
    )


def _axis(kind: str, names: list[str], labels: Sequence[Any] | None, n: int) -> Html:
    """Return the labels of an axis: all if they fit, otherwise the first and the last."""
    few = len(names) <= _MAX_LABELS
    ends = [0, n - 1] if labels is None else [labels[0], labels[-1]]
    spans = [tag("span", name) for name in (names if few else ends)]
    return tag("div", *spans, class_=kind if few else f"{kind} ends", aria_hidden="true")


def _has_zero_median(table: Array) -> bool:
    observed = table[~np.isnan(table)]
    return bool(observed.size) and bool(np.median(observed) == 0)


def _quantiles(values: Array) -> list[float]:
    observed = values[~np.isnan(values)]
    low, high = np.quantile(observed, _QUANTILES) if observed.size else (0.0, 1.0)
    return [float(low), float(high)]


def _names(edges: Indices, labels: Sequence[Any] | None) -> list[str]:
    """Return the names of blocks: the label of the only member, or "first to last"."""
    names = []
    for start, stop in pairwise(edges.tolist()):
        first, last = (i if labels is None else labels[i] for i in (start, stop - 1))
        names.append(str(first) if stop == start + 1 else f"{first} to {last}")
    return names
