"""Run files: the options of one run in TOML, and the simulation they describe.

    robot = "mini_cheetah"        # or a path to a URDF or MJCF file, beside the run file
    gait = "trot"
    speed = 0.3
    ground = "slope:5"
    duration = 20.0
    out = "uphill.mcap"

Every key is an option of ``footfall simulate``; other options keep their defaults. Paths are relative to the file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from footfall._io.toml_file import parse_toml, read_toml_text
from footfall.adapters import unadapted
from footfall.contact.heightfield import FILES as GROUND_FILES
from footfall.contact.terrain import GROUNDS
from footfall.contact.terrain import named as ground_named
from footfall.control import named as control_named
from footfall.control.interface import Command, Controller, as_controller
from footfall.control.joint.changing_pd import ChangingPD
from footfall.control.joint.joint_pd import INVERSES, Hold, JointPD
from footfall.control.joint.plan_follower import PlanFollower, reachable_plan
from footfall.control.joint.wheels import Wheels
from footfall.control.learned.policy import SUFFIXES, Policy
from footfall.control.locomotion.reflex_pd import ReflexPD
from footfall.control.locomotion.reflexes import Reflexes
from footfall.control.optimal.nmpc import Nmpc
from footfall.control.posture import with_stand
from footfall.control.stand_gains import stand_gains
from footfall.errors import FootfallError, InputError, unknown
from footfall.gait import tuned
from footfall.gait.named_plans import PLANS
from footfall.gait.oscillators.networks import NAMES as NETWORKS
from footfall.gait.pattern import Gait
from footfall.gait.planner import WalkPlan
from footfall.gait.transition import Transition
from footfall.plugins import named_object, names_code
from footfall.recording.provenance import settings_of
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.robot.model.spine import named_spine
from footfall.sensing.estimation.estimated import Estimated
from footfall.sensing.sensors import Sensors
from footfall.sim.commanding import Schedule, unfollowed
from footfall.sim.joints import JointModel, with_brakes
from footfall.sim.motors import MotorModel, read_identified
from footfall.sim.object_words import in_words
from footfall.sim.run_options import KEYS, OPTIONS, RunOptions, keys_with, model_options, simulation_arguments
from footfall.sim.sampling import PlanningTask, Sampling
from footfall.sim.sampling_tasks import task_named
from footfall.sim.simulation import Simulation
from footfall.sim.standing_lqr import lqr_stand
from footfall.sim.start import standing_start
from nptrace._types import Given

CONTROLLERS = control_named.NAMES
_RATE = 1000.0  # [Hz], approximate rate of controllers
_ACCELERATES = 1.0  # [m/s²], acceleration of controllers that follow commands
_WALKING_SPEED = 0.4  # [m/s], speed of controllers that follow commands, unless given
_FOR_STANCE = "C"  # with set A, low swing feet touch early, and in stance contact they then stick


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A simulation ready to run, and the options that it was made from."""

    options: RunOptions
    simulation: Simulation
    gait: Gait | None
    commanded_speed: float | None  # [m/s], as followed by the controller; the largest of a schedule
    nominal_speed: float | None  # [m/s], for a gait or plan without a given speed: implied by its strides
    ramp: float  # length of the start that means exclude [s]

    @property
    def speed(self) -> float:
        """Return the commanded speed, or the nominal one without a command [m/s]."""
        return self.commanded_speed if self.commanded_speed is not None else self.nominal_speed or 0.0


def read_run_file(path: str | Path) -> dict[str, Given]:
    """Read the options in a run file (TOML); an unknown key is refused with the nearest known one.

    Args:
        path: The file.

    Returns:
        Options by name.
    """
    file = Path(path)
    keys = parse_toml(read_toml_text(file, "the run file"), str(file))
    for key in keys:
        if key not in KEYS:
            raise unknown(f"key of the run file {file}", key, KEYS, "choose from")
    if "robot" not in keys:
        raise InputError(f'the run file {file} names no robot: it needs  robot = "mini_cheetah"  or the like')
    robot = keys["robot"]
    if isinstance(robot, str) and robot not in library.names():
        keys["robot"] = str(file.parent / robot)
    keys |= resolved_paths(keys, file.parent)
    if isinstance(keys.get("controller"), str) and is_policy(keys["controller"]):
        keys["controller"] = str(file.parent / keys["controller"])
    if isinstance(keys.get("schedule"), list):
        keys["schedule"] = str(Schedule.of(keys["schedule"]))
    if "objects" in keys:
        keys["objects"] = in_words(keys["objects"])
    return keys


