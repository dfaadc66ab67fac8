"""Dry friction: inclines, a ball that starts to roll, the same in every direction."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_bodies import IDEAL, G, ball, block, many_steps, resting_depth

import footfall as ff
from footfall.sim.equations_of_motion import State
from footfall.sim.step import INTEGRATORS
from footfall.sim.world import World
from footfall.spatial.quaternion import from_rotation

MU = 0.5
DT = 1e-5


def placed(world: World, height: float, velocity_C: tuple[float, float] = (0.0, 0.0)) -> State:
    """The robot on the plane, sunk as deep as its weight presses it, moving along the plane's own axes."""
    plane, feet = world.ground, world.robot.nf
    load = -world.robot.mass * float(plane.normal @ world.gravity) / feet
    q = np.concatenate([plane.normal * (height - resting_depth(world.contact, load)), from_rotation(plane.axes)])
    return State(q, np.array([0.0, 0.0, 0.0, *velocity_C, 0.0]))


@pytest.mark.parametrize("friction", ["isotropic", "per_axis"])
@pytest.mark.parametrize("feet", [1, 3, 4])
def test_block_sticks_on_a_gentle_incline(feet, friction):
    """tan θ < μ: held by regularised friction, so it creeps, but slower than the stick speed."""
    contact = ff.contact.Compliant(friction=friction)
    for degrees in (5.0, 20.0, 26.0):  # tan 26.57° = 0.5
        world = World(robot=block(feet), ground=ff.contact.Plane.slope(degrees, MU), contact=contact, joints=IDEAL)
        run = many_steps(world)
        settled = run(placed(world, 0.02), dt=1e-4, count=3000)
        later = run(settled, dt=1e-4, count=3000)
        creep = np.linalg.norm(later.q[:3] - settled.q[:3]) / 0.3
        assert creep < contact.stick_speed
        assert np.linalg.norm(later.v[3:6]) < contact.stick_speed


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("feet", [1, 3, 4])
@pytest.mark.parametrize("degrees", [28.0, 35.0, -45.0])
def test_block_slides_down_a_steep_incline_with_g_sin_minus_mu_cos(feet, integrator, degrees):
    angle = np.radians(abs(degrees))
    contact = ff.contact.Compliant(implicit=integrator == "linearly_implicit", damping=1e3)
    world = World(robot=block(feet), ground=ff.contact.Plane.slope(degrees, MU), contact=contact, joints=IDEAL)
    run = many_steps(world, integrator)
    first = run(placed(world, 0.02, (-0.1 * np.sign(degrees), 0.0)), dt=DT, count=20000)
    last = run(first, dt=DT, count=20000)
    downhill = -np.sign(degrees) * (last.v[3] - first.v[3]) / (20000 * DT)
    assert downhill == pytest.approx(G * (np.sin(angle) - MU * np.cos(angle)), rel=5e-4)


@pytest.mark.parametrize("azimuth", [40.0, 135.0, 250.0])
def test_block_slides_straight_downhill_on_a_plane_that_falls_in_any_direction(azimuth):
    angle, way = np.radians(35.0), np.radians(azimuth)
    normal = np.array([np.sin(angle) * np.cos(way), np.sin(angle) * np.sin(way), np.cos(angle)])
    world = World(robot=block(4), ground=ff.contact.Plane(MU, normal), contact=ff.contact.Compliant(), joints=IDEAL)
    run = many_steps(world)
    first = run(placed(world, 0.02), dt=DT, count=20000)
    last = run(first, dt=DT, count=20000)
    gained = world.ground.axes @ (last.v[3:6] - first.v[3:6]) / (20000 * DT)
    down = np.array([np.cos(angle) * np.cos(way), np.cos(angle) * np.sin(way), -np.sin(angle)])
    expected = G * (np.sin(angle) - MU * np.cos(angle))
    np.testing.assert_allclose(gained, expected * down, atol=5e-4 * expected)


@pytest.mark.parametrize("mu", [0.1, 0.4])
@pytest.mark.parametrize("radius", [0.05, 0.3])
def test_sliding_sphere_starts_to_roll_at_five_sevenths_of_its_speed(radius, mu):
    """Rolling starts at t = 2 v0 / (7 μ g); until then the speed falls by μ g, afterwards it stays."""
    speed = 1.0
    world = World(robot=ball(1.0, radius), ground=ff.contact.Plane(mu), contact=ff.contact.Compliant(), joints=IDEAL)
    run = many_steps(world)
    count = 200
    state, times, speeds, slips = placed(world, radius, (speed, 0.0)), [], [], []
    expected = 2 * speed / (7 * mu * G)
    for k in range(int(1.3 * expected / (count * DT))):
        state = run(state, dt=DT, count=count)
        v = world_velocity(state)
        times.append((k + 1) * count * DT)
        speeds.append(v[0])
        slips.append(v[0] - radius * world_spin(state)[1])
    slips, times = np.array(slips), np.array(times)
    sliding = slips > 0.02
    slope, offset = np.polyfit(times[sliding], slips[sliding], 1)
    assert -offset / slope == pytest.approx(expected, rel=1e-3)
    assert speeds[-1] == pytest.approx(5 / 7 * speed, rel=1e-3)
    assert abs(slips[-1]) < 1e-4


def world_velocity(state: State) -> np.ndarray:
    return ff.spatial.quaternion.to_rotation(state.q[3:7]) @ state.v[3:6]


def world_spin(state: State) -> np.ndarray:
    return ff.spatial.quaternion.to_rotation(state.q[3:7]) @ state.v[:3]


def slowed(friction: str, degrees: float) -> np.ndarray:
    """Mean deceleration of a block that slides at 1 m/s in a direction."""
    way = np.radians(degrees)
    world = World(
        robot=block(1), ground=ff.contact.Plane(MU), contact=ff.contact.Compliant(friction=friction), joints=IDEAL
    )
    first = placed(world, 0.02, (np.cos(way), np.sin(way)))
    last = many_steps(world)(first, dt=DT, count=4000)
    return (first.v[3:5] - last.v[3:5]) / (4000 * DT)


@pytest.mark.parametrize("degrees", range(0, 91, 5))
def test_isotropic_friction_is_the_same_in_every_direction(degrees):
    way = np.radians(degrees)
    slow = slowed("isotropic", degrees)
    np.testing.assert_allclose(slow, MU * G * np.array([np.cos(way), np.sin(way)]), atol=1e-3 * MU * G)


@pytest.mark.parametrize("degrees", [0, 20, 45, 70, 90])
def test_per_axis_friction_is_a_square_that_does_not_point_against_the_slip(degrees):
    """Eq. (38) as printed: each axis has the whole μ f_n, √2 of it on the diagonal."""
    way = np.radians(degrees)
    slow = slowed("per_axis", degrees)
    sides = np.array([np.cos(way) > 1e-9, np.sin(way) > 1e-9])
    np.testing.assert_allclose(slow, MU * G * sides, atol=5e-3 * MU * G)
