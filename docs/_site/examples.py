"""The gallery: every file of ``examples/`` with its picture.

Examples stay plain scripts. Here each gets a title, made of the first words of its docstring. One
that needs no data runs while the site is built, and shows what it printed and drew; one that
needs data is shown with the picture that it drew into ``docs/images``.
"""

import ast
import re
from pathlib import Path
from typing import Any

__all__ = ["gallery", "needs_data", "pictures_of", "setup", "staged", "title_of"]

ROOT = Path(__file__).resolve().parents[2]
STAGE = ROOT / "build" / "examples"  # the scripts with titles
DRAWN = "drawn"  # in it: what those that run have drawn
HEADER = """Examples
========

Scripts with pictures. :doc:`/gallery` discusses their results. Examples on real data show a stored
picture, since the data are public, but not part of the project.
"""
NOTE = """.. note::

   This example needs data that are not part of the project: set ``THALWEG_DATA`` to their folder.
   The picture is from a run with these data.
"""


def gallery() -> dict[str, Any]:
    """Return the settings of sphinx-gallery."""
    sources = {path.stem: path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")}
    runs = sorted(name for name, source in sources.items() if not needs_data(source))
    return {
        "examples_dirs": str(STAGE),
        "gallery_dirs": "examples",
        "filename_pattern": rf"/({'|'.join(runs)})\.py$",
        "image_scrapers": "_site.examples.scrape",
        "reset_argv": "_site.examples.arguments",
        "default_thumb_file": str(ROOT / "docs" / "_static" / "example.png"),
        "download_all_examples": False,
        "show_memory": False,
        "remove_config_comments": True,
        "min_reported_time": 1e9,
        "write_computation_times": False,
    }


def stage(*_: Any) -> None:
    """Write the scripts with their titles to where sphinx-gallery looks for them."""
    STAGE.mkdir(parents=True, exist_ok=True)
    _put(STAGE / "GALLERY_HEADER.rst", HEADER)
    scripts = sorted((ROOT / "examples").glob("*.py"))
    for path in STAGE.glob("*.py"):
        if path.name not in {script.name for script in scripts}:
            path.unlink()
    for script in scripts:
        _put(STAGE / script.name, staged(script.read_text("utf-8")))


def staged(source: str) -> str:
    """Return a script with a title, its stored picture if it will not run, and a thumbnail."""
    text = ast.get_docstring(ast.parse(source)) or ""
    title, pictures = title_of(text), pictures_of(source)
    parts = [title, "=" * len(title), "", text]
    if needs_data(source):
        parts += ["", NOTE, *(f".. image:: /images/{name}\n" for name in pictures)]
    rest = source.split('"""', 2)[2]
    thumbnail = f"\n# sphinx_gallery_thumbnail_path = 'images/{pictures[0]}'" if pictures else ""
    return 'r"""\n' + "\n".join(parts) + '\n"""' + thumbnail + rest


def title_of(docstring: str) -> str:
    """Return the first words of a docstring: up to a colon, or to a comma if that is long."""
    words = re.split(r":|\.$", docstring.partition("\n")[0])[0]
    return words if len(words) < 62 else words.partition(",")[0]


def needs_data(source: str) -> bool:
    """Return whether a script reads real data."""
    return '"THALWEG_DATA"' in source


def pictures_of(source: str) -> list[str]:
    """Return the pictures of a script that are in ``docs/images``."""
    names = dict.fromkeys(re.findall(r"(\w+\.png)\b", source))
    return [name for name in names if (ROOT / "docs" / "images" / name).exists()]


def _put(path: Path, text: str) -> None:
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def arguments(conf: dict[str, Any], script: dict[str, Any]) -> list[str]:
    """Let each script, which runs where it is staged, draw into a folder of its own."""
    return ["--output", f"{DRAWN}/{Path(script['src_file']).stem}"]


def scrape(block: Any, variables: dict[str, Any], conf: dict[str, Any], **_: Any) -> str:
    """Show the pictures that a script has just drawn."""
    from sphinx_gallery.scrapers import figure_rst

    folder = STAGE / DRAWN / Path(variables["src_file"]).stem
    shown = []
    for picture in sorted(folder.glob("*.png")):
        target = Path(variables["image_path_iterator"].next())
        target.write_bytes(picture.read_bytes())
        picture.unlink()
        shown.append(str(target))
    return figure_rst(shown, conf["src_dir"]) if shown else ""


def setup(app: Any) -> dict[str, bool]:
    """Stage the scripts as soon as the settings are read."""
    app.connect("config-inited", stage)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
