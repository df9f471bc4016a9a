"""One picture, such as a map."""

from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.report import _checks
from thalweg.report._html import Html, tag
from thalweg.report._images import embed, has_gaps, picture

__all__ = ["Picture"]

_LONGEST_SIDE = 1600
_MOST_CLASSES = 256  # a map of so few colours is kept exactly
_ENLARGED = 400  # pixels of smaller pictures are shown as squares


@dataclass(frozen=True, eq=False)
class Picture:
    """One picture with a caption.

    Parameters
    ----------
    title : str
        Heading of the panel.
    image : array of shape (height, width) or (height, width, 3)
        In uint8, bool, or floats from 0 to 1 with NaN at gaps.
    caption : str, default=""
        What there is to see. It is read aloud in place of the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import report
    >>> "fields" in report.Picture("Map", np.eye(5), caption="Which fields there are").html()
    True
    """

    title: str
    image: Any
    caption: str = ""
    name: ClassVar[str] = "picture"

    def __post_init__(self) -> None:
        _checks.text("title", self.title)
        image = _checks.stack("image", self.image, least=2)
        _checks.unit_range("image", image)
        object.__setattr__(self, "image", image)

    def html(self) -> Html:
        """Return the panel without its heading."""
        uri = embed(self.image, _LONGEST_SIDE, _MOST_CLASSES)
        shape = self.image.shape[:2]
        image = picture(uri, self.caption or self.title, shape, max(shape) < _ENLARGED)
        key = tag("span", "gap", class_="gap-key") if has_gaps(self.image) else None
        caption = tag("figcaption", self.caption, " ", key) if self.caption or key else None
        return tag("figure", image, caption, class_="plate")
