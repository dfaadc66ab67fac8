"""What runs in the robot's own computer: one owner of the motors, checks, a watchdog, and the sport mode."""

from __future__ import annotations

import json

import numpy as np
import pytest
import rigs
from hypothesis import given
from hypothesis import strategies as st
from rigs import Bench, go2

from footfall.control.interface import JointCommand
from footfall_go2.sport import HOLD

STAND = go2().poses["stand"]
GOOD = JointCommand(position=STAND.joints, kp=40.0, kd=2.0).broadcast(12)


class Sporting(Bench):
    """The same robot in its sport mode."""

    def __init__(self, mode="down"):
        super().__init__()
        self.firmware.reset()
        if mode == "balance":
            self.simulated.reset()
        self.firmware.begin(mode, self.simulated.sensed)

    def call(self, number, parameter=None, service="sport"):
        text = json.dumps({} if parameter is None else parameter)
        return self.firmware.call(service, number, text, self.now(), self.simulated.sensed)[0]

    def go(self, seconds):
        for _ in range(round(seconds / self.period)):
            self.wait()


def test_forged_commands_are_refused_and_the_robot_is_damped():
    bench = Bench()
    bad = {
        "not finite": JointCommand(torque=np.full(12, np.nan), position=0.0).broadcast(12),
        "kp out of bounds": JointCommand(position=STAND.joints, kp=1e5).broadcast(12),
        "kd out of bounds": JointCommand(kd=1e4).broadcast(12),
        "torque out of bounds": JointCommand(torque=1e4).broadcast(12),
        "velocity out of bounds": JointCommand(velocity=1e5).broadcast(12),
        "position out of bounds": JointCommand(position=1e9).broadcast(12),
        "negative gain": JointCommand(kd=-1.0).broadcast(12),
    }
    for why, command in bad.items():
        assert bench.firmware.command(command, bench.now()) == why
    assert bench.firmware.command(GOOD, bench.now(), damaged=True) == "bad checksum"
    bench.wait()
    assert bench.firmware.damped
    assert bench.firmware.command(GOOD, bench.now(), stamp=5.0) == "taken"
    assert bench.firmware.command(GOOD, bench.now(), stamp=4.0) == "out of order"
    bench.wait()
    assert not bench.firmware.damped


def test_sender_whose_clock_is_behind_is_obeyed_once_the_other_is_silent_or_has_let_go():
    bench = Bench()
    assert bench.firmware.command(GOOD, bench.now(), stamp=500.0) == "taken"
    while not bench.firmware.watchdog.silent(bench.now()):
        assert bench.firmware.command(GOOD, bench.now(), stamp=400.0) == "out of order"
        bench.wait()
    assert bench.now() == pytest.approx(bench.firmware.patience, abs=2 * bench.period)
    assert bench.firmware.command(GOOD, bench.now(), stamp=400.0) == "taken"
    assert bench.firmware.command(GOOD, bench.now(), stamp=399.0) == "out of order"  # by its own clock
    robot = Sporting("down")
    assert robot.call(1003, service="motion_switcher") == 0
    robot.go(0.2)
    assert robot.firmware.command(GOOD, robot.now(), stamp=500.0) == "taken"
    assert robot.call(1002, {"name": "normal"}, "motion_switcher") == 0
    assert robot.call(1003, service="motion_switcher") == 0
    robot.firmware.watchdog.patience = 60.0  # it has not been silent
    robot.go(0.2)
    assert robot.firmware.command(GOOD, robot.now(), stamp=300.0) == "taken"


def test_command_is_held_until_it_is_missed():
    bench = Bench()
    bench.firmware.command(GOOD, bench.now())
    ticks = 0
    while True:
        bench.wait()
        if bench.firmware.damped:
            break
        ticks += 1
    assert ticks * bench.period == pytest.approx(bench.firmware.patience, abs=2 * bench.period)


def test_low_level_commands_wait_until_the_sport_mode_has_lain_down_and_let_go():
    robot = Sporting("balance")
    assert robot.firmware.command(GOOD, 0.0) == "sport mode is active"
    assert robot.call(1005) == 0
    assert robot.call(1003, service="motion_switcher") == 0
    assert robot.call(1008, {"x": 0.3, "y": 0, "z": 0}) != 0  # it is sitting down
    robot.go(0.2)
    assert not robot.firmware.released
    robot.go(1.5)
    assert robot.firmware.released
    assert robot.firmware.command(GOOD, robot.now()) == "taken"
    assert robot.call(1004) != 0  # nobody is in charge of standing up
    assert robot.call(1002, {"name": "normal"}, "motion_switcher") == 0
    robot.go(0.1)
    assert not robot.firmware.released


