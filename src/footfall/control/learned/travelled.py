"""A policy trained elsewhere, with a description of its wiring: any network, joint order, sign, unit and
observation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.control.interface import Command, Controller, ControllerInfo, JointCommand, Sensed
from footfall.control.learned.interface import UNITS, Interface
from footfall.control.learned.network import Graph
from footfall.control.learned.past import append_history
from footfall.control.learned.scan import NO_GROUND_MESSAGE, heights_seen
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float


@dataclass(frozen=True, eq=False)
class ImportedPolicy(Controller):
    """A network behind an ``Interface``; plain NumPy, traced and compiled with the physics like any other
    controller.
    """

    network: Graph
    interface: Interface
    ground: Ground | None = None  # terrain around the robot, if it observes it

    info = ControllerInfo(follows_command=True)

    def __post_init__(self) -> None:
        size, graph = self.interface.size, self.network
        if graph.inputs != size:
            raise InputError(
                f"the network sees {graph.inputs} numbers, but its observation has {size}:"
                f" {_list_terms(self.interface)}"
            )
        if graph.outputs != len(self.interface.joints):
            raise InputError(
                f"the network gives {graph.outputs} actions for {len(self.interface.joints)} joints:"
                f" {', '.join(self.interface.joints)}"
            )

        with np.errstate(all="ignore"):
            finite = np.isfinite(graph(np.zeros(size))).all()
        if not finite:
            raise InputError("the network gives actions that are not finite for a robot at rest")

    @property
    def rate(self) -> float:
        return self.interface.rate

    @property
    def robot(self) -> str:
        """Return the name of the robot that it was trained on."""
        return self.interface.robot

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Return the initial joint positions [rad]."""
        return self._to_robot(robot, self.interface.default)

    def start(self, robot: Robot) -> dict[str, ndarray]:
        """Return the initial memory: the last action, and the previous observations."""
        check_joints(self.interface, robot)
        if self.sees_ground and self.ground is None:
            raise InputError(NO_GROUND_MESSAGE)
        return self.first_memory(robot)

    def first_memory(self, robot: Robot) -> dict[str, ndarray]:
        """Return the memory before the first tick without checking the robot or the ground."""
        size = sum(self.interface.sizes)
        return {
            "action": np.zeros(len(self.interface.joints)),
            "past": np.zeros((self.interface.history, size)),
            "seen": np.zeros(1),
        }

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        heights = heights_seen(robot, self.ground, sensed.q, self.interface.scan) if self.sees_ground else ()
        return self.tick(t, robot, sensed, command, memory, heights)

    def tick(
        self,
        t: float,
        robot: Robot,
        sensed: Sensed,
        command: Command,
        memory: dict[str, ndarray],
        heights: Float[ndarray, "k"] | tuple[()] = (),
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        """Run a tick with measured ground heights, for a policy that observes them."""
        it = self.interface
        now = self.observation(t, robot, sensed, command, memory["action"], heights)
        past = append_history(memory["past"], memory["seen"][0] > 0.5, now)
        action = self.action(_stack_history(it, past))
        target = it.default + it.action_scale * action
        command_out = JointCommand(
            position=self._to_robot(robot, target),
            kp=_in_robot_order(it, robot, it.kp),
            kd=_in_robot_order(it, robot, it.kd),
        )
        return command_out, {"action": action, "past": past, "seen": np.ones(1)}

    @property
    def sees_ground(self) -> bool:
        return bool(self.interface.scan)

    def over(self, ground: Ground) -> ImportedPolicy:
        """Return this policy with a known ground."""
        return replace(self, ground=ground)

    def action(self, observation: PyTree) -> PyTree:
        """The action for an observation, or for rows of them."""
        given, limit = self.network(observation), self.interface.action_clip
        return given if limit is None else np.clip(given, -limit, limit)

    def observation(
        self,
        t: float,
        robot: Robot,
        sensed: Sensed,
        command: Command,
        action: Float[ndarray, "n"],
        heights: Float[ndarray, "k"] | tuple[()] = (),
    ) -> Float[ndarray, "size"]:
        """Return the observation at one time, in the policy's own order, signs and units."""
        it, R = self.interface, to_rotation(sensed.q[3:7])
        to_frame = R if it.frame == "world" else np.eye(3)
        unit, columns = UNITS[it.unit], [robot.joint_names.index(name) for name in it.joints]
        q, v = sensed.q[robot.nq - robot.nj :], sensed.v[robot.nv - robot.nj :]
        cycles = t / (it.clock_period or 1.0)
        angle = 2.0 * np.pi * (cycles - np.floor(cycles))
        parts: dict[str, Callable[[], PyTree]] = {
            "angular_velocity": lambda: to_frame @ sensed.gyro,
            "linear_velocity": lambda: to_frame @ sensed.v[3:6],
            "down": lambda: -R[2],
            "command": lambda: np.stack([command.forward, command.sideways, command.turn]),
            "joints": lambda: unit * it.signs * q[columns] - it.default,
            "rates": lambda: unit * it.signs * v[columns],
            "action": lambda: action,
            "clock": lambda: np.stack([np.sin(angle), np.cos(angle)]),
            "heights": lambda: np.asarray(heights),
        }
        return np.concatenate(
            [
                scale * (parts[term]() if np.isinf(clip) else np.clip(parts[term](), -clip, clip))
                for term, scale, clip in zip(it.terms, it.scales, it.clips)
            ]
        )

    def _to_robot(self, robot: Robot, angles: Scalar) -> Operand:
        """Return the policy's angles as the robot's [rad]."""
        it = self.interface
        return _in_robot_order(it, robot, it.signs * angles / UNITS[it.unit])


def check_joints(interface: Interface, robot: Robot) -> None:
    """Raise for a robot with different joints."""
    lacking = [name for name in interface.joints if name not in robot.joint_names]
    idle = [name for name in robot.joint_names if name not in interface.joints]
    if lacking or idle or len(set(interface.joints)) != len(interface.joints):
        what = f"it has no {', '.join(lacking)}" if lacking else f"nothing controls {', '.join(idle)}"
        what = what if lacking or idle else "a joint is named twice"
        raise InputError(f"this policy of '{interface.robot}' does not drive robot '{robot.name}': {what}")


def _in_robot_order(interface: Interface, robot: Robot, values: Operand) -> Operand:
    """Return numbers of the policy's joints in the robot's order."""
    return values[[interface.joints.index(name) for name in robot.joint_names]]


def _stack_history(interface: Interface, past: Operand) -> Operand:
    """Return the last observations as the network expects them."""
    if interface.history == 1:
        return past[0]
    if interface.stacking == "frame":
        return past.reshape(-1)
    edges = np.cumsum([0, *interface.sizes])
    return np.concatenate([past[:, a:b].reshape(-1) for a, b in pairwise(edges)])


def _list_terms(interface: Interface) -> str:
    each = ", ".join(f"{term} {size}" for term, size in zip(interface.terms, interface.sizes))
    return each if interface.history == 1 else f"{each}, {interface.history} times"
