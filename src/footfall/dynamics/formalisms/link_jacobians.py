"""Links, their Jacobians and energies by homogeneous transforms: eqs. (1)-(9), (14)-(22) of Adak 2021, and DynaKat.

This is the basis of ``lagrange``. It shares only the robot's numbers and rotation matrices with the recursive
algorithms: every link of ``robot.links`` is a separate body (also behind a fixed joint), its frame is a 4x4 matrix in
the world, and a coordinate is a rotation about a line or a translation along it.

The coordinates are x = (ξ, p_WB, joints), with ξ the Euler angles of the base in the order of a paper: ``xyz`` for
Adak et al. 2021 (eq. 5), ``zyx`` for de Paula et al. 2024. A fixed base has x = joints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Joint
from footfall.spatial import cross
from footfall.spatial.rotation import about_axis, euler_rates_to_world, from_euler
from nptrace.array_types import Float


@dataclass(frozen=True)
class Motion:
    """The motion that one coordinate gives to all bodies below it: about a line, or along it (``point`` is None)."""

    column: int
    axis: Float[ndarray, "3"]  # in world axes
    point: Float[ndarray, "3"] | None  # a point on the line, in the world


@dataclass(frozen=True)
class PlacedLink:
    """A link in the world: its frame T_WL, and the motions that move it, root first."""

    T: Float[ndarray, "4 4"]
    path: tuple[Motion, ...]

    def point(self, p_L: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
        """Return a point of the link, in the world."""
        return self.T[:3, :3] @ p_L + self.T[:3, 3]

    def jacobians(self, p_W: Float[ndarray, "3"], n: int) -> tuple[Float[ndarray, "3 n"], Float[ndarray, "3 n"]]:
        """Return (J_ω, J_v) of the link and of its point at p_W, in world axes: ω = J_ω dx/dt, v = J_v dx/dt."""
        J_omega, J_v = np.zeros((3, n)), np.zeros((3, n))
        for motion in self.path:
            if motion.point is None:
                J_v[:, motion.column] = motion.axis
            else:
                J_omega[:, motion.column] = motion.axis
                J_v[:, motion.column] = cross(motion.axis, p_W - motion.point)
        return J_omega, J_v


@dataclass(frozen=True)
class Mass:
    """A moving rigid body: a link, or a motor's rotor. ``tensor`` is about the centre of mass, in world axes."""

    mass: float
    center: Float[ndarray, "3"]  # centre of mass, in the world
    tensor: Float[ndarray, "3 3"]
    J_omega: Float[ndarray, "3 n"]
    J_v: Float[ndarray, "3 n"]


# -- where the links are ---------------------------------------------------------------------------------------------
def placed_links(robot: Robot, x: Float[ndarray, "nv"], order: str) -> dict[str, PlacedLink]:
    """Return every link by name, root first: products of homogeneous transforms, eqs. (1)-(4) of Adak et al. 2021."""
    children: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        children.setdefault(joint.parent, []).append(joint)
    carried = {joint.child for joint in robot.joints}
    root = next(link.name for link in robot.links if link.name not in carried)
    found: dict[str, PlacedLink] = {}
    waiting = [(root, _placed_base(robot, x, order))]
    while waiting:
        name, here = waiting.pop()
        found[name] = here
        waiting += [(joint.child, _placed_child(robot, x, here, joint)) for joint in children.get(name, ())]
    return found


def column_of(robot: Robot, joint: Joint) -> int:
    """Return the index of a moving joint in x."""
    return robot.nv - robot.nj + robot.joint_names.index(joint.name)


