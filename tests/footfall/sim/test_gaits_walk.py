"""They walk: every library robot, walk and trot at the commanded speed, standing postures, plans."""

from __future__ import annotations

import numpy as np
import pytest

from footfall import gait
from footfall.analysis.run_summary import summary
from footfall.control.interface import Command
from footfall.control.joint.joint_pd import JointPD, longest_stride
from footfall.control.joint.plan_follower import PlanFollower
from footfall.errors import InputError
from footfall.gait.planner import plan_walk, standing_postures
from footfall.gait.tuned import at_speed, for_robot
from footfall.robot import Robot, library
from footfall.sim.runfile import options_of, plan
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start

PLANS = {  # step [m], swing [s], height [m], kp, kd of each robot
    "mini_cheetah": (0.08, 0.20, 0.04, 40.0, 1.0),
    "xiling": (0.15, 0.30, 0.06, 400.0, 14.0),
    "spined": (0.10, 0.20, 0.05, 450.0, 13.0),
    "dynakat": (0.04, 0.15, 0.02, 12.0, 0.24),
    "fivebar": (0.06, 0.20, 0.04, 66.0, 1.5),
}


@pytest.mark.parametrize("pattern", ["walk", "trot"])
def test_every_robot_keeps_to_the_commanded_speed_for_ten_seconds(robot: Robot, pattern: str) -> None:
    run = plan(robot, options_of({"robot": robot.name, "gait": pattern, "duration": 10.0}))
    rec = run.simulation.run(10.0)
    found = summary(run, rec)
    assert not found["fell"]
    assert not found["diverged"]
    assert found["commanded_speed"] is None
    assert found["nominal_speed"] == pytest.approx(run.gait.stride / (run.gait.duty * run.gait.period))
    assert abs(found["mean_speed"] / found["nominal_speed"] - 1.0) < 0.3
    assert np.abs(np.degrees(rec.trunk_euler()[:, 1:])).max() < 25.0


@pytest.mark.parametrize(("name", "speed"), [("mini_cheetah", 0.2), ("mini_cheetah", 0.6), ("xiling", 0.4)])
def test_speed_is_followed(name: str, speed: float) -> None:
    run = plan(library.load(name), options_of({"robot": name, "gait": "trot", "speed": speed}))
    rec = run.simulation.run(10.0)
    assert not rec.meta["fell"]
    assert run.commanded_speed == speed
    assert abs(rec.mean_speed(run.ramp) / speed - 1.0) < 0.3


def test_closed_loop_ends_nearer_to_its_speed_than_open_loop() -> None:
    robot = library.load("mini_cheetah")
    errors = []
    for open_loop in (True, False):
        controller = JointPD.tuned(robot, open_loop=open_loop)
        speed = controller.gait.speed
        start = standing_start(robot, controller)
        rec = Simulation(robot, controller, start=start, command=Command(forward=speed)).run(8.0)
        errors.append(abs(rec.mean_speed(5.0) - speed))
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize(
    ("name", "gait", "speed"),
    [
        ("mini_cheetah", "trot", None),
        ("mini_cheetah", "amble", None),
        ("xiling", "walk", 0.15),
        ("dynakat", "trot", None),
    ],
)
def test_python_and_the_command_line_walk_alike(name: str, gait: str, speed: float | None) -> None:
    robot = library.load(name)
    given = {"robot": name, "gait": gait} | ({} if speed is None else {"speed": speed})
    by_options = plan(robot, options_of(given)).simulation
    by_hand = Simulation(robot, JointPD.tuned(robot, gait, speed=speed))
    assert by_options.command_now == by_hand.command_now
    by_options.advance(700)
    by_hand.advance(700)
    np.testing.assert_array_equal(by_options.q, by_hand.q)


def test_a_tuned_trot_goes_at_the_speed_of_its_gait() -> None:
    robot = library.load("mini_cheetah")
    controller = JointPD.tuned(robot, "trot")
    speed = Simulation(robot, controller).run(6.0).mean_speed(after=1.5)
    assert abs(speed / controller.gait.speed - 1.0) < 0.1


