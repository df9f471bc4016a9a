"""Build HTML from Python; text is escaped unless it is :class:`Html`."""

import json
from html import escape
from typing import Any

__all__ = ["Html", "data", "join", "note", "tag"]

_VOID = {"br", "img", "input", "meta"}


class Html(str):
    """A string of HTML, which is not escaped again."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an HTML element; children that are not :class:`Html` are escaped.

    ``class_`` and ``aria_label`` stand for ``class`` and ``aria-label``. Attributes that are None
    or False are omitted; those that are True have no value.

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
    """Concatenate the children; text is escaped, None is omitted."""
    return Html(
        "".join(
            child if isinstance(child, Html) else escape(str(child))
            for child in children
            if child is not None
        )
    )


def note(sentences: list[str], gaps: bool = False) -> Html | None:
    """Return a note below a panel, with a legend for gaps; None if there is nothing to say."""
    key = tag("span", "gap", class_="gap-key") if gaps else None
    return tag("p", " ".join([*sentences, ""]), key, class_="note") if sentences or gaps else None


def data(values: Any) -> Html:
    """Return a JSON block for the scripts of a page."""
    # "</script" would end the element, even inside a JSON string
    text = json.dumps(values, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Html(f'<script type="application/json">{text}</script>')
