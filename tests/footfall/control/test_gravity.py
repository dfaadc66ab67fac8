"""Gravity has one owner: what a simulation is given reaches every controller."""

import numpy as np
import pytest

import footfall as ff
from footfall.control.joint.joint_level import ComputedTorque, GravityCompensation
from footfall.control.stand_gains import stand_gains
from footfall.errors import InputError
from footfall.sensing.sensors import Sensors
from footfall.sim.joints import JointModel
from footfall.spatial.gravity import GRAVITY, strength, weight_of

CHEETAH = ff.load("mini_cheetah")
MOON, MARS = (0.0, 0.0, -1.62), (0.0, 0.0, -3.71)


def test_strength_and_weight_of_the_standard_gravity_keep_their_bits():
    assert strength() == 9.81
    assert weight_of(8.7) == 8.7 * 9.81
    assert strength((1.0, -2.0, 2.0)) == 3.0


def _walk(controller, gravity, seconds=4.0, **options):
    sim = ff.Simulation(
        CHEETAH,
        controller,
        gravity=gravity,
        command=ff.Command(forward=0.25),
        start=ff.control.standing_state(CHEETAH),
        **options,
    )
    return sim, sim.run(seconds)


def _walks(sim, rec, gravity):
    """It goes on, at the speed that is asked for, its feet carry its weight there, and its trunk stays level."""
    assert sim.stopped is None
    later = rec.time > 1.0
    carried = rec.force[later][:, :, 2].sum(axis=1).mean()
    assert carried == pytest.approx(weight_of(CHEETAH.mass, gravity), rel=0.02)
    assert rec.mean_velocity(after=3.0)[0] == pytest.approx(0.25, abs=0.04)  # weak pushes take their time
    assert np.ptp(rec.q[later, 2]) < 0.03


def test_one_locomotion_walks_on_the_moon_on_mars_and_then_on_earth_as_if_it_had_never_left():
    controller = ff.control.Locomotion()
    for gravity in (MOON, MARS):
        _walks(*_walk(controller, gravity), gravity)
        assert controller.log == []
    sim, back = _walk(controller, GRAVITY, 1.0)
    _, fresh = _walk(ff.control.Locomotion(), GRAVITY, 1.0)
    assert sim.stopped is None
    assert (back.q == fresh.q).all()
    assert (back.torque == fresh.torque).all()


@pytest.mark.parametrize("stage", ["balance", "mpc"])
def test_force_stages_walk_on_the_moon(stage):
    _walks(*_walk(ff.control.Locomotion(stage=stage), MOON), MOON)


def test_one_object_in_two_gravities_at_once_follows_each():
    controller = ff.control.Locomotion()
    here, there = (ff.Simulation(CHEETAH, controller, gravity=g) for g in (GRAVITY, MOON))
    for sim in (here, there, here, there):
        rec = sim.run(0.25)
    for sim, gravity in ((here, GRAVITY), (there, MOON)):
        rec = sim.run(0.25)
        assert rec.force[-1, :, 2].sum() == pytest.approx(weight_of(CHEETAH.mass, gravity), rel=0.03)


