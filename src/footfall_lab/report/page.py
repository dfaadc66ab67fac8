"""One self-contained HTML page of one or more experiments: claims, figures, tables, how to repeat it.

Nothing is fetched: figures are embedded as data, the style sheet is part of the page, and the only script is that of a
3-D replay, an embedded page.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from footfall.errors import MissingExtraError
from footfall_lab.papers.claims import MEANS, TABLES, Claim, Outcome, Table, counts, line, sentence, shown
from footfall_lab.papers.registered import registration
from footfall_lab.report.machine import machine, versions
from footfall_lab.report.style import CSS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from footfall.recording.recording import Recording

_RULES = " ".join(f"{verdict.replace('_', ' ').capitalize()}: {words}." for verdict, words in MEANS.items())
DPI = 180  # of embedded figures: sharp on a laptop display


def page(outcomes: Sequence[Outcome], command: str, took: float | None = None) -> str:
    """Return the page as HTML. ``command`` repeats the run; ``took`` is its duration [s]."""
    title = outcomes[0].title if len(outcomes) == 1 else "Published claims, measured again"
    sections = [_experiment(outcome, alone=len(outcomes) == 1) for outcome in outcomes]
    links = [(f"#{o.experiment}", o.title) for o in outcomes] if len(outcomes) > 1 else []
    if len(outcomes) == 1:
        name = outcomes[0].experiment
        parts = {
            "claims": "Claims",
            "replay": "Replay",
            "figures": "Figures",
            "settings": "Settings",
            "tables": "Tables",
        }
        has = {
            "claims": True,
            "replay": outcomes[0].replays,
            "figures": outcomes[0].figures,
            "settings": outcomes[0].settings,
            "tables": outcomes[0].tables,
        }
        links = [(f"#{name}-{key}", text) for key, text in parts.items() if has[key]]
    links.append(("#again", "Repeat this run"))
    nav = "".join(f'<a href="{href}">{escape(text)}</a>' for href, text in links)
    lead = f'<p class="lead">{escape(outcomes[0].summary)}</p>' if len(outcomes) == 1 else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>footfall: {escape(title)}</title>
<style>{CSS}</style>
</head>
<body>
<main>
<header class="top">
<div class="kicker">footfall report</div>
<h1>{escape(title)}</h1>
{_lines(outcomes)}
<details class="small"><summary>How verdicts are given</summary>{_bounds(outcomes)}</details>
{lead}
<nav>{nav}</nav>
</header>
{"".join(sections)}
{_again(command, took)}
</main>
</body>
</html>
"""


def data_uri(figure: Figure, dpi: int = DPI) -> str:
    """Return a figure as a PNG in a data URI."""
    return f"data:image/png;base64,{base64.b64encode(png(figure, dpi)).decode('ascii')}"


def png(figure: Figure, dpi: int = DPI) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


# -- sections ----------------------------------------------------------------------------------------------------------
def _experiment(outcome: Outcome, alone: bool) -> str:
    name = escape(outcome.experiment)
    parts = []
    if not alone:
        parts.append(f'<h2 id="{name}">{escape(outcome.title)}</h2><p class="lead">{escape(outcome.summary)}</p>')
    published = [claim for claim in outcome.claims if not claim.ours]
    own = [claim for claim in outcome.claims if claim.ours]
    heading = f'<h2 id="{name}-claims">Claims: printed and measured</h2>'
    for table, (words, _) in TABLES.items():
        listed = [claim for claim in published if claim.table == table]
        if listed:
            parts.append(f"{heading}<h3>{words}</h3>{_tally(listed, table)}{_claims(listed, table)}")
            heading = ""
    if published:
        heading = "<h3>Questions of our own, not counted</h3>"
    if own:
        parts.append(f"{heading}{_claims(own)}")
    if outcome.replays:
        parts.append(f'<h2 id="{name}-replay">Replay</h2>')
        parts += [_replay(caption, recordings) for caption, recordings in outcome.replays.items()]
    if outcome.figures:
        parts.append(f'<h2 id="{name}-figures">Figures</h2>')
        parts += [_figure(id, figure, outcome.captions.get(id, id)) for id, figure in outcome.figures.items()]
    if outcome.settings:
        parts.append(f'<h2 id="{name}-settings">Settings</h2>{_facts(outcome.settings)}')
    if outcome.tables:
        parts.append(f'<h2 id="{name}-tables">Tables</h2>')
        parts += [_table(table) for table in outcome.tables]
    return f"<section>{''.join(parts)}</section>"


