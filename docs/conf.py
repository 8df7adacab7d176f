"""Configuration of the documentation site; `make docs` builds it."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

project = "Bristlecone"
author = "The Bristlecone developers"
copyright = "The Bristlecone developers"
release = version = installed_version("bristlecone")

extensions = ["myst_parser", "sphinx.ext.autodoc", "docs.generation.site"]
exclude_patterns = ["generation", "_build"]
nitpicky = True
# Python's own exceptions; their documentation is on another host.
nitpick_ignore_regex = [("py:exc", r"[A-Z]\w+Error")]

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True

repository_files_url = "https://github.com/bristlecone/bristlecone/blob/main"

html_theme = "furo"
html_title = "Bristlecone"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
