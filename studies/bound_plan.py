"""A bound as a periodic motion of the whole robot, found by optimal control with scheduled contacts.

Both hind legs stand, then both fore legs, with flights between (``gait.bound``). The horizon holds three cycles; from a
stand its optimum is a start, not a gait. So the state after the first cycle becomes the next start, moved back to the
origin, until a cycle ends as it began: what comes out repeats itself. ``tracked`` makes a plan of it that ``nmpc`` goes
along in the default simulation.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, fields, replace

import numpy as np
from jump import _settled
from jump_plan import KNOT
from numpy import ndarray

from footfall import compiling
from footfall.contact.compliant import Compliant
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.optimal.between_solves import lowest_points
from footfall.control.optimal.horizon import HorizonProblem
from footfall.control.optimal.knot import Goal, KnotModel
from footfall.control.optimal.nmpc import Nmpc
from footfall.control.optimal.trajectory import Trajectory, optimise
from footfall.dynamics.coordinates import difference
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation

CYCLE, CYCLES = 20, 3  # knots of a cycle; cycles of a horizon
STANDS = 7  # knots that each pair of legs stands; hind legs begin
CLEARANCE = 0.06  # of feet that swing [m]
_SEARCHES, _CLOSED = 12, 0.02  # at most; a cycle is closed to this [rad, m, rad/s, m/s]
_ITERATIONS, _TOLERANCE = 150, 1e-4


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A gait that was found: one cycle that begins as it ends, and what it took."""

    robot: Robot
    trajectory: Trajectory  # all of the last horizon
    goals: Goal
    speed: float  # that was asked for [m/s]
    gaps: list[float]  # by how much cycles of the searches were open, each
    seconds: float  # of processor time

    @property
    def mean_speed(self) -> float:
        """Over the first cycle [m/s]."""
        return float((self.trajectory.x[CYCLE, 0] - self.trajectory.x[0, 0]) / (CYCLE * KNOT))

    def flights(self) -> float:
        """Part of a cycle in which no foot stands."""
        return float((self.goals.down[:CYCLE].sum(axis=1) < 0.5).mean())


def find_bound(name: str = "mini_cheetah", speed: float = 0.8) -> Bound:
    """A bound of a library robot at about a speed [m/s]."""
    robot = library.load(name)
    stand, torque = _settled(robot, Compliant())
    joints = [body.joint for body in robot.tree.bodies[1:] if body.joint is not None]
    low, high = (np.array([getattr(joint, key) for joint in joints]) for key in ("lower", "upper"))
    low, high = np.maximum(low, stand[7:] - 3.0), np.minimum(high, stand[7:] + 3.0)
    model = KnotModel(robot=robot, limits=0.95 * torque_bounds(robot), low=low, high=high, friction=0.6, price=0.02)
    goals = _goals(robot, stand, torque, speed)
    problem = HorizonProblem(model, goals, compiling.compile)
    began, nv, j = time.process_time(), robot.nv, np.arange(robot.nj)
    gains = np.zeros((problem.knots, robot.nj, 2 * nv))
    gains[:, j, 6 + j], gains[:, j, nv + 6 + j] = -10.0, -0.2
    found = Trajectory(np.concatenate([goals.q, goals.v], axis=1), goals.torque[:-1], gains)
    start, gaps = np.concatenate([stand, goals.v[0]]), list[float]()
    for _ in range(_SEARCHES):
        found = optimise(problem, start, found, _ITERATIONS, _TOLERANCE)
        gaps.append(_gap(robot, found.x[0], found.x[CYCLE]))
        if gaps[-1] < _CLOSED:
            break
        start = _back(found.x[CYCLE])
    return Bound(
        robot=robot, trajectory=found, goals=goals, speed=speed, gaps=gaps, seconds=time.process_time() - began
    )


def _back(x: ndarray) -> ndarray:
    """A state, its base moved back to the origin."""
    return np.concatenate([[0.0, 0.0], x[2:]])


def _gap(robot: Robot, begins: ndarray, ends: ndarray) -> float:
    """The largest difference of two states but for where on the ground they are, rates of joints a tenth as much."""
    nq, nv = robot.nq, robot.nv
    off = np.concatenate([difference(robot, _back(begins)[:nq], _back(ends)[:nq]), (ends - begins)[nq:]])
    off[nv + 6 :] *= 0.1
    return float(np.abs(off).max())


