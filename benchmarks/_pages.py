"""Pages of the documentation from stored results: ``python -m benchmarks --pages``.

One page per case that has a result, and an overview. Words come from the case's docstring,
numbers from its JSON by its ``report``, sentences on the outcome by its ``findings``; nothing on
them is written by hand. Other pages of ``docs/`` repeat findings in blocks of their own. A test
compares all of them with what this file makes of the results, so they cannot be apart.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import _findings, _results
from benchmarks._cases import docstring, folders, found, load, title

__all__ = ["blocks", "pages", "verdict", "write"]

_ROOT = Path(__file__).parents[1]
_DOCS = _ROOT / "docs"
_FOLDER = _DOCS / "benchmarks"
_SECTION = re.compile(r"^(\w[\w ]*)\n((?:    .*\n?|\n(?=    ))+)", re.M)
_SUMMARY = re.compile(r"(\d+) of (\d+) met\b")
_LINE = re.compile(r": (not )?(?:met|both)\b", re.I)
_PICTURE = re.compile(r"docs/images/\w+\.png")
_CELL = re.compile(r"\b(not )?met\b", re.I)
_HEADER = ("| case | claim | met |", "|---|---|---|")
_NOTE = "<!-- Made by `python -m benchmarks --pages`; changes here are lost. -->"


class Text(NamedTuple):
    """A docstring taken apart: first line, other paragraphs, and sections by their names."""

    headline: str
    prose: str
    sections: dict[str, str]


def write() -> list[Path]:
    """Write all pages and blocks, remove pages of cases that are gone, and return the paths."""
    texts = pages()
    _FOLDER.mkdir(parents=True, exist_ok=True)
    for path in _FOLDER.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (_FOLDER / name).write_text(text, "utf-8")
    repeated = blocks()
    for path, text in repeated.items():
        path.write_text(text, "utf-8")
    return [*(_FOLDER / name for name in texts), *repeated]


def pages() -> dict[str, str]:
    """Return the text of every page by the name of its file."""
    stored = {name: _results.load(name, quick=False) for name in found()}
    made = {name: (_report(name, content), content) for name, content in stored.items() if content}
    texts = {f"{name}.md": _page(name, *of) for name, of in made.items()}
    return {"index.md": _overview({name: report for name, (report, _) in made.items()}), **texts}


def blocks() -> dict[Path, str]:
    """Return the other pages that repeat findings, with their blocks filled."""
    texts = {path: path.read_text("utf-8") for path in sorted(_DOCS.glob("*.md"))}
    return {path: _findings.filled(text) for path, text in texts.items() if "findings:" in text}


def verdict(report: str) -> tuple[int, int] | None:
    """Return how many of how many claims a report calls met, or None if it judges none.

    Sums ("12 of 14 met") and sentences ("at most 3: NOT met") count; cells of a table do if
    there is neither, as otherwise the sums are theirs.
    """
    sums = [(int(met), int(every)) for met, every in _SUMMARY.findall(report)]
    said = [*_LINE.finditer(report)] or ([] if sums else [*_CELL.finditer(report)])
    sums += [(int(match[1] is None), 1) for match in said]
    return (sum(met for met, _ in sums), sum(every for _, every in sums)) if sums else None


def _report(name: str, content: dict[str, Any]) -> str:
    report: str = load(name).report(content["result"])
    return report


def _page(name: str, report: str, content: dict[str, Any]) -> str:
    text = _read(docstring(name))
    parts = [_NOTE, f"# {text.headline.rstrip('.')}", text.prose]
    parts += [f"**{head}.** {body}" for head, body in text.sections.items() if head != "Picture"]
    pictures = (_ROOT / found for found in _PICTURE.findall(text.sections.get("Picture", "")))
    parts += [f"![{text.headline}](../images/{path.name})" for path in pictures if path.exists()]
    said = _findings.of(name, content["result"])
    if said:
        parts += ["## Findings", "\n".join(f"- {finding.sentence}" for finding in said)]
    parts += ["## Result", f"```text\n{report}\n```", "## Measured", _measured(content)]
    parts.append(f"```console\n$ python -m benchmarks --case {name}\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def _measured(content: dict[str, Any]) -> str:
    machine, revision = content["machine"], content["revision"]
    there = {k: v for k, v in content["versions"].items() if v != "not installed"}
    rows = {
        "date": f"{content['date']}, {content['seconds']:.0f} seconds",
        "machine": f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}",
        "load before": f"{machine['load']} (much above 1: other jobs ran, times are noisy)",
        "versions": ", ".join(f"{package} {version}" for package, version in there.items()),
        "revision": f"{revision['commit']}, source {revision['source']}",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in rows.items())])


def _overview(reports: dict[str, str]) -> str:
    lines = [
        _NOTE,
        "",
        "# Benchmarks",
        "",
        "The papers' tables and figures and other libraries, each measured by one file that can"
        " be run again: `python -m benchmarks --case NAME`. Each case states its claim;"
        " where it was not met, the page shows by how much.",
        "",
    ]
    for folder, names in folders().items():
        measured = [name for name in names if name in reports]
        if measured:
            lines += [
                f"## {title(folder).rstrip('.')}",
                "",
                "| case | claim | met |",
                "|---|---|---|",
            ]
            lines += [_row(name, reports[name]) for name in measured]
            lines.append("")
    return "\n".join(lines) + "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def _row(name: str, report: str) -> str:
    text = _read(docstring(name))
    claim = text.sections.get("Claim", text.sections.get("Claims", text.headline))
    return f"| [{name}]({name}.md) | {claim.replace('|', chr(92) + '|')} | {_word(report)} |"


def _word(report: str) -> str:
    count = verdict(report)
    if count is None:
        return "no verdict"
    return "yes" if count[0] == count[1] else f"{count[0]} of {count[1]}"


def _read(docstring: str) -> Text:
    headline, _, rest = docstring.partition("\n")
    sections = {head: _flow(body) for head, body in _SECTION.findall(rest + "\n")}
    return Text(_flow(headline), _flow(_SECTION.sub("", rest + "\n")), sections)


def _flow(text: str) -> str:
    """Return Markdown on one line of what numpydoc would show."""
    return re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split()))
