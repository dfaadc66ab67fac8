"""Default gaits keep to the motors' speeds of a robot from a file, and name the joint that sets them."""

import dataclasses

import numpy as np
import pytest

import footfall as ff
from footfall.control.joint.joint_pd import joint_targets
from footfall.gait import tuned
from footfall.sim.commanding import unfollowed


def slowed(robot, speed):
    """The robot as a file would have it, with motors that turn no faster."""
    motors = tuple(dataclasses.replace(motor, speed_limit=speed) for motor in robot.actuators)
    return dataclasses.replace(robot, name="slow", actuators=motors)


@pytest.fixture(scope="module")
def robot():
    return dataclasses.replace(ff.load("mini_cheetah"), name="unknown")


@pytest.mark.parametrize("gait", ["trot", "walk"])
@pytest.mark.parametrize("speed", [1.5, 3.0, 6.0])
def test_slow_motors_make_steps_that_they_can_follow(robot, gait, speed):
    usual, found = tuned.scaled(robot, gait), tuned.scaled(slowed(robot, speed), gait)
    assert usual.shortened is None
    assert found.gait.period >= usual.gait.period
    assert 0.0 < found.gait.speed < usual.gait.speed
    assert found.gait.height < usual.gait.height
    assert found.kp > usual.kp
    phases = np.arange(120) / 120
    path = np.array([joint_targets(robot, found.gait, np.full(4, phase)) for phase in phases])
    rates = np.abs(np.diff(path, axis=0)) * 120 / found.gait.period
    assert rates.max() < speed
    assert any(name in found.shortened for name in robot.joint_names)
    assert f"{speed:g} rad/s" in found.shortened


@pytest.mark.parametrize("gait", ["trot", "walk"])
def test_very_slow_motors_carry_a_robot_forward(robot, gait):
    # with steps that lift feet by less than a joint gives way it would go backwards
    slow = slowed(robot, 0.6)
    with pytest.warns(match="0.6 rad/s at most"):
        controller = ff.control.JointPD.tuned(slow, gait)
    rec = ff.Simulation(slow, controller, start=ff.control.standing_state(slow)).run(8.0)
    assert rec.mean_velocity(after=2.0)[0] > 0.8 * controller.gait.speed


def test_fast_motors_change_nothing(robot):
    assert tuned.scaled(slowed(robot, 200.0)) == tuned.scaled(slowed(robot, np.inf))


def test_a_clipped_command_says_which_joint_clips_it(robot):
    walker = ff.control.Locomotion()
    followed, said = unfollowed(walker, slowed(robot, 3.0), ff.Command(forward=0.6))
    assert followed.forward < 0.6
    assert "turns at 3 rad/s at most" in said[0]
    _, said = unfollowed(ff.control.Locomotion(), slowed(robot, np.inf), ff.Command(forward=9.0))
    assert "reach" in said[0]
