"""Any parameter of a run by its name: from a study's parameters to a simulation that is ready to run.

``speed``, ``controller``, ``kp``, ... are options of ``footfall simulate``; ``gait.duty``, ``controller.coupling``,
``contact.stiffness``, ``ground.friction``, ``joints.backlash`` and ``push.start`` belong to parts of the run; anything
else with a dot is a parameter of the robot (``trunk.mass``, ``LF_knee.damping``), and ``*`` matches many at once
(``*_knee.stiffness``). ``.x``, ``.y`` and ``.z`` after a vector name one component: ``push.force.y``.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from footfall.control.interface import ControllerWrapper
from footfall.errors import InputError, unknown
from footfall.loading import load
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.pushes import Push
from footfall.sim.run_options import KEYS, OPTIONS, keys_with
from footfall.sim.runfile import PlannedRun, load_options, options_of, plan, resolved_paths
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from nptrace._types import Given

RUN_KEYS = tuple(key for key in KEYS if key != "out")
PARTS = ("gait", "controller", "contact", "ground", "joints", "push")
_AXES = ("x", "y", "z")
UNITS = {
    **{key: OPTIONS[key].metadata["unit"] for key in keys_with("unit")},
    "gravity": "m/s²",
    "gait.period": "s",
    "gait.stride": "m",
    "gait.height": "m",
    "gait.depth": "m",
    "gait.hip_height": "m",
    "gait.ramp": "s",
    "push.start": "s",
    "push.duration": "s",
    "push.force": "N",
    "push.moment": "N m",
}
_ROBOT_UNITS = {
    "mass": "kg",
    "com": "m",
    "inertia": "kg m²",
    "damping": "N m s/rad",
    "stiffness": "N m/rad",
    "radius": "m",
    "armature": "kg m²",
    "dry_friction": "N m",
    "lower": "rad",
    "upper": "rad",
    "rest": "rad",
    "origin": "m",
    "position": "m",
}


_TABLE = "table."  # prefix for a robot's TOML table: table.quadruped.segments.1


def unit_of(name: str) -> str:
    """Return the unit of a parameter; empty if unknown."""
    whole, _ = _component(name)
    if whole in UNITS:
        return UNITS[whole]
    part, _, key = whole.rpartition(".")
    return _ROBOT_UNITS.get(key, "") if part and part not in PARTS else ""


def planned(parameters: Mapping[str, Given], folder: Path) -> PlannedRun:
    """Return the run described by parameters; paths in them are relative to ``folder``."""
    options, parts, of_robot = _sorted(parameters)
    if "robot" not in options:
        raise InputError('a study of simulations needs a robot: add  robot = "mini_cheetah"  in [run] or [grid]')
    run_options = options_of(_with_paths(options, folder))
    table = {name.partition(".")[2]: of_robot.pop(name) for name in list(of_robot) if name.startswith(_TABLE)}
    changes = {"table": table} if table else {}
    robot = _robot(load(run_options.robot, **load_options(run_options), **changes), of_robot)
    run = plan(robot, run_options, parts["gait"])
    if not any(parts[key] for key in (*PARTS[1:], "gravity")):
        return run
    return dataclasses.replace(run, simulation=_changed_simulation(run, parts))


def _changed_simulation(run: PlannedRun, parts: Mapping[str, Mapping[str, Given]]) -> Simulation:
    """Return the planned simulation with its parts changed, behind the same sensors, in the stand of its new
    controller.
    """
    old = run.simulation
    world = old.model.world
    controller = _changed_controller(old.controller, parts["controller"])
    ground = _changed(world.ground, parts["ground"], "ground")
    walks = controller.inner if run.options.estimate else controller  # an estimator has no readings before the start
    return dataclasses.replace(
        old,
        controller=controller,
        contact=_changed(world.contact, parts["contact"], "contact"),
        ground=ground,
        joints=_changed(world.joints, parts["joints"], "joints"),
        gravity=_vector("gravity", parts["gravity"], world.gravity),
        pushes=_pushes(parts["push"]),
        start=standing_start(old.robot, walks, ground, old.command_now, run.options.drop),
    )


def _sorted(parameters: Mapping[str, Given]) -> tuple[dict[str, Given], dict[str, dict[str, Given]], dict[str, Given]]:
    """Return (options of the run, changes by part, parameters of the robot)."""
    options: dict[str, Given] = {}
    parts: dict[str, dict[str, Given]] = {key: {} for key in (*PARTS, "gravity")}
    of_robot: dict[str, Given] = {}
    for name, value in parameters.items():
        name = "friction" if name == "ground.friction" else name  # the option, which every kind of ground accepts
        part, dot, key = name.partition(".")
        if name in options:
            raise InputError(f"the parameter '{name}' is given twice")
        if name in RUN_KEYS:
            options[name] = value
        elif part == "gravity" and (not dot or key in _AXES):
            parts["gravity"][name] = value
        elif part in PARTS and dot:
            parts[part][key] = value
        elif dot:
            of_robot[name] = value
        else:
            raise unknown("parameter", name, (*RUN_KEYS, "gravity", *(f"{p}.…" for p in PARTS)), "a run has")
    return options, parts, of_robot


def _with_paths(options: Mapping[str, Given], folder: Path) -> dict[str, Given]:
    found = dict(options)
    robot = found["robot"]
    if isinstance(robot, str) and robot not in library.names() and "." in robot:
        found["robot"] = str(folder / robot)
    return found | resolved_paths(found, folder)


def _component(name: str) -> tuple[str, int | None]:
    whole, _, last = name.rpartition(".")
    return (whole, _AXES.index(last)) if whole and last in _AXES else (name, None)


def _robot(robot: Robot, given: Mapping[str, Given]) -> Robot:
    """Return the robot with its parameters changed and checked."""
    changes: dict[str, Given] = {}
    for pattern, value in given.items():
        whole, axis = _component(pattern)
        names = [whole]
        if "*" in whole:
            names = fnmatch.filter(robot.parameter_names(), whole)
            if not names:
                raise InputError(f"no parameter of robot '{robot.name}' looks like '{whole}'")
        for name in names:
            old = changes.get(name, robot.parameter(name))
            changes[name] = _set(old, axis, value, pattern)
    return robot.replace(changes) if changes else robot


def _set(old: Given, axis: int | None, value: Given, name: str) -> Given:
    """Return a value, or the old vector with one component changed."""
    if axis is None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(old, np.ndarray):
            if np.shape(value) != old.shape:
                raise InputError(f"the parameter '{name}' has the shape {old.shape}, got {value!r}")
            return np.array(value, dtype=float)
        if isinstance(old, float) and not number:
            raise InputError(f"the parameter '{name}' must be a number, got {value!r}")
        return float(value) if isinstance(old, float) else value
    vector = np.array(old, dtype=float)
    if vector.shape != (3,) or not isinstance(value, int | float):
        raise InputError(f"'{name}' must be one number of a vector of three, got {value!r}")
    vector[axis] = value
    return vector


def _vector(name: str, given: Mapping[str, Given], old: Given) -> Given:
    for key, value in given.items():
        old = _set(np.asarray(old, dtype=float), _component(key)[1], value, key)
    return tuple(float(x) for x in old)


def _changed(part: Given, changes: Mapping[str, Given], name: str) -> Given:
    """Return a checked copy of a dataclass with fields changed."""
    if not changes:
        return part
    known = [f.name for f in dataclasses.fields(part) if f.init]
    new: dict[str, Given] = {}
    for path, value in changes.items():
        key, axis = _component(path)
        if key not in known:
            raise unknown("parameter", f"{name}.{path}", [f"{name}.{k}" for k in known], f"the {name} has")
        new[key] = _set(new.get(key, getattr(part, key)), axis, value, f"{name}.{path}")
    return dataclasses.replace(part, **new)


def _changed_controller(controller: Given, changes: Mapping[str, Given]) -> Given:
    """Return the controller, or an inner one, with its constants changed."""
    if not changes:
        return controller
    own = {f.name for f in dataclasses.fields(controller) if f.init} - {"inner", "gait"}
    if isinstance(controller, ControllerWrapper):
        within = {key: value for key, value in changes.items() if key not in own}
        controller = dataclasses.replace(controller, inner=_changed_controller(controller.inner, within))  # type: ignore
        changes = {key: value for key, value in changes.items() if key in own}
    return _changed(controller, changes, "controller")


def _pushes(given: Mapping[str, Given]) -> tuple[Push, ...]:
    if not given:
        return ()
    found: dict[str, Given] = {"force": np.zeros(3), "moment": np.zeros(3)}
    for path, value in given.items():
        key, axis = _component(path)
        if key not in ("start", "duration", "force", "moment"):
            raise unknown("parameter", f"push.{path}", ("push.start", "push.duration", "push.force", "push.moment"))
        found[key] = _set(found.get(key, 0.0), axis, value, f"push.{path}")
    for key in ("start", "duration"):
        if key not in found:
            raise InputError(f"a push needs push.start and push.duration [s]: push.{key} is missing")
    return (
        Push(
            start=found["start"], duration=found["duration"], force=tuple(found["force"]), moment=tuple(found["moment"])
        ),
    )
