"""How a run ends early: a fall, a divergence; the recording is kept and says when and why. How a fallen robot lies."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_bodies import G

import footfall as ff
from footfall.contact.points import knees, trunk_corners
from footfall.errors import FootfallError
from footfall.kinematics.forward import body_poses
from footfall.sim.joints import JointModel

CHEETAH = ff.load("mini_cheetah")
LIMP = ff.control.Hold(kp=0.0, kd=0.2)
SMOOTH = JointModel(dry_friction=False)  # whose dry friction holds folded legs just above what counts as a fall


def test_fall_stops_the_run_with_an_event_and_keeps_the_recording(tmp_path):
    sim = ff.Simulation(CHEETAH, LIMP, joints=SMOOTH)
    rec = sim.run(5.0, path=tmp_path / "fall.mcap")
    assert sim.stopped.kind == "fell"
    assert 0.1 < sim.stopped.time < 4.0
    assert rec.time[-1] == pytest.approx(sim.stopped.time)
    assert sim.time == pytest.approx(sim.stopped.time)
    np.testing.assert_array_equal(sim.q, rec.q[-1])
    assert (rec.events[-1].kind, rec.events[-1].time) == ("fell", sim.stopped.time)
    assert rec.meta["fell"]
    assert not rec.meta["diverged"]
    kept = ff.Recording.load(tmp_path / "fall.mcap")
    np.testing.assert_array_equal(kept.q, rec.q)
    assert kept.events[-1].message == sim.stopped.message
    with pytest.raises(FootfallError, match=r"has stopped \(the robot fell"):
        sim.run(1.0)


def test_fall_is_found_at_any_record_rate():
    times = [ff.Simulation(CHEETAH, LIMP, joints=SMOOTH, record_rate=rate) for rate in (1000, 100)]
    stops = [sim.run(3.0) and sim.stopped.time for sim in times]
    assert 0 <= stops[1] - stops[0] <= 0.01 + 1e-9


def test_robot_that_leans_too_far_has_fallen():
    q, v = CHEETAH.state("stand")
    q[2], v[0] = 1.0, 6.0
    sim = ff.Simulation(CHEETAH, start=(q, v), gravity=(0.0, 0.0, 0.0))
    rec = sim.run(1.0)
    roll = rec.trunk_euler()[:, 2]
    assert np.degrees(abs(roll[-1])) == pytest.approx(75.0, abs=1.0)
    assert np.degrees(abs(roll[-2])) < 75.0


def test_robot_dropped_from_high_has_not_fallen_when_it_lands_on_its_feet():
    q, v = CHEETAH.state("stand")
    q[2] += 0.9
    sim = ff.Simulation(CHEETAH, start=(q, v), controller=ff.control.Hold(kp=120.0, kd=4.0))
    q2, _ = CHEETAH.state("stand")
    rec = sim.run(0.44)  # a moment after touchdown, low but not down
    assert rec.contact.any()
    assert sim.stopped is None
    assert rec.q[-1, 2] < 0.3 * q[2]
    assert rec.q[-1, 2] > 0.3 * q2[2]


def test_fall_may_be_ignored():
    sim = ff.Simulation(CHEETAH, LIMP, stop_on_fall=False, touching=trunk_corners(CHEETAH))
    rec = sim.run(2.0)
    assert sim.stopped is None
    assert rec.time[-1] == pytest.approx(2.0)


@pytest.mark.parametrize("rate", [None, 20])
def test_divergence_stops_at_its_tick_and_names_what_diverged(rate, tmp_path):
    """Explicit steps far too long for a stiff ground."""
    stiff = ff.contact.Compliant(stiffness=1e16, damping=1e5)
    sim = ff.Simulation(
        CHEETAH,
        contact=stiff,
        integrator="semi_implicit_euler",
        dt=2e-3,
        record_rate=rate,
        stop_on_fall=False,
        controller=ff.control.Hold(kp=400.0, kd=50.0, rate=500.0),
    )
    rec = sim.run(3.0, path=tmp_path / "run.mcap")
    assert sim.stopped.kind == "diverged"
    assert "diverged at" in sim.stopped.message
    assert "joint '" in sim.stopped.message or "base" in sim.stopped.message
    assert rec.meta["diverged"]
    assert np.isfinite(rec.q).all()
    assert np.isfinite(sim.q).all()
    again = ff.Simulation(
        CHEETAH,
        contact=stiff,
        integrator="semi_implicit_euler",
        dt=2e-3,
        stop_on_fall=False,
        controller=ff.control.Hold(kp=400.0, kd=50.0, rate=500.0),
    )
    again.run(3.0)
    assert sim.stopped.time == again.stopped.time
    assert ff.Recording.load(tmp_path / "run.mcap").events[-1].kind == "diverged"


# -- lying -----------------------------------------------------------------------------------------------------------
def test_fallen_robot_lies_on_its_trunk_and_knees_if_they_may_touch():
    spheres = [*trunk_corners(CHEETAH), *knees(CHEETAH)]
    q, v = CHEETAH.state("fold")
    q[2], q[3:7] = 0.3, [np.cos(0.2), np.sin(0.2), 0.0, 0.0]
    sim = ff.Simulation(
        CHEETAH,
        ff.control.Hold("fold", kp=20.0, kd=1.0),
        start=(q, v),
        touching=spheres,
        stop_on_fall=False,
        contact=ff.contact.Compliant(damping=1e3),
    )
    rec = sim.run(4.0)
    total = rec.force[-200:, :, 2].sum(axis=1) + rec["body_force"][-200:, 2]
    assert total.mean() == pytest.approx(CHEETAH.mass * G, rel=1e-3)
    poses = body_poses(CHEETAH, sim.q)
    for sphere in sim.model.world.spheres:
        assert poses[sphere.body].point(sphere.center)[2] > sphere.radius - 1e-3
    assert np.abs(sim.v).max() < 0.05


def test_upturned_robot_lies_on_its_back():
    q, v = CHEETAH.state("fold")
    q[2], q[3:7] = 0.2, [0.0, 1.0, 0.0, 0.0]
    q[7:] = np.tile([0.0, 1.2, -2.0], 4)
    sim = ff.Simulation(
        CHEETAH,
        ff.control.Hold(q[7:], kp=20.0, kd=1.0),
        start=(q, v),
        touching=trunk_corners(CHEETAH),
        stop_on_fall=False,
        contact=ff.contact.Compliant(damping=1e3),
    )
    rec = sim.run(3.0)
    total = rec.force[-1, :, 2].sum() + rec["body_force"][-1, 2]
    assert total == pytest.approx(CHEETAH.mass * G, rel=1e-2)
    assert sim.q[2] > 0.03


def test_trunk_corners_need_a_box_and_knees_sit_at_the_last_joint():
    assert len(trunk_corners(CHEETAH)) == 8
    assert [foot.link for foot in knees(CHEETAH)] == [f"{leg}_knee_link" for leg in ("LF", "RF", "LH", "RH")]
    bare = ff.Robot(name="bare", links=[ff.Link(name="rock", mass=1.0, inertia=np.eye(3))])
    with pytest.raises(FootfallError, match="'rock' of robot 'bare' has no box"):
        trunk_corners(bare)
