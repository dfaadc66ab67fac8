"""Impacts: impulses that stop chosen rows, bounces that never gain energy."""

from __future__ import annotations

import numpy as np
import pytest

from footfall.contact.cone_solver import solve_by_contact
from footfall.contact.coulomb import ContactProblem, residuals
from footfall.contact.impact import bounce_floor, stopping_impulses, without_gain


def inertia(rng: np.random.Generator, n: int) -> np.ndarray:
    root = rng.normal(size=(n, n))
    return root @ root.T + 0.1 * np.eye(n)


def test_stopping_impulses_reach_the_wanted_velocities_and_leave_other_rows_alone():
    rng = np.random.default_rng(0)
    A, V, wanted = inertia(rng, 12), rng.normal(size=12), 0.1 * rng.normal(size=12)
    rows = np.array([1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1], dtype=float)
    impulses = stopping_impulses(A, V, wanted, rows)
    after = V + A @ impulses
    np.testing.assert_allclose(after[rows > 0], wanted[rows > 0], atol=1e-10)
    assert (impulses[rows == 0] == 0).all()


def test_damping_makes_redundant_rows_solvable():
    J = np.random.default_rng(1).normal(size=(12, 6))  # twelve rows that hold six degrees of freedom
    V = J @ np.random.default_rng(2).normal(size=6)
    impulses = stopping_impulses(J @ J.T, V, np.zeros(12), np.ones(12), damping=1e-9)
    np.testing.assert_allclose(V + J @ J.T @ impulses, 0.0, atol=1e-6)


def test_only_a_contact_that_is_stopped_and_fast_bounces():
    V_before = np.array([0, 0, -2.0, 0, 0, -2.0, 0, 0, -0.01, 0, 0, 1.0])
    impulses = np.array([0, 0, 1.0, 0, 0, 0.0, 0, 0, 1.0, 0, 0, 1.0])
    floor = bounce_floor(np.full(4, -0.5), impulses, V_before, V_before, 0.5, 0.05)
    np.testing.assert_allclose(floor, [1.0, -0.5, -0.5, -0.5])


@pytest.mark.parametrize("restitution", [0.3, 1.0])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_bounces_never_gain_energy_stay_in_the_cone_and_part(restitution, friction):
    """Newton's law alone gains energy in some of these (Kane and Levinson); the mixture does not."""
    plain_gains, full, count = 0, 0, 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        A, V = inertia(rng, 9), rng.normal(size=9)
        mu, still = np.full(3, friction), np.zeros(3)
        stopping = ContactProblem(A, V, np.zeros(3), mu)
        stop, _, _ = solve_by_contact(stopping, np.zeros(9), still, 1000, 1e-12)
        bouncing = ContactProblem(A, V, bounce_floor(np.zeros(3), stop, V, V, restitution, 1e-3), mu)
        bounce, _, _ = solve_by_contact(bouncing, stop, still, 1000, 1e-12)
        if max(residuals(stopping, stop).max(), residuals(bouncing, bounce).max()) > 1e-8:
            continue
        mixed = without_gain(A, 2 * V, stop, bounce)
        count += 1
        plain_gains += work(A, V, bounce) > 1e-6
        full += np.allclose(mixed, bounce)
        assert work(A, V, mixed) <= 1e-9
        normal, tangent = mixed.reshape(3, 3)[:, 2], np.linalg.norm(mixed.reshape(3, 3)[:, :2], axis=1)
        assert (normal >= -1e-12).all()
        assert (tangent <= friction * normal + 1e-9).all()
        assert ((V + A @ mixed)[2::3] >= -1e-6).all()
    assert count > 100
    assert full > 0.8 * count  # Newton's law, unshortened
    assert plain_gains > 0 or restitution < 1.0


def work(A: np.ndarray, V: np.ndarray, impulses: np.ndarray) -> float:
    """Of impulses on bodies that nothing else moves."""
    return float(impulses @ (V + 0.5 * A @ impulses))
