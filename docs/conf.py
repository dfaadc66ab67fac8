"""Settings of the documentation; it builds and reads without a network."""

import html
import sys
from pathlib import Path

from docutils import nodes

sys.path.append(str(Path(__file__).parents[1] / "studies"))

project = "footfall"
author = "the footfall contributors"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nitpicky = True
highlight_language = "text"  # blocks without a language are commands and output
html_theme = "furo"
html_title = "footfall"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["footfall.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_math_renderer = "paths"
exclude_patterns = ["_build"]
suppress_warnings = ["misc.highlighting_failure"]  # blocks of code that show a shape, not a program


def formula(latex):
    """A formula as an inline drawing in the colour of the text, by matplotlib's own typesetter."""
    from matplotlib.path import Path
    from matplotlib.textpath import TextPath

    size = 100.0
    path = TextPath((0, 0), f"${' '.join(latex.split())}$", size=size)
    (x0, y0), (x1, y1) = path.vertices.min(axis=0), path.vertices.max(axis=0)
    letters = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}
    drawn = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        numbers = " ".join(f"{value:.0f}" for value in points) if code != Path.CLOSEPOLY else ""
        drawn.append(letters[code] + numbers)
    look = f"width:{(x1 - x0) / size:.3f}em;vertical-align:{y0 / size:.3f}em"
    return (
        f'<svg class="formula" role="img" aria-label="{html.escape(latex)}" style="{look}" '
        f'viewBox="{x0:.0f} {-y1:.0f} {x1 - x0:.0f} {y1 - y0:.0f}">'
        f'<path transform="scale(1,-1)" fill="currentColor" d="{"".join(drawn)}"/></svg>'
    )


def inline(translator, node):
    translator.body.append(formula(node.astext()))
    raise nodes.SkipNode


def displayed(translator, node):
    translator.body.append(f'<div class="formula">{formula(node.astext())}</div>')
    raise nodes.SkipNode


def replay_of_the_learned_trot(app, error):
    """The page on learning shows the policy walking: the replay is made with the pages, not kept among the sources."""
    if error is not None or app.builder.name != "html":
        return
    import footfall as ff
    from footfall.view.replay import ReplayPage, replay_page

    walker = ff.control.Policy.load("mini_cheetah")
    rec = ff.Simulation(ff.load("mini_cheetah"), walker, command=ff.Command(forward=0.4)).run(6.0)
    with open(app.outdir / "learned-trot.html", "w") as file:
        file.write(replay_page(ReplayPage("a learned trot at 0.4 m/s", {"learned": rec})))


def setup(app):
    app.connect("build-finished", replay_of_the_learned_trot)
    app.add_html_math_renderer("paths", (inline, None), (displayed, None))
