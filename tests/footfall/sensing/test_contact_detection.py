"""Contact by force, by momentum, and the contact mode that both together show."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walk_on_estimate import CHEETAH, replay, short_walk

import footfall as ff
from footfall.contact.ground import Plane
from footfall.control.interface import JointCommand
from footfall.control.posture import own_joints
from footfall.dynamics.formalisms.modes import all_modes
from footfall.kinematics.jacobian import feet_jacobian
from footfall.sensing.estimation.contact_detection import Agreement, force_contact, watch_agreement
from footfall.sensing.estimation.contact_mode import (
    debounced,
    evidence,
    foot_probabilities,
    mode_index,
    mode_score,
    mode_table,
    update_modes,
)
from footfall.sensing.estimation.momentum_observer import ObserverMemory, foot_forces, observe_momentum
from footfall.sim.joints import JointModel
from footfall.sim.pushes import Push
from footfall.spatial.quaternion import rotated, to_rotation

WEIGHT = 9.81 * CHEETAH.mass


# -- by force ----------------------------------------------------------------------------------------------------------
def test_hysteresis_changes_once_where_a_threshold_would_chatter():
    rng = np.random.default_rng(0)
    force = np.concatenate([np.linspace(0, 20, 400), np.linspace(20, 0, 400)]) + rng.normal(0, 1.0, 800)
    contact, found = np.zeros(1), []
    for f in force:
        contact = force_contact(np.array([f]), contact, on=12.0, off=6.0)
        found.append(contact[0])
    assert np.abs(np.diff(found)).sum() == 2
    assert np.abs(np.diff(force > 9.0)).sum() > 2


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=30))
def test_hysteresis_is_always_0_or_1_and_nan_changes_nothing(forces):
    contact = np.zeros(1)
    for f in forces:
        before, contact = contact, force_contact(np.array([f]), contact, on=10.0, off=5.0)
        assert contact[0] in (0.0, 1.0)
        assert not np.isnan(f) or contact[0] == before[0]


def test_a_stuck_sensor_is_found_in_its_patience_and_forgiven_only_after_long_agreement():
    """A sensor stuck at zero agrees with every swing of 0.2 s: that is no proof."""
    state, faulty = Agreement.at_start(1), []
    for k in range(3000):
        truth = np.array([1.0 if k % 500 < 300 else 0.0])
        said = np.zeros(1) if 300 <= k < 2000 else truth
        state = watch_agreement(said, truth, 1e-3, patience=0.06, trust=0.6, before=state)
        faulty.append(state.faulty[0])
    faulty = np.array(faulty)
    assert not faulty[:500].any()
    assert faulty[561:2000].all()
    assert not faulty[2610:].any()


# -- by momentum -------------------------------------------------------------------------------------------------------
def test_the_observer_is_a_low_pass_of_what_acts_from_outside():
    """Tumbling in free fall under a constant push: r follows it as 1 - exp(-K t), and no foot is felt."""
    push, gain, dt = np.array([12.0, -5.0, 30.0]), 100.0, 5e-4
    q, v = CHEETAH.state("stand")
    q[3:7], v[:3] = rotated(q[3:7], np.array([0.2, 0.1, 0.3])), (0.4, -0.3, 0.5)
    limp = ff.controller(rate=1 / dt)(lambda t, robot, sensed, command, memory: (JointCommand(), memory))
    simulation = ff.Simulation(
        CHEETAH,
        limp,
        ground=Plane(point=np.array([0.0, 0.0, -1e4])),
        start=(q, v),
        dt=dt,
        joints=JointModel.ideal(),
        pushes=[Push(start=0.0, duration=1.0, force=tuple(push))],
    )
    recording = simulation.run(0.06)
    free = CHEETAH.replace({f"{j.name}.{key}": 0.0 for j in CHEETAH.joints for key in ("damping", "dry_friction")})
    memory = observe_momentum(free, q, v, np.zeros(12), dt, gain, ObserverMemory.at_start(free))
    for k in range(len(recording)):
        memory = observe_momentum(free, recording.q[k], recording.v[k], np.zeros(12), dt, gain, memory)
    R = to_rotation(recording.q[-1, 3:7])
    reached = 1.0 - np.exp(-gain * recording.time[-1])
    np.testing.assert_allclose(R @ memory.external[3:6], reached * push, atol=0.04 * np.abs(push).max())
    assert np.abs(memory.external[6:]).max() < 0.05
    assert np.abs(foot_forces(free, recording.q[-1], memory.external)).max() < 0.5


def test_foot_forces_undo_the_transposed_jacobian():
    """Exactly so for forces whose line is shared by no joint: J_legᵀ f and back, for every leg."""
    rng = np.random.default_rng(3)
    q, _ = CHEETAH.state("stand")
    q[3:7] = rotated(q[3:7], 0.2 * rng.normal(size=3))
    forces = 30.0 * rng.normal(size=(4, 3))
    J = feet_jacobian(CHEETAH, q)
    external = np.zeros(18)
    for k, foot in enumerate(CHEETAH.feet):
        down = np.array([0.0, 0.0, -foot.radius])
        contact_J = J[k, 3:] + np.cross(J[k, :3].T, down).T
        external += contact_J.T @ forces[k]
    np.testing.assert_allclose(foot_forces(CHEETAH, q, external), forces, atol=1e-9)


@pytest.mark.parametrize("name", ["mini_cheetah", "spined", "xiling", "dynakat"])
def test_observed_forces_of_a_standing_robot_are_those_that_act(name):
    """From what its joints feel; damping once took 3 % of DynaKat's forces and 0.6 % of Mini Cheetah's."""
    robot = ff.load(name)
    q, _ = robot.state("stand")
    forces = np.tile([0.0, 0.0, 9.81 * robot.mass / 4], (4, 1)) + np.random.default_rng(1).uniform(-3, 3, (4, 3))
    J, external = feet_jacobian(robot, q), np.zeros(robot.nv)
    for k, foot in enumerate(robot.feet):
        external += (J[k, 3:] + np.cross(J[k, :3].T, [0.0, 0.0, -foot.radius]).T).T @ forces[k]
    np.testing.assert_allclose(foot_forces(robot, q, external), forces, rtol=1e-9, atol=1e-9)


def test_stretched_leg_gives_a_finite_force_and_what_it_knows_of_it():
    q, _ = CHEETAH.state("stand")
    q[7:] = 0.0  # straight down: no joint feels a force along the leg
    J, external = feet_jacobian(CHEETAH, q), np.zeros(18)
    force = np.array([4.0, -6.0, 80.0])
    for k, foot in enumerate(CHEETAH.feet):
        external += (J[k, 3:] + np.cross(J[k, :3].T, [0.0, 0.0, -foot.radius]).T).T @ force
    found = foot_forces(CHEETAH, q, external)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, 0], force[0], rtol=0.05)
    assert np.abs(found).max() < 100.0


def test_legs_own_their_joints():
    named = [[CHEETAH.joint_names[j] for j in own_joints(CHEETAH, k)] for k in range(4)]
    assert named == [[f"{leg}_{joint}" for joint in ("abad", "hip", "knee")] for leg in CHEETAH.foot_names]
    spined = ff.load("spined")
    owned = [i for k in range(4) for i in own_joints(spined, k)]
    assert len(owned) == len(set(owned)) < spined.nj


def test_without_force_sensors_the_weight_of_a_walking_robot_is_found():
    """All force sensors dead: the observer's forces carry the weight on average, and contacts are the true ones."""
    walk = short_walk()
    told, start = walk.controller.told, 1000
    dead = lambda k, r: dataclasses.replace(r, force=r.force * np.nan) if k >= start - 300 else r  # noqa: E731
    found = replay(told, dead)[start:2500]
    truth = walk.recording.contact[start - 1 : 2499]
    contact = np.array([one.contact for one, _ in found]) > 0.5
    assert (contact == truth).mean() > 0.92
    total = np.mean([one.forces[:, 2].sum() for one, _ in found])
    assert total == pytest.approx(WEIGHT, rel=0.05)


