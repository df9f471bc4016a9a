"""Panel of curves over samples or time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.report import _checks
from thalweg.report._axes import Axis
from thalweg.report._blocks import extreme_points
from thalweg.report._html import Html, data, join, tag

__all__ = ["Curve"]

_MAX_POINTS = 1200  # per line, about the width of the page in pixels
_VIEW_BOX = 1000  # side of the drawing in SVG units
_N_COLOURS = 8  # classes .s0 to .s7 of the style sheet
_Y_MARGIN = 0.04  # of the value range, above and below the lines


@dataclass(frozen=True, eq=False)
class Curve:
    """Show lines over a common axis, with a legend and the values under the pointer.

    A line of more than 1200 points is reduced to the minimum and maximum of short blocks, which
    keeps all peaks.

    Parameters
    ----------
    title : str
        Heading of the panel.
    x : array of shape (n,)
        Positions of the values, finite and non-decreasing.
    series : dict of str to array of shape (n,)
        Values by name; NaN breaks a line.
    xlabel, ylabel : str, default=""
        Labels of the axes.
    log : bool, default=False
        Whether the y-axis is logarithmic; values <= 0 are then gaps.

    Examples
    --------
    >>> from thalweg import report
    >>> panel = report.Curve("Loss", [0, 1, 2], {"train": [3.0, 2.0, 1.5]}, xlabel="samples")
    >>> panel.html().count("<path")
    1
    """

    title: str
    x: Any
    series: Mapping[str, Any]
    xlabel: str = ""
    ylabel: str = ""
    log: bool = False
    name: ClassVar[str] = "curve"

    def __post_init__(self) -> None:
        _checks.text("title", self.title)
        _checks.mapping("series", self.series)
        x = _checks.numbers("x", self.x, 1)
        if np.isnan(x).any() or (np.diff(x) < 0).any():
            raise InputError(
                "x must be finite and non-decreasing, got NaN or a decrease. Sort it first."
            )
        series = {n: _checks.numbers(f"series {n!r}", y, 1) for n, y in self.series.items()}
        _checks.same_shape("x and series", {"x": x, **series}, axes=1)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "series", series)

    def html(self) -> Html:
        """Return the panel without its heading."""
        x_axis = Axis.covering(self.x)
        y_axis = Axis.covering(np.stack(list(self.series.values())), self.log, margin=_Y_MARGIN)
        lines = [_line(self.x, y, x_axis, y_axis) for y in self.series.values()]
        content = {"names": list(self.series), "x": self.xlabel or "x", "lines": lines}
        keys = [
            tag(
                "li",
                tag("span", class_=f"key s{i % _N_COLOURS}"),
                name,
                " ",
                tag("b", class_="now"),
            )
            for i, name in enumerate(self.series)
        ]
        where = tag("li", class_="where", aria_hidden="true")
        return join(
            tag("ul", *keys, where, class_="legend"),
            self._chart(x_axis, y_axis, lines),
            tag("p", class_="value visually-hidden", role="status"),
            data(content),
        )

    def _chart(self, x_axis: Axis, y_axis: Axis, lines: list[dict[str, Any]]) -> Html:
        """Return axes and plot as separate drawings, so that text is not scaled with the plot."""
        hidden = {"aria_hidden": "true"}
        return tag(
            "div",
            tag("span", self.ylabel, class_="ylabel"),
            tag("svg", *_labels(y_axis, vertical=True), class_="yticks", **hidden),
            self._plot(x_axis, y_axis, lines),
            tag("svg", *_labels(x_axis, vertical=False), class_="xticks", **hidden),
            tag("span", self.xlabel, class_="xlabel"),
            class_="chart",
        )

    def _plot(self, x_axis: Axis, y_axis: Axis, lines: list[dict[str, Any]]) -> Html:
        paths = [
            tag("path", d=_path(line["px"], line["py"]), class_=f"line s{i % _N_COLOURS}")
            for i, line in enumerate(lines)
        ]
        size = {"width": "100%", "height": "100%"}
        box = {"viewBox": f"0 0 {_VIEW_BOX} {_VIEW_BOX}", "preserveAspectRatio": "none"}
        return tag(
            "svg",
            *_grid(x_axis, y_axis),
            tag("svg", *paths, **box, **size),
            class_="plot",
            tabindex=0,
            role="application",
            aria_roledescription="chart",
            aria_label=f"{self.title}: {', '.join(self.series)}; arrow keys read values",
        )


def _line(x: Array, y: Array, x_axis: Axis, y_axis: Axis) -> dict[str, Any]:
    """Return values and positions of the points as lists, with None at gaps."""
    chosen = extreme_points(y, _MAX_POINTS)
    px, py = x_axis.position(x[chosen]), 1 - y_axis.position(y[chosen])
    return {
        "x": _rounded(x[chosen], ".9g"),
        "y": _rounded(y[chosen], ".9g"),
        "px": _rounded(px, ".5f"),
        "py": _rounded(py, ".5f"),
    }


def _rounded(values: Array, spec: str) -> list[float | None]:
    return [None if np.isnan(value) else float(format(value, spec)) for value in values]


def _path(px: list[float], py: list[float | None]) -> str:
    """Return the SVG path of a line that breaks at gaps; an isolated point is a dot."""
    parts, pen_down = [], False
    for x, y in zip(px, py, strict=True):
        if y is not None:
            point = f"{_VIEW_BOX * x:.1f} {_VIEW_BOX * y:.1f}"
            parts.append(f"L{point}" if pen_down else f"M{point}h.01")
        pen_down = y is not None
    return "".join(parts)


def _grid(x_axis: Axis, y_axis: Axis) -> list[Html]:
    rows = [f"{100 * (1 - position):.2f}%" for position in y_axis.position(y_axis.ticks())]
    columns = [f"{100 * position:.2f}%" for position in x_axis.position(x_axis.ticks())]
    return [
        *(tag("line", x1=0, x2="100%", y1=y, y2=y, class_="grid") for y in rows),
        *(tag("line", x1=x, x2=x, y1="100%", y2="98%", class_="tick") for x in columns),
    ]


def _labels(axis: Axis, vertical: bool) -> list[Html]:
    texts = []
    for label, position in zip(axis.labels(), axis.position(axis.ticks()), strict=True):
        at = f"{100 * (1 - position if vertical else position):.2f}%"
        spot = {"x": "100%", "y": at, "dy": ".35em"} if vertical else {"x": at, "y": "1.2em"}
        texts.append(tag("text", label, **spot))
    return texts
