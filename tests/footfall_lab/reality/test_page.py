"""The page on reality says what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from footfall_lab.papers.claims import shown

DOCS = Path(__file__).parents[3] / "docs"


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def test_tables_of_the_page_are_those_that_were_measured():
    lines = (DOCS / "research" / "real-data.md").read_text().splitlines()
    tables = json.loads((DOCS / "measured" / "reality.json").read_text())["tables"]
    assert len(tables) > 6
    for title, rows in tables.items():
        at = lines.index(f"**{title}**") + 2
        assert cells(lines[at]) == rows[0], title
        for k, row in enumerate(rows[1:]):
            assert cells(lines[at + 2 + k]) == [cell.strip() for cell in row], title
        assert not lines[at + 1 + len(rows)].startswith("|"), title


def test_claims_of_the_page_are_those_that_were_measured():
    lines = (DOCS / "research" / "real-data.md").read_text().splitlines()
    claims = json.loads((DOCS / "measured" / "reality.json").read_text())["claims"]
    assert len(claims) > 6
    for claim in claims:
        line = next(line for line in lines if line.startswith(f"| {claim['claim']} |"))
        beside = claim.get("beside", claim["printed"])
        assert cells(line)[1:3] == [shown(beside), f"**{shown(claim['measured'])}**"], line


@pytest.mark.slow
def test_quick_study_ends_with_claims_tables_and_figures():
    pytest.importorskip("cma")
    from footfall_lab.reality import study

    outcome = study.run(quick=True)
    assert set(outcome.figures) == set(study.CAPTIONS)
    assert {claim.claim for claim in outcome.claims} >= {
        "A run is reproducible bit for bit: repeated, in a batch, among others"
    }
    assert study.page(outcome).startswith("# Validation against real-world data")
