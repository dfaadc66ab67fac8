"""The invariant filter's laws, and an estimator that stays sane whatever its sensors say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walk_on_estimate import CHEETAH, compiled_estimate, model, replay, sane, short_walk

import footfall as ff
from footfall.control.estimated import Estimated, readings_of
from footfall.control.estimator import Estimator, EstimatorMemory, estimate, sensor_names
from footfall.control.interface import Inertial, Sensed
from footfall.control.invariant_filter import (
    FEET,
    PLACE,
    SPEED,
    TURN,
    FilterState,
    FootSeen,
    correct,
    on_level_ground,
    plain_covariance,
    propagate,
)
from footfall.control.leg_odometry import base_motion, foot_speeds, legs_of, rolling
from footfall.control.sensor_health import DISAGREES, FROZEN, MISSING, OUT_OF_RANGE, Health, Limits, check
from footfall.errors import InputError
from footfall.simulate.sensors import Sensors
from footfall.spatial.quaternion import rotated, to_rotation

G = np.array([0.0, 0.0, -9.81])
QUIET = np.array([1e-6, 1e-4, 1e-12, 1e-10, 0.0])


def random_state(seed: int, scale: float = 0.1) -> FilterState:
    rng = np.random.default_rng(seed)
    root = scale * rng.normal(size=(27, 27))
    quat = rotated(np.array([1.0, 0, 0, 0]), rng.normal(size=3))
    P = root @ root.T + 1e-6 * np.eye(27)
    v, p, feet = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(4, 3))
    return FilterState(quat, v, p, np.zeros(3), np.zeros(3), feet, 0.5 * (P + P.T))


def seen_from(state: FilterState, noise: float, stands: float = 1.0, error: float = 0.0, seed: int = 0) -> FootSeen:
    place = (state.feet - state.p) @ to_rotation(state.quat)
    place = place + error * np.random.default_rng(seed).normal(size=(4, 3))
    return FootSeen(place, np.array([noise * np.eye(3)] * 4), np.full(4, stands))


def tilt_between(q: np.ndarray, other: np.ndarray) -> float:
    """The angle between two verticals, as bases see them [deg]."""
    up, down = to_rotation(q[3:7])[2], to_rotation(other[3:7])[2]
    return float(np.degrees(np.arccos(np.clip(up @ down, -1, 1))))


# -- the filter --------------------------------------------------------------------------------------------------------
def test_a_perfect_imu_carries_a_turning_accelerating_body_exactly():
    """Against the closed form: constant spin about z, constant acceleration in the world."""
    spin, push, dt = np.array([0.0, 0.0, 2.0]), np.array([0.3, -0.2, 0.1]), 1e-3
    state = dataclasses.replace(random_state(0), quat=np.array([1.0, 0, 0, 0]), v=np.zeros(3), p=np.zeros(3))
    for k in range(1000):
        R_end = to_rotation(rotated(np.array([1.0, 0, 0, 0]), (k + 1) * dt * spin))
        state = propagate(state, spin, R_end.T @ (push - G), dt, G, QUIET, np.zeros((4, 3)), np.zeros(4))
    np.testing.assert_allclose(to_rotation(state.quat), R_end, atol=1e-9)
    np.testing.assert_allclose(state.v, push, atol=1e-9)
    np.testing.assert_allclose(state.p, 0.5 * push, atol=0.51 * dt)  # semi-implicit Euler: half a step ahead


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), noise=st.floats(1e-8, 1e-2))
def test_correction_adds_the_information_of_the_feet(seed, noise):
    """inv(P⁺) = inv(P) + Σ Hᵀ inv(N) H: Joseph's form one foot after another is all feet at once."""
    state = random_state(seed, 1.0)
    after, nis = correct(state, seen_from(state, noise), 1e9)
    H = np.zeros((12, 27))
    for k in range(4):
        H[3 * k : 3 * k + 3, PLACE], H[3 * k : 3 * k + 3, FEET + 3 * k : FEET + 3 * k + 3] = -np.eye(3), np.eye(3)
    S = H @ state.P @ H.T + noise * np.eye(12)
    expected = state.P - state.P @ H.T @ np.linalg.solve(S, H @ state.P)
    np.testing.assert_allclose(after.P, expected, atol=1e-6 * np.abs(state.P).max())
    assert (after.P == after.P.T).all()
    assert np.abs(nis).max() < 1e-9


