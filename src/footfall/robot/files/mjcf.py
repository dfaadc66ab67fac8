"""MJCF: compiled by MuJoCo from a sanitised copy, and read from the compiled model.

MJCF has default classes, frames, many ways to say a rotation, and inertias that follow from shapes; MuJoCo's compiler
resolves all of them, and its result is authoritative.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, MissingExtraError, ModelError, unknown
from footfall.robot.files.draft import Draft, Shape
from footfall.robot.files.guard import Package, label, shown
from footfall.robot.files.mjcf_equalities import read_loops
from footfall.robot.files.mjcf_guard import CleanMjcf, MeshAsset, clean
from footfall.robot.files.repair import REMEDY, is_broken
from footfall.robot.files.urdf import joint_range, lenient_link
from footfall.robot.model.parts import Actuator, Joint, Link
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_axis
from footfall.spatial.transform import Transform
from nptrace._types import Given

_FREE, _BALL, _SLIDE = 0, 1, 2
_SHAPES = {
    2: ("sphere", 1),
    3: ("capsule", 2),
    4: ("ellipsoid", 3),
    5: ("cylinder", 2),
    6: ("box", 3),
}  # geom type -> kind, sizes used


def read_mjcf(
    root: ET.Element, package: Package, floating: bool | None, base: str | None = None, repair: bool = False
) -> Draft:
    """Return the draft of a ``<mujoco>`` element; ``base``: which of its bodies in the world is the robot; ``repair``:
    accept impossible inertias.
    """
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError("reading MJCF files", "models", "mujoco") from None
    cleaned = clean(root, package)
    where = package.model.name
    broken = _broken(cleaned.root, repair)
    try:
        spec = mujoco.MjSpec.from_string(ET.tostring(cleaned.root, encoding="unicode"))
        model = spec.compile()
    except (ValueError, TypeError, RuntimeError, mujoco.FatalError) as error:
        reported = re.sub(r"(, id -?\d+)?, line \d+", "", " ".join(str(error).split()))  # lines of the copy are no help
        remedy = f"; {REMEDY}" if broken and not repair else ""
        raise ModelError(f"{where}: MuJoCo refuses it: {reported}{remedy}") from None
    draft = _Reader(model, cleaned, where, base).draft(floating)
    draft.broken = [name for name in broken if name in {link.name for link in draft.links}]
    return draft


def _broken(root: ET.Element, repair: bool) -> list[str]:
    """Return bodies with an impossible <inertial>; to repair them, they get one that MuJoCo accepts."""
    found = []
    for body in root.iter("body"):
        for inertial in body.findall("inertial"):
            diagonal, full = inertial.get("diaginertia"), inertial.get("fullinertia")
            if diagonal is not None:
                tensor = np.diag([float(x) for x in diagonal.split()])
            elif full is not None:
                xx, yy, zz, xy, xz, yz = (float(x) for x in full.split())
                tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            else:
                continue
            if is_broken(tensor) and float(inertial.get("mass", "0")) > 0:
                found.append(body.get("name", ""))
                if repair:
                    inertial.attrib.pop("fullinertia", None)
                    inertial.set("diaginertia", " ".join(["%r" % (1e-6 * float(inertial.attrib["mass"]))] * 3))
    return found


class _Reader:
    def __init__(self, model: Given, cleaned: CleanMjcf, where: str, wanted: str | None) -> None:
        self.model, self.cleaned, self.where, self.wanted = model, cleaned, where, wanted
        self.bodies = [model.body(i).name for i in range(model.nbody)]
        for key in (
            "body_pos",
            "body_quat",
            "body_ipos",
            "body_iquat",
            "body_mass",
            "body_inertia",
            "jnt_pos",
            "jnt_axis",
            "jnt_range",
            "jnt_stiffness",
            "qpos0",
            "qpos_spring",
            "dof_armature",
            "dof_damping",
            "dof_frictionloss",
        ):
            if not np.isfinite(getattr(model, key)).all():
                raise ModelError(f"{where}: MuJoCo reads values that are not finite from it ({key})")

    def draft(self, floating: bool | None) -> Draft:
        base = self._base(floating)
        draft = Draft(
            name=self.cleaned.root.get("model", "robot"),
            links=[],
            joints=[],
            floating=base > 0,
            remarks=self.cleaned.remarks,
        )
        only = self.model.body_rootid[self.bodies.index(self.wanted)] if self.wanted else 0
        for body in range(self.model.nbody):
            root = self.model.body_rootid[body]
            if base in (0, root) and (not only or root in (0, only)):
                self._add(draft, body, base)
        self._remark_base(draft, base)
        self._add_shapes(draft)
        self._add_actuators(draft)
        self._add_poses(draft, base)
        moving = [joint.name for joint in draft.joints if joint.kind != "fixed"]
        draft.loops = read_loops(self.model, [link.name for link in draft.links], moving, draft.remarks)
        return draft

    # -- the base ----------------------------------------------------------------------------------------------------
    def _base(self, floating: bool | None) -> int:
        """Return the floating body; 0, the world, if there is none."""
        top = [i for i in range(1, self.model.nbody) if self.model.body_parentid[i] == 0]
        moving = sorted({int(i) for i, joints in zip(self.model.body_rootid, self.model.body_jntnum) if joints})
        free = [i for i in top if self._is_free(i)]
        if not top:
            raise ModelError(f"{self.where}: the model has no bodies")
        if self.wanted is not None:
            if self.wanted not in [self.bodies[i] for i in top]:
                raise unknown("root", self.wanted, [self.bodies[i] for i in top])
            top = [i for i in top if self.bodies[i] == self.wanted]
            moving = [i for i in moving if i in top]
        if floating is False and free:
            raise InputError(f"{self.where}: '{self.bodies[free[0]]}' has a free joint: its base cannot be fixed")
        if not free and not floating:
            return 0
        roots = moving or top
        if len(roots) > 1:
            names = ", ".join(self.bodies[i] for i in roots)
            raise ModelError(
                f"{self.where}: the model has {len(roots)} roots, {names}: choose one with root=NAME (--root NAME)"
            )
        if not free and self.model.body_jntnum[roots[0]]:
            name = self.bodies[roots[0]]
            raise InputError(f"{self.where}: '{name}' has a joint to the world: floating=True is not possible")
        if len(top) > 1:
            self.cleaned.remarks.append("bodies of the scene are left out")
        return roots[0]

    def _is_free(self, body: int) -> bool:
        return bool(self.model.body_jntnum[body] and self.model.jnt_type[self.model.body_jntadr[body]] == _FREE)

    def _remark_base(self, draft: Draft, base: int) -> None:
        """Remark on passive forces that a default class gives to a free joint: they would tie the trunk to the
        world.
        """
        if not (base > 0 and self._is_free(base)):
            return
        at = self.model.jnt_dofadr[self.model.body_jntadr[base]]
        losses = {"armature": "dof_armature", "damping": "dof_damping", "dry friction": "dof_frictionloss"}
        given = {word: float(np.abs(getattr(self.model, key)[at : at + 6]).max()) for word, key in losses.items()}
        reported = ", ".join(f"{word} {value:g}" for word, value in given.items() if value)
        if reported:
            name = self.model.jnt(self.model.body_jntadr[base]).name
            draft.remarks.append(
                f"the free joint {shown(name)} has {reported}, left out: nothing holds a floating base"
            )

    # -- links and joints --------------------------------------------------------------------------------------------
    def _add(self, draft: Draft, body: int, base: int) -> None:
        m, name = self.model, self.bodies[body]
        if body == 0:
            draft.links.append(Link.massless(name))
            return
        if name in self.cleaned.weighed:
            raise ModelError(f"body {shown(name)} takes its mass from a mesh: give it an <inertial>")
        R = to_rotation(m.body_iquat[body])
        if m.body_mass[body] == 0:
            draft.links.append(Link.massless(name))
        else:
            tensor = R @ np.diag(m.body_inertia[body]) @ R.T
            draft.links.append(lenient_link(name, float(m.body_mass[body]), m.body_ipos[body].copy(), tensor))
        if body != base:
            self._add_joints(draft, body)

    def _add_joints(self, draft: Draft, body: int) -> None:
        """Add X_PB prod_i [T(p_i) J_i(q_i - ref_i) T(-p_i)]: a chain of joints with massless links between.

        ``X`` is the transform from the last joint's frame (initially the parent's) to the next one's.
        """
        m, child = self.model, self.bodies[body]
        parent = self.bodies[m.body_parentid[body]]
        X = Transform(to_rotation(m.body_quat[body]), m.body_pos[body].copy())
        joints = range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body])
        if not joints:
            draft.joints.append(
                Joint(name=f"{child}_fixed", kind="fixed", parent=parent, child=child, origin=X.p, rotation=X.R)
            )
        for j in joints:
            name, anchor, axis = m.jnt(j).name, m.jnt_pos[j].copy(), m.jnt_axis[j].copy()
            if m.jnt_type[j] in (_FREE, _BALL):
                raise ModelError(
                    f"joint {shown(name)} is a {'ball' if m.jnt_type[j] else 'free'} joint: not supported here"
                )
            slides = m.jnt_type[j] == _SLIDE
            if slides:
                anchor = np.zeros(3)
            ref = float(m.qpos0[m.jnt_qposadr[j]])
            X = X @ Transform(np.eye(3), anchor)
            if ref:
                X = X @ (
                    Transform(np.eye(3), -ref * axis) if slides else Transform(about_axis(axis, -ref), np.zeros(3))
                )
            last = j == joints[-1]
            end = child if last and not anchor.any() else f"{child}@{name}"
            draft.joints.append(self._joint(j, name, parent, end, X, axis))
            X = Transform(np.eye(3), -anchor)
            parent = end
            if end != child:
                draft.links.append(Link.massless(end))
                if last:
                    draft.joints.append(Joint(name=f"{child}_fixed", kind="fixed", parent=end, child=child, origin=X.p))

    def _joint(self, j: int, name: str, parent: str, child: str, X_PJ: Transform, axis: ndarray) -> Joint:
        m, dof = self.model, self.model.jnt_dofadr[j]
        kind = "prismatic" if m.jnt_type[j] == _SLIDE else "revolute"
        lower, upper = (float(x) for x in m.jnt_range[j]) if m.jnt_limited[j] else (-math.inf, math.inf)
        lower, upper = joint_range(kind, lower, upper)
        return Joint(
            name=name,
            kind=kind,
            parent=parent,
            child=child,
            origin=X_PJ.p,
            rotation=X_PJ.R,
            axis=axis,
            lower=lower,
            upper=upper,
            damping=float(m.dof_damping[dof]),
            dry_friction=float(m.dof_frictionloss[dof]),
            armature=float(m.dof_armature[dof]),
            stiffness=float(m.jnt_stiffness[j]),
            rest=float(m.qpos_spring[m.jnt_qposadr[j]]) if m.jnt_stiffness[j] else 0.0,
        )

    # -- the rest ----------------------------------------------------------------------------------------------------
    def _add_shapes(self, draft: Draft) -> None:
        m = self.model
        known = {link.name for link in draft.links}
        for g in range(m.ngeom):
            link, name = self.bodies[m.geom_bodyid[g]], m.geom(g).name
            visual = m.geom_contype[g] == 0 and m.geom_conaffinity[g] == 0
            X_LS = Transform(to_rotation(m.geom_quat[g]), m.geom_pos[g].copy())
            reported = "" if name in self.cleaned.invented else name
            called = self.cleaned.called.get(name, ())
            if link not in known or not (np.isfinite(X_LS.p).all() and np.isfinite(X_LS.R).all()):
                continue
            if name in self.cleaned.meshes:
                mesh: MeshAsset = self.cleaned.meshes[name]
                shape = Shape(
                    kind="mesh", X_LS=X_LS, size=mesh.scale, name=reported, mesh=mesh.file, visual=visual, called=called
                )
            elif int(m.geom_type[g]) in _SHAPES:
                kind, sizes = _SHAPES[int(m.geom_type[g])]
                shape = Shape(
                    kind=kind,
                    X_LS=X_LS,
                    size=m.geom_size[g][:sizes].copy(),
                    name=reported,
                    mesh=None,
                    visual=visual,
                    called=called,
                )
            else:
                continue
            draft.shapes.setdefault(link, []).append(shape)
            if not visual and name in self.cleaned.frictions and np.isfinite(m.geom_friction[g][0]):
                draft.frictions.setdefault(link, []).append(float(m.geom_friction[g][0]))
        for k in range(m.nsite):
            link = self.bodies[m.site_bodyid[k]]
            if link in known and m.site(k).name and np.isfinite(m.site_pos[k]).all():
                draft.sites.setdefault(link, []).append((m.site(k).name, m.site_pos[k].copy()))

    def _add_actuators(self, draft: Draft) -> None:
        """Add torque limits: a motor's control range, an actuator's force range, both through the gear, or the
        joint's.
        """
        m = self.model
        motors = {e.get("name") for section in self.cleaned.root.findall("actuator") for e in section.findall("motor")}
        limits: dict[str, float] = {}
        for a in range(m.nu):
            j = int(m.actuator_trnid[a][0])
            gear, limit = abs(float(m.actuator_gear[a][0])), math.inf
            if m.actuator_forcelimited[a]:
                limit = gear * float(np.abs(m.actuator_forcerange[a]).max())
            if m.actuator_ctrllimited[a] and m.actuator(a).name in motors:
                limit = min(limit, gear * float(np.abs(m.actuator_ctrlrange[a]).max()))
            if m.jnt_actfrclimited[j]:
                limit = min(limit, float(np.abs(m.jnt_actfrcrange[j]).max()))
            name = m.jnt(j).name
            limits[name] = min(limit, limits.get(name, math.inf))
        moving = {joint.name for joint in draft.joints}
        draft.actuators = [Actuator(joint=name, torque_limit=limit) for name, limit in limits.items() if name in moving]

    def _add_poses(self, draft: Draft, base: int) -> None:
        m = self.model
        moving = {joint.name for joint in draft.joints if joint.kind != "fixed"}
        for key in self.cleaned.root.iter("key"):
            if "qpos" in key.attrib and len(key.attrib["qpos"].split()) != m.nq:
                count = len(key.attrib["qpos"].split())
                raise ModelError(f"{label(key)} has {count} numbers in 'qpos': {m.nq} are needed")
        for k in range(m.nkey):
            qpos, name = m.key_qpos[k], m.key(k).name or f"key{k}"
            if not np.isfinite(qpos).all():
                raise ModelError(f"keyframe {shown(name)} has a value that is not finite")
            at = {m.jnt(j).name: float(qpos[m.jnt_qposadr[j]]) for j in range(m.njnt) if m.jnt(j).name in moving}
            free = base > 0 and self._is_free(base)
            height = float(qpos[m.jnt_qposadr[m.body_jntadr[base]] + 2]) if free else 0.0
            draft.poses[name] = (at, height)
