"""Separate the background and foreground of a video."""

from os import PathLike
from typing import Any, Unpack

from thalweg.apps._mask import THRESHOLD
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._separation import METHODS, Options, separate_video

__all__ = ["separate"]


def separate(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    method: str = METHODS[0],
    threshold: float = THRESHOLD,
    frames: bool = False,
    colour: bool = False,
    size: tuple[int, int] | None = None,
    **common: Unpack[Common],
) -> Result:
    """Separate a video into background and moving objects, [O] VII-H and [T] V-C.

    The frames are read to fit the background model, and once more to write the results batch by
    batch. A pixel is foreground if its distance to the background exceeds ``threshold`` times the
    noise scale, for the majority of the pixels in its 3 x 3 window.

    Parameters
    ----------
    source : path, array or Stream
        A video, a folder of images, or an array of frames.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    method : {'robust-online-nmf', 'petrels-admm'}, default='robust-online-nmf'
        Background model; the second adapts to permanent changes.
    threshold : float, default=5.0
        Threshold for the foreground, in multiples of the noise scale.
    frames : bool, default=False
        Whether to write folders of images instead of videos.
    colour : bool, default=False
        Whether to keep colours.
    size : (int, int) or None, default=None
        Height and width to which frames are resized.
    **common
        See :class:`thalweg.apps.Common`. The default is one component per 40 frames, at most
        three, and as many epochs as needed for 1000 frames, at most five.

    Returns
    -------
    Result
        Files: background, foreground, mask, scores (CSV: score and p-value of each frame, and
        number of pixels that noise does not explain), model, report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg import apps, synthetic
    >>> scene = synthetic.moving_scene(40, shape=(24, 32), random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     film = scene.frames.reshape(40, 24, 32)
    ...     result = apps.separate(film, folder + "/out")
    ...     sorted(path.name for path in result.files.values())
    ['background.mp4', 'foreground.mp4', 'mask.mp4', 'model.thalweg', 'report.html', 'scores.csv']
    """
    run = Run("separate", source, **common)
    options = Options(method, threshold, frames, colour, size)
    return separate_video(run, out, options)
