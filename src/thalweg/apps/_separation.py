"""Separate the background and foreground of a video."""

from collections.abc import Iterator
from os import PathLike
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from thalweg._checks import require_positive
from thalweg.apps._alarms import AlarmWriter, alarm_files
from thalweg.apps._figures import Parts, Statistics, Truth
from thalweg.apps._film_writers import FilmWriters
from thalweg.apps._films import reduced
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._learn import History, Subsample, learn
from thalweg.apps._mask import density_at, objects, threshold_of, without_speckles
from thalweg.apps._models import build
from thalweg.apps._pixel_noise import PixelNoise, measure_noise
from thalweg.apps._report import learning_panels, save_model, write_report
from thalweg.apps._run import Result, Run
from thalweg.apps._shadows import POLICIES, shadows
from thalweg.apps._streams import length, pictures, read_batch_size
from thalweg.errors import ParameterError
from thalweg.streams import Stream

__all__ = ["METHODS", "Options", "separate_video"]

METHODS = ("robust-online-nmf", "petrels-admm")
_MAX_COMPONENTS = 3
_FRAMES_PER_COMPONENT = 40  # with fewer frames, components fit slowly moving objects
_MIN_FRAMES = 1000  # frames to learn a background from; shorter videos get more epochs
_MAX_EPOCHS = 5
_N_SHOWN = 100  # frames in the report, at least, of a long video
_GREY = 0.5  # background of the foreground video: contrasts with bright and dark objects
_DEFAULT_RATE = 25.0  # frames per second of sources without a rate
_CLOCK_SECONDS = 1e-9  # resolution of the clock, to avoid division by zero


class Options(NamedTuple):
    """Options of this job."""

    method: str = METHODS[0]
    threshold: float | None = None
    frames: bool = False
    colour: bool = False
    size: tuple[int, int] | None = None
    shadows: str = POLICIES[0]

    def check(self) -> None:
        """Raise unless the options are valid."""
        if self.threshold is not None:
            require_positive(threshold=self.threshold)
        if self.method not in METHODS:
            raise ParameterError(
                f"method must be one of {', '.join(METHODS)}, got {self.method!r}."
            )
        if self.shadows not in POLICIES:
            raise ParameterError(
                f"shadows must be one of {', '.join(POLICIES)}, got {self.shadows!r}."
            )


class _Detector(NamedTuple):
    """The rule of the mask of a film."""

    noise: PixelNoise
    density: float  # of the grey values of objects
    shadows: str

    def parts(self, frames: Any, background: Any) -> Parts:
        """Return frames with their foreground, mask and shadows."""
        mask = objects(frames - background, self.noise, self.density)
        shadow = np.zeros_like(mask)
        if self.shadows != "keep":
            shadow = mask & shadows(frames, background, self.noise.scale)
        mask = without_speckles(mask & ~shadow)
        inside = mask if frames.ndim == 3 else mask[..., None]
        foreground = np.where(inside & ~np.isnan(frames), frames, _GREY)
        return Parts(frames, background, foreground, mask, shadow & ~mask)


# Objects that move slowly or stay for a while are drift and noise of their pixels to a tracker that
# adapts to both. benchmark: video_methods
_FILM_SETTINGS: dict[str, dict[str, Any]] = {
    "petrels-admm": {"noise": "common", "forgetting": 0.9999}
}