def test_a_standing_robot_is_weighed_by_its_joints():
    simulation = ff.Simulation(CHEETAH)
    recording = simulation.run(1.0)
    memory = ObserverMemory.at_start(CHEETAH)
    for k in range(900, 1000):
        memory = observe_momentum(CHEETAH, recording.q[k], recording.v[k], recording["torque"][k], 1e-3, 200.0, memory)
    forces = foot_forces(CHEETAH, recording.q[-1], memory.external)
    np.testing.assert_allclose(forces[:, 2].sum(), WEIGHT, rtol=0.05)
    np.testing.assert_allclose(forces[:, 2], recording["force"][-1, :, 2], rtol=0.1)


@pytest.mark.parametrize(
    "name", ["dynakat", *(pytest.param(name, marks=pytest.mark.slow) for name in ("spined", "xiling"))]
)
def test_forces_of_a_robot_that_is_pushed_are_observed_foot_by_foot(name):
    """By a run's states and motor torques alone, to 2 % of a foot's load, to 0.6 % on average: damping took 3 %."""
    robot = ff.load(name)
    share = 0.25 * 9.81 * robot.mass
    push = Push(start=0.35, duration=0.15, force=(0.2 * share, 0.0, 0.0))
    recording, memory = ff.Simulation(robot, pushes=[push]).run(0.5), ObserverMemory.at_start(robot)
    seen, acted = [], []
    for k in range(290, 500):
        memory = observe_momentum(robot, recording.q[k], recording.v[k], recording["torque"][k], 1e-3, 200.0, memory)
        if k >= 340 and k % 20 == 0:
            seen.append(foot_forces(robot, recording.q[k], memory.external))
            acted.append(recording["force"][k])
    np.testing.assert_allclose(seen, acted, atol=0.02 * share)
    np.testing.assert_allclose(np.mean(seen, axis=(0, 1)), np.mean(acted, axis=(0, 1)), atol=0.006 * share)


