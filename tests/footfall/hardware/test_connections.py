"""The interface of hardware: a simulation, a recording, a pipe and shared memory are the same to whoever drives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from rigs import Bench, go2, pilot, simulated

import footfall as ff
from footfall.control.interface import Command, Inertial, JointCommand
from footfall.errors import FootfallError, InputError
from footfall.hardware.connection import Connection, RobotState
from footfall.hardware.drive import Driver
from footfall.hardware.glide import lying_state
from footfall.hardware.logbook import Logbook, columns
from footfall.hardware.pipe import PipeBroken, PipeConnection, ProcessController, send
from footfall.hardware.replay import Replay
from footfall.hardware.shared_memory import SharedConnection, SharedRobot
from footfall.hardware.structs import Structs
from footfall.recording.recording import Recording
from footfall.recording.recording_writer import RecordingWriter

STAND = go2().poses["stand"]


def some_state(seed=0):
    rng = np.random.default_rng(seed)
    position, velocity, torque = rng.normal(size=(3, 12))
    return RobotState(
        time=rng.random(),
        position=position,
        velocity=velocity,
        torque=torque,
        attitude=np.array([1.0, 0, 0, 0]),
        imu=Inertial(*rng.normal(size=(2, 3))),
        foot_load=rng.random(4),
    )


def same(one, other):
    for key in ("time", "position", "velocity", "torque", "attitude", "foot_load"):
        assert np.array_equal(getattr(one, key), getattr(other, key)), key
    assert np.array_equal(one.imu.gyro, other.imu.gyro)


def test_simulated_robot_goes_on_when_somebody_waits_for_it():
    robot = simulated()
    robot.reset()
    assert isinstance(robot, Connection)
    first = robot.read()
    assert robot.read() is None
    robot.write(JointCommand(position=STAND.joints, kp=80.0, kd=2.0))
    for _ in range(250):
        robot.clock.wait()
    assert robot.clock.now() == pytest.approx(0.5)
    assert robot.read().time - first.time == pytest.approx(0.5)
    assert robot.body.q[2] == pytest.approx(STAND.height, abs=0.02)


def test_command_that_no_robot_survives_leaves_it_where_it_was():
    robot = simulated()
    robot.reset()
    robot.write(JointCommand(torque=np.full(12, np.nan)))
    robot.advance()
    assert np.isfinite(robot.body.q).all()
    assert np.all(robot.command.kp == 0.0)


class _Frozen:
    """A robot behind a pipe or in shared memory that says the same state at every tick."""

    def __init__(self, kind, folder):
        lying = simulated()
        lying.reset(lying_state(go2()))
        self.state, self.period, self.ticks = lying.state, 0.002, 0
        if kind == "pipe":
            ends = os.pipe()
            self.connection = PipeConnection(go2(), ends[0], os.open(os.devnull, os.O_WRONLY), clock=self)
            structs = Structs(go2())
            self.say = lambda state: send(ends[1], structs.pack_state(state, 1))
        else:
            robot = SharedRobot(folder / "memory", go2())
            self.connection = SharedConnection(folder / "memory", go2(), clock=self)
            self.say = robot.say

    def now(self):
        return self.ticks * self.period

    def wait(self):
        self.ticks += 1
        self.say(self.state)
        return 1

    def report(self):
        return {}


@pytest.mark.parametrize("kind", ["pipe", "shared memory"])
def test_frozen_robot_is_noticed_behind_a_pipe_and_in_shared_memory(kind, tmp_path):
    frozen = _Frozen(kind, tmp_path)
    driver = Driver(connection=frozen.connection, controller=pilot())
    assert "no new state" in driver.run()
    assert driver.phases[-1] == (pytest.approx(driver.patience, abs=4 * frozen.period), "damp")


def test_frozen_robot_is_noticed_in_a_recording_and_in_a_simulation():
    frozen = simulated()
    frozen.reset(lying_state(go2()))
    advance, state = frozen.advance, frozen.state

    def stuck(push=None):
        advance(push)
        frozen._fresh = state

    rows = []
    frozen.advance = stuck
    try:
        driver = Driver(connection=frozen, controller=pilot(), on_row=rows.append)
        assert "no new state" in driver.run()
    finally:
        del frozen.advance
    again = Driver(connection=Replay(Recording(go2(), columns(rows))), controller=pilot())
    assert "no new state" in again.run()


def test_structures_bring_back_what_was_packed():
    structs, state = Structs(go2()), some_state()
    data = structs.pack_state(state, 7)
    assert len(data) == structs.state_size
    count, back = structs.state(data)
    assert count == 7
    same(state, back)
    command = JointCommand(*np.random.default_rng(1).normal(size=(5, 12)))
    data = structs.pack_command(command, 9)
    assert len(data) == structs.command_size
    count, got = structs.command(data)
    assert count == 9
    assert np.array_equal(got.kd, command.kd)


def test_pipe_brings_the_newest_state_and_takes_commands():
    states, commands = os.pipe(), os.pipe()
    connection, structs = PipeConnection(go2(), states[0], commands[1]), Structs(go2())
    assert isinstance(connection, Connection)
    assert connection.read() is None
    whole = b"".join(structs.pack_state(some_state(k), k) for k in range(3))
    send(states[1], whole[:-5])
    same(connection.read(), some_state(1))
    send(states[1], whole[-5:])
    same(connection.read(), some_state(2))
    connection.write(JointCommand(torque=3.0))
    assert structs.command(os.read(commands[0], 10**5))[1].torque.tolist() == [3.0] * 12
    os.close(states[1])
    with pytest.raises(PipeBroken, match="closed"):
        connection.read()


def test_shared_memory_brings_the_newest_and_never_half_of_one(tmp_path):
    path = tmp_path / "memory"
    with pytest.raises(InputError, match="cannot open"):
        SharedConnection(path, go2())
    robot = SharedRobot(path, go2())
    connection = SharedConnection(path, go2())
    assert isinstance(connection, Connection)
    assert connection.read() is None
    robot.say(some_state(1))
    robot.say(some_state(2))
    same(connection.read(), some_state(2))
    assert connection.read() is None
    connection.write(JointCommand(kd=4.0))
    assert robot.hear().kd.tolist() == [4.0] * 12
    assert robot.hear() is None
    with pytest.raises(FootfallError, match="bytes"):
        SharedConnection(path, ff.load("spined"))
    done = threading.Event()

    def talk():
        k = 0
        while not done.is_set():
            k += 1
            joints, four, imu = np.full(12, float(k)), np.full(4, float(k)), Inertial(*np.full((2, 3), float(k)))
            robot.say(
                RobotState(
                    time=float(k),
                    position=joints,
                    velocity=joints,
                    torque=joints,
                    attitude=four,
                    imu=imu,
                    foot_load=four,
                )
            )

    thread = threading.Thread(target=talk)
    thread.start()
    seen = []
    while len(seen) < 40:
        state = connection.read()
        if state is not None:
            parts = np.concatenate([state.position, state.velocity, state.attitude, state.foot_load, [state.time]])
            assert np.ptp(parts) == 0.0, "it was torn"
            seen.append(state.time)
    done.set()
    thread.join()
    assert np.all(np.diff(seen) > 0)


@pytest.mark.slow
def test_replay_of_a_drive_makes_the_controller_ask_for_the_same_again(tmp_path):
    bench = Bench()
    logbook = Logbook(RecordingWriter(tmp_path / "run.mcap", go2(), {}))
    first = Driver(
        connection=bench, controller=pilot(), wanted=lambda t: Command(forward=0.3), duration=0.4, on_row=logbook.add
    )
    first.run()
    logbook.close()
    assert logbook.failed == ""
    recording = Recording.load(tmp_path / "run.mcap")
    assert len(recording) == len(bench.sent) - 1  # after the last row it is damped once more, however the drive ended
    replay = Replay(recording)
    assert isinstance(replay, Connection)
    again = Driver(connection=replay, controller=pilot(), wanted=lambda t: Command(forward=0.3), duration=0.4)
    again.run()
    assert [phase for _, phase in again.phases] == [phase for _, phase in first.phases]
    count = min(len(replay.written), len(bench.sent))
    asked = np.array([command.torque for command in bench.sent[:count]])
    walking = np.abs(asked).max(axis=1) > 0
    assert walking.sum() > 500
    assert np.abs(replay.torques[:count] - asked).max() < 1e-6 * np.abs(asked).max()


def test_replay_says_what_a_recording_lacks():
    recording = ff.Simulation(ff.load("mini_cheetah")).run(0.01)
    with pytest.raises(InputError, match="'gyro'"):
        Replay(recording)


_PYTHON = """
import os, struct, sys
n = 12
while True:
    data = b""
    while len(data) < 8 * (2 + 3 * n + 10 + 4):
        part = os.read(0, 8 * (2 + 3 * n + 10 + 4) - len(data))
        if not part:
            sys.exit()
        data += part
    count, time, *rest = struct.unpack(f"<Qd{3 * n + 14}d", data)
    os.write(1, struct.pack(f"<Q{5 * n}d", count, *STAND, *[0.0] * n, *[80.0] * n, *[2.0] * n, *[0.0] * n))
