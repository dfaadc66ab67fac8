"""Every numbered equation of Adak et al. 2021, compared with independent mechanics; errata as printed."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.contact.coulomb import ContactProblem, residuals
from footfall.contact.least_squares import impulses_of, solve_by_least_squares
from footfall.dynamics import coordinates
from footfall.dynamics.formalisms import lagrange, link_jacobians
from footfall.kinematics.forward import body_poses
from footfall.robot import Link, Robot, library
from footfall.robot.library.spined import leg_table
from footfall.robot.model import dh
from footfall.robot.model.shapes import box_inertia
from footfall.spatial import rotation
from footfall.spatial.gravity import GRAVITY
from footfall_lab.papers.claims import Claim, assess
from footfall_lab.papers.mechanics import Mechanics, hat, off, turned
from nptrace.autodiff import nested

NAME, ORDER, STATES = "adak2021", "xyz", 3


def claims() -> list[Claim]:
    """Check every equation: the worst error over a few random states of the spined robot."""
    worst: dict[str, float] = {}
    rng = np.random.default_rng(21)
    for _ in range(STATES):
        for id, value in {**_robot(rng), **_contact(rng), **_body(rng)}.items():
            worst[id] = max(worst.get(id, 0.0), value)
    return [assess(NAME, id, value, NOTES.get(id, _BESIDE)) for id, value in worst.items()]


def _robot(rng: np.random.Generator) -> dict[str, float]:
    robot = library.load("spined")
    robot = robot.replace({f"{joint.name}.armature": 0.0 for joint in robot.joints})
    x, rate = rng.uniform(-0.5, 0.5, robot.nv), rng.normal(size=robot.nv)
    q = coordinates.from_euler_coordinates(robot, x, ORDER)
    R = turned(np.eye(3)[0], x[0]) @ turned(np.eye(3)[1], x[1]) @ turned(np.eye(3)[2], x[2])  # (5)
    E = np.stack(  # (6), (7) in world axes: each rotation about its rotated axis
        [np.eye(3)[0], turned(np.eye(3)[0], x[0]) @ np.eye(3)[1], R @ np.eye(3)[2]], axis=1
    )
    rates = rate[:3]
    back = np.linalg.inv(R.T @ E)  # E_t, (8)
    v = np.concatenate([R.T @ E @ rates, R.T @ rate[3:6], rate[6:]])
    own = Mechanics.of(robot, q, v)
    found = {
        "eq_frames": max(
            off([pose.R for pose in body_poses(robot, q)], own.R),
            off([pose.p for pose in body_poses(robot, q)], own.p),
            _modified_dh(rng),
        ),
        "eq_euler": max(
            off(rotation.from_euler(x[:3], ORDER), R),
            off(rotation.euler_rates_to_body(x[:3], ORDER), R.T @ E),
            off(np.linalg.solve(rotation.euler_rates_to_body(x[:3], ORDER), v[:3]), back @ v[:3]),
        ),
    }
    T = np.zeros((robot.nv, robot.nv))  # v from the Euler rates
    T[:3, :3], T[3:6, 3:6], T[6:, 6:] = R.T @ E, R.T, np.eye(robot.nj)
    M = T.T @ own.M @ T
    energy = sum(
        0.5 * m * np.sum((own.point(k, c)[1] @ v) ** 2) + 0.5 * own.omega[k] @ tensor @ own.omega[k]
        for k, (m, c, tensor) in enumerate(own.masses())
    )
    size = (0.3, 0.2, 0.1)
    box = 2.0 / 12.0 * np.diag([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2, size[0] ** 2 + size[1] ** 2])
    found["eq_kinetic"] = max(
        off(link_jacobians.mass_matrix(robot, x, ORDER), M),
        abs(link_jacobians.kinetic_energy(robot, x, rate, ORDER) / energy - 1.0),
        off(box_inertia(2.0, size), box),
    )
    height = -sum(m * np.asarray(GRAVITY) @ own.point(k, c)[0] for k, (m, c, _) in enumerate(own.masses()))
    # Euler-Lagrange in Euler coordinates against Newton-Euler: C by rates of the map
    sliding = lagrange.velocity_terms(robot, q, v)
    spatial = own.M @ np.concatenate([np.zeros(3), np.cross(v[:3], v[3:6]), np.zeros(robot.nj)])
    found["eq_motion"] = max(
        off(link_jacobians.potential_energy(robot, x, np.asarray(GRAVITY), ORDER), height),
        off(lagrange.euler_gravity_terms(robot, x, GRAVITY, ORDER), T.T @ own.G(GRAVITY)),
        off(sliding, own.c + spatial),
    )
    derivative = nested.interpreted(
        lambda y: nested.jacobian(lambda z: link_jacobians.mass_matrix(robot, z, ORDER), (y,)), x
    )(x)
    one_index = 0.5 * (M * rate[:, None]).sum(axis=0) * rate  # (24), one value for each free index j
    found["erratum_24"] = float(np.abs(one_index / energy - 1.0).min())
    M_rate = derivative @ rate
    found["erratum_25"] = off(M_rate.sum(axis=1) * rate, M_rate @ rate)
    return found


def _modified_dh(rng: np.random.Generator) -> float:
    """Check (1): four elementary transforms per row, against the library's."""
    angles, X, eye = rng.uniform(-1.0, 1.0, 3), np.eye(4), np.eye(3)
    rows, left = leg_table("LF"), iter(angles)
    for row in rows:
        turn = next(left) if row.joint is not None else 0.0
        for axis, angle, far in ((0, row.alpha, row.a), (2, row.theta + turn, row.d)):
            step = np.eye(4)
            step[:3, :3], step[:3, 3] = turned(eye[axis], angle), far * eye[axis]
            X = X @ step
    end = dh.forward(rows, angles.tolist(), "modified")[-1]
    return max(off(end.R, X[:3, :3]), float(np.abs(end.p - X[:3, 3]).max()))


