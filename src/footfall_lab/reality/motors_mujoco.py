"""MuJoCo's system identification (``mujoco.sysid``) on the same recording: its model, residuals and optimiser.

It fits those of our parameters that it supports: armature, damping, dry friction, gain and zero of every joint, within
the same ranges and from the same start. It has no stiction, and delays only of sensors, at a single rate; ours are
identified as zero.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import ModuleType

import numpy as np
from numpy import ndarray

from footfall.analysis.hanging import COLUMNS, RANGES, Encoders, Hanging
from footfall.errors import MissingExtraError
from footfall.mujoco.model import library
from footfall.robot.files.export import to_mjcf
from footfall.robot.model.description import Robot
from nptrace._types import Foreign
from nptrace.array_types import Float

GIVEN = ("armature", "damping", "dry_friction", "bias", "gain")


def mujoco_motors(
    robot: Robot, encoders: Encoders, kp: float, kd: float, rows: slice, iterations: int = 15
) -> Float[ndarray, "nj 7"]:
    """Return the parameters that MuJoCo finds over some rows; the others keep their initial values."""
    sysid = toolbox()
    hanging = Hanging(robot, encoders, kp, kd)
    spec = hung_spec(robot, encoders, kp, kd)
    params = sysid.ParameterDict()
    for name in robot.joint_names:
        for key in GIVEN:
            params.add(_parameter(sysid, name, key, kp, kd))
            params[f"{name} {key}"].value[:] = RANGES[COLUMNS.index(key)].start
    q, v = hanging.start(rows.start)
    model = spec.compile()
    start = sysid.create_initial_state(model, q, v)
    time = encoders.time[rows] - encoders.time[rows.start]
    wanted = sysid.TimeSeries.from_names(time, encoders.wanted[rows], model)
    seen = {f"{name} angle": (sysid.SignalType.MjSensor, np.array([j])) for j, name in enumerate(robot.joint_names)}
    measured = sysid.TimeSeries(time, encoders.measured[rows], seen)
    sequence = sysid.ModelSequences("hung", spec, "recording", start, wanted, measured)
    residual = sysid.build_residual_fn(models_sequences=[sequence])
    best, _ = sysid.optimize(params, residual, optimizer="mujoco", max_iters=iterations, verbose=False)
    table = hanging.nominal
    for j, name in enumerate(robot.joint_names):
        for key in GIVEN:
            table[j, COLUMNS.index(key)] = float(best[f"{name} {key}"].value[0])
    return table


def toolbox() -> ModuleType:
    """Return ``mujoco.sysid``, or raise an error that names what to install."""
    library()
    sysid = import_module("mujoco.sysid")
    if not hasattr(sysid, "optimize"):
        raise MissingExtraError("MuJoCo's system identification", "identify", "mujoco[sysid]")
    return sysid


def hung_spec(robot: Robot, encoders: Encoders, kp: float, kd: float) -> Foreign:
    """Return the suspended robot for MuJoCo, with position servos and encoders."""
    mj = library()
    hung = replace(robot, floating=False, feet=(), actuators=(), poses={}, name="hung")
    steps = max(1, round(encoders.period / 1e-3))
    spec = mj.MjSpec.from_string(
        to_mjcf(hung, options={"timestep": encoders.period / steps, "integrator": "implicitfast"})
    )
    for joint in spec.joints:
        joint.limited = mj.mjtLimited.mjLIMITED_FALSE
    for name in robot.joint_names:
        servo = spec.add_actuator(name=f"motor_{name}", target=name, trntype=mj.mjtTrn.mjTRN_JOINT)
        _set_servo(mj, servo, kp, kd, 1.0, 0.0)
        spec.add_sensor(
            name=f"{name} angle", type=mj.mjtSensor.mjSENS_JOINTPOS, objtype=mj.mjtObj.mjOBJ_JOINT, objname=name
        )
    return spec


def _set_servo(mj: ModuleType, servo: Foreign, kp: float, kd: float, gain: float, bias: float) -> None:
    servo.gaintype, servo.biastype = mj.mjtGain.mjGAIN_FIXED, mj.mjtBias.mjBIAS_AFFINE
    servo.gainprm[0] = gain * kp
    servo.biasprm[:3] = [gain * kp * bias, -gain * kp, -gain * kd]


def _parameter(sysid: ModuleType, joint: str, key: str, kp: float, kd: float) -> Foreign:
    mj, span = library(), RANGES[COLUMNS.index(key)]
    plain = {"armature": "armature", "dry_friction": "frictionloss"}

    def change(spec: Foreign, param: Foreign) -> None:
        value = float(param.value[0])
        if key in plain:
            setattr(spec.joint(joint), plain[key], value)
        elif key == "damping":
            spec.joint(joint).damping[0] = value
        else:
            servo = spec.actuator(f"motor_{joint}")
            gain, bias = servo.gainprm[0] / kp, servo.biasprm[0] / servo.gainprm[0]
            _set_servo(mj, servo, kp, kd, *((value, bias) if key == "gain" else (gain, value)))

    return sysid.Parameter(f"{joint} {key}", span.start, span.low, span.high, modifier=change)


def mujoco_angles(
    robot: Robot, encoders: Encoders, kp: float, kd: float, table: Float[ndarray, "nj 7"], rows: slice
) -> Float[ndarray, "n nj"]:
    """Return joint angles of a MuJoCo run with given parameters, commands held as ours are [rad]."""
    mj, hanging = library(), Hanging(robot, encoders, kp, kd)
    spec = hung_spec(robot, encoders, kp, kd)
    for j, name in enumerate(robot.joint_names):
        joint = spec.joint(name)
        joint.armature, joint.frictionloss = table[j, 0], table[j, 2]
        joint.damping[0] = table[j, 1]
        gain, bias = table[j, COLUMNS.index("gain")], table[j, COLUMNS.index("bias")]
        _set_servo(mj, spec.actuator(f"motor_{name}"), kp, kd, gain, bias)
    model = spec.compile()
    data = mj.MjData(model)
    place = [int(model.joint(name).qposadr[0]) for name in robot.joint_names]
    speed = [int(model.joint(name).dofadr[0]) for name in robot.joint_names]
    data.qpos[place], data.qvel[speed] = hanging.start(rows.start)
    found = [data.qpos[place].copy()]
    for row in range(rows.start, rows.stop - 1):
        data.ctrl[:] = encoders.wanted[row]
        mj.mj_step(model, data, nstep=hanging.model.substeps)
        found.append(data.qpos[place].copy())
    return np.array(found)
