"""What is registered before the runs, what is printed in the papers, and what is on record agree."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest

from footfall.errors import InputError
from footfall_lab.papers import names, recorded, registered
from footfall_lab.papers.claims import Outcome, assess, sentence
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
    from footfall.contact.compliant import Compliant
    from footfall_lab.papers.depaula2024.runs import Job, simulation

    setup, printed = registered.setup("depaula2024"), [fact["value"] for fact in facts("depaula2024")]
    for key in ("gravity", "dt", "damping", "kp", "kd", "friction_coefficient", "mujoco_friction"):
        assert setup[key] in printed, key
    assert 1e3 * setup["stiffness"] in printed  # N/m, of a law with the penetration in mm
    sim = simulation(Job(scheme=setup["integrator"], choice=setup["gait_set"]))
    assert len(sim.robot.links) == 13
    assert sim.robot.rotors == "none"
    assert tuple(sim.gravity) == (0.0, 0.0, -9.807)
    assert sim.contact.friction == "per_axis"
    assert sim.contact.stiffness == Compliant.as_printed().stiffness
    first = simulation(Job(scheme="heun", choice="A", stiffness=setup["first_stiffness"]))
    assert first.contact.stiffness == pytest.approx(1e3 * sim.contact.stiffness)


def test_the_family_of_gaits_is_the_same_every_time_and_keeps_to_its_ranges() -> None:
    from footfall_lab.papers.depaula2024.runs import KNEES, gait_of

    ranges = registered.setup("depaula2024")["family"]
    drawn = [gait_of(f"family {k}") for k in range(30)]
    assert drawn == [gait_of(f"family {k}") for k in range(30)]
    for key in ("height", "period", "duty", "hip_height", "depth"):
        values = [getattr(gait, key) for gait in drawn]
        assert ranges[key][0] <= min(values) < max(values) <= ranges[key][1]
    strides = [0.5 * gait.stride for gait in drawn]
    assert ranges["half_stride"][0] <= min(strides) < max(strides) <= ranges["half_stride"][1]
    assert {gait.knees for gait in drawn} == {KNEES[name] for name in ranges["knees"]}


def test_every_numbered_equation_is_counted_once() -> None:
    known = registration().claims
    for name, last, others in (
        ("depaula2024", 44, {"(A1)", "(A2)", "(A3)", "(B1)", "(B2)", "(B3)", "tau_e", "F_i^j"}),
        ("adak2021", 37, set()),
        ("yan2021", 25, set()),
    ):
        counted = [number for entry in known[name].values() for number in entry.equations]
        assert len(counted) == len(set(counted))
        assert set(counted) == {f"({k})" for k in range(1, last + 1)} | others


def test_displayed_equations_without_numbers_are_counted() -> None:
    known = registration().claims
    counts = {name: sum(e.weight for e in known[name].values() if e.table == "equation") for name in known}
    assert counts["floating_base"] == 16
    assert counts["dynakat"] == 7  # of sections II-A and III-G


def test_no_bound_asks_for_what_cannot_be() -> None:
    bounds = registration().bounds
    assert bounds["nearly_unlimited"].value <= 180.0  # a link whose foot is on the ground
    for kind in ("very_similar", "similar"):
        assert bounds[kind].value <= 1.0
    for kind in ("almost_always", "large_amounts"):
        assert bounds[kind].value <= 100.0


def test_every_experiment_is_registered_and_on_record() -> None:
    assert set(registration().claims) == set(registration().setups) == set(names())
    kept = recorded.record()
    assert {name: set(found) for name, found in kept.verdicts.items()} == {
        name: set(entries) for name, entries in registration().claims.items()
    }


def test_the_record_was_judged_by_the_present_bounds() -> None:
    assert recorded.record().bounds == registration().digests


def kept(**verdicts: str) -> recorded.Record:
    return recorded.Record(registration().digests, {"adak2021": verdicts}, {})  # type: ignore[arg-type]


def test_other_bounds_have_another_digest_and_are_refused() -> None:
    text, known = registered.FILE.read_bytes(), registration().digests
    other = registered.read(text.replace(b"value = 1.05\n", b"value = 1.5\n")).digests
    assert other["yan2021"] != known["yan2021"]
    assert other["depaula2024"] == known["depaula2024"]  # which has no figure to be met
    assert registered.read(text.replace(b"\n", b"\r\n")).digests == known
    outcome = Outcome(experiment="adak2021", title="title", summary="", claims=(assess("adak2021", "dof_20", 20.0),))
    assert recorded.changes(outcome, kept(dof_20="holds")) == []
    (said,) = recorded.changes(dataclasses.replace(outcome, bounds="other"), kept(dof_20="holds"))
    assert "record them again" in said


def test_a_changed_a_new_and_a_lost_verdict_are_all_told() -> None:
    claims = (assess("adak2021", "dof_20", 20.0), assess("adak2021", "legs_carry_quarter_of_mass", 0.25))
    outcome = Outcome(experiment="adak2021", title="title", summary="", claims=claims)
    assert recorded.changes(outcome, kept(dof_20="does_not_hold", gone="holds")) == [
        "dof_20 is assessed as holds, on record is does_not_hold: printed 20, measured 20.0",
        "legs_carry_quarter_of_mass is assessed as not_testable and has no recorded verdict",
        "gone is recorded and was not assessed",
    ]


@pytest.mark.parametrize(
    ("before", "after", "match"),
    [
        (b'kind = "open"', b'kind = "opn"', "unknown kind 'opn'"),
        (b'table = "survey"', b'table = "surveys"', "unknown table 'surveys'"),
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
    known = recorded.record()
    parts = [(name, "title", verdicts) for name, verdicts in known.verdicts.items()]
    assert recorded.read(recorded.written(parts, known.bounds, known.summary)) == known


def test_readme_and_docs_say_what_the_record_says() -> None:
    known = recorded.record()
    page = (ROOT / "docs" / "research" / "verdicts.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert sentence(known.counts()).replace("Of", "of", 1) in page
    for name in {name for name, _ in ENTRIES}:
        assert f"- {known.summary[name]}\n" in readme
        assert f"- {known.summary[name]}.\n" in page
    for bound in registration().bounds.values():
        assert f"| {bound.of} | {bound.words()} | {bound.why} |" in page
    for name, entry in ENTRIES:
        rows = [row for row in page.splitlines() if f"| {entry.claim} |" in row]
        verdict = known.verdicts[name][entry.id]
        assert verdict == "time" or any(f"**{verdict.replace('_', ' ')}**" in row for row in rows), entry.id
        assert rows
