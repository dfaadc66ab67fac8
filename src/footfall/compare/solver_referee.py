"""The solvers inside against DAQP, over programs taken from walks, pushes and falls.

    python -m footfall.compare.solver_referee          # 10 000 programs, a few minutes

A robot walks with its programs solved by DAQP. At every tick the same whole-body program, and wherever there is one the
same MPC, goes to ``footfall.solve``, in machine code, with exactly what DAQP had: forces, torques and residuals are
compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import compiling
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.locomotion.legged_plan import Memory, plan
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.locomotion.locomotion_tick import Walking, look_ahead, solve_ahead, towards_gait
from footfall.control.locomotion.whole_body import whole_body_torques
from footfall.control.posture import standing_state
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.simulate.pushes import Push
from footfall.simulate.simulation import Simulation
from footfall.spatial.rotation import about_z

CASES: dict[str, tuple[Command, tuple[Push, ...]]] = {
    "forward": (Command(forward=0.7), ()),
    "turning": (Command(forward=0.2, turn=0.8), ()),
    "sideways": (Command(sideways=0.4), ()),
    "pushed": (Command(forward=0.4), tuple(Push(t, 0.1, (60.0, 110.0, 0.0)) for t in (0.5, 1.1, 1.7))),
    "falling": (Command(forward=0.4), (Push(0.4, 0.25, (0.0, 260.0, 0.0)),)),
}  # fmt: skip
_MOST_RUNS = 20  # of a case


@dataclass(frozen=True)
class Judged:
    """What the solvers inside make of one tick."""

    torque: Float[ndarray, "nj"]
    solved: Any
    turns: Any
    residual: Any  # the worst of violation, slope and product of slack and multiplier, scaled
    forces: Float[ndarray, "4 3"]
    mpc_solved: Any
    mpc_turns: Any
    mpc_residual: Any


def judged(walking: Walking, sensed: Sensed, command: Command, memory: Memory, forces: Float[ndarray, "4 3"]) -> Judged:
    """The whole-body program for given forces of stage one, and the MPC of the same moment."""
    walker = walking.walker
    found, after = plan(walker, sensed, command, towards_gait(walker, memory))
    torque, body = whole_body_torques(walker.robot, walker.body.weight, found, after.down, forces, walking.limits)
    ahead, mpc = solve_ahead(walking, look_ahead(walking, sensed, found, after))
    return Judged(
        torque, body.converged, body.iterations, _worst(body), ahead, mpc.converged, mpc.iterations, _worst(mpc)
    )


def _worst(solution: Any) -> Any:
    return np.maximum(np.maximum(solution.primal, solution.dual), solution.gap)


@dataclass
class Tally:
    """Differences so far; torques as parts of the limit, forces of the weight."""

    torque: list[float] = field(default_factory=list)
    force: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    unsolved: int = 0
    beyond: int = 0  # torques past a limit, or not finite

    def line(self) -> str:
        torque, force, residual = (max(x, default=0.0) for x in (self.torque, self.force, self.residual))
        return (
            f"{len(self.torque)} whole-body programs, {len(self.force)} MPCs; worst torque difference {torque:.1e} of"
            f" the limit, force {force:.1e} of the weight; worst residual {residual:.1e}; {np.mean(self.turns):.2f}"
            f" steps in the mean, {max(self.turns):.0f} at most; {self.unsolved} without a solution; {self.beyond}"
            " torques past a limit"
        )


class Watched(Locomotion):
    """Locomotion by DAQP that hands every program to the solvers inside as well."""

    def watch(self, tally: Tally, robot: Robot) -> None:
        self.tally = tally
        memory, (q, v) = self.start(robot), standing_state(robot)
        sensed = Sensed(q, v, np.zeros((robot.nf, 3)))
        self.judge = compiling.compile(judged, self.walking, sensed, Command(), memory, np.zeros((4, 3)))

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Memory
    ) -> tuple[JointCommand, Memory]:
        asked, after = super().__call__(t, robot, sensed, command, memory)
        if after.reflex.folded > 0.5 or self._wrong & {"mpc", "whole_body"}:
            return asked, after
        seen = Sensed(sensed.q, sensed.v, sensed.forces)
        got, tally = self.judge(seen, command, self.renewed(memory), after.forces), self.tally
        tally.turns.append(float(got.turns))
        tally.unsolved += int(got.solved < 0.5) + int(got.mpc_solved < 0.5)
        tally.beyond += int(not (np.abs(got.torque) <= self.limits + 1e-12).all())
        if got.solved > 0.5:
            tally.torque.append(float(np.max(np.abs(got.torque - asked.torque) / self.limits)))
            tally.residual.append(float(got.residual))
        if got.mpc_solved > 0.5 and not np.array_equal(memory.forces, after.forces):
            tally.force.append(float(np.max(np.abs(got.forces - after.forces)) / self.body.weight))
            tally.residual.append(float(got.mpc_residual))
        return asked, after


def compared(case: str, programs: int, robot: Robot | None = None) -> Tally:
    """Differences over so many whole-body programs; where a run has too few, it is pushed from elsewhere and again."""
    robot, tally = robot or library.load("mini_cheetah"), Tally()
    command, pushes = CASES[case]
    for k in range(_MOST_RUNS):
        angle = 2.4 * k  # [rad]: never the same direction again
        turned = tuple(replace(p, force=tuple(about_z(angle) @ np.asarray(p.force))) for p in pushes)
        controller = Watched(solver="daqp")
        simulation = Simulation(
            robot, controller, start=standing_state(robot), command=command, pushes=turned, stop_on_fall=False
        )
        controller.watch(tally, simulation.robot)
        simulation.run((programs - len(tally.turns)) * 1e-3)
        if len(tally.turns) >= programs or not pushes:
            break
    return tally


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=2000, help="of each of the five cases")
    programs = parser.parse_args(arguments).programs
    for case in CASES:
        print(f"{case}: {compared(case, programs).line()}", flush=True)


if __name__ == "__main__":
    main()
