"""Links that are right in a checkout lead to the same things on the site.

A page says ``../src/thalweg/prox/l1.py``, ``../examples/jump.py`` or ``../CHANGELOG.md``, and so
can be read wherever the files are. Here these become a page of source, a page of the gallery and
a page of the site.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

__all__ = ["rewritten", "setup"]

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\(\s*)([^)\s#:]+)(#[^)\s]*)?(\s*\))")
HOPE = re.compile(r"^([\w/-]+\*)\n", re.M)
INCLUDE = re.compile(r"^```\{include\} (\S+)\n```$", re.M)
PAGES = {
    "README.md": "docs/index.md",
    "CHANGELOG.md": "docs/changelog.md",
    "CITATION.cff": "docs/citing.md",
    "CONTRIBUTING.md": "docs/contributing.md",
}


def rewritten(text: str, page: str) -> str:
    """Return the text of a page with its links turned; ``page`` is its path from the root."""

    def include(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), match[1]))
        return _turned((ROOT / path).read_text("utf-8"), path, page)

    def hope(match: re.Match[str]) -> str:
        """Keep a pattern of a table of contents that matches a page; Sphinx warns of others."""
        there = any((ROOT / page).parent.glob(f"{match[1]}.md"))
        return match[0] if there else ""

    return INCLUDE.sub(include, HOPE.sub(hope, _turned(text, page, page)))


def _turned(text: str, base: str, page: str) -> str:
    """Turn the links of a text that are relative to ``base``, for a page elsewhere."""

    def turn(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(base), match[2]))
        anchor = match[3] or ""
        if not (ROOT / path).exists():
            return match[0]
        return f"{match[1]}{_target(path, page)}{anchor}{match[4]}"

    return LINK.sub(turn, text)


def _target(path: str, page: str) -> str:
    if re.fullmatch(r"examples/\w+\.py", path):
        path = f"docs/{path.removesuffix('.py')}.rst"
    elif path.endswith((".py", ".hpp", ".cpp")):
        return f"source:{path}"
    path = PAGES.get(path, path)
    return posixpath.relpath(path, posixpath.dirname(page))


def _read(app: Any, docname: str, source: list[str]) -> None:
    if app.env.doc2path(docname).suffix == ".md":
        source[0] = rewritten(source[0], f"docs/{docname}.md")


def _resolve(app: Any, doctree: Any, docname: str) -> None:
    from docutils import nodes

    for node in doctree.findall(nodes.reference):
        uri = node.get("refuri", "")
        if uri.startswith("source:"):
            page = uri.removeprefix("source:").removeprefix("src/").removesuffix(".py")
            node["refuri"] = app.builder.get_relative_uri(docname, f"source/{page}")
            node["internal"] = True


def setup(app: Any) -> dict[str, bool]:
    """Turn links when a page is read, and those to source when it is written."""
    app.connect("source-read", _read)
    app.connect("doctree-resolved", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
