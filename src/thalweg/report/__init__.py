"""A report to look at: one HTML file without network, from panels of a few kinds.

:func:`write` puts panels on a page. A kind of panel is one file of this room: a frozen dataclass
with a ``name`` and a ``title`` that keeps the contract of :class:`Panel`, and, where it needs
them, a style sheet and a script beside it that bear its name.
"""

from thalweg.report._html import tag
from thalweg.report._page import Panel, write
from thalweg.report.curve import Curve
from thalweg.report.facts import Facts
from thalweg.report.frames import Frames
from thalweg.report.heat_map import HeatMap
from thalweg.report.mosaic import Mosaic
from thalweg.report.pairs import Pairs
from thalweg.report.picture import Picture
from thalweg.report.ranking import Ranking

__all__ = [
    "Curve",
    "Facts",
    "Frames",
    "HeatMap",
    "Mosaic",
    "Pairs",
    "Panel",
    "Picture",
    "Ranking",
    "tag",
    "write",
]
