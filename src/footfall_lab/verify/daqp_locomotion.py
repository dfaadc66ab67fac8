"""Locomotion whose quadratic programs are solved by DAQP, the reference for the solvers inside ``Locomotion``.

It has the same plan, and the same QPs in dense form. It runs in Python; only the plan is compiled, if a simulation
provides the compiler (``prepare``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, ControllerInfo, JointCommand, Sensed
from footfall.control.locomotion import balance
from footfall.control.locomotion.balance import desired_wrench
from footfall.control.locomotion.convex_mpc import MPC_INTERVAL, ConvexMpc
from footfall.control.locomotion.driven import actuated_joints
from footfall.control.locomotion.last_sensed import LastSensed, replace_bad_readings
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.locomotion.locomotion_tick import shared_weight, towards_gait
from footfall.control.locomotion.planner import plan_tick
from footfall.control.locomotion.reflexes.log import new_events
from footfall.control.locomotion.reflexes.safe_stop import fold
from footfall.control.locomotion.rolling import wheels_of
from footfall.control.locomotion.single_body import SingleBody, friction_pyramid
from footfall.control.locomotion.types import LocomotionPlan, Memory
from footfall.control.locomotion.whole_body import leg_torques
from footfall.control.posture import standing_joints
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.spatial import skew
from footfall.spatial.gravity import Gravity
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_z
from footfall_lab.verify.daqp import Solution, solve_bounded, solve_qp
from nptrace._types import PyTree
from nptrace.array_types import Float

_FINE = 8  # samples of the schedule per step of the MPC


@dataclass(eq=False, kw_only=True)
class LocomotionByDaqp(Locomotion):
    """``Locomotion`` with DAQP as its solver, for robots without wheels and closed loops."""

    info = ControllerInfo(traceable=False, follows_command=True, uses_foot_forces=True, long_to_compile=True)

    def start(self, robot: Robot) -> Memory:
        if actuated_joints(robot) is not None or wheels_of(robot):
            raise InputError("the comparison with DAQP supports neither closed loops nor wheels")
        return super().start(robot)

    def _make(self, robot: Robot, gravity: Gravity) -> None:
        super()._make(robot, gravity)
        self._plan: Callable[..., PyTree] = lambda *arguments: plan_tick(self.model, *arguments)

    def _compile_tick(self, robot: Robot) -> None:
        assert self._compile is not None
        q, v = robot.state(standing_joints(robot, self.hip_height))
        sensed, memory = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3))), Memory.at_start(self.model)
        self._plan = self._compile(plan_tick, self.model, sensed, Command(), memory)

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Memory
    ) -> tuple[JointCommand, Memory]:
        self._check_command(t, command)
        if self._set_up(robot, sensed.gravity) and self._compile is not None:
            self._compile_tick(robot)
        return self._tick_by_daqp(
            t, Sensed(q=sensed.q, v=sensed.v, forces=sensed.forces), command, self.refresh_memory(memory)
        )

    def _tick_by_daqp(self, t: float, sensed: Sensed, command: Command, memory: Memory) -> tuple[JointCommand, Memory]:
        assert self._robot is not None
        sensed, command, missing = replace_bad_readings(sensed, command, memory.last_sensed)
        found, after = self._plan(sensed, command, towards_gait(self.model, memory))
        self._log_missing_sensor(t, missing)
        if missing > 0.5:
            torque = leg_torques(
                self._robot, found, after.down, shared_weight(self.body, after.down), self.model.torque_limits
            )
            troubles = np.array([*memory.trouble[:2], missing])
            requested = JointCommand(velocity=np.zeros(len(torque)), kd=self.joint_kd * self._robot.mass, torque=torque)
            return requested, dataclasses.replace(memory, trouble=troubles)
        self.log += new_events(t, memory.reflex, after.reflex, self._last_acting)
        after = dataclasses.replace(
            after, last_sensed=LastSensed(sensed.q, sensed.v, sensed.forces), trouble=np.zeros(3)
        )
        if after.reflex.folded > 0.5:
            return fold(self.model.crouch, sensed.q[7:], self.model.torque_limits, self.body.weight), after
        forces = self._forces(t, sensed, command, found, memory, after)
        after = dataclasses.replace(after, forces=forces)
        torque = self._torque(t, sensed, found, after)
        return JointCommand(velocity=sensed.v[6:], kd=self.joint_kd * self._robot.mass, torque=torque), after

    def _forces(
        self, t: float, sensed: Sensed, command: Command, found: LocomotionPlan, before: Memory, after: Memory
    ) -> Float[ndarray, "4 3"]:
        """Compute stage one: at its rate, and whenever a foot touches down or lifts off."""
        if self.stage == "balance":
            forces, status = solve_balance(self.body, sensed, found, after.down, float(found.friction))
            self._log_failure(
                t, "balance", "" if forces is not None else f"balance QP: {status}; the feet share the weight equally"
            )
            return shared_weight(self.body, after.down) if forces is None else forces
        if before.tick > 0.5 and (after.down == before.down).all():
            return before.forces
        forces, status = self._mpc(sensed, command, found, after)
        self._log_failure(t, "mpc", "" if forces is not None else f"MPC: {status}; the feet share the weight equally")
        return shared_weight(self.body, after.down) if forces is None else forces

    def _mpc(
        self, sensed: Sensed, command: Command, found: LocomotionPlan, after: Memory
    ) -> tuple[Float[ndarray, "4 3"] | None, str]:
        mpc = ConvexMpc(body=self.body, friction=float(found.friction))
        walking = after.is_walking > 0.5
        dt = MPC_INTERVAL
        R, yaw = to_rotation(sensed.q[3:7]), float(found.euler[2])
        com = sensed.q[:3] + R @ self.body.com
        x = np.concatenate([found.euler, com, R @ sensed.v[:3], R @ sensed.v[3:6]])
        times = dt * np.arange(1, mpc.steps + 1)
        turn = float(after.velocity[2])
        place = np.array([after.pose_des[0], after.pose_des[1]]) + np.outer(times, found.v_des_ground[:2])
        offset = about_z(yaw) @ self.body.com
        reference = np.zeros((mpc.steps, 12))
        reference[:, :2] = found.roll_pitch_des
        reference[:, 2] = yaw + np.remainder(after.pose_des[2] - yaw + np.pi, 2 * np.pi) - np.pi + turn * times
        reference[:, 3:5] = place + offset[:2]
        reference[:, 5] = place @ found.slope[:2] + found.slope[2] + found.height_des + offset[2]
        reference[:, 8], reference[:, 9:12] = turn, found.v_des_ground
        share, ahead = np.ones((mpc.steps, 4)), np.zeros((mpc.steps, 4))
        if walking:  # finer than the steps, so that a foot that is about to lift counts for its remaining time
            fine = (np.arange(mpc.steps * _FINE) + 0.5) * dt / _FINE
            duty, period = found.timing
            phases = np.remainder((after.phase + fine / period)[:, None] - after.delays, 1.0)
            share = (phases < duty).reshape(mpc.steps, _FINE, 4).mean(axis=1)
            own = np.remainder(after.phase - after.delays, 1.0)  # and a foot touches down again further ahead
            ahead = period * np.maximum(0.0, np.floor(own + (times - 0.5 * dt)[:, None] / period) - (own >= duty))
        share[0] = np.where(after.down > 0.5, np.maximum(share[0], 0.2), 0.0)
        stand = np.where((after.down > 0.5)[:, None], found.feet, found.touchdown)
        stand = stand - np.array([[0.0, 0.0, foot.radius] for foot in self.model.robot.feet[:4]])
        # lever arms from the predicted body position, not the reference: centimetres make newton metres
        feet = stand - (com + np.outer(times - 0.5 * dt, found.v_des_ground))[:, None]
        feet += ahead[:, :, None] * (found.v_des_ground + np.cross([0.0, 0.0, turn], stand - com))
        forces, solution = solve_mpc(mpc, x, reference, share, feet, found.normal, dt)
        return forces, solution.status

    def _torque(self, t: float, sensed: Sensed, found: LocomotionPlan, after: Memory) -> Float[ndarray, "nj"]:
        """Compute stage two."""
        if self.stage != "whole_body":
            return self._transposed(sensed, found, after)
        program, nv = found.qp, len(found.bias)
        f = program.f + program.F @ after.forces.ravel()
        solution = solve_bounded(program.H, f, program.A, program.low, program.high)
        if solution.x is None:
            wrong = f"whole-body QP: {solution.status}; the feet that are down hold the weight"
            self._log_failure(t, "whole_body", wrong)
            return self._transposed(sensed, found, after)
        self._log_failure(t, "whole_body", "")
        torque = program.A[6:nv] @ solution.x + found.bias[6:]
        return np.clip(torque, -self.model.torque_limits, self.model.torque_limits)

    def _transposed(self, sensed: Sensed, found: LocomotionPlan, after: Memory) -> Float[ndarray, "nj"]:
        assert self._robot is not None
        return leg_torques(self._robot, found, after.down, after.forces, self.model.torque_limits)


def solve_balance(
    body: SingleBody, sensed: Sensed, found: LocomotionPlan, down: Float[ndarray, "4"], friction: float
) -> tuple[Float[ndarray, "4 3"] | None, str]:
    """Return (forces [N] at the stance feet in world axes that best give the reference wrench, or None; status)."""
    forces = np.zeros((4, 3))
    columns = [k for k in range(4) if down[k] > 0.5]
    if not columns:
        return forces, "flight"
    R = to_rotation(sensed.q[3:7])
    wrench = desired_wrench(body, R, sensed.v[:3], found.acceleration)
    com = sensed.q[:3] + R @ body.com
    A = np.concatenate([np.concatenate([skew(found.feet[k] - com), np.eye(3)]) for k in columns], axis=1)
    W = balance.WRENCH_WEIGHTS
    H = A.T @ (W[:, None] * A) + balance.FORCE_WEIGHT * np.eye(A.shape[1])
    weight = body.weight
    cone = np.kron(np.eye(len(columns)), friction_pyramid(friction, found.normal))
    upper = np.tile([np.inf, np.inf, np.inf, np.inf, 3.0 * weight], len(columns))
    solution = solve_qp(H, -A.T @ (W * wrench), cone, np.zeros(5 * len(columns)), upper)
    if solution.x is None:
        return None, solution.status
    forces[columns] = solution.x.reshape(-1, 3)
    return forces, solution.status


def solve_mpc(
    mpc: ConvexMpc,
    x: Float[ndarray, "12"],
    reference: Float[ndarray, "steps 12"],
    share: Float[ndarray, "steps 4"],
    feet: Float[ndarray, "steps 4 3"],
    normal: Float[ndarray, "3"],
    dt: float,
) -> tuple[Float[ndarray, "4 3"] | None, Solution]:
    """Return (forces [N] in world axes for the first step, status).

    x = (Θ roll pitch yaw, p of the centre of mass, ω, v), all in world axes; ``share`` is the fraction of each step in
    which each foot is in stance; ``feet`` are positions relative to the planned centre of mass.
    """
    columns = [(k, i) for k in range(mpc.steps) for i in range(4) if share[k, i] > 0.05]
    if not columns:
        return np.zeros((4, 3)), Solution(np.zeros(0), "flight", 0.0)
    free, Phi = _predict(mpc, x, reference, columns, share, feet, dt)
    W = np.tile(mpc.weights, mpc.steps)
    error = free - reference.ravel()
    weighted = Phi * W[:, None]
    weight = mpc.body.weight
    H = Phi.T @ weighted + mpc.force_weight / weight**2 * np.eye(Phi.shape[1])
    pyramid = friction_pyramid(mpc.friction, normal)
    rows = len(columns)
    A = np.kron(np.eye(rows), pyramid)
    lower = np.zeros(5 * rows)
    upper = np.tile([np.inf, np.inf, np.inf, np.inf, mpc.largest_force * weight], rows)
    lower[4::5] = 0.02 * weight
    solution = solve_qp(0.5 * (H + H.T), weighted.T @ error, A, lower, upper)
    if solution.x is None:
        return None, solution
    forces = np.zeros((4, 3))
    for at, (k, i) in enumerate(columns):
        if k == 0:
            forces[i] = solution.x[3 * at : 3 * at + 3]
    return forces, solution


def _predict(
    mpc: ConvexMpc,
    x: ndarray,
    reference: ndarray,
    columns: list[tuple[int, int]],
    share: ndarray,
    feet: ndarray,
    dt: float,
) -> tuple[ndarray, ndarray]:
    """Return the states of the horizon without forces, and their derivatives by each force."""
    n = mpc.steps
    free, state = np.zeros(12 * n), x
    blocks = np.zeros((12 * n, 3 * len(columns)))
    gravity = np.zeros(12)
    gravity[9:12] = mpc.body.gravity
    A = np.eye(12)
    for k in range(n):
        R_z = about_z(reference[k, 2])
        inverse = R_z @ mpc.body.inverse @ R_z.T
        A[:3, 6:9], A[3:6, 9:12] = dt * R_z.T, dt * np.eye(3)
        state = A @ state + dt * gravity + _half(gravity, dt)
        before = blocks[12 * (k - 1) : 12 * k] if k else np.zeros((12, 3 * len(columns)))
        now = A @ before
        for at, (step, i) in enumerate(columns):
            if step == k:
                turn, push = inverse @ skew(feet[k, i]), np.eye(3) / mpc.body.mass
                turn, push = share[k, i] * turn, share[k, i] * push
                now[6:9, 3 * at : 3 * at + 3] += dt * turn
                now[9:12, 3 * at : 3 * at + 3] += dt * push
                now[:3, 3 * at : 3 * at + 3] += 0.5 * dt * dt * (R_z.T @ turn)
                now[3:6, 3 * at : 3 * at + 3] += 0.5 * dt * dt * push
        free[12 * k : 12 * k + 12], blocks[12 * k : 12 * k + 12] = state, now
    return free, blocks


def _half(gravity: ndarray, dt: float) -> ndarray:
    out = np.zeros(12)
    out[3:6] = 0.5 * dt * dt * gravity[9:12]
    return out
