"""Images against what was made of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.report import _checks
from thalweg.report._html import Html, join, note, tag
from thalweg.report._images import embed, has_gaps, picture
from thalweg.report._text import spread

__all__ = ["Pairs"]

_MOST_ROWS = 48


@dataclass(frozen=True, eq=False)
class Pairs:
    """Images in groups: the original, the clean one, what was taken away.

    Parameters
    ----------
    title : str
        Heading of the panel.
    columns : dict of str to array of shape (n, height, width) or (n, height, width, 3)
        Images by the name of their column, in uint8, bool, or floats from 0 to 1 with NaN at
        gaps. At most 48 groups are shown, evenly spread.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import report
    >>> faces = np.random.default_rng(0).random((3, 19, 19))
    >>> report.Pairs("Faces", {"original": faces, "clean": faces}).html().count("<img")
    6
    """

    title: str
    columns: Mapping[str, Any]
    name: ClassVar[str] = "pairs"

    def __post_init__(self) -> None:
        _checks.text("title", self.title)
        columns = _checks.stacks("columns", self.columns, axes=1)
        object.__setattr__(self, "columns", columns)

    def html(self) -> Html:
        """Return the panel without its heading."""
        n = len(next(iter(self.columns.values())))
        shown = spread(n, _MOST_ROWS)
        few = [f"{len(shown)} of {n} are here, evenly spread."] if len(shown) < n else []
        return join(
            tag("ul", *(self._group(int(i)) for i in shown)),
            note(few, has_gaps(*self.columns.values())),
        )

    def _group(self, i: int) -> Html:
        figures = [
            tag(
                "figure",
                picture(embed(images[i]), f"{name} of image {i}", images.shape[1:3]),
                tag("figcaption", name),
            )
            for name, images in self.columns.items()
        ]
        return tag("li", tag("span", i, class_="number"), tag("div", *figures, class_="group"))
