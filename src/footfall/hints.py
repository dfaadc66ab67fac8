"""Names known from other libraries and their footfall equivalents, for errors about missing names."""

from __future__ import annotations

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
    **dict.fromkeys(("contacts", "contact_state", "ncon"), "sensed.forces[:, 2] > 1.0, one for every foot"),
    **dict.fromkeys(("foot_positions", "get_foot_positions", "xpos"), "ff.kinematics.foot_positions(robot, sim.q)"),
    **dict.fromkeys(("body", "link", "geom", "get_link_state", "site"), "ff.kinematics.frame_pose(robot, sim.q, name)"),
    **dict.fromkeys(("pause", "play", "stop"), "your own loop around sim.step()"),
    **dict.fromkeys(("close", "disconnect", "shutdown"), "not needed: a simulation holds no files or windows"),
    **dict.fromkeys(("save", "save_state", "get_checkpoint"), "checkpoint(path)"),
    **dict.fromkeys(("load", "load_state", "restore"), "resume(path)"),
    **dict.fromkeys(("model_path", "urdf", "xml"), "ff.load(path), which makes the robot"),
    **dict.fromkeys(("num_envs", "n_envs", "batch_size"), "ff.Batch(robot, n, controller)"),
    **dict.fromkeys(("device", "cuda", "gpu"), "ff.GpuBatch(robot, n, controller), on a GPU"),
    **dict.fromkeys(("mass", "payload"), 'robot.replace({"trunk.mass": 5.0}), or ff.robot.with_payload'),
    **dict.fromkeys(("noise", "imu"), "sensors=ff.sensing.Sensors.realistic()"),
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
    **dict.fromkeys(("to_csv", "to_parquet", "to_netcdf", "to_mcap", "export", "write"), "save('run.csv'), by suffix"),
    **dict.fromkeys(("video", "render"), "save_video(path)"),
    **dict.fromkeys(("speed", "average_speed"), "mean_speed()"),
    **dict.fromkeys(("base_height", "height", "trunk_height"), "trunk_position[:, 2]"),
}
RUN = {
    **dict.fromkeys(("steps", "n_steps", "num_steps", "n", "ticks"), "duration [s]; sim.step(n) takes ticks"),
    **dict.fromkeys(("seconds", "time", "t", "T", "t_end"), "duration"),
    **dict.fromkeys(("out", "file", "filename", "save"), "path"),
}
RUN_BATCH = dict.fromkeys(("duration", "seconds", "time", "steps", "n", "n_steps"), "ticks")
STEP = {
    **dict.fromkeys(("action", "ctrl", "tau", "torque", "torques", "joint_command", "u"), "command"),
    **dict.fromkeys(("position", "kp", "kd", "velocity"), "step(ff.JointCommand(position=..., kp=..., kd=...))"),
    **dict.fromkeys(("steps", "ticks", "num_steps", "n_steps"), "n"),
    **dict.fromkeys(("dt", "duration", "time", "seconds"), "n, in ticks; sim.run(duration) takes seconds"),
}
RESET = {
    **dict.fromkeys(("q", "v", "qpos", "qvel", "state", "pose", "start"), "sim.set_state(q, v)"),
    **dict.fromkeys(("seed", "options"), "Simulation(..., seed=...): a simulation restarts from its initial state"),
}
BATCH = {
    **SIMULATION,
    **dict.fromkeys(("step", "advance", "simulate"), "run(ticks)"),
    **dict.fromkeys(("num_envs", "num_robots", "n_envs", "size", "count"), "n"),
    **dict.fromkeys(("randomize", "randomize_parameters"), "randomise"),
    **dict.fromkeys(("base_position", "trunk_position", "root_pos"), "q[:, :3]"),
    **dict.fromkeys(("base_velocity", "trunk_velocity"), "v[:, 3:6], in base axes"),
    **dict.fromkeys(("joint_positions", "dof_pos"), "q[:, 7:]"),
    **dict.fromkeys(("forces", "contact_forces", "foot_forces"), "run(ticks, record=[...])"),
    **dict.fromkeys(("set_parameters", "set_parameter"), "set({path: values})"),
    **dict.fromkeys(("fell", "done", "terminated"), "fallen()"),
    **dict.fromkeys(("command", "set_commands"), "set_command(forward=...)"),
}
GAIT_PARTS = {
    **dict.fromkeys(("frequency", "freq", "rate"), "period [s], one over the frequency"),
    **dict.fromkeys(("step_length", "stride_length", "length"), "stride"),
    **dict.fromkeys(("step_height", "swing_height", "clearance", "foot_height"), "height"),
    **dict.fromkeys(("duty_factor", "stance_fraction"), "duty"),
    **dict.fromkeys(("phases", "offsets", "phase_offsets"), "delays"),
    **dict.fromkeys(("speed", "velocity"), "stride, which over period * duty is the speed"),
}
GROUND = {
    **dict.fromkeys(("mu", "mu_s", "coefficient", "friction_coefficient"), "friction"),
    **dict.fromkeys(("angle", "slope"), "ground='slope:5', in degrees"),
}
LOCOMOTION = {
    **dict.fromkeys(("speed", "velocity", "command", "forward"), "Simulation(..., command=ff.Command(forward=0.4))"),
    **dict.fromkeys(("horizon", "N"), "plan"),
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
    **dict.fromkeys(("stance", "stand"), "ff.control.Hold('stand', kp, kd), which is not a gait"),
    **dict.fromkeys(("jump", "hop", "pronking"), "pronk"),
}
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
JACOBIAN = "ff.kinematics.frame_jacobian(robot, q, name), or feet_jacobian(robot, q)"
FORWARD = "ff.kinematics.body_poses(robot, q), frame_pose(robot, q, name) or foot_positions(robot, q)"
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
    **dict.fromkeys(("set_mass", "set_parameter", "set"), 'replace({"trunk.mass": 5.0}), which returns a new robot'),
    **dict.fromkeys(("fk", "forward_kinematics"), FORWARD),
    **dict.fromkeys(("ik", "inverse_kinematics"), "ff.kinematics.inverse(robot, feet)"),
    **dict.fromkeys(("jacobian", "get_jacobian"), "ff.kinematics.frame_jacobian(robot, q, name)"),
    **dict.fromkeys(("com", "center_of_mass"), "ff.kinematics.center_of_mass(robot, q)"),
    **dict.fromkeys(("kp", "kd", "gains"), "ff.control.stand_gains(robot), or ff.control.walk_gains(robot)"),
    **dict.fromkeys(("torque_limits", "effort_limits"), "[a.torque_limit for a in robot.actuators]"),
    **dict.fromkeys(("lower", "upper", "joint_limits"), "[(j.lower, j.upper) for j in robot.joints]"),
    **dict.fromkeys(("step", "run", "simulate"), "ff.Simulation(robot, controller).run(duration)"),
    **dict.fromkeys(("q", "v", "qpos"), 'state("stand"), which returns q and v'),
    **dict.fromkeys(("from_urdf", "from_mjcf", "from_xml_path", "load"), "ff.load(path)"),
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
    **dict.fromkeys(("view", "display", "visualize", "render"), "ff.show(...), or ff.viewer(sim) for your own loop"),
    **dict.fromkeys(("launch_passive", "passive_viewer", "Viewer"), "ff.viewer(sim)"),
    **dict.fromkeys(("mj_step", "step"), "ff.Simulation(robot).step()"),
    **dict.fromkeys(("Env", "make", "gym"), "ff.learn, or gymnasium.make('footfall/Walk-v0')"),
    **dict.fromkeys(("load_urdf", "load_robot", "from_urdf", "Model"), "ff.load"),
    **dict.fromkeys(("Sim", "Simulator", "World"), "ff.Simulation"),
    **dict.fromkeys(("jit", "trace"), "ff.compile"),
    **dict.fromkeys(("grad",), "ff.gradient"),
    **dict.fromkeys(("simulate", "run", "rollout"), "ff.Simulation(robot, controller).run(duration)"),
    **dict.fromkeys(("mpc", "MPC", "wbc", "WBC"), "ff.control.Locomotion()"),
    **dict.fromkeys(("PD", "pd"), "ff.control.JointPD, or ff.control.Hold"),
    **dict.fromkeys(("ik", "inverse_kinematics"), "ff.kinematics.inverse"),
    **dict.fromkeys(("rnea", "crba", "aba"), "ff.dynamics.inverse_dynamics, mass_matrix or forward_dynamics"),
    **dict.fromkeys(("plot", "video"), "rec.plot(...), or rec.save_video(path)"),
    **dict.fromkeys(("terrain", "Terrain", "Plane", "Heightfield"), "ff.contact.Plane, or ground='rough:0.03'"),
    **dict.fromkeys(("train", "env", "policy"), "ff.learn"),
    **dict.fromkeys(("load_policy", "Policy"), "ff.control.Policy.load"),
    **dict.fromkeys(("JointPD", "Locomotion", "Hold"), "ff.control has it"),
}


