"""Every numbered equation of de Paula et al. 2024, compared with independent mechanics; errata as printed."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.contact.points import contact_points, spheres_of
from footfall.dynamics.external_terms import external_terms
from footfall.dynamics.formalisms.state_space import euler_state, euler_state_rate
from footfall.dynamics.forward_dynamics import forward_dynamics
from footfall.dynamics.gravity_terms import gravity_terms
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.velocity_terms import velocity_terms
from footfall.kinematics.forward import body_poses, body_velocities, foot_positions, joint_transforms, poses_in_base
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot import Robot, library
from footfall.spatial import Transform, motion
from footfall.spatial.rotation import from_euler
from footfall.spatial.vector import skew
from footfall_lab.papers.claims import Claim, assess
from footfall_lab.papers.mechanics import Mechanics, hat, off

NAME = "depaula2024"
GRAVITY = (0.0, 0.0, -9.807)
STATES = 5


def claims() -> list[Claim]:
    """Check every equation: the worst error over a few random states of the 13 bodies."""
    worst: dict[str, float] = {}
    rng = np.random.default_rng(12)
    for _ in range(STATES):
        for id, value in _state(rng).items():
            worst[id] = float(np.fmax(worst.get(id, 0.0), value)) if np.isfinite(value) else value
    return [assess(NAME, id, value, NOTES.get(id, _BESIDE)) for id, value in worst.items()]


def _state(rng: np.random.Generator) -> dict[str, float]:
    robot = library.load("mini_cheetah", rotors="none")
    tree = robot.tree
    x = rng.uniform(-0.6, 0.6, robot.nv)  # Euler angles, position, joints
    q, v = robot.state(x[6:])[0], rng.normal(size=robot.nv)
    R = from_euler(x[:3], "zyx")
    q[:3], q[3:7] = x[3:6], _quaternion(R)
    own = Mechanics.of(robot, q, v)
    poses, twists = body_poses(robot, q), body_velocities(robot, q, v)
    found: dict[str, float] = {}
    # -- tree and transforms
    chains = [[*_chain(tree.parent, i)] for i in range(len(tree.bodies))]
    wrong = sum(list(tree.support[i]) != chain for i, chain in enumerate(chains))
    wrong += sum(tree.pred[j - 1] != tree.parent[j] or tree.succ[j - 1] != j for j in range(1, len(tree.bodies)))
    wrong += sum(set(tree.children[i]) != {j for j, p in enumerate(tree.parent) if p == i} for i in range(len(chains)))
    wrong += sum(set(tree.subtree[i]) != {j for j, c in enumerate(chains) if i in (0, *c)} for i in range(len(chains)))
    found["eq_tree"] = float(wrong)
    X = joint_transforms(robot, q)[3]
    V, F = rng.normal(size=(2, 6))
    moved = np.concatenate([X.R.T @ V[:3], X.R.T @ (V[3:] + np.cross(V[:3], X.p))])
    force = np.concatenate([X.R @ F[:3] + np.cross(X.p, X.R @ F[3:]), X.R @ F[3:]])
    found["eq_transforms"] = max(
        off(X.to_child(V), moved),
        off(X.motion_matrix() @ V, moved),
        off(X.wrench_to_parent(F), force),
        off(X.force_matrix() @ force, F),
        abs(F @ moved - force @ V) / abs(force @ V),
    )
    found["erratum_28"] = off(np.linalg.inv(X.motion_matrix()).T @ F, force)
    # -- kinematics
    feet = [own.point(i, r) for i, r in zip(tree.feet, tree.foot_positions)]
    own_twists = [np.concatenate([Rk.T @ w, Rk.T @ s]) for Rk, w, s in zip(own.R, own.omega, own.speed)]
    found["eq_kinematics"] = max(
        off([pose.R for pose in poses], own.R),
        off([pose.p for pose in poses], own.p),
        off(twists, own_twists),
        off(foot_positions(robot, q), [p for p, _ in feet]),
    )
    J = feet_jacobian(robot, q)
    found["eq_jacobian"] = max(
        off(J[:, 3:], [each for _, each in feet]), off(J[:, :3], [own.turns[i] for i in tree.feet])
    )
    # -- dynamics
    c, G, M = own.c, own.G(GRAVITY), own.M
    found["eq_velocity_terms"] = off(velocity_terms(robot, q, v, classical=True), c)
    found["eq_gravity"] = off(gravity_terms(robot, q, GRAVITY), G)
    tau, f = rng.normal(size=robot.nj), rng.normal(size=(robot.nf, 3))
    external = sum(each.T @ one for (_, each), one in zip(feet, f))
    a = np.linalg.solve(M, np.concatenate([np.zeros(6), tau]) + external - c - G)
    right = np.concatenate([a[:3], a[3:6], a[6:]])
    found["eq_motion"] = max(
        off(mass_matrix(robot, q), M), off(forward_dynamics(robot, q, v, tau, GRAVITY, external, classical=True), right)
    )
    wrenches = np.zeros((len(tree.bodies), 6))
    for i, r, one in zip(tree.feet, tree.foot_positions, f):
        local = own.R[i].T @ one
        wrenches[i] = np.concatenate([np.cross(r, local), local])
    found["contact_torques_two_ways"] = off(external_terms(robot, q, wrenches), external)
    found |= _inertias(robot, own, X) | _contact(robot, q, v, own, rng) | _state_space(robot, x, v, tau, R)
    # -- operators
    w, u = V[:3], V[3:]
    twist = np.block([[hat(w), np.zeros((3, 3))], [hat(u), hat(w)]])
    wrench = np.block([[hat(w), hat(u)], [np.zeros((3, 3)), hat(w)]])  # (A3), with the entries of (20)
    found["eq_operators"] = max(
        off(skew(w), hat(w)),
        off(motion.cross_motion_matrix(V), twist),
        off(wrench, -twist.T),
        off(motion.cross_force_matrix(V), wrench),
    )
    return found


def _inertias(robot: Robot, own: Mechanics, X: Transform) -> dict[str, float]:
    body = robot.tree.bodies[3]
    m, _, tensor = own.masses()[3]
    block = np.zeros((6, 6))
    block[:3, :3], block[3:, 3:] = own.R[3].T @ tensor @ own.R[3], m * np.eye(3)
    right = X.motion_matrix().T @ body.inertia.matrix() @ X.motion_matrix()
    other = X.inverse().motion_matrix().T @ body.inertia.matrix() @ X.inverse().motion_matrix()
    assert off(body.inertia.to_parent(X).matrix(), right) < 1e-9
    return {"erratum_21": off(block, body.inertia.matrix()), "erratum_26": off(other, right)}


def _contact(robot: Robot, q: ndarray, v: ndarray, own: Mechanics, rng: np.random.Generator) -> dict[str, float]:
    normal = np.array([*rng.uniform(-0.4, 0.4, 2), 1.0])
    ground = Plane(normal=normal, point=rng.normal(size=3))
    n, X = normal / np.linalg.norm(normal), joint_transforms(robot, q)
    points = contact_points(robot, X, poses_in_base(robot, X), spheres_of(robot), ground)
    worst = 0.0
    for point, i, r, foot in zip(points, robot.tree.feet, robot.tree.foot_positions, robot.feet):
        center, J = own.point(i, r)
        J_C = J + foot.radius * hat(n) @ own.turns[i]  # Jacobian of the lowest point, a radius below the centre
        velocity = own.R[0] @ (point.J @ v)
        worst = max(
            worst,
            abs(point.distance - (n @ (center - ground.point) - foot.radius)),
            off(own.R[0] @ point.R_BC[:, 2], n),
            off(velocity, J_C @ v),
            abs(n @ velocity - (n @ (J_C @ v))),
        )
    law = Compliant.as_printed()
    for depth in (2e-5, 7e-5, 3e-4):
        s = min(depth / 1e-4, 1.0)
        damping = 10.0 * s * s * (3.0 - 2.0 * s)  # (35)
        force = law.law(depth, np.array([0.0, 0.0, -0.3]), 2.0, 0.0)[0][2]
        worst = max(worst, abs(force / (10.0 * (1e3 * depth) ** 2.2 + 0.3 * damping) - 1.0))
    per_axis = Compliant.as_printed(friction="per_axis")
    corner = per_axis.law(1e-3, np.array([0.5, 0.5, 0.0]), 1.0, 0.0)[0]
    with np.errstate(invalid="ignore"):
        negative = float(-10.0 * np.power(np.float64(-1.0), 2.2))
    return {
        "eq_contact": worst,
        "erratum_34": negative,
        "erratum_38": float(np.hypot(*corner[:2]) / corner[2] - 1.0),
    }


def _state_space(robot: Robot, x: ndarray, v: ndarray, tau: ndarray, R: ndarray) -> dict[str, float]:
    q = robot.state(x[6:])[0]
    q[:3], q[3:7] = x[3:6], _quaternion(R)
    own = Mechanics.of(robot, q, v)
    a = np.linalg.solve(own.M, np.concatenate([np.zeros(6), tau]) - own.c - own.G(GRAVITY))
    yaw, pitch = x[0], x[1]
    G = np.array(  # (41) as printed: columns z, y', x'' in world axes
        [
            [0.0, -np.sin(yaw), np.cos(yaw) * np.cos(pitch)],
            [0.0, np.cos(yaw), np.sin(yaw) * np.cos(pitch)],
            [1.0, 0.0, -np.sin(pitch)],
        ]
    )
    rates = np.linalg.solve(R.T @ G, v[:3])
    spatial = a[3:6] - np.cross(v[:3], v[3:6])
    right = np.concatenate([rates, R @ v[3:6], v[6:], a[:3], spatial, a[6:]])
    state = euler_state(robot, q, v)
    return {
        "eq_state": max(
            off(state, np.concatenate([x, v])), off(euler_state_rate(robot, state, tau, gravity=GRAVITY), right)
        ),
        "erratum_41": off(G @ rates, v[:3]),
        "erratum_42": off(v[3:6], R @ v[3:6]),
        "erratum_43": off(a[3:6], spatial),
        "erratum_44": off(40.0 * (x[6:] - 0.1) + v[6:], 40.0 * (0.1 - x[6:]) - v[6:]),
    }


def _chain(parent: tuple[int, ...], body: int) -> list[int]:
    found: list[int] = []
    while body > 0:
        found.insert(0, body)
        body = parent[body]
    return found


def _quaternion(R: ndarray) -> ndarray:
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    return np.array([w, *(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w))])


_BESIDE = f"Compared with independent mechanics in world axes, point by point; the worst of {STATES} random states."
NOTES = {
    "eq_tree": "Arrays of the 13 bodies, compared with chains from every body to the root.",
    "erratum_21": "Block-diagonal only with the frame at the centre of mass; with the frame at the joint the first"
    " moment h = m c remains.",
    "erratum_26": "Swaps parent and child in X; Algorithm 5 is correct.",
    "erratum_28": "(28) itself is correct. The line below it only transposes the transform, unlike (8), which also"
    " inverts it: X̄_i^j = (X_j^i)^T.",
    "eq_operators": "Erratum in the text: (A3) calls the entries of its matrix a couple and a force; (20) uses angular"
    " and linear velocity, for which the matrix is correct.",
    "erratum_34": "A negative base has no real power of 2.2: K abs(δ)^e. For the unit of K, see the set-up.",
    "erratum_38": "Per axis the region is a square, whose corners are a factor of √2 beyond the ellipse in the text."
    " (38) also lacks the sign that opposes slip.",
    "erratum_41": "G ξ' is the angular velocity in world axes, not in trunk axes.",
    "erratum_42": "Velocities are in trunk axes: the rate of the position is R v_0.",
    "erratum_43": "a_0 of Algorithm 2 is classical: v_0' = a_0 - ω x v_0 in the trunk's axes. Row 2 is q', not q''.",
    "erratum_44": "kp (q - q_d) + kd q' pushes away from the target: kp (q_d - q) - kd q'.",
}
