"""The robot as a block x' = f(x, u), y = g(x, u) moves as the simulation does, contact included."""

import numpy as np
import pytest
from simulated_bodies import many_steps

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.dynamics.coordinates import difference
from footfall.errors import InputError
from footfall.sim.block import COORDINATES, Block
from footfall.sim.equations_of_motion import State
from footfall.sim.world import World

LAW = ff.contact.Compliant.as_printed(stiffness=6e4, exponent=1.3, damping=60.0)


def pressed(robot):
    """(q, v): a few degrees askew, all feet in the ground by less than a millimetre, moving."""
    q, v = robot.state("stand")
    q = q.copy()
    q[3:7] = np.array([1.0, 0.003, -0.004, 0.2]) / np.linalg.norm([1.0, 0.003, -0.004, 0.2])
    q[2] -= 1e-3
    return q, v + 0.05 * np.cos(np.arange(robot.nv))


def integrated(rate, x, dt, steps):
    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(x + dt / 2 * k1)
        k3 = rate(x + dt / 2 * k2)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + dt * k3))
    return x


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_block_moves_like_the_simulation_while_feet_press(coordinates):
    robot, slick = ff.load("xiling"), ff.contact.Plane(friction=0.0)  # stiction of both is too steep to compare runs
    block = Block(robot=robot, contact=LAW, ground=slick, joints=ff.sim.JointModel.ideal(), coordinates=coordinates)
    u = 2e-3 * robot.mass * np.cos(np.arange(robot.nj))
    q, v = pressed(robot)
    rate = ff.compile(Block.f, block)
    x = integrated(lambda x: rate(x, u), block.state(q, v), 1e-4, 50)
    state = many_steps(World(robot=robot, ground=slick, contact=LAW, joints=block.joints), "rk4")(
        State(q, v), JointCommand(torque=u), dt=1e-4, count=50
    )
    assert (block.contact_forces(state.q, state.v)[:, 2] > 0.3).sum() >= 2  # [N]
    assert np.abs(state.v - v).max() > 0.01
    q, v = block.configuration(x)
    assert np.abs(difference(robot, state.q, q)).max() < 1e-9
    assert np.abs(state.v - v).max() < 1e-7


def test_momentum_grows_by_weight_and_contact_forces():
    robot = ff.load("spined")
    block = Block(robot=robot, contact=LAW)
    x, u = block.state(*pressed(robot)), 0.5 * np.sin(np.arange(robot.nj))
    slope = block.f(x, u)

    def momentum(x):
        return ff.dynamics.momentum(robot, *block.configuration(x))[3:]

    grown = (momentum(x + 1e-4 * slope) - momentum(x - 1e-4 * slope)) / 2e-4
    forces = block.contact_forces(*block.configuration(x))
    assert np.abs(forces[:, :2]).max() > 1.0  # friction too [N]
    np.testing.assert_allclose(grown, forces.sum(axis=0) + robot.mass * np.array(block.gravity), atol=1e-4 * robot.mass)


def test_outputs_say_what_sensors_would():
    robot = ff.load("mini_cheetah")
    block = Block(robot=robot, contact=LAW)
    q, v = pressed(robot)
    x, u = block.state(q, v), np.linspace(-1.0, 1.0, robot.nj)
    y = dict(zip(block.output_names, block.g(x, u)))
    names = block.robot.joint_names
    assert [y[f"angle.{j}"] for j in names] == list(q[7:])
    assert [y[f"rate.{j}"] for j in names] == list(v[6:])
    forces = np.array([[y[f"force.{foot.name}.{axis}"] for axis in "xyz"] for foot in robot.feet])
    np.testing.assert_array_equal(forces, block.contact_forces(q, v))
    specific = np.array([y[f"specific_force.{axis}"] for axis in "xyz"])
    slope = dict(zip(block.state_names, block.f(x, u)))
    rate = np.array([slope[f"velocity.{axis}"] for axis in "xyz"]) + np.cross(v[:3], v[3:6])
    R_WB = ff.spatial.quaternion.to_rotation(q[3:7])
    np.testing.assert_allclose(specific, rate + R_WB.T @ [0, 0, 9.81], atol=1e-9)


def test_rates_are_the_printed_equations_where_nothing_touches():
    from footfall.dynamics.formalisms.state_space import euler_state_rate

    robot = ff.load("dynakat")
    block = Block(robot=robot, joints=ff.sim.JointModel.ideal())
    q, v = pressed(robot)
    q = q + np.concatenate([[0, 0, 1.0], np.zeros(robot.nq - 3)])
    x, u = block.state(q, v), np.linspace(-1.0, 1.0, robot.nj)
    np.testing.assert_allclose(block.f(x, u), euler_state_rate(robot, x, u), rtol=1e-9, atol=1e-9)


def test_compiled_block_and_its_free_parameters_agree_with_numpy():
    robot = ff.load("xiling")
    block = Block(robot=robot, contact=LAW, coordinates="quaternion")
    x, u = block.state(*pressed(robot)), 0.3 * np.ones(robot.nj)
    output = ff.compile(Block.g, block, free=["contact.stiffness"])
    stiffer = Block(
        robot=robot,
        contact=ff.contact.Compliant.as_printed(stiffness=9e4, exponent=1.3, damping=60.0),
        coordinates="quaternion",
    )
    np.testing.assert_allclose(output(x, u, {"contact.stiffness": 9e4}), stiffer.g(x, u), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"contact": ff.contact.Complementarity()}, "hard contact gives impulses"),
        ({"coordinates": "angles"}, "unknown coordinates of a block 'angles': choose euler, quaternion"),
    ],
)
def test_bad_blocks_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        Block(robot=ff.load("xiling"), **options)
