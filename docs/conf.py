"""The settings of the documentation: ``sphinx-build -W -n docs build/site`` builds it, without a network."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs"), str(ROOT / "tests")]

import dpcheck  # noqa: E402 - the clone that this page describes

project = "dpcheck"
author = "The dpcheck authors"
copyright = author
release = version = dpcheck.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb", "book"]
exclude_patterns = ["examples", "images", "ci", "book"]
language = "en"
smartquotes = False  # --epsilon has two dashes
nitpicky = True
suppress_warnings = ["config.cache", "myst.header", "misc.highlighting_failure"]

autodoc_typehints = "none"  # the sections Parameters and Returns say what each is, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # their outputs are committed, and a test runs them again
nb_merge_streams = True

html_theme = "furo"
html_title = f"dpcheck {release}"
html_math_renderer = "mathml"
html_static_path = ["book/static"]
html_css_files = ["book.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
