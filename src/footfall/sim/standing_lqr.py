"""A linear-quadratic regulator for standing: settle the robot, linearise its step there, solve for the gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from footfall import hints
from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.control.interface import JointCommand
from footfall.control.joint.joint_pd import Hold
from footfall.control.optimal.lqr import LqrStand, StandWeights
from footfall.control.posture import standing_joints
from footfall.control.stand_gains import stand_gains
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.sim.linearization import LinearStep
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import Given

_SETTLING = 2.0  # [s]


@hints.takes(hints.LQR)
def lqr_stand(
    robot: Robot,
    *,
    rate: float = 1000.0,
    dt: float = 1e-3,
    weights: StandWeights | None = None,
    pose: Given = None,
    contact: Given = None,
    friction: float = 0.8,
    gravity: Gravity = GRAVITY,
) -> LqrStand:
    """Return an LQR controller that balances a standing robot, for level ground and compliant contact.

    Args:
        robot: The robot.
        rate: Rate of the controller [Hz].
        dt: Step of the linearization [s].
        weights: Weights of states and torques.
        pose: Joint angles, or the name of a pose; ``stand`` unless given.
        contact: Contact model; the default one unless given.
        friction: Coefficient of friction of the ground.
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        The controller.
    """
    if not robot.floating or robot.nf < 3:
        raise InputError(f"robot '{robot.name}' cannot stand: it needs a floating base and three feet")
    kp, kd = stand_gains(robot, gravity)
    joints = standing_joints(robot) if pose is None else robot.state(pose)[0][robot.nq - robot.nj :]
    hold, ground = Hold(joints, kp=kp, kd=kd, rate=rate), Plane(friction=friction)
    sim = Simulation(
        robot,
        hold,
        contact=contact or Compliant(),
        ground=ground,
        dt=dt,
        gravity=gravity,
        start=standing_start(robot, hold, ground),
    )
    sim.run(_SETTLING)
    if sim.stopped is not None:
        raise InputError(f"robot '{robot.name}' cannot stand in this pose: {sim.stopped.message}")
    joints = sim.q[robot.nq - robot.nj :]
    command = JointCommand(joints, 0.0, hold.kp, hold.kd, sim.state.motor)
    # dry friction holds resting joints: to the regulator they would seem locked
    world = replace(sim.model.world, joints=replace(sim.model.world.joints, dry_friction=False))
    at = LinearStep(world, dt)(sim.q, np.zeros(robot.nv), command)
    return LqrStand.designed(robot, at.A, at.B, sim.q, command, rate, weights, gravity)
