"""Solvers of the complementarity problem: the laws of contact, one solver against the other, bad input, cost."""

from __future__ import annotations

import numpy as np
import pytest
from held_steps import ROBOT, held_step, standing

import footfall as ff
from footfall import compiling
from footfall.contact.cone_solver import solve_by_contact
from footfall.contact.coulomb import ContactProblem, residuals
from footfall.contact.delassus import contact_space
from footfall.contact.least_squares import impulses_of, solve_by_least_squares
from footfall.contact.points import contact_points
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.errors import InputError
from footfall.kinematics.forward import joint_transforms, poses_in_base
from footfall.sim.joints import JointModel
from footfall.sim.world import World


def random_problem(contacts: int, seed: int, friction: float = 0.7) -> ContactProblem:
    """Well-conditioned feet of a robot: every one has dynamics of its own beside the trunk's."""
    rng = np.random.default_rng(seed)
    n = 3 * contacts
    common = rng.normal(size=(n, 6)) * 0.4
    own = rng.normal(size=(contacts, 3, 3)) * 0.3
    A = common @ common.T
    for k in range(contacts):
        A[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] += own[k] @ own[k].T + 1.5 * np.eye(3)
    V_free = rng.normal(size=n)
    floor = -np.maximum(rng.normal(size=contacts), 0.0)
    return ContactProblem(A, V_free, floor, np.full(contacts, friction))


def laws_hold(problem: ContactProblem, impulses: np.ndarray, tolerance: float = 1e-8) -> None:
    """Signorini, cone and maximum dissipation, written down independently of ``residuals``."""
    V = problem.V_free + problem.A @ impulses
    for k in range(problem.contacts):
        lam, u = impulses[3 * k : 3 * k + 3], V[3 * k : 3 * k + 3]
        above, mu = u[2] - problem.floor[k], problem.friction[k]
        assert lam[2] >= 0
        assert above >= -tolerance
        assert lam[2] * above <= tolerance
        assert np.hypot(*lam[:2]) <= mu * lam[2] * (1 + 1e-12) + 1e-15
        slip = np.hypot(*u[:2])
        assert lam[:2] @ u[:2] == pytest.approx(-mu * lam[2] * slip, abs=tolerance)  # takes all that it can


@pytest.mark.parametrize("friction", [0.0, 0.3, 1.2])
@pytest.mark.parametrize("contacts", [1, 2, 4, 6])
def test_both_solvers_meet_the_laws_and_each_other(contacts, friction):
    for seed in range(12):
        problem = random_problem(contacts, seed, friction)
        zero, still = np.zeros(3 * contacts), np.zeros(contacts)
        swept, _, _ = solve_by_contact(problem, zero, still, 500, 1e-12)
        squared, _, size, _ = solve_by_least_squares(problem, zero, still, 50, 1e-12)
        laws_hold(problem, swept)
        assert residuals(problem, swept).max() < 1e-9
        if size < 1e-10:
            laws_hold(problem, squared)
            np.testing.assert_allclose(squared, swept, atol=1e-8)


def test_least_squares_arrives_on_nearly_all_of_many_random_problems_from_nothing():
    arrived = []
    for seed in range(200):
        problem = random_problem(4, seed)
        _, _, size, _ = solve_by_least_squares(problem, np.zeros(12), np.zeros(4), 30, 1e-10)
        arrived.append(size < 1e-8)
    assert np.mean(arrived) > 0.97


def test_least_squares_impulses_lie_in_the_cone_for_any_x():
    rng = np.random.default_rng(0)
    for _ in range(100):
        x = rng.normal(size=12)
        lam = impulses_of(x, [0.5] * 4).reshape(4, 3)
        assert (lam[:, 2] >= 0).all()
        assert (np.hypot(lam[:, 0], lam[:, 1]) <= 0.5 * lam[:, 2] + 1e-15).all()
        assert (lam[x.reshape(4, 3)[:, 2] > 0] == 0).all()  # erratum of eq. (34): nothing where x_N > 0


def test_eq_37_as_printed_has_the_solutions_of_the_scaled_problem():
    """A - I compares impulses with velocities as they are: another norm, the same zeros. No erratum of (35)-(37)."""

    class Unscaled(ContactProblem):
        def _scales(self, k):
            return 1.0, 1.0, 1.0

    compared = 0
    for seed in range(40):
        problem = random_problem(4, seed)
        printed = Unscaled(problem.A, problem.V_free, problem.floor, problem.friction)
        impulses, _, size, _ = solve_by_least_squares(printed, np.zeros(12), np.zeros(4), 30, 1e-12)
        if size < 1e-11:
            assert residuals(problem, impulses).max() < 1e-10
            compared += 1
    assert compared > 30


def test_scale_of_mass_does_not_matter():
    """With the scale, the number of iterations does not hang on the unit of mass."""
    problem = random_problem(4, 3)
    for unit in (1e-3, 1e3):
        heavy = ContactProblem(problem.A / unit, problem.V_free, problem.floor, problem.friction)
        light, _, _, made = solve_by_least_squares(problem, np.zeros(12), np.zeros(4), 30, 1e-11)
        other, _, _, again = solve_by_least_squares(heavy, np.zeros(12), np.zeros(4), 30, 1e-11)
        np.testing.assert_allclose(other / unit, light, atol=1e-9)
        assert made == again


