"""Boxes around the objects of masks."""

from collections.abc import Iterator

import numpy as np

from thalweg._typing import Mask

__all__ = ["BOX_HEADER", "boxes"]

BOX_HEADER = ("frame", "x", "y", "width", "height", "area")
_NEIGHBOURS = np.ones((3, 3), dtype=np.bool_)  # pixels that touch at a corner are connected


def boxes(masks: Mask, first: int = 0) -> Iterator[tuple[int, ...]]:
    """Yield frame, left column, top row, width, height and number of pixels of each object.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.apps._boxes import boxes
    >>> mask = np.zeros((1, 6, 8), dtype=bool)
    >>> mask[0, 1:3, 4:7] = True
    >>> list(boxes(mask, first=10))
    [(10, 4, 1, 3, 2, 6)]
    """
    from scipy import ndimage

    for i, mask in enumerate(masks, first):
        labels, _ = ndimage.label(mask, _NEIGHBOURS)
        areas = np.bincount(labels.ravel())
        for k, (y, x) in enumerate(ndimage.find_objects(labels), 1):
            yield (i, x.start, y.start, x.stop - x.start, y.stop - y.start, int(areas[k]))
