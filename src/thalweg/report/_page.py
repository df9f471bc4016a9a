"""The page around the panels, and the file it becomes."""

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from thalweg import __version__
from thalweg.errors import InputError, ParameterError
from thalweg.report import _checks
from thalweg.report._html import Html, join, tag
from thalweg.report._text import figure

__all__ = ["Panel", "write"]


@runtime_checkable
class Panel(Protocol):
    """One thing to look at.

    ``html`` returns its markup without the heading. The files of this room that bear its ``name``
    and end in ``.css`` and ``.js`` go into the page once.
    """

    @property
    def name(self) -> str:
        """What the kind of panel is called."""

    @property
    def title(self) -> str:
        """Heading of the panel."""

    def html(self) -> Html:
        """Return the panel without its heading."""


def write(
    path: str | os.PathLike[str],
    title: str,
    panels: Sequence[Panel],
    *,
    command: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    summary: str | None = None,
) -> Path:
    """Write a report: one HTML file that needs no network and opens from disk.

    The file appears when it is complete, and replaces one that is there.

    Parameters
    ----------
    path : path or str
        The file, such as ``"report.html"``, in a folder that exists.
    title : str
        Heading of the page.
    panels : sequence of Panel
        What there is to look at, from top to bottom.
    command : str or None, default=None
        What made the report, shown with a button to copy it.
    parameters : dict or None, default=None
        Settings by name, shown below the command.
    summary : str or None, default=None
        A sentence or two below the heading.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg import report
    >>> with TemporaryDirectory() as folder:
    ...     facts = report.Facts("Quality", {"F-measure": 0.99})
    ...     report.write(Path(folder, "report.html"), "Street", [facts]).name
    'report.html'
    """
    _check(title, panels)
    styles = _assets("css", panels)
    scripts = _assets("js", panels)
    page = Template(_read("_page.html")).substitute(
        policy=_policy(styles, scripts),
        title=join(title),
        summary=tag("p", summary, class_="summary") if summary else "",
        contents=_contents(panels),
        panels="\n".join(_section(i, panel) for i, panel in enumerate(panels)),
        origin=_origin(command, parameters),
        version=join(__version__),
        styles=styles,
        scripts=scripts,
    )
    return _replace(Path(path), page)


def _check(title: str, panels: Sequence[Any]) -> None:
    _checks.text("title", title)
    wrong = [panel for panel in panels if not isinstance(panel, Panel)]
    if wrong or not panels:
        came = f"{wrong[0]!r:.60}" if wrong else "none"
        raise ParameterError(
            f"panels should be a list of panels, but {came} came. "
            "Give at least one, such as report.Facts('Quality', {'F-measure': 0.99})."
        )


def _section(number: int, panel: Panel) -> Html:
    heading = tag("h2", panel.title, id=f"title-{number}")
    kind = f"panel {panel.name}"
    place = {"id": f"panel-{number}", "aria_labelledby": f"title-{number}"}
    return tag("section", heading, panel.html(), class_=kind, **place)


def _contents(panels: Sequence[Panel]) -> Html:
    if len(panels) < 3:
        return Html()
    links = [tag("a", panel.title, href=f"#panel-{i}") for i, panel in enumerate(panels)]
    return tag("nav", *links, aria_label="Panels")


def _origin(command: str | None, parameters: Mapping[str, Any] | None) -> Html:
    """Return how the report was made."""
    if not command and not parameters:
        return Html()
    parts = [tag("h2", "How this was made", id="title-origin")]
    if command:
        copy = tag("button", "Copy", type="button", class_="copy")
        parts.append(tag("div", tag("pre", tag("code", command), tabindex=0), copy, class_="made"))
    if parameters:
        rows = [
            tag("div", tag("dt", name), tag("dd", figure(value)))
            for name, value in parameters.items()
        ]
        parts.append(tag("dl", *rows, class_="settings"))
    return tag("section", *parts, class_="panel origin", aria_labelledby="title-origin")


def _policy(styles: str, scripts: str) -> str:
    """Return a content security policy: what this file holds, and nothing from elsewhere."""

    def source(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; img-src data:; style-src {source(styles)}; "
        f"script-src {source(scripts)}; base-uri 'none'; form-action 'none'"
    )


def _assets(suffix: str, panels: Sequence[Panel]) -> str:
    """Return the styles or scripts of the page and of the panels that are on it."""
    kinds = sorted({panel.name.replace("-", "_") for panel in panels})
    found = [f"{stem}.{suffix}" for stem in ("_page", *kinds)]
    return "\n".join(_read(name) for name in found if (files(__package__) / name).is_file())


def _read(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _replace(path: Path, page: str) -> Path:
    """Write a file so that it is there as a whole, or not at all."""
    part = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        try:
            with part.open("xb") as file:
                # names of files may hold bytes that are no text
                file.write(page.encode("utf-8", "replace"))
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{path} should be a file that can be written, but: {error}. "
            "Choose a folder that exists, and a name that is free."
        ) from error
    return path
