"""Laws of the contact-aided invariant filter."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footfall.sensing.estimation.invariant_filter import (
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
from footfall.spatial.quaternion import rotated, to_rotation

G = np.array([0.0, 0.0, -9.81])
QUIET = np.array([1e-6, 1e-4, 1e-12, 1e-10, 0.0])


def random_state(seed: int, scale: float = 0.1) -> FilterState:
    rng = np.random.default_rng(seed)
    root = scale * rng.normal(size=(27, 27))
    quat = rotated(np.array([1.0, 0, 0, 0]), rng.normal(size=3))
    P = root @ root.T + 1e-6 * np.eye(27)
    v, p, feet = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(4, 3))
    return FilterState(
        quat=quat, v=v, p=p, gyro_bias=np.zeros(3), acceleration_bias=np.zeros(3), feet=feet, P=0.5 * (P + P.T)
    )


def seen_from(state: FilterState, noise: float, stands: float = 1.0, error: float = 0.0, seed: int = 0) -> FootSeen:
    place = (state.feet - state.p) @ to_rotation(state.quat)
    place = place + error * np.random.default_rng(seed).normal(size=(4, 3))
    return FootSeen(place, np.array([noise * np.eye(3)] * 4), np.full(4, stands))


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
