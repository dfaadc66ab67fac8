"""The receding horizon that is timed: the Mini Cheetah on four feet, half a second ahead, back to its stand."""

from __future__ import annotations

import numpy as np

from footfall.bench import subject
from footfall.control.optimal.trajectory import Trajectory, improved, optimise
from footfall.dynamics.coordinates import integrate
from footfall.simulate.simulation import Simulation
from footfall.simulate.step_problem import Reference, StepProblem

KNOTS, KNOT = 25, 0.02  # [s]
PRICES = {"turn": 10.0, "place": 10.0, "joints": 0.1, "spin": 0.1, "speed": 0.1, "rates": 1e-3}
EFFORT = 1e-3
_AWAY = 0.01  # [rad], [m]


def weights(nv: int) -> np.ndarray:
    """Of the deviation's components, one knot."""
    parts = [np.full(3, PRICES[key]) for key in ("turn", "place")] + [np.full(nv - 6, PRICES["joints"])]
    return np.concatenate([*parts, *(np.full(3, PRICES[key]) for key in ("spin", "speed")),
                           np.full(nv - 6, PRICES["rates"])])  # fmt: skip


def away(stand: np.ndarray, nv: int) -> np.ndarray:
    """A configuration off the stand, the same for everybody."""
    move = _AWAY * np.random.default_rng(1).normal(size=nv)
    move[2:6] = 0.0
    return integrate(subject.robot(), stand, move, 1.0)


class Horizon:
    """The problem, and a trajectory to start from: that of a converged search, as a tick before would leave it."""

    def __init__(self) -> None:
        world, robot = subject.world(implicit=True), subject.robot()
        stand, torque = settled()
        reference = Reference(
            np.tile(stand, (KNOTS + 1, 1)), np.zeros((KNOTS + 1, robot.nv)),
            np.tile(weights(robot.nv), (KNOTS + 1, 1)), np.tile(torque, (KNOTS, 1)), np.full(robot.nj, EFFORT),
        )  # fmt: skip
        self.problem = StepProblem(world, reference, KNOT, steps=1, exact=False)
        rest = np.concatenate([stand, np.zeros(robot.nv)])
        self.trajectory: Trajectory = optimise(self.problem, rest, reference.torque, 5)
        self.start = np.concatenate([away(stand, robot.nv), np.zeros(robot.nv)])

    def iteration(self) -> Trajectory:
        """One iteration from the state that is off."""
        return improved(self.problem, self.trajectory, self.start)


def settled() -> tuple[np.ndarray, np.ndarray]:
    """(q, torques) of the subject at rest."""
    from footfall.control.joint.joint_pd import Hold
    from footfall.simulate.actuators import JointModel

    simulation = Simulation(subject.robot(), Hold("stand", kp=subject.KP, kd=subject.KD), joints=JointModel.ideal())
    simulation.run(1.0)
    return simulation.q, simulation.state.motor
