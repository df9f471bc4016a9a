"""Markup from Python, in which text is escaped unless it is markup already."""

import json
from html import escape
from typing import Any

__all__ = ["Html", "data", "join", "note", "tag"]

_VOID = {"br", "img", "input", "meta"}


class Html(str):
    """Text that is markup, and goes into a page as it is."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element; whatever is not :class:`Html` is escaped.

    ``class_`` and ``aria_label`` stand for ``class`` and ``aria-label``. An attribute that is None
    or False is left out, and one that is True has no value.

    Examples
    --------
    >>> from thalweg.report import tag
    >>> tag("p", "1 < 2, ", tag("b", "always"), class_="note")
    '<p class="note">1 &lt; 2, <b>always</b></p>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        parts.append(label if value is True else f'{label}="{escape(str(value))}"')
    start = f"<{' '.join(parts)}>"
    return Html(start if name in _VOID else f"{start}{join(*children)}</{name}>")


def join(*children: Any) -> Html:
    """Return the children in a row, escaped where they are text; None is left out."""
    return Html(
        "".join(
            child if isinstance(child, Html) else escape(str(child))
            for child in children
            if child is not None
        )
    )


def note(sentences: list[str], gaps: bool = False) -> Html | None:
    """Return small print, with the key of the colour that gaps have; None if there is neither."""
    key = tag("span", "gap", class_="gap-key") if gaps else None
    return tag("p", " ".join([*sentences, ""]), key, class_="note") if sentences or gaps else None


def data(values: Any) -> Html:
    """Return a block of JSON for the scripts of a page."""
    # a script ends at the first "</script", wherever it stands
    text = json.dumps(values, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Html(f'<script type="application/json">{text}</script>')
