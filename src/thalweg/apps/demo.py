"""Separate a synthetic scene."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from typing import ClassVar, Unpack

import numpy as np

from thalweg._typing import Array
from thalweg.apps._figures import Truth
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._separation import Options, separate_video
from thalweg.streams import Batch

__all__ = ["demo"]

_FRAMES, _SHAPE = 200, (120, 160)


@dataclass(frozen=True, eq=False)
class _Film:
    """The frames of a scene as a stream."""

    frames: Array
    shape: tuple[int, int]
    title: ClassVar[str] = "street"

    @property
    def n_samples(self) -> int:
        return len(self.frames)

    @property
    def n_features(self) -> int:
        return int(np.prod(self.shape))

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        for first in range(start, self.n_samples, size):
            yield Batch(first, self.frames[first : first + size])


def demo(
    out: str | PathLike[str] | None = None,
    *,
    frames: int = _FRAMES,
    shape: tuple[int, int] = _SHAPE,
    **common: Unpack[Common],
) -> Result:
    """Separate a synthetic scene into background and foreground, and compare with the truth.

    The scene is :func:`thalweg.synthetic.moving_scene`: a street with changing light, a van, a
    balloon, noise and missing pixels.

    Parameters
    ----------
    out : path or None, default=None
        Output folder; None is ``street-demo``.
    frames : int, default=200
        Number of frames.
    shape : (int, int), default=(120, 160)
        Height and width.
    **common
        See :class:`thalweg.apps.Common`; the scene has the same seed.

    Returns
    -------
    Result
        As :func:`thalweg.apps.separate`, with the F-measure of the mask over the observed pixels
        and the PSNR of the background.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg import apps
    >>> with TemporaryDirectory() as folder:
    ...     result = apps.demo(folder + "/out", frames=100, shape=(36, 48))
    >>> result.values["F-measure"] > 0.8
    True
    """
    from thalweg import synthetic

    run = Run("demo", "street", **common)
    scene = synthetic.moving_scene(frames, shape, random_state=run.seed)
    film = _Film(scene.frames, scene.shape)
    truth = Truth(scene.background, scene.mask)
    return separate_video(replace(run, source=film), run.folder(out), Options(), truth)
