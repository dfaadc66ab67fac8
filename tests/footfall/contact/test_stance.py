"""Standing feet as constraints: forces of the KKT system, impact map at touchdown, release, mode in the recording."""

from __future__ import annotations

import numpy as np
import pytest
from hard_bodies import G, caltrop, placed, random_drops
from simulated_bodies import IDEAL, ball, block, many_steps

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.dynamics.formalisms.constrained import constrained_dynamics, contact_jacobian, impact_map
from footfall.dynamics.forward_dynamics import bias_terms
from footfall.errors import InputError
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import step
from footfall.sim.world import World

CHEETAH = ff.load("mini_cheetah")
TORQUES = JointModel.ideal()


def grounded(height: float = 0.0) -> State:
    q, v = CHEETAH.state("stand")
    q[2] += height
    world = World(robot=CHEETAH, contact=ff.contact.Stance())
    return State(q, v, world.contact.start(world.spheres))


def test_forces_are_those_of_the_constrained_dynamics():
    """A small step from rest: velocity constraint and J a + dJ/dt v = 0 are then the same."""
    world = World(robot=CHEETAH, contact=ff.contact.Stance(stabilisation=0.0, damping=0.0), joints=TORQUES)
    state = grounded()
    J = contact_jacobian(CHEETAH, state.q, "contact", world.ground.axes)
    carried = J.T @ np.tile([0.0, 0.0, CHEETAH.mass * G / 4], 4)
    tau = (bias_terms(CHEETAH, state.q, state.v) - carried)[6:] + 0.1 * np.random.default_rng(0).normal(size=12)
    all_stand = {"mode": np.ones(4), "excess": np.zeros(()), "misses": np.zeros(())}
    _, acted, _ = step(
        world, State(state.q, state.v, all_stand), JointCommand(torque=tau).broadcast(12), np.zeros(6), 1e-6
    )
    _, forces = constrained_dynamics(
        CHEETAH, state.q, state.v, tau, np.ones(4), frame="contact", R_WC=world.ground.axes
    )
    assert (forces[:, 2] > 0).all()
    np.testing.assert_allclose(acted.forces, forces, atol=1e-6)


def test_touchdown_is_the_impact_map():
    """Feet that come in fast, no gravity and no torque: v⁺ is that of
    ``dynamics.formalisms.constrained.impact_map``.
    """
    world = World(robot=CHEETAH, contact=ff.contact.Stance(damping=0.0), joints=TORQUES, gravity=(0.0, 0.0, 0.0))
    state = grounded(-1e-9)
    v = np.zeros(CHEETAH.nv)
    v[3:6] = 0.1, 0.05, -0.5
    after, acted, done = step(world, State(state.q, v, state.memory), JointCommand().broadcast(12), np.zeros(6), 1e-7)
    expected, impulses = impact_map(CHEETAH, state.q, v, np.ones(4), frame="contact", R_WC=world.ground.axes)
    assert (after.memory["mode"] == 1).all()
    np.testing.assert_allclose(after.v, expected, atol=1e-6)
    np.testing.assert_allclose(1e-7 * acted.forces, impulses, atol=1e-6)
    assert done.work[2] < 0


def test_foot_that_the_robot_lifts_is_released_and_not_pulled():
    world = World(robot=CHEETAH, contact=ff.contact.Stance())
    q = grounded().q
    command = JointCommand(q[7:], kp=40.0, kd=1.0).broadcast(12)
    state = many_steps(world)(grounded(), command, dt=1e-3, count=500)
    np.testing.assert_allclose(state.memory["mode"], 1.0)
    lifted = q[7:].copy()
    lifted[1] -= 0.3  # the left front leg, bent
    lifted[2] += 0.6
    lift = JointCommand(lifted, kp=40.0, kd=1.0).broadcast(12)
    seen = []
    for _ in range(60):
        state, acted, _ = step(world, state, lift, np.zeros(6), 1e-3)
        seen.append(state.memory["mode"])
        assert (acted.forces[:, 2] >= 0).all()
        assert np.abs(acted.forces[state.memory["mode"] < 0.5][:, :2]).max(initial=0.0) < 1e-12
    assert seen[-1][0] == 0
    assert acted.forces[0, 2] == 0
    assert seen[-1][1:].sum() >= 2


def test_mode_is_recorded_and_friction_beyond_the_cone_reported():
    controller = ff.control.JointPD.tuned(CHEETAH, choice="B")
    contact = ff.contact.Stance()
    rec = ff.Simulation(CHEETAH, controller, contact=contact, ground=ff.contact.Plane(0.1)).run(2.0)
    assert set(np.unique(rec["mode"])) == {0.0, 1.0}
    assert rec["mode"].shape == (len(rec.time), 4)
    assert rec.meta["contact_misses"] > 0
    assert "more friction than the ground has" in rec.events[0].message
    assert rec["contact_excess"].max() > 0


