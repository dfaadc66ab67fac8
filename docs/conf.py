"""Settings of the documentation; it builds without a network."""

project = "footfall"
author = "the footfall contributors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
html_theme = "furo"
html_title = "footfall"
exclude_patterns = ["_build"]
autodoc_typehints = "none"
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]


def plain_bars(app, what, name, obj, options, lines):
    """Docstrings are plain text: |x| is a magnitude, not a substitution."""
    for k, line in enumerate(lines):
        lines[k] = line.replace("|", "\\|")


def setup(app):
    app.connect("autodoc-process-docstring", plain_bars)
