"""An estimator that stays sane whatever its sensors say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walk_on_estimate import CHEETAH, compiled_estimate, model, replay, sane, short_walk

import footfall as ff
from footfall.control.interface import Inertial, Sensed
from footfall.errors import InputError
from footfall.sensing.estimation.estimated import Estimated, readings_of
from footfall.sensing.estimation.estimator import Estimator, EstimatorMemory, estimate, sensor_names
from footfall.sensing.estimation.leg_odometry import base_motion, foot_speeds, legs_of, rolling
from footfall.sensing.estimation.sensor_health import (
    DISAGREES,
    FROZEN,
    MISSING,
    OUT_OF_RANGE,
    Health,
    Limits,
    check,
)
from footfall.sensing.sensors import Sensors
from footfall.spatial.quaternion import to_rotation

G = np.array([0.0, 0.0, -9.81])
QUIET = np.array([1e-6, 1e-4, 1e-12, 1e-10, 0.0])


def tilt_between(q: np.ndarray, other: np.ndarray) -> float:
    """The angle between two verticals, as bases see them [deg]."""
    up, down = to_rotation(q[3:7])[2], to_rotation(other[3:7])[2]
    return float(np.degrees(np.arccos(np.clip(up @ down, -1, 1))))


# -- legs --------------------------------------------------------------------------------------------------------------
def test_standing_legs_show_how_the_base_moves():
    """Joint rates that keep the rolling feet from slipping give back the base's motion; two and a guess do."""
    rng = np.random.default_rng(2)
    joints = CHEETAH.poses["stand"].joints + 0.1 * rng.normal(size=12)
    omega, velocity, up = 0.5 * rng.normal(size=3), 0.3 * rng.normal(size=3), np.array([0.0, 0.0, 1.0])
    rate = np.zeros(12)
    for _ in range(30):  # rolling depends on the rates
        legs = legs_of(CHEETAH, joints, rate)
        rolled = rolling(CHEETAH, legs, omega, up)
        for k in range(4):
            own = slice(3 * k, 3 * k + 3)
            wanted = rolled[k] - velocity - np.cross(omega, legs.position[k])
            rate[own] = np.linalg.solve(legs.J[k, 3:, own], wanted)
    legs = legs_of(CHEETAH, joints, rate)
    rolled = rolling(CHEETAH, legs, omega, up)
    assert foot_speeds(legs, omega, velocity, rolled).max() < 1e-6
    wide = np.full(6, 1e3)
    found = base_motion(legs, np.ones(4), rolled, np.zeros(6), wide, 0.01)
    np.testing.assert_allclose(found, np.concatenate([omega, velocity]), atol=1e-5)
    two = np.array([1.0, 0.0, 0.0, 1.0])
    guess = np.concatenate([omega, velocity])
    np.testing.assert_allclose(base_motion(legs, two, rolled, guess, wide, 0.01), guess, atol=1e-5)


# -- the whole estimator -----------------------------------------------------------------------------------------------
def test_compiled_and_plain_numpy_agree():
    told = short_walk().controller.told[:40]
    plain = replay(told, run=lambda *arguments: estimate(model(), *arguments))
    fast = replay(told)
    for (a, _), (b, _) in zip(plain, fast):
        np.testing.assert_allclose(a.q, b.q, atol=1e-9)
        np.testing.assert_allclose(a.v, b.v, atol=1e-8)
        np.testing.assert_allclose(a.forces, b.forces, atol=1e-5)
    np.testing.assert_allclose(plain[-1][0].P, fast[-1][0].P, atol=1e-9)


def test_the_true_state_does_not_leak():
    """Another truth beside the same readings: the estimate and the command are the same, bit for bit."""
    readings, _ = short_walk().controller.told[0]
    rng = np.random.default_rng(1)
    answers = []
    for _ in range(2):
        q_B = np.concatenate([rng.normal(size=7), readings.position])
        v_B = np.concatenate([rng.normal(size=6), readings.rate])
        sensed = Sensed(
            q=q_B,
            v=v_B,
            forces=rng.normal(size=(4, 3)),
            imu=Inertial(readings.acceleration, readings.gyro),
            foot_force=readings.force,
        )
        controller = Estimated(ff.control.Locomotion())
        memory = controller.start(CHEETAH)
        asked, after = controller(0.0, CHEETAH, sensed, ff.Command(), memory)
        answers.append((asked.torque, after["estimator"].state.p, after["estimator"].state.P))
    for a, b in zip(*answers):
        assert (a == b).all()


