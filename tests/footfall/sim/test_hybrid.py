"""Machines of the lecture slides run through their contact modes in time: hops and steps in minimal coordinates."""

import numpy as np
import pytest

import footfall as ff
from footfall.errors import InputError
from footfall.sim.hybrid import energy, hybrid_run
from footfall_lab.papers.floating_base.modes import OneLeg

BEND, STIFFNESS, DROP = 1.0, 3000.0, 0.05  # [rad], [N/m] of the leg as a spring, [m]
THIGH, SHANK = OneLeg().thigh, OneLeg().shank


def leg_length(knee):
    return np.sqrt(THIGH**2 + SHANK**2 + 2 * THIGH * SHANK * np.cos(knee))


def springy(t, robot, q, v):
    """The knee's motor makes a spring of the leg: its force acts between hip and foot, and has a potential."""
    slope = -THIGH * SHANK * np.sin(q[4]) / leg_length(q[4])
    knee = -STIFFNESS * (leg_length(q[4]) - leg_length(BEND)) * slope
    return np.stack([0.0 * knee, 0.0 * knee, 0.0 * knee, 0.0 * knee, knee])


def dropped():
    robot = ff.load("one_leg", bend=BEND)
    hip = robot.tree.bodies[4].joint.rest  # the foot is under the hip
    q = np.array([0.0, 0.0, 0.0, hip, BEND])
    q[1] = DROP - ff.kinematics.foot_positions(robot, q)[0, 2]
    return robot, q


@pytest.fixture(scope="module")
def hops():
    robot, q = dropped()
    return {c: hybrid_run(robot, q, np.zeros(5), "flight", 0.55, springy, coordinates=c) for c in ("minimal", "excess")}


def test_a_hop_keeps_its_energy_but_for_what_the_impact_takes_in_closed_form(hops):
    """Free fall, the slides' own impact by hand, springs that keep energy, and the parabola of the flight."""
    run = hops["minimal"]
    robot, g = run.robot, 9.81
    assert [(t.before, t.after) for t in run.transitions] == [("flight", "foot"), ("foot", "flight")]
    landed, lifted = run.transitions
    assert landed.time == pytest.approx(np.sqrt(2 * DROP / g), abs=1e-9)
    machine = OneLeg()
    _, q = dropped()
    q[1] -= DROP
    fall = np.array([0.0, -np.sqrt(2 * g * DROP), 0.0, 0.0, 0.0])
    stance, rates, _ = machine.touchdown(q, fall)
    change = machine.jacobian(stance) @ rates - fall
    lost = 0.5 * change @ ff.dynamics.mass_matrix(robot, q) @ change  # Carnot
    assert landed.lost == pytest.approx(lost, rel=1e-6)
    assert lifted.lost == 0.0
    sprung = 0.5 * STIFFNESS * (leg_length(run.q[:, 4]) - leg_length(BEND)) ** 2
    whole = run.energy() + sprung
    after = run.time > landed.time + 1e-6
    assert sprung.max() > 3.0  # [J]: the leg has been compressed
    np.testing.assert_allclose(whole[~after][:-1], whole[0], atol=1e-8)
    np.testing.assert_allclose(whole[after], whole[0] - lost, atol=1e-6)
    flying = run.time > lifted.time
    height = np.array([ff.kinematics.center_of_mass(robot, q)[2] for q in run.q[flying]])
    rise = np.array([ff.dynamics.momentum(robot, q, v)[5] / robot.mass for q, v in zip(run.q[flying], run.v[flying])])
    t = run.time[flying] - run.time[flying][0]
    np.testing.assert_allclose(height, height[0] + rise[0] * t - 0.5 * g * t**2, atol=1e-9)
    assert height.max() - height[0] == pytest.approx(rise[0] ** 2 / (2 * g), abs=1e-5)


