"""The main job on a scene that the library makes itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any, Unpack

import numpy as np

from thalweg.apps._run import Common, Result, Run
from thalweg.apps._mask import LEVELS
from thalweg.apps.separate import separate, take_apart
from thalweg.streams import Batch

__all__ = ["demo"]

_FRAMES, _SHAPE = 200, (120, 160)


@dataclass(frozen=True, eq=False)
class _Film:
    """The frames of a scene as a stream."""

    scene: Any
    shape: tuple[int, int]

    @property
    def n_samples(self) -> int:
        return len(self.scene.frames)

    @property
    def n_features(self) -> int:
        return int(np.prod(self.shape))

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        for first in range(start, self.n_samples, size):
            yield Batch(first, self.scene.frames[first : first + size])


def demo(
    out: str | PathLike[str] | None = None,
    *,
    frames: int = _FRAMES,
    shape: tuple[int, int] = _SHAPE,
    **common: Unpack[Common],
) -> Result:
    """Separate a generated street from what moves on it, and compare with the truth.

    The scene is :func:`thalweg.synthetic.moving_scene`: light that changes, a van, a balloon, noise
    and lost pixels.

    Parameters
    ----------
    out : path or None, default=None
        Folder of the results; None is ``street-separate``.
    frames : int, default=200
        Length of the film.
    shape : (int, int), default=(120, 160)
        Height and width.
    **common
        See :class:`thalweg.apps.Common`; the seed is that of the scene, too.

    Returns
    -------
    Result
        That of :func:`thalweg.apps.separate`, with the F-measure of the mask over the pixels that
        were seen, and the PSNR of the background.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg import apps
    >>> with TemporaryDirectory() as folder:
    ...     result = apps.demo(folder + "/out", frames=60, shape=(30, 40))
    >>> result.values["F-measure"] > 0.9
    True
    """
    from thalweg import metrics, synthetic

    run = Run("separate", "street", **common)
    scene = synthetic.moving_scene(frames, shape, random_state=run.seed)
    film = _Film(scene, scene.shape)
    result = separate(film, run.folder(out), **common)
    limit = result.values["threshold"]
    assert LEVELS > 0
    quiet = Run("separate", "street", seed=run.seed)
    found = list(take_apart(result.model, film, quiet, scene.shape, limit))
    background = np.concatenate([parts.background for parts in found]).reshape(frames, -1)
    mask = np.concatenate([parts.mask for parts in found]).reshape(frames, -1)
    seen = ~np.isnan(scene.frames)
    scores = metrics.outlier_scores(scene.mask[seen], mask[seen])
    quality = {
        "F-measure": scores.f1,
        "precision": scores.precision,
        "recall": scores.recall,
        "background PSNR": metrics.psnr(scene.background, background),
        "input PSNR": metrics.psnr(scene.background, scene.frames),
    }
    return Result("demo", result.out, {**quality, **result.values}, result.files, result.model)
