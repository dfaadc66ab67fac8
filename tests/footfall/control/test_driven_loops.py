"""Whole-body control of robots with closed loops: the equations in the coordinates of the motors, and a trot."""

import numpy as np
import pytest

import footfall as ff
from footfall.control.locomotion.driven import actuated_joints, reduced
from footfall.dynamics.closed_loops import closed_dynamics
from footfall.dynamics.forward_dynamics import bias_terms
from footfall.errors import InputError
from footfall.kinematics.closed_loops import loop_rows
from footfall.robot.model.description import Actuator


def moving(robot: ff.Robot, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A state with its loops closed and staying so."""
    random = np.random.default_rng(seed)
    joints = np.array(robot.poses["stand"].joints)
    motors = list(actuated_joints(robot).joints)
    joints[motors] += 0.2 * random.standard_normal(len(motors))
    q = robot.state(ff.kinematics.closed_joints(robot, joints, motors))[0]
    v, G = random.standard_normal(robot.nv), loop_rows(robot, q).G
    return q, v - np.linalg.pinv(G) @ (G @ v)


def test_motors_see_the_dynamics_of_the_closed_loops():
    robot = ff.load("fivebar")
    q, v = moving(robot, 3)
    driven, random = actuated_joints(robot), np.random.default_rng(4)
    motor = random.standard_normal(len(driven.joints))
    a, _ = closed_dynamics(robot, q, v, driven.all_joints(motor, robot.nj))
    J, rate = ff.kinematics.feet_jacobian(robot, q)[:, 3:], ff.kinematics.feet_bias_acceleration(robot, q, v)[:, 3:]
    terms = reduced(robot, q, v, ff.dynamics.mass_matrix(robot, q), bias_terms(robot, q, v), J, rate)
    own = np.concatenate([a[:6], a[6:][list(driven.joints)]])
    assert terms.M @ own + terms.bias == pytest.approx(np.concatenate([np.zeros(6), motor]), abs=1e-10)
    assert terms.J @ own + terms.rate_J == pytest.approx(J @ a + rate, abs=1e-10)


def test_every_motor_of_a_five_bar_leg_moves_its_own_foot():
    robot = ff.load("fivebar")
    driven = actuated_joints(robot)
    assert [ff.control.posture.own_joints(driven.serial_robot, k) for k in range(4)] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
        [9, 10, 11],
    ]
    assert driven.serial_robot.mass == pytest.approx(robot.mass)


def test_loops_that_leave_more_motions_than_motors_are_refused():
    robot = ff.load("fivebar")
    fewer = robot.replace(actuators=[a for a in robot.actuators if a.joint != "LF_crank"])
    with pytest.raises(InputError, match="as many motors as the loops"):
        actuated_joints(fewer)
    more = robot.replace(actuators=[*robot.actuators, Actuator(joint="LF_knee", torque_limit=10.0)])
    with pytest.raises(InputError, match="as many motors as the loops"):
        actuated_joints(more)


@pytest.mark.slow
def test_a_robot_with_five_bar_legs_trots_by_the_whole_body_program():
    command = ff.sim.Schedule(((0.0, ff.Command(forward=0.4)), (6.0, ff.Command(forward=0.3, turn=0.4))))
    sim = ff.Simulation(ff.load("fivebar"), controller=ff.control.on_command("whole_body"), command=command)
    ahead, around = sim.run(6.0), sim.run(4.0)
    assert ahead.v[-3000:, 3].mean() == pytest.approx(0.4, rel=0.02)
    assert around.v[-2000:, 2].mean() == pytest.approx(0.4, rel=0.05)
    assert np.abs(ff.kinematics.loop_error(sim.robot, sim.q)).max() < 1e-9
    passive = [j for j in range(sim.robot.nj) if j not in actuated_joints(sim.robot).joints]
    assert not around["torque"][:, passive].any()