CONTROL = {
    **dict.fromkeys(("PD", "PID", "PDController", "Position"), "JointPD for a gait, or Hold for a pose"),
    **dict.fromkeys(("MPC", "Mpc", "WBC", "WholeBody", "whole_body"), "Locomotion, or on_command('whole_body')"),
    **dict.fromkeys(("RL", "NeuralNetwork", "load_policy"), "Policy.load(path)"),
    **dict.fromkeys(("LQR", "lqr"), "ff.sim.lqr_stand(robot)"),
    **dict.fromkeys(("Controller_", "make", "named_controller"), "on_command(name), or ff.controller"),
    **dict.fromkeys(("gains", "default_gains"), "stand_gains(robot), or walk_gains(robot)"),
}
EXPORT = {
    **dict.fromkeys(("to_c", "c", "export", "write_c", "codegen"), "of_controller(simulation, name).write(folder)"),
    **dict.fromkeys(("to_urdf", "urdf", "to_mjcf", "mjcf"), "ff.robot.to_urdf(robot) and ff.robot.to_mjcf(robot)"),
    **dict.fromkeys(("to_onnx", "onnx"), "policy.save('policy.onnx')"),
    **dict.fromkeys(("fmu", "to_fmu", "fmi"), "write_fmu"),
}


class MissingAttribute(AttributeError):
    """An attribute that does not exist; the nearest name is searched for only when the message is read."""

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
    return f"an {name}" if name[0] in ("aefhilmnorsx" if len(name) == 1 else "aeiou") else f"a {name}"


