"""Separate the background and foreground of a video."""

from os import PathLike
from typing import Any, Unpack

from thalweg.apps._run import Common, Result, Run
from thalweg.apps._separation import METHODS, Options, separate_video
from thalweg.apps._shadows import POLICIES

__all__ = ["separate"]


def separate(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    method: str = METHODS[0],
    threshold: float | None = None,
    frames: bool = False,
    colour: bool = False,
    size: tuple[int, int] | None = None,
    shadows: str = POLICIES[0],
    **common: Unpack[Common],
) -> Result:
    """Separate a video into background and moving objects, [O] VII-H and [T] V-C.

    The frames are read to fit the background model, once more to measure the noise of each pixel,
    and once more to write the results batch by batch. A pixel is foreground if an object, which may
    have any grey value, explains its 3 x 3 window better than background with noise of Student's
    law at the scale of each pixel. Windows where the frame is a darker background are shadow.

    Parameters
    ----------
    source : path, array or Stream
        A video, a folder of images, or an array of frames.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    method : {'robust-online-nmf', 'petrels-admm'}, default='robust-online-nmf'
        Background model; the second adapts to permanent changes.
    threshold : float or None, default=None
        Smallest difference of the foreground, in multiples of the noise scale, for pixels with the
        median noise scale of the film; None takes the value that follows from the noise.
    frames : bool, default=False
        Whether to write folders of images instead of videos.
    colour : bool, default=False
        Whether to keep colours.
    size : (int, int) or None, default=None
        Height and width to which frames are resized.
    shadows : {'drop', 'keep', 'mark'}, default='drop'
        Whether shadows are background, foreground, or grey in the mask.
    **common
        See :class:`thalweg.apps.Common`. The default is one component per 40 frames, at most
        three, and as many epochs as needed for 1000 frames, at most five.

    Returns
    -------
    Result
        Files: background, foreground, mask (lossless: FFV1 or PNG), boxes (CSV: frame, x, y, width,
        height and area of each object), scores (CSV: score and p-value of each frame, and number of
        pixels that noise does not explain), model, report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg import apps, synthetic
    >>> scene = synthetic.moving_scene(40, shape=(24, 32), random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     film = scene.frames.reshape(40, 24, 32)
    ...     result = apps.separate(film, folder + "/out")
    ...     sorted(result.files)
    ['background', 'boxes', 'foreground', 'mask', 'model', 'report', 'scores']
    """
    run = Run("separate", source, **common)
    options = Options(method, threshold, frames, colour, size, shadows)
    return separate_video(run, out, options)