def test_a_hop_in_minimal_coordinates_is_that_of_the_full_model(hops):
    minimal, excess = hops["minimal"], hops["excess"]
    assert [t.time for t in minimal.transitions] == pytest.approx([t.time for t in excess.transitions], abs=1e-7)
    assert np.abs(minimal.q[-1] - excess.q[-1]).max() < 1e-6
    assert np.abs(minimal.v[-1] - excess.v[-1]).max() < 1e-5


def test_the_simulation_hops_as_high(hops):
    """Hard contact in steps of 0.1 ms, which knows no modes."""
    robot, q = dropped()

    @ff.controller(rate=10000)
    def spring(t, robot, sensed, command, memory):
        return ff.JointCommand(torque=springy(t, robot, sensed.q, sensed.v)), memory

    sim = ff.Simulation(
        robot,
        spring,
        contact=ff.contact.Complementarity(),
        ground=ff.contact.Plane(friction=5.0),
        dt=1e-4,
        start=(q, np.zeros(5)),
        joints=ff.sim.JointModel.ideal(),
    )
    rec, run = sim.run(0.5), hops["minimal"]
    at = np.searchsorted(run.time, rec.time[-1])
    assert np.abs(rec.q[-1, :2] - run.q[at, :2]).max() < 2e-3
    assert rec.q[:, 1].min() == pytest.approx(run.q[:, 1].min(), abs=1e-3)


LIFTED, LANDING = np.array([0.0, -0.6, 1.1]), np.array([0.0, -0.6, 0.8])


def stepping(t, robot, q, v):
    """The right leg comes down, then the left one goes up."""
    stand = np.array([0.0, -0.35, 0.7])
    down, up = np.clip(t / 0.2, 0.0, 1.0), np.clip((t - 0.3) / 0.1, 0.0, 1.0)
    target = np.concatenate([stand + up * (LIFTED - stand), LIFTED + down * (LANDING - LIFTED)])
    return 300.0 * (target - q[7:]) - 25.0 * v[6:]


@pytest.mark.slow
def test_a_biped_steps_from_one_foot_to_the_other_and_the_full_model_does_the_same():
    robot = ff.load("biped")
    q, v = robot.state("stand")
    q = np.concatenate([q[:10], LIFTED])
    q[2] -= ff.kinematics.foot_positions(robot, q)[0, 2]
    runs = [hybrid_run(robot, q, v, "L", 0.4, stepping, coordinates=c) for c in ("minimal", "excess")]
    for run in runs:
        assert [t.after for t in run.transitions] == ["L+R", "L sliding+R", "R"]
        landing = run.transitions[0]
        assert landing.lost > 0.01
        row = int(np.flatnonzero(np.isclose(run.time, landing.time, atol=1e-12))[-1])
        change = run.v[row] - run.v[row - 1]
        lost = 0.5 * change @ ff.dynamics.mass_matrix(robot, run.q[row]) @ change
        assert landing.lost == pytest.approx(lost, rel=1e-5)  # Carnot: of an impact without bounce
        held = run.mode[:, :, 0] > 0
        feet = np.array([ff.kinematics.foot_velocities(robot, *state)[:, 3:] for state in zip(run.q, run.v)])
        assert np.abs(feet[held]).max() < 1e-6
        assert run.forces[:, :, 2].min() > -1e-6
    minimal, excess = runs
    assert np.abs(minimal.q[-1] - excess.q[-1]).max() < 1e-6
    assert energy(robot, minimal.q[-1], minimal.v[-1]) == pytest.approx(energy(robot, excess.q[-1], excess.v[-1]))


def test_bad_runs_are_refused():
    robot, q = dropped()
    with pytest.raises(InputError, match="unknown coordinates of a hybrid run 'maximal'"):
        hybrid_run(robot, q, np.zeros(5), "flight", 1.0, coordinates="maximal")
    with pytest.raises(InputError, match="dt of a hybrid run must be positive"):
        hybrid_run(robot, q, np.zeros(5), "flight", 1.0, dt=0.0)
