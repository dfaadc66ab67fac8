"""``footfall demo``: ten seconds of trot beside MuJoCo, as in de Paula et al. 2024."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from footfall.cli.common import JsonOption, examples, print_json
from footfall_lab.cli.reproduce import measure, show, verdict

NAME = "demo"
EXAMPLES = examples("footfall demo", "footfall demo --out reports/demo --json")


def command(
    out: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path("out/demo"),
    as_json: JsonOption = False,
) -> None:
    """Run 10 s of trot in footfall and in MuJoCo; print a table and write one self-contained HTML report.

    The same claims as ``footfall reproduce depaula2024``, with fewer variants beside them, and how many of them are
    reproduced, differ, are refuted or cannot be tested. Exit status 1 when a verdict is not the one on record.
    """
    from footfall_lab.papers.claims import counts

    again = shlex.join(["footfall", "demo", "--out", str(out)])
    outcomes, written = measure(("depaula2024",), out, again, quick=True)
    if as_json:
        claims = outcomes[0].claims
        numbers = {"counts": counts(claims), "claims": [claim.to_json() for claim in claims]}
        print_json({"report": str(written.report), **numbers})
    else:
        show(outcomes, written)
    verdict(outcomes)
