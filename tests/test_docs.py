"""The pages tell the truth: their code runs, prints what they say, their links lead somewhere.

The python blocks of a page run in order in one namespace. A text block that comes next after
a python block is that block's output; a drawing has a fence without a language.
"""

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]

FENCE = re.compile(r"^```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^```[ \t]*$", re.M | re.S)
INLINE_CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|\b(?:src|href)=\"([^\"]+)\"")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.I)


class Block(NamedTuple):
    """A fenced block of a page; ``line`` is where its body begins, counted from 1."""

    language: str
    body: str
    line: int


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    return [
        Block(m["language"], m["body"], 1 + page.count("\n", 0, m.start("body")))
        for m in FENCE.finditer(page)
    ]


def run_page(page: str, name: str) -> list[str]:
    """Run the python blocks of a page, and return where it prints something else, as sentences."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    faults = []
    for block, after in pairwise([*blocks(page), Block("", "", 0)]):
        if block.language != "python":
            continue
        printed = io.StringIO()
        padded = "\n" * (block.line - 1) + block.body  # tracebacks show the page's lines
        with contextlib.redirect_stdout(printed):
            exec(compile(padded, name, "exec"), namespace)
        if after.language == "text" and printed.getvalue().split() != after.body.split():
            faults.append(f"{name}:{block.line} prints\n{printed.getvalue()}")
    return faults


def broken_links(page: str, folder: Path) -> list[str]:
    """Return the relative links of a page that lead nowhere."""
    prose = INLINE_CODE.sub("", FENCE.sub("", page))
    targets = [markdown or html for markdown, html in LINK.findall(prose)]
    return [
        target
        for target in targets
        if not ELSEWHERE.match(target) and not (folder / target.partition("#")[0]).exists()
    ]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_code_runs_and_prints_what_the_page_says(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not run_page(path.read_text("utf-8"), _name(path))


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_links_lead_somewhere(path):
    assert not broken_links(path.read_text("utf-8"), path.parent)


PAGE = """
```python
x = 1
```

```python
print(x + 1,  x)
```

which prints

```text
{output}
```
"""


def test_a_true_output_passes():
    assert run_page(PAGE.format(output="2   1"), "page") == []


def test_a_false_output_is_seen():
    assert run_page(PAGE.format(output="3 1"), "page") == ["page:7 prints\n2 1\n"]


def test_failing_code_is_seen_with_its_line():
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("\n```python\n\n1 / 0\n```\n", "page")
    assert caught.traceback[-1].lineno + 1 == 4


def test_broken_links_are_seen():
    page = """[a](here.md) [b](gone.md#x) [c](https://x.org) [d](#top) `[e](no.md)`
    ![f](gone.png) <img src="gone.svg">"""
    folder = Path("nowhere")
    assert broken_links(page, folder) == ["here.md", "gone.md#x", "gone.png", "gone.svg"]
    assert broken_links(f"[self]({Path(__file__).name})", Path(__file__).parent) == []
