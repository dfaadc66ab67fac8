"""Smooth joint-space moves between postures, and the lying posture of a robot."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import JointCommand
from footfall.control.posture import standing_joints
from footfall.control.stand_gains import stand_gains
from footfall.errors import InputError
from footfall.kinematics.forward import foot_positions, joint_transforms, poses_in_base
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Foot
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace.array_types import Float

# height of the hips as a fraction of the stretched leg; the first that fits is used
_FOLDED = (0.25, 0.3, 0.35, 0.4, 0.5, 0.6)
_FASTEST = 2.5  # top speed of any joint in a glide [rad/s]


@dataclass(frozen=True)
class Glide:
    """A fifth-order path through postures, at rest at each; ``kp`` and ``kd`` increase over the first ``ramp`` of
    time.
    """

    postures: tuple[Float[ndarray, "nj"], ...]
    times: tuple[float, ...]  # times of the postures [s]
    kp: float
    kd: float
    ramp: float = 0.0  # [s]

    @property
    def end(self) -> float:
        return self.times[-1]

    def command(self, t: float) -> JointCommand:
        """Return the command at a time [s]; the last posture is held."""
        k = int(np.clip(np.searchsorted(self.times, t) - 1, 0, len(self.times) - 2))
        span = self.times[k + 1] - self.times[k]
        s = float(np.clip((t - self.times[k]) / span, 0.0, 1.0))
        step = self.postures[k + 1] - self.postures[k]
        position = self.postures[k] + step * (s**3 * (10 - 15 * s + 6 * s**2))
        rate = step * (30 * s**2 * (1 - s) ** 2) / span
        grown = 1.0 if self.ramp <= 0 else float(np.clip((t - self.times[0]) / self.ramp, 0.0, 1.0))
        return JointCommand(position, rate, kp=grown * self.kp, kd=self.kd).broadcast(len(position))


def glide(
    robot: Robot,
    begun: float,
    postures: Sequence[Float[ndarray, "nj"]],
    seconds: float = 1.0,
    ramp: float = 0.0,
    gravity: Gravity = GRAVITY,
) -> Glide:
    """Return a glide from the first posture through the others, ``seconds`` each, or longer where a joint moves far."""
    times, kp_kd = [begun], stand_gains(robot, gravity)
    for one, other in itertools.pairwise(postures):
        times.append(times[-1] + max(seconds, 1.875 * float(np.abs(other - one).max(initial=0.0)) / _FASTEST))
    return Glide(tuple(postures), tuple(times), float(kp_kd[0]), float(kp_kd[1]), ramp)


def lying_joints(robot: Robot) -> Float[ndarray, "nj"]:
    """Return the joints with the legs folded below the hips, as far as their limits permit."""
    leg = leg_geometry(robot, robot.foot_names[0], nearly=True)
    for part in _FOLDED:
        with contextlib.suppress(InputError):
            return standing_joints(robot, part * leg.stretch + leg.radius)
    return standing_joints(robot)


_BELLY = 0.13  # fraction of the stretched leg: how far the trunk reaches below the hips


def belly(robot: Robot) -> list[Foot]:
    """Return the spheres on which the robot lies when its legs give way: one below and one above every hip, for its
    trunk.
    """
    tree = robot.tree
    poses = poses_in_base(robot, joint_transforms(robot, robot.state()[0]))
    hips = [next(body for body in tree.support[foot] if body) for foot in tree.feet]
    drop = np.array([0.0, 0.0, _BELLY * leg_geometry(robot, robot.foot_names[0], nearly=True).stretch - 0.01])
    places = [poses[hip].p + side * drop for hip in hips for side in (-1.0, 1.0)]
    return [
        Foot(name=f"belly_{k}", link=tree.bodies[0].name, position=place, radius=0.01) for k, place in enumerate(places)
    ]


def lying_state(robot: Robot) -> tuple[ndarray, ndarray]:
    """Return (q, v) at rest on folded legs."""
    q, v = robot.state(lying_joints(robot))
    soles = foot_positions(robot, q)[:, 2] - np.array([foot.radius for foot in robot.feet])
    q[2] -= float(soles.min())
    return q, v


__all__ = ["Glide", "belly", "glide", "lying_joints", "lying_state"]
