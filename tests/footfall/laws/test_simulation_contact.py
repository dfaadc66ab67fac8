"""Feet on the ground: weight while standing, step halving, a ground that never pulls."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from simulated_bodies import IDEAL, G, counted, many_steps

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.kinematics.forward import foot_positions
from footfall.robot import library
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import integrate_step
from footfall.sim.world import World

CHEETAH = ff.load("mini_cheetah")
EFFECTS = {"joint effects": JointModel(), "ideal joints": IDEAL}
FIRM = 1e4  # c_max [N s/m]; the paper's 10 is either per m or per mm


@pytest.mark.parametrize("name", library.names())
def test_standing_robot_is_carried_by_its_weight_for_a_minute(name, record_property):
    robot = ff.load(name)
    rec = ff.Simulation(robot, record_rate=10).run(60.0)
    assert rec.time[-1] == pytest.approx(60.0)
    vertical = rec.between(50.0, None).force[:, :, 2].sum(axis=1)
    np.testing.assert_allclose(vertical, robot.mass * G, rtol=1e-6)
    feet = [foot_positions(robot, rec.between(t, None).q[0])[:, :2] for t in (10.0, 60.0)]
    creep = np.linalg.norm(feet[1] - feet[0], axis=1).max() / 50.0
    record_property("creep [mm/s]", float(1e3 * creep))
    assert creep < ff.contact.Compliant().stick_speed  # regularised friction holds by creeping


def dropped(damping: float, sideways: float, joints: JointModel) -> Callable[[float], np.ndarray]:
    """Place of the trunk 0.5 s after a drop of 5 mm onto four feet, as a function of dt."""
    q, v = CHEETAH.state("stand")
    q[2] += 5e-3
    v[4] = sideways
    run = many_steps(World(robot=CHEETAH, contact=ff.contact.Compliant(damping=damping), joints=joints))
    command = JointCommand(q[7:].copy(), kp=40.0, kd=1.0)
    return lambda dt: run(State(q, v), command, dt=dt, count=round(0.5 / dt)).q[:3]


HALVINGS = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4)


@pytest.mark.parametrize("sideways", [0.0, 0.3])
@pytest.mark.parametrize("joints", EFFECTS.values(), ids=EFFECTS)
def test_halving_the_step_always_brings_the_trunk_nearer_to_the_limit(joints, sideways):
    place = dropped(FIRM, sideways, joints)
    limit = place(1e-5)
    errors = np.array([np.linalg.norm(place(dt) - limit) for dt in HALVINGS])
    # joints that dry friction holds rest anywhere within a band: below a tenth of a millimetre the order is chance
    floor = 1e-4 if joints.dry_friction else 0.0
    assert (np.diff(np.maximum(errors, floor)) <= 0).all(), errors
    assert errors[0] < (6e-3 if joints.dry_friction else 1.2e-3)  # at 4 ms dry joints and feet settle in late turns
    assert errors[1] < 1.2e-3
    assert errors[-1] < 1e-4


@pytest.mark.parametrize("sideways", [0.0, 0.3])
@pytest.mark.parametrize("joints", EFFECTS.values(), ids=EFFECTS)
def test_steps_too_long_for_a_ringing_contact_damp_it_and_stay_near(joints, sideways):
    """With c_max = 10 N s/m feet ring at 360 Hz, hardly damped: steps from 4 ms to 0.25 ms do not see it and lie on a
    plateau; finer ones converge."""
    place = dropped(10.0, sideways, joints)
    limit = place(5e-6)
    plateau = [np.linalg.norm(place(dt) - limit) for dt in HALVINGS]
    assert max(plateau[1:]) < 2.5e-3
    # at 4 ms dry joints that slide with a foot settle in late iterations: 3.5 mm, 2.5 before a sliding foot's friction
    # turned by the normal force that it was found to have
    assert plateau[0] < (4e-3 if joints.dry_friction else 2.5e-3)
    fine = np.array([np.linalg.norm(place(dt) - limit) for dt in (2.5e-4, 1e-4, 2.5e-5)])
    assert (np.diff(fine) < 0).all(), fine


@cache
def extremes_of_normal_force(contact: Any, joints: JointModel) -> Callable[[float], tuple[float, ...]]:
    """(least, greatest, time without any) for a dt, of a robot that jumps for 1 s; every step counts."""
    world, middle = World(robot=CHEETAH, contact=contact, joints=joints), CHEETAH.state("stand")[0][7:]
    swing = np.tile([0.0, 0.6, 1.2], 4)

    def jump(state: State, dt: float, count: float) -> Any:
        def once(k: float, carry: Any) -> Any:
            state, least, greatest, aloft = carry
            target = middle + swing * np.sin(2 * np.pi * 3.0 * k * dt)
            command = JointCommand(target, kp=80.0, kd=1.0).broadcast(12)
            after, acted, _ = integrate_step("linearly_implicit", world, state, command, np.zeros(6), dt)
            push = acted.forces[:, 2]
            up = aloft + np.where(np.max(push) <= 0.0, dt, 0.0)
            return after, np.minimum(least, np.min(push)), np.maximum(greatest, np.max(push)), up

        return counted(once, (state, np.inf, 0.0, 0.0), count)

    state = State(*CHEETAH.state("stand"))
    run = ff.compile(jump, None, state, 1e-3, 1.0, verify=False)
    return lambda dt: tuple(map(float, run(state, dt, round(1.0 / dt))[1:]))


@pytest.mark.parametrize("damping", [10.0, FIRM])
@pytest.mark.parametrize("joints", EFFECTS.values(), ids=EFFECTS)
def test_ground_never_pulls_through_lift_off_at_any_step(joints, damping):
    jump = extremes_of_normal_force(ff.contact.Compliant(damping=damping), joints)
    for dt in np.geomspace(1e-5, 4e-3, 14):
        least, greatest, aloft = jump(float(dt))
        assert least >= 0.0
        assert greatest > 200.0  # it did land
        assert aloft > 0.3  # it did lift off


def test_ground_never_pulls_with_square_friction_and_static_excess():
    contact = ff.contact.Compliant(friction="per_axis", static_ratio=1.3, damping=FIRM)
    jump = extremes_of_normal_force(contact, EFFECTS["joint effects"])
    for dt in (1e-4, 2e-3):
        least, _, aloft = jump(dt)
        assert least >= 0.0
        assert aloft > 0.3


@pytest.mark.parametrize("degrees", [0.0, 15.0, -20.0])
@pytest.mark.parametrize("azimuth", [0.0, 70.0])
def test_forces_on_a_robot_that_stands_on_any_plane_add_up_to_its_weight(degrees, azimuth):
    angle, way = np.radians(degrees), np.radians(azimuth)
    normal = np.array([-np.sin(angle) * np.cos(way), -np.sin(angle) * np.sin(way), np.cos(angle)])
    plane = ff.contact.Plane(0.9, normal, np.array([0.3, -0.2, 0.1]))
    q, v = CHEETAH.state("stand")
    q[:3] = plane.point + plane.normal * q[2]
    q[3:7] = ff.spatial.quaternion.from_rotation(plane.axes)
    world = World(
        robot=CHEETAH, ground=plane, contact=ff.contact.Compliant(damping=FIRM), joints=EFFECTS["joint effects"]
    )
    command = JointCommand(q[7:].copy(), kp=60.0, kd=2.0).broadcast(12)
    settled = many_steps(world)(State(q, v), command, dt=1e-3, count=4000)
    _, acted, _ = integrate_step("linearly_implicit", world, settled, command, np.zeros(6), 1e-3)
    np.testing.assert_allclose(acted.forces.sum(axis=0), [0.0, 0.0, CHEETAH.mass * G], atol=1e-3 * CHEETAH.mass * G)
    assert (acted.forces @ plane.normal > 0).all()
