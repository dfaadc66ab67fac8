"""Check whether a policy fits a robot before it is used: ``footfall policy check``.

Without a mapping a policy is compared with the wiring of footfall's tasks for the robot; with one, the file is compared
with the mapping, and both with the robot. Then the policy is tried in a simulator.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from footfall.contact.ground import Plane
from footfall.control.interface import Command
from footfall.control.learned import onnx_file
from footfall.control.learned.differences import Mismatch, differences, fits_network, fits_robot
from footfall.control.learned.interface import NEEDED, Interface, from_text
from footfall.control.learned.mapping import ALIASES, interface_of, read_mapping, rename_joints
from footfall.control.learned.policy import Policy
from footfall.control.learned.travelled import ImportedPolicy
from footfall.errors import SPOILED, InputError, unknown
from footfall.learn.task import ENGINES
from footfall.learn.tasks import TASKS
from footfall.learn.walk import TRACKING, WalkTask
from footfall.mujoco.run import mujoco_model, run_mujoco
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from nptrace._types import Given

FORWARD = 0.4  # [m/s], speed of the trial
_AFTER = 1.0  # [s] of the trial that are excluded


@dataclass(frozen=True)
class Trial:
    """The motion of a policy in a simulator under one command."""

    engine: str
    seconds: float
    command: float  # forward [m/s]
    fell: bool
    velocity: tuple[float, float, float]  # forward, sideways [m/s], turn [rad/s]

    @property
    def error(self) -> float:
        """Return the error of the mean velocity over the ground [m/s]."""
        return float(np.hypot(self.velocity[0] - self.command, self.velocity[1]))

    def mismatches(self) -> list[Mismatch]:
        if self.fell:
            return [
                Mismatch("falls", f"in {self.engine} the robot falls when commanded to walk at {self.command:g} m/s")
            ]
        if self.error > TRACKING:
            words = (
                f"commanded to walk at {self.command:g} m/s, in {self.engine} it walks at {self.velocity[0]:.2f} m/s"
            )
            return [Mismatch("tracking", f"{words} forward and {self.velocity[1]:.2f} m/s sideways")]
        return []


@dataclass(frozen=True)
class Preflight:
    """The findings: ``ok`` if there is no objection to the policy on that robot."""

    mismatches: list[Mismatch]
    trial: Trial | None

    @property
    def ok(self) -> bool:
        return not self.mismatches


def preflight(
    file: str | Path,
    robot: Robot,
    mapping: str | Path | None = None,
    *,
    engine: str = "footfall",
    seconds: float = 4.0,
    forward: float = FORWARD,
) -> Preflight:
    """Check a policy's file against a robot, then let it walk for some seconds (0: not at all)."""
    if engine not in ENGINES:
        raise unknown("simulator", engine, ENGINES)
    policy: Policy | ImportedPolicy | None
    if Path(file).suffix == ".onnx":
        found, policy = _check_onnx(Path(file), robot, read_mapping(mapping) if mapping is not None else {})
    else:
        found, policy = _check_own(Path(file), robot, mapping)
    walks = TASKS.get(task_of(file), WalkTask).walks and not any(m.kind == "missing_joint" for m in found)
    trial = try_out(policy, robot, engine, seconds, forward) if policy is not None and walks and seconds > 0 else None
    return Preflight([*found, *(trial.mismatches() if trial else [])], trial)


def task_of(file: str | Path) -> str:
    """Return the kind of task for which a policy was trained, according to its file; by default walking."""
    if Path(file).suffix == ".onnx":
        task = onnx_file.read_onnx(file)[1].get("task", "walk")
    else:
        policy = Policy.load(file)
        task = policy.task if isinstance(policy, Policy) else "walk"
    return task.partition(" ")[0]  # followed by the file of a user-defined task