def resolved_paths(options: Mapping[str, Given], folder: Path) -> dict[str, Given]:
    """Return options that name files, including a ground's, with paths relative to a folder."""
    found = {key: str(folder / options[key]) for key in keys_with("path") if isinstance(options.get(key), str)}
    ground = options.get("ground")
    if isinstance(ground, str) and any(suffix in ground.lower() for suffix in GROUND_FILES):
        found["ground"] = str(folder / ground)
    return found


def options_of(given: Mapping[str, Given]) -> RunOptions:
    """Return options from a run file or the command line: None means not given."""
    return RunOptions(**{key: value for key, value in given.items() if value is not None})


def rerun_words(options: RunOptions) -> list[str]:
    """Return the arguments of the command line that repeats a run; nothing is written."""
    words = ["footfall", "simulate", options.robot]
    for key in KEYS:
        value = getattr(options, key)
        if key not in ("robot", "out") and value != OPTIONS[key].default:
            flag = f"--{key.replace('_', '-')}"
            words.append(
                flag if value is True else f"{flag}={value!r}" if isinstance(value, float) else f"{flag}={value}"
            )
    return words


def load_options(options: RunOptions) -> dict[str, Given]:
    """Return the options for loading the robot of a run: wheels rotate for controllers that drive."""
    rolls = options.controller in control_named.ROLLING_CONTROLLERS and options.robot not in library.names()
    return model_options(vars(options)) | ({"lock_wheels": False} if rolls else {})


def plan(
    robot: Robot,
    options: RunOptions,
    constants: Mapping[str, Given] | None = None,
    own: Controller | None = None,
) -> PlannedRun:
    """Return the simulation described by options.

    Args:
        robot: The simulated robot.
        options: Options of the run.
        constants: Changes of the gait (``{"duty": 0.6}``).
        own: The controller, if the options name one as ``module:name``: code is not loaded from options.

    Returns:
        Simulation, options and start ramp.
    """
    motors: MotorModel | None = None
    joints: dict[str, Given] = {}
    robot = named_spine(robot, options.spine)
    if options.motors is not None:
        robot, motors, effects = read_identified(options.motors, robot)
        joints = {"joints": effects}
    if options.brakes is not None or options.power_loss is not None:
        joints = {"joints": with_brakes(joints.get("joints", JointModel()), options.brakes, options.power_loss)}
    robot, ground = with_stand(robot), ground_named(options.ground, options.seed, options.friction)
    controller, gait = _controller(robot, options, constants or {}, own)
    task = controller.task if isinstance(controller, Sampling) else None
    if isinstance(task, PlanningTask) and options.ground == "plane":
        ground = task.terrain_of(options.friction) or ground
    speed = options.speed if options.speed is not None else gait.speed if gait else 0.0
    if options.speed is None and (
        options.controller in control_named.COMMAND_FOLLOWERS or is_policy(options.controller)
    ):
        speed = 0.0 if options.sideways or options.turn else _WALKING_SPEED
    if options.speed is None and own is not None:
        speed = as_controller(own).nominal_command(robot).forward
    first = Command(forward=speed, sideways=options.sideways, turn=options.turn)
    command: Command | Schedule = first
    if options.schedule is not None:
        command = _schedule(options)
        first, speed = command(0.0), max((each.forward for _, each in command.entries), key=abs)
    followed, _ = unfollowed(as_controller(controller), robot, Command(forward=speed))
    start = standing_start(robot, controller, ground, first, options.drop)
    special: dict[str, Given] = {}
    if isinstance(task, PlanningTask):
        start = task.start_state(robot, options.seed) or start
        special = task.simulation_options
    sensors = Sensors.realistic(options.seed) if options.estimate else None
    acting: Controller = Estimated(controller) if options.estimate else controller
    simulation = Simulation(
        robot,
        acting if motors is None else motors.of(acting),
        ground=ground,
        command=command,
        start=start,
        sensors=sensors,
        **joints,
        **special,
        **simulation_arguments(options),
    )
    simulation.provenance = {"options": dataclasses.asdict(options), "rerun": rerun_words(options)}
    simulation.provenance |= {"gait": settings_of(gait), "constants": settings_of(constants or {})}
    ramp = gait.ramp if gait else 0.0
    if options.controller in (*control_named.COMMAND_CONTROLLERS, control_named.NMPC):
        ramp = max(ramp, abs(followed.forward) / _ACCELERATES + 0.5)
    nominal = _nominal_speed(options, controller, gait)
    commanded = followed.forward if nominal is None else None
    return PlannedRun(
        options=options,
        simulation=simulation,
        gait=gait,
        commanded_speed=commanded,
        nominal_speed=nominal,
        ramp=ramp,
    )


