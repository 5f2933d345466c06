"""The documentation site. `make site` builds it from the pages as they are; a warning is an error."""

project = "Penstock"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/**.md",
    "python/penstock/studies/README.md",
]
source_suffix = {".md": "markdown"}
html_theme = "alabaster"
html_theme_options = {"fixed_sidebar": True, "page_width": "1100px"}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_copy_source = False
myst_heading_anchors = 4
autodoc_typehints = "none"  # docstrings say types in words
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
