"""Names that people know from elsewhere, and what footfall calls them: for errors about a name that is not there."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from footfall.errors import InputError, unknown

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])

SIMULATION = {
    **dict.fromkeys(("qpos", "joint_positions", "get_state"), "q (base and joints; sim.set_state(q, v) changes it)"),
    **dict.fromkeys(("qvel", "joint_velocities"), "v"),
    **dict.fromkeys(("base_position", "trunk_position", "base_pos", "root_pos"), "q[:3]"),
    **dict.fromkeys(("base_velocity", "trunk_velocity"), "v[3:6], in base axes"),
    **dict.fromkeys(("set_q", "set_qpos", "set_joint_positions", "teleport"), "set_state(q, v)"),
    **dict.fromkeys(("data", "observation", "obs", "get_observation", "sensordata"), "sensed"),
    **dict.fromkeys(("ctrl", "set_control", "apply_torque", "set_torque", "tau"), "step(joint_command)"),
    **dict.fromkeys(("mj_step", "simulate", "step_simulation", "tick"), "step(n)"),
    **dict.fromkeys(("torque", "joint_torque", "tau_applied"), "state.motor"),
    **dict.fromkeys(("contact_forces", "foot_forces", "grf", "forces"), "state.forces, or sensed.forces"),
    **dict.fromkeys(("timestep", "opt"), "dt"),
    **dict.fromkeys(("render", "viewer", "view"), "ff.viewer(sim), or ff.show(sim)"),
    **dict.fromkeys(("friction", "set_friction"), "Simulation(robot, ground=ff.contact.Plane(friction=0.6))"),
    **dict.fromkeys(("terrain", "floor"), "ground"),
    **dict.fromkeys(("duration", "recording"), "run(duration), which returns the recording"),
    "apply_force": "pushes, or Simulation(..., pushes=[ff.Push(...)])",
}
RECORDING = {
    **dict.fromkeys(("base_position", "base_pos", "root_position", "position"), "trunk_position"),
    **dict.fromkeys(("base_velocity", "base_lin_vel", "world_velocity", "velocity"), "trunk_velocity"),
    **dict.fromkeys(("base_angular_velocity", "base_ang_vel"), "trunk_angular_velocity"),
    **dict.fromkeys(("base_euler", "euler", "rpy", "base_rpy", "orientation"), "trunk_euler()"),
    **dict.fromkeys(("foot_position", "feet", "feet_positions"), "foot_positions"),
    **dict.fromkeys(("foot_velocity", "feet_velocities"), "foot_velocities"),
    **dict.fromkeys(("joint_torque", "joint_torques", "tau", "torques", "motor_torque"), "torque"),
    **dict.fromkeys(("grf", "forces", "foot_force", "foot_forces", "contact_force", "contact_forces"), "force"),
    **dict.fromkeys(("contacts", "contact_state"), "contact"),
    **dict.fromkeys(("joint_positions", "joint_pos"), "joint_position"),
    **dict.fromkeys(("joint_velocities", "joint_vel", "joint_rates"), "joint_velocity"),
    **dict.fromkeys(("qpos",), "q"),
    **dict.fromkeys(("qvel",), "v"),
    **dict.fromkeys(("t", "times", "timestamps"), "time"),
    **dict.fromkeys(("velocity_command", "commands", "commanded_velocity"), "command"),
    **dict.fromkeys(("df", "dataframe", "as_pandas"), "to_pandas()"),
    **dict.fromkeys(("video", "render"), "save_video(path)"),
    **dict.fromkeys(("speed", "average_speed"), "mean_speed()"),
    **dict.fromkeys(("base_height", "height", "trunk_height"), "trunk_position[:, 2]"),
}
RUN = {
    **dict.fromkeys(("steps", "n_steps", "num_steps", "n", "ticks"), "duration [s]; sim.step(n) takes ticks"),
    **dict.fromkeys(("seconds", "time", "t", "T", "t_end"), "duration"),
    **dict.fromkeys(("out", "file", "filename", "save"), "path"),
}
STATE = {
    **dict.fromkeys(("qpos", "joint_positions", "position"), "q"),
    **dict.fromkeys(("qvel", "joint_velocities", "velocity"), "v"),
}
PUSH = {
    **dict.fromkeys(("t", "time", "begin", "at"), "start"),
    **dict.fromkeys(("length", "seconds", "dt"), "duration"),
    **dict.fromkeys(("body", "body_name"), "link"),
    **dict.fromkeys(("torque", "wrench"), "moment"),
    **dict.fromkeys(("position", "offset"), "point"),
}
JOINT_PD = {
    **dict.fromkeys(("stiffness", "p_gain", "Kp"), "kp"),
    **dict.fromkeys(("damping", "d_gain", "Kd"), "kd"),
}
LQR = dict.fromkeys(("Q", "R"), "weights=ff.sim.StandWeights(...)")
GAIT = {
    "gallop": "transverse_gallop or rotary_gallop",
    **dict.fromkeys(("crawl", "static_walk", "creep"), "walk"),
    **dict.fromkeys(("stance", "stand"), "ff.control.Hold('stand', kp, kd), which is no gait"),
    **dict.fromkeys(("jump", "hop", "pronking"), "pronk"),
}
FORWARD = "ff.kinematics.body_poses(robot, q), frame_pose(robot, q, name) or foot_positions(robot, q)"
COMMAND = {
    **dict.fromkeys(("vx", "x", "speed", "lin_vel_x", "linear"), "forward"),
    **dict.fromkeys(("vy", "y", "left", "lin_vel_y"), "sideways"),
    **dict.fromkeys(("yaw", "yaw_rate", "wz", "ang_vel_z", "angular"), "turn"),
}
JOINT_COMMAND = {
    **dict.fromkeys(("q", "q_des", "target", "joint_position"), "position"),
    **dict.fromkeys(("dq", "qd", "dq_des", "joint_velocity"), "velocity"),
    **dict.fromkeys(("tau", "tau_ff", "effort", "feedforward"), "torque"),
    **dict.fromkeys(("stiffness", "p_gain"), "kp"),
    **dict.fromkeys(("damping", "d_gain"), "kd"),
}
PLOTS = {
    **dict.fromkeys(("grf", "forces", "force", "foot_forces", "contact_forces"), "contact"),
    **dict.fromkeys(("base", "position", "pose", "velocity"), "trunk"),
    **dict.fromkeys(("torques", "tau"), "torque"),
    **dict.fromkeys(("q", "joint_position"), "joints"),
}
ROBOT = {
    **dict.fromkeys(("total_mass", "weight"), "mass"),
    **dict.fromkeys(("njoints", "num_joints", "n_joints", "nu", "num_actuators"), "nj"),
    **dict.fromkeys(("num_dofs", "dof", "ndof"), "nv"),
    **dict.fromkeys(("base", "base_link", "root"), "trunk"),
    **dict.fromkeys(("stand", "standing", "home", "keyframe"), 'state("stand"), or poses["stand"]'),
    **dict.fromkeys(("urdf", "to_urdf", "save"), "ff.robot.to_urdf(robot)"),
    **dict.fromkeys(("xml", "to_mjcf", "mjcf"), "ff.robot.to_mjcf(robot)"),
    **dict.fromkeys(("neutral", "default_q", "q0", "qpos0"), "state()"),
    "bodies": "links",
    "frames": "ff.kinematics.frame_names(robot)",
    "actuator_names": "joint_names",
}
DYNAMICS = {
    **dict.fromkeys(("rnea", "id", "mj_inverse"), "inverse_dynamics"),
    **dict.fromkeys(("crba", "M", "inertia_matrix", "mj_fullM"), "mass_matrix"),
    **dict.fromkeys(("aba", "fd", "mj_forward"), "forward_dynamics"),
    **dict.fromkeys(("nle", "non_linear_effects", "nonLinearEffects", "bias", "bias_force", "h"), "bias_terms"),
    **dict.fromkeys(("gravity", "compute_gravity", "computeGeneralizedGravity", "g"), "gravity_terms"),
    **dict.fromkeys(("coriolis", "computeCoriolisMatrix", "C"), "coriolis_matrix"),
    **dict.fromkeys(("ccrba", "centroidal_momentum", "centroidal_momentum_matrix"), "momentum_matrix"),
    **dict.fromkeys(("jacobian", "getFrameJacobian"), "ff.kinematics.frame_jacobian"),
}
KINEMATICS = {
    **dict.fromkeys(("fk", "forward_kinematics", "forwardKinematics"), "body_poses, frame_pose or foot_positions"),
    **dict.fromkeys(("ik", "inverse_kinematics"), "inverse"),
    **dict.fromkeys(("jacobian", "getFrameJacobian", "frameJacobian", "mj_jac"), "frame_jacobian, or feet_jacobian"),
    **dict.fromkeys(("com", "centerOfMass", "center_of_mass_position"), "center_of_mass"),
    **dict.fromkeys(("frame_placement", "framePlacement", "updateFramePlacements"), "frame_pose"),
}
FRONT = {
    **dict.fromkeys(
        ("view", "display", "visualize", "render"), "ff.show(...), or ff.viewer(sim) for a loop of your own"
    ),
    **dict.fromkeys(("launch_passive", "passive_viewer", "Viewer"), "ff.viewer(sim)"),
    **dict.fromkeys(("mj_step", "step"), "ff.Simulation(robot).step()"),
    **dict.fromkeys(("Env", "make", "gym"), "ff.learn, or gymnasium.make('footfall/Walk-v0')"),
    **dict.fromkeys(("load_urdf", "load_robot", "from_urdf", "Model"), "ff.load"),
    **dict.fromkeys(("Sim", "Simulator", "World"), "ff.Simulation"),
    **dict.fromkeys(("jit", "trace"), "ff.compile"),
    **dict.fromkeys(("grad",), "ff.gradient"),
    **dict.fromkeys(("train", "env", "policy"), "ff.learn"),
    **dict.fromkeys(("load_policy", "Policy"), "ff.control.Policy.load"),
    **dict.fromkeys(("JointPD", "Locomotion", "Hold"), "ff.control has it"),
}


class MissingAttribute(AttributeError):
    """An attribute that is not there; the nearest name is looked for when somebody reads the message."""

    def __init__(self, owner: str, name: str, known: Iterable[str], elsewhere: Mapping[str, str]) -> None:
        super().__init__(owner, name, known := tuple(known), elsewhere := dict(elsewhere))
        self.owner, self.missing, self.known, self.elsewhere = owner, name, known, elsewhere

    def __str__(self) -> str:
        if self.missing in self.elsewhere:
            return f"{self.owner} has no {self.missing!r}: {_meant(self.elsewhere[self.missing])}"
        import difflib

        near = difflib.get_close_matches(self.missing, [k for k in self.known if not k.startswith("_")], 1, 0.7)
        return f"{self.owner} has no {self.missing!r}" + (f": did you mean {near[0]!r}?" if near else "")


def _meant(hint: str) -> str:
    return f"did you mean {hint!r}?" if hint.isidentifier() else f"it is {hint}"


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def missing(owner: str, name: str, known: Iterable[str], elsewhere: Mapping[str, str]) -> AttributeError:
    """Return the error for an attribute that is not there: what it is called here, or the nearest name."""
    return MissingAttribute(owner, name, known, elsewhere)


def takes(elsewhere: Mapping[str, str]) -> Callable[[_Function], _Function]:
    """Make a function say what an argument is called that it does not take."""

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        known = [name for name in signature.parameters if name != "self"]
        called = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def checked(*arguments: Any, **given: Any) -> Any:
            for name in given:
                if name in known[: len(arguments) - ("self" in signature.parameters)]:
                    listed = ", ".join(known[: known.index(name) + 2])
                    raise InputError(f"{called} got {name!r} twice, by its place and by name: {called}({listed}, ...)")
                if name not in known and "options" not in known:
                    what = f"argument of {called}"
                    if name in elsewhere:
                        raise InputError(f"unknown {what} {name!r}: {_meant(elsewhere[name])}")
                    raise unknown(what, name, known, "it has")
            return function(*arguments, **given)

        return checked  # type: ignore[return-value]

    return decorate


def names_arguments(what: str, elsewhere: Mapping[str, str]) -> Callable[[_Class], _Class]:
    """Make a dataclass say what an argument is called that it does not take; its signature stays."""

    def decorate(kind: _Class) -> _Class:
        make: Callable[..., None] = kind.__init__  # type: ignore[misc]
        known = {f.name for f in dataclasses.fields(kind) if f.init}
        absent = dataclasses.MISSING
        fields = [f for f in dataclasses.fields(kind) if f.init]
        needed = [f.name for f in fields if f.default is absent and f.default_factory is absent]

        @functools.wraps(make)
        def __init__(self: object, *arguments: Any, **given: Any) -> None:
            if not given.keys() <= known:
                name = next(name for name in given if name not in known)
                if name in elsewhere:
                    raise InputError(f"unknown {what} {name!r}: {_meant(elsewhere[name])}")
                raise unknown(what, name, [f.name for f in dataclasses.fields(kind) if f.init], "it has")
            for name in needed[len(arguments) :]:
                if name not in given:
                    raise InputError(f"{kind.__name__} needs {_article(name)}: {kind.__name__}(..., {name}=...)")
            make(self, *arguments, **given)

        kind.__init__ = __init__  # type: ignore[misc]
        return kind

    return decorate
