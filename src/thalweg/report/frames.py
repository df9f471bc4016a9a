"""A strip of films side by side, with a slider through their frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Indices
from thalweg.report import _checks
from thalweg.report._html import Html, data, join, note, tag
from thalweg.report._images import LONGEST_SIDE, embed, fit_side, has_gaps, picture
from thalweg.report._text import spread

__all__ = ["Frames"]

_MOST_FRAMES = 240
_MOST_PIXELS = 16_000_000  # of all layers: 3 MB of a calm film, 13 MB of nothing but noise


@dataclass(frozen=True, eq=False)
class Frames:
    """Films side by side, with a slider, a button to play, and the number of the frame.

    Long films are thinned to evenly spread frames, and large ones reduced, so that a page stays
    small; a note says so.

    Parameters
    ----------
    title : str
        Heading of the panel.
    layers : dict of str to array of shape (n, height, width) or (n, height, width, 3)
        Films by name, in uint8, bool, or floats from 0 to 1 with NaN at gaps.
    numbers : sequence of n entries or None, default=None
        What frames are called; None counts from 0.

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
        return spread(n_frames, min(_MOST_FRAMES, max(12, _MOST_PIXELS // pixels)))

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
            notes.append(f"{n_shown} of {n_frames} frames are here, evenly spread.")
        if max(height, width) > LONGEST_SIDE:
            notes.append(f"Frames of {height} x {width} pixels are shown smaller.")
        return note(notes, has_gaps(*self.layers.values()))