def pushed(feet: int, height: float, share: float, degrees: float) -> tuple[State, np.ndarray]:
    """(state, forces on the feet) of a block after a few steps of a push of ``share`` of its friction."""
    body, mu = block(feet, mass=2.6, height=height), 0.45
    world = World(robot=body, ground=ff.contact.Plane(mu), contact=ff.contact.Stance(), joints=IDEAL)
    way = np.radians(degrees)
    push = share * mu * body.mass * G * np.array([0.0, 0.0, 0.0, np.cos(way), np.sin(way), 0.0])
    state = State(np.array([0, 0, height, 1.0, 0, 0, 0]), np.zeros(6), world.contact.start(world.spheres))
    calm = JointCommand().broadcast(0)
    once = ff.compile(lambda state: step(world, state, calm, push, 1e-3)[:2], None, state, verify=False)
    for _ in range(8):
        state, acted = once(state)
    return state, np.hypot(acted.forces[:, 0], acted.forces[:, 1]) - mu * acted.forces[:, 2]


@pytest.mark.parametrize("degrees", [0.0, 25.0, 45.0])
@pytest.mark.parametrize(("feet", "height"), [(4, 0.02), (4, 0.3), (3, 0.25), (4, 0.7)])
def test_block_pushed_nearly_to_slipping_finds_a_split_of_its_load_within_the_cones(feet, height, degrees):
    """The push lifts the load of the rear feet, which have less friction then; those in front have more."""
    state, beyond = pushed(feet, height, 0.95, degrees)
    assert float(state.memory["misses"]) == 0.0
    assert beyond.max() < 1e-6
    assert np.abs(state.v).max() < 1e-9  # it stands as before


@pytest.mark.parametrize(("feet", "height"), [(4, 0.02), (3, 0.25)])
def test_block_pushed_beyond_slipping_is_reported(feet, height):
    state, _ = pushed(feet, height, 1.02, 25.0)
    assert float(state.memory["misses"]) == 8.0
    assert 0.0 < float(state.memory["excess"]) < 0.05 * 2.6 * G


@pytest.mark.parametrize("feet", [1, 3, 4])
def test_block_stands_on_an_incline_of_any_steepness(feet):
    """Held more than once by three or four feet: the forces are shared, their sum is the weight."""
    for degrees in (5.0, 40.0):
        plane = ff.contact.Plane.slope(degrees, 0.9)
        world = World(robot=block(feet), ground=plane, contact=ff.contact.Stance(), joints=IDEAL)
        first = placed(world, 0.02)
        last = many_steps(world)(first, dt=1e-3, count=1000)
        assert np.linalg.norm(last.q[:3] - first.q[:3]) < 1e-6
        _, acted, _ = step(world, last, JointCommand().broadcast(0), np.zeros(6), 1e-3)
        np.testing.assert_allclose(acted.forces.sum(axis=0), [0.0, 0.0, 2.0 * G], atol=2e-5)


def test_ball_rolls_without_slipping():
    world = World(
        robot=ball(1.0, 0.1), ground=ff.contact.Plane.slope(20.0, 0.9), contact=ff.contact.Stance(), joints=IDEAL
    )
    last = many_steps(world)(placed(world, 0.1), dt=1e-3, count=500)
    speed = np.linalg.norm(last.v[3:6])
    assert speed == pytest.approx(5 / 7 * G * np.sin(np.radians(20.0)) * 0.5, rel=1e-3)
    assert 0.1 * np.linalg.norm(last.v[:3]) == pytest.approx(speed, rel=1e-6)


def test_ten_thousand_random_drops_gain_no_energy():
    drops = random_drops(caltrop(), ff.contact.Stance(), 10_000, 500, 2e-3, 0.6, 0)
    assert np.isfinite(drops.last.q).all()
    assert (drops.contact_work <= 1e-9).all()
    assert drops.largest_gain.max() < 1e-3
    assert (drops.energy_after <= drops.energy_before + 1e-9).all()


def test_named_feet_stand_from_the_start():
    sim = ff.Simulation(CHEETAH, contact=ff.contact.Stance(stands=("LF", "RH")))
    np.testing.assert_array_equal(sim.state.contact["mode"], [1.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("options", "start", "words"),
    [
        ({"stands": ("LF", "FX")}, {}, "unknown foot 'FX'"),
        (
            {"stands": ("LF",)},
            {"height": 0.02},
            "inconsistent stance: 'LF' should be in contact at the start but is 20.0 mm above",
        ),
        (
            {"stands": ("RH",)},
            {"speed": 0.5},
            "inconsistent stance: 'RH' should be in contact at the start but moves 0.5 m/s",
        ),
        ({"stands": "LF"}, {}, "stands of stance contact must be names of feet, got 'LF'"),
        ({"stabilisation": -1.0}, {}, "stabilisation of stance contact must not be negative, got -1.0"),
        ({"damping": float("nan")}, {}, "damping of stance contact must not be negative, got nan"),
    ],
)
def test_inconsistent_stance_is_refused_in_one_sentence(options, start, words):
    q, v = CHEETAH.state("stand")
    q[2] += start.get("height", 0.0)
    v[3] += start.get("speed", 0.0)
    with pytest.raises(InputError) as caught:
        ff.Simulation(CHEETAH, contact=ff.contact.Stance(**options), start=(q, v))
    assert words in str(caught.value)