# -- modes -------------------------------------------------------------------------------------------------------------
def test_modes_are_in_the_order_of_all_modes():
    np.testing.assert_array_equal(mode_table(4), np.array(all_modes(CHEETAH)))
    assert [mode_index(mode) for mode in all_modes(CHEETAH)] == list(range(16))


odds = st.lists(st.floats(-1.5, 1.5), min_size=4, max_size=4).map(np.array)


@settings(deadline=None)
@given(st.lists(odds, min_size=1, max_size=4), st.floats(0, 0.2))
def test_feet_that_nothing_ties_together_are_judged_one_by_one(samples, change):
    """Without a word about flight, the filter over 16 modes is the product of four filters over two."""
    belief, single = np.full(16, 1 / 16), np.full(4, 0.5)
    for said in samples:
        belief = update_modes(belief, said, 0.0, change)
        single = single + change * (1 - 2 * single)
        single = single / (single + (1 - single) * np.exp(-said))
    assert belief.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(foot_probabilities(belief, 4), single, atol=1e-5)
    for mode in all_modes(CHEETAH):
        expected = np.prod(np.where(mode > 0.5, single, 1 - single))
        assert mode_score(belief, mode) == pytest.approx(expected, abs=1e-5)


def test_one_sample_does_not_change_the_mode_and_a_few_milliseconds_do():
    belief, contact = np.eye(16)[-1], np.ones(4)
    up = np.array([-1.5, 1.5, 1.5, 1.5])
    for _ in range(100):
        belief = update_modes(belief, np.full(4, 1.5), 0.0, 0.008)
    changed = []
    for _ in range(12):
        belief = update_modes(belief, up, 0.0, 0.008)
        contact = debounced(foot_probabilities(belief, 4), contact, 0.9)
        changed.append(contact[0] < 0.5)
    assert not changed[0]
    assert changed[-1]
    assert contact.tolist() == [0, 1, 1, 1]


def test_weightlessness_decides_for_flight_when_the_feet_are_in_doubt():
    sides = []
    for pull in (0.0, 9.81):
        belief = np.full(16, 1 / 16)
        for _ in range(20):
            belief = update_modes(belief, np.zeros(4), evidence(-pull, -0.35 * 9.81, 0.981, 1.0), 0.008)
        sides.append(belief[0])
    assert sides[0] > 0.9
    assert sides[1] < 0.02


def test_evidence_is_limited_and_nan_says_nothing():
    np.testing.assert_allclose(evidence(np.array([-1e9, 5.0, 6.0, 1e9, np.nan]), 5.0, 1.0, 2.0), [-2, 0, 1, 2, 0])
