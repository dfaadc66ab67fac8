"""Simple bodies whose motion is known in closed form, and many compiled steps in one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import footfall as ff
import nptrace
from footfall.control.interface import JointCommand
from footfall.robot import Foot, Joint, Link, Robot
from footfall.robot.model.shapes import box_inertia, rod_inertia
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import integrate_step
from footfall.sim.world import World

IDEAL = JointModel.ideal()
G = 9.81
REACH = 0.5  # half the distance between the feet of a block [m]
FEET = {
    1: ((0.0, 0.0),),
    3: ((REACH, 0.0), (-REACH, REACH), (-REACH, -REACH)),
    4: ((REACH, REACH), (REACH, -REACH), (-REACH, REACH), (-REACH, -REACH)),
}


def block(feet: int = 4, mass: float = 2.0, radius: float = 0.02, height: float = 0.02) -> Robot:
    """A flat box on spherical feet whose contact points lie ``height`` below its centre of mass.

    One foot under the centre of mass carries it like a sledge: its inertia is so large that it does not turn.
    """
    heavy = 1e6 if feet == 1 else 1.0
    link = Link(name="box", mass=mass, inertia=heavy * box_inertia(mass, (2 * REACH, 2 * REACH, 0.02)))
    spheres = [
        Foot(name=f"foot{k}", link="box", position=np.array([x, y, radius - height]), radius=radius)
        for k, (x, y) in enumerate(FEET[feet])
    ]
    return Robot(name=f"block on {feet}", links=[link], feet=spheres)


def ball(mass: float = 1.0, radius: float = 0.1) -> Robot:
    """A solid sphere that touches with its own surface."""
    link = Link(name="ball", mass=mass, inertia=0.4 * mass * radius**2 * np.eye(3))
    return Robot(
        name="ball", links=[link], feet=[Foot(name="surface", link="ball", position=np.zeros(3), radius=radius)]
    )


def top(moments: tuple[float, float, float] = (0.011, 0.036, 0.043)) -> Robot:
    """A free rigid body with three different moments of inertia [kg m²]."""
    return Robot(
        name="top", links=[Link(name="top", mass=3.3, com=np.array([0.02, -0.01, 0.03]), inertia=np.diag(moments))]
    )


def pendulum(links: int = 2, length: float = 0.3, mass: float = 0.5, **joint: Any) -> Robot:
    """Rods on hinges about y, hanging from the world at q = 0."""
    parts, joints = [Link(name="frame", mass=1.0, inertia=np.eye(3))], []
    for k in range(links):
        rod = Link(name=f"rod{k}", mass=mass, com=np.array([0.0, 0.0, -length / 2]), inertia=rod_inertia(mass, length))
        parts.append(rod)
        origin = np.array([0.0, 0.0, -length if k else 0.0])
        above = f"rod{k - 1}" if k else "frame"
        joints.append(
            Joint(
                name=f"hinge{k}",
                kind="revolute",
                parent=above,
                child=rod.name,
                origin=origin,
                axis=np.array([0.0, 1.0, 0.0]),
                **joint,
            )
        )
    return Robot(name="pendulum", links=parts, joints=joints, floating=False)


def hung(robot: Robot) -> Robot:
    """The robot with its trunk held fast in the world."""
    return robot.replace(floating=False, name=f"hung {robot.name}")


def many_steps(world: World, integrator: str = "linearly_implicit") -> Callable[..., State]:
    """``run(state, command, push, dt=..., count=...)``: compiled steps of a held command.

    dt, count and gravity are inputs, so that one compiled function serves many laws.
    """
    joints = world.robot.nj

    def steps(state: State, command: JointCommand, push: np.ndarray, dt: float, count: float, g: np.ndarray) -> State:
        falling = dataclasses.replace(world, gravity=(g[0], g[1], g[2]))

        def once(k: float, state: State) -> State:
            return integrate_step(integrator, falling, state, command, push, dt)[0]

        return counted(once, state, count)

    compiled: list[Any] = []

    def run(
        state: State,
        command: JointCommand | None = None,
        push: np.ndarray | None = None,
        *,
        dt: float,
        count: int,
        gravity: tuple[float, float, float] | None = None,
    ) -> State:
        asked, pushed = (command or JointCommand()).broadcast(joints), np.zeros(6) if push is None else push
        if not compiled:
            compiled.append(ff.compile(steps, None, state, asked, pushed, 1e-3, 1.0, np.ones(3), verify=False))
        return compiled[0](state, asked, pushed, dt, float(count), np.array(gravity or world.gravity))

    return run


def counted(body: Callable[[float, Any], Any], carry: Any, count: float) -> Any:
    """carry = body(k, carry) for k = 0, 1, ..., count - 1, with a count that may be traced."""

    def once(k: float, carry: Any) -> Any:
        return k + 1.0, body(k, carry[1])

    return nptrace.repeat(10_000_000, once, (0.0, carry), until=lambda carry: carry[0] >= count)[1]


def resting_depth(contact: Any, load: float) -> float:
    """How deep a foot sinks under a load [N]."""
    return (load / contact.stiffness) ** (1.0 / contact.exponent)
