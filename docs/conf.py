"""Settings of the documentation; it builds without a network."""

project = "footfall"
author = "the footfall contributors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
html_theme = "furo"
html_title = "footfall"
exclude_patterns = ["_build"]
autodoc_typehints = "none"
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure", "ref.python"]


def plain_bars(app, what, name, obj, options, lines):
    """Docstrings are plain text: |x| is a magnitude, not a substitution."""
    for k, line in enumerate(lines):
        lines[k] = line.replace("|", "\\|")


def replay_of_the_learned_trot(app, error):
    """The page on learning shows the policy walking: the replay is made with the pages, not kept among the sources."""
    if error is not None or app.builder.name != "html":
        return
    import footfall as ff
    from footfall.report.replay import Replay, replay_page

    walker = ff.control.Policy.load("mini_cheetah")
    rec = ff.Simulation(ff.load("mini_cheetah"), walker, command=ff.Command(forward=0.4)).run(6.0)
    with open(app.outdir / "learned-trot.html", "w") as file:
        file.write(replay_page(Replay("a learned trot at 0.4 m/s", {"learned": rec})))


def setup(app):
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("build-finished", replay_of_the_learned_trot)
