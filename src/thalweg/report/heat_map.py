"""Tables as colours, with their values at hand."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array, Indices
from thalweg.report import _checks
from thalweg.report._blocks import cuts, largest, means
from thalweg.report._html import Html, data, join, tag

__all__ = ["HeatMap"]

_MOST_ROWS, _MOST_COLUMNS = 160, 120


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Tables of one shape as colours: data, completed data, outliers.

    Pointing at a cell, or the arrow keys, show its value. Layers share a scale of colours, from
    the 1 % to the 99 % quantile, so that they can be compared; one whose median is 0, such as
    outliers, has a scale of its own around 0. Large tables are reduced to blocks, and a note
    says so: a block has the mean of its values, or the largest of a layer around 0.

    Parameters
    ----------
    title : str
        Heading of the panel.
    layers : dict of str to array of shape (rows, columns)
        Tables by name, with NaN at gaps.
    row_labels, column_labels : sequence of str or None, default=None
        What rows and columns are called; None counts from 0.
    by_column : bool, default=False
        Whether each column has a scale of its own, for columns in different units.

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
        n_rows, n_columns = next(iter(self.layers.values())).shape
        rows, columns = cuts(n_rows, _MOST_ROWS), cuts(n_columns, _MOST_COLUMNS)
        around_zero = {name: _is_around_zero(table) for name, table in self.layers.items()}
        cells = {
            name: (largest if around_zero[name] else means)(table, rows, columns)
            for name, table in self.layers.items()
        }
        shared = [table for name, table in cells.items() if not around_zero[name]]
        limits = self._limits(np.concatenate(shared)) if shared else []
        maps = [
            {
                "name": name,
                "cells": b64encode(table.astype("<f8").tobytes()).decode("ascii"),
                "around": around_zero[name],
                "limits": self._around(table) if around_zero[name] else limits,
            }
            for name, table in cells.items()
        ]
        about = {
            "rows": _names(rows, self.row_labels),
            "columns": _names(columns, self.column_labels),
            "maps": maps,
            "blocks": len(rows) <= n_rows or len(columns) <= n_columns,
        }
        figures = [self._figure(name, around_zero[name], cells[name]) for name in cells]
        return join(
            tag("div", *figures, class_="maps"),
            tag("p", "Point at a cell, or use the arrow keys.", class_="value", role="status"),
            self._note(len(rows) - 1, len(columns) - 1),
            data(about),
        )

    def _limits(self, table: Array) -> list[list[float]]:
        parts = table.T if self.by_column else [table]
        return [_quantiles(part) for part in parts]

    def _around(self, table: Array) -> list[list[float]]:
        parts = np.abs(np.where(table == 0, np.nan, table))
        highs = [_quantiles(part)[1] for part in (parts.T if self.by_column else [parts])]
        return [[-high, high] for high in highs]

    def _figure(self, name: str, around: bool, cells: Array) -> Html:
        n_rows, n_columns = cells.shape
        canvas = tag(
            "canvas",
            width=n_columns,
            height=n_rows,
            tabindex=0,
            role="application",
            aria_roledescription="heat map",
            aria_label=f"{name}, {n_rows} rows by {n_columns} columns; arrow keys read values",
        )
        bar = tag("div", class_="scale around" if around else "scale", aria_hidden="true")
        return tag("figure", tag("figcaption", name), canvas, bar)

    def _note(self, n_rows: int, n_columns: int) -> Html | None:
        table = next(iter(self.layers.values()))
        notes = []
        if (n_rows, n_columns) != table.shape:
            notes.append(
                f"{table.shape[0]} x {table.shape[1]} values are shown in {n_rows} x {n_columns} "
                "blocks: their means, or the largest value of a layer around 0."
            )
        if self.by_column:
            notes.append("Each column has a scale of its own.")
        gaps = any(np.isnan(layer).any() for layer in self.layers.values())
        key = tag("span", "gap", class_="gap-key") if gaps else None
        return tag("p", " ".join([*notes, ""]), key, class_="note") if notes or gaps else None


def _is_around_zero(table: Array) -> bool:
    seen = table[~np.isnan(table)]
    return bool(seen.size) and bool(np.median(seen) == 0)


def _quantiles(values: Array) -> list[float]:
    seen = values[~np.isnan(values)]
    low, high = np.quantile(seen, [0.01, 0.99]) if seen.size else (0.0, 1.0)
    return [float(low), float(high)]


def _names(edges: Indices, labels: Sequence[Any] | None) -> list[str]:
    """Return what blocks are called: by their only member, or by the first and the last."""
    names = []
    for start, stop in pairwise(edges.tolist()):
        first, last = (i if labels is None else labels[i] for i in (start, stop - 1))
        names.append(str(first) if stop == start + 1 else f"{first} to {last}")
    return names