def _contact(rng: np.random.Generator) -> dict[str, float]:
    """Check (28)-(37) on random problems: contact laws of the least-squares solution, and S of (34)."""
    n = 4
    J = rng.normal(size=(3 * n, 18))
    A, V_free, mu = J @ J.T / 5.0, rng.normal(size=3 * n), np.full(n, 0.8)
    problem = ContactProblem(A, V_free, np.zeros(n), mu)
    found, *_ = solve_by_least_squares(problem, np.zeros(3 * n), np.zeros(n), 200, 1e-12)
    V = A @ found + V_free
    worst = float(np.max(residuals(problem, found)))
    for k in range(n):
        tangent, normal, slip = found[3 * k : 3 * k + 2], found[3 * k + 2], V[3 * k : 3 * k + 2]
        worst = max(worst, -normal, -V[3 * k + 2], abs(normal * V[3 * k + 2]))  # (31)
        size = float(np.linalg.norm(tangent))
        worst = max(
            worst, size - mu[k] * normal, float(np.linalg.norm(size * slip + np.linalg.norm(slip) * tangent))
        )  # (32)
    x = np.array([0.4, -0.2, 0.7])  # an open contact
    right = impulses_of(x, [0.8])[2]  # (33): max(0, -x_N)
    return {"eq_contact": worst, "erratum_34": abs(-1.0 * x[2] - right) / abs(x[2])}


def _body(rng: np.random.Generator) -> dict[str, float]:
    """Check (16) and (27) on one body, whose C is ω x I ω."""
    tensor = np.diag([0.3, 0.5, 0.7])
    body = Robot(name="body", links=[Link(name="body", mass=2.0, com=np.zeros(3), inertia=tensor)], joints=[])
    x, w = rng.uniform(-0.6, 0.6, 6), rng.normal(size=6)
    R = rotation.from_euler(x[:3], ORDER)
    inertial = R @ tensor @ R.T
    right = w[:3] @ inertial @ w[:3]

    def to_rates(y: ndarray) -> ndarray:
        s, c, t = np.sin(y[0]), np.cos(y[0]), np.tan(y[1])
        T = np.eye(6)
        T[:3, :3] = np.array([[1.0, t * s, -t * c], [0.0, c, s], [0.0, -s / np.cos(y[1]), c / np.cos(y[1])]])
        return T

    def corrected(y: ndarray) -> ndarray:
        return to_rates(y).T @ link_jacobians.mass_matrix(body, y, ORDER) @ to_rates(y)

    derivative = nested.interpreted(lambda y: nested.jacobian(corrected, (y,)), x)(x) @ to_rates(x)
    printed = np.einsum("ijk,j,k->i", derivative, w, w) - 0.5 * np.einsum("kji,j,k->i", derivative, w, w)
    return {
        "erratum_16": abs(w[:3] @ (R @ inertial @ R.T) @ w[:3] / right - 1.0),
        "erratum_27": off(printed[:3], hat(w[:3]) @ inertial @ w[:3]),
    }


_BESIDE = f"Compared with independent mechanics in world axes; the worst of {STATES} random states."
NOTES = {
    "eq_euler": "Errata in the text: 'rotations around the inertial frame' with R = Rx Ry Rz are about the rotated"
    " axes, and"
    " 'a very small overflow number' does not overcome the singularity of (8).",
    "eq_contact": "Four contacts, random A of rank 12. J_C of 24 rows, as (11) has it, would make A singular: a point"
    " contact has 12.",
    "erratum_16": "The superscript of the tensor on the right should be the link's, not the inertial frame's:"
    " otherwise it is rotated twice.",
    "erratum_24": "Sums over i only: it must be over i and j.",
    "erratum_25": "dM_ij/dt q̇_i: the rate is that of joint j.",
    "erratum_27": "Corrected by E_t alone, as in the text, ω x I ω counts twice: derive in Euler coordinates, then"
    " map.",
    "erratum_34": "S_11 = 1 gives an impulse to an open contact, against (33): 1 only for x_N < 0.",
}
