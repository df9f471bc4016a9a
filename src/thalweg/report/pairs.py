"""Panel of images next to their processed versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.report import _checks
from thalweg.report._html import Html, join, note, tag
from thalweg.report._images import embed, has_gaps, picture
from thalweg.report._text import evenly_spaced

__all__ = ["Pairs"]

_MAX_ROWS = 48  # groups; limits the size of a page


@dataclass(frozen=True, eq=False)
class Pairs:
    """Show images in groups, such as original, denoised image and outliers.

    Parameters
    ----------
    title : str
        Heading of the panel.
    columns : dict of str to array of shape (n, height, width) or (n, height, width, 3)
        Images by column name, in uint8, bool, or floats from 0 to 1 with NaN for gaps. At most
        48 groups are shown, evenly spaced.

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
        shown = evenly_spaced(n, _MAX_ROWS)
        notes = [f"Showing {len(shown)} of {n}, evenly spaced."] if len(shown) < n else []
        return join(
            tag("ul", *(self._group(int(i)) for i in shown)),
            note(notes, has_gaps(*self.columns.values())),
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