def separate_video(
    run: Run, out: str | PathLike[str] | None, options: Options, truth: Truth | None = None
) -> Result:
    """Separate a video; with the truth, also compute scores."""
    options.check()
    with open_folder(run, out) as folder:
        stream, shape = pictures(run, options.size, options.colour)
        count = run.components or _components(length(stream))
        settings = {**_FILM_SETTINGS.get(options.method, {}), **run.settings}
        model = build(options.method, settings, components=count, seed=run.seed)
        begin = perf_counter()
        history = learn(model, stream, run, epochs=_epochs(length(stream)))
        learned = perf_counter()
        noise = measure_noise(model, stream, shape, run)
        detector = _Detector(noise, density_at(options.threshold, noise), options.shadows)
        limit = threshold_of(detector.density, noise)
        shown, statistics = Subsample(_N_SHOWN), Statistics(truth)
        rate = float(getattr(stream, "rate", _DEFAULT_RATE))
        marked = options.shadows == "mark"
        with (
            FilmWriters(folder, shape, rate, options.frames, marked) as writers,
            alarm_files(folder, model, None, entries=False) as alarms,
        ):
            assert alarms is not None  # both methods have p-values
            for first, parts in _decompose(model, stream, run, shape, detector, alarms):
                writers.write(first, parts)
                _keep(shown, statistics.frames, parts)
                statistics.add(parts)
        values = {
            **statistics.values(),
            "noise scale": noise.common,
            "threshold": limit,
            "objects": writers.n_objects,
            "alarms": alarms.n_alarms,
            "seconds learning": learned - begin,
            "seconds in all": perf_counter() - begin,
        }
        save_model(folder, model, shape=list(shape), limit=limit)
        _report(folder, history, model, shape, shown, values, options.method, alarms)
        return folder.finish(values, model)


def _components(n: int | None) -> int:
    """Return the default number of components for a video of ``n`` frames."""
    if n is None:
        return _MAX_COMPONENTS
    return min(max(1, n // _FRAMES_PER_COMPONENT), _MAX_COMPONENTS)


def _epochs(n: int | None) -> int:
    """Return the default number of epochs for a video of ``n`` frames."""
    return 1 if n is None else min(max(1, -(-_MIN_FRAMES // max(n, 1))), _MAX_EPOCHS)


def _decompose(
    model: Any,
    stream: Stream,
    run: Run,
    shape: tuple[int, ...],
    detector: _Detector,
    alarms: AlarmWriter,
) -> Iterator[tuple[int, Parts]]:
    """Yield batches of frames with their background, foreground and mask, and their numbers."""
    n = length(stream)
    for first, X in stream.batches(read_batch_size(stream.n_features)):
        alarms.write(first, X, model)
        rows = np.clip(model.decompose(X).low_rank, 0.0, 1.0)
        frames, background = (part.reshape(-1, *shape) for part in (X, rows))
        yield first, detector.parts(frames, background)
        run.notify("writing", first + len(X), n)


def _keep(shown: Subsample, before: int, parts: Parts) -> None:
    """Keep some downscaled frames for the report."""
    for i in range(len(parts.frames)):
        if shown.keeps(before + i):
            layers = [reduced(layer[i : i + 1])[0] for layer in parts]
            # copies: a view would keep the whole batch in memory
            shown.add(before + i, [np.array(layer) for layer in layers])


def _report(
    folder: Folder,
    history: History,
    model: Any,
    shape: tuple[int, ...],
    shown: Subsample,
    values: dict[str, Any],
    method: str,
    alarms: AlarmWriter,
) -> None:
    from thalweg import report

    names = ("input", "background", "foreground", "mask")
    layers = {name: np.stack([item[i] for item in shown.items]) for i, name in enumerate(names)}
    basis = model.components_.reshape(-1, *shape)
    hidden = ("foreground share", "seconds learning", "seconds in all")
    facts = {name: value for name, value in values.items() if name not in hidden}
    facts["foreground"] = f"{values['foreground share']:.1%}"
    facts["frames per second"] = values["frames"] / max(values["seconds in all"], _CLOCK_SECONDS)
    panels = [
        report.Frames("Video", layers, shown.numbers),
        report.Facts("Key figures", facts),
        *alarms.panels("frame"),
        report.Mosaic("Components of the background", reduced(basis)),
        *learning_panels(history),
    ]
    summary = (
        f"{values['frames']} frames of {folder.run.title}, separated into background, including "
        f"changes of light, and moving objects: {values['foreground share']:.1%} of the pixels "
        "are foreground."
    )
    write_report(
        folder, f"Background and foreground of {folder.run.title}", panels, summary, method=method
    )
