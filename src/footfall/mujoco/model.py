"""MuJoCo as an independent reference: the robot rebuilt body by body with MjSpec, results in our coordinates.

No contacts, limits, springs or damping: M, bias and kinematics only. MuJoCo expresses the base's linear velocity in
world axes, so the velocity map G(q) rotates with the base and a_theirs = G a + dG/dt v. Rotors of mode ``exact`` become
bodies with additional joints, tied to their robot joints by G as in ``pinocchio.py``.

MuJoCo refuses a tensor that breaks A + B >= C, and a moving body without mass: the first is reported as an InputError
(no comparison is possible), the second gets ``LEAST_MASS``, which changes nothing at the accuracy of a double.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.conversions import mujoco_map, mujoco_map_rate
from footfall.errors import InputError, MissingExtraError
from footfall.mujoco.assembly import Part, parts_of, spring_energy, welded
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float

if TYPE_CHECKING:
    from mujoco import MjModel, MjsBody

_FLAT = 1e-12  # relative rounding by which a flat body may violate the triangle inequality
LEAST_MASS = 1e-14  # [kg], and [kg m²]; MuJoCo's own bound is 1e-15


def library() -> ModuleType:
    """Return the mujoco module, or a MissingExtraError."""
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError("comparing with MuJoCo", "compare", "mujoco") from None
    return mujoco


class MuJoCo:
    """A robot in MuJoCo. Arguments and results are in footfall's layout."""

    def __init__(
        self, robot: Robot, gravity: tuple[float, float, float] = GRAVITY, add: Callable[..., None] | None = None
    ) -> None:
        """Build the model. ``add``: called with mujoco, the specification and its bodies by link before it is
        compiled.
        """
        self.mj = library()
        self.robot = robot
        self.parts = parts_of(robot)
        if any(_shortfall(part) > _FLAT for part in self.parts):
            # an implausible tensor of a link may be valid in the whole body it is part of
            self.parts = welded(self.parts)
        self.model, self.bodies = _compile(self.mj, robot, self.parts, add)
        self.model.opt.gravity[:] = gravity
        self.data = self.mj.MjData(self.model)
        order = {name: k for k, name in enumerate(robot.joint_names)}
        self.followers = []  # (index in their v, index in their q, our joint's number, gear)
        for part, body in zip(self.parts, self.bodies):
            if part.joint:
                joint = self.model.body_jntadr[body]
                at_v, at_q = self.model.jnt_dofadr[joint], self.model.jnt_qposadr[joint]
                self.followers.append((at_v, at_q, order[part.joint], part.gear))
        index = {part.name: body for part, body in zip(self.parts, self.bodies)}
        self.feet = [(index[foot.link], foot.position) for foot in robot.feet]
        self.index = index

    # -- coordinates ---------------------------------------------------------------------------------------------------
    def velocity_map(self, q: Float[ndarray, "nq"]) -> ndarray:
        """Return G(q) with v_theirs = G v."""
        base = 6 if self.robot.floating else 0
        G = np.zeros((self.model.nv, self.robot.nv))
        G[:base, :base] = mujoco_map(self.robot, q)[:base, :base]
        for at_v, _, joint, gear in self.followers:
            G[at_v, base + joint] = gear
        return G

    def velocity_map_rate(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> ndarray:
        """Return dG/dt v."""
        base = 6 if self.robot.floating else 0
        out = np.zeros(self.model.nv)
        out[:base] = mujoco_map_rate(self.robot, q, v)[:base]
        return out

    def _set(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"] | None = None) -> ndarray:
        """Set the state of the robot, update dependent quantities, and return G."""
        base = 7 if self.robot.floating else 0
        self.data.qpos[:base] = q[:base]
        for _, at_q, joint, gear in self.followers:
            self.data.qpos[at_q] = gear * q[base + joint]
        G = self.velocity_map(q)
        self.data.qvel[:] = 0.0 if v is None else G @ v
        self.mj.mj_fwdPosition(self.model, self.data)
        self.mj.mj_fwdVelocity(self.model, self.data)
        return G

    # -- dynamics ------------------------------------------------------------------------------------------------------
    def mass_matrix(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "nv nv"]:
        G = self._set(q)
        return G.T @ self._full_mass_matrix() @ G

    def bias(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
        G = self._set(q, v)
        return G.T @ (self._full_mass_matrix() @ self.velocity_map_rate(q, v) + self.data.qfrc_bias)

    def velocity_terms(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
        return self.bias(q, v) - self.gravity(q)

    def gravity(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "nv"]:
        G = self._set(q)
        return G.T @ self.data.qfrc_bias

    def inverse_dynamics(
        self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], a: Float[ndarray, "nv"]
    ) -> Float[ndarray, "nv"]:
        G = self._set(q, v)
        self.data.qacc[:] = G @ a + self.velocity_map_rate(q, v)
        self.mj.mj_inverse(self.model, self.data)
        return G.T @ self.data.qfrc_inverse

    def forward_dynamics(
        self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], tau: Float[ndarray, "nv"]
    ) -> Float[ndarray, "nv"]:
        """Return MuJoCo's forward dynamics; with geared rotors, which are a constraint there, M a = τ - b."""
        G = self._set(q, v)
        if self.model.nv != self.robot.nv:
            return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, v))
        self.data.qfrc_applied[:] = G @ tau  # G is orthogonal
        self.mj.mj_forward(self.model, self.data)
        self.data.qfrc_applied[:] = 0.0
        return G.T @ (self.data.qacc - self.velocity_map_rate(q, v))

    def momentum_matrix(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "6 nv"]:
        """Return rows (angular about the centre of mass, linear), world axes."""
        G = self._set(q)
        angular, linear = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        self.mj.mj_angmomMat(self.model, self.data, angular, 0)
        self.mj.mj_jacSubtreeCom(self.model, self.data, linear, 0)
        return np.concatenate([angular, linear * self.model.body_subtreemass[0]]) @ G

    def center_of_mass(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "3"]:
        self._set(q)
        return np.array(self.data.subtree_com[0])

    def kinetic_energy(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> float:
        self._set(q, v)
        self.mj.mj_energyVel(self.model, self.data)
        return float(self.data.energy[1])

    def potential_energy(self, q: Float[ndarray, "nq"]) -> float:
        self._set(q)
        self.mj.mj_energyPos(self.model, self.data)
        return float(self.data.energy[0]) + spring_energy(self.robot, q)

    # -- kinematics ----------------------------------------------------------------------------------------------------
    def foot_positions(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "nf 3"]:
        self._set(q)
        return np.array([self._foot(k) for k in range(self.robot.nf)]).reshape(-1, 3)

    def feet_jacobian(
        self, q: Float[ndarray, "nq"], R_WC: Float[ndarray, "3 3"] | None = None
    ) -> Float[ndarray, "nf 6 nv"]:
        """Return rows (angular, linear) at the feet's centres in world axes, or with ``R_WC`` at their contacts in
        those axes.
        """
        G = self._set(q)
        rows = []
        for k in range(self.robot.nf):
            J = self._jacobian(k, self.mj.mj_jac) @ G
            rows.append(J if R_WC is None else _moved(J, R_WC, self.robot.feet[k].radius))
        return np.array(rows).reshape(-1, 6, self.robot.nv)

    def jacobian_rate(
        self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], R_WC: Float[ndarray, "3 3"] | None = None
    ) -> Float[ndarray, "nf 6"]:
        """Return dJ/dt v: J is theirs times G, so both rotate. A contact stays below its foot's centre while the
        foot rotates.
        """
        G = self._set(q, v)
        turning = self.velocity_map_rate(q, v)
        rows = []
        for k in range(self.robot.nf):
            row = self._jacobian(k, self.mj.mj_jacDot) @ (G @ v) + self._jacobian(k, self.mj.mj_jac) @ turning
            rows.append(row if R_WC is None else _moved(row, R_WC, self.robot.feet[k].radius))
        return np.array(rows).reshape(-1, 6)

    def external_terms(self, q: Float[ndarray, "nq"], wrenches: Float[ndarray, "nb 6"]) -> Float[ndarray, "nv"]:
        """Return joint-space forces of wrenches (moment, force) at the origins of the moving bodies, in their axes."""
        G = self._set(q)
        total = np.zeros(self.model.nv)
        for body, wrench in zip(self.robot.tree.bodies, wrenches):
            i = self.index[body.name]
            R_WB, origin = self.data.xmat[i].reshape(3, 3), np.array(self.data.xpos[i])
            force, moment = R_WB @ wrench[3:], R_WB @ wrench[:3]
            self.mj.mj_applyFT(self.model, self.data, force, moment, origin, i, total)
        return G.T @ total

    def _full_mass_matrix(self) -> ndarray:
        M = np.zeros((self.model.nv, self.model.nv))
        self.mj.mj_fullM(self.model, self.data, M)
        return M

    def _foot(self, k: int) -> ndarray:
        body, p_BF = self.feet[k]
        return self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ p_BF

    def _jacobian(self, k: int, of: Callable[..., None]) -> ndarray:
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        of(self.model, self.data, linear, angular, self._foot(k), self.feet[k][0])
        return np.concatenate([angular, linear])