def _nominal_speed(options: RunOptions, controller: Controller, gait: Gait | None) -> float | None:
    """Return the speed of an open-loop gait or plan [m/s]; None if a speed is commanded."""
    if options.speed is not None or options.schedule is not None:
        return None
    if isinstance(controller, PlanFollower):
        walk = controller.plan
        if not isinstance(walk, WalkPlan):
            return 0.0
        return math.copysign(math.hypot(walk.step, walk.side), walk.step) / walk.gait.period
    return gait.speed if gait is not None and options.controller in control_named.GAIT_CONTROLLERS else None


def _schedule(options: RunOptions) -> Schedule:
    """Return the schedule of commands; no other option may set one."""
    for key in ("speed", "sideways", "turn"):
        if getattr(options, key):
            raise InputError(f"a schedule sets all speeds: remove {key}")
    return Schedule.parse(options.schedule or "")


def is_policy(controller: str) -> bool:
    """Return whether a controller is named by a policy file."""
    return Path(controller).suffix in SUFFIXES


def own_controller(name: str, robot: Robot, folder: Path | None = None) -> Controller:
    """Import and return the controller named ``module:name``: an object, or a function or class that creates one.

    Args:
        name: Name of the controller; its module may lie in ``folder``.
        robot: Argument for a function or class that creates a controller for a robot.
        folder: Folder; the working directory unless given.

    Raises:
        InputError: There is no such module or name, or it is not a controller.
    """
    found = named_object(name, Path.cwd() if folder is None else folder)
    if isinstance(found, type) or not (hasattr(found, "rate") and hasattr(found, "start")):
        takes = len(inspect.signature(found).parameters)
        try:
            found = found(robot) if takes else found()
        except FootfallError:
            raise
        except Exception as error:
            raise InputError(f"{name}({'robot' if takes else ''}) raised {type(error).__name__}: {error}") from error
    as_controller(found, f"{name}: ")
    return found


# -- controllers -------------------------------------------------------------------------------------------------------
Made = tuple[Controller, Gait | None]


def _controller(
    robot: Robot, options: RunOptions, constants: Mapping[str, Given], own: Controller | None = None
) -> Made:
    if own is not None:
        refuse(
            options, "is user-defined code", [*given(options, "constants", "kp", "kd", "plan", "reflexes"), *constants]
        )
        refuse_rhythm(options)
        gait = getattr(unadapted(own), "gait", None)
        return own, gait if isinstance(gait, Gait) else None
    if names_code(options.controller):
        raise InputError(
            f"the controller {options.controller!r} is code, which a run file may not run: give it on the command line,"
            f" --controller {options.controller}"
        )
    policy = is_policy(options.controller)
    if options.controller != control_named.PLAN:
        refuse(options, "follows no plan", given(options, "plan"))
    if options.controller != control_named.NMPC:
        refuse(options, "plans no contacts of a horizon", given(options, "nmpc_contact"))
    if options.controller != control_named.SAMPLING:
        refuse(options, "has no planning task", given(options, "task"))
    if not policy and options.controller not in CONTROLLERS:
        raise unknown("controller", options.controller, (*CONTROLLERS, *(f"FILE{suffix}" for suffix in SUFFIXES)))
    if not robot.floating and options.controller != "hold":
        raise InputError(f"robot '{robot.name}' has a fixed base and cannot walk: choose the controller 'hold'")
    return _MAKERS[control_named.LEARNED if policy else options.controller](robot, options, constants)


def _hold(robot: Robot, options: RunOptions, constants: Mapping[str, Given]) -> Made:
    refuse_motion(options, constants)
    kp, kd = _gains(robot, options)
    return Hold("stand" if "stand" in robot.poses else np.zeros(robot.nj), kp, kd, fitting_rate(options.dt)), None


def _lqr(robot: Robot, options: RunOptions, constants: Mapping[str, Given]) -> Made:
    refuse_motion(options, constants, "kp", "kd")
    return lqr_stand(robot, rate=fitting_rate(options.dt), dt=options.dt, friction=options.friction), None


def _planned(robot: Robot, options: RunOptions, constants: Mapping[str, Given]) -> Made:
    requested = [key for key in ("sideways", "turn") if getattr(options, key)]
    refuse(options, "follows its plan", [*given(options, "gait", "constants", "reflexes"), *constants, *requested])
    refuse_rhythm(dataclasses.replace(options, inverse=None))
    planned = reachable_plan(robot, options.plan or PLANS[0], options.speed, options.duration)
    inverse = options.inverse or INVERSES[0]
    kp, kd = _gains(robot, options)
    return PlanFollower(plan=planned, kp=kp, kd=kd, rate=fitting_rate(options.dt), inverse=inverse), None


