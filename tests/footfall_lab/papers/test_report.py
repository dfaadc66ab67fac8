"""A report of a made-up experiment: one page that needs nothing beside it, the numbers, and the figures."""

from __future__ import annotations

import json
from pathlib import Path

from whole_page import stands_alone

from footfall.recording import Recording
from footfall_lab import report
from footfall_lab.papers.claims import Claim, Outcome, line
from footfall_lab.papers.registered import registration


def test_a_report_stands_alone_and_holds_all_that_was_found(rec: Recording, tmp_path: Path) -> None:
    claims = (
        Claim(
            id="stands",
            claim="the robot stands",
            printed="yes",
            measured=True,
            unit="",
            verdict="holds",
            note="for 0.5 s",
        ),
        Claim(
            id="speed",
            claim="it goes at 0.5 m/s",
            printed=0.5,
            measured=0.3,
            unit="m/s",
            verdict="does_not_hold",
            note="it <i>walks</i> & stops",
        ),
    )
    figures = {"trunk": rec.plot("trunk"), "torque": rec.plot("torque")}
    words = {"trunk": "The trunk.", "torque": "Torques."}
    outcome = Outcome(
        experiment="dynakat",
        title="A made-up robot",
        summary="It was asked. It does.",
        claims=claims,
        figures=figures,
        captions=words,
        tables=(),
        settings={"robot": "made up"},
        replays={},
    )
    written = report.write([outcome], tmp_path / "deep" / "folder", "footfall reproduce made_up", took=1.0)

    text = written.report.read_text(encoding="utf-8")
    stands_alone(text, figures=2)
    assert all(claim.id in text for claim in claims)
    assert "it &lt;i&gt;walks&lt;/i&gt; &amp; stops" in text
    assert line("dynakat", claims) in text
    assert registration().digests["dynakat"] in text
    assert "footfall reproduce made_up" in text

    kept = json.loads((written.report.parent / "results.json").read_text(encoding="utf-8"))["experiments"][0]
    assert kept["bounds"] == registration().digests["dynakat"]
    assert [claim["id"] for claim in kept["claims"]] == ["stands", "speed"]
    assert all(path.stat().st_size > 10_000 for path in written.figures["dynakat"])
    assert not list(written.report.parent.glob(".*"))
