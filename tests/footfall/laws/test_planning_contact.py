"""Laws of contact for planning: it never pulls, stays on its cone, sinks and creeps as it says, and gives no energy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from cuda_on_processor import COMPILER, emulate, pointer
from recorded_steps import Steps, recorded_steps, trotted
from simulated_bodies import IDEAL, G, block
from third_party_models import walker

import footfall as ff
from footfall.contact import ForceLaw, Planning
from footfall.control.interface import JointCommand
from footfall.control.posture import with_stand
from footfall.dynamics.passive import joint_values
from footfall.robot import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.gpu import TickSource
from footfall.sim.joints import JointModel, torque_limits
from footfall.sim.world import World
from nptrace.ir.statements import all_loops

DTS = (1e-3, 2e-3, 5e-3, 1e-2)
steps = pytest.mark.parametrize("dt", DTS)
LAW = Planning()


@cache
def robot_of(name: str) -> Robot:
    return with_stand(walker(name))


@cache
def body(feet: int):
    return recorded_steps(World(robot=block(feet, 3.1), contact=LAW, joints=IDEAL))


@cache
def robot_steps(name: str):
    return recorded_steps(World(robot=robot_of(name), contact=LAW))


def check_cone(run: Steps) -> None:
    normal, tangential = run.forces[..., 2], np.hypot(run.forces[..., 0], run.forces[..., 1])
    assert np.isfinite(run.q).all()
    assert (normal >= 0.0).all()
    assert (tangential <= (1.0 + 1e-9) * run.friction * normal + 1e-9).all()


def resting(feet: int, mass: float = 3.1, velocity: tuple[float, float] = (0.0, 0.0)) -> State:
    depth = mass * G / feet / LAW.stiffness
    return State(np.array([0.0, 0.0, 0.02 - depth, 1.0, 0.0, 0.0, 0.0]), np.array([0, 0, 0, *velocity, 0.0]))


# -- forces at the end of every step ---------------------------------------------------------------------------------
@steps
@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat", "go2"])
def test_ground_never_pulls_and_no_force_leaves_its_cone(name, dt):
    robot = robot_of(name)
    q, v = robot.state("stand")
    hold = JointCommand(q[7:], 0.0, 0.5 * robot.mass * G, 0.012 * robot.mass * G, 0.0)
    for mu in (0.1, 0.9):
        for drop, sideways in ((0.06, 1.5), (0.15, -2.5)):
            start = State(q + drop * np.eye(len(q))[2], v + sideways * np.eye(len(v))[4])
            run = robot_steps(name)(start, round(0.4 / dt), dt=dt, friction=mu, command=hold)
            check_cone(run)
            assert run.impulse[2] > 0.8 * robot.mass * np.sqrt(2 * G * drop)  # it did land


@pytest.mark.parametrize("mu", [0.8, 0.2])
def test_feet_of_a_trot_are_within_their_cone_at_every_step(mu):
    check_cone(trotted(robot_of("mini_cheetah"), robot_steps("mini_cheetah"), 1.0, dt=5e-3, friction=mu))


# -- what softness costs ---------------------------------------------------------------------------------------------
@steps
def test_block_sinks_by_its_weight_over_the_stiffness(dt):
    start = State(np.array([0.0, 0.0, 0.02, 1.0, 0.0, 0.0, 0.0]), np.zeros(6))
    run = body(4)(start, round(2.0 / dt), dt=dt)
    assert 0.02 - run.q[-1][2] == pytest.approx(3.1 * G / 4 / LAW.stiffness, rel=1e-6)
    assert run.forces[-1][:, 2].sum() == pytest.approx(3.1 * G, rel=1e-6)


@steps
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_block_that_sticks_creeps_as_fast_as_it_says(part, dt):
    push = part * 0.6 * 3.1 * G
    run = body(4)(resting(4), round(1.0 / dt), dt=dt, friction=0.6, push=(0, 0, 0, 0.6 * push, 0.8 * push, 0))
    assert np.linalg.norm(run.velocity()) == pytest.approx(LAW.slip_speed * part / np.sqrt(1 - part**2), rel=1e-3)


@steps
@pytest.mark.parametrize("feet", [1, 4])
def test_block_slides_and_stops_as_coulomb_says(feet, dt):
    for mu in (0.2, 0.8):
        for speed in (0.5, 1.7):
            time, stop = speed / (mu * G), speed**2 / (2.0 * mu * G)
            start = resting(feet, velocity=(0.8 * speed, -0.6 * speed))
            run = body(feet)(start, int(1.5 * time / dt) + 40, dt=dt, friction=mu)
            check_cone(run)
            assert run.q[-1][:2] @ (0.8, -0.6) == pytest.approx(stop, abs=0.02 * stop + dt * speed)
            assert np.linalg.norm(run.velocity()) < LAW.slip_speed


@steps
def test_pushed_block_gains_what_the_push_has_over_friction(dt):
    for mu in (0.2, 0.8):
        push = 1.5 * mu * 3.1 * G
        run = body(4)(resting(4), round(0.2 / dt), dt=dt, friction=mu, push=(0, 0, 0, push, 0, 0))
        assert run.velocity()[0] == pytest.approx(0.5 * mu * G * 0.2, rel=0.02, abs=LAW.slip_speed)


# -- joints ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("dt", "share"), [(1e-3, 1e-3), (2e-3, 2e-3), (5e-3, 0.01), (1e-2, 0.04)])
def test_motors_keep_their_limits_but_for_a_small_share_of_steps(dt, share):
    """Targets far away, so that motors are at their limits for long."""
    robot, random = robot_of("mini_cheetah"), np.random.default_rng(5)
    q, v = robot.state("stand")
    over, saturated = [], 0
    for _ in range(6):
        command = JointCommand(q[7:] + 1.5 * random.normal(size=12), 0.0, 60.0, 1.0, 0.0)
        run = robot_steps("mini_cheetah")(State(q, v), round(0.3 / dt), dt=dt, command=command)
        assert np.isfinite(run.q).all()
        low, high = zip(*(torque_limits(robot, row[6:]) for row in run.v))
        beyond = np.maximum(run.motor - np.stack(high), np.stack(low) - run.motor)
        saturated += int((beyond > -1e-6).sum())
        over.append(beyond > 1.0)
    assert saturated > 100
    assert np.mean(over) < share


@steps
def test_dry_friction_slows_a_joint_by_its_torque_and_lets_it_creep_under_half_of_it(dt):
    """A wheel on a fixed base, 0.01 kg m², spun and let go; then pushed by half of its friction."""
    rotor = ff.robot.Link(name="wheel", mass=1.0, inertia=np.diag([0.01, 0.01, 0.01]))
    joint = ff.robot.Joint(
        name="axle", kind="revolute", parent="base", child="wheel", axis=np.array([0.0, 0.0, 1.0]), dry_friction=0.2
    )
    base = ff.robot.Link(name="base", mass=1.0, inertia=np.eye(3))
    robot = Robot(name="wheel", links=[base, rotor], joints=[joint], floating=False)
    run = recorded_steps(World(robot=robot, contact=LAW, joints=JointModel()))
    count = round(0.25 / dt)
    spun = run(State(np.zeros(1), np.array([10.0])), count, dt=dt)
    assert spun.v[-1][0] == pytest.approx(10.0 - 0.2 / 0.01 * count * dt, rel=0.03)
    assert np.abs(spun.passive).max() <= joint_values(robot, "dry_friction")[0] * (1.0 + 1e-9)
    stopped = run(State(np.zeros(1), np.array([10.0])), round(1.0 / dt), dt=dt)
    assert abs(stopped.v[-1][0]) < 1e-3
    held = run(State(np.zeros(1), np.zeros(1)), round(1.0 / dt), dt=dt, command=JointCommand(torque=0.1))
    assert held.v[-1][0] == pytest.approx(0.5 * 0.05, rel=1e-3)
    freed = run(State(np.zeros(1), np.zeros(1)), round(0.2 / dt), dt=dt, command=JointCommand(torque=0.6))
    assert freed.v[-1][0] == pytest.approx(0.4 / 0.01 * 0.2, rel=0.05)


# -- everywhere a contact model is -----------------------------------------------------------------------------------
def test_a_step_has_no_loop_and_all_robots_cost_the_same():
    sim = ff.Simulation(ff.load("mini_cheetah"), contact="planning")
    assert sim.model.world.contact == Planning()

    def held(state: State, targets: np.ndarray) -> State:
        command = JointCommand(targets, 0.0, 60.0, 1.0, 0.0).broadcast(12)
        return ff.sim.step.step(sim.model.world, state, command, np.zeros(6), 5e-3)[0]

    program = ff.program(held, None, State(sim.q, sim.v), sim.q[7:])
    assert not all_loops(program.body)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_robot_is_the_same_bit_for_bit_in_any_batch(dtype):
    robot, n = ff.load("mini_cheetah"), 37
    drops = 0.05 * np.random.default_rng(2).random(n)

    def ran(which: slice) -> np.ndarray:
        batch = ff.Batch(robot, len(drops[which]), dtype=dtype, contact=LAW, dt=5e-3, free=["trunk.mass"])
        batch.q[:, 2] += drops[which]
        batch.v[:, 4] = 20.0 * drops[which]
        batch.set({"trunk.mass": 3.0 + 20.0 * drops[which]})
        batch.run(60)
        return batch.q.copy()

    together = ran(slice(None))
    assert np.isfinite(together).all()
    for k in (0, 11, 36):
        np.testing.assert_array_equal(ran(slice(k, k + 1))[0], together[k])


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_the_step_in_cuda_is_the_one_on_lanes(tmp_path):
    robot, speeds, ticks = ff.load("mini_cheetah"), np.array([0.0, 0.3, -0.2]), 60
    trot = ff.control.JointPD.tuned(robot, "trot", rate=200)
    source = TickSource(robot, trot, dtype=np.float64, contact=LAW, dt=5e-3)
    library = emulate(source.program, source.layout, np.float64, tmp_path)
    first = source.numbers(source.first)
    state = np.ascontiguousarray(np.repeat(first[:, None], len(speeds), axis=1))
    state[np.arange(len(first))[source.rows("v")][4]] = speeds
    batch = ff.Batch(robot, len(speeds), trot, contact=LAW, dt=5e-3)
    commands = [ff.Command(**{key: x[k] for key, x in batch.command.items()}) for k in range(len(speeds))]
    inputs = [np.concatenate([source.numbers(command), np.zeros(6)]) for command in commands]
    rest = np.ascontiguousarray(np.transpose(inputs))
    library.run_advance(pointer(state), pointer(rest), None, ticks, len(speeds))
    batch.v[:, 4] = speeds
    batch.run(ticks)
    np.testing.assert_allclose(state[source.rows("q")].T, batch.q, rtol=0.0, atol=1e-8)


@dataclass(frozen=True, kw_only=True)
class Sponge(ForceLaw):
    """A user's own law without modes."""

    one_solve: ClassVar[bool] = True

    def law(self, depth, v_C, friction, dt):
        touches = np.where(depth > 0.0, 1.0, 0.0)
        slope, drag = touches * (50.0 + dt * 2e4), touches * 20.0
        force = np.array([-drag * v_C[0], -drag * v_C[1], touches * 2e4 * depth - slope * v_C[2]])
        return force, np.array([drag, drag, slope])


def test_a_users_own_law_may_do_without_modes():
    sim = ff.Simulation(ff.load("mini_cheetah"), contact=Sponge(), dt=2e-3)
    forces = sim.run(2.0).force
    assert (forces[:, :, 2] >= 0.0).all()
    assert forces[-1, :, 2].sum() == pytest.approx(sim.robot.mass * G, rel=1e-4)


def test_options_that_make_no_sense_are_refused():
    for key in ("stiffness", "slip_speed"):
        with pytest.raises(ff.InputError, match=f"{key.replace('_', ' ')} of planning contact"):
            Planning(**{key: 0.0})
    with pytest.raises(ff.InputError, match="damping of planning contact"):
        Planning(damping=-1.0)
