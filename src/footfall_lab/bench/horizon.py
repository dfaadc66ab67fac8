"""The receding horizon that is timed: the Mini Cheetah on four feet returns to its stand within half a second."""

from __future__ import annotations

import numpy as np

from footfall import compiling
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.optimal.between_solves import lowest_points
from footfall.control.optimal.horizon import HorizonProblem
from footfall.control.optimal.knot import Goal, KnotModel
from footfall.control.optimal.trajectory import Trajectory, improve, optimise
from footfall.dynamics.coordinates import integrate
from footfall.sim.simulation import Simulation
from footfall_lab.bench import subject

KNOTS, KNOT = 25, 0.02  # [s]
PRICES = {"turn": 10.0, "place": 10.0, "joints": 0.1, "spin": 0.1, "speed": 0.1, "rates": 1e-3}
EFFORT = 1e-3
_AWAY = 0.01  # [rad], [m]
_BEND, _BARRIER = 1.5, 0.01  # [rad], largest joint deviation from the stand; weight of the barriers


def weights(nv: int) -> np.ndarray:
    """Return the weights of the components of a deviation at one knot."""
    parts = [np.full(3, PRICES[key]) for key in ("turn", "place")] + [np.full(nv - 6, PRICES["joints"])]
    return np.concatenate(
        [*parts, *(np.full(3, PRICES[key]) for key in ("spin", "speed")), np.full(nv - 6, PRICES["rates"])]
    )


def away(stand: np.ndarray, nv: int) -> np.ndarray:
    """Return a configuration away from the stand, the same for all peers."""
    move = _AWAY * np.random.default_rng(1).normal(size=nv)
    move[2:6] = 0.0
    return integrate(subject.robot(), stand, move, 1.0)


class Horizon:
    """The problem and an initial trajectory: a converged solution, as from the tick before.

    Torque, friction, joint ranges and clearance have barriers, which Crocoddyl's problem leaves out.
    """

    def __init__(self) -> None:
        robot, (stand, torque) = subject.robot(), settled()
        feet, rest, rows = lowest_points(robot, stand), np.zeros(robot.nv), KNOTS + 1
        model = KnotModel(
            robot=robot, limits=torque_bounds(robot), low=stand[7:] - _BEND, high=stand[7:] + _BEND, price=_BARRIER
        )
        goals = Goal(
            q=np.tile(stand, (rows, 1)),
            v=np.tile(rest, (rows, 1)),
            weights=np.tile(weights(robot.nv), (rows, 1)),
            torque=np.tile(torque, (rows, 1)),
            effort=np.full((rows, robot.nj), EFFORT),
            feet=np.tile(feet, (rows, 1, 1)),
            pull=np.zeros((rows, robot.nf)),
            down=np.ones((rows, robot.nf)),
            floor=np.tile(feet[:, 2], (rows, 1)),
            least=np.tile(feet[:, 2] - 1.0, (rows, 1)),
            interval=np.full(rows, KNOT),
        )
        goals.down[-1] = 0.0
        self.problem = HorizonProblem(model, goals, compiling.compile)
        self.trajectory: Trajectory = optimise(self.problem, np.concatenate([stand, rest]), goals.torque[:-1], 5)
        self.start = np.concatenate([away(stand, robot.nv), rest])

    def iteration(self) -> Trajectory:
        """Make one iteration from the deviating state."""
        return improve(self.problem, self.trajectory, self.start)


def settled() -> tuple[np.ndarray, np.ndarray]:
    """Return (q, torques) of the subject at rest."""
    from footfall.control.joint.joint_pd import Hold
    from footfall.sim.joints import JointModel

    simulation = Simulation(subject.robot(), Hold("stand", kp=subject.KP, kd=subject.KD), joints=JointModel.ideal())
    simulation.run(1.0)
    return simulation.q, simulation.state.motor
