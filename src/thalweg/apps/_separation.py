"""The separation of a film, with or without the truth beside it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import PathLike
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from thalweg._checks import require_positive
from thalweg.apps._figures import Figures, Parts, Truth
from thalweg.apps._films import Writer, film, frame_folder, in_bytes, reduced
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._learn import History, Thinned, learn
from thalweg.apps._mask import LEVELS, noise_level, objects
from thalweg.apps._models import build
from thalweg.apps._report import learning_panels, save_model, write_report
from thalweg.apps._run import Result, Run
from thalweg.apps._streams import length, pictures, rows_at_once
from thalweg.errors import ParameterError
from thalweg.streams import Stream

__all__ = ["METHODS", "Options", "work"]

METHODS = ("robust-online-nmf", "petrels-admm")
# Components, and frames for each of them: with fewer, components hold what moves slowly.
_COMPONENTS, _FRAMES = 3, 40
# Frames that tell what a background is, and passes over a film that has fewer.
_ENOUGH, _MOST_PASSES = 1000, 5
# Frames in the report, and grey behind the objects: both bright and dark ones stand out on it.
_SHOWN, _GREY = 100, 0.5


class Options(NamedTuple):
    """What only this job is told."""

    method: str = METHODS[0]
    levels: float = LEVELS
    frames: bool = False
    colour: bool = False
    size: tuple[int, int] | None = None

    def check(self) -> None:
        """Raise unless they make sense."""
        require_positive(levels=self.levels)
        if self.method not in METHODS:
            raise ParameterError(
                f"method should be one of {', '.join(METHODS)}, but {self.method!r} came. "
                "Use one of these."
            )


def work(
    run: Run, out: str | PathLike[str] | None, options: Options, truth: Truth | None = None
) -> Result:
    """Separate a film; with the truth at hand, tell how near to it the result is."""
    options.check()
    with open_folder(run, out) as folder:
        stream, shape = pictures(run, options.size, options.colour)
        count = run.components or _components(length(stream))
        model = build(options.method, run.settings, components=count, seed=run.seed)
        begin = perf_counter()
        history = learn(model, stream, run, epochs=_passes(length(stream)))
        learned = perf_counter()
        limit = options.levels * noise_level(model)
        shown, figures = Thinned(_SHOWN), Figures(truth)
        rate = float(getattr(stream, "rate", 25.0))
        with _writers(folder, shape, rate, options.frames) as writers:
            for parts in _take_apart(model, stream, run, shape, limit):
                for name, writer in writers.items():
                    writer.write(_bytes(getattr(parts, name)))
                _keep(shown, figures.frames, parts)
                figures.add(parts)
        values = {
            **figures.values(),
            "noise level": limit / options.levels,
            "threshold": limit,
            "seconds learning": learned - begin,
            "seconds in all": perf_counter() - begin,
        }
        save_model(folder, model, shape=list(shape), limit=limit)
        _report(folder, history, model, shape, shown, values, options.method)
        return folder.finish(values, model)


def _components(n: int | None) -> int:
    """Return how many components a film of so many frames can tell."""
    return _COMPONENTS if n is None else min(max(1, n // _FRAMES), _COMPONENTS)


def _passes(n: int | None) -> int:
    """Return how often a film is taken in: short ones until enough frames were learned from."""
    return 1 if n is None else min(max(1, -(-_ENOUGH // max(n, 1))), _MOST_PASSES)


def _take_apart(
    model: Any, stream: Stream, run: Run, shape: tuple[int, ...], limit: float
) -> Iterator[Parts]:
    """Yield the frames of a stream, a few at a time, with background, foreground and mask."""
    n = length(stream)
    for first, X in stream.batches(rows_at_once(stream.n_features)):
        rows = np.clip(model.decompose(X).low_rank, 0.0, 1.0)
        frames, background = (part.reshape(-1, *shape) for part in (X, rows))
        mask = objects(frames - background, limit)
        inside = mask if len(shape) == 2 else mask[..., None]
        foreground = np.where(inside & ~np.isnan(frames), frames, _GREY)
        yield Parts(frames, background, foreground, mask)
        run.tell("writing", first + len(X), n)


@contextmanager
def _writers(
    folder: Folder, shape: tuple[int, ...], rate: float, frames: bool
) -> Iterator[dict[str, Writer]]:
    """Open what background, foreground and mask are written to."""
    with ExitStack() as stack:
        found: dict[str, Writer] = {}
        for name in ("background", "foreground", "mask"):
            path = folder.file(name, name if frames else f"{name}.mp4")
            opened = frame_folder(path) if frames else film(path, shape, rate)
            found[name] = stack.enter_context(opened)
        yield found


def _bytes(pictures: Any) -> Any:
    if pictures.dtype == np.bool_:
        return pictures.astype(np.uint8) * np.uint8(255)
    return in_bytes(pictures)


def _keep(shown: Thinned, before: int, parts: Parts) -> None:
    """Keep some frames for the report, small."""
    for i in range(len(parts.frames)):
        if shown.wants(before + i):
            layers = [reduced(layer[i : i + 1])[0] for layer in parts]
            # copies, since a view would keep the whole batch
            shown.add(before + i, [np.array(layer) for layer in layers])


def _report(
    folder: Folder,
    history: History,
    model: Any,
    shape: tuple[int, ...],
    shown: Thinned,
    values: dict[str, Any],
    method: str,
) -> None:
    from thalweg import report

    names = ("input", "background", "foreground", "mask")
    layers = {name: np.stack([item[i] for item in shown.items]) for i, name in enumerate(names)}
    basis = model.components_.reshape(-1, *shape)
    hidden = ("foreground share", "seconds learning", "seconds in all")
    facts = {name: value for name, value in values.items() if name not in hidden}
    facts["foreground"] = f"{values['foreground share']:.1%}"
    facts["frames a second"] = values["frames"] / max(values["seconds in all"], 1e-9)
    panels = [
        report.Frames("Film", layers, shown.numbers),
        report.Facts("Figures", facts),
        report.Mosaic("Components of the background", reduced(basis)),
        *learning_panels(history),
    ]
    summary = (
        f"{values['frames']} frames of {folder.run.title} were taken apart: what stands still "
        f"or follows the light is the background, and {values['foreground share']:.1%} of the "
        "pixels belong to what moves."
    )
    write_report(
        folder, f"Background and foreground of {folder.run.title}", panels, summary, method=method
    )