def _goals(robot: Robot, stand: ndarray, torque: ndarray, speed: float) -> Goal:
    rows, nv, nj = CYCLE * CYCLES + 1, robot.nv, robot.nj
    t, k = np.arange(rows) * KNOT, np.arange(rows) % CYCLE
    feet, half = lowest_points(robot, stand), CYCLE // 2
    since = np.stack([(k - half) % CYCLE, (k - half) % CYCLE, k, k], axis=1)  # LF, RF, LH, RH, after touchdown
    down = (since < STANDS).astype(float)
    s = np.clip((since - STANDS + 0.5) / (CYCLE - STANDS), 0.0, 1.0)
    travel, cycle = speed * t, CYCLE * KNOT
    landed = travel[:, None] - since * KNOT * speed + 0.5 * STANDS * KNOT * speed  # hips at the middle of the stance
    along = s * s * (3.0 - 2.0 * s)
    q, v = np.tile(stand, (rows, 1)), np.zeros((rows, nv))
    q[:, 0] += travel
    v[:, 3] = speed
    places = np.tile(feet, (rows, 1, 1))
    places[:, :, 0] += landed + np.where(down > 0.5, 0.0, along * cycle * speed)
    places[:, :, 2] += np.where(down > 0.5, 0.0, CLEARANCE * np.sin(np.pi * s) ** 2)
    floor = np.tile(feet[:, 2], (rows, 1))
    least = np.where(down > 0.5, -1.0, places[:, :, 2] - 0.6 * CLEARANCE * np.sin(np.pi * s) ** 2 - 0.005)
    W = np.zeros((rows, 2 * nv))
    W[:, 0], W[:, 1], W[:, 2], W[:, 3:5], W[:, 5] = 20.0, 1.0, 20.0, 2.0, 30.0
    W[:, 6:nv], W[:, nv : nv + 3], W[:, nv + 3 : nv + 6], W[:, nv + 6 :] = 0.2, 0.1, 4.0, 2e-3
    effort = np.full((rows, nj), 1e-3)
    effort[-1], down[-1], least[-1] = 0.0, 0.0, -1.0
    pull = np.full((rows, 4), 200.0)
    pull[-1] = 0.0
    return Goal(
        q=q,
        v=v,
        weights=W,
        torque=np.tile(torque, (rows, 1)),
        effort=effort,
        feet=places,
        pull=pull,
        down=down,
        floor=floor,
        least=least,
        interval=np.full(rows, KNOT),
    )


def tracked(bound: Bound, cycles: int) -> Goal:
    """Goals for ``nmpc``: the first cycle, so many times, each further on."""
    found, robot, nv = bound.trajectory, bound.robot, bound.robot.nv
    rows = np.concatenate([np.tile(np.arange(CYCLE), cycles), [0, 0]])
    further = np.repeat(np.arange(cycles + 1), [CYCLE] * cycles + [2]) * bound.mean_speed * CYCLE * KNOT
    plan = replace(bound.goals, **{f.name: np.array(getattr(bound.goals, f.name)[rows]) for f in fields(Goal)})
    q, v = found.x[rows, : robot.nq].copy(), found.x[rows, robot.nq :]
    q[:, 0] += further
    feet = plan.feet.copy()
    feet[:, :, 0] += further[:, None]
    W = np.array(plan.weights)
    W[:, :6], W[:, 6:nv], W[:, nv : nv + 6], W[:, nv + 6 :] = 100.0, 2.0, 2.0, 1e-2
    return replace(plan, q=q, v=v, weights=W, torque=found.u[rows], feet=feet)


def bounds(bound: Bound, cycles: int = 6) -> Recording:
    """What ``nmpc`` makes of it in the default simulation, from the state in which a cycle begins."""
    x, nq = bound.trajectory.x[0], bound.robot.nq
    sim = Simulation(bound.robot, Nmpc(plan=tracked(bound, cycles)), start=(x[:nq], x[nq:]), stop_on_fall=True)
    return sim.run(cycles * CYCLE * KNOT)


def main() -> None:
    """One bound as JSON; its speed [m/s] as an argument."""
    found = find_bound(speed=float(sys.argv[1]) if len(sys.argv) > 1 else 0.8)
    said = {
        "gaps": found.gaps,
        "mean speed": found.mean_speed,
        "flights": found.flights(),
        "ended": found.trajectory.ended,
        "processor seconds": found.seconds,
        "pitch": float(np.ptp(2.0 * found.trajectory.x[:CYCLE, 5])),
        "height": [float(f(found.trajectory.x[:CYCLE, 2])) for f in (np.min, np.max)],
    }
    rec = bounds(found)
    off = rec.force[:, :, 2] < 1e-9
    said["tracked"] = {
        "seconds": float(rec.time[-1]),
        "mean speed": float(rec.q[-1, 0] / rec.time[-1]),
        "flights": float(off.all(axis=1).mean()),
        "lowest": float(rec.q[:, 2].min()),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
