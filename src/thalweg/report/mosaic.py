"""Panel of basis images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.report import _checks
from thalweg.report._html import Html, join, note, tag
from thalweg.report._images import embed, has_gaps, is_small, picture, stretched
from thalweg.report._text import evenly_spaced

__all__ = ["Mosaic"]

_MAX_IMAGES = 144  # limits the size of a page


@dataclass(frozen=True, eq=False)
class Mosaic:
    """Show images in a grid, each scaled from its minimum to its maximum.

    Parameters
    ----------
    title : str
        Heading of the panel.
    images : array of shape (n, height, width) or (n, height, width, 3)
        Images on any scale, such as components. At most 144 are shown.
    labels : sequence of n str or None, default=None
        Labels of the images; None counts from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import report
    >>> report.Mosaic("Parts", np.random.default_rng(0).random((4, 8, 8))).html().count("<img")
    4
    """

    title: str
    images: Any
    labels: Sequence[Any] | None = None
    name: ClassVar[str] = "mosaic"

    def __post_init__(self) -> None:
        _checks.text("title", self.title)
        images = _checks.stack("images", self.images)
        _checks.labels("labels", self.labels, len(images))
        object.__setattr__(self, "images", images)

    def html(self) -> Html:
        """Return the panel without its heading."""
        shown = evenly_spaced(len(self.images), _MAX_IMAGES)
        subset = [f"Showing {len(shown)} of {len(self.images)} images."]
        notes = [*subset[: len(shown) < len(self.images)], "Each image has its own scale."]
        size = "small" if is_small(self.images.shape[1:]) else "large"
        tiles = tag("div", *(self._tile(int(i)) for i in shown), class_=size)
        return join(tiles, note(notes, has_gaps(self.images)))

    def _tile(self, i: int) -> Html:
        label = str(i if self.labels is None else self.labels[i])
        image = picture(embed(stretched(self.images[i])), label, self.images.shape[1:3])
        return tag("figure", image, tag("figcaption", label))
