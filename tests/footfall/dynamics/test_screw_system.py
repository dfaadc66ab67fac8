"""The screw system of Yan et al. 2021 in all topologies: sizes, errata, both dynamics, joint reactions."""

from __future__ import annotations

import numpy as np
import pytest

from footfall import dynamics, kinematics
from footfall.dynamics.formalisms.constrained import constrained_dynamics, contact_jacobian
from footfall.dynamics.formalisms.modes import all_modes, mode_of
from footfall.dynamics.formalisms.screw_system import constraint_matrix, screw_forward_dynamics, screw_inverse_dynamics
from footfall.dynamics.random_states import States, random_states, with_modes
from footfall.errors import InputError
from footfall.robot import Joint, Robot, library
from footfall.robot.model.parts import Link
from footfall_lab.verify import Pinocchio
from footfall_lab.verify.stance_sides import PinocchioStance

BAR = 1e-9


def error(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(x - y).max() / max(float(np.abs(y).max()), 1e-6))


# -- the matrix --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "shape", "rank"),
    [
        ("LF+RF+LH+RH", (84, 90), 84),  # eq. (15): stand
        ("LF+RF+RH", (84, 87), 84),  # what the text of eq. (20) says: a walk with leg 3 up
        ("LF+RH", (84, 84), 83),  # what its matrix shows: a trot
        ("LF", (84, 81), 81),
        ("flight", (78, 72), 72),  # eq. (21): bound, no ground
    ],
)
def test_constraint_matrix_has_the_size_and_rank_of_its_topology(mode: str, shape: tuple[int, int], rank: int) -> None:
    robot = library.load("xiling")
    q = random_states(robot, 1, seed=1).q[0]
    C, names = constraint_matrix(robot, q, mode_of(robot, mode))
    assert C.shape == shape
    assert len(names) == shape[1]
    assert np.linalg.matrix_rank(C.toarray()) == rank
    assert C.nnz < 0.13 * shape[0] * shape[1]


def test_erratum_leg_two_does_not_hang_on_the_first_link_of_leg_one() -> None:
    """Eqs. (15), (20), (21) print -1 at r21, m21 in the row of L11; the first joints of all legs hang on the body."""
    robot = library.load("xiling")
    C, names = constraint_matrix(robot, robot.state("stand")[0], np.zeros(4))
    for leg in robot.foot_names:
        column = C[:, [names.index(f"constraint {leg}_abad")]].toarray()[:, 0].reshape(-1, 6)
        touched = {robot.tree.bodies[i].name for i in range(len(column)) if column[i].any()}
        assert touched == {"trunk", f"{leg}_abad_link"}


def test_link_speeds_obey_eq_16(robot: Robot, states: States) -> None:
    """Cᵀ v = (0; joint rates): constraints see no motion, motors see their own."""
    q, v = states.q[0], states.v[0]
    C, names = constraint_matrix(robot, q, np.zeros(robot.nf))
    R = kinematics.base_pose(robot, q)
    speeds = []
    for X_WB, V in zip(kinematics.body_poses(robot, q), kinematics.body_velocities(robot, q, v)):
        speeds.append(type(X_WB)(X_WB.R, X_WB.p - R.p).to_parent(V))
    seen = C.T @ np.concatenate(speeds)
    motors = np.array([name.startswith("drive") for name in names])
    assert np.abs(seen[~motors]).max() < 1e-14
    assert np.abs(seen[motors] - v[6:]).max() < 1e-14


# -- forward dynamics --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("solver", ["structure", "sparse", "dense"])
def test_all_sixteen_topologies_move_as_the_kkt_system_says(robot: Robot, states: States, solver: str) -> None:
    q, v, tau = states.q[0], states.v[0], states.tau[0]
    for mode in all_modes(robot):
        found = screw_forward_dynamics(robot, q, v, tau, mode, solver=solver)
        a, f = constrained_dynamics(robot, q, v, tau, mode)
        assert error(found.a, a) < BAR
        assert error(found.foot_forces, f) < BAR
        assert found.unique


def pinocchio_errors(robot: Robot, samples: int = 1) -> dict[str, float]:
    states = with_modes(robot, random_states(robot, samples, seed=6))
    theirs = PinocchioStance(Pinocchio(robot)).side()
    worst = {"a": 0.0, "forces": 0.0, "reactions": 0.0}
    for q, v, tau in zip(states.q, states.v, states.tau):
        for mode in all_modes(robot):
            ours = screw_forward_dynamics(robot, q, v, tau, mode)
            for key, mine, name in (
                ("a", ours.a, "stance_acceleration"),
                ("forces", ours.foot_forces, "contact_forces"),
                ("reactions", ours.reactions, "joint_reactions"),
            ):
                worst[key] = max(worst[key], error(mine, theirs[name](q, v, tau, mode)))
    return worst


def test_reactions_equal_those_of_pinocchio_in_all_topologies(robot: Robot) -> None:
    worst = pinocchio_errors(robot)
    assert max(worst.values()) < BAR, worst


def test_reactions_of_real_robots_equal_those_of_pinocchio_in_all_topologies(third_party: Robot) -> None:
    worst = pinocchio_errors(third_party)
    assert max(worst.values()) < BAR, worst


def test_every_rotor_mode_reacts_as_in_pinocchio() -> None:
    for rotors in ("none", "exact"):
        worst = pinocchio_errors(library.load("mini_cheetah").replace(rotors=rotors))
        assert max(worst.values()) < BAR, worst


