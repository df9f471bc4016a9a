"""How Sphinx builds the site: ``make docs`` writes it to ``build/site``.

Pages are the Markdown files of this folder. The API pages, the gallery and the pages of source
are made anew in each build by the files of ``_site``; a test checks pages and links without
building anything (``tests/test_site.py``).
"""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "thalweg"
author = "the thalweg developers"
copyright = author
release = version = installed("thalweg")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.linkcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "_site.api",
    "_site.examples",
    "_site.links",
    "_site.sources",
]
exclude_patterns = ["_site", "_templates"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore = [  # of docstrings that are shown under more than one class
    ("py:attr", "growth"),
    ("py:class", "Html"),
    ("py:meth", "transform"),
]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence"]
myst_heading_anchors = 4
myst_url_schemes = ["http", "https", "mailto", "source"]  # the last one is of _site.links
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"  # docstrings say in words what signatures say in types
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True

from _site.examples import gallery  # noqa: E402
from _site.sources import linkcode_resolve  # noqa: E402, F401

sphinx_gallery_conf = gallery()

html_theme = "pydata_sphinx_theme"
html_title = "thalweg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_show_copyright = False
html_sidebars = {"index": [], "papers": []}
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "text": "thalweg",
    },
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_persistent": [],
    "navbar_end": ["search-button-field", "theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
