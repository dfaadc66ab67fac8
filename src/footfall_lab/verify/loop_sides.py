"""Robots with closed loops in ``verify``: accelerations with all loops closed, by footfall, Pinocchio and MuJoCo.

Pinocchio has loops as rigid constraints, as exact as footfall's. MuJoCo's equalities are soft by design, and its
impedance is at most 0.9999: a few ten-thousandths of the closing acceleration of a leg are missing, and a few
hundredths for a linkage near a singular posture. That difference is reported; its tolerance detects only large errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.dynamics.closed_loops import closed_dynamics
from footfall.dynamics.random_states import States
from footfall.kinematics.closed_loops import closed_joints, closed_posture, loop_error, loop_joints, loop_map
from footfall.mujoco.model import MuJoCo
from footfall.robot.model.description import Robot
from footfall.robot.model.loops import Loop
from footfall_lab.verify.pinocchio import Pinocchio
from nptrace._types import PyTree
from nptrace.array_types import Float

if TYPE_CHECKING:
    from mujoco import MjsBody, MjSpec

Side = dict[str, Callable[..., PyTree]]

LOOP_QUANTITIES: dict[str, tuple[str, ...]] = {
    "closed_acceleration": ("closed_q", "closed_v", "tau"),
    "closed_acceleration_of_soft_loops": ("closed_q", "closed_v", "tau"),
}
LOOP_TOLERANCES = {"closed_acceleration": 1e-8, "closed_acceleration_of_soft_loops": 0.1}
_STIFFEST = 0.9999  # MuJoCo's highest impedance


def with_closed(robot: Robot, states: States) -> States:
    """Return each state with a similar one whose loops are closed, and with velocities that keep them closed."""
    if not robot.loops:
        return states
    base, known = robot.nq - robot.nj, loop_joints(robot)
    about, kept = (
        closed_posture(robot),
        [*range(robot.nv - robot.nj), *(robot.nv - robot.nj + j for j in known.independent)],
    )
    q, v = np.array(states.q), np.array(states.v)
    for k in range(len(states)):
        part = 0.3
        while part > 1e-3:
            joints = closed_joints(robot, about + part * (states.q[k, base:] - about))
            q[k, base:] = joints
            if np.abs(loop_error(robot, q[k])).max() < 1e-11:
                break
            part *= 0.5
        v[k] = loop_map(robot, q[k]) @ states.v[k][kept]
    return replace(states, closed_q=q, closed_v=v)


def ours(robot: Robot) -> Side:
    """Return our side: the Schur complement on the factors of the tree."""
    closed = lambda q, v, tau: closed_dynamics(robot, q, v, tau)[0]  # noqa: E731
    return dict.fromkeys(LOOP_QUANTITIES, closed) if robot.loops else {}


# -- Pinocchio ---------------------------------------------------------------------------------------------------------
def of_pinocchio(referee: Pinocchio) -> Side:
    """Return Pinocchio's side; empty for loops beyond its rigid constraints: coupled joints, exact rotors."""
    robot = referee.robot
    if not robot.loops or referee.model.nv != robot.nv or any(loop.kind == "joint" for loop in robot.loops):
        return {}
    pin, models, datas = (
        referee.pin,
        referee.pin.StdVec_RigidConstraintModel(),
        referee.pin.StdVec_RigidConstraintData(),
    )
    for loop in robot.loops:
        kind = pin.ContactType.CONTACT_3D if loop.kind == "point" else pin.ContactType.CONTACT_6D
        ends = [
            referee.model.frames[referee.model.getFrameId(f"loop {loop.name} {end}")] for end in ("first", "second")
        ]
        places = [at for frame in ends for at in (frame.parentJoint, frame.placement)]
        models.append(pin.RigidConstraintModel(kind, referee.model, *places, pin.ReferenceFrame.LOCAL))
        datas.append(models[len(models) - 1].createData())
    data = referee.model.createData()
    pin.initConstraintDynamics(referee.model, data, models, datas)
    # a pin in a plane is over-constrained across it: proximal iterations distribute the load
    settings = pin.ProximalSettings(1e-14, 1e-12, 1e-8, 50)

    def closed(q: ndarray, v: ndarray, tau: ndarray) -> Float[ndarray, "nv"]:
        theirs = (referee.q_of(q), referee.v_of(v), referee.G @ tau)
        return referee.G.T @ pin.constraintDynamics(referee.model, data, *theirs, models, datas, settings)

    return {"closed_acceleration": closed}


# -- MuJoCo ------------------------------------------------------------------------------------------------------------
def of_mujoco(referee: MuJoCo) -> Side:
    """Return MuJoCo's side: its solver, with equalities at their stiffest."""
    robot = referee.robot
    too_long = any(len(loop.coefficients) > 5 for loop in robot.loops)  # MuJoCo supports degree 4
    if not robot.loops or referee.model.nv != robot.nv or too_long:
        return {}
    return {"closed_acceleration_of_soft_loops": partial(_soft, MuJoCo(robot, add=partial(_add_loops, robot)))}


def _soft(tied: MuJoCo, q: ndarray, v: ndarray, tau: ndarray) -> Float[ndarray, "nv"]:
    return tied.forward_dynamics(q, v, tau)


def _add_loops(robot: Robot, mj: ModuleType, spec: MjSpec, bodies: dict[str, MjsBody]) -> None:
    spec.option.disableflags = mj.mjtDisableBit.mjDSBL_CONTACT
    spec.option.tolerance, spec.option.iterations = 1e-15, 200
    kinds = {"point": mj.mjtEq.mjEQ_CONNECT, "frame": mj.mjtEq.mjEQ_WELD, "joint": mj.mjtEq.mjEQ_JOINT}
    for loop in robot.loops:
        tie = spec.add_equality(type=kinds[loop.kind])
        tie.solimp, tie.solref = [_STIFFEST, _STIFFEST, 0.001, 0.5, 2.0], [-1e4, -1e2]
        if loop.kind == "joint":
            tie.objtype = mj.mjtObj.mjOBJ_JOINT
            tie.name1, tie.name2 = (f"joint {name}" for name in (loop.first, loop.second))
            tie.data[:5] = [*loop.coefficients, 0.0, 0.0, 0.0, 0.0, 0.0][:5]
            continue
        tie.objtype = mj.mjtObj.mjOBJ_SITE
        tie.name1, tie.name2 = f"{loop.name} first", f"{loop.name} second"
        _add_sites(loop, bodies)


def _add_sites(loop: Loop, bodies: dict[str, MjsBody]) -> None:
    from scipy.spatial.transform import Rotation  # not ours: a reference shares nothing with the code under test

    x, y, z, w = Rotation.from_matrix(loop.rotation.T).as_quat()
    bodies[loop.first].add_site(name=f"{loop.name} first", pos=loop.at)
    bodies[loop.second].add_site(name=f"{loop.name} second", pos=loop.to, quat=[w, x, y, z])
