"""Published benchmarks done again: the test problems, balls and boxes, ANYmal, and the page that tells of them."""

from __future__ import annotations

import numpy as np
import pytest

from footfall.contact.complementarity import Complementarity
from footfall.contact.coulomb import residuals
from footfall_lab.papers.claims import Outcome, Table, beside_others
from footfall_lab.reality import anymal, balls, problems, study


@pytest.mark.parametrize("name", problems.CONTACT)
def test_contactbench_is_solved_to_what_a_simulation_promises(name):
    problem = problems.contact_problem(name)
    found = Complementarity()._solve(problem, np.zeros(3 * problem.contacts), np.zeros(problem.contacts))
    assert residuals(problem, found.impulses).max() < 1e-8
    V = problem.V_free + problem.A @ found.impulses
    assert found.impulses @ V < 1e-9  # contact gives no energy
    normals, speeds = found.impulses[2::3], V[2::3]
    assert normals.min() > -1e-9
    assert speeds.min() > -1e-8
    assert np.abs(normals * speeds).max() < 1e-9


@pytest.mark.parametrize("name", ["QUADCMPC3", pytest.param("QUADCMPC4", marks=pytest.mark.slow)])
def test_quadruped_programs_are_solved_to_their_optimality(name):
    pytest.importorskip("daqp")
    rows = problems.program_rows([name])
    assert [row.solver for row in rows] == ["nptrace.solve", "DAQP"]
    for row in rows:
        assert row.primal < 2e-6, row
        assert row.dual < 1e-6, row
        assert row.gap < 1e-4, row


def test_optimality_sees_a_solution_that_is_none():
    content = problems._archive("quadcmpc4")
    content = {**content, **problems._with_bounds(content)}
    feasible, *_ = np.linalg.lstsq(content["A"], content["b"], rcond=None)
    primal, dual, gap = problems.optimality(content, feasible)
    assert max(primal, dual, gap) > 1e-3


@pytest.mark.parametrize(("law", "most"), [("footfall, compliant", 1e-6), ("footfall, complementarity", 1e-16)])
def test_boxes_slide_and_balls_roll_as_the_closed_forms_say(law, most):
    t, push = 1e-3 * np.arange(600), np.zeros(6)
    push[3:] = balls.FORCE * balls.AT
    slid = balls._rows(balls.box(), balls.LAWS[law], balls.FRICTION, balls.at(0.05), push, 1e-3, 600)
    assert balls._square(slid[:, 1:3], balls.sliding(t)[:, :2]) < most
    start = balls.at(0.1, balls.SPEED)
    rolled = balls._rows(balls.ball(1.0, 0.1), balls.LAWS[law], balls.FRICTION, start, np.zeros(6), 1e-3, 600)
    assert balls._square(rolled[:, 1:3], balls.rolling(t)[:, :2]) < most
    assert rolled[-1, 1] == pytest.approx(5.0 / 7.0 * balls.SPEED, rel=1e-3)


def test_a_lossless_bounce_keeps_the_energy_of_its_steps():
    """At the ends of steps it swings by g dt V / 2, and that does not grow in twenty seconds."""
    dt, elastic = 4e-3, Complementarity(restitution=1.0)
    rows = balls._rows(balls.ball(balls.MASS, 0.1), elastic, 0.0, balls.at(balls.DROP), np.zeros(6), dt, 5000)
    height, speed = rows[:, 0] - 0.1, rows[:, 3]
    kept = 9.81 * height + 0.5 * speed**2 - 0.5 * 9.81 * dt * speed
    assert np.ptp(kept) / kept[0] < 1e-6
    assert np.abs(speed).max() > 9.0


def test_anymal_in_flight_keeps_its_energy_by_rk4_and_gains_with_dt_squared_by_default():
    robot = anymal.anymal()
    exact = anymal.Flight(robot, "rk4")
    assert exact.error(0.004) < 1e-10
    plain = anymal.Flight(robot, "linearly_implicit")
    assert plain.error(0.001) / plain.error(0.002) == pytest.approx(0.25, rel=0.5)  # squares of errors of first order


def test_the_page_has_every_claim_and_every_table():
    claims = (
        beside_others("a", "Cube: first", 1.0, 2.0, True, "mm", "a note"),
        beside_others("b", "another", 3.0, 4.5, True),
    )
    tables = tuple(Table(title, ("x", "y"), (("1", "2"),)) for title in ("Cube tosses", "Go2 motors", "Creep"))
    text = study.page(Outcome(experiment="reality", title="t", summary="s", claims=claims, tables=tables))
    for word in (
        "Cube: first",
        "**2**",
        "**4.5**",
        "**Cube tosses**",
        "**Go2 motors**",
        "**Creep**",
        "# Validation against real-world data",
    ):
        assert word in text, word
    assert (
        text.index("**Cube tosses**") < text.index("## Motors") < text.index("**Go2 motors**") < text.index("**Creep**")
    )
    assert "<!--" not in text
