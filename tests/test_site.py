"""The site holds together, as far as can be told without building it.

Its settings load, every page is in a table of contents, and links, cards, anchors and pictures
lead to something. ``make docs`` builds it, and takes every warning for an error.
"""

import ast
import importlib
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import pytest
from sklearn.utils import get_tags

import thalweg

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.append(str(DOCS))
links, examples, api = (
    importlib.import_module(f"_site.{name}") for name in ("links", "examples", "api")
)

PAGES = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in DOCS.rglob("*.md")}
MADE = {"examples/index", "api/index"}  # in each build
TOCTREE = re.compile(r"^(`{3,}|:{3,})\{toctree\}\n(.*?)^\1$", re.M | re.S)
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(\s*([^)\s]+)\s*\)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.M)
CARD = re.compile(r"^:link: (\S+)$", re.M)


def text_of(name: str) -> str:
    """Return a page as the site sees it."""
    return links.rewritten(PAGES[name].read_text("utf-8"), f"docs/{name}.md")


def entries(name: str) -> set[str]:
    """Return the pages in the tables of contents of a page."""
    folder, found = PurePosixPath(name).parent, set()
    for _, body in TOCTREE.findall(text_of(name)):
        lines = [line for line in body.splitlines() if line and not line.startswith(":")]
        for line in lines:
            wanted = (folder / line).as_posix()
            matched = {page for page in PAGES if fnmatchcase(page, wanted)}
            found |= matched or ({wanted} if "*" not in line else set())
    return found


def slugs(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    found: dict[str, int] = {}
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("\\", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {
        slug if n == 0 else f"{slug}-{n}" for slug, last in found.items() for n in range(last + 1)
    }


def faults(name: str) -> list[str]:
    """Return the links and cards of a page that lead nowhere."""
    text, folder = text_of(name), PurePosixPath(name).parent
    cards = [(folder / card).as_posix() for card in CARD.findall(text)]
    wrong = [card for card in cards if card not in PAGES and card not in MADE]
    for link in LINK.findall(CODE.sub("", FENCE.sub("", text))):
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        if not leads(path, folder) or (anchor and not anchored(path, anchor, name, folder)):
            wrong.append(link)
    return wrong


def leads(path: str, folder: PurePosixPath) -> bool:
    if path.startswith("source:"):
        return (ROOT / path.removeprefix("source:")).exists()
    target = (DOCS / folder / path).resolve()
    if target.suffix == ".rst" and target.parent == DOCS / "examples":
        return (ROOT / "examples" / f"{target.stem}.py").exists()
    return target.is_relative_to(DOCS) and target.exists()


def anchored(path: str, anchor: str, name: str, folder: PurePosixPath) -> bool:
    if path and not path.endswith(".md"):
        return True
    target = (DOCS / folder / path).resolve() if path else PAGES[name]
    page = target.relative_to(DOCS).with_suffix("").as_posix()
    return anchor in slugs(text_of(page))


def test_settings_load(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    settings: dict = {"__file__": str(DOCS / "conf.py")}
    exec(compile((DOCS / "conf.py").read_text("utf-8"), "conf.py", "exec"), settings)
    assert settings["nitpicky"]
    assert re.search(settings["sphinx_gallery_conf"]["filename_pattern"], "/x/jump.py")
    assert not re.search(settings["sphinx_gallery_conf"]["filename_pattern"], "/x/topics.py")
    for name in [*settings["html_css_files"], Path(settings["html_favicon"]).name]:
        assert (DOCS / "_static" / name).exists()


def test_every_page_is_in_a_table_of_contents():
    visited, waiting = {"index"}, ["index"]
    while waiting:
        for name in entries(waiting.pop()) - visited - MADE:
            assert name in PAGES, f"a table of contents names {name}, which is no page"
            visited.add(name)
            waiting.append(name)
    lost = sorted(set(PAGES) - visited)
    assert not lost, f"{lost} are in no toctree: add them to docs/guide.md or docs/project.md"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_links_and_cards_lead_somewhere(name):
    assert not faults(name)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_begins_with_one_title(name):
    levels = re.findall(r"^(#+) ", FENCE.sub("", text_of(name)), re.M)
    assert levels[0] == "#"
    assert levels.count("#") == 1


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_examples_are_ready_for_the_gallery(path):
    source = path.read_text("utf-8")
    staged = ast.parse(examples.staged(source))
    title, line, *_ = (ast.get_docstring(staged) or "").splitlines()
    assert 10 < len(title) < 70
    assert line == "=" * len(title)
    # nothing but the docstring differs
    assert ast.dump(ast.Module(staged.body[1:], [])) == ast.dump(
        ast.Module(ast.parse(source).body[1:], [])
    )
    assert '"--output"' in source or examples.needs_data(source)


def test_every_room_has_an_api_page(tmp_path):
    api.write(tmp_path)
    rooms = {"estimators", "baselines", "streams", "prox", "errors"}
    assert rooms <= {path.stem for path in tmp_path.glob("*.rst")}
    for room in rooms:
        assert f"   {room}\n" in (tmp_path / "index.rst").read_text("utf-8")


def test_titles_of_examples_differ():
    sources = [path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")]
    titles = [examples.title_of(ast.get_docstring(ast.parse(source)) or "") for source in sources]
    assert len(sources) >= 12
    assert len(set(titles)) == len(titles), sorted(titles)


def test_links_are_turned():
    page = "[a](../src/thalweg/errors.py) [b](../examples/jump.py) [c](../README.md#use) [d](x.md)"
    assert links.rewritten(page, "docs/papers.md") == (
        "[a](source:src/thalweg/errors.py) [b](examples/jump.rst) [c](index.md#use) [d](x.md)"
    )


def test_slugs_are_those_of_github():
    page = "# [O] Online NMF\n## What is *different*, and why\n## `A` & b\n## `A` & b\n"
    assert slugs(page) == {"o-online-nmf", "what-is-different-and-why", "a--b", "a--b-1"}


def test_the_decision_table_is_true():
    """Sign, drift and how data come are what the estimators say of themselves."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| .* \| (.*) \| (.*) \|$", text_of("choosing"), re.M)
    assert len(rows) >= 9
    for name, sign, drift, takes in rows:
        model = getattr(thalweg, name)()
        tags = get_tags(model).input_tags
        assert tags.allow_nan, name
        assert tags.positive_only == (sign == "nonnegative"), name
        assert hasattr(model, "partial_fit") == (takes == "a stream"), name
        assert ("forgetting" in model.get_params()) == ("`forgetting`" in drift), name