def missing(owner: str, name: str, known: Iterable[str], elsewhere: Mapping[str, str]) -> AttributeError:
    """Return the error for a missing attribute, with its name in footfall or the nearest name."""
    return MissingAttribute(owner, name, known, elsewhere)


def takes(elsewhere: Mapping[str, str], name: str = "") -> Callable[[_Function], _Function]:
    """Decorate a function so that a call with wrong arguments raises a one-sentence error.

    Args:
        elsewhere: Argument names of other libraries and their names here.
        name: Name of the function in messages; its ``__name__`` unless given.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        called = name or function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def checked(*arguments: Any, **given: Any) -> Any:
            try:
                return function(*arguments, **given)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise  # raised inside the function, not by the call
                problem = _misfit(called, f"argument of {called}", signature, arguments, given, elsewhere)
                if problem is None:
                    raise
            raise problem

        return checked  # type: ignore[return-value]

    return decorate


def names_arguments(what: str, elsewhere: Mapping[str, str]) -> Callable[[_Class], _Class]:
    """Decorate a dataclass so that wrong arguments raise a one-sentence error; its signature is unchanged."""

    def decorate(kind: _Class) -> _Class:
        make: Callable[..., None] = kind.__init__  # type: ignore[misc]
        signature = inspect.signature(make)

        @functools.wraps(make)
        def __init__(self: object, *arguments: Any, **given: Any) -> None:
            try:
                return make(self, *arguments, **given)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise
                problem = _misfit(kind.__name__, what, signature, (self, *arguments), given, elsewhere)
                if problem is None:
                    raise
            raise problem

        kind.__init__ = __init__  # type: ignore[misc]
        return kind

    return decorate


def _misfit(
    called: str,
    what: str,
    signature: inspect.Signature,
    arguments: tuple[Any, ...],
    given: Mapping[str, Any],
    elsewhere: Mapping[str, str],
) -> InputError | None:
    """Return in one sentence what is wrong with a call; None if its arguments fit."""
    try:
        signature.bind(*arguments, **given)
        return None
    except TypeError:
        pass
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls", "_")]
    bound = "self" in signature.parameters or "cls" in signature.parameters
    arguments = arguments[1:] if bound else arguments
    names = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    for name in given:
        if name not in names and (name in elsewhere or not any(p.kind is p.VAR_KEYWORD for p in parameters)):
            if name in elsewhere:
                return InputError(f"unknown {what} {name!r}: {_meant(elsewhere[name])}")
            if names:
                return unknown(what, name, names, "it has")
            return InputError(f"{called} takes no arguments, got {name!r}")
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for name in given:
        if name in [p.name for p in by_place[: len(arguments)]]:
            listed = ", ".join(names[: names.index(name) + 2])
            return InputError(f"{called} got {name!r} twice, by position and by name: {called}({listed}, ...)")
    if len(arguments) > len(by_place) and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        usage = ", ".join([*(p.name for p in by_place), *(f"{n}=..." for n in names[len(by_place) :][:4])])
        more = ", ..." if len(names) > len(by_place) + 4 else ""
        if not by_place and names:
            return InputError(f"{called} takes its arguments by name: {called}({usage}{more})")
        return InputError(
            f"{called} takes {len(by_place) or 'no'} argument{'s' * (len(by_place) != 1)} by position, got"
            f" {len(arguments)}: {called}({usage}{more})"
        )
    for p in parameters[min(len(arguments), len(by_place)) :]:
        if p.default is p.empty and p.name not in given and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            return InputError(f"{called} needs {_article(p.name)}: {called}(..., {p.name}=...)")
    return None