def _moved(twist_W: ndarray, R_WC: ndarray, radius: float) -> ndarray:
    """Transform twists (rows angular, linear) at the centre in world axes to the contact point, a radius below, in
    its axes.
    """
    offset_W = -radius * R_WC[:, 2]
    linear = twist_W[3:] + np.cross(twist_W[:3], offset_W, axisa=0, axisc=0)
    return np.concatenate([R_WC.T @ twist_W[:3], R_WC.T @ linear])


def _compile(
    mj: ModuleType, robot: Robot, parts: list[Part], add: Callable[..., None] | None
) -> tuple[MjModel, list[int]]:
    """Return the compiled model, and the number of every part's body in it."""
    spec = mj.MjSpec()
    spec.modelname = robot.name
    compiler, option = spec.compiler, spec.option
    compiler.degree, compiler.autolimits = False, False
    compiler.alignfree, compiler.balanceinertia, compiler.fusestatic = False, False, False
    option.disableflags = mj.mjtDisableBit.mjDSBL_CONSTRAINT | mj.mjtDisableBit.mjDSBL_CONTACT
    bodies: list[MjsBody] = []
    links = {link.name for link in robot.links}  # the other parts are rotors
    kinds = {"revolute": mj.mjtJoint.mjJNT_HINGE, "prismatic": mj.mjtJoint.mjJNT_SLIDE}
    for number, part in enumerate(parts):
        carrier = bodies[part.parent] if part.parent >= 0 else spec.worldbody
        body = carrier.add_body(name=f"{number}", pos=part.origin, quat=_quaternion(mj, part.rotation))
        bodies.append(body)
        _set_inertia(mj, robot, part, body)
        if part.motion == "free":
            body.add_freejoint(align=mj.mjtAlignFree.mjALIGNFREE_FALSE)
        elif part.motion in kinds:
            body.add_joint(
                name=f"joint {part.joint}" if part.name in links else f"rotor {number}",
                type=kinds[part.motion],
                axis=part.axis,
                armature=part.armature,
            )
    if add is not None:
        add(mj, spec, {part.name: body for part, body in zip(parts, bodies)})
    try:
        model = spec.compile()
    except (ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"MuJoCo refuses robot '{robot.name}': {reason}") from None
    return model, [mj.mj_name2id(model, mj.mjtObj.mjOBJ_BODY, f"{n}") for n in range(len(parts))]