def test_another_place_and_axes_of_the_imu_change_nothing():
    """The same motion read by an IMU turned by 120 degrees: the same estimate."""
    turn = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    told = short_walk().controller.told[:60]
    other = [(dataclasses.replace(r, gyro=turn.T @ r.gyro, acceleration=turn.T @ r.acceleration), c) for r, c in told]
    mounted = model(imu_rotation=turn)
    first = replay(told)[-1][0]
    again = replay(other, run=lambda *arguments: estimate(mounted, *arguments))[-1][0]
    np.testing.assert_allclose(again.q, first.q, atol=1e-9)
    np.testing.assert_allclose(again.v, first.v, atol=1e-9)


# -- bad input ---------------------------------------------------------------------------------------------------------
SPOILT = {"missing": np.nan, "infinite": np.inf, "enormous": 1e30, "zero": 0.0}
spoils = st.lists(
    st.tuples(
        st.sampled_from(["gyro", "acceleration", "position", "rate", "force"]),
        st.sampled_from([*SPOILT, "frozen"]),
        st.integers(0, 300),
        st.integers(1, 200),
        st.integers(0, 11),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None)
@given(spoils)
def test_random_dropouts_never_make_it_lose_its_mind(faults):
    """Any sensors, any number of them, at once or in turn, from the first tick on."""
    told = short_walk().controller.told[900:1250]

    def change(tick, readings):
        for sensor, kind, start, length, axis, whole in faults:
            if not start <= tick < start + length:
                continue
            value = np.array(getattr(readings, sensor))
            source = getattr(told[start][0], sensor)
            flat = np.ravel(value)
            where = slice(None) if whole else axis % len(flat)
            flat[where] = np.ravel(source)[where] if kind == "frozen" else SPOILT[kind]
            readings = dataclasses.replace(readings, **{sensor: flat.reshape(value.shape)})
        return readings

    found = replay(told, change)
    for one, memory in found[::10] + found[-1:]:
        assert sane(one, memory)
        assert np.abs(one.q[:3]).max() < 5.0
        assert np.abs(one.v[:6]).max() < 60.0


CASES = {
    "gyro missing": ("gyro", slice(None), np.nan, "gyro", MISSING),
    "accelerometer missing": ("acceleration", 1, np.nan, "accelerometer", MISSING),
    "encoder missing": ("position", 4, np.nan, "encoder 'RF_hip'", MISSING),
    "encoder stuck": ("position", 4, 0.0, "encoder 'RF_hip'", FROZEN),
    "rate missing": ("rate", 4, np.nan, "joint rate 'RF_hip'", MISSING),
    "rate absurd": ("rate", 4, 1e9, "joint rate 'RF_hip'", OUT_OF_RANGE),
    "force missing": ("force", 0, np.nan, "force sensor 'LF'", MISSING),
    "force stuck at zero": ("force", 0, 0.0, "force sensor 'LF'", DISAGREES),
    "force stuck at full": ("force", 0, 90.0, "force sensor 'LF'", DISAGREES),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_sensor_is_flagged_by_name_and_the_estimate_holds(case):
    sensor, axis, value, name, condition = CASES[case]
    walk = short_walk()
    told, truth = walk.controller.told[1000:2400], walk.recording

    def change(tick, readings):
        if tick < 500:
            return readings
        spoilt = np.array(getattr(readings, sensor))
        spoilt[axis] = value
        return dataclasses.replace(readings, **{sensor: spoilt})

    found = replay(told, change)
    flags = np.array([one.conditions for one, _ in found])
    k = sensor_names(CHEETAH).index(name)
    assert not flags[:500].any()
    assert flags[-1, k] == condition
    assert not np.delete(flags, k, axis=1).any()
    rows = slice(1000 + 500 - 1, 2400 - 1)  # the first recorded row comes after the first tick
    tilt = [tilt_between(one.q, q) for (one, _), q in zip(found[500:], truth.q[rows])]
    speed = np.array([one.v[3:6] for one, _ in found[500:]]) - truth.v[rows, 3:6]
    assert np.sqrt(np.mean(np.square(tilt))) < 1.0
    assert np.sqrt(np.mean(np.sum(speed**2, axis=1))) < 0.05


def test_a_frozen_imu_is_found_within_a_few_hundredths_of_a_second():
    told = short_walk().controller.told[1000:1400]
    for sensor, name in (("gyro", "gyro"), ("acceleration", "accelerometer")):
        held = getattr(told[200][0], sensor)
        found = replay(told, lambda k, r, s=sensor, h=held: dataclasses.replace(r, **{s: h}) if k >= 200 else r)
        flags = np.array([one.conditions[sensor_names(CHEETAH).index(name)] for one, _ in found])
        assert not flags[:200].any()
        assert (flags[230:] == FROZEN).all()


def test_a_gyro_that_becomes_biased_is_flagged_and_its_bias_is_learnt():
    walk = short_walk()
    told, off = walk.controller.told[1000:2400], np.array([0.0, 0.2, 0.0])
    found = replay(told, lambda k, r: dataclasses.replace(r, gyro=r.gyro + off) if k >= 400 else r)
    clean = replay(told)
    flags = np.array([one.conditions[0] for one, _ in found])
    assert not flags[:400].any()
    assert (flags[400:500] == DISAGREES).any()
    learnt = found[-1][1].state.gyro_bias - clean[-1][1].state.gyro_bias
    np.testing.assert_allclose(learnt, off, atol=0.02)
    assert tilt_between(found[-1][0].q, walk.recording.q[2398]) < 1.0


def test_an_encoder_that_comes_back_is_believed_again():
    told = short_walk().controller.told[1000:1500]

    def change(tick, readings):
        away = 100 <= tick < 300
        return dataclasses.replace(readings, position=readings.position * np.nan) if away else readings

    flags = np.array([one.conditions for one, _ in replay(told, change)])
    encoders = slice(2, 14)
    assert (flags[150, encoders] == MISSING).all()
    assert not flags[310:].any()


def test_check_replaces_what_is_missing_from_the_first_tick():
    nothing = dataclasses.replace(
        Health.at_start(12, 4).last,
        gyro=np.full(3, np.nan),
        position=np.full(12, np.nan),
        force=np.full((4, 3), np.inf),
    )
    health = check(nothing, 90.0, 1e-3, Limits(), Health.at_start(12, 4))
    used = health.used
    assert all(np.isfinite(x).all() for x in (used.gyro, used.position, used.rate, used.force))
    assert health.gyro == MISSING
    assert (health.position == MISSING).all()
    assert (health.force == MISSING).all()


# -- what is refused ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gyro": 0.0}, "gyro of an estimator must be positive"),
        ({"stance": np.nan}, "stance of an estimator must be positive"),
        ({"on": 0.1, "off": 0.2}, "off < on"),
        ({"sure": 0.4}, "must lie between 0.5 and 1"),
        ({"imu_rotation": np.ones((3, 3))}, "rotation matrix"),
    ],
)
def test_an_estimator_that_cannot_work_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        Estimator(**options)


