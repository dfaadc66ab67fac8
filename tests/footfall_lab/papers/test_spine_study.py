"""The spine study: what each kind of spine does, what its claims are made of, and what it refuses."""

from __future__ import annotations

import pytest

import footfall as ff
from footfall.control.joint.spine import Spine
from footfall.errors import FootfallError
from footfall.robot.model.spine import with_spine
from footfall_lab.papers.adak2021 import spine_claims, spine_reach
from footfall_lab.papers.adak2021.spine_claims import RIGID, Spines, Starts
from footfall_lab.papers.adak2021.spine_study import FIGURES, SPEEDS, SpineCase, case, leg_joints, measured
from footfall_lab.papers.claims import Claim
from footfall_lab.papers.registered import setup


@pytest.fixture(scope="module")
def few() -> dict:
    """A slow bound, a machine each of springs and brakes, and of motors."""
    spines = [
        RIGID,
        *(SpineCase(kind, 800.0, swing=0.0) for kind in ("passive", "lockable")),
        SpineCase("series_elastic", 800.0),
    ]
    found = measured(spines, {"bound": (1.0,)})
    return {case.kind: row for (case, *_), row in found.items()}


@pytest.mark.slow
def test_every_kind_bounds_at_the_commanded_speed_and_bends_as_it_is_made(few: dict) -> None:
    for kind, row in few.items():
        assert set(row) == {"survived", *FIGURES}
        assert row["survived"] == 1.0, kind
        assert row["speed"] == pytest.approx(1.0, rel=0.1)
        assert row["leg_work"] <= row["cost_of_transport"]
    assert few["rigid"]["bend"] < 1e-6 < 0.01 < few["passive"]["bend"]
    assert few["series_elastic"]["bend"] > 0.05  # it swings by 0.12 rad


@pytest.mark.slow
def test_springs_and_brakes_cost_nothing_and_motors_do(few: dict) -> None:
    for kind in ("rigid", "passive", "lockable"):
        assert few[kind]["cost_of_transport"] == pytest.approx(few[kind]["leg_work"], rel=1e-6)
    assert few["series_elastic"]["cost_of_transport"] > 1.005 * few["series_elastic"]["leg_work"]


def test_the_study_is_what_is_registered() -> None:
    fixed = setup("adak2021")
    assert {gait: list(speeds) for gait, speeds in SPEEDS.items()} == fixed["spine_speeds"]
    kinds = [case.kind for case in spine_claims.cases()]
    springs, phases = len(fixed["spine_stiffness"]), len(fixed["spine_phases"])
    counted = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    assert counted == {
        "rigid": 1,
        "passive": springs,
        "lockable": springs,
        "actuated": phases,
        "series_elastic": springs * phases,
    }


def made_up(cost: dict[str, float], falls: str = "") -> Spines:
    """Runs in which a kind costs what is given, and one of them falls."""
    mu = setup("adak2021")["friction"]
    found = {}
    for spine in spine_claims.cases():
        value = cost.get(spine.kind, 1.0) * (1.0 + 1e-3 * spine.stiffness / 800.0)
        row = {"survived": float(spine.kind != falls), **dict.fromkeys(FIGURES, float("nan"))}
        if spine.kind != falls:
            row |= dict.fromkeys(FIGURES, value)
        speeds = {**SPEEDS, "bound": setup("adak2021")["spine_bound_speeds"]}
        found |= {(spine, gait, v, mu): row for gait, values in speeds.items() for v in values}
    return Spines(found)


def judged(*starts: Spines) -> dict[str, Claim]:
    return {claim.id: claim for claim in Starts(list(starts)).claims()}


def test_claims_follow_the_runs_either_way() -> None:
    half = judged(made_up({"passive": 0.5, "series_elastic": 0.4}))
    assert half["flexible_spine_saves_energy"].verdict == half["spine_reduces_ground_forces"].verdict == "shown"
    assert half["series_elastic_spine_saves_most"].verdict == "shown"  # four fifths of the passive one
    assert half["spine_raises_top_speed"].verdict == "not_shown"
    assert judged(made_up({"passive": 0.1}))["flexible_spine_saves_energy"].verdict == "not_shown"  # two-sided
    fell = judged(made_up({"passive": 0.5}, falls="passive"))
    for id in ("flexible_spine_saves_energy", "symmetrical_gaits_bend_less"):  # no number: nothing to assess
        assert fell[id].verdict == "not_testable"
        assert fell[id].measured is None
        assert "without a fall" in fell[id].note
        assert "falls" in fell[id].note
    assert fell["elastic_spine_in_many_gaits"].verdict == "not_shown"
    still = judged(made_up({"actuated": 0.5}, falls="actuated"))
    assert still["actuated_spine_bounds_stably"].verdict == "not_shown"


def test_a_sentence_is_shown_if_it_holds_from_every_start() -> None:
    good, bad, fallen = made_up({"passive": 0.5}), made_up({}), made_up({"passive": 0.5}, falls="passive")
    for starts, verdict, share in (((good, good), "shown", 1.0), ((good, bad), "not_shown", 0.5)):
        claim = judged(*starts)["flexible_spine_saves_energy"]
        assert claim.verdict == verdict
        assert claim.spread is not None
        assert claim.spread.share == share
    claim = judged(good, fallen)["flexible_spine_saves_energy"]
    assert claim.verdict == "not_shown"
    assert "1 of the starts" in claim.note
    assert claim.measured == pytest.approx(0.5, rel=1e-2)


def test_starts_differ_in_the_legs_alone_and_alike_for_every_spine() -> None:
    assert len(leg_joints(ff.load("spined"))) == 12
    spined = with_spine(ff.load("spined"), "series_elastic")
    assert leg_joints(spined) == leg_joints(ff.load("spined"))


def test_what_a_spine_does_for_a_foot_is_nothing_without_its_pitch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spine_reach, "STEPS", (5, 11, 11, 3))
    robot = ff.load("spined")
    assert {claim.verdict for claim in spine_reach.claims(robot)} == {"shown"}
    monkeypatch.setattr(spine_reach, "SPINE", "spine_roll")  # which the fore legs do not hang on
    assert {claim.verdict for claim in spine_reach.claims(robot)} == {"not_shown"}


@pytest.mark.parametrize(
    "ask",
    [
        lambda: case("trott"),
        lambda: case("trot", robot="mini_cheetah"),
        lambda: case("trot", "stiff"),
        lambda: case("trot", "passive", -1.0),
        lambda: case("trot", "actuated", 800.0, swing=float("nan")),
        lambda: ff.Simulation(ff.load("mini_cheetah"), Spine(inner=ff.control.JointPD.tuned("mini_cheetah"))),
    ],
)
def test_what_no_spine_can_do_is_refused(ask):
    with pytest.raises(FootfallError):
        ask()
