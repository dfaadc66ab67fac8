"""Getting up after a fall: planned with contacts that are found, then followed on the default ground.

The Mini Cheetah stands stiffly, is pushed over, goes limp and lies where it comes to rest. Which feet, knees and
corners of the trunk then carry it, and when, nobody says: a horizon of the simulator's own step on soft feet
(``sim.contact_horizon``) is asked for the stand alone. The plan's torques and gains are followed in the default
simulation, with its hard ground and its joints' friction.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.bodies import body_spheres
from footfall.control.joint.joint_pd import Hold
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.optimal.between_solves import lowest_points
from footfall.control.optimal.follow import Follow
from footfall.control.optimal.knot import Goal, KnotModel
from footfall.control.optimal.trajectory import Trajectory, optimise
from footfall.control.posture import standing_state
from footfall.control.stand_gains import stand_gains
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.contact_horizon import ContactHorizon
from footfall.sim.pushes import Push
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start

KNOT, DURATION = 0.02, 1.2  # [s]
TOUCHING = "trunk,knees"  # besides the feet
_LIMP, _RESTS = 1.0, 2.5  # damping of joints [N m s/rad], and for how long it falls and comes to rest [s]
_PUSHED = 0.1  # [s]
_PRICE = 0.02  # of inequalities
_GUESS = 20.0, 0.5  # stiffness and damping with which joints of the first guess go to the stand [N m/rad, N m s/rad]
_ITERATIONS, _TOLERANCE = 150, 1e-3


@dataclass(frozen=True)
class GetUp:
    """A plan from where the robot lay, and what the default simulation makes of it."""

    robot: Robot
    fallen: ndarray  # q
    plan: Trajectory
    seconds: float  # of processor time that the plan took [s]
    recording: Recording

    def loads(self) -> ndarray:
        """Parts of the recording in which each foot carries something."""
        return (self.recording.force[:, :4, 2] > 1e-9).mean(axis=0)

    def stays(self, seconds: float = 1.0) -> bool:
        """Whether it goes on standing under plain joint control."""
        rec, hold = self.recording, Hold("stand", *stand_gains(self.robot))
        sim = Simulation(self.robot, hold, start=(rec.q[-1], rec.v[-1]))
        sim.run(seconds)
        return sim.stopped is None and bool(sim.q[2] > 0.9 * standing_state(self.robot)[0][2])


def pushed_over(robot: Robot, impulse: float = 15.0, direction: float = 180.0) -> ndarray:
    """Where a robot lies that stood stiffly and was pushed by an impulse [N s] in a direction [deg], 0 forward."""
    hold, turn, force = Hold("stand", *stand_gains(robot)), np.radians(direction), impulse / _PUSHED
    push = Push(start=0.1, duration=_PUSHED, force=(force * np.cos(turn), force * np.sin(turn), 0.0))
    start = standing_start(robot, hold)
    falls = Simulation(robot, hold, start=start, collisions=TOUCHING, pushes=[push], stop_on_fall=False)
    falls.run(0.6)
    limp = Hold(np.zeros(robot.nj), 0.0, _LIMP)
    lies = Simulation(robot, limp, start=(falls.q, falls.v), collisions=TOUCHING, stop_on_fall=False)
    lies.run(_RESTS)
    return np.array(lies.q)


def get_up(name: str = "mini_cheetah", impulse: float = 15.0, direction: float = 180.0) -> GetUp:
    """Pushed over, planned from there, and followed."""
    robot = library.load(name)
    fallen, goals = pushed_over(robot, impulse, direction), _goals(robot)
    goals.q[:, :2] = fallen[:2]
    joints = [body.joint for body in robot.tree.bodies[1:] if body.joint is not None]
    low, high = (np.array([getattr(joint, key) for joint in joints]) for key in ("lower", "upper"))
    low, high = np.maximum(low, goals.q[0, 7:] - 3.2), np.minimum(high, goals.q[0, 7:] + 3.2)
    model = KnotModel(robot=robot, limits=0.95 * torque_bounds(robot), low=low, high=high, price=_PRICE)
    problem = ContactHorizon(model, goals, compiling.compile, touching=body_spheres(robot, TOUCHING))
    began, start = time.process_time(), np.concatenate([fallen, np.zeros(robot.nv)])
    plan = optimise(problem, start, _guess(robot, fallen, goals), _ITERATIONS, _TOLERANCE)
    seconds = time.process_time() - began
    follow = Follow.of(plan, torque_bounds(robot), 0.0, 1.0 / KNOT)
    sim = Simulation(robot, follow, start=(fallen, np.zeros(robot.nv)), collisions=TOUCHING, stop_on_fall=False)
    return GetUp(robot, fallen, plan, seconds, sim.run(DURATION))


def _guess(robot: Robot, fallen: ndarray, goals: Goal) -> Trajectory:
    """Joints that go from where they lie to the stand, whatever the trunk does."""
    rows, nv, j = len(goals.interval), robot.nv, np.arange(robot.nj)
    part = np.clip(np.arange(rows) / (0.8 * rows), 0.0, 1.0)[:, None]
    q = np.tile(fallen, (rows, 1))
    q[:, 7:] += part * (goals.q[:, 7:] - fallen[7:])
    gains = np.zeros((rows - 1, robot.nj, 2 * nv))
    gains[:, j, 6 + j], gains[:, j, nv + 6 + j] = -_GUESS[0], -_GUESS[1]
    return Trajectory(np.concatenate([q, np.zeros((rows, nv))], axis=1), np.zeros((rows - 1, robot.nj)), gains)


def _goals(robot: Robot) -> Goal:
    """The stand, at every knot, the dearer the later; nothing of feet."""
    stand, rest = standing_state(robot)
    rows, nv, nf = round(DURATION / KNOT) + 1, robot.nv, robot.nf
    late = np.clip((np.arange(rows) / rows - 0.3) / 0.5, 0.0, 1.0)[:, None]
    W = np.zeros((rows, 2 * nv))
    W[:, :3], W[:, 3:5], W[:, 5:6], W[:, 6:nv] = 5.0 + 20.0 * late, 0.5, 20.0 + 80.0 * late, 0.2 + 2.0 * late
    W[:, nv : nv + 3], W[:, nv + 3 : nv + 6], W[:, nv + 6 :] = 0.1 + 0.2 * late, 0.1 + late, 2e-3 + 1e-2 * late
    W[-1] *= 10.0
    effort = np.full((rows, robot.nj), 1e-3)
    effort[-1] = 0.0
    none = np.zeros((rows, nf))
    return Goal(
        q=np.tile(stand, (rows, 1)),
        v=np.tile(rest, (rows, 1)),
        weights=W,
        torque=np.zeros((rows, robot.nj)),
        effort=effort,
        feet=np.tile(lowest_points(robot, stand), (rows, 1, 1)),
        pull=none,
        down=none,
        floor=none,
        least=none - 1.0,
        interval=np.full(rows, KNOT),
    )


def main() -> None:
    """One fall as JSON: impulse [N s] and direction [deg] as arguments."""
    found = get_up("mini_cheetah", *map(float, sys.argv[1:3]))
    rec = found.recording
    print(
        json.dumps(
            {
                "fallen": found.fallen[:7].round(3).tolist(),
                "iterations": len(found.plan.costs) - 1,
                "ended": found.plan.ended,
                "processor seconds": found.seconds,
                "end": rec.q[-1, :7].round(3).tolist(),
                "planned end": found.plan.x[-1, :7].round(3).tolist(),
                "stays": found.stays(),
                "loads": found.loads().round(3).tolist(),
            }
        )
    )


if __name__ == "__main__":
    main()
