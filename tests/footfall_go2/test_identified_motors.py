"""What was identified is what simulations, trainings and served robots use: ``--motors FILE``."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import footfall as ff
from footfall.cli.main import app
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.errors import InputError
from footfall.hardware.simulated import SimulatedRobot
from footfall.learn.walk import WalkTask
from footfall.sim.motors import COLUMNS, FORMAT, MotorModel, read_identified
from footfall.sim.runfile import options_of, plan

CHEETAH = ff.load("mini_cheetah")
KP = 120.0


def written(path, robot=CHEETAH, **columns):
    """A file of motors; columns that are not given change nothing."""
    table = np.zeros((robot.nj, len(COLUMNS)))
    for k, key in enumerate(("armature", "damping", "dry_friction")):
        table[:, k] = [robot.parameter(f"{name}.{key}") for name in robot.joint_names]
    table[:, COLUMNS.index("static_ratio")] = table[:, COLUMNS.index("gain")] = 1.0
    for key, value in columns.items():
        table[:, COLUMNS.index(key)] = value
    path.write_text(
        json.dumps(
            {
                "format": FORMAT,
                "motors": "identified",
                "robot": robot.name,
                "joints": list(robot.joint_names),
                "table": table.tolist(),
            }
        )
    )
    return path


@pytest.fixture(scope="module")
def robots():
    """Strong and weak, late motors in the same physics."""
    weak = MotorModel(gain=0.5, delay=0.0031)
    return {gain: SimulatedRobot(CHEETAH, 500.0, motors=motors) for gain, motors in ((1.0, None), (0.5, weak))}


def test_weak_motor_sags_behind_the_seam_by_what_its_gain_leaves(robots):
    stand, sag = CHEETAH.poses["stand"].joints, {}
    for gain, robot in robots.items():
        robot.reset()
        for _ in range(600):
            robot.write(JointCommand(position=stand, kp=KP, kd=3.0))
            robot.advance()
        sag[gain] = (stand - robot.state.position)[2] / robot.state.torque[2]
    assert sag[1.0] == pytest.approx(1.0 / KP, rel=0.02)
    assert sag[0.5] == pytest.approx(2.0 / KP, rel=0.02)


def test_command_arrives_at_the_motors_as_late_as_they_are(robots):
    robot, torques = robots[0.5], []
    robot.reset()
    for _ in range(4):  # 3.1 ms are a tick and 0.55 of another
        robot.write(JointCommand(torque=np.full(12, 2.0)))
        robot.advance()
        torques.append(robot.state.torque[0])
    for part, torque in zip((0.0, 0.45, 1.0, 1.0), torques):
        damped = torques[0] * (1.0 - part)  # what it held before; joints hardly move in a few ticks
        assert torque == pytest.approx(part * 0.5 * 2.0 + damped, abs=0.05)


def test_simulation_by_a_file_has_its_robot_motors_and_joints(tmp_path):
    file = written(tmp_path / "motors.json", damping=0.7, static_ratio=1.3, gain=0.8, bias=0.02, delay=0.004)
    found = plan(CHEETAH, options_of({"robot": "mini_cheetah", "controller": "hold", "motors": str(file)})).simulation
    assert found.robot.parameter(f"{CHEETAH.joint_names[3]}.damping") == 0.7
    np.testing.assert_allclose(found.controller.motors.gain, 0.8)
    np.testing.assert_allclose(found.model.world.joints.static_ratio, 1.3)


def test_learner_acts_through_the_motors_of_a_file(tmp_path):
    robot, motors, joints = read_identified(
        written(tmp_path / "motors.json", gain=0.8, bias=0.02, delay=0.004, static_ratio=1.3), CHEETAH
    )
    task = WalkTask(robot=robot, motors=motors, joints=joints)
    assert task.effects["joints"].static_ratio[0] == 1.3
    plain, acted = WalkTask(robot=robot).controller, task.controller
    memory = {**plain.start(robot), "action": np.full(12, 0.5), "last": np.full(12, -0.5)}
    q, v = robot.state("stand")
    seen = Sensed(q=q, v=v, forces=np.zeros((4, 3)))
    late = 0.004 * task.drive.rate
    asked, _ = plain(0.0, robot, seen, Command(), {**memory, "action": np.full(12, 0.5 - late)})
    done, _ = acted(0.0, robot, seen, Command(), memory)
    np.testing.assert_allclose(done.position, asked.position + 0.02)
    np.testing.assert_allclose(done.kp, 0.8 * asked.kp)


@pytest.mark.parametrize("command", ["simulate", "train", "serve"])
def test_motors_of_another_robot_are_refused_with_a_sentence(tmp_path, command):
    if command == "serve":
        pytest.importorskip("cyclonedds", reason="a served robot needs cyclonedds: pip install 'footfall[dds]'")
    file = written(tmp_path / "motors.json")
    more = ["--out", str(tmp_path / "policy.npz")] if command == "train" else []
    result = CliRunner().invoke(app, [command, "xiling", "--motors", str(file), *more])
    assert isinstance(result.exception, InputError)  # which the program says as a sentence
    assert "are those of robot 'mini_cheetah', not of 'xiling'" in str(result.exception)


@pytest.mark.slow
def test_weak_motor_sags_behind_the_served_interface(tmp_path):
    pytest.importorskip("cyclonedds", reason="a served robot needs cyclonedds: pip install 'footfall[dds]'")
    from rigs import go2

    from footfall_go2.server import Server

    stand = go2().poses["stand"].joints
    for gain in (1.0, 0.5):
        robot, motors, joints = read_identified(written(tmp_path / "motors.json", go2(), gain=gain), go2())
        server = Server(
            robot=robot, domain=100 + os.getpid() % 100, start="released", options={"joints": joints}, motors=motors
        )
        server.simulated.reset()
        hold = JointCommand(position=stand, kp=60.0, kd=3.0).broadcast(12)
        for _ in range(600):
            server.firmware.command(hold, server.simulated.time)
            server.tick()
        server.close()
        state = server.simulated.state
        asked = 60.0 * (stand - state.position) - 3.0 * state.velocity
        np.testing.assert_allclose(state.torque, gain * asked, atol=0.03 * np.abs(asked).max())


@pytest.mark.slow
def test_training_with_the_motors_of_a_file_runs(tmp_path):
    file = written(tmp_path / "motors.json", gain=0.8, bias=0.02, delay=0.004)
    out = tmp_path / "policy.npz"
    arguments = ["train", "mini_cheetah", "--device", "cpu", "--robots", "8", "--iterations", "1", "--out", str(out)]
    result = CliRunner().invoke(app, [*arguments, "--motors", str(file), "--json"])
    assert result.exit_code == 0, result.output
    assert out.exists()
