"""The whole experiment once, with fewer variants: ten seconds in both simulators, every claim, the report."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

from footfall import experiments, report
from footfall.experiments.depaula2024 import experiment as depaula2024
from footfall.experiments.depaula2024.trot_runs import DURATION

IDS = {
    "trunk_position_mae_x", "trunk_position_mae_y", "trunk_position_mae_z", "trunk_euler_mae_z", "trunk_euler_mae_y",
    "trunk_euler_mae_x", "normal_force_mae", "contact_activation_matches", "higher_peak_forces_than_mujoco",
    "wall_time_10s", "mujoco_wall_time_10s", "explicit_dt_1e-4_converged", "fig5", "fig6",
}  # fmt: skip
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


def test_no_claim_is_left_unexplained_and_the_report_stands_alone(tmp_path: Path) -> None:
    outcome = experiments.run("depaula2024", quick=True)
    claims = {claim.id: claim for claim in outcome.claims}
    assert set(claims) >= IDS
    assert [c.id for c in outcome.claims if c.verdict == "not_reproduced"] == []
    assert claims["explicit_dt_1e-4_converged"].verdict == "refuted"
    assert "mm explicit" in claims["explicit_dt_1e-4_converged"].note
    assert float(claims["trots_forward_upright_10s"].measured or 0) > 0.1  # the slower of both simulators
    assert float(claims["stiff_mujoco_agrees"].measured or 99) < 30.0  # [mm] along x
    assert all(claim.note for claim in outcome.claims)
    json.dumps(outcome.to_json(), allow_nan=False)

    # the deciding set's verdicts hang on no reading
    within = {row[1]: row[-1] for row in outcome.tables[0].rows if row[0] == depaula2024.CHOICE}
    assert len(within) == 4
    assert set(within.values()) == {"yes"}
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
    assert all(id in text for id in IDS)
    assert "footfall reproduce depaula2024" in text
    assert str(Path.home()) not in text
    assert all(path.stat().st_size > 10_000 for path in written.figures["depaula2024"])
    assert not list(written.report.parent.glob(".*"))