def test_covariance_stays_positive_over_many_hard_updates():
    """Twelve orders of magnitude between what is known and what is not, two thousand feet over."""
    state = random_state(1, 1e-5)
    lost = np.zeros(27)
    lost[FEET:] = 1.0
    for k in range(500):
        state = dataclasses.replace(state, P=state.P + np.diag(lost) * (k % 7 == 0))
        state, _ = correct(state, seen_from(state, 1e-9), 1e9)
    assert np.linalg.eigvalsh(state.P).min() > 0


@pytest.mark.parametrize("seed", range(3))
def test_heading_and_place_are_never_learnt(seed):
    """Neither prediction nor correction adds information about a turn about the vertical or a shift of everything."""
    before = random_state(seed, 1.0)
    unseen = np.zeros((27, 4))
    unseen[TURN, 0] = [0, 0, 1]
    for k in range(3):
        unseen[6 + k, 1 + k] = 1.0
        unseen[FEET + k :: 3, 1 + k] = 1.0
    after, _ = correct(before, seen_from(before, 1e-6), 1e9)
    known = [np.diag(unseen.T @ np.linalg.solve(P, unseen)) for P in (before.P, after.P)]
    np.testing.assert_allclose(known[1], known[0], rtol=1e-5)
    moved = propagate(after, np.ones(3), np.ones(3), 1e-3, G, QUIET, np.zeros((4, 3)), np.zeros(4))
    later = np.diag(unseen.T @ np.linalg.solve(moved.P, unseen))
    assert (later <= known[1] * (1 + 1e-6)).all()


def test_a_foot_beyond_the_gate_is_moved_and_the_body_is_left_alone():
    state = random_state(3, 1e-3)
    feet = np.array(state.feet)
    feet[2] += [0.2, 0.0, 0.0]
    place = seen_from(dataclasses.replace(state, feet=feet), 1e-7)
    after, nis = correct(state, place, 21.1)
    assert nis[2] > 21.1
    np.testing.assert_allclose(after.feet[2], feet[2], atol=1e-3)
    np.testing.assert_allclose(after.p, state.p, atol=1e-4)
    np.testing.assert_allclose(after.v, state.v, atol=1e-4)
    trusting, _ = correct(state, place, 1e9)
    assert np.abs(trusting.p - state.p).max() > 1e-3


def test_level_ground_adds_its_information_and_a_step_adds_none():
    """inv(P⁺) = inv(P) + H Hᵀ / σ², H found by moving the state; a foot 0.3 m up stands on something else."""
    state, variance = random_state(7, 3e-3), 1e-4
    feet = np.array(state.feet)
    feet[:, 2] = [0.002, 0.3, -0.003, 0.001]
    state = dataclasses.replace(state, feet=feet)
    after = on_level_ground(state, np.zeros(4), variance, np.array([True, True, False, False]))
    foot = FEET  # of the one that settles
    turns = [to_rotation(rotated(np.array([1.0, 0, 0, 0]), 1e-6 * axis)) @ feet[0] - feet[0] for axis in np.eye(3)]
    H = np.zeros(27)
    H[TURN], H[foot + 2] = 1e6 * np.array(turns)[:, 2], 1.0
    expected = np.linalg.inv(np.linalg.inv(state.P) + np.outer(H, H) / variance)
    np.testing.assert_allclose(after.P, expected, atol=1e-5 * np.abs(state.P).max())
    gain = state.P @ H / (H @ state.P @ H + variance)
    np.testing.assert_allclose(after.feet[0, 2], feet[0, 2] * (1.0 - H @ gain), atol=2e-5)


def test_covariance_in_plain_words_is_that_of_samples():
    """Draw right-invariant errors, apply them, and look at v and p themselves."""
    state = random_state(5, 2e-3)
    rng = np.random.default_rng(0)
    found = []
    for xi in rng.multivariate_normal(np.zeros(9), state.P[:9, :9], 4000):
        R = to_rotation(rotated(np.array([1.0, 0, 0, 0]), xi[TURN]))
        found.append(np.concatenate([xi[:3], R @ state.v + xi[SPEED] - state.v, R @ state.p + xi[PLACE] - state.p]))
    expected = plain_covariance(state)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(np.cov(np.array(found).T) / scale, expected / scale, atol=0.06)


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
            wanted = rolled[k] - velocity - np.cross(omega, legs.place[k])
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
            q_B, v_B, rng.normal(size=(4, 3)), Inertial(readings.acceleration, readings.gyro), readings.force
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
        ({"on": 0.1, "off": 0.2}, "come down above 'on'"),
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
        readings_of(CHEETAH, Sensed(*CHEETAH.state("stand"), np.zeros((4, 3))))


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
