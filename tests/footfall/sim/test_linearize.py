"""A and B of the compiled step: exact in minimal coordinates, and the same for one robot as for many."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

import footfall as ff
from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.control.interface import JointCommand
from footfall.dynamics.coordinates import difference, integrate
from footfall.errors import InputError
from footfall.robot import library
from footfall.sim.linearization import LinearStep, displace, join_state, split_state
from footfall.sim.linearization import state_deviation as deviation
from footfall.sim.tick import physics
from footfall.sim.world import World
from footfall.spatial import quaternion
from footfall_lab.verify.daqp_locomotion import LocomotionByDaqp


@functools.cache
def settled(name):
    """A robot that has stood for a moment, and its linearised step."""
    sim = ff.Simulation(library.load(name))
    sim.run(0.3)
    return LinearStep(sim.model.world), sim.q, sim.v


def around(step, q, v, command, push):
    """(A, B) and the same by central differences of the step, extrapolated (Richardson) to remove their h² error.

    They reach 4e-8 far: the settled robot with a spine has a foot whose mode changes 1e-7 to 2e-7 m away.
    """
    robot, lin = step.robot, step(q, v, command, push)
    nv = robot.nv

    def slopes(h):
        moves = np.concatenate([h * np.eye(2 * nv + step.nu), -h * np.eye(2 * nv + step.nu)])
        starts = np.stack([integrate(robot, q, d[:nv], 1.0) for d in moves])
        pushes, asked, at = np.tile(push, (len(moves), 1)), dict(vars(command.broadcast(robot.nj))), 2 * nv
        for name, width in zip(step.by, step.widths):
            if name == "push":
                pushes = pushes + moves[:, at : at + width]
            else:
                asked[name] = asked[name] + moves[:, at : at + width]
            at += width
        ends, rates = step.step(starts, v + moves[:, nv : 2 * nv], ff.JointCommand(**asked), pushes)
        away = np.stack([np.concatenate([difference(robot, lin.q, e), r - lin.v]) for e, r in zip(ends, rates)])
        return ((away[: len(away) // 2] - away[len(away) // 2 :]) / (2 * h)).T

    return np.concatenate([lin.A, lin.B], axis=1), (4 * slopes(2e-8) - slopes(4e-8)) / 3


def assert_exact(step, q, v, command, push=None):
    exact, differences = around(step, q, v, command, np.zeros(6) if push is None else push)
    assert np.abs(exact - differences).max() < 1e-5 * np.abs(exact).max()
    return exact


ROBOTS = [name if name == "mini_cheetah" else pytest.param(name, marks=pytest.mark.slow) for name in library.names()]


@pytest.mark.parametrize("name", ROBOTS)
def test_derivatives_of_the_step_are_those_of_central_differences_in_stance_and_in_the_air(name):
    step, q, v = settled(name)
    robot, random = step.robot, np.random.default_rng(3)
    command = ff.JointCommand(q[7:], kp=30.0, kd=0.5, torque=random.normal(size=robot.nj))
    stance = assert_exact(step, q, v + 1e-3 * random.normal(size=robot.nv), command)
    high = integrate(robot, q, 0.4 * random.normal(size=robot.nv), 1.0) + np.eye(robot.nq)[2]
    air = assert_exact(step, high, random.normal(size=robot.nv), command)
    assert np.abs(stance).max() > 20 * np.abs(air).max()  # the ground is felt in the one, not in the other


def bent(robot, q, **joints):
    """q with all joints of a name set, and the lowest foot 0.04 mm in the ground."""
    q = q.copy()
    for name, angle in joints.items():
        q[7:] = np.where([name in joint for joint in robot.joint_names], angle, q[7:])
    feet = ff.kinematics.foot_positions(robot, q)[:, 2] - np.array([foot.radius for foot in robot.feet])
    q[2] -= feet.min() + 4e-5
    return q


@pytest.mark.parametrize("state", ["slip", "touchdown", "end stops", "straight legs", "a foot let go"])
def test_derivatives_of_the_step_are_those_of_central_differences_wherever_its_modes_do_not_change(state):
    step, q, v = settled("mini_cheetah")
    robot, random = step.robot, np.random.default_rng(8)
    v, command = 0.02 * random.normal(size=robot.nv), ff.JointCommand(q[7:], kp=30.0, kd=0.5)
    if state == "slip":  # sideways over the ground, pressed on it
        v[3:6] += [0.4, 0.3, -0.02]
    elif state == "touchdown":
        q, v = bent(robot, q), v + np.eye(robot.nv)[5] * -0.8
    elif state == "end stops":
        q = bent(robot, q, knee=robot.joints[2].upper + 0.02)
    elif state == "straight legs":
        q = bent(robot, q, hip=0.0, knee=0.0)
    else:
        v[5] += 0.3
    assert_exact(step, q, v, command)


def test_derivatives_hold_on_a_slope_by_every_input_and_over_several_steps():
    _, q, v = settled("mini_cheetah")
    robot = library.load("mini_cheetah")
    ground = Plane.slope(8.0)
    turned = quaternion.multiply(quaternion.from_rotation(ground.frame(np.zeros(3))), q[3:7])
    q = np.concatenate([ground.frame(np.zeros(3)) @ q[:3], turned, q[7:]])
    step = LinearStep(World(robot=robot, ground=ground), 5e-4, by=("position", "torque", "push"), steps=3)
    command = ff.JointCommand(q[7:] + 0.02, kp=30.0, kd=0.5)
    exact = assert_exact(step, q, v, command, push=np.array([0.1, 0.2, 0.3, 3.0, 2.0, 1.0]))
    by_position, by_torque = np.split(exact[:, 2 * robot.nv :], [robot.nj, 2 * robot.nj], axis=1)[:2]
    assert np.abs(by_position - 30.0 * by_torque).max() < 1e-9 * np.abs(by_position).max()  # τ = kp (q_d - q) + ...


def test_one_robot_has_the_same_derivatives_bit_for_bit_in_any_company():
    step, q, _ = settled("mini_cheetah")
    robot, random = step.robot, np.random.default_rng(5)
    many = np.stack([integrate(robot, q, 0.01 * random.normal(size=robot.nv), 1.0) for _ in range(11)])
    rates, torques = 0.1 * random.normal(size=(11, robot.nv)), random.normal(size=(11, robot.nj))
    whole = step(many, rates, ff.JointCommand(torque=torques))
    assert whole.A.shape == (11, 36, 36)
    assert whole.B.shape == (11, 36, 12)
    for k in (0, 4, 10):
        alone = step(many[k], rates[k], ff.JointCommand(torque=torques[k]))
        for key in ("A", "B", "q", "v"):
            assert np.array_equal(getattr(alone, key), getattr(whole, key)[k]), key


def test_nothing_depends_on_where_on_the_plane_the_robot_stands_or_which_way_it_looks():
    step, q, v = settled("mini_cheetah")
    lin = step(q, v, ff.JointCommand(q[7:], kp=30.0, kd=0.5))
    A = lin.A
    turn = np.array([np.cos(0.4), 0.0, 0.0, np.sin(0.4)])
    elsewhere = np.concatenate(
        [quaternion.to_rotation(turn) @ q[:3] + [3.0, -2.0, 0.0], quaternion.multiply(turn, q[3:7]), q[7:]]
    )
    assert np.abs(step(elsewhere, v, ff.JointCommand(q[7:], kp=30.0, kd=0.5)).A - A).max() < 1e-6 * np.abs(A).max()
    before, after = (quaternion.to_rotation(quat[3:7]).T for quat in (q, lin.q))  # world axes to base axes
    along = np.zeros((36, 3))
    still = along.copy()
    along[3:6, :2], still[3:6, :2] = before[:, :2], after[:, :2]
    along[:3, 2], still[:3, 2] = before[:, 2], after[:, 2]  # a turn about the vertical, through the trunk
    still[3:6, 2] = after @ np.cross([0.0, 0.0, 1.0], lin.q[:3] - q[:3])
    assert np.abs(A @ along - still).max() < 1e-13 * np.abs(A).max()


def test_linearise_takes_a_simulation_and_keeps_what_it_compiled():
    sim = ff.Simulation(library.load("mini_cheetah"))
    first = ff.linearize(sim, sim.q, sim.v)
    again = ff.linearize(sim, sim.q, sim.v)
    assert np.array_equal(first.A, again.A)
    sim.run(1e-3)
    moved = ff.Simulation(library.load("mini_cheetah"))
    asked = moved.controller(
        0.0, moved.robot, ff.Sensed(q=moved.q, v=moved.v, forces=np.zeros((4, 3))), ff.Command(), {}
    )[0]
    lin = ff.linearize(moved, moved.q, moved.v, asked)
    assert np.allclose(lin.q, sim.q, rtol=0, atol=1e-14)  # it is the simulator's own step


@pytest.mark.slow
def test_a_simulation_without_a_state_is_its_closed_loop_and_the_controller_is_in_it():
    """The same derivative as of ``linearize_loop``; joint PD is taken implicitly, so that of the robot it is A."""
    robot = library.load("mini_cheetah")
    sim = ff.Simulation(robot, ff.control.Hold("stand", kp=40.0, kd=1.0))
    sim.run(0.01)
    loop = ff.linearize(sim)
    np.testing.assert_array_equal(loop.A, ff.sim.linearize_loop(sim).A)
    asked = sim.controller(0.0, robot, ff.Sensed(q=sim.q, v=sim.v, forces=np.zeros((4, 3))), ff.Command(), {})[0]
    step = ff.linearize(sim, sim.q, sim.v, asked)
    np.testing.assert_allclose(loop.of_robot(), step.A, rtol=0, atol=1e-9 * np.abs(step.A).max())
    twice = ff.linearize(sim, ticks=2)
    assert twice.A.shape == loop.A.shape
    assert np.abs(twice.A - loop.A).max() > 1e-3


def test_a_closed_loop_takes_no_state_and_a_step_needs_one():
    sim = ff.Simulation(library.load("mini_cheetah"))
    with pytest.raises(InputError, match="closed loop has its own command"):
        ff.linearize(sim, by="push")
    with pytest.raises(InputError, match=r"a closed loop is linearize"):
        ff.linearize(sim.model.world)
    with pytest.raises(InputError, match="takes steps="):
        ff.linearize(sim, sim.q, sim.v, ticks=2)
    with pytest.raises(InputError, match="at least 1, got 0"):
        ff.linearize(sim, ticks=0)
    outside = ff.Simulation(library.load("mini_cheetah"), LocomotionByDaqp())
    with pytest.raises(InputError, match="LocomotionByDaqp runs in Python: it has no derivative"):
        ff.linearize(outside)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": np.zeros(18)}, r"q must have shape \(19,\) or \(n, 19\), got \(18,\)"),
        ({"q": np.zeros(19)}, "quaternion of state 0 is not of length 1"),
        ({"v": np.full(18, np.nan)}, "v has a value that is not finite"),
        ({"v": np.zeros((0, 18))}, "no robots to linearise"),
        ({"v": np.zeros((3, 18)), "push": np.zeros((2, 6))}, "number of robots differs: 3 of v, 2 of push"),
        ({"command": ff.JointCommand(torque="hard")}, "torque must hold numbers"),
    ],
)
def test_bad_states_are_refused_with_one_sentence(change, words):
    step, q, v = settled("mini_cheetah")
    with pytest.raises(InputError, match=words):
        step(**{"q": q, "v": v, **change})


def test_unknown_inputs_and_worlds_are_refused():
    robot = library.load("mini_cheetah")
    with pytest.raises(InputError, match=r"torqe.*torque"):
        LinearStep(World(robot=robot), by="torqe")
    with pytest.raises(InputError, match="a World or a Simulation, not Robot"):
        ff.linearize(robot, *robot.state())
    with pytest.raises(InputError, match="dt must lie"):
        ff.linearize(World(robot=robot), *robot.state(), dt=0.0)
    with pytest.raises(InputError, match="has its own dt"):
        ff.linearize(ff.Simulation(robot), *robot.state(), steps=4)


@pytest.mark.slow
def test_a_simulation_is_linearised_with_its_own_integrator():
    stiff = Compliant(damping=10.0, implicit=False)
    sim = ff.Simulation(library.load("mini_cheetah"), contact=stiff, integrator="heun", dt=1e-4)
    at, body = ff.linearize(sim, sim.q, sim.v), replace(sim.state, q=sim.q, v=sim.v)
    after = physics(sim.model.physics, body, JointCommand().broadcast(12), np.zeros(6))
    np.testing.assert_allclose(at.q, after.q, atol=1e-12)
    np.testing.assert_allclose(at.v, after.v, atol=1e-9)
    euler = ff.linearize(sim.model.world, sim.q, sim.v, dt=1e-4, steps=sim.model.substeps)
    assert np.abs(euler.v - at.v).max() > 1e-6


def test_rotation_vector_traces_and_undoes_rotated_for_any_turn():
    random = np.random.default_rng(2)
    slope = ff.jacobian(
        lambda turn: quaternion.rotation_vector(quaternion.rotated(np.array([1.0, 0, 0, 0]), turn)),
        None,
        np.zeros(3),
        wrt="turn",
    )
    for length in (0.0, 1e-9, 1e-4, 0.019, 0.021, 0.5, 3.0):
        turn = random.normal(size=3)
        turn *= length / np.linalg.norm(turn)
        back = quaternion.rotation_vector(quaternion.rotated(np.array([1.0, 0, 0, 0]), turn))
        assert np.abs(back - turn).max() < 1e-14 * max(1.0, 10 * length)
        assert np.abs(slope(turn) - np.eye(3)).max() < 1e-10


# -- free bodies -------------------------------------------------------------------------------------------------------
def hopper():
    """A weight on a vertical slide with a foot: few joints, and it touches what lies below."""
    links = [
        ff.Link(name="rail", mass=1.0, inertia=np.eye(3)),
        ff.Link(name="weight", mass=2.0, inertia=0.01 * np.eye(3)),
    ]
    slide = ff.Joint(name="slide", kind="prismatic", parent="rail", child="weight", axis=np.array([0.0, 0.0, 1.0]))
    return ff.Robot(
        name="hopper",
        links=links,
        joints=[slide],
        feet=[ff.Foot(name="LF", link="weight", position=np.zeros(3), radius=0.02)],
        actuators=[ff.Actuator(joint="slide")],
        floating=False,
    )


@pytest.mark.slow
def test_derivatives_with_a_ball_beside_the_robot_are_those_of_central_differences():
    """The foot lies on the ball and pushes it down: what the robot does moves the ball, and the other way round."""
    ball = ff.FreeBall(
        radius=0.1, mass=0.5, position=(0.002, 0.001, 0.09995), velocity=(0.3, 0.1, 0.0), omega=(0.2, 1.0, 0.1)
    )
    sim = ff.Simulation(hopper(), objects=[ball], start=([0.2199], [0.0]))
    q, v = ff.sim.whole_state(sim)
    assert (len(q), len(v)) == (8, 7)
    step, command = LinearStep(sim), JointCommand(torque=np.array([-2.0])).broadcast(1)
    world, nv, lin = sim.model.world, 7, step(q, v, command)

    def slopes(h):
        moves = np.concatenate([h * np.eye(2 * nv + 1), -h * np.eye(2 * nv + 1)])
        starts = np.stack([displace(world, q, d[:nv]) for d in moves])
        asked = replace(command, torque=command.torque + moves[:, 2 * nv :])
        ends, rates = step.step(starts, v + moves[:, nv : 2 * nv], asked)
        away = np.stack([np.concatenate([deviation(world, lin.q, e), r - lin.v]) for e, r in zip(ends, rates)])
        return ((away[: len(away) // 2] - away[len(away) // 2 :]) / (2 * h)).T

    exact, found = np.concatenate([lin.A, lin.B], axis=1), (4 * slopes(2e-8) - slopes(4e-8)) / 3
    assert np.abs(exact - found).max() < 1e-5 * np.abs(exact).max()
    assert np.abs(lin.A[nv : nv + 1, nv + 1 :]).max() > 1e-3  # of the weight's rate by the ball's
    assert np.abs(lin.B[nv + 1 :]).max() > 1e-6  # of the ball's rate by the motor


def test_a_state_of_robot_and_bodies_comes_apart_as_it_was_joined():
    sim = ff.Simulation(
        hopper(),
        objects=[
            ff.FreeBall(radius=0.1, mass=0.5, position=(1.0, 0.0, 0.1)),
            ff.FreeBall(radius=0.1, mass=0.5, position=(2, 0, 0.1)),
        ],
        start=([0.2], [0.0]),
    )
    world, (q, v) = sim.model.world, ff.sim.whole_state(sim)
    own_q, own_v, objects = split_state(world, q, v)
    np.testing.assert_array_equal(objects, np.stack([body.start for body in world.objects]))
    for joined_again, whole in zip(join_state(own_q, own_v, objects), (q, v)):
        np.testing.assert_array_equal(joined_again, whole)
    change = 0.1 * np.random.default_rng(0).normal(size=len(v))
    np.testing.assert_allclose(deviation(world, q, displace(world, q, change)), change, atol=1e-12)
