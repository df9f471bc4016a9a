"""Panel of videos side by side, with a slider."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Indices
from thalweg.report import _checks
from thalweg.report._html import Html, data, join, note, tag
from thalweg.report._images import LONGEST_SIDE, embed, fit_side, has_gaps, picture
from thalweg.report._text import evenly_spaced

__all__ = ["Frames"]

# Limits on the size of a page.
_MAX_FRAMES = 240
_MAX_PIXELS = 16_000_000  # in all layers: 3 MB for a smooth video, 13 MB for pure noise
_MIN_FRAMES = 12  # shown even if they exceed the limit on pixels


@dataclass(frozen=True, eq=False)
class Frames:
    """Show videos side by side, with a slider, a play button and the frame number.

    Long videos are subsampled to evenly spaced frames, and large frames are downscaled, to keep
    the page small; a note says so.

    Parameters
    ----------
    title : str
        Heading of the panel.
    layers : dict of str to array of shape (n, height, width) or (n, height, width, 3)
        Videos by name, in uint8, bool, or floats from 0 to 1 with NaN for gaps.
    numbers : sequence of n entries or None, default=None
        Labels of the frames; None counts from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import report
    >>> film = np.random.default_rng(0).random((5, 12, 16))
    >>> report.Frames("Street", {"input": film, "mask": film > 0.5}).html().count("<img")
    2
    """

    title: str
    layers: Mapping[str, Any]
    numbers: Sequence[Any] | None = None
    name: ClassVar[str] = "frames"

    def __post_init__(self) -> None:
        _checks.text("title", self.title)
        layers = _checks.stacks("layers", self.layers, axes=3)
        _checks.labels("numbers", self.numbers, len(next(iter(layers.values()))))
        object.__setattr__(self, "layers", layers)

    def html(self) -> Html:
        """Return the panel without its heading."""
        shown = self._shown()
        numbers = shown if self.numbers is None else [self.numbers[i] for i in shown]
        names = [str(number) for number in numbers]
        uris = [[embed(images[i]) for i in shown] for images in self.layers.values()]
        return join(
            tag("div", *map(self._figure, self.layers, uris), class_="strip"),
            self._controls(names),
            self._note(len(shown)),
            data({"uris": uris, "names": names}),
        )

    def _shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = next(iter(self.layers.values())).shape
        return shape

    def _shown(self) -> Indices:
        n_frames, height, width = self._shape()[:3]
        pixels = len(self.layers) * int(np.prod(fit_side((height, width), LONGEST_SIDE)))
        return evenly_spaced(n_frames, min(_MAX_FRAMES, max(_MIN_FRAMES, _MAX_PIXELS // pixels)))

    def _figure(self, name: str, uris: list[str]) -> Html:
        image = picture(uris[0], name, self._shape()[1:3])
        return tag("figure", image, tag("figcaption", name))

    def _controls(self, names: list[str]) -> Html:
        slider = tag(
            "input",
            type="range",
            min=0,
            max=len(names) - 1,
            value=0,
            step=1,
            aria_label=f"Frame of {self.title}",
            aria_valuetext=f"frame {names[0]}",
        )
        play = tag("button", "Play", type="button", class_="play")
        where = tag("span", "Frame ", tag("b", names[0], class_="number"), class_="where")
        return tag("div", play, slider, where, class_="controls")

    def _note(self, n_shown: int) -> Html | None:
        n_frames, height, width = self._shape()[:3]
        notes = []
        if n_shown < n_frames:
            notes.append(f"Showing {n_shown} of {n_frames} frames, evenly spaced.")
        if max(height, width) > LONGEST_SIDE:
            notes.append(f"Frames of {height} x {width} pixels are downscaled.")
        return note(notes, has_gaps(*self.layers.values()))