def _on_command(robot: Robot, options: RunOptions, constants: Mapping[str, Given]) -> Made:
    refuse(options, "finds its own forces", given(options, "constants", "kp", "kd"))
    refuse_rhythm(options)
    if options.controller == control_named.NMPC:
        refuse(options, "has no reflexes", given(options, "reflexes"))
    moving = control_named.locomotion_controller(
        options.controller,
        options.gait or "trot",
        options.speed or 0.0,
        fitting_rate(options.dt),
        robot,
        _reflexes(options, True),
        options.nmpc_contact,
    )
    moving = dataclasses.replace(moving, gait=moving.gait.replace(**constants)) if constants else moving
    if isinstance(moving, Nmpc) and options.ground != "plane":
        moving = moving.over(ground_named(options.ground, options.seed, options.friction))
    return moving, moving.gait


def _sampling(robot: Robot, options: RunOptions, constants: Mapping[str, Given]) -> Made:
    refuse(options, "has no reflexes", given(options, "reflexes"))
    refuse(options, "plans with its task", [*given(options, "constants"), *constants])
    refuse_rhythm(options)
    name = options.task or "walk"
    if name not in ("walk", "climb"):
        refuse(options, f"does the task {name}", given(options, "gait", "speed"))
    task = task_named(name, robot, **({"gait": options.gait} if options.gait else {}))
    ground = ground_named(options.ground, options.seed, options.friction)
    if options.ground == "plane":
        ground = task.terrain_of(options.friction) or ground
    return Sampling(task, kp=options.kp, kd=options.kd, ground=ground, seed=options.seed), None


def _learned(robot: Robot, options: RunOptions, constants: Mapping[str, Given]) -> Made:
    refuse(options, "finds its own forces", given(options, "constants", "kp", "kd"))
    refuse(options, "has its own gait", [*constants, *given(options, "reflexes")])
    refuse_rhythm(options)
    if not is_policy(options.controller):
        policy = control_named.learned(robot.name, options.gait or "trot")
        return policy, policy.gait
    refuse(options, "has its own gait", given(options, "gait"))
    read = Policy.load(options.controller)
    if read.sees_ground:
        read = read.over(ground_named(options.ground, options.seed, options.friction))
    read.start(robot)  # raises for an unsuitable robot before any slow preparation
    return read, read.gait if isinstance(read, Policy) else None


def _wheels(robot: Robot, options: RunOptions, constants: Mapping[str, Given]) -> Made:
    refuse(options, "rolls", [*given(options, "gait", "constants"), *constants])
    if options.sideways:
        raise InputError("controller 'wheels' drives forward and turns; it cannot move sideways")
    return Wheels(kp=options.kp, kd=options.kd, rate=fitting_rate(options.dt)), None


def _on_a_gait(robot: Robot, options: RunOptions, constants: Mapping[str, Given]) -> Made:
    for key in ("sideways", "turn"):
        if getattr(options, key):
            others = ", ".join(control_named.COMMAND_FOLLOWERS)
            raise InputError(
                f"controller '{options.controller}' follows its gait straight ahead and takes no {key}: {others} do"
            )
    control_named.check_on_a_gait(options.controller, options.gait or "trot", robot)
    wrapped = control_named.GAIT_CONTROLLERS[options.controller]
    if options.reflexes is not None:
        refuse(options, "with reflexes detects its touchdowns and chooses its gait", given(options, "then"))
        reflexive = _with_reflexes(robot, options, _tuned(robot, options, constants))
        return wrapped(reflexive), reflexive.gait
    first = _tuned(robot, options, constants, touchdown=options.touchdown)
    if options.then is None:
        return wrapped(first), first.gait
    name, begin = _gait_then(options.then)
    later = _tuned(robot, dataclasses.replace(options, gait=name, constants=None), {})
    change = Transition(first.gait, later.gait.replace(knees=first.gait.knees), begin)
    inner = ChangingPD(
        transition=change,
        kp=(first.kp, later.kp),
        kd=(first.kd, later.kd),
        speed_feedback=min(first.speed_feedback, later.speed_feedback),
        **{key: getattr(first, key) for key in ("rate", "oscillator", "touchdown", "inverse")},
    )
    return wrapped(inner), change.second.replace(ramp=change.begin + change.duration)


