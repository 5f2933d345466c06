"""The documentation site. `make site` builds it from the pages as they are; a warning is an error."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "site"))

project = "Penstock"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_copybutton", "mechanisms", "notebooks"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "GOVERNANCE.md",
    "docs/**.md",
    "python/penstock/studies/README.md",
]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "Penstock"
html_static_path = ["site/static"]
html_css_files = ["penstock.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1b6e8c", "color-brand-content": "#1b6e8c"},
    "dark_css_variables": {"color-brand-primary": "#6cc3e0", "color-brand-content": "#6cc3e0"},
    "top_of_page_buttons": [],
}
html_copy_source = False
html_show_sourcelink = False
# Prompts and what commands print are not copied.
copybutton_prompt_text = "$ "
copybutton_copy_empty_lines = False
myst_enable_extensions = ["attrs_inline", "colon_fence", "html_image"]
myst_heading_anchors = 4
autodoc_typehints = "none"  # docstrings say types in words
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
