"""Write the verdicts of ``footfall reproduce all`` on record, and the page that shows them.

    footfall reproduce all --out reports
    python docs/generate_verdicts.py reports/results.json

Writes ``src/footfall_lab/papers/recorded.toml``, ``docs/research/verdicts.md`` and the sentence of the README.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from footfall_lab.papers.claims import asked, sentence, shown, times
from footfall_lab.papers.recorded import FILE, read, written
from footfall_lab.papers.registered import registration

DOCS = Path(__file__).parent
README = DOCS.parent / "README.md"
HEAD = """# Verdicts

<!-- written by docs/generate_verdicts.py; the bounds come from src/footfall_lab/papers/registered.toml -->

{sentence} This page is what `footfall reproduce all` said when it was last recorded; the command fails when a verdict
changes.

| verdict | means |
|---|---|
| reproduced | within the bound, which holds either way |
| differs | outside it, better or worse; the factor is given, and why as far as we know |
| refuted | a statement without exception, with a derivation or a run that is one |
| not testable | with what is missing |
| *ours* | a question that no paper asks: listed apart, never counted |

## Bounds

Fixed per kind of quantity before any run, in one file (`footfall_lab/papers/registered.toml`, digest `{digest}`) that also
holds the reading of every word and the set-up of every experiment. It changes only in commits of its own, with the
reason. Results carry its digest; verdicts that were given by other bounds are refused.

Its changes so far, and why:

| change | reason |
|---|---|
| first: bounds, readings and set-ups of every claim | the margin of a quarter that one side had before holds both ways, and words are read once for all papers; set-ups are the papers' own where printed, else set A, fixed before any comparison; nothing was run to choose them |
| the survey's sentences on spines, Rulkov's neurons that pace a walk, DynaKat's reflex | they were not testable for want of spines that are not posed by a servo, of a controller paced by neurons, of reflexes on legs of four joints; these exist now, and were registered before their runs |
| burrs behind belts, screw torques beside joint PD, filtered sensors, FABRIK as published | they were not testable for want of a belt with its own state and of a controller on the screw model, or not asked of the published algorithm; registered before their runs |

No bound of a claim that had been judged was changed.

| kind | of | bound | why |
|---|---|---|---|
{bounds}

A set-up is the paper's own where it prints one, else chosen beforehand; alternatives are shown in the reports, beside
the verdict and never instead.
"""  # noqa: E501


def main(results: Path) -> None:
    found = json.loads(results.read_text(encoding="utf-8"))["experiments"]
    digests = {experiment["bounds"] for experiment in found}
    if digests != {registration().digest} or {e["experiment"] for e in found} != set(registration().claims):
        sys.exit("these results are not of all experiments under the present registration: reproduce all first")
    parts = [(e["experiment"], e["title"], {c["id"]: c["verdict"] for c in e["claims"]}) for e in found]
    text = written(parts, registration().digest)
    FILE.write_text(text, encoding="utf-8")
    said = sentence(read(text).counts())
    (DOCS / "research" / "verdicts.md").write_text(page(found, said), encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    README.write_text(re.sub(r"Of \d+ published claims [^.]*\.", said, readme), encoding="utf-8")


def page(found: list[dict[str, Any]], said: str) -> str:
    bounds = "\n".join(
        f"| {b.kind.replace('_', ' ')} | {b.of} | {b.words()} | {b.why} |" for b in registration().bounds.values()
    )
    text = HEAD.format(sentence=said, digest=registration().digest, bounds=bounds)
    for experiment in found:
        setup = registration().setups[experiment["experiment"]]
        text += f"\n## {experiment['title']}\n\nRegistered: "
        text += ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in setup.items()) + ".\n"
        for ours in (False, True):
            claims = [claim for claim in experiment["claims"] if claim["ours"] == ours]
            if claims:
                text += _table(experiment["experiment"], claims, ours)
    return text


def _table(name: str, claims: list[dict[str, Any]], ours: bool) -> str:
    if ours:
        rows = [
            f"| {c['claim']} | {_value(c, 'measured')} | {'yes' if c['verdict'] == 'reproduced' else 'no'} |"
            for c in claims
        ]
        return "\nQuestions of our own:\n\n| question | measured | answer |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    rows = []
    for c in claims:
        entry = registration().entry(name, c["id"])
        judged = f"missing: {entry.missing}" if entry.missing else asked(entry)
        factor = ""
        if c["verdict"] == "differs" and all(isinstance(c[key], float) for key in ("printed", "measured")):
            factor = f", {times(c['measured'] / c['printed'])} the printed"
        rows.append(
            f"| {c['claim']} | {_value(c, 'printed')} | {_value(c, 'measured')} | {judged} |"
            f" **{c['verdict'].replace('_', ' ')}**{factor} |"
        )
    head = "\n| claim | printed | measured | judged by | verdict |\n|---|---|---|---|---|\n"
    return head + "\n".join(row.replace("\\", "") for row in rows) + "\n" + _reasons(claims)


def _reasons(claims: list[dict[str, Any]]) -> str:
    """Why claims differ or are refuted, as far as known: the notes that their experiments gave."""
    lines = [
        f"- *{c['claim']}* ({c['verdict']}): {' '.join(c['note'].split())}"
        for c in claims
        if c["verdict"] in ("differs", "refuted")
    ]
    return "\nWhy, as far as known:\n\n" + "\n".join(lines) + "\n" if lines else ""


def _value(claim: dict[str, Any], key: str) -> str:
    value = claim[key]
    unit = (
        f" {claim['unit']}" if claim["unit"] and isinstance(value, (int, float)) and not isinstance(value, bool) else ""
    )
    return shown(value).replace("|", "∥") + unit.replace("|", "∥")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
