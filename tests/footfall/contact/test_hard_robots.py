"""Robots on hard ground, by both hard models: standing, residuals, free flight, audit, the same
numbers again and in a batch, trots on a plane and on a slope."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hard_bodies import G

import footfall as ff
from footfall.control.interface import Command, JointCommand
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.kinematics.forward import foot_positions
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.sim.equations_of_motion import State
from footfall.sim.start import standing_start
from footfall.sim.step import integrate_step, step
from footfall.sim.tick import Inputs, SimulationModel, at_rest, tick
from footfall.sim.world import World

CHEETAH = ff.load("mini_cheetah")
HARD = {
    "complementarity": ff.contact.Complementarity(),
    "cone": ff.contact.Complementarity(method="cone"),
    "stance": ff.contact.Stance(),
}
hard = pytest.mark.parametrize("contact", HARD.values(), ids=HARD)


@cache
def trotted(model: str, slope: float = 0.0, choice: str = "B", friction: float = 0.8) -> Recording:
    """Six seconds of trot with the constants of set B, which stand on both grounds with every contact model."""
    ground = ff.contact.Plane.slope(slope, friction)
    controller = ff.control.JointPD.tuned(CHEETAH, choice=choice)
    start = standing_start(CHEETAH, controller, ground)
    contact = HARD.get(model) or ff.contact.named(model)
    return ff.Simulation(CHEETAH, controller, contact=contact, ground=ground, start=start).run(6.0)


@hard
@pytest.mark.parametrize("name", library.names())
def test_standing_robot_is_carried_by_its_weight_for_a_minute_and_does_not_creep(name, contact, record_property):
    robot = ff.load(name)
    rec = ff.Simulation(robot, contact=contact, record_rate=10).run(60.0)
    assert rec.time[-1] == pytest.approx(60.0)
    assert not rec.meta["fell"]
    vertical = rec.between(50.0, None).force[:, :, 2].sum(axis=1)
    np.testing.assert_allclose(vertical, robot.mass * G, rtol=1e-6)
    feet = [foot_positions(robot, rec.between(t, None).q[0]) for t in (10.0, 60.0)]  # by then the joints have settled
    creep = float(np.linalg.norm(feet[1] - feet[0], axis=1).max())
    record_property("creep [mm]", 1e3 * creep)
    assert creep < 1e-4


@pytest.mark.parametrize("model", ["compliant", "complementarity", "stance"])
@pytest.mark.parametrize("slope", [0.0, 5.0])
def test_trot_for_six_seconds_does_not_fall(model, slope):
    rec = trotted(model, slope)
    assert not rec.meta["fell"]
    assert not rec.meta["diverged"]
    assert rec.time[-1] == pytest.approx(6.0)
    assert rec.trunk_position[-1, 0] > 1.2
    gap = abs(rec.trunk_position[-1, 0] - trotted("complementarity", slope).trunk_position[-1, 0])
    assert gap < 0.05  # all three travel alike


@pytest.mark.parametrize("model", ["complementarity", "cone"])
@pytest.mark.parametrize(("slope", "friction"), [(0.0, 0.8), (5.0, 0.8), (0.0, 0.25)])
def test_residuals_of_a_trot_are_small_in_every_step(model, slope, friction, record_property):
    rec = trotted(model, slope, friction=friction)
    worst = rec["contact_residual"].max(axis=0)
    record_property("Signorini, cone, dissipation [m/s]", worst.tolist())
    record_property("sweeps, iterations", [float(rec[f"contact_{k}"].mean()) for k in ("sweeps", "iterations")])
    assert worst.max() < 1e-8
    assert rec.meta["contact_misses"] == 0
    assert not rec.events


def test_least_squares_reaches_the_exact_solution_in_nearly_all_recorded_steps(record_property):
    steps = [trotted("complementarity", slope, friction=mu) for slope, mu in ((0.0, 0.8), (5.0, 0.8), (0.0, 0.25))]
    sweeps = np.concatenate([rec["contact_sweeps"] for rec in steps])
    worst = np.concatenate([rec["contact_residual"].max(axis=1) for rec in steps])
    share = float(np.mean((sweeps == 0) & (worst <= 1e-8)))  # without the cone solver's help
    record_property("share", share)
    assert len(sweeps) > 10_000
    assert share > 0.99


def test_a_miss_is_not_silent():
    contact = ff.contact.Complementarity(method="cone", sweeps=1, tolerance=1e-9)
    rec = ff.Simulation(CHEETAH, contact=contact).run(0.3)
    assert rec.meta["contact_misses"] > 0
    assert rec["contact_misses"][-1] == rec.meta["contact_misses"]
    assert [e.kind for e in rec.events] == ["warning"]
    assert "did not reach its tolerance" in rec.events[0].message


@hard
def test_robot_in_the_air_moves_as_if_there_were_no_ground(contact):
    q, v = CHEETAH.state("stand")
    q[2] += 1.0
    v = np.random.default_rng(4).normal(size=CHEETAH.nv)
    command = JointCommand(q[7:] + 0.3, kp=20.0, kd=0.5).broadcast(12)
    ends = []
    for model in (contact, ff.contact.Compliant()):
        world = World(robot=CHEETAH, contact=model)
        after, acted, done = step(world, State(q, v), command, np.zeros(6), 1e-3)
        assert (acted.forces == 0).all()
        assert done.work[2] == 0
        ends.append(np.concatenate([after.q, after.v]))
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-11)


@hard
def test_energy_audit_closes_with_first_order(contact):
    """A drop of 10 mm with a push and a twist: work in = change + losses, through the impacts."""
    world = World(robot=CHEETAH, contact=contact)
    q, v = CHEETAH.state("stand")
    q[2] += 0.01
    v[:6] = 0.1, -0.2, 0.3, 0.2, 0.1, 0.0
    command = JointCommand(q[7:] + 0.05, kp=36.0, kd=0.9).broadcast(12)
    push = np.array([0.1, 0.2, 0.3, 0.5, 0.4, 0.0]) * CHEETAH.mass
    memory = contact.start(world.spheres)

    def once(state: State, work: np.ndarray, dt: float) -> Any:
        after, _, done = integrate_step("linearly_implicit", world, state, command, push, dt)
        return (after, work + done.work[:4], dt)

    def energy(state: State) -> float:
        return float(kinetic_energy(CHEETAH, state.q, state.v) + potential_energy(CHEETAH, state.q))

    compiled = ff.compile(lambda carry: once(*carry), None, (State(q, v, memory), np.zeros(4), 1e-3), verify=False)
    residuals = []
    for dt in (4e-4, 2e-4, 1e-6):
        last, work, _ = compiled.advance(round(0.15 / dt), (State(q, v, memory), np.zeros(4), dt))
        change = energy(last) - energy(State(q, v))
        residuals.append(abs(change - work.sum()) / (abs(change) + np.abs(work).sum()))
        assert work[2] < 0
    assert residuals[1] == pytest.approx(0.5 * residuals[0], rel=0.1)
    assert residuals[2] < 1e-6


@pytest.mark.parametrize("model", ["complementarity", "stance"])
def test_energy_audit_of_a_recorded_trot(model):
    rec = trotted(model)
    assert rec.energy_residual() < 1e-3
    assert rec["contact_work"][-1] < 0
    assert np.diff(rec["contact_work"]).max() < 1e-3


@hard
def test_same_run_again_and_in_a_batch_is_the_same_bit_for_bit(contact):
    controller = ff.control.JointPD.tuned(CHEETAH, choice="B")
    world = World(robot=CHEETAH, contact=contact)
    rig = SimulationModel(world, controller, "linearly_implicit", 1e-3, 1)
    q, v = CHEETAH.state("stand")
    first = at_rest(world, q, v, controller.start(CHEETAH))
    inputs = Inputs(Command(), np.zeros(6))
    native = ff.compile(tick, rig, first, inputs, verify=False)
    batch = ff.compile(tick, rig, first, inputs, target="batch", verify=False)
    from nptrace.frontend import tree

    rng, count = np.random.default_rng(0), 11
    starts = []
    for _ in range(count):
        other = q.copy()
        other[2] += rng.uniform(0.0, 0.05)
        starts.append(at_rest(world, other, 0.3 * rng.normal(size=CHEETAH.nv), first.memory))
    leaves, rebuild = zip(*(tree.flatten(start) for start in starts))
    many = rebuild[0]([np.stack(column) for column in zip(*leaves)])
    inputs_leaves, inputs_rebuild = tree.flatten(inputs)
    several = inputs_rebuild([np.stack([np.asarray(x, dtype=float)] * count) for x in inputs_leaves])
    together, _ = batch.roll(300, many, several, every=300)
    for k, start in enumerate(starts):
        alone, _ = native.roll(300, start, inputs, every=300)
        again, _ = native.roll(300, start, inputs, every=300)
        for x, y, z in zip(*(tree.flatten(c)[0] for c in (alone, again, together))):
            assert np.array_equal(x, y)
            assert np.array_equal(x, np.asarray(z)[k])


def lying(contact: Any, touching: Any) -> Recording:
    limp = ff.control.Hold("stand", kp=0.0, kd=0.1)
    return ff.Simulation(CHEETAH, limp, contact=contact, touching=touching, stop_on_fall=False).run(1.5)


@pytest.mark.parametrize("model", ["complementarity", "stance"])
def test_other_spheres_than_feet_touch_as_well(model):
    """A limp robot lies down on its trunk."""
    corners = ff.contact.trunk_corners(CHEETAH)
    lower = [corner for corner in corners if corner.position[2] < 0]
    touching = [*corners, *ff.contact.knees(CHEETAH)] if model == "complementarity" else lower
    rec = lying(ff.contact.named(model), touching)
    total = rec.force[-1, :, 2].sum() + rec["body_force"][-1, 2]
    assert total == pytest.approx(CHEETAH.mass * G, rel=0.02)
    assert 0.02 < rec.trunk_position[-1, 2] < 0.15
