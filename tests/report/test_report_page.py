"""The file is self-contained, escaped and written atomically."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from thalweg import report
from thalweg.errors import InputError, ParameterError

NASTY = "</script><script>window.hacked = 1</script><img src=x onerror='hacked=1'>\"&"
ASSETS = [
    path.name for path in files("thalweg.report").iterdir() if path.name.endswith((".css", ".js"))
]


class Reader(HTMLParser):
    """Collect elements, links and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.values = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.values += [value or "" for _, value in attrs]
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_data(self, data):
        self.text.append(data)


def test_page_is_self_contained(page):
    text = page.read_text("utf-8")
    namespace = "http://www.w3.org/2000/svg"  # an identifier, never fetched
    assert re.findall(r"\w+://[^\s\"'`]+", text.replace(namespace, "")) == []
    reader = Reader(text)
    assert not [value for value in reader.values if value.startswith("//")]
    assert not {"link", "iframe", "object", "base", "form"} & set(reader.elements)


def test_the_policy_lists_the_style_and_the_script(page):
    text = page.read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text).group(1)
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy
    for pattern in (r"<style>(.*?)</style>", r"<script>(.*?)</script>"):
        held = re.findall(pattern, text, re.S)
        assert len(held) == 1
        assert b64encode(sha256(held[0].encode()).digest()).decode() in policy


@pytest.mark.parametrize("name", ASSETS)
def test_styles_and_scripts_do_not_end_their_element(name):
    text = (files("thalweg.report") / name).read_text("utf-8").lower()
    assert "</s" not in text
    assert "<!--" not in text
    assert not re.search(r"@import|url\(", text)


@pytest.fixture
def nasty(tmp_path):
    """Return a report in which every text is an injection attempt."""
    film = np.full((2, 4, 4), 0.5)
    panels = [
        report.Frames(NASTY, {NASTY: film}, numbers=[NASTY, NASTY]),
        report.Pairs(NASTY, {NASTY: film}),
        report.Mosaic(NASTY, film, labels=[NASTY, NASTY]),
        report.Ranking(NASTY, {NASTY: [(NASTY, 1.0)]}),
        report.HeatMap(NASTY, {NASTY: film[0]}, [NASTY] * 4, [NASTY] * 4),
        report.Curve(NASTY, [0, 1], {NASTY: [1, 2]}, xlabel=NASTY, ylabel=NASTY),
        report.Picture(NASTY, film[0], caption=NASTY),
        report.Facts(NASTY, {NASTY: NASTY}),
    ]
    origin = {"command": NASTY, "parameters": {NASTY: NASTY}, "summary": NASTY}
    return report.write(tmp_path / "nasty <b>&.html", NASTY, panels, **origin)


def test_texts_are_escaped(nasty, page):
    reader = Reader(nasty.read_text("utf-8"))
    blocks = 3  # JSON of frames, heat map and curve
    assert reader.elements.count("script") == 1 + blocks
    assert reader.elements.count("img") == 1 + 2 + 2 + 1
    assert reader.text.count(NASTY) >= 20
    assert reader.values.count(NASTY) >= 3


def test_names_that_utf8_cannot_encode(tmp_path):
    name = b"street\xff.mp4".decode("utf-8", "surrogateescape")
    path = report.write(tmp_path / "r.html", name, [report.Facts("F", {name: 1})], command=name)
    assert "street?.mp4" in path.read_text("utf-8")


def test_only_the_assets_of_used_panels_are_included(tmp_path, page):
    path = report.write(tmp_path / "r.html", "Street", [report.Facts("F", {"a": 1})])
    assert len(path.read_bytes()) < 20_000
    assert 'panels("frames"' not in path.read_text("utf-8")
    assert 'panels("frames"' in page.read_text("utf-8")


def test_command_and_parameters_are_shown(page, tmp_path):
    text = page.read_text("utf-8")
    assert "<code>thalweg separate street.mp4</code>" in text
    assert "<dt>n_components</dt><dd>3</dd>" in text
    path = report.write(tmp_path / "r.html", "Street", [report.Facts("F", {"a": 1})])
    assert "How this report was made" not in path.read_text("utf-8")


class Breaking:
    name, title = "breaking", "Breaking"

    def html(self):
        raise RuntimeError("no")


def test_a_failure_leaves_the_old_report(tmp_path):
    path = report.write(tmp_path / "r.html", "Old", [report.Facts("F", {"a": 1})])
    old = path.read_bytes()
    with pytest.raises(RuntimeError, match="no"):
        report.write(path, "New", [Breaking()])
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_replaces_the_old_one(tmp_path):
    for title in ("Old", "New"):
        path = report.write(str(tmp_path / "r.html"), title, [report.Facts("F", {"a": 1})])
    assert "<h1>New</h1>" in path.read_text("utf-8")
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_cannot_be_written(tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("folder", "missing/r.html"):
        with pytest.raises(InputError, match=rf"{name} must be a writable file"):
            report.write(tmp_path / name, "Street", [report.Facts("F", {"a": 1})])
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    ("panels", "given"), [([], "an empty list"), ([3], "3"), (["Facts"], "'Facts'")]
)
def test_invalid_panels(tmp_path, panels, given):
    with pytest.raises(ParameterError, match=f"list of panels, got {given}"):
        report.write(tmp_path / "r.html", "Street", panels)


@pytest.mark.parametrize("title", ["", None])
def test_invalid_page_titles(tmp_path, title):
    with pytest.raises(ParameterError, match="title must be a non-empty string"):
        report.write(tmp_path / "r.html", title, [report.Facts("F", {"a": 1})])
