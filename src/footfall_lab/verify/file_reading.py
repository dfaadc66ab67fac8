"""MuJoCo's or Pinocchio's reading of a model *file*: ``python -m footfall_lab.verify.file_reading FILE < request``.

The other references are built from our robot and cannot detect what we misread. This one is independent of our reader;
it runs in a separate process, since untrusted files can crash it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from nptrace._types import Foreign, Json

if TYPE_CHECKING:
    from mujoco import MjModel, MjSpec

_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = 2, 3, 4, 5, 6, 7


def mjcf(path: Path, request: dict[str, Json]) -> dict[str, Json]:
    """Return masses, joints and soles of an MJCF; request: {"joints": {name: position}, "feet": [body, ...]}."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(path))
    _drop_missing_meshes(spec, path)
    model = spec.compile()
    data = mujoco.MjData(model)
    joints = [j for j in range(model.njnt) if model.jnt_type[j] in (2, 3)]
    data.qpos[[model.jnt_qposadr[j] for j in joints]] = 0.0
    mujoco.mj_kinematics(model, data)
    found: dict[str, Json] = {"bodies": {}, "joints": {}, "soles": {}}
    for b in range(1, model.nbody):
        turned = np.zeros(9)
        mujoco.mju_quat2Mat(turned, model.body_iquat[b])
        R = turned.reshape(3, 3)
        tensor = R @ np.diag(model.body_inertia[b]) @ R.T
        found["bodies"][model.body(b).name] = [model.body_mass[b], *model.body_ipos[b], *tensor.ravel()]
    for j in joints:
        root, dof = model.body_rootid[model.jnt_bodyid[j]], model.jnt_dofadr[j]
        R_WB, p_WB = data.xmat[root].reshape(3, 3), data.xpos[root]
        limits = model.jnt_range[j] if model.jnt_limited[j] else [-np.inf, np.inf]
        found["joints"][model.jnt(j).name] = {
            "axis": R_WB.T @ data.xaxis[j],
            "place": R_WB.T @ (data.xanchor[j] - p_WB),
            "limits": limits,
            "damping": model.dof_damping[dof],
            "armature": model.dof_armature[dof],
            "dry_friction": model.dof_frictionloss[dof],
            "stiffness": model.jnt_stiffness[j],
        }
    for j in joints:
        data.qpos[model.jnt_qposadr[j]] = request["joints"].get(model.jnt(j).name, 0.0)
    mujoco.mj_kinematics(model, data)
    for name in request["feet"]:
        body = model.body(name).id
        root = model.body_rootid[body]
        R_WB, p_WB = data.xmat[root].reshape(3, 3), data.xpos[root]
        soles = [
            _lowest(model, g, R_WB.T @ data.geom_xmat[g].reshape(3, 3)) + (R_WB.T @ (data.geom_xpos[g] - p_WB))[2]
            for g in range(model.ngeom)
            if model.geom_bodyid[g] == body and model.geom_contype[g]
        ]
        if soles:
            found["soles"][name] = min(soles)
    return found


def _drop_missing_meshes(spec: MjSpec, path: Path) -> None:
    """Drop missing meshes that are only drawn."""
    folder = path.parent / (spec.meshdir or "")
    gone = [mesh for mesh in spec.meshes if mesh.file and not (folder / mesh.file).is_file()]
    names = {mesh.name or Path(mesh.file).stem for mesh in gone}
    for body in spec.bodies:
        for geom in list(body.geoms):
            if geom.meshname in names:
                spec.delete(geom)
    for mesh in gone:
        spec.delete(mesh)


