"""Figures and settings as tiles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from thalweg.report import _checks
from thalweg.report._html import Html, tag
from thalweg.report._text import figure

__all__ = ["Facts"]


@dataclass(frozen=True, eq=False)
class Facts:
    """A few figures, large enough to be seen at once.

    Parameters
    ----------
    title : str
        Heading of the panel.
    values : dict of str to str or number
        What each figure is, and the figure.

    Examples
    --------
    >>> from thalweg import report
    >>> "0.9877" in report.Facts("Quality", {"F-measure": 0.98765}).html()
    True
    """

    title: str
    values: Mapping[str, str | float]
    name: ClassVar[str] = "facts"

    def __post_init__(self) -> None:
        _checks.text("title", self.title)
        _checks.mapping("values", self.values)

    def html(self) -> Html:
        """Return the panel without its heading."""
        tiles = [
            tag("div", tag("dt", name), tag("dd", figure(value)))
            for name, value in self.values.items()
        ]
        return tag("dl", *tiles)