def test_one_contact_that_slides_has_the_known_impulse():
    problem = ContactProblem(np.diag([1.0, 1.0, 2.0]), np.array([3.0, 4.0, -2.0]), np.zeros(1), np.array([0.5]))
    impulses, slips, _ = solve_by_contact(problem, np.zeros(3), np.zeros(1), 50, 1e-14)
    np.testing.assert_allclose(impulses, [-0.3, -0.4, 1.0], atol=1e-12)
    assert slips[0] == pytest.approx(4.5 / 0.5)  # |V_T| / |λ_T|


def test_a_guess_that_is_good_enough_is_returned_as_it_is():
    problem = random_problem(4, 1)
    good, slips, _ = solve_by_contact(problem, np.zeros(12), np.zeros(4), 500, 1e-12)
    again, _, sweeps = solve_by_contact(problem, good, slips, 500, 1e-8, residuals(problem, good).max())
    assert sweeps == 0
    assert (again == good).all()


def test_contact_space_is_the_dense_delassus_form():
    robot = ff.load("mini_cheetah")
    q, v = robot.state("stand")
    v = np.random.default_rng(1).normal(size=robot.nv)
    force = np.random.default_rng(2).normal(size=robot.nv)
    world = World(robot=robot)
    X, M, dt = joint_transforms(robot, q), mass_matrix(robot, q), 2e-3
    points = contact_points(robot, X, poses_in_base(robot, X), world.spheres, world.ground)
    space = contact_space(robot, M, force, points, v, dt)
    J = np.concatenate([point.R_BC.T @ point.J for point in points])
    np.testing.assert_allclose(space.A, J @ np.linalg.solve(M, J.T), atol=1e-10)
    np.testing.assert_allclose(space.V_free, J @ (v + dt * np.linalg.solve(M, force)), atol=1e-10)
    f = np.random.default_rng(3).normal(size=12)
    np.testing.assert_allclose(space.accelerations(robot, f), np.linalg.solve(M, force + J.T @ f), atol=1e-9)
    assert np.linalg.matrix_rank(space.A) == 12  # erratum: 24 rows would be singular


def test_the_step_costs_at_most_three_times_the_implicit_compliant_step():
    state, targets = standing()
    counts = {}
    for contact in (ff.contact.Compliant(), ff.contact.Complementarity(), ff.contact.Complementarity(restitution=0.5)):
        world = World(robot=ROBOT, contact=contact, joints=JointModel.ideal())
        first = type(state)(state.q, state.v, contact.start(world.spheres))
        program = compiling.program(held_step, world, first, targets, dt=1e-3)
        counts[getattr(contact, "restitution", None)] = program.live_operations
    assert counts[0.0] <= 3 * counts[None], counts
    assert counts[0.5] <= 3 * counts[None], counts


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"restitution": -0.1}, "restitution must lie between 0 and 1, got -0.1"),
        ({"restitution": 1.5}, "restitution must lie between 0 and 1, got 1.5"),
        ({"restitution": float("nan")}, "restitution must lie between 0 and 1, got nan"),
        ({"method": "magic"}, "unknown method of complementarity contact 'magic'"),
        ({"tolerance": 0.0}, "tolerance of complementarity contact must be positive and finite, got 0.0"),
        (
            {"slowest_bounce": float("inf")},
            "slowest bounce of complementarity contact must be positive and finite, got inf",
        ),
        ({"sweeps": 0}, "sweeps of complementarity contact must be at least 1, got 0"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(options, words):
    with pytest.raises(InputError) as caught:
        ff.contact.Complementarity(**options)
    assert words in str(caught.value)


def test_friction_below_zero_is_refused():
    with pytest.raises(InputError, match=r"friction must .* not negative, got -0\.2"):
        ff.contact.Plane(-0.2)


@pytest.mark.parametrize("integrator", ["heun", "rk4"])
@pytest.mark.parametrize("contact", ["complementarity", "stance"])
def test_impulses_refuse_integrators_that_sample_accelerations(integrator, contact):
    with pytest.raises(InputError, match="gives impulses: its integrator must be linearly_implicit or"):
        ff.Simulation(ff.load("mini_cheetah"), contact=contact, integrator=integrator)


def test_contact_models_have_names():
    for name, kind in (
        ("compliant", ff.contact.Compliant),
        ("complementarity", ff.contact.Complementarity),
        ("stance", ff.contact.Stance),
    ):
        assert isinstance(ff.contact.named(name), kind)
    assert ff.contact.named("complementarity", restitution=0.5).restitution == 0.5
    with pytest.raises(InputError, match="unknown contact model 'sticky'"):
        ff.contact.named("sticky")


@pytest.mark.parametrize("contact", [ff.contact.Complementarity(), ff.contact.Stance()])
def test_robot_without_feet_is_refused_in_one_sentence(contact):
    stone = ff.Robot(name="stone", links=[ff.Link(name="stone", mass=2.0, inertia=np.eye(3))])
    with pytest.raises(InputError, match="robot 'stone' has no feet"):
        ff.Simulation(stone, contact=contact, stop_on_fall=False).run(0.01)
