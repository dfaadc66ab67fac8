"""Compiled steps, every one kept: states, forces on the spheres, torques; friction, dt and gravity are inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.simulate.step import State, step
from footfall.simulate.world import World
from footfall.spatial.quaternion import to_rotation


@dataclass(frozen=True)
class Given:
    """What is held for all steps of a call."""

    command: JointCommand
    push: np.ndarray  # (n, f) on the base at its origin, world axes
    dt: float
    friction: float
    gravity: np.ndarray


@dataclass(frozen=True)
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

    @property
    def velocity(self) -> np.ndarray:
        """Of the base's origin, world axes [m/s]."""
        return np.array([to_rotation(q[3:7]) @ v[3:6] for q, v in zip(self.q, self.v)])

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
        state: State, count: int, *, dt: float, friction: float = 0.8, push: Any = (0.0,) * 6, gravity: Any = None,
        command: JointCommand | None = None,
    ) -> Steps:  # fmt: skip
        asked = (command or JointCommand()).spread(world.robot.nj)
        pull = np.array(world.gravity if gravity is None else gravity, dtype=float)
        given = Given(asked, np.array(push, dtype=float), dt, friction, pull)
        state = State(state.q, state.v, state.memory or world.contact.start(world.spheres))
        if not compiled:
            compiled.append(ff.compile(once, None, state, given, verify=False))
        last, (states, (forces, motor, passive)) = compiled[0].roll(count, state, given)
        return Steps(dt, friction, states.q, states.v, forces, motor, passive, last)

    return run