def homogeneous(R: Float[ndarray, "3 3"], p: Float[ndarray, "3"]) -> Float[ndarray, "4 4"]:
    """Return [[R, p], [0, 1]], eq. (1) of Adak et al. 2021."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def _placed_base(robot: Robot, x: Float[ndarray, "nv"], order: str) -> PlacedLink:
    """Return eqs. (2) and (5) of Adak 2021: three rotations about the axes of the Euler rates, three translations in
    the world.
    """
    if not robot.floating:
        return PlacedLink(np.eye(4), ())
    angles, p_WB = x[:3], x[3:6]
    axes = euler_rates_to_world(angles, order)
    turns = [Motion(k, axes[:, k], p_WB) for k in range(3)]
    slides = [Motion(3 + k, np.eye(3)[k], None) for k in range(3)]
    return PlacedLink(homogeneous(from_euler(angles, order), p_WB), (*turns, *slides))


def _placed_child(robot: Robot, x: Float[ndarray, "nv"], parent: PlacedLink, joint: Joint) -> PlacedLink:
    T_WJ = parent.T @ homogeneous(joint.X_PJ.R, joint.origin)
    if joint.kind == "fixed":
        return PlacedLink(T_WJ, parent.path)
    column, axis = column_of(robot, joint), T_WJ[:3, :3] @ joint.axis
    if joint.kind == "revolute":
        T_WL = T_WJ @ homogeneous(about_axis(joint.axis, x[column]), np.zeros(3))
        return PlacedLink(T_WL, (*parent.path, Motion(column, axis, T_WJ[:3, 3])))
    T_WL = T_WJ @ homogeneous(np.eye(3), joint.axis * x[column])
    return PlacedLink(T_WL, (*parent.path, Motion(column, axis, None)))


# -- what they weigh -------------------------------------------------------------------------------------------------
def masses(robot: Robot, x: Float[ndarray, "nv"], order: str) -> Iterator[Mass]:
    """Return links and rotors, eqs. (14)-(17) of Adak et al. 2021: the tensor in the world is R I Rᵀ."""
    placed = placed_links(robot, x, order)
    for link in robot.links:
        if not _is_nothing(link.mass):
            yield _mass(robot, placed[link.name], link.mass, link.com, link.inertia)
    for joint in robot.joints:
        rotor = joint.rotor
        if joint.kind == "fixed" or rotor is None or robot.rotors == "none":
            continue
        axis = joint.X_PJ.R @ joint.axis  # in the parent's axes, where the rotor is mounted
        along = np.outer(axis, axis)
        tensor = rotor.spin_inertia * along + rotor.transverse_inertia * (np.eye(3) - along)
        body = _mass(robot, placed[joint.parent], rotor.mass, rotor.position, tensor)
        if robot.rotors == "exact":  # it rotates with its carrier, plus gear times the joint's rate
            spin = np.zeros((3, robot.nv))
            spin[:, column_of(robot, joint)] = placed[joint.parent].T[:3, :3] @ axis * rotor.gear
            body = Mass(body.mass, body.center, body.tensor, body.J_omega + spin, body.J_v)
        yield body


def armatures(robot: Robot) -> Float[ndarray, "nv"]:
    """Return inertia of single coordinates [kg m²]: given armatures, and rotors that are not separate bodies."""
    values = [0.0] * robot.nv
    for joint in robot.joints:
        if joint.kind != "fixed":
            reflected = 0.0
            if joint.rotor is not None and robot.rotors == "armature":
                reflected = joint.rotor.gear**2 * joint.rotor.spin_inertia
            values[column_of(robot, joint)] = joint.armature + reflected
    return np.array(values)


def _mass(robot: Robot, link: PlacedLink, mass: float, com: ndarray, tensor: ndarray) -> Mass:
    R_WL, center = link.T[:3, :3], link.point(com)
    return Mass(mass, center, R_WL @ tensor @ R_WL.T, *link.jacobians(center, robot.nv))


def _is_nothing(mass: float) -> bool:
    """Return whether a body is massless and can be omitted; a traced mass (``free``) is unknown, and is kept."""
    return type(mass) is float and mass == 0.0


# -- energies --------------------------------------------------------------------------------------------------------
def mass_matrix(robot: Robot, x: Float[ndarray, "nv"], order: str) -> Float[ndarray, "nv nv"]:
    """Return M = Σ m J_vᵀ J_v + J_ωᵀ (R I Rᵀ) J_ω, eq. (20) of Adak 2021 and the inertia matrix of the DynaKat
    paper.
    """
    M = np.diag(armatures(robot))
    for body in masses(robot, x, order):
        M = M + body.mass * (body.J_v.T @ body.J_v) + body.J_omega.T @ (body.tensor @ body.J_omega)
    return np.triu(M) + np.triu(M, 1).T  # half of a symmetric matrix is never computed in a trace


def momenta(robot: Robot, x: Float[ndarray, "nv"], rate: Float[ndarray, "nv"], order: str) -> Float[ndarray, "nv"]:
    """Return ∂K/∂(dx/dt) = M dx/dt, link by link: M itself is never formed."""
    total = armatures(robot) * rate
    for body in masses(robot, x, order):
        omega, v = body.J_omega @ rate, body.J_v @ rate
        total = total + body.J_v.T @ (body.mass * v) + body.J_omega.T @ (body.tensor @ omega)
    return total


def kinetic_energy(robot: Robot, x: Float[ndarray, "nv"], rate: Float[ndarray, "nv"], order: str) -> float:
    """Return K = Σ (m vᵀv + ωᵀ(R I Rᵀ)ω) / 2, eqs. (18)-(19) of Adak et al. 2021 [J]."""
    total = 0.5 * (armatures(robot) * rate) @ rate
    for body in masses(robot, x, order):
        omega, v = body.J_omega @ rate, body.J_v @ rate
        total = total + 0.5 * body.mass * (v @ v) + 0.5 * (omega @ (body.tensor @ omega))
    return total


def potential_energy(
    robot: Robot, x: Float[ndarray, "nv"], gravity: Float[ndarray, "3"] | tuple[float, float, float], order: str
) -> float:
    """Return P = Σ m g h = -Σ m gᵀ r, eqs. (21)-(22) of Adak 2021 [J]. DynaKat prints +, for a g that points
    upwards.
    """
    total = 0.0
    for body in masses(robot, x, order):
        total = total - body.mass * (np.asarray(gravity) @ body.center)
    return total


def feet_jacobian(robot: Robot, x: Float[ndarray, "nv"], order: str) -> Float[ndarray, "nf 6 nv"]:
    """Return J_C: twists (ω, v) of the feet's centres in world axes by dx/dt, eq. (9) of Adak et al. 2021."""
    placed = placed_links(robot, x, order)
    rows = []
    for foot in robot.feet:
        link = placed[foot.link]
        rows.append(np.concatenate(link.jacobians(link.point(foot.position), robot.nv)))
    return np.stack(rows) if rows else np.zeros((0, 6, robot.nv))