def test_motors_carry_their_share_of_the_reactions(robot: Robot, states: States) -> None:
    """Along its axis a joint passes on its torque, less what its rotor takes to be turned."""
    q, v, tau = states.q[0], states.v[0], states.tau[0]
    found = screw_forward_dynamics(robot, q, v, tau, np.ones(robot.nf))
    for i, body in enumerate(robot.tree.bodies[1:], start=1):
        along = body.axis @ (found.reactions[i, :3] if body.kind == "revolute" else found.reactions[i, 3:])
        assert along == pytest.approx(tau[5 + i] - body.armature * found.a[5 + i], rel=1e-8, abs=1e-6)


def test_all_solvers_agree_on_a_long_chain() -> None:
    """Forty links: all solvers agree, and with articulated bodies too."""
    n = 40
    links = [Link(name=f"l{k}", mass=1.0, com=np.array([0.1, 0.0, 0.0]), inertia=0.01 * np.eye(3)) for k in range(n)]
    axes = np.eye(3)
    joints = [
        Joint(
            name=f"j{k}",
            kind="revolute",
            parent=f"l{k - 1}",
            child=f"l{k}",
            origin=np.array([0.2, 0.0, 0.0]),
            axis=axes[k % 3],
        )
        for k in range(1, n)
    ]
    robot = Robot(name="chain", links=links, joints=joints)
    states = random_states(robot, 1, seed=2)
    q, v, tau = states.q[0], states.v[0], 1e-2 * states.tau[0]
    found = [screw_forward_dynamics(robot, q, v, tau, solver=solver).a for solver in ("structure", "sparse", "dense")]
    assert error(found[0], found[1]) < 1e-7
    assert error(found[1], found[2]) < 1e-7
    assert error(found[1], dynamics.articulated_body(robot, q, v, tau)) < 1e-7


# -- inverse dynamics --------------------------------------------------------------------------------------------------
def test_measured_foot_forces_make_inverse_dynamics_unique(robot: Robot, states: States) -> None:
    """As the paper does it: joint accelerations and foot forces in, torques and the base's acceleration out."""
    q, v, tau = states.q[0], states.v[0], states.tau[0]
    for mode in all_modes(robot):
        a, f = constrained_dynamics(robot, q, v, tau[6:], mode)
        found = screw_inverse_dynamics(robot, q, v, a[6:], foot_forces=f)
        assert error(found.torques, tau[6:]) < BAR
        assert error(found.a, a) < BAR
        assert found.unique


def test_imu_and_foot_force_agree_when_nothing_else_pushes(robot: Robot, states: States) -> None:
    """With the base's acceleration measured too, what they leave unexplained on the base is zero, or a push."""
    q, v, tau = states.q[0], states.v[0], states.tau[0]
    push = np.array([1.0, -2.0, 3.0, 10.0, 20.0, -5.0])
    a, f = constrained_dynamics(robot, q, v, np.concatenate([push, tau[6:]]), np.ones(robot.nf))
    found = screw_inverse_dynamics(robot, q, v, a[6:], f, base_acceleration=a[:6])
    assert error(found.reactions[0], push) < 1e-8
    assert error(found.torques, tau[6:]) < BAR


def test_without_measured_forces_the_least_are_taken_and_said_so(robot: Robot, states: States) -> None:
    q, v, tau = states.q[0], states.v[0], states.tau[0]
    J = contact_jacobian(robot, q)
    for mode in all_modes(robot):
        a, f = constrained_dynamics(robot, q, v, tau[6:], mode)
        found = screw_inverse_dynamics(robot, q, v, a[6:], mode=mode)
        assert found.redundancy == [0, 0, 1, 3, 6][int(mode.sum())]
        assert found.unique == (mode.sum() < 2)
        assert error(found.a, a) < BAR
        whole = J.T @ found.foot_forces.reshape(-1) + np.concatenate([np.zeros(6), found.torques])
        assert error(whole, dynamics.inverse_dynamics(robot, q, v, a)) < BAR
        assert np.linalg.norm(found.foot_forces) <= np.linalg.norm(f) * (1 + 1e-9)


# -- bad input ---------------------------------------------------------------------------------------------------------
def test_accelerations_that_tear_the_feet_off_are_refused() -> None:
    robot = library.load("mini_cheetah")
    q, v = robot.state("stand")
    with pytest.raises(InputError, match="over-constrained stance: the feet LF, RF, LH, RH cannot all stand still"):
        screw_inverse_dynamics(robot, q, v, np.arange(12.0), mode=np.ones(4))


def test_contradicting_questions_are_refused() -> None:
    robot = library.load("mini_cheetah")
    q, v = robot.state("stand")
    fixed = Robot(
        name="arm",
        links=[Link.massless("floor"), Link(name="arm", mass=1.0, inertia=np.eye(3))],
        joints=[Joint(name="turn", kind="revolute", parent="floor", child="arm")],
        floating=False,
    )
    none = np.zeros(12)
    for wrong, message in (
        (lambda: screw_inverse_dynamics(robot, q, v, none, np.zeros((4, 3)), mode=np.ones(4)), "not both"),
        (lambda: screw_inverse_dynamics(robot, q, v, none, np.zeros((3, 3))), r"foot_forces .* shape \(4, 3\)"),
        (lambda: screw_forward_dynamics(robot, q, v, none, solver="magic"), "unknown solver 'magic': choose structure"),
        (lambda: screw_forward_dynamics(robot, q, v, none, np.ones(3)), r"mode of robot .* shape \(4,\)"),
        (
            lambda: screw_forward_dynamics(robot, q + np.nan, v, none),
            "q of robot 'mini_cheetah' has a value that is not finite",
        ),
        (
            lambda: screw_inverse_dynamics(fixed, np.zeros(1), np.zeros(1), np.zeros(1), base_acceleration=np.zeros(6)),
            "fixed base, whose acceleration is zero",
        ),
    ):
        with pytest.raises(InputError, match=message):
            wrong()
