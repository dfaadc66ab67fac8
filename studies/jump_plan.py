"""A jump planned by the whole robot's optimal control with scheduled contacts: on the spot, or onto a box.

All feet stand, fly for as long as the trunk's arc takes, and stand again, on the ground or on the box; torque,
friction, joint ranges and the clearance of feet over the box have their price. It is the problem that the controller
``nmpc`` takes one iteration of at every solve, solved to its end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.optimal.between_solves import lowest_points
from footfall.control.optimal.horizon import HorizonProblem
from footfall.control.optimal.knot import Goal, KnotModel
from footfall.control.optimal.trajectory import Trajectory, optimise
from footfall.dynamics.coordinates import difference, integrate
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import STANDARD

KNOT, DURATION, TAKE_OFF, RISE = 0.02, 1.2, 0.40, 0.04  # [s], [s], [s], [m]: the trunk's arc begins so high
_REFERENCE_MASS = 8.912  # [kg], of the robot that the prices were chosen on
_OVER, _BY = 0.03, 0.28  # feet clear the box by so much [m] from this part of the flight on
_ITERATIONS, _TOLERANCE = 150, 1e-3
_PLAIN, _STAGES = 0.25, 9  # [m]: a jump on the spot that is found at once; stages from it to one that goes further


@dataclass(frozen=True)
class JumpPlan:
    """What was found, and the processor time that it took [s]."""

    robot: Robot
    trajectory: Trajectory
    goals: Goal
    seconds: float

    def tracked(self) -> Goal:
        """Goals for ``nmpc``: the states and torques that were found, wherever they are."""
        found, goals, nv = self.trajectory, self.goals, self.robot.nv
        W = np.array(goals.weights)
        W[:, :6], W[:, 6:nv] = 100.0, np.maximum(W[:, 6:nv], 2.0)
        W[:, nv : nv + 6], W[:, nv + 6 :] = 2.0, np.maximum(W[:, nv + 6 :], 1e-2)
        torque = np.concatenate([found.u, np.zeros_like(found.u[:1])])
        states = {"q": found.x[:, : self.robot.nq], "v": found.x[:, self.robot.nq :]}
        return replace(goals, **states, weights=W, torque=torque, effort=2.0 * goals.effort)

    def finer(self, parts: int) -> Trajectory:
        """Every knot in so many parts: states between, torques and gains as they are."""
        robot, found = self.robot, self.trajectory
        x, share = [], np.arange(parts) / parts
        for now, then in zip(found.x[:-1], found.x[1:]):
            move = difference(robot, now[: robot.nq], then[: robot.nq])
            for s in share:
                v = now[robot.nq :] + s * (then - now)[robot.nq :]
                x.append(np.concatenate([integrate(robot, now[: robot.nq], s * move, 1.0), v]))
        return Trajectory(np.stack([*x, found.x[-1]]), np.repeat(found.u, parts, 0), np.repeat(found.gains, parts, 0))


def plan_jump(
    robot: Robot, stand: ndarray, torque: ndarray, height: float = 0.25, box: float = 0.0, ahead: float = 0.0
) -> JumpPlan:
    """From a stand and its torques: the trunk aims at ``height`` over it, lands ``ahead`` [m], ``box`` [m] higher."""
    joints = [body.joint for body in robot.tree.bodies[1:] if body.joint is not None]
    low, high = (np.array([getattr(joint, key) for joint in joints]) for key in ("lower", "upper"))
    low, high = np.maximum(low, stand[7:] - 3.0), np.minimum(high, stand[7:] + 3.0)
    heavier = robot.mass / _REFERENCE_MASS
    model = KnotModel(robot=robot, limits=0.95 * torque_bounds(robot), low=low, high=high, friction=0.6, price=0.02)
    goals = _goals(robot, stand, torque, min(height, _PLAIN), 0.0, 0.0)
    problem = HorizonProblem(model, goals, compiling.compile)
    began, j, nv = time.process_time(), np.arange(robot.nj), robot.nv
    gains = np.zeros((problem.knots, robot.nj, 2 * nv))  # joints that are held softly: a guess that stays in shape
    gains[:, j, 6 + j], gains[:, j, nv + 6 + j] = -10.0 * heavier, -0.2 * heavier
    found = Trajectory(np.concatenate([goals.q, goals.v], axis=1), goals.torque[:-1], gains)
    start = np.concatenate([stand, np.zeros(nv)])
    for share in np.linspace(0.0, 1.0, _STAGES) if box or ahead or height > _PLAIN else (0.0,):
        rise = min(height, _PLAIN) + share * max(height - _PLAIN, 0.0)
        goals = _goals(robot, stand, torque, rise, share * box, share * ahead)
        found = optimise(problem.aiming_at(goals), start, found, _ITERATIONS, _TOLERANCE)
    return JumpPlan(robot, found, goals, time.process_time() - began)


def _goals(robot: Robot, stand: ndarray, torque: ndarray, height: float, box: float, ahead: float) -> Goal:
    g, rows, nv = STANDARD, round(DURATION / KNOT) + 1, robot.nv
    t, feet = np.arange(rows) * KNOT, lowest_points(robot, stand)
    speed = np.sqrt(2.0 * g * (height - RISE))
    lasts = (speed + np.sqrt(speed**2 - 2.0 * g * box)) / g
    before, after = t < TAKE_OFF, t >= TAKE_OFF + lasts
    flying = ~before & ~after
    part = np.clip((t - TAKE_OFF) / lasts, 0.0, 1.0)
    s = part[flying] * lasts
    q, v = np.tile(stand, (rows, 1)), np.zeros((rows, nv))
    q[before, 2] -= 0.08 * np.sin(np.pi * t[before] / TAKE_OFF) ** 2
    q[flying, 2] += RISE + speed * s - 0.5 * g * s * s
    q[after, 2] += box
    q[:, 0] += ahead * part
    v[flying, 3], v[flying, 5] = ahead / lasts, speed - g * s
    over = np.where(part > _BY, box + (_OVER if box else 0.0), 0.0)
    floor = feet[:, 2] + np.where(after, box, 0.0)[:, None]
    places = np.tile(feet, (rows, 1, 1))
    places[:, :, 0] += ahead * part[:, None]
    raised = np.maximum(0.8 * np.maximum(q[:, 2] - stand[2], 0.0), over)
    places[:, :, 2] = np.where(flying[:, None], feet[:, 2] + raised[:, None], floor)
    least = np.where(flying[:, None], feet[:, 2] + over[:, None], -1.0)
    down, pull = np.where(flying, 0.0, 1.0), np.where(flying, 20.0 if box == 0.0 else 100.0, 0.0)
    effort = np.full((rows, robot.nj), 1e-3 / (robot.mass / _REFERENCE_MASS) ** 2)
    effort[-1], down[-1], least[-1] = 0.0, 0.0, -1.0
    each = np.ones(4)
    return Goal(
        q=q,
        v=v,
        weights=_weights(before, flying, after, nv),
        torque=np.where(flying[:, None], 0.0, torque),
        effort=effort,
        feet=places,
        pull=pull[:, None] * each,
        down=down[:, None] * each,
        floor=floor,
        least=least,
        interval=np.full(rows, KNOT),
    )


def _weights(before: ndarray, flying: ndarray, after: ndarray, nv: int) -> ndarray:
    """Guidance for the trunk, little for the legs until they stand again."""
    W, joints, rates = np.zeros((len(before), 2 * nv)), slice(6, nv), slice(nv + 6, None)
    W[:, :5], W[:, joints], W[:, nv : nv + 3], W[:, rates] = 20.0, 0.2, 0.1, 2e-3
    W[before, 5], W[flying, 5], W[flying, nv + 5] = 5.0, 100.0, 1.0
    W[after, 5], W[after, joints], W[after, nv + 3 : nv + 6], W[after, rates] = 50.0, 2.0, 1.0, 2e-2
    W[-1, :6], W[-1, joints], W[-1, nv : nv + 6], W[-1, rates] = 200.0, 20.0, 10.0, 0.2
    return W
