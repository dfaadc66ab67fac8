"""Timing tasks for MuJoCo and Pinocchio on the same robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.control.joint.joint_pd import Hold
from footfall.conversions import to_mujoco_v
from footfall.errors import FootfallError
from footfall.mujoco import model as mujoco
from footfall.mujoco.run import mujoco_model
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.simulation import Simulation
from footfall_lab.bench import subject
from footfall_lab.bench.timing import Task, looped
from footfall_lab.verify import pinocchio
from nptrace.array_types import Float

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

_SETTLING = 1.0  # [s]


@dataclass
class MuJoCoStand:
    """The subject in MuJoCo: same plane, friction and PD gains; MuJoCo's default contact and solver settings."""

    model: MjModel
    robot: Robot

    @staticmethod
    def build(integrator: str, cone: str, dt: float, robot: Robot | None = None) -> MuJoCoStand:
        robot = robot or subject.robot()
        kp, kd = subject.gains(robot)
        hold = Hold("stand", kp=kp, kd=kd, rate=1.0 / dt)
        simulation = Simulation(robot, hold, dt=dt, joints=JointModel.ideal())
        model = mujoco_model(simulation, contact={}, options={"integrator": integrator, "cone": cone})
        model.actuator_gainprm[:, 0] = kp
        model.actuator_biasprm[:, 1], model.actuator_biasprm[:, 2] = -kp, -kd
        names = [model.joint(int(k)).name for k in model.actuator_trnid[:, 0]]
        behind = [model.joint(k).name for k in range(model.njnt)][-robot.nj :]
        if not names == behind == list(robot.joint_names):
            raise FootfallError("MuJoCo orders the joints of the bench's robot differently")
        return MuJoCoStand(model, robot)

    def data(self, state: State, targets: Float[ndarray, "nj"]) -> MjData:
        """Return a new MjData in our state."""
        data = mujoco.library().MjData(self.model)
        data.qpos[:] = state.q
        data.qvel[:] = to_mujoco_v(self.robot, state.q, state.v)
        data.ctrl[:] = targets
        return data

    def after(self, state: State, targets: Float[ndarray, "nj"], dt: float, steps: int) -> MjData:
        """Return MjData after steps of a given length; the state may have diverged."""
        self.model.opt.timestep = dt
        data = self.data(state, targets)
        mujoco.library().mj_step(self.model, data, nstep=steps)
        return data


@dataclass
class Settled:
    """A robot that has stood in MuJoCo for a second, the easiest case for its solver: every round begins here."""

    stand: MuJoCoStand
    rest: MjData  # MjData, constant
    data: MjData  # MjData, stepped

    @staticmethod
    def build(integrator: str, cone: str, robot: Robot | None = None) -> Settled:
        mj, stand = mujoco.library(), MuJoCoStand.build(integrator, cone, subject.DT, robot)
        rest = stand.after(*subject.standing(robot), subject.DT, round(_SETTLING / subject.DT))
        if rest.ncon != stand.robot.nf:
            raise FootfallError(f"MuJoCo's robot stands on {rest.ncon} feet, not {stand.robot.nf}")
        return Settled(stand, rest, mj.MjData(stand.model))

    def reset(self) -> None:
        mujoco.library().mj_copyData(self.data, self.stand.model, self.rest)


def step_task(name: str, integrator: str, cone: str, robot: Robot | None = None) -> Task:
    """Return a task of mj_step on a standing robot, many steps per call."""
    mj, settled = mujoco.library(), Settled.build(integrator, cone, robot)
    model, data = settled.stand.model, settled.data
    return Task(
        name=name, run=lambda count: mj.mj_step(model, data, nstep=count), per="robot-step", before=settled.reset
    )


def rollout_task(
    name: str, integrator: str, cone: str, robots: int = 2, steps: int = 100, robot: Robot | None = None
) -> Task:
    """Return a task of mujoco.rollout on standing robots in the calling thread, with a warm-started solver."""
    mj, settled = mujoco.library(), Settled.build(integrator, cone, robot)
    from mujoco import rollout

    model, rest = settled.stand.model, settled.rest
    what = mj.mjtState.mjSTATE_FULLPHYSICS.value
    start = np.zeros(mj.mj_stateSize(model, what))
    mj.mj_getState(model, rest, start, what)
    starts, controls = np.tile(start, (robots, 1)), np.tile(rest.ctrl, (robots, steps, 1))
    warm = np.tile(rest.qacc_warmstart, (robots, 1))
    runner, models = rollout.Rollout(nthread=0), [model] * robots

    def run(count: int) -> None:
        for _ in range(count):
            runner.rollout(models, [settled.data], starts, controls, initial_warmstart=warm)

    return Task(name=name, run=run, per="robot-step", items=robots * steps)


def forward_tasks(name: str) -> list[Task]:
    """Return tasks of mj_forward without contacts, and of an empty call to subtract: sensors of a model without any."""
    referee = mujoco.MuJoCo(subject.robot())
    mj, (state, _) = referee.mj, subject.standing()
    referee.data.qpos[:] = state.q
    empty = Task(
        name=f"{name} (binding)", run=looped(mj.mj_sensorPos, referee.model, referee.data), per="call", hidden=True
    )
    return [
        empty,
        Task(name=name, run=looped(mj.mj_forward, referee.model, referee.data), per="evaluation", less=empty.name),
    ]


def pinocchio_tasks(prefix: str) -> list[Task]:
    """Return tasks of aba, rnea and crba, each less the same call on a model of one joint.

    That call also computes a little dynamics, so the difference is slightly too small, in Pinocchio's favour.
    """
    return [
        task
        for key, arguments in (("aba", 3), ("rnea", 3), ("crba", 1))
        for task in _pinocchio_tasks(f"{prefix} {key}", key, arguments)
    ]


def pinocchio_derivative_tasks(name: str) -> list[Task]:
    """Return tasks of computeABADerivatives, in the same way: accelerations by q, v and τ."""
    return _pinocchio_tasks(name, "computeABADerivatives", 3)


def _pinocchio_tasks(name: str, function: str, arguments: int) -> list[Task]:
    """Return tasks of a function of q, or of q, v and a third vector, and of the call to subtract."""
    referee = pinocchio.Pinocchio(subject.robot())
    pin, model = referee.pin, referee.model
    state, _ = subject.standing()
    q, v = referee.q_of(state.q), np.full(model.nv, 0.1)
    small = pin.Model()
    small.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "joint")
    small.appendBodyToJoint(1, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    call, one = getattr(pin, function), np.ones(1)
    empty = looped(call, small, small.createData(), *[one] * arguments)
    full = looped(call, model, referee.data, *(q, v, v)[:arguments])
    binding = f"{name} (binding)"
    return [
        Task(name=binding, run=empty, per="call", hidden=True),
        Task(name=name, run=full, per="evaluation", less=binding),
    ]
