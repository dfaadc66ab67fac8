"""Compiled steps, every one kept: states, forces on the spheres, torques; friction, dt and gravity are inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import footfall as ff
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.joint.joint_pd import JointPD
from footfall.robot import Robot, library
from footfall.sim.equations_of_motion import State
from footfall.sim.step import step
from footfall.sim.world import World
from footfall.spatial.quaternion import to_rotation

COLUMNS = ("q", "v", "forces", "motor", "passive")


@dataclass(frozen=True)
class Given:
    """What is held for all steps of a call."""

    command: JointCommand
    push: np.ndarray  # (n, f) on the base at its origin, world axes
    dt: float
    friction: float
    gravity: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Rows of a call, one a step: the state at its end and what acted in it."""

    dt: float
    friction: float
    q: np.ndarray
    v: np.ndarray
    forces: np.ndarray  # on the spheres, world axes [N]
    motor: np.ndarray
    passive: np.ndarray
    last: State

    def velocity(self, row: int = -1) -> np.ndarray:
        """Of the base's origin at the end of a step, world axes [m/s]."""
        return to_rotation(self.q[row][3:7]) @ self.v[row][3:6]

    @property
    def impulse(self) -> np.ndarray:
        """Of all spheres together over all steps [N s]."""
        return self.dt * self.forces.sum(axis=(0, 1))


def recorded_steps(world: World) -> Callable[..., Steps]:
    """``run(state, count, dt=..., friction=..., push=..., gravity=..., command=...)``."""

    def once(state: State, given: Given) -> tuple[State, Any]:
        g = given.gravity
        there = dataclasses.replace(world, gravity=(g[0], g[1], g[2]))
        there = there.with_parameters({"ground.friction": given.friction})
        after, acted, _ = step(there, state, given.command, given.push, given.dt)
        return after, (acted.forces, acted.motor, acted.passive)

    compiled: list[Any] = []

    def run(
        state: State,
        count: int,
        *,
        dt: float,
        friction: float = 0.8,
        push: Any = (0.0,) * 6,
        gravity: Any = None,
        command: JointCommand | None = None,
    ) -> Steps:
        asked = (command or JointCommand()).broadcast(world.robot.nj)
        pull = np.array(world.gravity if gravity is None else gravity, dtype=float)
        given = Given(asked, np.array(push, dtype=float), dt, friction, pull)
        state = State(state.q, state.v, state.memory or world.contact.start(world.spheres))
        if not compiled:
            compiled.append(ff.compile(once, None, state, given, verify=False))
        last, (states, (forces, motor, passive)) = compiled[0].roll(count, state, given)
        return Steps(
            dt=dt, friction=friction, q=states.q, v=states.v, forces=forces, motor=motor, passive=passive, last=last
        )

    return run


def trotted(robot: Robot, run: Callable[..., Steps], seconds: float, *, dt: float, friction: float = 0.8) -> Steps:
    """A trot from the stand under joint PD at 1 kHz, or once a step where that is longer."""
    controller = trot_of(robot)
    q, v = robot.state("stand")
    count, period = max(1, round(1e-3 / dt)), max(1e-3, dt)
    state, memory, parts = State(q, v), controller.start(robot), []
    for k in range(round(seconds / period)):
        sensed = Sensed(q=state.q, v=state.v, forces=np.zeros((robot.nf, 3)))
        # a trot under way: the gait's slow start is left out
        command, memory = controller(10.0 + k * period, robot, sensed, Command(), memory)
        parts.append(run(state, count, dt=dt, friction=friction, command=command))
        state = parts[-1].last
    columns = {key: np.concatenate([getattr(part, key) for part in parts]) for key in COLUMNS}
    return Steps(dt=dt, friction=friction, **columns, last=state)


def trot_of(robot: Robot) -> JointPD:
    """A library robot's own trot; a plain one, scaled to its height and weight, of any other."""
    if robot.name in library.names():
        return JointPD.tuned(robot, open_loop=True)
    height = robot.poses["stand"].height
    gait = ff.gait.trot(stride=0.3 * height, hip_height=0.9 * height, height=0.15 * height, period=0.5, duty=0.55)
    return JointPD(gait=gait, kp=0.5 * robot.mass * 9.81, kd=0.012 * robot.mass * 9.81)
