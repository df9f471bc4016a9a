"""What stands still in a film, and what moves."""

from os import PathLike
from typing import Any, Unpack

from thalweg.apps._mask import LEVELS
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._separation import METHODS, Options, work

__all__ = ["separate"]


def separate(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    method: str = METHODS[0],
    levels: float = LEVELS,
    frames: bool = False,
    colour: bool = False,
    size: tuple[int, int] | None = None,
    **common: Unpack[Common],
) -> Result:
    """Separate the background of a film from what moves before it, [O] VII-H and [T] V-C.

    The frames are read twice: the first pass learns the background, the second takes each frame
    apart and writes it, a few at a time. A pixel belongs to an object if it is farther from the
    background than ``levels`` noise levels, and most of its neighbours are.

    Parameters
    ----------
    source : path, array or Stream
        A video, a folder of images, or an array of frames.
    out : path or None, default=None
        Folder of the results; None is one beside the work at hand, named after the source.
    method : {'robust-online-nmf', 'petrels-admm'}, default='robust-online-nmf'
        How the background is learned; the second follows one that changes for good.
    levels : float, default=5.0
        How many noise levels make a difference.
    frames : bool, default=False
        Whether to write folders of images instead of films.
    colour : bool, default=False
        Whether to keep colours.
    size : (int, int) or None, default=None
        Height and width to which frames are resized.
    **common
        See :class:`thalweg.apps.Common`. The default is a component for every 40 frames, three at
        most, and as many epochs as it takes to learn from a thousand frames, five at most.

    Returns
    -------
    Result
        Files: background, foreground, mask, model, report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg import apps, synthetic
    >>> scene = synthetic.moving_scene(40, shape=(24, 32), random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     film = scene.frames.reshape(40, 24, 32)
    ...     result = apps.separate(film, folder + "/out")
    ...     sorted(path.name for path in result.files.values())
    ['background.mp4', 'foreground.mp4', 'mask.mp4', 'model.thalweg', 'report.html']
    """
    run = Run("separate", source, **common)
    options = Options(method, levels, frames, colour, size)
    return work(run, out, options)
