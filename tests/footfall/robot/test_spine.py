"""Spines: any number of joints, five kinds, and the laws that tell them apart."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.control import Hold, JointPD, Spine
from footfall.control.joint.spine import LOCKED
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.errors import FootfallError
from footfall.robot import quadruped, spine_joints, with_spine
from footfall.robot.model.spine import KINDS
from footfall.sim.joints import JointModel
from footfall.sim.start import standing_start
from footfall_lab.verify.verify import verify

AXES = (("pitch",), ("roll", "pitch"), ("pitch", "yaw", "pitch"), ("pitch", "roll", "yaw", "pitch"))


def cat(spine, kind=None, **options):
    robot = quadruped(spine=spine, trunk_size=(0.5, 0.22, 0.11), trunk_mass=9.0, torque_limit=50.0)
    return robot if kind is None else with_spine(robot, kind, **options)


@pytest.mark.parametrize("axes", AXES, ids=len)
def test_a_spine_has_as_many_joints_as_one_likes(axes):
    plain = cat(axes)
    assert spine_joints(plain) == tuple(f"spine_{k}" for k in _order(len(axes)))
    expected = {"rigid": 0, "series_elastic": 2 * len(axes)}
    for kind in KINDS:
        robot = with_spine(plain, kind, stiffness=470.0)
        assert robot.nj == 12 + expected.get(kind, len(axes))
        assert len(spine_joints(robot)) == expected.get(kind, len(axes))
        assert robot.mass == pytest.approx(plain.mass, rel=1e-12)
    report = verify(with_spine(plain, "series_elastic"), 3, sides=("recursive", "articulated"), backend="numpy")
    assert report.passed, report.failures


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rigid", "passive", "series_elastic"])  # the others have the tree of the passive one
@pytest.mark.parametrize("axes", AXES, ids=len)
def test_spines_verify_against_every_formalism(axes, kind):
    report = verify(cat(axes, kind), samples=5, backend="numpy")
    assert report.passed, report.failures


def _order(n):
    """Joints before the middle section from the middle outwards, then those behind it."""
    middle = (n + 1) // 2
    return [*range(middle, 0, -1), *range(middle + 1, n + 1)]


@pytest.mark.parametrize("axes", [AXES[1], *(pytest.param(a, marks=pytest.mark.slow) for a in AXES[2:])], ids=len)
def test_a_locked_spine_is_a_rigid_one(axes):
    """Over half a second of a trot, feet landing and leaving, to rounding and what feet that land make of it."""
    ends, legs = {}, JointPD.tuned(cat(axes, "rigid"), "trot")
    for kind in ("rigid", "lockable"):
        robot = cat(axes, kind, stiffness=300.0)
        controller = legs if kind == "rigid" else Spine(inner=legs, kp=0.0, kd=1e3 * LOCKED)
        rec = ff.Simulation(robot, controller, start=standing_start(robot, legs)).run(0.5)
        at = [j for j, name in enumerate(robot.joint_names) if not name.startswith("spine")]
        ends[kind] = np.concatenate([rec.q[:, :7], rec.q[:, 7:][:, at]], axis=1)
        if kind == "lockable":
            bent = [j for j in range(robot.nj) if j not in at]
            assert np.abs(rec.q[:, 7:][:, bent]).max() < 1e-9
    assert (np.diff(rec.contact.astype(int), axis=0) != 0).any(axis=0).all()  # every foot steps
    apart = np.abs(ends["rigid"] - ends["lockable"]).max(axis=1)
    assert apart[:50].max() < 1e-12
    assert apart.max() < 1e-8


def adrift(stiffness, damping, **options):
    """Energy of a robot without weight whose spine is bent, over that of its springs, from the start on."""
    none = (0.0, 0.0, 0.0)
    robot = cat(("pitch", "pitch"), "passive", stiffness=stiffness, damping=damping)
    q, v = robot.state("stand")
    q[2] = 3.0
    for k, joint in enumerate(spine_joints(robot)):
        q[7 + robot.joint_names.index(joint)] = 0.15 - 0.2 * k
    limp = Hold(q[7:], kp=0.0, kd=0.0)
    options |= {"joints": JointModel(end_stops=False), "stop_on_fall": False, "gravity": none}
    rec = ff.Simulation(robot, limp, start=(q, v), **options).run(0.25)
    bends = rec.q[:, 7 + robot.joint_names.index(spine_joints(robot)[0])]
    assert np.ptp(bends) > 0.1  # it swings
    energy = np.array([kinetic_energy(robot, q, v) + potential_energy(robot, q, none) for q, v in zip(rec.q, rec.v)])
    return (energy - energy[0]) / (0.5 * stiffness * (0.15**2 + 0.05**2))


@pytest.mark.filterwarnings("ignore:.*damped by the step")
def test_a_passive_spine_keeps_its_energy_unless_it_has_a_damper():
    """By fine explicit steps to their order; the usual implicit ones only ever lose, the less the softer it is."""
    assert np.abs(adrift(610.0, 0.0, integrator="heun", dt=1e-4)).max() < 1e-3
    usual = adrift(15.0, 0.0)
    assert usual.max() < 1e-9
    assert usual.min() > -0.2
    assert adrift(15.0, 1.0)[-1] < -0.6


@pytest.mark.parametrize("stiffness", [250.0, 1900.0])
def test_a_series_elastic_spine_at_rest_bends_its_spring_by_torque_over_stiffness(stiffness):
    robot = cat(("pitch", "pitch"), "series_elastic", stiffness=stiffness)
    stand = robot.poses["stand"].joints
    gains = np.array([0.0 if name.endswith("_spring") else 300.0 for name in robot.joint_names])
    sim = ff.Simulation(robot, Hold(stand, kp=gains, kd=0.02 * gains))
    rec = sim.run(3.0)
    assert np.abs(rec.v[-1]).max() < 1e-3
    for name in ("spine_1", "spine_2"):
        motor, spring = (robot.joint_names.index(n) for n in (name, f"{name}_spring"))
        torque, deflection = rec.torque[-1, motor], -rec.q[-1, 7 + spring]  # the joint lags behind its motor
        assert abs(torque) > 0.5
        assert deflection == pytest.approx(torque / stiffness, rel=1e-3)


def test_a_brake_locks_where_the_spine_turns_back_and_lets_go_when_a_foot_lands():
    robot = cat(("pitch",), "lockable", stiffness=250.0)
    legs = JointPD.tuned(robot, "trot")
    controller = Spine(inner=legs, kp=0.0, kd=0.0, brake=LOCKED)
    q, v = standing_start(robot, legs)
    v = v.copy()
    at = robot.joint_names.index("spine_1")
    v[6 + at] = 2.0
    rec = ff.Simulation(robot, controller, start=(q, v)).run(2.0)
    rates = np.abs(rec.v[:, 6 + at])
    still = rates < 1e-5
    assert 0.05 < still.mean() < 0.95
    landed = (np.diff(rec.contact.astype(int), axis=0) > 0).any(axis=1)
    ends = np.flatnonzero(still[:-1] & ~still[1:])
    assert len(ends) > 1
    assert all(landed[max(0, k - 3) : k + 2].any() for k in ends)  # let go by a landing alone


def test_a_motor_swings_the_whole_spine_by_its_swing_however_many_joints_it_has():
    for axes in AXES[0], ("pitch",) * 3:
        robot = cat(axes, "actuated", torque_limit=400.0)
        legs = JointPD.tuned(robot, "trot")
        controller = Spine(inner=legs, kp=3000.0, kd=30.0, swing=0.1)
        assert controller.moving(robot) == spine_joints(robot)
        rec = ff.Simulation(robot, controller, start=standing_start(robot, legs)).run(2.5)
        late = rec.between(1.0, None).q[:, 7:]
        angles = np.array([late[:, robot.joint_names.index(name)] for name in spine_joints(robot)])
        # fore joints flex by positive angles about +y, hind ones by negative: together they bend one way
        senses = np.array([1.0 if k <= (len(axes) + 1) // 2 else -1.0 for k in _order(len(axes))])
        assert np.ptp(senses @ angles) == pytest.approx(0.2, rel=0.2)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: with_spine(ff.load("spined"), "elastic"), "unknown kind of spine 'elastic'"),
        (lambda: with_spine(ff.load("mini_cheetah"), "passive"), "has no spine"),
        (lambda: with_spine(ff.load("spined"), "passive", stiffness=-3.0), "stiffness of a spine"),
        (lambda: with_spine(ff.load("spined"), "passive", joints=["back"]), "unknown spine joint 'back'"),
        (lambda: with_spine(ff.load("spined"), "series_elastic", armature=0.0), "armature of a spine"),
        (lambda: Spine(inner=Hold(), swing=0.1).start(ff.load("spined")), "has no gait phase"),
        (lambda: Spine(inner=Hold(), brake=-1.0), "brake of Spine"),
    ],
)
def test_what_is_no_spine_is_refused(wrong, words):
    with pytest.raises(FootfallError, match=words):
        wrong()


def test_the_stiffness_of_a_spring_may_be_an_input_of_compiled_code():
    robot = with_spine(ff.load("spined"), "passive")
    q, _ = robot.state("stand")
    q[7 + robot.joint_names.index("spine_pitch")] = 0.1

    def bends(robot, q):
        return potential_energy(robot, q)

    energy = ff.compile(bends, robot, q, free=("spine_pitch.stiffness",))
    less, more = (energy(q, {"spine_pitch.stiffness": k}) for k in (100.0, 700.0))
    assert more - less == pytest.approx(0.5 * 600.0 * 0.1**2)
