"""A jump on the spot, found by trajectory optimisation through the compiled step with exact derivatives.

The robot stands, jumps so that its trunk rises by ``height``, lands and stands again, all within its motors' limits. No
contact sequence is given: when feet leave and touch the ground is found with the rest. From a stand the search gets
stuck on the default ground, whose forces change within a tenth of a millimetre. So it begins on soft feet (rubber,
stick speed 2 cm/s) and makes them harder while the jump that it has still leads to one on feet a little harder; the
last search is on the default ground, and what it finds is a motion of the default simulation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.contact.compliant import Compliant
from footfall.control.joint.joint_pd import Hold
from footfall.control.optimal.follow import Follow
from footfall.control.optimal.trajectory import Trajectory, optimise
from footfall.control.stand_gains import stand_gains
from footfall.errors import FootfallError
from footfall.gravity import STANDARD
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.simulate.simulation import Simulation
from footfall.simulate.standing import standing_start
from footfall.simulate.step_problem import Reference, StepProblem
from footfall.simulate.world import World

DT, STEPS = 1e-3, 5  # physics step [s], steps that a torque is held for
DURATION, TAKE_OFF, RISE = 1.2, 0.40, 0.04  # [s], [s], [m]: where the trunk's ballistic reference begins
_REFERENCE_MASS = 8.912  # [kg], of the robot that the weights were chosen on; others scale by their mass
_WEIGHTS = (20.0, 100.0)  # of the trunk's height in flight, one search after the other
_ITERATIONS, _TOLERANCE = 200, 1e-3  # of one search
_FEET = ("stiffness", "damping", "ramp", "stick_speed", "slip_speed")  # what of them becomes harder
_DAMPING, _LAST_DAMPING = 0.2, 0.3  # of joints [N m s/rad], and in the last search: knees must not kick as they land
_FIRST, _LEAST, _WORSE = 0.1, 0.01, 1.5  # steps of the feet's hardness; costs that a harder foot may have, as a factor


@dataclass(frozen=True)
class Search:
    """One search on the way: the feet's hardness (0 soft, 1 the default), its costs, and how it ended."""

    hardness: float
    costs: tuple[float, ...]
    ended: str


@dataclass(frozen=True)
class Jump:
    """A jump that was found, and what it took."""

    robot: Robot
    problem: StepProblem
    stand: ndarray  # q at rest
    trajectory: Trajectory
    searches: tuple[Search, ...]
    seconds: float  # processor time of the search

    @property
    def time(self) -> ndarray:
        return np.arange(len(self.trajectory.x)) * DT * STEPS

    @property
    def rise(self) -> ndarray:
        """Height of the trunk over its stand [m]."""
        return self.trajectory.x[:, 2] - self.stand[2]

    def replay(self, feedback: bool = True, push: tuple = (), contact: object = None) -> Recording:
        """The jump in ``Simulation`` on its default ground, its torques alone or with its gains."""
        follow = Follow.of(self.trajectory, self.problem.high, self.problem.damping, 1.0 / (DT * STEPS), feedback)
        sim = Simulation(
            self.robot, follow, contact or Compliant(), dt=DT, pushes=push,
            start=(self.stand, np.zeros(self.robot.nv)), stop_on_fall=False,
        )  # fmt: skip
        return sim.run(DURATION)

    def stays(self, rec: Recording, seconds: float = 1.0) -> bool:
        """Whether the robot, once landed, goes on standing by joint PD."""
        if abs(rec.q[-1, 2] - self.stand[2]) > 0.1:
            return False  # it lies
        hold = Hold(self.stand[7:], *stand_gains(self.robot), torque=self.problem.reference.torque[0])
        sim = Simulation(self.robot, hold, dt=DT, start=(rec.q[-1], rec.v[-1]))
        sim.run(seconds)
        return sim.stopped is None and bool(abs(sim.q[2] - self.stand[2]) < 0.02)


def feet(robot: Robot, hardness: float) -> Compliant:
    """Contact between ``soft_ground`` (0) and the default (1), every constant on a geometric scale."""
    soft, hard = soft_ground(robot), Compliant()
    return Compliant(**{key: getattr(soft, key) ** (1.0 - hardness) * getattr(hard, key) ** hardness for key in _FEET})


def soft_ground(robot: Robot) -> Compliant:
    """Rubber feet: half a millimetre of dent at rest, damping over 2 mm, friction that builds up over 2 cm/s."""
    scale = robot.mass / _REFERENCE_MASS
    return Compliant(
        stiffness=100.0 * scale * 1e3**2.2, damping=500.0 * scale, ramp=2e-3, stick_speed=2e-2, slip_speed=4e-2
    )