def test_a_command_of_no_speed_steps_in_place() -> None:
    robot = library.load("mini_cheetah")
    controller = JointPD.tuned(robot)
    rec = Simulation(robot, controller, command=Command()).run(5.0)
    assert abs(rec.mean_speed(1.0)) < 0.05


def test_standing_postures_are_reached(robot: Robot) -> None:
    *_, kp, kd = PLANS[robot.name]
    motion = standing_postures(robot, move=0.6, hold=0.4)
    controller = PlanFollower(plan=motion, kp=kp, kd=kd)
    rec = Simulation(robot, controller, start=standing_start(robot, controller)).run(motion.duration)
    wanted = np.degrees([motion.at(t).euler for t in rec.time[::100]])
    off = np.degrees(rec.trunk_euler())[::100] - wanted
    assert not rec.meta["fell"]
    assert np.abs(off[:, 1:]).max() < 1.0
    assert np.abs(off[:, 0]).max() < 4.0  # feet are balls, and roll


@pytest.mark.parametrize("pattern", ["walk", "trot"])
def test_plans_are_followed_to_their_end(robot: Robot, pattern: str) -> None:
    step, swing, height, kp, kd = PLANS[robot.name]
    motion = plan_walk(robot, pattern, step, swing_time=swing, height=height, cycles=4)
    controller = PlanFollower(plan=motion, kp=kp, kd=kd)
    rec = Simulation(robot, controller, start=standing_start(robot, controller)).run(motion.duration)
    moved = rec.trunk_position[-1] - rec.trunk_position[0]
    assert not rec.meta["fell"]
    assert abs(moved[0] / motion.distance - 1.0) < 0.15
    assert abs(moved[1]) < 0.1 * motion.distance


def test_a_turning_plan_turns_the_robot() -> None:
    robot = library.load("xiling")
    motion = plan_walk(robot, "trot", 0.1, turn=0.2, swing_time=0.3, cycles=5)
    controller = PlanFollower(plan=motion, kp=400.0, kd=14.0)
    rec = Simulation(robot, controller, start=standing_start(robot, controller)).run(motion.duration)
    assert abs(rec.trunk_euler()[-1, 0] / (0.2 * 4.5) - 1.0) < 0.15


def test_controllers_are_compiled_with_the_physics() -> None:
    robot = library.load("xiling")
    for controller in (JointPD.tuned(robot, "walk"), PlanFollower(plan=plan_walk(robot), kp=400.0, kd=14.0)):
        assert Simulation(robot, controller, start=standing_start(robot, controller)).controller_is_compiled


def test_a_speed_sets_the_stride_and_then_the_period() -> None:
    g = for_robot("mini_cheetah").gait
    assert at_speed(g, 0.2).period == g.period
    for speed in (0.1, 0.5, 0.9, 2.0, -0.3):
        assert at_speed(g, speed).speed == pytest.approx(speed)
    assert at_speed(g, 1.0).period < g.period
    assert at_speed(g, 9.0).period == pytest.approx(0.6 * g.period)
    assert at_speed(g, 0.0).stride == 0.0


def test_the_longest_stride_is_in_reach() -> None:
    for name in library.names():
        robot = library.load(name)
        g = for_robot(robot).gait
        assert 1.0 < longest_stride(robot, g) <= 3.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: JointPD(gait=gait.trot(), speed_feedback=-1.0), "speed_feedback of JointPD must be 0 or more"),
        (lambda: JointPD(gait=gait.trot(), speed_feedback=0.5, clock=True), "has no memory"),
        (lambda: JointPD(gait=gait.trot(stride=0.0), speed_feedback=0.5), "steps in place"),
        (lambda: gait.trot(duty=1.0), "duty of the gait 'trot' must be between 0 and 1"),
        (lambda: gait.walk(height=-0.1), "height of the gait 'walk' must be 0 or more"),
        (lambda: plan(library.load("xiling"), options_of({"robot": "xiling", "gait": "moonwalk"})), "unknown gait"),
    ],
)
def test_bad_input_is_one_clear_sentence(make, words) -> None:
    with pytest.raises(InputError, match=words):
        make()
