"""Ranked words with bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, ClassVar

from thalweg.errors import InputError
from thalweg.report import _checks
from thalweg.report._html import Html, tag
from thalweg.report._text import figure

__all__ = ["Ranking"]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Groups of words, or of anything with a weight, as lists with bars.

    Parameters
    ----------
    title : str
        Heading of the panel.
    groups : dict of str to list of (str, float)
        Words and weights by the name of their group, in the order to be shown. Bars are relative
        to the largest weight of their group.

    Examples
    --------
    >>> from thalweg import report
    >>> topics = {"sport": [("match", 2.0), ("goal", 1.5)]}
    >>> report.Ranking("Topics", topics).html().count("<li")
    2
    """

    title: str
    groups: Mapping[str, Sequence[tuple[str, float]]]
    name: ClassVar[str] = "ranking"

    def __post_init__(self) -> None:
        _checks.text("title", self.title)
        _checks.mapping("groups", self.groups)
        for name, entries in self.groups.items():
            if not entries or not all(map(_is_entry, entries)):
                raise InputError(
                    f"group {name!r} should be a list of pairs of a text and a finite number, but "
                    f"{entries!r:.80} came. Give pairs such as ('river', 0.5)."
                )

    def html(self) -> Html:
        """Return the panel without its heading."""
        groups = [_group(name, entries) for name, entries in self.groups.items()]
        return tag("div", *groups, class_="groups")


def _group(name: str, entries: Sequence[tuple[str, float]]) -> Html:
    largest = max(abs(weight) for _, weight in entries) or 1.0
    rows = [
        tag(
            "li",
            tag("span", word, class_="word"),
            _bar(weight / largest),
            tag("span", figure(weight), class_="weight"),
        )
        for word, weight in entries
    ]
    return tag("section", tag("h3", name), tag("ol", *rows))


def _bar(share: float) -> Html:
    length = f"{100 * abs(share):.1f}%"
    bar = tag("rect", width=length, height="100%", rx=2, class_="below" if share < 0 else None)
    return tag("svg", bar, class_="bar", aria_hidden="true")


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, (tuple, list))
        and len(entry) == 2
        and isinstance(entry[0], str)
        and isinstance(entry[1], Real)
        and isfinite(entry[1])
    )
