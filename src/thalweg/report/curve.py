"""Curves over samples or time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.report import _checks
from thalweg.report._axes import Axis
from thalweg.report._blocks import extremes
from thalweg.report._html import Html, data, join, tag

__all__ = ["Curve"]

_MOST_POINTS = 1200
_SIDE = 1000  # of the drawing, in units of its own


@dataclass(frozen=True, eq=False)
class Curve:
    """Lines over a common axis, with a legend and their values at hand.

    Lines of more than 1200 points are drawn by the extremes of short pieces, so that no peak is
    lost.

    Parameters
    ----------
    title : str
        Heading of the panel.
    x : array of shape (n,)
        Where the values belong, finite and increasing.
    series : dict of str to array of shape (n,)
        Values by name; NaN breaks a line.
    xlabel, ylabel : str, default=""
        What the axes are.
    log : bool, default=False
        Whether the values are drawn on a logarithmic scale, where those up to 0 are gaps.

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
            raise InputError("x should be finite and increasing, but it is not. Sort it first.")
        series = {n: _checks.numbers(f"series {n!r}", y, 1) for n, y in self.series.items()}
        _checks.same_shape("x and series", {"x": x, **series}, axes=1)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "series", series)

    def html(self) -> Html:
        """Return the panel without its heading."""
        across = Axis.around(self.x)
        up = Axis.around(np.stack(list(self.series.values())), self.log, margin=0.04)
        lines = [_line(self.x, y, across, up) for y in self.series.values()]
        about = {"names": list(self.series), "x": self.xlabel or "x", "lines": lines}
        keys = [
            tag("li", tag("span", class_=f"key s{i % 8}"), name, " ", tag("b", class_="now"))
            for i, name in enumerate(self.series)
        ]
        where = tag("li", class_="where", aria_hidden="true")
        return join(
            tag("ul", *keys, where, class_="legend"),
            self._chart(across, up, lines),
            tag("p", class_="value unseen", role="status"),
            data(about),
        )

    def _chart(self, across: Axis, up: Axis, lines: list[dict[str, Any]]) -> Html:
        """Return axes and plot: drawings of their own, so that text keeps its size."""
        hidden = {"aria_hidden": "true"}
        return tag(
            "div",
            tag("span", self.ylabel, class_="ylabel"),
            tag("svg", *_labels(up, vertical=True), class_="yticks", **hidden),
            self._plot(across, up, lines),
            tag("svg", *_labels(across, vertical=False), class_="xticks", **hidden),
            tag("span", self.xlabel, class_="xlabel"),
            class_="chart",
        )

    def _plot(self, across: Axis, up: Axis, lines: list[dict[str, Any]]) -> Html:
        paths = [
            tag("path", d=_path(line["px"], line["py"]), class_=f"line s{i % 8}")
            for i, line in enumerate(lines)
        ]
        size = {"width": "100%", "height": "100%"}
        box = {"viewBox": f"0 0 {_SIDE} {_SIDE}", "preserveAspectRatio": "none"}
        return tag(
            "svg",
            *_grid(across, up),
            tag("svg", *paths, **box, **size),
            class_="plot",
            tabindex=0,
            role="application",
            aria_roledescription="chart",
            aria_label=f"{self.title}: {', '.join(self.series)}; arrow keys read values",
        )


def _line(x: Array, y: Array, across: Axis, up: Axis) -> dict[str, Any]:
    """Return points and their places as lists, with None at gaps."""
    chosen = extremes(y, _MOST_POINTS)
    px, py = across.place(x[chosen]), 1 - up.place(y[chosen])
    return {
        "x": _rounded(x[chosen], ".9g"),
        "y": _rounded(y[chosen], ".9g"),
        "px": _rounded(px, ".5f"),
        "py": _rounded(py, ".5f"),
    }


def _rounded(values: Array, form: str) -> list[float | None]:
    return [None if np.isnan(value) else float(format(value, form)) for value in values]


def _path(px: list[float], py: list[float | None]) -> str:
    """Return the commands of a line that is lifted at gaps; a lonely point is a dot."""
    parts, pen_down = [], False
    for x, y in zip(px, py, strict=True):
        if y is not None:
            spot = f"{_SIDE * x:.1f} {_SIDE * y:.1f}"
            parts.append(f"L{spot}" if pen_down else f"M{spot}h.01")
        pen_down = y is not None
    return "".join(parts)


def _grid(across: Axis, up: Axis) -> list[Html]:
    rows = [f"{100 * (1 - place):.2f}%" for place in up.place(up.ticks())]
    columns = [f"{100 * place:.2f}%" for place in across.place(across.ticks())]
    return [
        *(tag("line", x1=0, x2="100%", y1=y, y2=y, class_="grid") for y in rows),
        *(tag("line", x1=x, x2=x, y1="100%", y2="98%", class_="tick") for x in columns),
    ]


def _labels(axis: Axis, vertical: bool) -> list[Html]:
    found = []
    for label, place in zip(axis.labels(), axis.place(axis.ticks()), strict=True):
        share = f"{100 * (1 - place if vertical else place):.2f}%"
        spot = {"x": "100%", "y": share, "dy": ".35em"} if vertical else {"x": share, "y": "1.2em"}
        found.append(tag("text", label, **spot))
    return found