def _lowest(model: MjModel, g: int, R: ndarray) -> float:
    """Return the lowest point of a geom relative to its centre, along z of the axes R."""
    size, kind, down = model.geom_size[g], model.geom_type[g], -R[2]
    if kind == _MESH:
        k = model.geom_dataid[g]
        points = model.mesh_vert[model.mesh_vertadr[k] : model.mesh_vertadr[k] + model.mesh_vertnum[k]]
        return -float((points @ down).max())
    far = {
        _SPHERE: size[0],
        _CAPSULE: size[0] + size[1] * abs(down[2]),
        _ELLIPSOID: np.linalg.norm(size * down),
        _CYLINDER: size[0] * np.hypot(down[0], down[1]) + size[1] * abs(down[2]),
        _BOX: np.abs(down) @ size,
    }
    return -float(far[kind]) if kind in far else np.inf


def urdf(path: Path, request: dict[str, Json]) -> dict[str, Json]:
    """Return masses (of all that a joint carries), joints and soles of a URDF; joints not in the request are locked."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    extra = [i for i in range(2, model.njoints) if model.names[i] not in request["joints"]]
    if extra:  # otherwise Pinocchio may reject a link that has the name of a joint
        model = pin.buildReducedModel(model, extra, pin.neutral(model))
    data, q = model.createData(), pin.neutral(model)
    pin.framesForwardKinematics(model, data, q)
    found: dict[str, Json] = {"bodies": {}, "joints": {}, "soles": {}}
    for i in range(1, model.njoints):
        inertia = model.inertias[i]
        carried = "" if i == 1 else model.names[i]
        found["bodies"][carried] = [inertia.mass, *inertia.lever, *inertia.inertia.ravel()]
        if i == 1:
            continue
        joint, placed = model.joints[i], data.oMi[i]
        at, dof = joint.idx_q, joint.idx_v
        motion = data.oMi[i].act(pin.Motion(joint.createData().S.ravel()[:6])) if joint.nv == 1 else pin.Motion.Zero()
        axis = motion.angular if np.linalg.norm(motion.angular) > 0.5 else motion.linear
        unlimited = joint.nq == 2
        found["joints"][model.names[i]] = {
            "axis": axis,
            "place": placed.translation,
            "limits": [-np.inf, np.inf] if unlimited else [model.lowerPositionLimit[at], model.upperPositionLimit[at]],
            "damping": model.damping[dof],
            "dry_friction": model.friction[dof],
            "torque": model.effortLimit[dof],
        }
    for i in range(2, model.njoints):
        joint, angle = model.joints[i], request["joints"][model.names[i]]
        q[joint.idx_q : joint.idx_q + joint.nq] = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
    _soles(pin, model, q, path, request["feet"], found)
    return found


def _soles(pin: ModuleType, model: Foreign, q: ndarray, path: Path, feet: list[str], found: dict[str, Json]) -> None:
    """Return the lowest points of the collision shapes of foot links, except where Pinocchio cannot read the meshes."""
    try:
        folders = [str(folder) for folder in list(path.parents)[:3]]
        shapes = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.COLLISION, folders)
    except (ValueError, RuntimeError):
        found["no_soles"] = "it cannot read all meshes of the file"
        return
    placed = shapes.createData()
    pin.updateGeometryPlacements(model, model.createData(), shapes, placed, q)
    for k, shape in enumerate(shapes.geometryObjects):
        link = model.frames[shape.parentFrame].name
        if link in feet:
            solid = shape.geometry
            solid.computeLocalAABB()
            X = placed.oMg[k]
            if hasattr(solid, "radius") and not hasattr(solid, "halfLength"):
                low = X.translation[2] - solid.radius
            elif hasattr(solid, "vertices"):
                low = float((X.rotation @ np.asarray(solid.vertices()).T + X.translation[:, None])[2].min())
            else:
                low = None
            if low is not None:
                found["soles"][link] = min(low, found["soles"].get(link, np.inf))


def main() -> None:
    path, request = Path(sys.argv[1]), json.load(sys.stdin)
    reading = urdf(path, request) if request["format"] == "urdf" else mjcf(path, request)
    print(json.dumps(reading, default=lambda x: np.asarray(x).tolist()))


if __name__ == "__main__":
    main()
