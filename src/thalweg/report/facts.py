"""Panel of key figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from thalweg.report import _checks
from thalweg.report._html import Html, tag
from thalweg.report._text import format_number

__all__ = ["Facts"]


@dataclass(frozen=True, eq=False)
class Facts:
    """Show a few key figures as tiles.

    Parameters
    ----------
    title : str
        Heading of the panel.
    values : dict of str to str or number
        Figures by name.

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
            tag("div", tag("dt", name), tag("dd", format_number(value)))
            for name, value in self.values.items()
        ]
        return tag("dl", *tiles)
