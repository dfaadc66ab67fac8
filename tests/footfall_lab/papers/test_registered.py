"""What is registered before the runs, what is printed in the papers, and what is on record agree."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest

from footfall.errors import InputError
from footfall_lab.papers import names, recorded, registered
from footfall_lab.papers.claims import Outcome, judge, sentence
from footfall_lab.papers.registered import registration

ROOT = Path(__file__).parents[3]
PAPERS = ROOT / "tests" / "footfall_lab" / "printed"
ENTRIES = [
    (name, entry) for name, entries in registration().claims.items() for entry in entries.values() if not entry.ours
]


def facts(name: str) -> list[dict]:
    return tomllib.loads((PAPERS / f"{name}.toml").read_text(encoding="utf-8"))["fact"]


@pytest.mark.parametrize(("name", "entry"), ENTRIES, ids=lambda x: getattr(x, "id", x))
def test_no_printed_value_is_absent_from_the_facts_of_its_paper(name: str, entry: registered.Entry) -> None:
    assert entry.printed in [fact["value"] for fact in facts(name)]


def test_facts_say_where_they_are_printed_and_ratios_of_what() -> None:
    papers = {path.stem for path in PAPERS.glob("*.toml")}
    assert papers == {name for name, _ in ENTRIES}
    for name in papers:
        for fact in facts(name):
            assert fact["section"]
            assert fact["label"]
            if "from" in fact:
                above, below = fact["from"]
                assert {above, below} <= {other["value"] for other in facts(name)}
                assert fact["value"] == pytest.approx(above / below, rel=1e-3)


def test_the_setup_of_de_paula_is_what_the_paper_prints() -> None:
    from footfall_lab.papers.depaula2024.runs import Job, simulation

    setup, printed = registered.setup("depaula2024"), [fact["value"] for fact in facts("depaula2024")]
    for key in ("gravity", "dt", "damping", "kp", "kd", "friction_coefficient", "mujoco_friction"):
        assert setup[key] in printed, key
    sim = simulation(Job(scheme=setup["integrator"], choice=setup["gait_set"]))
    assert len(sim.robot.links) == 13
    assert sim.robot.rotors == "none"
    assert tuple(sim.gravity) == (0.0, 0.0, -9.807)
    assert sim.contact.friction == "per_axis"


def test_every_experiment_is_registered_and_on_record() -> None:
    assert set(registration().claims) == set(registration().setups) == set(names())
    kept = recorded.record()
    assert {name: set(found) for name, found in kept.verdicts.items()} == {
        name: set(entries) for name, entries in registration().claims.items()
    }


def test_the_record_was_judged_by_the_present_bounds() -> None:
    assert recorded.record().bounds == registration().digest


def test_other_bounds_have_another_digest_and_are_refused() -> None:
    text = registered.FILE.read_bytes()
    other = registered.read(text.replace(b"value = 1.25", b"value = 1.5"))
    assert other.digest != registration().digest
    assert registered.read(text.replace(b"\n", b"\r\n")).digest == registration().digest
    claim = judge("adak2021", "dof_20", 20.0)
    kept = recorded.Record(registration().digest, {"adak2021": {"dof_20": "reproduced"}})
    outcome = Outcome(experiment="adak2021", title="title", summary="", claims=(claim,))
    assert recorded.changes(outcome, kept) == []
    (said,) = recorded.changes(dataclasses.replace(outcome, bounds=other.digest), kept)
    assert "record them again" in said


def test_a_changed_a_new_and_a_lost_verdict_are_all_told() -> None:
    kept = recorded.Record(registration().digest, {"adak2021": {"dof_20": "differs", "gone": "reproduced"}})
    claims = (judge("adak2021", "dof_20", 20.0), judge("adak2021", "legs_carry_quarter_of_mass", 0.25))
    said = recorded.changes(Outcome(experiment="adak2021", title="title", summary="", claims=claims), kept)
    assert said == [
        "dof_20 is judged reproduced, on record is differs: printed 20, measured 20.0",
        "legs_carry_quarter_of_mass is judged not_testable and has no verdict on record",
        "gone is on record and was not judged",
    ]


@pytest.mark.parametrize(
    ("before", "after", "match"),
    [
        (b'kind = "error"', b'kind = "eror"', "unknown kind 'eror'"),
        (b'rule = "factor"', b'rule = "twice"', "unknown rule 'twice'"),
        (b"printed = 63.0\n", b"", "must have a printed value or be our own question"),
        (b'reading = "to 1 mm"\n', b"", "its reading must say when"),
    ],
)
def test_a_registration_that_leaves_something_open_is_refused(before: bytes, after: bytes, match: str) -> None:
    text = registered.FILE.read_bytes()
    assert before in text
    with pytest.raises(InputError, match=match):
        registered.read(text.replace(before, after, 1))


def test_a_record_is_written_as_it_is_read() -> None:
    kept = recorded.record()
    parts = [(name, "title", verdicts) for name, verdicts in kept.verdicts.items()]
    assert recorded.read(recorded.written(parts, kept.bounds)) == kept


def test_readme_and_docs_say_what_the_record_says() -> None:
    said = sentence(recorded.record().counts())
    page = (ROOT / "docs" / "research" / "verdicts.md").read_text(encoding="utf-8")
    assert said in re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert said in page
    assert f"`{registration().digest}`" in page
    for bound in registration().bounds.values():
        assert f"| {bound.of} | {bound.words()} | {bound.why} |" in page
    for name, entry in ENTRIES:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {entry.claim} |")]
        assert f"**{recorded.record().verdicts[name][entry.id].replace('_', ' ')}**" in row
