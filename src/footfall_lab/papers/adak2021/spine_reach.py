"""Claims of the survey of Adak et al. 2021 about the effect of a spine on the reach and the velocity of a foot."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.compiling import compile
from footfall.kinematics import feet_jacobian
from footfall.kinematics.forward import foot_positions
from footfall.robot.model.description import Robot
from footfall_lab.papers.claims import Claim, assess
from nptrace.array_types import Float

NAME = "adak2021"
FOOT, SPINE = "LF", "spine_pitch"
CUBE, BAND = 0.05, 0.01  # [m]
STEPS = (15, 41, 41, 21)  # postures of abad, hip, knee and spine, evenly spaced within their limits


def claims(robot: Robot) -> list[Claim]:
    """Assess the workspace, the fore-aft range and the velocity of a foot."""
    held, free = (reach(robot, steps) for steps in (1, STEPS[-1]))
    volumes = [len(np.unique(np.round(places / CUBE).astype(int), axis=0)) * CUBE**3 for places in (held, free)]
    height = foot_positions(robot, _level(robot))[robot.foot_index(FOOT)][2]
    ranges = [float(np.ptp(p[np.abs(p[:, 2] - height) < BAND][:, 0])) for p in (held, free)]
    speeds = foot_speeds(robot)
    return [
        assess(
            NAME,
            "spine_enlarges_workspace",
            volumes[1] / volumes[0],
            f"{1e3 * volumes[1]:.0f} against {1e3 * volumes[0]:.0f} litres; {free.shape[0]} postures.",
        ),
        assess(
            NAME,
            "spine_extends_legs",
            ranges[1] / ranges[0],
            f"{1e3 * ranges[1]:.0f} against {1e3 * ranges[0]:.0f} mm.",
        ),
        assess(
            NAME,
            "spine_speeds_feet",
            speeds[1] / speeds[0],
            f"{speeds[1]:.3f} against {speeds[0]:.3f} m/s.",
        ),
    ]


def reach(robot: Robot, steps: int) -> Float[ndarray, "n 3"]:
    """Return positions of a foot in axes of the main body, on a grid of joint angles within limits [m].

    Args:
        robot: The robot.
        steps: Postures of the spine; 1 keeps it straight.
    """
    names = [f"{FOOT}_abad", f"{FOOT}_hip", f"{FOOT}_knee", SPINE]
    limits = {joint.name: (joint.lower, joint.upper) for joint in robot.joints}
    counts = (*STEPS[:-1], steps)
    grids = [np.linspace(*limits[name], count) if count > 1 else np.zeros(1) for name, count in zip(names, counts)]
    columns = [axis.ravel() for axis in np.meshgrid(*grids, indexing="ij")]
    q = np.tile(_level(robot), (len(columns[0]), 1))
    for name, values in zip(names, columns):
        q[:, 7 + robot.joint_names.index(name)] = values
    places = compile(foot_positions, robot, q[0], target="batch", verify=False)(q)
    return np.asarray(places)[:, robot.foot_index(FOOT)]


def foot_speeds(robot: Robot) -> tuple[float, float]:
    """Return the largest fore-aft velocity of a foot, every joint at 1 rad/s: without the spine, and with it [m/s]."""
    row = np.abs(feet_jacobian(robot, _level(robot), "world")[robot.foot_index(FOOT), 3, robot.nv - robot.nj :])
    spine = row[robot.joint_names.index(SPINE)]
    legs = sum(row[robot.joint_names.index(f"{FOOT}_{joint}")] for joint in ("abad", "hip", "knee"))
    return float(legs), float(legs + spine)


def _level(robot: Robot) -> Float[ndarray, "nq"]:
    """Return the standing posture, the body at the origin and level."""
    q = robot.state("stand")[0].copy()
    q[:3], q[3:7] = 0.0, (1.0, 0.0, 0.0, 0.0)
    return q
