"""The DynaKat report on tipping, in both directions: a walk outside its support, and a fall within the wide margin.

The text of the report uses the polygon of the contact points; its Wide Stability Margin uses all four feet. In a walk,
the centre of mass is outside the first half of the time without tipping. On three feet, the second margin stays
positive while the robot tips over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.analysis.run_stability import Stability, stability
from footfall.control.joint.joint_pd import Hold, JointPD
from footfall.kinematics.iterative.fabrik_leg import contact_angle
from footfall.kinematics.leg_chain import foot_position, leg_chain
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import knee_direction, leg_inverse
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall_lab.papers.claims import Claim, assess

LIFTED = "LF"
AHEAD, UP = 0.03, 0.05  # [m], of the trunk ahead of the standing feet, and of the lifted foot above the ground
TIPPED = 5.0  # [deg] tilt from the initial posture


@dataclass(frozen=True)
class Tipping:
    """A robot on three feet: the margins [m] until it had tipped, and when [s]; None: it stood."""

    rec: Recording
    wide: float  # the least value until then
    static: float  # the initial value
    when: float | None


def on_three_feet(robot: Robot, seconds: float = 1.0) -> Tipping:
    """Stand stiffly on three feet, with the centre of mass outside their polygon but within that of all four."""
    stand = robot.poses["stand"].joints
    joints = stand.copy()
    for foot in robot.foot_names:
        leg, geometry = leg_chain(robot, foot), leg_geometry(robot, foot)
        now = stand[list(leg.joints)]
        moved = foot_position(leg, now) + np.array([0.0, 0.0, UP] if foot == LIFTED else [-AHEAD, 0.0, 0.0])
        pitch, knee = float(contact_angle(leg, now)), knee_direction(geometry, now)
        joints[list(leg.joints)] = leg_inverse(robot, foot, moved, knee, foot_pitch=pitch).joints
    gains = JointPD.tuned(robot, "walk")
    hold = Hold(joints, 4.0 * gains.kp, 4.0 * gains.kd)
    rec = Simulation(robot, hold, start=standing_start(robot, hold), stop_on_fall=False).run(seconds)
    margins = stability(rec)
    euler = np.degrees(rec.trunk_euler()[:, 1:])
    tilt = np.interp(margins.time, rec.time, np.linalg.norm(euler - euler[0], axis=1))
    tipped = tilt > TIPPED
    until = int(np.argmax(tipped)) if tipped.any() else len(tilt) - 1
    three = np.flatnonzero(margins.contact.sum(axis=1) == 3)
    began = int(three[0]) if len(three) else 0
    return Tipping(
        rec,
        float(margins.wide[: until + 1].min()),
        float(margins.static[began]),
        float(margins.time[until]) if tipped.any() else None,
    )


def claims(experiment: str, walk: Recording, margins: Stability, upright: bool, tipping: Tipping) -> list[Claim]:
    """Assess whether a robot outside the polygon of its contacts tips, and whether the margin predicts it."""
    outside = 100.0 * float(np.mean(margins.static < 0.0))
    when = f"tips by {TIPPED:g} degrees in {tipping.when:.2f} s" if tipping.when is not None else "stands"
    return [
        assess(
            experiment,
            "fabrik_in_closed_loop",
            walk.mean_speed(1.0),
            f"{walk.duration:.0f} s of walk, {'upright' if upright else 'it falls'}; each tick starts from the joints"
            " of the last.",
            holds=upright and walk.mean_speed(1.0) > 0.05,
        ),
        assess(
            experiment,
            "wsm_through_walk",
            outside,
            f"In {walk.duration:.0f} s of walk, FABRIK in the compiled loop, {walk.mean_speed(1.0):.3f} m/s, the centre"
            f" of mass is outside the polygon of the contact points {outside:.0f} % of the time and the robot does"
            f"{' not' if upright else ''} tip: it steps first. The margin over all four feet, touching or"
            " not,"
            f" is then {1e3 * margins.wide.min():.0f} to {1e3 * margins.wide.max():.0f} mm.",
            holds=not (upright and outside > 0.0),
        ),
        assess(
            experiment,
            "wsm_measures_tipping",
            1e3 * tipping.static,
            f"On three feet, the centre of mass {-1e3 * tipping.static:.0f} mm beyond them, the robot {when}: the"
            " margin by contact points predicts it. Over all four feet, as its name implies, the margin stays"
            f" {1e3 * tipping.wide:.0f} mm or more and does not predict it.",
            holds=tipping.when is not None and tipping.static < 0.0,
        ),
    ]