"""
_C = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
struct state { uint64_t count; double time, position[12], velocity[12], torque[12], attitude[4], gyro[3],
               acceleration[3], foot_load[4]; };
struct command { uint64_t count; double position[12], velocity[12], kp[12], kd[12], torque[12]; };
static const double stand[12] = { STAND };
int main(void) {
    struct state s; struct command c; int i;
    while (fread(&s, sizeof s, 1, stdin) == 1) {
        memset(&c, 0, sizeof c);
        c.count = s.count;
        for (i = 0; i < 12; i++) { c.torque[i] = 80.0 * (stand[i] - s.position[i]) - 2.0 * s.velocity[i]; }
        fwrite(&c, sizeof c, 1, stdout);
        fflush(stdout);
    }
    return 0;
}
"""


def _program(language: str, folder: Path) -> list[str]:
    numbers = ", ".join(repr(float(x)) for x in STAND.joints)
    if language == "python":
        file = folder / "hold.py"
        file.write_text(f"STAND = [{numbers}]\n" + _PYTHON)
        return [sys.executable, str(file)]
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here: the same in Python ran")
    (folder / "hold.c").write_text(_C.replace("STAND", numbers))
    subprocess.run([compiler, "-std=c99", "-Wall", "-Werror", "-o", "hold", "hold.c"], cwd=folder, check=True)
    return [str(folder / "hold")]


