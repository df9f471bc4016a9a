"""Assemble panels to a page, and write it to a file."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any, Protocol, runtime_checkable

from thalweg import __version__
from thalweg._atomic import write_atomically
from thalweg.errors import InputError, ParameterError
from thalweg.report import _checks
from thalweg.report._html import Html, join, tag
from thalweg.report._text import format_number

__all__ = ["Panel", "write"]

_MIN_CONTENTS = 3  # panels from which a page has a table of contents


@runtime_checkable
class Panel(Protocol):
    """Protocol of a panel.

    ``html`` returns its markup without the heading. The ``.css`` and ``.js`` files of this package
    that are named like the panel's ``name`` are included in the page once.
    """

    @property
    def name(self) -> str:
        """Name of the kind of panel."""

    @property
    def title(self) -> str:
        """Heading of the panel."""

    def html(self) -> Html:
        """Return the panel without its heading."""


def write(
    path: str | PathLike[str],
    title: str,
    panels: Sequence[Panel],
    *,
    command: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    summary: str | None = None,
) -> Path:
    """Write a report: one self-contained HTML file that opens from disk.

    The file is written atomically and replaces an existing one.

    Parameters
    ----------
    path : path or str
        Output file, such as ``"report.html"``, in an existing folder.
    title : str
        Heading of the page.
    panels : sequence of Panel
        Panels from top to bottom.
    command : str or None, default=None
        Command that created the report, shown with a copy button.
    parameters : dict or None, default=None
        Settings by name, shown below the command.
    summary : str or None, default=None
        One or two sentences below the heading.

    Returns
    -------
    Path
        Path of the file.

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
        given = f"{wrong[0]!r:.60}" if wrong else "an empty list"
        raise ParameterError(
            f"panels must be a non-empty list of panels, got {given}. "
            "Example: [report.Facts('Quality', {'F-measure': 0.99})]."
        )


def _section(number: int, panel: Panel) -> Html:
    heading = tag("h2", panel.title, id=f"title-{number}")
    kind = f"panel {panel.name}"
    place = {"id": f"panel-{number}", "aria_labelledby": f"title-{number}"}
    return tag("section", heading, panel.html(), class_=kind, **place)


def _contents(panels: Sequence[Panel]) -> Html:
    if len(panels) < _MIN_CONTENTS:
        return Html()
    links = [tag("a", panel.title, href=f"#panel-{i}") for i, panel in enumerate(panels)]
    return tag("nav", *links, aria_label="Panels")


def _origin(command: str | None, parameters: Mapping[str, Any] | None) -> Html:
    """Return a section with the command and the settings of the report."""
    if not command and not parameters:
        return Html()
    parts = [tag("h2", "How this report was made", id="title-origin")]
    if command:
        copy = tag("button", "Copy", type="button", class_="copy")
        parts.append(tag("div", tag("pre", tag("code", command), tabindex=0), copy, class_="made"))
    if parameters:
        rows = [
            tag("div", tag("dt", name), tag("dd", format_number(value)))
            for name, value in parameters.items()
        ]
        parts.append(tag("dl", *rows, class_="settings"))
    return tag("section", *parts, class_="panel origin", aria_labelledby="title-origin")


def _policy(styles: str, scripts: str) -> str:
    """Return a content security policy that allows only the contents of this file."""

    def source(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; img-src data:; style-src {source(styles)}; "
        f"script-src {source(scripts)}; base-uri 'none'; form-action 'none'"
    )


def _assets(suffix: str, panels: Sequence[Panel]) -> str:
    """Return the styles or scripts of the page and its panels."""
    kinds = sorted({panel.name.replace("-", "_") for panel in panels})
    names = [f"{stem}.{suffix}" for stem in ("_page", *kinds)]
    return "\n".join(_read(name) for name in names if (files(__package__) / name).is_file())


def _read(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _replace(path: Path, page: str) -> Path:
    """Write a file atomically."""
    try:
        # file names may contain bytes that UTF-8 cannot encode
        write_atomically(path, [page.encode("utf-8", "replace")])
    except OSError as error:
        raise InputError(
            f"{path} must be a writable file, got an error: {error}. "
            "Choose an existing folder, and a name that is not a folder."
        ) from error
    return path
