"""Configuration of Sphinx."""

from __future__ import annotations

import pathlib
import sys
import tomllib

root = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(root))

project = "Flask-Chat-Memory"
copyright = "The Flask-Chat-Memory maintainers"
version = release = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = project
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

nitpicky = True
# The inventories of other packages would need the network; the other names are internal.
nitpick_ignore_regex = [
    ("py:(class|exc)", r"(cabc|collections|contextlib|datetime|flask|markupsafe|msgspec|os|sqlalchemy|t|types)\..+"),
    ("py:class", r"flask_chat_memory\..+\.(B|Counted|F|G|P|R|T|Settings|ShownMessage|Tables)"),
    ("py:(class|data)", r"LABELS|OptionDefinition|PluginChoice"),
]
