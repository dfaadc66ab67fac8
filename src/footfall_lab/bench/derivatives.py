"""``footfall bench derivatives``: whole Jacobians of forward dynamics and of an implicit step, against Pinocchio's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.control.interface import JointCommand
from footfall.dynamics.coordinates import integrate
from footfall.dynamics.forward_dynamics import forward_dynamics
from footfall.dynamics.random_states import random_states
from footfall.robot.model.description import Robot
from footfall.sim.linearization import LinearStep
from footfall_lab.bench import horizon_peer, peers, subject
from footfall_lab.bench.horizon import Horizon
from footfall_lab.bench.report import BenchReport
from footfall_lab.bench.timing import Task, interleaved, looped, pinned
from nptrace._types import PyTree
from nptrace.array_types import Float
from nptrace.autodiff.written_jacobian import WrittenJacobian

if TYPE_CHECKING:
    from nptrace.autodiff.differentiate import Jacobian

METHOD = (
    "Least thread time of at least 20 interleaved rounds on one pinned core. Both Jacobians are whole and in minimal"
    " coordinates: forward_dynamics_derivative is 18 accelerations by 18 of q, 18 of v and 12 torques, at 128 random"
    " states in one compiled call; step_derivative is A and B of a step of 1 ms with implicit contact, four feet on the"
    " ground, at 128 states about a stand in one call. Pinocchio: computeABADerivatives from Python less the same call"
    " on a model of one joint. nmpc_iteration: 25 knots of 20 ms of the whole robot on four feet in scheduled stance,"
    " with barriers for torque, friction, joint range and clearance, from a state off its stand: rollout,"
    " linearisation, one backward sweep, one line search, called from Python. Crocoddyl: the same"
    " robot, knots, weights, start and schedule, feet fixed by four contacts, no inequality: computeDirection,"
    " tryStep, in a separate process; mim-solvers' SQP and CSQP there: solve with one iteration. Their rounds"
    " alternate with rounds of our iteration on the same core; ratios are of the least times."
)
_STATES = 128
_DT = 1e-3  # [s]


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> BenchReport:
    """Run the bench for about ``seconds``."""
    progress("compiling", 0, 100)
    dynamics, step, horizon = _dynamics(), _step(), Horizon()
    with pinned():
        tasks = [
            Task(name="forward_dynamics_derivative", run=evaluating(*dynamics), per="evaluation", items=_STATES),
            Task(name="step_derivative", run=evaluating(*step), per="evaluation", items=_STATES),
            *peers.pinocchio_derivative_tasks("pinocchio computeABADerivatives"),
            Task(name="nmpc_iteration", run=looped(horizon.iteration), per="iteration"),
        ]
        rows = interleaved(tasks, seconds, progress)
        beside, why = horizon_peer.beside(horizon.iteration)
    theirs, against = horizon_peer.rows_and_ratios(beside)
    rows += theirs
    times = {row.name: row.ns for row in rows}
    ratios = {
        "pinocchio_aba_derivatives_over_ours": times["pinocchio computeABADerivatives"]
        / times["forward_dynamics_derivative"],
        **against,
    }
    operations = {
        "jacobian_of_forward_dynamics": dynamics[0].statistics["live_operations"],
        "jacobian_of_step": step[0].statistics["live_operations"],
    }
    return BenchReport(
        bench="derivatives", rows=rows, ratios=ratios, operations=operations, method=METHOD, notes=[why] if why else []
    )


def deviated_dynamics(
    robot: Robot, deviation: ndarray, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], tau: Float[ndarray, "nj"]
) -> Float[ndarray, "nv"]:
    """Return the forward dynamics at a deviation (δq, δv, δτ), with δq in minimal coordinates."""
    dq, dv, dtau = deviation[: robot.nv], deviation[robot.nv : 2 * robot.nv], deviation[2 * robot.nv :]
    return forward_dynamics(robot, integrate(robot, q, dq, 1.0), v + dv, tau + dtau)


def _dynamics() -> tuple[PyTree, list[PyTree]]:
    """Return (derivative of forward dynamics, its arguments at random states)."""
    robot = subject.robot()
    states = random_states(robot, _STATES)
    arguments = [states.q, states.v, states.tau[:, 6:]]
    zero = np.zeros(2 * robot.nv + robot.nj)
    first = [array[0] for array in arguments]
    slopes = compiling.jacobian(deviated_dynamics, robot, zero, *first, wrt="deviation", at_zero=True)
    return slopes, [zero, *arguments]


def _step() -> tuple[PyTree, list[PyTree]]:
    """Return (derivative of the step, its arguments at states about a stand)."""
    linear = LinearStep(subject.world(implicit=True), _DT)
    robot, (stand, targets) = linear.robot, subject.standing()
    bent = 1e-3 * np.random.default_rng(0).normal(size=(_STATES, robot.nj))
    q = np.concatenate([np.tile(stand.q[:7], (_STATES, 1)), stand.q[7:] + bent], axis=1)
    command = JointCommand(targets, 0.0, subject.KP, subject.KD, 0.0)
    return linear.derivative, linear.arguments(q, stand.v, command)[0]


def evaluating(slopes: Jacobian | WrittenJacobian, arguments: list[PyTree]) -> Callable[[int], None]:
    """Return a call that evaluates derivatives at many states, in one call of compiled code if available."""
    if not isinstance(slopes, WrittenJacobian):
        return looped(slopes.matrices, *arguments)
    return looped(slopes.pack(*arguments)[0].evaluate)