def _set_inertia(mj: ModuleType, robot: Robot, part: Part, body: MjsBody) -> None:
    """Set principal moments and axes, computed here at full accuracy: MuJoCo's own search stops at 1e-12."""
    moments, axes = np.linalg.eigh(part.inertia)
    if _shortfall(part) > _FLAT:
        a, b, c = moments
        raise InputError(
            f"MuJoCo cannot represent robot '{robot.name}': inertia of link '{part.name}' is not realisable, principal"
            f" moments {a:.4g} + {b:.4g} < {c:.4g} kg m²"
        )
    moments[2] = min(moments[2], moments[0] + moments[1])
    moments, mass = np.maximum(moments, 0.0), part.mass
    if part.motion != "fixed":
        mass = max(mass, LEAST_MASS)
        moments = np.maximum(moments, LEAST_MASS)
    axes = axes if np.linalg.det(axes) > 0 else axes * np.array([1.0, 1.0, -1.0])
    body.explicitinertial = True
    body.mass, body.ipos, body.inertia = mass, part.com, moments
    body.iquat = _quaternion(mj, axes)


def _quaternion(mj: ModuleType, R: ndarray) -> ndarray:
    """Return a quaternion by MuJoCo's own routine: a reference shares nothing with the code under test."""
    quat = np.zeros(4)
    mj.mju_mat2Quat(quat, np.ascontiguousarray(R).ravel())
    return quat


def _shortfall(part: Part) -> float:
    """Return by which fraction of the largest principal moment the other two fall short of it."""
    a, b, c = np.linalg.eigvalsh(part.inertia)
    return (c - a - b) / c if c > 0 else 0.0