def _tuned(robot: Robot, options: RunOptions, constants: Mapping[str, Given], **more: Given) -> JointPD:
    """Return joint PD with tuned constants if they exist, otherwise scaled ones."""
    name = options.gait or "trot"
    known = tuned.choices(robot, name)
    if options.constants is not None and options.constants not in known:
        raise unknown(f"set of constants of {robot.name}'s {name}", options.constants, known)
    usual = _FOR_STANCE if options.contact == "stance" and _FOR_STANCE in known else "A"
    gains = {key: getattr(options, key) for key in given(options, "kp", "kd")}
    rhythm: dict[str, Given] = {
        "oscillator": options.oscillator or NETWORKS[0],
        "inverse": options.inverse or INVERSES[0],
    }
    return JointPD.tuned(
        robot,
        name,
        options.constants or usual,
        speed=options.speed,
        changes=constants,
        rate=fitting_rate(options.dt),
        **rhythm,
        **gains,
        **more,
    )


def _with_reflexes(robot: Robot, options: RunOptions, walking: JointPD) -> ReflexPD:
    """Return joint PD with reflexes; if speed selects the gait, the faster one is the robot's trot."""
    reflexes, faster = Reflexes.of(_reflexes(options, False)), dict[str, Given]()
    if reflexes.speed_gait:
        trot = tuned.for_robot(robot, "trot")
        faster = {"faster": trot.gait.replace(knees=walking.gait.knees), "faster_gains": (trot.kp, trot.kd)}
    keys = ("gait", "kp", "kd", "rate", "oscillator", "inverse", "speed_feedback")
    return ReflexPD(reflexes=reflexes, **{key: getattr(walking, key) for key in keys}, **faster)


def _reflexes(options: RunOptions, usual: bool) -> bool | list[str]:
    chosen = options.reflexes
    return usual if chosen is None else chosen == "all" if chosen in ("all", "none") else chosen.split(",")


def _gait_then(then: str) -> tuple[str, float]:
    """Return the gait to change to, and when [s]."""
    name, _, when = then.partition(":")
    try:
        return name, float(when) if when else 4.0
    except ValueError:
        raise InputError(f"then needs a gait and the time of the change, such as trot:4, got {then!r}") from None


_MAKERS: dict[str, Callable[[Robot, RunOptions, Mapping[str, Given]], Made]] = {
    "hold": _hold,
    "lqr": _lqr,
    control_named.PLAN: _planned,
    control_named.LEARNED: _learned,
    control_named.SAMPLING: _sampling,
    control_named.WHEELS: _wheels,
    **dict.fromkeys((*control_named.COMMAND_CONTROLLERS, control_named.NMPC), _on_command),
    **dict.fromkeys(control_named.GAIT_CONTROLLERS, _on_a_gait),
}


def _gains(robot: Robot, options: RunOptions) -> tuple[float, float]:
    """Return gains: as given, as tuned for this gait or another, scaled, or in proportion to the weight."""
    kp, kd = stand_gains(robot)
    with contextlib.suppress(InputError):
        setup = tuned.for_robot(robot, options.gait or "trot")
        kp, kd = setup.kp, setup.kd
    return kp if options.kp is None else options.kp, kd if options.kd is None else options.kd


def fitting_rate(dt: float) -> float:
    """Return the rate closest to 1 kHz whose period is a whole number of steps [Hz]."""
    return 1.0 / (max(1, round(1.0 / (_RATE * dt))) * dt)


# -- options that a controller has no use for are refused by name ------------------------------------------------------
def given(options: RunOptions, *keys: str) -> list[str]:
    return [key for key in keys if getattr(options, key) is not None]


def refuse(options: RunOptions, why: str, keys: list[str]) -> None:
    if keys:
        raise InputError(f"controller '{options.controller}' {why}: it takes no {keys[0]}")


def refuse_rhythm(options: RunOptions) -> None:
    keys = given(options, "oscillator", "then", "inverse") + (["touchdown"] if options.touchdown else [])
    refuse(options, "has its own clock", keys)


def refuse_motion(options: RunOptions, constants: Mapping[str, Given], *others: str) -> None:
    keys = given(options, "gait", "constants", "speed", "reflexes", *others)
    refuse_rhythm(options)
    keys += [key for key in ("sideways", "turn") if getattr(options, key)] + [f"gait.{key}" for key in constants]
    refuse(options, "stands still", keys)


__all__ = [
    "CONTROLLERS",
    "GROUNDS",
    "KEYS",
    "PlannedRun",
    "RunOptions",
    "ground_named",
    "load_options",
    "options_of",
    "plan",
    "read_run_file",
]
