"""The solvers of ``Locomotion`` against DAQP, on QPs from walks, steps, pushes and falls.

    python -m footfall_lab.verify.solver_referee          # 10 000 programs, a few minutes

A robot walks with its QPs solved by DAQP. At every tick, the same whole-body QP, and the MPC if there is one, is also
solved by ``nptrace.solve``, in machine code, with the same input: forces, torques and residuals are compared. QPs that
DAQP does not solve count too, among them those of a robot whose legs fold. Some robots have motors of a third of the
strength, so that bounds are always active; and some QPs are copied and spoilt (``SPOILT``): infeasible, badly scaled,
NaN. In any case the resulting torque must be finite and within the limits.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.ground import Plane
from footfall.contact.steps import Steps
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.locomotion.convex_mpc import mpc_input, solve_mpc
from footfall.control.locomotion.locomotion_tick import towards_gait
from footfall.control.locomotion.planner import plan_tick
from footfall.control.locomotion.types import LocomotionModel, Memory
from footfall.control.locomotion.whole_body import WholeBodyQP, leg_torques, whole_body_torques
from footfall.control.posture import standing_state
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.pushes import Push
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.spatial.rotation import about_z
from footfall_lab.verify.daqp_locomotion import LocomotionByDaqp
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float


@dataclass(frozen=True)
class Case:
    """A walk from which QPs are taken."""

    command: Command
    pushes: tuple[Push, ...] = ()
    drop: float = 0.0  # height of every step of a flight of stairs [m]
    strength: float = 1.0  # strength of the motors


CASES = {
    "forward": Case(Command(forward=0.7)),
    "turning": Case(Command(forward=0.2, turn=0.8)),
    "sideways": Case(Command(sideways=0.4)),
    "pushed": Case(
        Command(forward=0.4), tuple(Push(start=t, duration=0.1, force=(60.0, 110.0, 0.0)) for t in (0.1, 0.7, 1.3, 1.9))
    ),
    "falling": Case(Command(forward=0.4), (Push(start=0.1, duration=0.25, force=(0.0, 260.0, 0.0)),)),
    "steps": Case(Command(forward=0.4), (Push(start=1.4, duration=0.1, force=(0.0, 10.0, 0.0)),), drop=0.16),
    "weak": Case(Command(forward=0.5), (Push(start=0.3, duration=0.1, force=(20.0, 40.0, 0.0)),), strength=0.3),
}
SPOILT = ("contradiction", "crossed bounds", "not a number", "huge", "tiny", "uneven")
HOPELESS = 3  # the first ones have no solution
_MOST_RUNS = 20  # runs per case
_SPOIL_EVERY = 10  # QPs between spoilt copies
_ACTIVE = 1.5  # iterations: a QP that takes more than one has active bounds


@dataclass(frozen=True, kw_only=True)
class SolverOutcome:
    """The results of the two solvers inside one controller tick."""

    torque: Float[ndarray, "nj"]  # of the solution, not clipped
    requested: Float[ndarray, "nj"]  # final joint torque: clipped, or of the fallback
    solved: Scalar
    iterations: Scalar
    residual: Scalar  # the worst of violation, gradient and product of slack and multiplier, scaled
    forces: Float[ndarray, "4 3"]
    mpc_solved: Scalar
    mpc_iterations: Scalar
    mpc_residual: Scalar


def solver_outcome(
    model: LocomotionModel,
    sensed: Sensed,
    command: Command,
    memory: Memory,
    forces: Float[ndarray, "4 3"],
    spoil: Scalar,
) -> SolverOutcome:
    """Solve the whole-body QP for given forces of stage one, and the MPC of the same tick.

    spoil: 0, or 1 + the index in ``SPOILT`` of the change to the whole-body QP.
    """
    found, after = plan_tick(model, sensed, command, towards_gait(model, memory))
    found = replace(found, qp=spoilt(found.qp, spoil))
    limits, robot = model.torque_limits, model.robot
    torque, body = whole_body_torques(robot, model.body.weight, found, after.down, forces, limits, clip=False)
    safe = leg_torques(robot, found, after.down, forces, limits)
    requested = np.where(body.converged > 0.5, np.clip(torque, -limits, limits), safe)
    ahead, mpc = solve_mpc(model, mpc_input(model, sensed, found, after))
    return SolverOutcome(
        torque=torque,
        requested=requested,
        solved=body.converged,
        iterations=body.iterations,
        residual=_worst(body),
        forces=ahead,
        mpc_solved=mpc.converged,
        mpc_iterations=mpc.iterations,
        mpc_residual=_worst(mpc),
    )


def spoilt(program: WholeBodyQP, how: Scalar) -> WholeBodyQP:
    """Return a spoilt QP; ``how`` is 0 or 1 + an index in ``SPOILT``. Joint dynamics are unchanged."""
    n = len(program.H)
    at = {name: np.abs(how - (k + 1.0)) < 0.5 for k, name in enumerate(SPOILT)}
    scale = np.where(at["huge"], 1e8, np.where(at["tiny"], 1e-8, 1.0))
    uneven = np.where(at["uneven"], np.logspace(-4.0, 4.0, n), 1.0)
    H = program.H * scale * uneven[:, None] * uneven
    H[3, 3] = np.where(at["not a number"], np.nan, H[3, 3])
    f, F = program.f * scale, program.F * scale
    low, high, A = 1.0 * program.low, 1.0 * program.high, 1.0 * program.A
    A[7] = np.where(at["contradiction"], A[6], A[7])  # the second joint's torque must equal the first and exceed it
    low[n + 7] = np.where(at["contradiction"], high[n + 6] + 5.0, low[n + 7])
    high[n + 7] = np.where(at["contradiction"], high[n + 6] + 10.0, high[n + 7])
    low[n + 6] = np.where(at["crossed bounds"], high[n + 6] + 1.0, low[n + 6])
    return replace(program, H=H, f=f, F=F, A=A, low=low, high=high)


def _worst(solution: PyTree) -> Scalar:
    return np.maximum(np.maximum(solution.primal, solution.dual), solution.gap)


@dataclass(kw_only=True)
class Tally:
    """Differences so far; torques relative to the limit, forces relative to the weight."""

    torque: list[float] = field(default_factory=list)
    force: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)
    iterations: list[float] = field(default_factory=list)
    active: int = 0  # QPs with active bounds
    unsolved: int = 0  # unsolved, but solved by DAQP
    neither: int = 0  # solved neither by DAQP nor by nptrace
    only_inside: int = 0
    beyond: int = 0  # solved, with a torque past a limit by more than a millionth, or not finite
    spoilt: int = 0  # spoilt QPs
    spoilt_solved: int = 0
    believed: int = 0  # spoilt QPs reported as solved that have no solution
    harmed: int = 0  # spoilt QPs with a torque past a limit, or not finite

    def line(self) -> str:
        torque, force, residual = (max(x, default=0.0) for x in (self.torque, self.force, self.residual))
        return (
            f"{len(self.iterations)} whole-body QPs ({self.active} with active bounds), {len(self.force)} MPCs;"
            f" worst torque difference {torque:.1e} of the limit, force {force:.1e} of the weight; worst residual"
            f" {residual:.1e}; {np.mean(self.iterations):.2f} steps on average, {max(self.iterations):.0f} at most;"
            f" {self.unsolved} solved by DAQP alone, {self.only_inside} by nptrace alone, {self.neither} by neither;"
            f" {self.beyond} torques past a limit; {self.spoilt} spoilt, {self.spoilt_solved} of them solved,"
            f" {self.believed} without having a solution, {self.harmed} with a torque past a limit or not finite"
        )


class Watched(LocomotionByDaqp):
    """Locomotion with DAQP that also passes every QP to the solvers of nptrace."""

    def watch(self, tally: Tally, robot: Robot) -> None:
        self.tally = tally
        memory, (q, v) = self.start(robot), standing_state(robot)
        sensed = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3)))
        self.outcome = compiling.compile(solver_outcome, self.model, sensed, Command(), memory, np.zeros((4, 3)), 0.0)

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Memory
    ) -> tuple[JointCommand, Memory]:
        requested, after = super().__call__(t, robot, sensed, command, memory)
        if after.reflex.folded > 0.5:  # nothing is solved from here on
            return requested, after
        seen, by_daqp = Sensed(q=sensed.q, v=sensed.v, forces=sensed.forces), not self._failures & {"whole_body"}
        given, tally = (seen, command, self.refresh_memory(memory), after.forces), self.tally
        got = self.outcome(*given, 0.0)
        inside = bool(got.solved > 0.5)
        tally.iterations.append(float(got.iterations))
        tally.active += int(got.iterations > _ACTIVE)
        tally.unsolved += int(by_daqp and not inside) + int("mpc" not in self._failures and got.mpc_solved < 0.5)
        tally.only_inside += int(inside and not by_daqp)
        tally.neither += int(not inside and not by_daqp)
        if inside:
            tally.beyond += int(not (np.abs(got.torque) <= self.model.torque_limits * (1.0 + 1e-6)).all())
            tally.residual.append(float(got.residual))
            if by_daqp:
                tally.torque.append(float(np.max(np.abs(got.requested - requested.torque) / self.model.torque_limits)))
        if got.mpc_solved > 0.5 and "mpc" not in self._failures and not np.array_equal(memory.forces, after.forces):
            tally.force.append(float(np.max(np.abs(got.forces - after.forces)) / self.body.weight))
            tally.residual.append(float(got.mpc_residual))
        if len(tally.iterations) % _SPOIL_EVERY == 0:
            self._spoil(given)
        return requested, after

    def _spoil(self, given: tuple[PyTree, ...]) -> None:
        how = 1.0 + self.tally.spoilt % len(SPOILT)
        got, tally = self.outcome(*given, how), self.tally
        tally.spoilt += 1
        tally.spoilt_solved += int(got.solved > 0.5)
        tally.believed += int(got.solved > 0.5 and how <= HOPELESS)
        tally.harmed += int(not (np.abs(got.requested) <= self.model.torque_limits).all())


def compared(case: str, programs: int, robot: Robot | None = None) -> Tally:
    """Return differences over ``programs`` whole-body QPs; a run with too few is repeated with other pushes."""
    robot, tally, own = robot or library.load("mini_cheetah"), Tally(), CASES[case]
    weak = tuple(replace(motor, torque_limit=own.strength * motor.torque_limit) for motor in robot.actuators)
    robot, ground = replace(robot, actuators=weak), Steps.flight(-own.drop, start=0.5) if own.drop else Plane()
    for k in range(_MOST_RUNS):
        angle = 2.4 * k  # [rad]: a new direction each time
        turned = tuple(replace(p, force=tuple(about_z(angle) @ np.asarray(p.force))) for p in own.pushes)
        controller = Watched()
        simulation = Simulation(
            robot,
            controller,
            ground=ground,
            start=standing_start(robot, controller, ground),
            command=own.command,
            pushes=turned,
            stop_on_fall=False,
        )
        controller.watch(tally, simulation.robot)
        simulation.run(min(3.0 if own.pushes else np.inf, (programs - len(tally.iterations)) * 1e-3))
        if len(tally.iterations) >= programs or not own.pushes:
            break
    return tally


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1500, help="of each of the seven cases")
    programs = parser.parse_args(arguments).programs
    for case in CASES:
        print(f"{case}: {compared(case, programs).line()}", flush=True)


if __name__ == "__main__":
    main()
