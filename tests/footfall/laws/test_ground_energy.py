"""Grounds give no energy: a passive body that has left the ground has no more than at its start, on any ground and law.

Balls are thrown onto every kind of ground, with and without friction. Kinetic plus gravitational energy is looked at
whenever the ball is clear of the ground, and at every step where contact is hard and stores none.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from simulated_bodies import IDEAL, ball, counted

import footfall as ff
from footfall import compiling
from footfall.contact import Box, Boxes, Complementarity, Compliant, Heightfield, Plane, Stance, Steps
from footfall.control.interface import JointCommand
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.kinematics.forward import body_poses
from footfall.sim.equations_of_motion import State
from footfall.sim.step import integrate_step
from footfall.sim.world import World

MASS, RADIUS, FALL = 1.7, 0.023, 0.09  # [kg], [m], [m]
SCALE = MASS * 9.81 * FALL  # [J], what is moved at every throw


def crease(degrees: float, smooth: bool) -> Heightfield:
    """Level up to x = 0.25 m, then a slope: its crease lies on a row of nodes."""
    x = 0.05 * np.arange(40) - 1.0
    heights = np.maximum(x - 0.25, 0.0) * np.tan(np.radians(degrees))
    return Heightfield(np.tile(heights[:, None], (1, 30)), 0.05, np.array([-1.0, -0.7]), smooth=smooth)


def bumps(smooth: bool) -> Heightfield:
    heights = 0.03 * np.random.default_rng(12).uniform(-1, 1, (24, 20))
    return Heightfield.centred(heights, 0.08, smooth=smooth)


GROUNDS: dict[str, Any] = {
    "plane": Plane(),
    "slope": Plane.slope(13.0),
    "steps": Steps.flight(0.05, tread=0.2, start=0.0),
    "crease": crease(30.0, False),
    "ridge": crease(-30.0, False),
    "smooth crease": crease(30.0, True),
    "bilinear": bumps(False),
    "smooth": bumps(True),
    "rough": Heightfield.rough(0.15, seed=3, flat=0.0, size=(6.0, 4.0)),
    "boxes": Boxes(Plane(), [Box((0.1, 0, 0.05), (0.3, 0.4, 0.1), yaw=0.4), Box((-0.2, 0.1, 0.02), (0.2, 0.2, 0.08))]),
}
# law, integrator, step [s], duration [s]; explicit friction needs such short steps to be stable
IMPLICIT = {
    "implicit 1 ms": (Compliant(), "linearly_implicit", 1e-3, 0.6),
    "implicit 4 ms": (Compliant(), "linearly_implicit", 4e-3, 0.6),
    "little damping": (Compliant(damping=100.0), "linearly_implicit", 1e-3, 0.6),
}
EXPLICIT = {
    "explicit": (Compliant(implicit=False), "semi_implicit_euler", 2e-7, 0.2),
    "as printed": (Compliant.as_printed(), "semi_implicit_euler", 2e-7, 0.2),
}
HARD = {
    "complementarity": (Complementarity(), "linearly_implicit", 1e-3, 0.6),
    "bouncing": (Complementarity(restitution=0.8), "linearly_implicit", 2e-3, 0.6),
}
SPRING = (Compliant(implicit=False, damping=0.0), "rk4", 5e-6, 0.4)
STICKING = (Stance(), "linearly_implicit", 1e-3, 0.6)


def throws(ground: Any, count: int = 6) -> list[State]:
    """Balls over the ground, on their way down and along, that turn."""
    rng, found = np.random.default_rng(8), []
    for _ in range(count):
        x, y = rng.uniform(-0.3, 0.35), rng.uniform(-0.3, 0.3)
        top = np.array([x, y, 1.0])
        while float(ground.distance(top)) > RADIUS + rng.uniform(0.002, 0.03):
            top[2] -= 1e-3
        v = np.array([*rng.uniform(-8.0, 8.0, 3), *rng.uniform(-1.2, 1.2, 2), rng.uniform(-0.8, 0.2)])
        found.append(State(np.concatenate([top, [1.0, 0.0, 0.0, 0.0]]), v))
    return found


def highest(ground: str, law: tuple[Any, str, float, float]) -> Any:
    """f(state, friction): the highest energy less that at the start [J], while clear of the ground or on a hard one."""
    contact, integrator, dt, duration = law
    compiled, energy = thrown(ground, contact, integrator)
    return lambda state, friction: compiled(state, friction, float(round(duration / dt)), dt) - float(energy(state))


@cache
def thrown(ground: str, contact: Any, integrator: str) -> tuple[Any, Any]:
    """(highest energy by state, friction, number and length of steps; energy of a state)."""
    body, hard = ball(MASS, RADIUS), getattr(contact, "hard", False)
    world = World(robot=body, ground=GROUNDS[ground], contact=contact, joints=IDEAL)
    nothing = JointCommand().broadcast(0)

    def energy(state: State) -> Any:
        return kinetic_energy(body, state.q, state.v) + potential_energy(body, state.q, world.gravity)

    def run(state: State, friction: float, count: float, dt: float) -> Any:
        inner = "ground.ground.friction" if isinstance(GROUNDS[ground], Boxes) else "ground.friction"
        here = world.with_parameters({inner: friction})

        def once(_: float, carry: Any) -> Any:
            state, most = carry
            after = integrate_step(integrator, here, state, nothing, np.zeros(6), dt)[0]
            clear = here.ground.distance(body_poses(body, after.q)[0].p) >= RADIUS
            seen = energy(after) if hard else np.where(clear, energy(after), -np.inf)
            return after, np.maximum(most, seen)

        start = State(state.q, state.v, contact.start(world.spheres))
        return counted(once, (start, -np.inf), count)[1]

    first = throws(GROUNDS[ground], 1)[0]
    return ff.compile(run, None, first, 0.1, 1.0, 1e-3, verify=False), energy


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize(
    "law", [name if "4 ms" not in name else pytest.param(name, marks=pytest.mark.slow) for name in (*HARD, *IMPLICIT)]
)
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_thrown_ball_never_has_more_energy_than_at_its_start(ground, law, friction):
    most = highest(ground, (HARD | IMPLICIT)[law])
    assert max(most(state, friction) for state in throws(GROUNDS[ground])) < 1e-9 * SCALE


@pytest.mark.parametrize("ground", ["plane", "steps", "crease", "smooth crease", "bilinear", "rough"])
@pytest.mark.parametrize(("law", "friction"), [("explicit", 0.0), ("as printed", 0.0), ("explicit", 0.5)])
def test_thrown_ball_never_has_more_energy_with_explicit_steps_small_enough(ground, law, friction):
    most = highest(ground, EXPLICIT[law])
    assert max(most(state, friction) for state in throws(GROUNDS[ground], 3)) < 1e-7 * SCALE


@pytest.mark.parametrize("ground", GROUNDS)
def test_ground_that_is_a_spring_gives_back_what_it_took(ground):
    """Undamped, so that nothing hides a gain. Over fields the length of the distance's gradient is not exactly 1."""
    most = highest(ground, SPRING)
    gains = [most(state, 0.0) for state in throws(GROUNDS[ground], 8)]
    assert max(gains) < (2e-3 if isinstance(GROUNDS[ground], Heightfield) else 1e-6) * SCALE


