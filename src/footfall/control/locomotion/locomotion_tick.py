"""One tick of locomotion: plan, predicted forces, torques. Plain NumPy, solvers included, compiled as a whole.

The QPs are solved by ``nptrace.solve``; failures are stored in the memory as a code (``QP_FAILURES``), and a QP without
a solution falls back to the weight shared by the stance feet, or to -Jᵀf. So does a tick with a reading that is not
finite, and its memory stays unchanged (``last_sensed``).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy import ndarray

import nptrace
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.locomotion.balance import balance_forces
from footfall.control.locomotion.convex_mpc import MpcInput, mpc_input, solve_mpc
from footfall.control.locomotion.last_sensed import LastSensed, hold_where, replace_bad_readings
from footfall.control.locomotion.planner import plan_tick
from footfall.control.locomotion.reflexes.responses import GEARS
from footfall.control.locomotion.reflexes.safe_stop import fold
from footfall.control.locomotion.single_body import SingleBody
from footfall.control.locomotion.types import LocomotionModel, LocomotionPlan, Memory
from footfall.control.locomotion.whole_body import leg_torques, whole_body_torques
from footfall.gait.pattern import Gait
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

GAIT_CHANGE_RATE = 0.5  # cycles per second at which delays move from one gait to the next
QP_FAILURES = ("", "iteration limit", "infeasible", "not finite")


def gait_numbers(gait: Gait) -> Float[ndarray, "6"]:
    """Return a gait as numbers: delays, duty, period."""
    return np.array([*gait.delays, gait.duty, gait.period])


def locomotion_tick(
    model: LocomotionModel, sensed: Sensed, command: Command, memory: Memory
) -> tuple[JointCommand, Memory]:
    """Return (the command to the joints, the memory for the next tick)."""
    robot = model.robot
    sensed, command, missing = replace_bad_readings(sensed, command, memory.last_sensed)
    blind = missing > 0.5
    plan, after = plan_tick(model, sensed, command, towards_gait(model, memory))
    folded = after.reflex.folded > 0.5
    forces, stage_one_failure = _stage_one(model, sensed, plan, memory, after, folded | blind)
    forces = np.where(blind, shared_weight(model.stage_one_body, after.down), forces)
    torque, failure = leg_torques(model.reduced_robot, plan, after.down, forces, model.torque_limits), 0.0
    if model.stage == "whole_body":
        whole_body_torque, solution = whole_body_torques(
            model.reduced_robot, model.body.weight, plan, after.down, forces, model.torque_limits, model.stopped
        )
        failure = failure_of(solution)
        torque = np.where(blind | (failure > 0.5), torque, whole_body_torque)
    torque, limits = model.all_joints(torque), model.all_joints(model.torque_limits)
    folding = fold(model.crouch, sensed.q[7:], limits, model.stage_one_body.weight).broadcast(robot.nj)
    joint_command = JointCommand(
        position=folding.position,
        velocity=np.where(folded | blind, 0.0, sensed.v[6:]),
        kp=folding.kp,
        kd=np.where(folded, folding.kd, model.joint_kd * robot.mass),
        torque=np.where(folded, folding.torque, torque),
    )
    failures = np.where(folded, 0.0, np.stack([stage_one_failure, failure + 0.0 * stage_one_failure]))
    after = dataclasses.replace(after, forces=forces, trouble=np.concatenate([failures, np.zeros(1)]))
    after = hold_where(blind, memory, dataclasses.replace(after, last_sensed=memory.last_sensed))
    failures = np.concatenate([after.trouble[:2], np.stack([missing])])
    last = LastSensed(sensed.q, sensed.v, sensed.forces)
    return joint_command, dataclasses.replace(after, trouble=failures, last_sensed=last)


def shared_weight(body: SingleBody, down: Float[ndarray, "4"]) -> Float[ndarray, "4 3"]:
    """Return the weight shared equally by the standing feet."""
    share = body.weight / np.maximum(1.0, np.sum(down))
    return np.stack([np.array([0.0 * d, 0.0 * d, d * share]) for d in down])


def towards_gait(model: LocomotionModel, memory: Memory) -> Memory:
    """Return delays, duty and period one step closer to those of the desired gait."""
    gear, goal = memory.reflex.gear, memory.gait_goal
    by_speed = np.where(
        gear < 0.5, gait_numbers(GEARS[0]), np.where(gear < 1.5, gait_numbers(GEARS[1]), gait_numbers(GEARS[2]))
    )
    goal = np.where(memory.reflex.has("speed_gait"), by_speed, goal)
    step = GAIT_CHANGE_RATE / model.rate
    change = goal[:4] - memory.delays
    change = change - np.floor(change + 0.5)
    delays = np.where(np.abs(change) <= step, goal[:4], memory.delays + np.clip(change, -step, step))
    timing = memory.timing + np.clip(goal[4:] - memory.timing, -step, step)
    return dataclasses.replace(memory, delays=delays, timing=timing)


def _stage_one(
    model: LocomotionModel, sensed: Sensed, plan: LocomotionPlan, before: Memory, after: Memory, idle: Operand
) -> tuple[Float[ndarray, "4 3"], PyTree]:
    """Return (forces, status): MPC at its rate and whenever a foot lands or lifts, or balance at every tick."""
    down = after.down
    shared = shared_weight(model.stage_one_body, down)
    if model.stage == "balance":
        forces, solution = balance_forces(model.stage_one_body, sensed, plan, down)
        failure = failure_of(solution)
        return np.where(failure > 0.5, shared, forces), failure
    due = ((before.tick < 0.5) | (np.max(np.abs(down - before.down)) > 0.5)) & ~idle

    def solve(mpc_problem: MpcInput) -> tuple[PyTree, PyTree]:
        forces, solution = solve_mpc(model, mpc_problem)
        failure = failure_of(solution)
        return np.where(failure > 0.5, shared, forces), failure

    def body(_: Scalar, carry: tuple[PyTree, PyTree, PyTree, MpcInput]) -> tuple[PyTree, PyTree, PyTree, MpcInput]:
        forces, failure, done, mpc_problem = carry
        new_forces, new_failure = solve(mpc_problem)
        return np.where(due, new_forces, forces), np.where(due, new_failure, failure), 1.0 + 0.0 * done, mpc_problem

    # a loop of one iteration or none; everything it needs is carried, since loop invariants are computed outside
    mpc_problem = mpc_input(model, sensed, plan, after)
    start = (before.forces, before.trouble[0], np.where(due, 0.0, 1.0), mpc_problem)
    forces, failure, *_ = nptrace.repeat(1, body, start, until=lambda carry: carry[2] > 0.5, check_first=True)
    return nptrace.custom_fixed_point(
        forces, lambda _: np.where(due, solve(mpc_problem)[0], before.forces)
    ), nptrace.stop_gradient(failure)


def failure_of(solution: PyTree) -> Operand:
    """Return what went wrong, as an index into ``QP_FAILURES``."""
    not_finite = ~(np.abs(solution.dual) + np.abs(solution.primal) < np.inf)
    failure = np.where(not_finite, 3.0, np.where(solution.infeasible > 0.5, 2.0, 1.0))
    return np.where(solution.converged > 0.5, 0.0, failure)
