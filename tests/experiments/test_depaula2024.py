"""The whole experiment once, with fewer variants: ten seconds in both simulators, every claim, the report."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

from on_record import changed, unjudged

from footfall import experiments, report
from footfall.experiments.claims import counts, sentence
from footfall.experiments.depaula2024.trot_runs import DURATION
from footfall.experiments.registered import registration

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Checks that tags close in order, and collects what a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href", "data", "action", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_claims_are_judged_as_recorded_and_the_report_stands_alone(tmp_path: Path) -> None:
    outcome = experiments.run("depaula2024", quick=True)
    claims = {claim.id: claim for claim in outcome.claims}
    assert unjudged(outcome) == set()
    assert changed(outcome) == []
    assert all(claim.note for claim in outcome.claims)
    assert claims["explicit_dt_1e-4_converged"].ours
    assert "mm explicit" in claims["explicit_dt_1e-4_converged"].note
    assert float(claims["stiff_mujoco_agrees"].measured or 99) < 30.0  # [mm] along x
    json.dumps(outcome.to_json(), allow_nan=False)

    # what decides is set A on the paper's 13 bodies by Heun's method; all else stands beside it
    decided = outcome.tables[0].rows[1]
    assert decided[:3] == ("A", "Heun, 10 N s/m", "13 bodies, friction per axis")
    assert float(decided[3]) == round(float(claims["trunk_position_mae_x"].measured or 0))
    assert len(outcome.tables[0].rows) == 10
    assert DURATION == 10.0

    written = report.write([outcome], tmp_path / "deep" / "folder", "footfall reproduce depaula2024", took=1.0)
    text = written.report.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert "script" not in page.tags
    assert "url(" not in text
    assert "@import" not in text
    assert page.tags.count("img") == len(outcome.figures) == 4
    assert all(id in text for id in claims)
    assert sentence(counts(outcome.claims)) in text
    assert "within 1.25 times, either way" in text
    assert registration().digest in text
    kept = json.loads((written.report.parent / "results.json").read_text(encoding="utf-8"))
    assert kept["experiments"][0]["bounds"] == registration().digest
    assert len(kept["experiments"][0]["claims"]) == len(claims)
    assert "footfall reproduce depaula2024" in text
    assert str(Path.home()) not in text
    assert all(path.stat().st_size > 10_000 for path in written.figures["depaula2024"])
    assert not list(written.report.parent.glob(".*"))