def test_an_estimator_without_sensors_is_refused():
    controller = Estimated(ff.control.Hold("stand", 60.0, 2.0))
    with pytest.raises(InputError, match="needs sensors"):
        ff.Simulation(CHEETAH, controller)
    with pytest.raises(InputError, match="needs sensors"):
        readings_of(CHEETAH, Sensed(**dict(zip("qv", CHEETAH.state("stand"))), forces=np.zeros((4, 3))))


def test_wrong_parts_are_refused():
    with pytest.raises(InputError, match="must be an Estimator"):
        Estimated(ff.control.Locomotion(), estimator=3)
    with pytest.raises(InputError, match="must be a controller"):
        Estimated("walk")
    with pytest.raises(InputError, match="positive length"):
        Estimator(level=0.0)
    with pytest.raises(InputError, match="'firm' of an estimator"):
        Estimator(firm=1.0)
    with pytest.raises(InputError, match="nothing was estimated"):
        Estimated(ff.control.Locomotion()).history()


def test_a_standing_robot_that_never_moved_is_estimated_at_rest():
    """Any traced controller runs on the estimate too; at rest nothing drifts but by noise."""
    controller = Estimated(ff.control.Hold("stand", 60.0, 2.0))
    simulation = ff.Simulation(CHEETAH, controller, sensors=Sensors.realistic(4))
    recording = simulation.run(0.5)
    assert simulation.stopped is None
    history = controller.history()
    assert np.abs(history.v[50:, 3:6]).max() < 0.02
    assert np.abs(history.q[-1, :2] - recording.q[-1, :2]).max() < 0.01
    assert (history.contact[20:] == 1).all()
    assert controller.log == []


def test_memory_holds_everything():
    """The same memory and readings give the same answer: there is no hidden state."""
    told = short_walk().controller.told[:50]
    _, memory = replay(told)[-1]
    first, again = (compiled_estimate()(told[-1][0], memory)[0] for _ in range(2))
    assert (first.q == again.q).all()
    assert isinstance(memory, EstimatorMemory)