def _check_own(file: Path, robot: Robot, mapping: Given) -> tuple[list[Mismatch], Policy | None]:
    """Check an .npz file, which is always footfall's."""
    policy = Policy.load(file, mapping)
    assert isinstance(policy, Policy)
    reference = _reference(policy.task, robot, policy.drive.history)
    try:
        policy.check_fits(robot)
    except InputError as error:
        return [Mismatch("missing_joint", str(error))], None
    given = policy.drive.interface(robot.replace(name=policy.robot))
    if " " in policy.task:  # a user-defined task, whose drive is accepted unchanged
        return [], policy
    return differences(given, reference, f"robot '{robot.name}'"), policy


def _check_onnx(file: Path, robot: Robot, mapping: dict[str, Given]) -> tuple[list[Mismatch], ImportedPolicy | None]:
    graph, text = onnx_file.read_onnx(file)
    try:
        metadata = from_text(text, str(file))
    except InputError as error:
        return [Mismatch("wiring", str(error))], None
    unsaid = [key for key in NEEDED if key not in metadata and key not in mapping]
    if unsaid:
        words = f"neither {file.name} nor a mapping says {', '.join(unsaid)}"
        return [Mismatch("unsaid", words)], None
    try:
        meant = interface_of(metadata, mapping, str(file))
        given = Interface.of({**_plain(mapping, mapping), **_plain(metadata, mapping)}, str(file))
    except InputError as error:
        return [*_named(mapping or metadata, robot, mapping), Mismatch("wiring", str(error))], None
    of_network, of_robot = fits_network(meant, graph), fits_robot(meant, robot)
    if mapping:
        other = differences(given, meant, "the mapping")
    else:
        reference = _reference(text.get("task", "walk"), robot, _history(text))
        own = " " in text.get("task", "walk")  # whose drive is accepted unchanged
        other = [] if own else differences(meant, reference, f"robot '{robot.name}'")
    if any(m.kind == "missing_joint" for m in of_robot):  # already reported
        other = [m for m in other if m.kind != "missing_joint"]
    return [*of_network, *of_robot, *other], None if of_network else ImportedPolicy(graph, meant)


def _reference(task: str, robot: Robot, history: int) -> Interface:
    """Return the wiring of a policy that footfall trains on a task for a robot, with a history of that length."""
    task = task.partition(" ")[0]
    if task not in TASKS:
        raise unknown("task", task, TASKS)
    return replace(TASKS[task].of(robot).drive, history=history).interface(robot)


def _history(text: Mapping[str, str]) -> int:
    """Return the history of the drive with which one of footfall's policies was trained; 1 for any other."""
    try:
        return int(json.loads(text["drive"])["history"])
    except SPOILED:
        return 1


def _plain(words: dict[str, Given], mapping: dict[str, Given]) -> dict[str, Given]:
    return {key: value for key, value in rename_joints(words, mapping).items() if key != ALIASES}


def _named(words: dict[str, Given], robot: Robot, mapping: dict[str, Given]) -> list[Mismatch]:
    """Return the missing joints of the robot, for lists that do not fit together."""
    names = rename_joints(words, mapping).get("joint_names", list(robot.joint_names))
    wrong = [name for name in names if name not in robot.joint_names]
    idle = [name for name in robot.joint_names if name not in names]
    found = [Mismatch("missing_joint", f"robot '{robot.name}' has no {', '.join(wrong)}")] if wrong else []
    return found + ([Mismatch("missing_joint", f"nothing controls {', '.join(idle)}")] if idle else [])


def try_out(policy: Policy | ImportedPolicy, robot: Robot, engine: str, seconds: float, forward: float) -> Trial:
    """Walk straight ahead on level ground."""
    command = Command(forward=forward)
    policy = policy.over(Plane()) if policy.sees_ground else policy
    if engine == "mujoco":
        simulation = Simulation(robot, policy, command=command, compile_controller=False)
        rec = run_mujoco(simulation, seconds, mujoco_model(simulation, contact={}))
        fell = bool(rec.meta["fell"])
    else:
        simulation = Simulation(robot, policy, command=command)
        rec = simulation.run(seconds)
        fell = simulation.stopped is not None
    after = min(_AFTER, seconds / 2)
    velocity = rec.mean_velocity(after) if rec.time[-1] > after + 0.1 else (0.0, 0.0, 0.0)
    return Trial(engine, seconds, forward, fell, velocity)