def test_locomotion_needs_a_gravity_that_pulls_down():
    for gravity in ((0.0, 0.0, 0.0), (0.0, 0.0, 2.0)):
        with pytest.raises(InputError, match="points downwards"):
            ff.Simulation(CHEETAH, ff.control.Locomotion(), gravity=gravity).run(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("gravities", [[MARS, MOON]])
def test_an_estimate_walks_on_mars_and_on_the_moon(gravities):
    controller = ff.control.Estimated(ff.control.Locomotion())
    for gravity in gravities:
        sim, rec = _walk(controller, gravity, sensors=Sensors.typical(seed=4))
        _walks(sim, rec, gravity)
        history = controller.history()
        true = np.array([np.interp(history.time, rec.time, rec.v[:, k]) for k in range(3, 6)]).T
        assert np.abs(history.v[50:, 3:6] - true[50:]).max() < 0.1
        assert controller.log == []


def test_an_estimator_may_be_told_a_gravity_of_its_own():
    controller = ff.control.Estimated(ff.control.Locomotion(), ff.control.Estimator(gravity=(0.0, 0.0, -3.0)))
    controller.start(CHEETAH)
    assert controller.model.gravity == (0.0, 0.0, -3.0)


@pytest.mark.parametrize("wrapper", [GravityCompensation, ComputedTorque, ff.control.FootImpedance])
def test_torques_that_carry_the_weight_are_in_proportion_to_gravity(wrapper):
    """At rest, at the wanted place, nothing but the weight is left."""
    controller = wrapper(ff.control.Hold("stand", 40.0, 1.0))
    q, v = CHEETAH.state("stand")
    torques = {}
    for g in (9.81, 1.62):
        forces = np.tile([0.0, 0.0, 0.25 * CHEETAH.mass * g], (4, 1))
        sensed = ff.Sensed(q=q, v=v, forces=forces, gravity=(0.0, 0.0, -g))
        torques[g] = controller(0.0, CHEETAH, sensed, ff.Command(), controller.start(CHEETAH))[0].broadcast(12).torque
    assert np.abs(torques[9.81]).max() > 1.0
    np.testing.assert_allclose(torques[1.62], torques[9.81] * 1.62 / 9.81, rtol=1e-9, atol=1e-12)


def test_the_default_stand_sags_alike_wherever_it_is():
    """Gains go with the weight, so that a stand is as deep on the Moon as on Earth, but for dry friction."""
    joints = JointModel(dry_friction=False)
    rests = {}
    for g in (9.81, 3.71, 1.62):
        rests[g] = ff.Simulation(CHEETAH, gravity=(0.0, 0.0, -g), joints=joints).run(4.0).q[-1, 7:]
    sag = rests[9.81] - CHEETAH.poses["stand"].joints
    assert np.abs(sag).max() > 5e-3
    for g in (3.71, 1.62):
        np.testing.assert_allclose(rests[g] - CHEETAH.poses["stand"].joints, sag, atol=0.1 * np.abs(sag).max())


def test_the_default_stand_holds_its_pose_where_nothing_weighs():
    kp, kd = stand_gains(CHEETAH, (0.0, 0.0, 0.0))
    assert kp > 0.0
    assert kd > 0.0
    q, v = CHEETAH.state("stand")
    sim = ff.Simulation(CHEETAH, gravity=(0.0, 0.0, 0.0), start=(q + np.eye(19)[9] * 0.2 + np.eye(19)[2], v))
    assert np.abs(sim.run(3.0).q[-1, 7:] - q[7:]).max() < 0.02


def test_an_imu_that_is_not_there_reads_the_gravity_of_the_place():
    q, v = CHEETAH.state("stand")
    q[3:7] = [np.cos(0.3), np.sin(0.3), 0.0, 0.0]
    up = ff.Sensed(q=q, v=v, forces=np.zeros((4, 3)), gravity=MARS).acceleration
    np.testing.assert_allclose(up, 3.71 * np.array([0.0, np.sin(0.6), np.cos(0.6)]), atol=1e-12)


@pytest.mark.slow
def test_an_lqr_stand_is_designed_for_its_gravity():
    from footfall.sim.standing_lqr import lqr_stand

    controller = lqr_stand(CHEETAH, gravity=MARS)
    rec = ff.Simulation(CHEETAH, controller, gravity=MARS).run(1.0)
    assert np.abs(rec.q[-1, :3] - rec.q[0, :3]).max() < 2e-3
    assert rec.force[-1, :, 2].sum() == pytest.approx(weight_of(CHEETAH.mass, MARS), rel=0.01)


def test_a_controller_of_ones_own_is_told_the_gravity_compiled_or_not():
    @ff.controller(rate=500)
    def curious(t, robot, sensed, command, memory):
        return ff.JointCommand(torque=np.array(sensed.gravity)[2] * np.ones(robot.nj)), memory

    for compiled in (True, False):
        rec = ff.Simulation(CHEETAH, curious, gravity=MARS, compile_controller=compiled).run(0.01)
        assert (rec.torque[0] == -3.71).all()
