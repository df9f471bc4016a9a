"""Panel of one picture, such as a map."""

from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.report import _checks
from thalweg.report._html import Html, tag
from thalweg.report._images import embed, has_gaps, picture

__all__ = ["Picture"]

_LONGEST_SIDE = 1600  # pixels; limits the size of a page
_MAX_CLASSES = 256  # colours of a map that is stored losslessly
_ENLARGED_SIDE = 400  # smaller pictures are enlarged without smoothing, in pixels


@dataclass(frozen=True, eq=False)
class Picture:
    """Show one picture with a caption.

    Parameters
    ----------
    title : str
        Heading of the panel.
    image : array of shape (height, width) or (height, width, 3)
        Picture in uint8, bool, or floats from 0 to 1 with NaN for gaps.
    caption : str, default=""
        Description of the picture, also its alternative text.

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
        image = _checks.stack("image", self.image, ndim=2)
        _checks.unit_range("image", image)
        object.__setattr__(self, "image", image)

    def html(self) -> Html:
        """Return the panel without its heading."""
        uri = embed(self.image, _LONGEST_SIDE, _MAX_CLASSES)
        shape = self.image.shape[:2]
        image = picture(uri, self.caption or self.title, shape, max(shape) < _ENLARGED_SIDE)
        key = tag("span", "gap", class_="gap-key") if has_gaps(self.image) else None
        caption = tag("figcaption", self.caption, " ", key) if self.caption or key else None
        return tag("figure", image, caption, class_="plate")
