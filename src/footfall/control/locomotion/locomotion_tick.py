"""One tick of locomotion: plan, forces ahead, torques. Plain NumPy, solvers included, compiled as a whole.

The programs are solved by ``nptrace.solve``; what goes wrong is kept in the memory as a number (``TROUBLES``), and a
program without a solution falls back to the weight shared by the feet that are down, or to -Jᵀf. So does a tick with a
reading that is not finite, and its memory waits (``last_sensed``).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

import nptrace
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.locomotion.balance import balance_forces
from footfall.control.locomotion.horizon import mpc_forces
from footfall.control.locomotion.last_sensed import LastSensed, kept_where, trusted
from footfall.control.locomotion.legged_plan import LocomotionModel, LocomotionPlan, Memory, plan
from footfall.control.locomotion.reflexes.responses import GEARS
from footfall.control.locomotion.reflexes.safe_stop import fold
from footfall.control.locomotion.single_body import ConvexMpc, SingleBody
from footfall.control.locomotion.whole_body import leg_torques, whole_body_torques
from footfall.gait.pattern import Gait
from footfall.spatial import cross
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_z
from nptrace._types import PyTree, Scalar
from nptrace.solve import stagewise

MPC_STEP = 0.04  # [s]
SWITCH = 0.5  # cycles a second, by which delays move from one gait to the next
TROUBLES = ("", "iteration limit", "infeasible", "not finite")
_FINE = 8  # parts of a step of the MPC in which a schedule is looked at


def beat_of(gait: Gait) -> Float[ndarray, "6"]:
    """A gait as numbers: delays, duty, period."""
    return np.array([*gait.delays, gait.duty, gait.period])


def locomotion_tick(
    model: LocomotionModel, sensed: Sensed, command: Command, memory: Memory
) -> tuple[JointCommand, Memory]:
    """Return (what the joints are commanded, the memory for the next tick)."""
    robot = model.robot
    sensed, command, missing = trusted(sensed, command, memory.last)
    blind = missing > 0.5
    found, after = plan(model, sensed, command, towards_gait(model, memory))
    folded = after.reflex.folded > 0.5
    forces, trouble = _stage_one(model, sensed, found, memory, after, folded | blind)
    forces = np.where(blind, shared_weight(model.forces_body, after.down), forces)
    torque, wrong = leg_torques(model.own, found, after.down, forces, model.limits), 0.0
    if model.stage == "whole_body":
        best, solution = whole_body_torques(
            model.own, model.body.weight, found, after.down, forces, model.limits, model.stopped
        )
        wrong = trouble_of(solution)
        torque = np.where(blind | (wrong > 0.5), torque, best)
    torque, limits = model.all_joints(torque), model.all_joints(model.limits)
    gives_in = fold(model.crouch, sensed.q[7:], limits, model.forces_body.weight).spread(robot.nj)
    asked = JointCommand(
        position=gives_in.position,
        velocity=np.where(folded | blind, 0.0, sensed.v[6:]),
        kp=gives_in.kp,
        kd=np.where(folded, gives_in.kd, model.joint_kd * robot.mass),
        torque=np.where(folded, gives_in.torque, torque),
    )
    troubles = np.where(folded, 0.0, np.stack([trouble, wrong + 0.0 * trouble]))
    after = dataclasses.replace(after, forces=forces, trouble=np.concatenate([troubles, np.zeros(1)]))
    after = kept_where(blind, memory, dataclasses.replace(after, last=memory.last))
    troubles = np.concatenate([after.trouble[:2], np.stack([missing])])
    last = LastSensed(sensed.q, sensed.v, sensed.forces)
    return asked, dataclasses.replace(after, trouble=troubles, last=last)


def shared_weight(body: SingleBody, down: Float[ndarray, "4"]) -> Float[ndarray, "4 3"]:
    """The weight in equal parts on the feet that are down."""
    share = body.weight / np.maximum(1.0, np.sum(down))
    return np.stack([np.array([0.0 * d, 0.0 * d, d * share]) for d in down])


def towards_gait(model: LocomotionModel, memory: Memory) -> Memory:
    """Delays, duty and period a little nearer to those of the gait that is wanted."""
    gear, goal = memory.reflex.gear, memory.goal
    by_speed = np.where(gear < 0.5, beat_of(GEARS[0]), np.where(gear < 1.5, beat_of(GEARS[1]), beat_of(GEARS[2])))
    goal = np.where(memory.reflex.has("speed_gait"), by_speed, goal)
    step = SWITCH / model.rate
    turn = goal[:4] - memory.delays
    turn = turn - np.floor(turn + 0.5)
    delays = np.where(np.abs(turn) <= step, goal[:4], memory.delays + np.clip(turn, -step, step))
    beat = memory.beat + np.clip(goal[4:] - memory.beat, -step, step)
    return dataclasses.replace(memory, delays=delays, beat=beat)


def _stage_one(
    model: LocomotionModel, sensed: Sensed, found: LocomotionPlan, before: Memory, after: Memory, idle: Scalar
) -> tuple[Float[ndarray, "4 3"], PyTree]:
    """(forces, trouble): MPC at its own rate, and whenever a foot has come or gone; or balance at every tick."""
    down = after.down
    shared = shared_weight(model.forces_body, down)
    if model.stage == "balance":
        forces, solution = balance_forces(model.forces_body, sensed, found, down)
        trouble = trouble_of(solution)
        return np.where(trouble > 0.5, shared, forces), trouble
    every = max(1, round(model.rate / model.mpc_rate))
    on_time = before.tick - every * np.floor((before.tick + 0.5) / every) < 0.5
    due = (on_time | (np.max(np.abs(down - before.down)) > 0.5)) & ~idle

    def fresh(given: Ahead) -> tuple[PyTree, PyTree]:
        forces, solution = solve_ahead(model, given)
        trouble = trouble_of(solution)
        return np.where(trouble > 0.5, shared, forces), trouble

    def turn(_: Scalar, carry: tuple[PyTree, PyTree, PyTree, Ahead]) -> tuple[PyTree, PyTree, PyTree, Ahead]:
        forces, trouble, done, given = carry
        new, wrong = fresh(given)
        return np.where(due, new, forces), np.where(due, wrong, trouble), 1.0 + 0.0 * done, given

    # a loop of one turn or none; all that it needs is carried, since what does not depend on it is done outside
    given = look_ahead(model, sensed, found, after)
    start = (before.forces, before.trouble[0], np.where(due, 0.0, 1.0), given)
    forces, trouble, *_ = nptrace.repeat(1, turn, start, until=lambda carry: carry[2] > 0.5, check_first=True)
    return nptrace.custom_fixed_point(
        forces, lambda _: np.where(due, fresh(given)[0], before.forces)
    ), nptrace.stop_gradient(trouble)


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """What the MPC looks at."""

    x: Float[ndarray, "12"]  # roll, pitch, yaw, centre of mass, ω, v, world axes
    wanted: Float[ndarray, "3"]  # x, y, yaw
    level: Float[ndarray, "2"]  # wanted roll and pitch
    travel: Float[ndarray, "3"]  # wanted velocity, world axes
    spin: Scalar
    slope: Float[ndarray, "3"]
    lift: Scalar  # wanted height of the base over the ground [m]
    normal: Float[ndarray, "3"]
    friction: Scalar
    down: Float[ndarray, "4"]
    stand: Float[ndarray, "4 3"]  # soles, where they are or will be [m]
    phase: Float[ndarray, "4"]  # of every leg [cycles]
    goes: Scalar  # 1 while the gait runs
    beat: Float[ndarray, "2"]  # duty, period [s]


def look_ahead(model: LocomotionModel, sensed: Sensed, found: LocomotionPlan, after: Memory) -> Ahead:
    R = to_rotation(sensed.q[3:7])
    com = sensed.q[:3] + R @ model.forces_body.com
    x = np.concatenate([found.euler, com, R @ sensed.v[:3], R @ sensed.v[3:6]])
    radii = np.array([[0.0, 0.0, foot.radius] for foot in model.robot.feet[:4]])
    ahead = found.touchdown
    if model.wheels:  # which go with the body: those that are up count as if they hung under it
        ahead = sensed.q[:3] + model.feet @ about_z(found.euler[2]).T
    stand = np.where((after.down > 0.5)[:, None], found.feet, ahead) - radii
    return Ahead(
        x=x,
        wanted=after.wanted,
        level=found.level,
        travel=found.travel,
        spin=after.velocity[2],
        slope=found.slope,
        lift=found.lift,
        normal=found.normal,
        friction=found.friction,
        down=after.down,
        stand=stand,
        phase=_part(after.phase - after.delays),
        goes=after.walking,
        beat=found.beat,
    )


def solve_ahead(model: LocomotionModel, see: Ahead) -> tuple[Float[ndarray, "4 3"], stagewise.Solution]:
    """(forces [N], how it went) of the convex MPC."""
    mpc, dt = ConvexMpc(body=model.forces_body), MPC_STEP
    com, yaw, (duty, period) = see.x[3:6], see.x[2], (see.beat[0], see.beat[1])
    offset = about_z(yaw) @ model.forces_body.com
    behind = see.wanted[2] - yaw
    behind = behind - 2.0 * np.pi * np.floor(behind / (2.0 * np.pi) + 0.5)
    turning = np.array([0.0, 0.0, see.spin])
    further = np.stack([see.travel + cross(turning, foot - com) for foot in see.stand])
    goes, late = see.goes > 0.5, np.where(see.phase >= duty, 1.0, 0.0)

    def step(carry: PyTree, row: tuple[PyTree, PyTree]) -> tuple[PyTree, tuple[PyTree, ...]]:
        time, first = row
        place = see.wanted[:2] + time * see.travel[:2]
        height = place @ see.slope[:2] + see.slope[2] + see.lift
        reference = np.concatenate(
            [
                see.level,
                np.stack([yaw + behind + see.spin * time, place[0] + offset[0], place[1] + offset[1]]),
                np.stack([height + offset[2], 0.0, 0.0, see.spin]),
                see.travel,
            ]
        )
        # finer than the steps, so that a foot that is about to lift counts for what it still gives
        down = [_part(see.phase + (time - dt + (j + 0.5) * dt / _FINE) / period) < duty for j in range(_FINE)]
        share = np.where(goes, sum(np.where(d, 1.0, 0.0) for d in down) / _FINE, 1.0)
        share = np.where(first > 0.5, np.where(see.down > 0.5, np.maximum(share, 0.2), 0.0), share)
        middle = time - 0.5 * dt
        # a foot that comes again comes further on
        again = np.where(goes, period * np.maximum(0.0, np.floor(see.phase + middle / period) - late), 0.0)
        # arms from where the body will be, not from where it is wanted: centimetres make newton metres
        feet = see.stand - (com + middle * see.travel) + again[:, None] * further
        if model.wheels:
            feet = see.stand - com
        return carry, (reference, share, feet)

    times, first = dt * np.arange(1, mpc.steps + 1), np.eye(mpc.steps)[0]
    _, (reference, share, feet) = nptrace.scan(step, 0.0, (times, first))
    return mpc_forces(mpc, see.x, reference, share, feet, see.normal, see.friction, dt)


def trouble_of(solution: PyTree) -> Scalar:
    """What went wrong, as a place in ``TROUBLES``."""
    lost = ~(np.abs(solution.dual) + np.abs(solution.primal) < np.inf)
    failed = np.where(lost, 3.0, np.where(solution.infeasible > 0.5, 2.0, 1.0))
    return np.where(solution.converged > 0.5, 0.0, failed)


def _part(x: Scalar) -> PyTree:
    """The part of a cycle in [0, 1)."""
    return x - np.floor(x)
