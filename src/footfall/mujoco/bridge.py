"""Any footfall controller inside a user's MuJoCo loop.

    walker = ff.mujoco.Bridge(robot, ff.control.on_command("whole_body"), model)
    while True:
        walker.set_command(forward=0.4)
        ff.mujoco.step(model, data, walker)                 # a tick of the controller, and the steps that fit into it

The model is the user's: joints are found by name, feet by the bodies that carry them. Torques go to a motor of the
joint where the model has one, and otherwise to ``qfrc_applied``. Gains of a ``JointCommand`` are evaluated anew in
every ``mj_step``.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, JointCommand
from footfall.conversions import from_mujoco, mujoco_joints
from footfall.errors import InputError
from footfall.mujoco.model import library
from footfall.mujoco.run import CompiledController
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from nptrace._types import Foreign, Given, PyTree


class Bridge:
    """A footfall controller that drives a robot in a user's ``MjModel``.

    Args:
        robot: The robot in footfall, such as ``ff.load("robot.xml")`` from the model's file.
        controller: A footfall controller, a policy, or a user-defined controller.
        model: The ``MjModel``; its timestep must divide the controller's period.
        command: The command until ``set_command`` changes it; that of the controller's gait unless given.

    Raises:
        InputError: A joint of the robot is not in the model, or the timestep does not fit the controller's rate.
    """

    def __init__(self, robot: Robot, controller: Controller, model: Foreign, command: Command | None = None) -> None:
        given: dict[str, Given] = {} if command is None else {"command": command}
        x, y, z = (float(g) for g in model.opt.gravity)
        self.simulation = Simulation(robot, controller, dt=float(model.opt.timestep), gravity=(x, y, z), **given)
        self.robot = self.simulation.robot
        self._controller = CompiledController(self.simulation)
        self._joints = mujoco_joints(self.robot, model)
        self._at_q, self._at_v = model.jnt_qposadr[self._joints], model.jnt_dofadr[self._joints]
        self._motors = _motors(model, self._joints)
        self._feet = _feet(self.robot, model)
        limits = {a.joint: a.torque_limit for a in self.robot.actuators}
        self._limits = np.array([limits.get(name, np.inf) for name in self.robot.joint_names])
        self.reset()

    def reset(self) -> None:
        """Reset the controller's memory and its time."""
        self.memory: PyTree = self.simulation.model.acting.start(self.robot)
        self.ticks = 0

    def set_command(self, command: Command | None = None, **parts: float) -> None:
        """Command another velocity or posture, as ``Simulation.set_command`` does."""
        self.simulation.set_command(command, **parts)

    def control(self, model: Foreign, data: Foreign) -> JointCommand:
        """Call the controller with MuJoCo's state, and return its joint command."""
        period = self.simulation.model.period
        q, v = from_mujoco(self.robot, data.qpos, data.qvel, model)
        command, self.memory = self._controller(self.ticks * period, q, v, self._forces(model, data), self.memory)
        self.ticks += 1
        return command

    def apply(self, model: Foreign, data: Foreign, command: JointCommand) -> None:
        """Write the torques of a joint command into ``data``, from the joints as they are now."""
        position, rate = data.qpos[self._at_q], data.qvel[self._at_v]
        torque = command.kp * (command.position - position) + command.kd * (command.velocity - rate) + command.torque
        torque = np.clip(torque, -self._limits, self._limits)
        driven = self._motors >= 0
        motors = self._motors[driven]
        data.ctrl[motors] = torque[driven] / model.actuator_gear[motors, 0]
        data.qfrc_applied[self._at_v[~driven]] = torque[~driven]

    def step(self, model: Foreign, data: Foreign) -> None:
        """Advance by one tick of the controller, with as many steps of MuJoCo as fit into its period."""
        mj = library()
        command = self.control(model, data).broadcast(self.robot.nj)
        for _ in range(self.simulation.model.substeps):
            self.apply(model, data, command)
            mj.mj_step(model, data)

    def _forces(self, model: Foreign, data: Foreign) -> ndarray:
        """Return the force of the rest of the world on every foot, world axes [N]."""
        mj, forces, wrench = library(), np.zeros((self.robot.nf, 3)), np.zeros(6)
        for c in range(data.ncon):
            contact = data.contact[c]
            mj.mj_contactForce(model, data, c, wrench)
            force_W = contact.frame.reshape(3, 3).T @ wrench[:3]  # on geom2
            for geom, sign in ((int(contact.geom2), 1.0), (int(contact.geom1), -1.0)):
                if geom in self._feet:
                    forces[self._feet[geom]] += sign * force_W
        return forces


def step(model: Foreign, data: Foreign, controller: Bridge) -> None:
    """Run one tick of a footfall controller in a MuJoCo loop, with the ``mj_step`` calls within it.

    Args:
        model: The ``MjModel``.
        data: Its ``MjData``, which is advanced.
        controller: a ``Bridge``, which knows the robot and keeps the controller's memory.
    """
    if not isinstance(controller, Bridge):
        raise InputError(
            f"step takes a Bridge, which keeps a controller's memory: Bridge(robot, controller, model), got"
            f" {type(controller).__name__}"
        )
    controller.step(model, data)


def _motors(model: Foreign, joints: ndarray) -> ndarray:
    """Return the actuator that applies torque to every joint, as a plain motor does; -1 where there is none."""
    mj, found = library(), np.full(len(joints), -1)
    for k in range(model.nu):
        plain = (
            model.actuator_trntype[k] == mj.mjtTrn.mjTRN_JOINT
            and model.actuator_dyntype[k] == mj.mjtDyn.mjDYN_NONE
            and model.actuator_gaintype[k] == mj.mjtGain.mjGAIN_FIXED
            and model.actuator_biastype[k] == mj.mjtBias.mjBIAS_NONE
            and model.actuator_gainprm[k, 0] == 1.0
        )
        at = np.flatnonzero(joints == model.actuator_trnid[k, 0])
        if plain and len(at):
            found[at[0]] = k
        elif len(at):
            joint = model.joint(int(joints[at[0]])).name
            raise InputError(
                f"actuator '{model.actuator(k).name}' of joint '{joint}' is not a motor: give the joint a <motor>, or"
                " no actuator, so that the controller's torques act on it"
            )
    return found


def _feet(robot: Robot, model: Foreign) -> dict[int, int]:
    """Return the foot to which a geom belongs: that of the body that carries it, or of a body welded to it."""
    joints = {name: int(number) for name, number in zip(robot.joint_names, mujoco_joints(robot, model))}
    found: dict[int, int] = {}
    for k, body in enumerate(robot.tree.feet):
        joint = robot.tree.bodies[body].joint
        if joint is None or joint.name not in joints:
            continue
        welded = model.body_weldid[model.jnt_bodyid[joints[joint.name]]]
        found |= {int(geom): k for geom in np.flatnonzero(model.body_weldid[model.geom_bodyid] == welded)}
    return found


__all__ = ["Bridge", "step"]
