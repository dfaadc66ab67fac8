"""A jump on the spot on the default ground, and one onto a box: planned with scheduled contacts, then found through the
compiled step with exact derivatives.

The robot stands, jumps so that its trunk rises by ``height``, lands and stands again, all within its motors' limits.
From a stand a search through the step gets stuck on the default ground, whose forces change within a tenth of a
millimetre. So the first guess is a plan with scheduled contacts (``jump_plan``), followed by its gains; the search from
there is free to change when feet leave and touch the ground, and what it finds is a motion of the default simulation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jump_plan import DURATION, KNOT, RISE, TAKE_OFF, JumpPlan, plan_jump
from numpy import ndarray

from footfall.contact.boxes import Box, Boxes
from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.control.joint.joint_pd import Hold
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.optimal.between_solves import lowest_points
from footfall.control.optimal.follow import Follow
from footfall.control.optimal.nmpc import Nmpc
from footfall.control.optimal.trajectory import Trajectory, optimise
from footfall.control.stand_gains import stand_gains
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.sim.step_problem import Reference, StepProblem
from footfall.sim.world import World
from footfall.spatial.gravity import STANDARD

DT, STEPS = 1e-3, 5  # physics step [s], steps that a torque is held for
_REFERENCE_MASS = 8.912  # [kg], of the robot that the weights were chosen on; others scale by their mass
_WEIGHT = 100.0  # of the trunk's height in flight
_ITERATIONS, _TOLERANCE = 200, 1e-3
_DAMPING = 0.1  # of joints [N m s/rad]


@dataclass(frozen=True)
class Search:
    """One search on the way: what it was on, its costs, and how it ended."""

    on: str
    costs: tuple[float, ...]
    ended: str


@dataclass(frozen=True, kw_only=True)
class Jump:
    """A jump that was found, and what it took."""

    robot: Robot
    problem: StepProblem
    stand: ndarray  # q at rest
    trajectory: Trajectory
    searches: tuple[Search, ...]
    seconds: float  # processor time of both searches, nothing compiled meanwhile

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
            self.robot,
            follow,
            contact=contact or Compliant(),
            dt=DT,
            pushes=push,
            start=(self.stand, np.zeros(self.robot.nv)),
            stop_on_fall=False,
        )
        return sim.run(DURATION)

    def stays(self, rec: Recording, seconds: float = 1.0) -> bool:
        """Whether the robot, once landed, goes on standing by joint PD."""
        if abs(rec.q[-1, 2] - self.stand[2]) > 0.1:
            return False  # it lies
        hold = Hold(self.stand[7:], *stand_gains(self.robot), torque=self.problem.reference.torque[0])
        sim = Simulation(self.robot, hold, dt=DT, start=(rec.q[-1], rec.v[-1]))
        sim.run(seconds)
        return sim.stopped is None and bool(abs(sim.q[2] - self.stand[2]) < 0.02)


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
    robot = library.load(name)
    stand, torque = _settled(robot, Compliant())
    plan = plan_jump(robot, stand, torque, height)
    reference = _reference(robot, stand, torque, height)
    problem = StepProblem(
        World(robot=robot), reference, DT, STEPS, _DAMPING * robot.mass / _REFERENCE_MASS, exact=False
    )
    guess, start = plan.finer(round(KNOT / (DT * STEPS))), np.concatenate([stand, np.zeros(robot.nv)])
    x, u, _ = problem.roll(start, guess.x, guess.u, 0.0 * guess.u, guess.gains, 0.0)
    problem.quadratic(x, u)  # now all is compiled
    began = time.process_time()
    found = optimise(problem, start, guess, _ITERATIONS, _TOLERANCE, report=tell)
    seconds = plan.seconds + time.process_time() - began
    before = plan.trajectory
    searches = (
        Search("scheduled contacts", tuple(before.costs), before.ended),
        Search("the default ground", tuple(found.costs), found.ended),
    )
    return Jump(robot=robot, problem=problem, stand=stand, trajectory=found, searches=searches, seconds=seconds)


@dataclass(frozen=True)
class BoxJump:
    """A jump onto a box, planned, and what the default simulation makes of it under ``nmpc`` or the plan's gains."""

    plan: JumpPlan
    stand: ndarray
    recording: Recording

    @property
    def rose(self) -> float:
        """How much higher the trunk is at the end [m]."""
        return float(self.recording.q[-1, 2] - self.stand[2])


def jump_onto_box(
    name: str = "mini_cheetah", box: float = 0.2, ahead: float = 0.7, solving: bool = True, push: tuple = ()
) -> BoxJump:
    """Onto a box of a height [m] whose near side lies between where fore feet start and hind feet land.

    solving: the plan is a goal of ``nmpc``, which solves anew at 200 Hz; else its own gains follow it.
    """
    robot = library.load(name)
    stand, torque = _settled(robot, Compliant())
    plan = plan_jump(robot, stand, torque, box + 0.18, box, ahead)
    places = lowest_points(robot, stand)[:, 0]
    near = 0.35 * places.max() + 0.65 * (places.min() + ahead)
    ground = Boxes(Plane(), [Box((near + 0.5, 0.0, 0.5 * box), (1.0, 2.0, box))])
    finer, limits = plan.finer(round(KNOT / (DT * STEPS))), torque_bounds(robot)
    controller: Nmpc | Follow = Nmpc(plan=plan.tracked(), friction=0.6)
    if not solving:
        controller = Follow.of(finer, limits, _DAMPING * robot.mass / _REFERENCE_MASS, 1.0 / (DT * STEPS))
    start = stand, np.zeros(robot.nv)
    sim = Simulation(robot, controller, ground=ground, dt=DT, start=start, pushes=push, stop_on_fall=False)
    return BoxJump(plan, stand, sim.run(DURATION + 0.3))


def _settled(robot: Robot, contact: Compliant) -> tuple[ndarray, ndarray]:
    """(q, torques) of the robot at rest."""
    hold = Hold("stand", *stand_gains(robot))
    sim = Simulation(robot, hold, contact=contact, dt=DT, start=standing_start(robot, hold))
    sim.run(2.0)
    return sim.q, sim.state.motor


def _reference(robot: Robot, stand: ndarray, torque: ndarray, height: float) -> Reference:
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
    W[before, rise], W[flying, rise], W[flying, nv + rise] = 2.0, _WEIGHT, 0.5
    W[after, rise], W[after, joints], W[after, nv + 3 : nv + 6], W[after, nv + 6 :] = 5.0, 0.5, 0.1, 5e-3
    W[-1, :6], W[-1, joints], W[-1, nv : nv + 6], W[-1, nv + 6 :] = 200.0, 20.0, 10.0, 0.2
    effort = np.full(robot.nj, 1e-4 / (robot.mass / _REFERENCE_MASS) ** 2)
    return Reference(q, v, W, np.tile(torque, (knots, 1)), effort)