@pytest.mark.parametrize("ground", [name for name in GROUNDS if name != "steps"])
def test_ball_that_sticks_and_rolls_never_has_more_energy_than_at_its_start(ground):
    most = highest(ground, STICKING)
    assert max(most(state, 0.8) for state in throws(GROUNDS[ground])) < 1e-9 * SCALE


@pytest.mark.parametrize("degrees", [20.0, 30.0])
@pytest.mark.parametrize("dt", [1e-3, 1e-5])
def test_crease_does_not_lift_a_ball_that_slides_into_it(degrees, dt):
    """Without gravity and friction, at 0.5 m/s: it may lose at the crease, it must not gain."""
    sim = ff.Simulation(
        ball(2.0, 0.02),
        ground=crease_without_friction(degrees),
        dt=dt,
        gravity=(0, 0, 0),
        stop_on_fall=False,
        record_rate=1000.0,
        start=(np.array([0.15, 0.012, 0.02, 1, 0, 0, 0]), np.array([0, 0, 0, 0.5, 0, 0])),
    )
    rec = sim.run(0.6)
    energies = [float(kinetic_energy(rec.robot, q, v)) for q, v in zip(rec.q, rec.v)]
    assert max(energies) <= 0.25 + 1e-12
    assert rec.q[-1, 0] > 0.3  # it is past the crease
    assert rec.q[-1, 2] > 0.03


def crease_without_friction(degrees: float) -> Heightfield:
    field = crease(degrees, False)
    return Heightfield(field.heights, field.spacing, field.corner, 0.0)


def test_tables_that_differ_from_robot_to_robot_give_no_energy():
    """Eight balls of a batch, each over heights of its own, bilinear and smooth."""
    body, nothing = ball(MASS, RADIUS), JointCommand().broadcast(0)
    for smooth in (False, True):
        world = World(
            robot=body, ground=Heightfield.centred(np.zeros((9, 8)), 0.09, friction=0.2, smooth=smooth), joints=IDEAL
        )

        def step(world: World, state: State) -> State:
            return integrate_step("linearly_implicit", world, state, nothing, np.zeros(6), 1e-3)[0]

        rng = np.random.default_rng(31)
        heights = 0.04 * rng.uniform(-1, 1, (8, 9, 8))
        q = np.tile([0.0, 0.0, 0.14, 1.0, 0.0, 0.0, 0.0], (8, 1))
        q[:, :2] = rng.uniform(-0.1, 0.1, (8, 2))
        v = np.concatenate([rng.uniform(-5, 5, (8, 3)), rng.uniform(-0.4, 0.4, (8, 3))], axis=1)
        state = State(q, v)
        batch = compiling.compile(step, world, State(q[0], v[0]), target="batch", free=["ground.heights"])
        start = 0.5 * MASS * (v[:, 3:] ** 2).sum(axis=1) + 0.2 * MASS * RADIUS**2 * (v[:, :3] ** 2).sum(axis=1)
        start += MASS * 9.81 * q[:, 2]
        touched = np.zeros(8, dtype=bool)
        for _ in range(400):
            state = batch(state, {"ground.heights": heights})
            kinetic = 0.5 * (state.v[:, 3:] ** 2).sum(axis=1) + 0.2 * RADIUS**2 * (state.v[:, :3] ** 2).sum(axis=1)
            own = [Heightfield.centred(table, 0.09, smooth=smooth) for table in heights]
            clear = np.array([g.distance(p) >= RADIUS for g, p in zip(own, state.q[:, :3])])
            touched |= ~clear
            assert (MASS * (kinetic + 9.81 * state.q[:, 2]) < start + 1e-9 * SCALE)[clear].all()
        assert touched.all()