@pytest.mark.parametrize("language", ["python", "c"])
def test_controller_that_is_a_program_holds_the_robot_up(language, tmp_path):
    controller = ProcessController(_program(language, tmp_path), rate=500.0)
    sim = ff.Simulation(go2(), controller)
    recording = sim.run(0.6)
    controller.close()
    assert not recording.meta.get("stopped")
    assert recording.q[-1, 2] == pytest.approx(STAND.height, abs=0.03)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_exported_locomotion_walks_the_robot_as_another_process(tmp_path):
    from footfall.cli.export_controller import write_locomotion
    from footfall.control.locomotion.locomotion import Locomotion
    from footfall.control.posture import standing_state

    cheetah, inside = ff.load("mini_cheetah"), Locomotion()
    write_locomotion(cheetah, tmp_path, inside)
    sources = [str(tmp_path / f"locomotion{end}.c") for end in ("", "_main")]
    subprocess.run(["gcc", "-std=c99", "-O2", *sources, "-lm", "-o", str(tmp_path / "main")], check=True)
    outside = ProcessController([str(tmp_path / "main")], rate=inside.rate, patience=20.0, lines=True)
    start, asked = standing_state(cheetah, inside.hip_height), Command(forward=0.4, turn=0.2)
    runs = [ff.Simulation(cheetah, each, start=start, command=asked).run(1.0) for each in (outside, inside)]
    outside.close()
    assert not runs[0].meta.get("stopped")
    assert runs[0].q[-1, 0] > 0.2
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-3)


def test_program_that_answers_with_no_numbers_is_said():
    talks = "import sys\nfor line in sys.stdin: print('what?', flush=True)"
    sim = ff.Simulation(go2(), ProcessController([sys.executable, "-c", talks], lines=True, patience=20.0))
    assert "answered 'what?', not 60 numbers" in sim.run(0.01).meta["stopped"]


def test_program_that_ends_or_is_not_there_is_said():
    with pytest.raises(InputError, match="cannot start"):
        ff.Simulation(go2(), ProcessController(["/no/such/program"])).run(0.01)
    sim = ff.Simulation(go2(), ProcessController([sys.executable, "-c", "pass"]))
    recording = sim.run(0.05)
    assert "closed its pipe" in recording.meta["stopped"]


@pytest.mark.slow
def test_rows_of_a_drive_are_columns_of_a_recording():
    bench, rows = Bench(), []
    Driver(
        connection=bench, controller=pilot(), on_row=rows.append, stop=lambda: "damp" if bench.now() > 0.1 else ""
    ).run()
    found = columns(rows[:10])
    assert Recording(go2(), found).duration == pytest.approx(9 * bench.period)


def test_policy_of_an_onnx_file_drives_a_robot(tmp_path):
    pytest.importorskip("onnx", reason="writing an .onnx needs onnx: pip install 'footfall[learn]'")
    from footfall.cli.drive import _pilot
    from footfall.control.learned.policy import Policy
    from footfall.hardware.simulated import SimulatedRobot

    cheetah = ff.load("mini_cheetah")
    Policy.load("mini_cheetah").save(tmp_path / "trot.onnx")
    pilot = _pilot(str(tmp_path / "trot.onnx"), cheetah)
    robot, seen = SimulatedRobot(cheetah, 500.0), []
    driver = Driver(
        connection=robot,
        controller=pilot,
        wanted=lambda t: Command(forward=0.4),
        duration=1.0,
        stop=lambda: "damp" if len(seen) > 1300 else "",
        on_row=lambda row: seen.append((row.phase, *robot.body.q[:3])),
    )
    driver.run()
    walk = np.array([place for phase, *place in seen if phase == "walk"])
    assert driver.reason in ("", "emergency stop")
    assert len(walk) == pytest.approx(500, abs=3)
    assert (walk[-1, 0] - walk[250, 0]) / 0.5 == pytest.approx(0.4, rel=0.25)
    assert walk[:, 2].min() > 0.8 * cheetah.poses["stand"].height