def _lines(outcomes: Sequence[Outcome]) -> str:
    """Return one line per paper; for several, also the total counts."""
    lines = "".join(f'<p class="sentence">{escape(line(o.experiment, o.claims))}.</p>' for o in outcomes)
    if len(outcomes) == 1:
        return lines
    return f"<p>{sentence(counts(claim for o in outcomes for claim in o.claims))}</p>{lines}"


def _tally(claims: Sequence[Claim], table: str) -> str:
    numbers = counts(claims)
    badges = "".join(
        f'<span class="badge {verdict}">{numbers[verdict]} {verdict.replace("_", " ")}</span>'
        for verdict in TABLES[table][1]
        if numbers[verdict]
    )
    return f'<div class="tally">{badges}</div>' if badges else ""


def _bounds(outcomes: Sequence[Outcome]) -> str:
    """Return the rules, and the bounds of the kinds that occur here."""
    known = registration()
    kinds = dict.fromkeys(
        known.claims[o.experiment][claim.id].kind
        for o in outcomes
        for claim in o.claims
        if claim.id in known.claims.get(o.experiment, {})
    )
    found = [known.bounds[kind] for kind in kinds]
    rows = tuple((bound.of, bound.words(), bound.why) for bound in found if bound.rule not in ("holds", "none"))
    digests = ", ".join(dict.fromkeys(o.bounds for o in outcomes))
    table = Table(
        "Bounds, fixed before the runs", ("of", "bound", "why"), rows, f"Digest of the registration: {digests}"
    )
    return f"<p>{_RULES}</p>{_table(table, 'plain wraps')}"


def _claims(claims: Sequence[Claim], table: str = "behaviour") -> str:
    ours, rows = all(claim.ours for claim in claims), []
    for claim in claims:
        noted = ' class="noted"' if claim.note or claim.bound else ""
        printed = "" if ours else _value(claim.printed, claim.unit)
        rows.append(
            f'<tr{noted}><td>{escape(claim.claim)}<span class="id">{escape(claim.id)}</span></td>{printed}'
            f"{_value(claim.measured, claim.unit)}"
            f'<td><span class="badge {"ours" if ours else claim.verdict}">{escape(claim.words)}</span></td></tr>'
        )
        bound = f'<span class="bound">Criterion: {escape(claim.bound)}.</span> ' if claim.bound else ""
        first = claim.as_first_registered
        beside = "" if first is None else f" As first registered: {shown(first.measured)}, {first.words}. {first.note}"
        if noted:
            text = escape(claim.note) + (f'<span class="bound">{escape(beside)}</span>' if beside else "")
            rows.append(f'<tr><td class="note" colspan="{3 if ours else 4}">{bound}{text}</td></tr>')
    head = "<th>question</th>" if ours else '<th>claim</th><th class="number">printed</th>'
    head += (
        f'<th class="number">measured</th><th>{"answer" if ours else "factor" if table == "time" else "verdict"}</th>'
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _value(value: float | str | bool | None, unit: str) -> str:
    """Return the cell of a value; words may wrap, numbers stay with their unit."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    text = escape(shown(value)) + (f' <span class="unit">{escape(unit)}</span>' if unit and number else "")
    return f'<td class="number{" words" if isinstance(value, str) else ""}">{text}</td>'


def _figure(id: str, figure: Figure, caption: str) -> str:
    image = f'<img src="{data_uri(figure)}" alt="{escape(caption)}">'
    return f'<figure id="{escape(id)}">{image}<figcaption>{escape(caption)}</figcaption></figure>'


def _replay(caption: str, recordings: dict[str, Recording]) -> str:
    """Return an embedded 3-D replay, or a note if viser is not installed."""
    from footfall.view.replay import ReplayPage, embedded, replay_page

    try:
        shown = embedded(replay_page(ReplayPage(caption, recordings)), caption)
    except MissingExtraError as error:
        return f'<p class="small">No replay: {escape(str(error))}.</p>'
    how = "Drag to rotate, scroll to zoom. Arrows: ground reaction forces; violet: path of the centre of mass."
    return f"<figure>{shown}<figcaption>{escape(caption)} {how}</figcaption></figure>"


def _facts(facts: dict[str, str]) -> str:
    rows = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in facts.items())
    return f'<div class="scroll"><table class="facts"><tbody>{rows}</tbody></table></div>'


def _table(table: Table, kind: str = "plain") -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    note = f'<p class="small">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<h3>{escape(table.title)}</h3>{note}<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _again(command: str, took: float | None) -> str:
    facts = machine() | {"versions": ", ".join(f"{name} {version}" for name, version in versions().items())}
    if took is not None:
        facts["took"] = f"{took:.0f} s"
    return f'<section><h2 id="again">Repeat this run</h2><pre>{escape(command)}</pre>{_facts(facts)}</section>'
