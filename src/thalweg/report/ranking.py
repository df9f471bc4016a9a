"""Panel of ranked words with bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, ClassVar

from thalweg.errors import InputError
from thalweg.report import _checks
from thalweg.report._html import Html, tag
from thalweg.report._text import format_number

__all__ = ["Ranking"]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Show groups of words with their weights as bars.

    Parameters
    ----------
    title : str
        Heading of the panel.
    groups : dict of str to list of (str, float)
        Words and weights by group name, in display order. Bars are relative to the largest
        absolute weight of their group.

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
                    f"group {name!r} must be a non-empty list of (string, finite number) pairs, "
                    f"got {entries!r:.80}. Example: [('river', 0.5)]."
                )

    def html(self) -> Html:
        """Return the panel without its heading."""
        groups = [_group(name, entries) for name, entries in self.groups.items()]
        return tag("div", *groups, class_="groups")


def _group(name: str, entries: Sequence[tuple[str, float]]) -> Html:
    max_weight = max(abs(weight) for _, weight in entries) or 1.0
    rows = [
        tag(
            "li",
            tag("span", word, class_="word"),
            _bar(weight / max_weight),
            tag("span", format_number(weight), class_="weight"),
        )
        for word, weight in entries
    ]
    return tag("section", tag("h3", name), tag("ol", *rows))


def _bar(fraction: float) -> Html:
    length = f"{100 * abs(fraction):.1f}%"
    sign = "negative" if fraction < 0 else None
    bar = tag("rect", width=length, height="100%", rx=2, class_=sign)
    return tag("svg", bar, class_="bar", aria_hidden="true")


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, (tuple, list))
        and len(entry) == 2
        and isinstance(entry[0], str)
        and isinstance(entry[1], Real)
        and isfinite(entry[1])
    )
