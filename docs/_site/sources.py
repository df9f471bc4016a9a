"""A page for each file of source, private ones too, since the pages on the papers link to them."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer, PythonLexer

__all__ = ["linkcode_resolve", "setup"]

ROOT = Path(__file__).resolve().parents[2]
LINKED = re.compile(r"\]\((?:\.\./)*((?:tests|benchmarks|docs)/[\w/]+\.py)[#)]")


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return the page and the line of an object; pages of the API are all in one folder."""
    import thalweg

    thing: Any = thalweg
    try:
        for name in f"{info['module']}.{info['fullname']}".split(".")[1:]:
            thing = getattr(thing, name)
        thing = inspect.unwrap(thing.fget if isinstance(thing, property) else thing)
        path = Path(inspect.getsourcefile(thing) or "").relative_to(ROOT / "src")
        line = inspect.getsourcelines(thing)[1]
    except (AttributeError, TypeError, ValueError, OSError):
        return None  # comes from elsewhere, such as a method of scikit-learn
    return f"../../source/{path.with_suffix('.html').as_posix()}#L-{line}"


def _files() -> list[str]:
    """Return the library's files, and others that a page links to."""
    library = [
        path.relative_to(ROOT).as_posix()
        for suffix in ("py", "hpp", "cpp")
        for path in (ROOT / "src").rglob(f"*.{suffix}")
    ]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    linked = {found for page in pages for found in LINKED.findall(page.read_text("utf-8"))}
    return sorted([*library, *(name for name in linked if (ROOT / name).exists())])


def _pages(app: Any) -> Iterator[tuple[str, dict[str, str], str]]:
    formatter = HtmlFormatter(lineanchors="L", cssclass="highlight source")
    for name in _files():
        shown = name.removeprefix("src/")
        lexer = PythonLexer() if name.endswith(".py") else CppLexer()
        body = highlight((ROOT / name).read_text("utf-8"), lexer, formatter)
        title = f"<h1>{shown}</h1>"
        yield (
            f"source/{shown.removesuffix('.py')}",
            {"title": shown, "body": title + body},
            "page.html",
        )


def setup(app: Any) -> dict[str, bool]:
    """Add the pages at the end of a build."""
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
