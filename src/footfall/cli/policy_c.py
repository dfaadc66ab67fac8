"""A policy as dependency-free C99: one tick, from what is sensed to joint targets and gains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray
from numpy.typing import DTypeLike

from nptrace._types import Operand

if TYPE_CHECKING:
    from footfall.robot.model.description import Robot

NAME = "policy_tick"
_SAMPLES = 4


def write_policy_c(robot: Robot, file: str, folder: Path, dtype: DTypeLike = np.float64) -> list[Path]:
    """``policy_tick(t, q, v, command, memory)``: position, kp and kd of every joint, and the memory of the next tick.

    ``memory`` is zeros before the first tick; ``command`` is forward, sideways [m/s] and turn [rad/s]. A policy with
    terrain observations also takes ``heights`` [m], relative to the ground level that its base height implies.
    """
    from footfall.compiling import compile
    from footfall.contact.ground import Plane
    from footfall.control.interface import Command, Sensed
    from footfall.control.learned.policy import Policy
    from footfall.dynamics.random_states import random_states
    from footfall.export.c_structs import calling, structures, words_of
    from footfall.export.subjects import SINGLE
    from nptrace.codegen.c_source import write_c
    from nptrace.frontend import tree

    policy = Policy.load(file)
    policy.over(Plane()).start(robot)  # raises for a robot that it cannot control
    scan = policy.drive.scan if isinstance(policy, Policy) else policy.interface.scan
    leaves, rebuild = tree.flatten(policy.first_memory(robot))
    shapes = [np.shape(x) for x in leaves]
    edges = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])

    def policy_tick(
        robot: Robot, t: ndarray, q: ndarray, v: ndarray, command: ndarray, memory: ndarray, heights: Operand = ()
    ) -> ndarray:
        parts = [memory[a:b].reshape(shape) for a, b, shape in zip(edges, edges[1:], shapes)]
        sensed, wanted = (
            Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3))),
            Command(forward=command[0], sideways=command[1], turn=command[2]),
        )
        joint_command, after = policy.tick(t[0], robot, sensed, wanted, rebuild(parts), heights)
        joint_command = joint_command.broadcast(robot.nj)
        kept = [np.reshape(x, (-1,)) for x in tree.flatten(after)[0]]
        return np.concatenate([joint_command.position, joint_command.kp, joint_command.kd, *kept])

    states, rng, size = random_states(robot, _SAMPLES), np.random.default_rng(0), int(edges[-1])
    sizes = {
        "t": 1,
        "q": robot.nq,
        "v": robot.nv,
        "command": 3,
        "memory": size,
        **({"heights": len(scan)} if scan else {}),
    }
    rows = [
        [
            rng.uniform(0.0, 5.0, 1),
            states.q[k],
            states.v[k],
            rng.uniform(-0.5, 0.5, 3),
            rng.uniform(-0.5, 0.5, size),
            *([rng.uniform(-0.1, 0.1, len(scan))] if scan else []),
        ]
        for k in range(_SAMPLES)
    ]
    traced = compile(policy_tick, robot, *rows[0], target="interpret", cache=False, verify=False)
    outputs = [("position", (robot.nj,)), ("kp", (robot.nj,)), ("kd", (robot.nj,)), ("memory_after", (size,))]
    rate = getattr(policy, "rate", None)
    about = calling(robot, rate, {"memory.numbers": np.zeros(size)}, f"Policy {Path(file).name}.")
    labels = list(sizes), [key for key, _ in outputs]
    return write_c(
        traced.program,
        folder,
        NAME,
        arguments=[(key, (count,)) for key, count in sizes.items()],
        outputs=outputs,
        dtype=dtype,
        words=words_of([*labels[0], *labels[1]], about),
        notes=about.notes,
        more=lambda function: structures(function, *labels, about),
        samples=np.array([np.concatenate(row) for row in rows]),
        expected=np.array([policy_tick(robot, *row) for row in rows]),
        tolerance=1e-9 if np.dtype(dtype) == np.float64 else SINGLE,
    )
