"""The controller that solves the whole robot's optimal control: it follows commands, is pushed, and refuses."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.contact import Steps
from footfall.control.named import nmpc
from footfall.control.optimal.nmpc import height_under
from footfall.errors import InputError
from footfall.sim.runfile import options_of, plan
from footfall.sim.start import standing_start

ROBOT = ff.load("mini_cheetah")


def walked(gait, seconds, push=(), **command):
    controller = nmpc(gait)
    simulation = ff.Simulation(
        ROBOT, controller, start=standing_start(ROBOT, controller), command=ff.Command(**command), pushes=push
    )
    return simulation, simulation.run(seconds)


@pytest.mark.parametrize(("gait", "speed"), [("trot", 0.5), ("walk", 0.3)])
def test_it_walks_as_fast_as_it_is_told_and_stays_level(gait, speed):
    simulation, rec = walked(gait, 1.8, forward=speed)
    assert simulation.stopped is None
    assert not simulation.controller.log
    half = len(rec.q) // 2
    assert (rec.q[-1, 0] - rec.q[half, 0]) / (rec.time[-1] - rec.time[half]) == pytest.approx(speed, rel=0.15)
    assert np.abs(rec.q[:, 4:6]).max() < 0.03
    limits = np.array([actuator.torque_limit for actuator in ROBOT.actuators])
    assert (np.abs(rec.torque) <= limits + 1e-9).all()
    flying = rec.force[:, :, 2] < 1e-9
    assert flying.mean() > 0.1  # feet swing: it does not slide


@pytest.mark.slow
def test_a_push_of_one_metre_a_second_sideways_is_caught():
    push = [ff.Push(start=1.0, duration=0.1, force=(0.0, 10.0 * ROBOT.mass, 0.0))]
    simulation, rec = walked("trot", 3.0, push, forward=0.3)
    assert simulation.stopped is None
    assert np.abs(rec.v[900:1200, 4]).max() > 0.5  # it was felt
    assert np.abs(rec.v[-300:, 4]).max() < 0.3
    assert rec.q[:, 2].min() > 0.2


@pytest.mark.slow
def test_it_steps_onto_a_third_of_its_leg_when_it_sees_the_ground_and_not_blindly():
    third = 0.13
    ground = Steps.flight(third, tread=5.0, count=1, start=0.5)
    heights = []
    for controller in (nmpc("trot").over(ground), nmpc("trot")):
        simulation = ff.Simulation(
            ROBOT,
            controller,
            ground=ground,
            start=standing_start(ROBOT, controller),
            command=ff.Command(forward=0.4),
            stop_on_fall=True,
        )
        rec = simulation.run(3.5)
        heights.append(simulation.q[2] if simulation.stopped is None else 0.0)
        if controller.ground is not None:
            assert np.abs(rec.q[:, 4:6]).max() < 0.12
            assert simulation.q[0] - 0.2 > 0.5 + 0.4  # its hind feet too are well past the edge
            assert not controller.log
    assert heights[0] == pytest.approx(third + ROBOT.poses["stand"].height, abs=0.02)
    assert heights[1] < heights[0] - 0.1


@pytest.mark.slow
@pytest.mark.parametrize("force", [60.0, -60.0])
def test_it_recovers_from_a_push_that_lifts_both_feet_of_a_side(force):
    push = [ff.Push(start=0.3, duration=0.1, force=(0.0, force, 0.0))]
    simulation, rec = walked("trot", 2.5, push)
    off = rec.force[:, :, 2] < 1e-9  # LF, RF, LH, RH
    assert ((off[:, 1] & off[:, 3]) | (off[:, 0] & off[:, 2])).sum() > 50
    assert simulation.stopped is None
    assert not off[-100:].any()
    assert np.abs(simulation.v).max() < 0.1
    assert np.abs(rec.q[-1, 4:6]).max() < 0.03
    assert rec.q[:, 2].min() > 0.25


def test_heights_of_a_ground_are_found_from_above():
    ground = Steps([0.0, 0.13, 0.05], tread=0.5, start=0.4)
    for x, height in ((0.0, 0.0), (0.35, 0.0), (0.5, 0.13), (0.85, 0.13), (1.2, 0.05)):
        assert height_under(ground, np.array([x, 0.1])) == pytest.approx(height, abs=1e-6)


def test_the_gains_hold_between_solves_what_a_solve_planned():
    controller = nmpc("trot")
    start = standing_start(ROBOT, controller)
    simulation = ff.Simulation(ROBOT, controller, start=start)
    simulation.run(0.1)
    memory = simulation.state.memory
    assert memory["solved"] == 1.0
    assert memory["since"] < 1.0 / controller.solve_rate + 1e-9
    assert np.abs(memory["gains"][0]).max() > 1.0
    assert np.abs(simulation.q[:3] - start[0][:3]).max() < 5e-3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"robot": "mini_cheetah", "gait": "bound"}, "not tuned for flight and cannot bound"),
        ({"robot": "biped"}, "floating robot with the feet LF, RF, LH, RH"),
        ({"robot": "mini_cheetah", "reflexes": "slip"}, "has no reflexes: it takes no reflexes"),
        ({"robot": "mini_cheetah", "kp": 10.0}, "takes no kp"),
    ],
)
def test_what_it_cannot_do_is_refused_in_one_sentence(options, words):
    with pytest.raises(InputError, match=words):
        plan(ff.load(options["robot"]), options_of({**options, "controller": "nmpc"}))


def test_bad_settings_are_refused():
    for bad in ({"knots": 1}, {"solve_rate": 20.0}, {"rate": 100.0, "solve_rate": 200.0}, {"knot": -1.0}):
        with pytest.raises(InputError):
            ff.control.Nmpc(**bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"knots": "many"},
        {"knots": None},
        {"knots": np.nan},
        {"knots": 1e9},
        {"gait": "trot"},
        {"gait": None},
        {"clearance": -0.1},
        {"clearance": np.nan},
        {"hip_height": "low"},
        {"prices": 3},
        {"plan": "there"},
        {"joint_kd": -1.0},
        {"joint_kd": "soft"},
        {"ground": "plane"},
    ],
)
def test_settings_of_another_kind_are_refused_by_name(bad):
    with pytest.raises(InputError, match=f"{next(iter(bad))} of nmpc must be"):
        ff.control.Nmpc(**bad)
