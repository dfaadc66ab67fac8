"""Margins of a controller: edges between runs that pass and runs that do not."""

import numpy as np
import pytest

import footfall as ff
from footfall.analysis.margin_search import DelayedController, Margin, Margins, _between, _beyond, _speeds
from footfall.errors import FootfallError, InputError


@pytest.fixture(scope="module")
def cheetah():
    return ff.load("mini_cheetah")


def edge_at(limit, above):
    return lambda value: None if (value >= limit) == above else "it fell"


@pytest.mark.parametrize("limit", [0.03, 0.21, 0.6])
def test_bisection_finds_an_edge(limit):
    passed, failed, why = _between(edge_at(limit, True), 0.8, 0.0, 8, "")
    assert failed < limit <= passed
    assert passed - failed == pytest.approx(0.8 / 2**8)
    assert why == "it fell"
    passed, failed, _ = _beyond(edge_at(10 * limit, False), 1.0, 20.0, 8)
    assert passed < 10 * limit <= failed


def test_whole_numbers_are_found_exactly_and_nothing_beyond_the_most_is_tried():
    assert _beyond(edge_at(13, False), 1.0, 100.0, 20, whole=True)[:2] == (12.0, 13.0)
    assert _beyond(lambda value: None, 1.0, 30.0, 20)[:2] == (30.0, None)
    assert _beyond(lambda value: "no", 1.0, 30.0, 0, whole=True)[:2] == (0.0, 1.0)


def test_a_late_controller_sees_the_past_and_closes_its_loop_on_it(cheetah):
    hold = ff.control.Hold("stand", kp=40.0, kd=1.0)
    late, memory = DelayedController(hold, cheetah, 3), None
    memory = late.start(cheetah)
    q, v = cheetah.state("stand")
    torques = []
    for k in range(6):
        moved = q.copy()
        moved[7] += 0.1 * k
        asked, memory = late(k * 1e-3, cheetah, ff.Sensed(q=moved, v=v, forces=np.zeros((4, 3))), ff.Command(), memory)
        torques.append(asked.broadcast(cheetah.nj).torque[0])
    np.testing.assert_allclose(torques, [0, 0, 0, 0, -4.0, -8.0], atol=1e-12)


def test_a_speed_nearer_to_the_command_is_no_failure_and_a_lost_one_is():
    low, high = _speeds(0.33, ff.Command(forward=0.4))
    assert low < 0.24 < 0.43 < high < 0.51  # trots faster on less friction: 0.43 m/s of 0.4 at friction 0.425
    assert low > 0.22
    for command in (ff.Command(), ff.Command(forward=0.4, turn=0.5)):
        assert _speeds(0.33, command) == pytest.approx((0.7 * 0.33, 1.3 * 0.33))
    assert _speeds(0.0, ff.Command()) == (-0.05, 0.05)


def test_a_standing_robot_has_margins(cheetah):
    weight = 9.81 * cheetah.mass
    found = ff.margins(
        cheetah, ff.control.Hold("stand", 0.5 * weight, 0.012 * weight), duration=0.6, settle=0.2, halvings=2
    )
    assert found.friction.passed < 0.8
    assert found.payload.passed > 1.0
    assert 0 < found.delay.passed < 100
    assert found.speed == pytest.approx(0.0, abs=0.01)
    assert "payload" in str(found)
    assert found._repr_html_().count("<tr>") == 4


def test_bad_input_is_refused(cheetah):
    with pytest.raises(InputError, match="did you mean 'whole_body'"):
        ff.margins(cheetah, "whole_bdy")
    with pytest.raises(InputError, match="need a controller"):
        ff.margins(cheetah, 3.0)
    with pytest.raises(InputError, match="Robot"):
        ff.margins("mini_cheetah", "pd")
    with pytest.raises(InputError, match="halvings"):
        ff.margins(cheetah, "pd", halvings=0)
    with pytest.raises(InputError, match="beyond"):
        ff.margins(cheetah, "pd", duration=0.5, settle=1.0)
    limp = ff.control.Hold("stand", kp=0.0, kd=0.0)
    with pytest.raises(FootfallError, match="has no margins"):
        ff.margins(cheetah, limp, duration=1.0, settle=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "payload"), [("pd", 1.0), ("whole_body", 2.0)])
def test_margins_of_controllers_that_compile_and_of_those_that_do_not(cheetah, name, payload):
    found = ff.margins(cheetah, name, duration=2.5)
    assert found.friction.passed < 0.4
    # a trot by joint targets sags and scuffs under load: by every contact law 30 % of its speed is gone at 1.2 kg
    assert payload < found.payload.passed
    assert found.delay.passed >= 2.0
    for margin in (found.friction, found.payload, found.delay):
        assert margin.why


def test_a_page_shows_names_as_they_are_and_runs_none_of_them(cheetah):
    margin = Margin(name="friction", unit="", plain=0.8, passed=0.2, failed=0.1, why="at joint '<img src=x>'")
    found = Margins(
        robot="<script>alert(1)</script>",
        controller="Mine",
        speed=0.3,
        criterion="speed < 0.1",
        seed=0,
        runs=1,
        friction=margin,
        payload=margin,
        delay=margin,
    )
    page = found._repr_html_()
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
