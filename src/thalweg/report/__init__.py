"""Write reports: self-contained HTML files built from panels.

:func:`write` puts panels on a page. Each module of this package holds one kind of panel: a frozen
dataclass with a ``name`` and a ``title`` that follows the :class:`Panel` protocol. Its style sheet
and script, if any, are the ``.css`` and ``.js`` files of the same name.
"""

from thalweg.report._consensus import consensus_panels
from thalweg.report._html import tag
from thalweg.report._page import Panel, write
from thalweg.report._rank_curve import rank_curve
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
    "consensus_panels",
    "rank_curve",
    "tag",
    "write",
]
