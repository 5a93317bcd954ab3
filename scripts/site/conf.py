"""Sphinx's settings for the documentation site; ``scripts/docs`` reads them."""

from __future__ import annotations

from actorsession import __version__

project = "actorsession"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "scripts.site.excerpts"]
html_theme = "furo"
html_title = f"actorsession {release}"
html_copy_source = False
html_show_sphinx = False

# The links of the pages name headings as they do on a repository's web pages.
myst_heading_anchors = 4

# Each docstring is in Google's style. Attributes are listed in the text of their class and nowhere else.
napoleon_numpy_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# With a line for each of 2,000 members in the contents a build takes half as long again.
toc_object_entries = False
# Two classes are called ProtocolError, and a docstring names one as its module sees it.
suppress_warnings = ["ref.python"]
