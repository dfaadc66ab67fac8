"""The whole experiment once, with fewer variants: ten seconds in both simulators, every claim, the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from on_record import changed, unjudged
from whole_page import stands_alone

from footfall_lab import papers as experiments
from footfall_lab import report
from footfall_lab.papers.claims import line
from footfall_lab.papers.depaula2024.runs import DURATION
from footfall_lab.papers.registered import registration


@pytest.mark.slow
def test_claims_are_judged_as_recorded_and_the_report_stands_alone(tmp_path: Path) -> None:
    outcome = experiments.run("depaula2024", quick=True)
    claims = {claim.id: claim for claim in outcome.claims}
    assert unjudged(outcome) == set()
    assert changed(outcome) == []
    assert all(claim.note for claim in outcome.claims)
    assert {claim.verdict for claim in outcome.claims if claim.id.startswith("erratum_")} == {"erratum"}
    assert claims["explicit_dt_1e-4_converged"].ours
    assert "mm explicit" in claims["explicit_dt_1e-4_converged"].note
    assert float(claims["stiff_mujoco_agrees"].measured or 99) < 30.0  # [mm] along x
    json.dumps(outcome.to_json(), allow_nan=False)

    # what decides is set A on the paper's 13 bodies by Heun's method; all else stands beside it
    decided = outcome.tables[0].rows[1]
    assert decided[:3] == ("10", "Heun, 10 N s/m", "13 bodies, friction per axis")
    assert float(decided[3]) == round(float(claims["trunk_position_mae_x"].measured or 0))
    # what was registered first is the second column of every claim that K touches, and never counted
    first = claims["trunk_position_mae_x"].as_first_registered
    assert first is not None
    assert float(first.measured or 0) > 500.0
    for id in ("normal_force_mae", "fig5", "fig6", "higher_peak_forces_than_mujoco", "trots_forward_upright_10s"):
        assert claims[id].as_first_registered is not None
    # numbers of the unpublished gait are open, sentences have their share
    assert claims["trunk_euler_mae_x"].verdict == "open"
    assert claims["fig6"].spread is not None
    assert claims["fig6"].spread.runs == 3
    assert DURATION == 10.0

    written = report.write([outcome], tmp_path / "deep" / "folder", "footfall reproduce depaula2024", took=1.0)
    text = written.report.read_text(encoding="utf-8")
    assert len(outcome.figures) == 5
    stands_alone(text, figures=5)
    assert all(id in text for id in claims)
    assert line("depaula2024", outcome.claims) in text
    assert "As first registered" in text
    assert registration().digests["depaula2024"] in text
    kept = json.loads((written.report.parent / "results.json").read_text(encoding="utf-8"))
    assert kept["experiments"][0]["bounds"] == registration().digests["depaula2024"]
    assert len(kept["experiments"][0]["claims"]) == len(claims)
    assert "footfall reproduce depaula2024" in text
    assert all(path.stat().st_size > 10_000 for path in written.figures["depaula2024"])
    assert not list(written.report.parent.glob(".*"))