def test_sport_mode_stands_up_walks_as_asked_stops_and_lies_down():
    robot = Sporting("down")
    assert robot.call(1004) == 0
    robot.go(2.0)
    assert robot.simulated.body.q[2] == pytest.approx(STAND.height, abs=0.02)
    places = []
    for _ in range(10):
        assert robot.call(1008, {"x": 0.0, "y": 0.25, "z": 0.0}) == 0
        robot.go(0.25)
        places.append(robot.simulated.body.q[1])
    assert (places[-1] - places[3]) / (0.25 * 6) == pytest.approx(0.25, rel=0.1)
    robot.call(1003)
    robot.go(0.8)
    stopped = robot.simulated.body.q[:2].copy()
    robot.go(0.5)
    assert np.abs(robot.simulated.body.q[:2] - stopped).max() < 0.02
    assert robot.call(1005) == 0
    robot.go(1.5)
    assert robot.simulated.body.q[2] < 0.5 * STAND.height


def test_sport_mode_turns_as_asked_and_a_damped_robot_recovers_its_stand():
    robot, yaws = Sporting("balance"), []
    for _ in range(7):
        assert robot.call(1008, {"x": 0.0, "y": 0.0, "z": 0.5}) == 0
        robot.go(0.25)
        w, x, y, z = robot.simulated.body.q[3:7]
        yaws.append(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
    assert (yaws[-1] - yaws[2]) / (0.25 * 4) == pytest.approx(0.5, rel=0.1)
    assert robot.call(1001) == 0
    robot.go(0.8)
    assert robot.simulated.body.q[2] < 0.6 * STAND.height
    assert robot.call(1006) == 0
    robot.go(1.9)
    assert robot.simulated.body.q[2] == pytest.approx(STAND.height, abs=0.02)


def test_robot_on_its_back_answers_that_it_cannot_stand_up():
    robot = Sporting("down")
    on_its_back = robot.simulated.sensed.q.copy()
    on_its_back[3:7] = [0.0, 1.0, 0.0, 0.0]
    robot.simulated.reset((on_its_back, np.zeros(18)))
    robot.call(1001)
    assert robot.call(1006) == robot.call(1004) == 4202


def test_velocity_is_held_for_a_second_unless_it_is_renewed():
    robot = Sporting("balance")
    robot.call(1008, {"x": 0.3, "y": 0.0, "z": 0.0})
    robot.go(0.5)
    assert robot.firmware.sport.number(robot.now()) == 3
    robot.go(HOLD)
    assert robot.firmware.sport.number(robot.now()) == 1
    robot.go(0.4)
    assert abs(float(robot.simulated.body.v[3])) < 0.08


def test_lean_and_height_are_taken_and_what_cannot_be_done_is_refused():
    robot = Sporting("balance")
    assert robot.call(1007, {"x": 0.1, "y": 0.0, "z": 0.0}) == 0
    assert robot.call(1013, {"data": -0.05}) == 0
    robot.go(1.2)
    w, x = robot.simulated.body.q[3:5]
    assert 2 * np.arctan2(x, w) == pytest.approx(0.1, abs=0.02)
    assert robot.simulated.body.q[2] == pytest.approx(STAND.height - 0.05, abs=0.015)
    for number in (1030, 1031, 2041, 2044, 1016, 99, -5):
        assert robot.call(number) == 3203
    assert robot.call(1007, {"x": 0.0, "y": 0.0, "z": 0.3}) == 3204
    assert robot.call(1015, {"data": 7}) == 3204
    assert robot.call(1011, {"data": 1}) == 0


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "z", "data"]), inner),
    max_leaves=6,
)


@given(st.sampled_from([1007, 1008, 1011, 1013, 1015, 1027, 1002]), _json)
def test_any_parameter_of_a_call_is_answered_with_a_code(number, parameter):
    firmware, sensed = rigs.firmware(), rigs.simulated().sensed
    firmware.reset()
    firmware.begin("down", sensed)
    for service in ("sport", "motion_switcher"):
        code, text = firmware.call(service, number, json.dumps(parameter), 0.0, sensed)
        assert isinstance(code, int)
        assert isinstance(text, str)
    for text in ("", "{", "[" * 5000, "\x00"):
        assert firmware.call("sport", number, text, 0.0, sensed)[0] in (0, 3203, 3204, 4202)
    command = firmware.sport._command
    assert np.isfinite([command.forward, command.sideways, command.turn]).all()
