"""The start of a simulation: a standing controller, the initial state, and its checks.

Unless given, the start is the posture of the controller's first command, with every foot on or above the ground.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground, Plane
from footfall.control.interface import Command, Controller, Sensed, as_controller
from footfall.control.joint.joint_pd import Hold
from footfall.control.stand_gains import stand_gains
from footfall.errors import FootfallError, InputError
from footfall.kinematics.forward import body_poses
from footfall.robot.model.description import Robot
from footfall.sensing.emergency_stop import EmergencyStop, EmergencyStopWrapper
from footfall.sensing.sensors import Sensors, SensorWrapper
from footfall.sim.arguments import check_controller_result
from footfall.sim.world import World
from footfall.spatial import quaternion
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import Given
from nptrace.array_types import Float


def standing_controller(robot: Robot, dt: float, gravity: Gravity) -> Controller:
    """Return a controller that holds the stand, at about 1 kHz in whole steps."""
    pose = "stand" if "stand" in robot.poses else np.zeros(robot.nj)
    return Hold(pose, *stand_gains(robot, gravity), rate=1.0 / (dt * max(1, round(1e-3 / dt))))


def start_state(robot: Robot, start: Given) -> tuple[ndarray, ndarray]:
    """Return (q, v) of a pose's name, joint positions, or (q, v) itself; the stand, or zero joints, unless given."""
    if isinstance(start, tuple) and len(start) == 2:
        try:
            q, v = (np.asarray(x, dtype=float) for x in start)
        except (TypeError, ValueError, OverflowError):
            raise InputError("the start must be a pose's name, joint positions, or (q, v) of numbers") from None
    else:
        q, v = robot.state("stand" if start is None and "stand" in robot.poses else start)
    for name, array, size in (("q", q, robot.nq), ("v", v, robot.nv)):
        if array.shape != (size,):
            raise InputError(f"{name} of robot '{robot.name}' must have shape ({size},), got {array.shape}")
        if not np.isfinite(array).all():
            raise InputError(f"the start has a value of {name} that is not finite")
    if robot.floating:
        length = np.sqrt(q[3:7] @ q[3:7])
        if abs(length - 1.0) > 1e-6:
            raise InputError(f"the quaternion of the start has length {length:.6g}, not 1")
        q = np.concatenate([q[:3], q[3:7] / length, q[7:]])
    return q, v


def wrap_with_sensors(
    controller: Controller, sensors: Sensors | None, stop: EmergencyStop | None, gravity: tuple[float, float, float]
) -> Controller:
    """Return a controller behind sensors and an emergency stop, if there are any."""
    if sensors is not None:
        controller = SensorWrapper(controller, sensors, gravity)
    elif as_controller(controller).info.needs_sensors:
        raise InputError("an estimator needs sensors: Simulation(..., sensors=Sensors.realistic())")
    return controller if stop is None else EmergencyStopWrapper(controller, stop)


# -- the posture that a controller stands in ---------------------------------------------------------------------------
def standing_start(
    robot: Robot,
    controller: Controller,
    ground: Ground | None = None,
    command: Command | None = None,
    clearance: float = 0.0,
    gravity: Gravity = GRAVITY,
) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """Return a state at rest with the joints at the controller's first targets.

    The base is parallel to the ground. A fixed base does not move.

    Args:
        robot: The robot.
        controller: The controller.
        ground: The ground; a level plane unless given.
        command: Velocity command.
        clearance: Clearance of the lowest foot over the ground [m].
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        q and v.
    """
    surface = Plane() if ground is None else ground
    q, v = (array.copy() for array in robot.state("stand" if "stand" in robot.poses else None))
    controller = as_controller(controller)
    joints = controller.posture(robot)
    if joints is None:
        sensed = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3)), gravity=gravity)
        joints = _first_posture(robot, controller, sensed, command or Command())
    if not robot.floating:
        return np.array(joints, dtype=float), np.zeros(robot.nv)
    R_WB = surface.frame(np.zeros(3))
    q = np.concatenate([np.zeros(3), quaternion.from_rotation(R_WB), joints])
    poses, tree = body_poses(robot, q), robot.tree
    heights = [
        float(surface.distance(poses[body].point(p))) - foot.radius
        for foot, body, p in zip(robot.feet, tree.feet, tree.foot_positions)
    ]
    if not heights:
        raise InputError(f"robot '{robot.name}' has no feet to stand on")
    q[2] += (clearance - min(heights)) / R_WB[2, 2]
    return q, np.zeros(robot.nv)


def _first_posture(robot: Robot, controller: Controller, sensed: Sensed, command: Command) -> Float[ndarray, "nj"]:
    """Return the controller's first joint targets; its errors are reported with its name."""
    name = controller.name
    try:
        result = controller(0.0, robot, sensed, command, controller.start(robot))
    except FootfallError:
        raise
    except Exception as error:
        raise FootfallError(f"controller {name} raised {type(error).__name__} at its first tick: {error}") from error
    first, _ = check_controller_result(result, f"controller {name}")
    return np.asarray(first.broadcast(robot.nj).position)


# -- checks of a start -------------------------------------------------------------------------------------------------
def check_clear(world: World, q: ndarray) -> None:
    """Raise for a start inside the ground, where contact forces would eject the robot."""
    hole = over_hole(world, q)
    if hole is not None:
        raise InputError(f"the robot cannot start there: {hole}")
    depth, name = deepest(world, q)
    if depth > 5e-3:
        raise InputError(f"the start puts '{name}' {1e3 * depth:.1f} mm inside the ground: raise the base")


def deepest(world: World, q: ndarray) -> tuple[float, str]:
    """Return (depth in the ground [m], name) of the deepest sphere; negative above it."""
    poses = body_poses(world.robot, q)
    depths = [
        (sphere.radius - float(world.ground.distance(poses[sphere.body].point(sphere.center))), sphere.name)
        for sphere in world.spheres
    ]
    return max(depths, key=lambda found: found[0], default=(-np.inf, ""))


def over_hole(world: World, q: ndarray) -> str | None:
    """Return which sphere lies above a hole in the ground, if any."""
    if world.robot.floating and not 0.5 < float(np.linalg.norm(q[3:7])) < 2.0:
        return None
    poses = body_poses(world.robot, q)
    for sphere in world.spheres:
        p_W = poses[sphere.body].point(sphere.center)
        if np.isfinite(p_W).all() and np.isnan(world.ground.distance(p_W)):
            return f"the ground has a hole under '{sphere.name}' at ({p_W[0]:.3f}, {p_W[1]:.3f}) m"
    return None
