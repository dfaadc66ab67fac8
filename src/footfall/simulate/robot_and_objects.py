"""A robot and the free bodies beside it as one state: q and v of the robot, then those of every body as of a base.

    q, v = ff.simulate.whole_state(sim)                     # as it is now; for ``ff.linearize(sim, q, v)``

Without free bodies these are the robot's own.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.coordinates import difference, integrate
from footfall.nests import Nest, Scalar
from footfall.simulate.simulation import Simulation
from footfall.simulate.world import World

_NQ, _NV = 7, 6  # of a free body


def whole_state(simulation: Simulation) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """(q, v) of a simulation as it is: the robot's, then position, quaternion and (ω, v) of every free body."""
    rows = list(simulation.state.objects)
    q = [simulation.q, *(row[:_NQ] for row in rows)]
    return np.concatenate(q), np.concatenate([simulation.v, *(row[_NQ:] for row in rows)])


def sizes(world: World) -> tuple[int, int]:
    """(nq, nv) of all together."""
    count = len(world.objects)
    return world.robot.nq + _NQ * count, world.robot.nv + _NV * count


def parted(world: World, q: ndarray, v: ndarray) -> tuple[ndarray, ndarray, Scalar]:
    """(q and v of the robot, a row of every free body)."""
    robot, count = world.robot, len(world.objects)
    if not count:
        return q, v, ()
    poses, twists = q[robot.nq :].reshape(count, _NQ), v[robot.nv :].reshape(count, _NV)
    return q[: robot.nq], v[: robot.nv], np.concatenate([poses, twists], axis=1)


def joined(q: ndarray, v: ndarray, objects: Nest) -> tuple[ndarray, ndarray]:
    """The other way."""
    if not len(objects):
        return q, v
    return np.concatenate([q, objects[:, :_NQ].reshape(-1)]), np.concatenate([v, objects[:, _NQ:].reshape(-1)])


def displaced(world: World, q: ndarray, change: ndarray) -> ndarray:
    """q moved by a deviation: ``integrate`` of the robot and of every free body."""
    robot = world.robot
    moved = [integrate(robot, q[: robot.nq], change[: robot.nv], 1.0)]
    for k, body in enumerate(world.objects):
        at, by = robot.nq + _NQ * k, robot.nv + _NV * k
        moved.append(integrate(body.robot, q[at : at + _NQ], change[by : by + _NV], 1.0))
    return np.concatenate(moved) if len(moved) > 1 else moved[0]


def deviation(world: World, q_from: ndarray, q_to: ndarray) -> ndarray:
    """What takes q_from to q_to by ``displaced``."""
    robot = world.robot
    found = [difference(robot, q_from[: robot.nq], q_to[: robot.nq])]
    for k, body in enumerate(world.objects):
        at = robot.nq + _NQ * k
        found.append(difference(body.robot, q_from[at : at + _NQ], q_to[at : at + _NQ]))
    return np.concatenate(found) if len(found) > 1 else found[0]


__all__ = ["deviation", "displaced", "joined", "parted", "sizes", "whole_state"]