def find_jump(
    name: str = "mini_cheetah", height: float = 0.25, tell: Callable[[int, float], None] | None = None
) -> Jump:
    """A jump of a library robot whose trunk aims at ``height`` [m] over its stand, on the default ground."""
    robot, began = library.load(name), time.process_time()
    searches: list[Search] = []
    problems: list[StepProblem] = []

    def search(
        hardness: float, weight: float, guess: Trajectory | None, damping: float = _DAMPING
    ) -> tuple[Trajectory, StepProblem, ndarray]:
        contact, damping = feet(robot, hardness), damping * robot.mass / _REFERENCE_MASS
        stand, torque = _settled(robot, contact)
        reference = _reference(robot, stand, torque, height, weight)
        world = World(robot, contact=contact)
        if not problems:  # feet of any hardness share what is compiled for the first ones
            problems.append(StepProblem(world, reference, DT, STEPS, damping, free=[f"contact.{key}" for key in _FEET]))
        problem = problems[0].aiming_at(reference, world, damping)
        start = np.concatenate([stand, np.zeros(robot.nv)])
        found = optimise(problem, start, guess or reference.torque, _ITERATIONS, _TOLERANCE, tell=tell)
        searches.append(Search(hardness, tuple(found.costs), found.ended))
        return found, problem, stand

    best = None
    for weight in _WEIGHTS:
        best = search(0.0, weight, best[0] if best else None)
    assert best is not None
    hardness, step = 0.0, _FIRST
    while hardness < 1.0:
        tried = search(min(1.0, hardness + step), weight, best[0])
        if tried[0].cost < _WORSE * best[0].cost and tried[0].ended == "converged":
            hardness, step, best = searches[-1].hardness, 1.5 * step, tried
        elif step < _LEAST:
            raise FootfallError(f"no jump of '{name}' by {height} m was found on feet harder than {hardness:.2f}")
        else:
            step *= 0.5
    trajectory, problem, stand = search(1.0, weight, best[0], _LAST_DAMPING)
    return Jump(robot, problem, stand, trajectory, tuple(searches), time.process_time() - began)


def _settled(robot: Robot, contact: Compliant) -> tuple[ndarray, ndarray]:
    """(q, torques) of the robot at rest."""
    hold = Hold("stand", *stand_gains(robot))
    sim = Simulation(robot, hold, contact, dt=DT, start=standing_start(robot, hold))
    sim.run(2.0)
    return sim.q, sim.state.motor


def _reference(robot: Robot, stand: ndarray, torque: ndarray, height: float, weight: float) -> Reference:
    """Stand, dip, a ballistic flight of the trunk, stand: guidance for the trunk, next to nothing for the legs."""
    g, knots, nv = STANDARD, round(DURATION / (DT * STEPS)), robot.nv
    t = np.arange(knots + 1) * DT * STEPS
    speed = np.sqrt(2.0 * g * (height - RISE))
    landing = TAKE_OFF + 2.0 * speed / g
    before, flying, after = t < TAKE_OFF, (t >= TAKE_OFF) & (t <= landing), t > landing + 0.1
    q, v, W = np.tile(stand, (knots + 1, 1)), np.zeros((knots + 1, nv)), np.zeros((knots + 1, 2 * nv))
    q[before, 2] -= 0.08 * np.sin(np.pi * t[before] / TAKE_OFF) ** 2
    s = t[flying] - TAKE_OFF
    q[flying, 2] += RISE + speed * s - 0.5 * g * s * s
    v[flying, 5] = speed - g * s
    turn, shift, rise, joints = slice(0, 3), slice(3, 5), 5, slice(6, nv)
    W[:, turn], W[:, shift], W[:, joints] = 2.0, 2.0, 0.05
    W[:, nv : nv + 3], W[:, nv + 6 :] = 0.02, 2e-4
    W[before, rise], W[flying, rise], W[flying, nv + rise] = 2.0, weight, 0.5
    W[after, rise], W[after, joints], W[after, nv + 3 : nv + 6], W[after, nv + 6 :] = 5.0, 0.5, 0.1, 5e-3
    W[-1, :6], W[-1, joints], W[-1, nv : nv + 6], W[-1, nv + 6 :] = 200.0, 20.0, 10.0, 0.2
    effort = np.full(robot.nj, 1e-4 / (robot.mass / _REFERENCE_MASS) ** 2)
    return Reference(q, v, W, np.tile(torque, (knots, 1)), effort)
