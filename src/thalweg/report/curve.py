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
from thalweg.report._text import figure

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
        paths = [
            tag("path", d=_path(line["px"], line["py"]), class_=f"line s{i % 8}")
            for i, line in enumerate(lines)
        ]
        drawing = tag(
            "svg",
            *paths,
            viewBox=f"0 0 {_SIDE} {_SIDE}",
            preserveAspectRatio="none",
            width="100%",
            height="100%",
        )
        plot = tag(
            "svg",
            *_grid(across, up),
            drawing,
            class_="plot",
            tabindex=0,
            role="application",
            aria_roledescription="chart",
            aria_label=f"{self.title}: {', '.join(self.series)}; arrow keys read values",
        )
        chart = tag(
            "div",
            tag("span", self.ylabel, class_="ylabel"),
            tag("svg", *_labels(up, vertical=True), class_="yticks", aria_hidden="true"),
            plot,
            tag("svg", *_labels(across, vertical=False), class_="xticks", aria_hidden="true"),
            tag("span", self.xlabel, class_="xlabel"),
            class_="chart",
        )
        about = {"xlabel": self.xlabel, "lines": [_plain(line) for line in lines]}
        legend = [
            tag("li", tag("span", class_=f"key s{i % 8}"), name, " ", tag("b", class_="now"))
            for i, name in enumerate(self.series)
        ]
        where = tag("p", class_="value", role="status")
        return join(tag("ul", *legend, class_="legend"), chart, where, data(about))


def _line(x: Array, y: Array, across: Axis, up: Axis) -> dict[str, Array]:
    chosen = extremes(y, _MOST_POINTS)
    px, py = across.place(x[chosen]), 1 - up.place(y[chosen])
    return {"x": x[chosen], "y": y[chosen], "px": px, "py": py}


def _plain(line: dict[str, Array]) -> dict[str, list[float | None]]:
    return {
        name: [None if np.isnan(v) else float(f"{v:.6g}") for v in values]
        for name, values in line.items()
    }


def _path(px: Array, py: Array) -> str:
    """Return the commands of a line that is lifted at gaps; a lonely point is a dot."""
    parts, pen_down = [], False
    for x, y in zip(_SIDE * px, _SIDE * py, strict=True):
        if np.isnan(y):
            pen_down = False
            continue
        parts.append(f"L{x:.1f} {y:.1f}" if pen_down else f"M{x:.1f} {y:.1f}h.01")
        pen_down = True
    return "".join(parts)


def _grid(across: Axis, up: Axis) -> list[Html]:
    rows = [f"{100 * (1 - place):.2f}%" for place in up.place(up.ticks())]
    columns = [f"{100 * place:.2f}%" for place in across.place(across.ticks())]
    return [
        *(tag("line", x1=0, x2="100%", y1=y, y2=y, class_="grid") for y in rows),
        *(tag("line", x1=x, x2=x, y1="100%", y2="98%", class_="tick") for x in columns),
    ]


def _labels(axis: Axis, vertical: bool) -> list[Html]:
    ticks = axis.ticks()
    found = []
    for tick, place in zip(ticks, axis.place(ticks), strict=True):
        share = f"{100 * (1 - place if vertical else place):.2f}%"
        spot = {"x": "100%", "y": share, "dy": ".35em"} if vertical else {"x": share, "y": "1em"}
        found.append(tag("text", figure(tick), **spot))
    return found
