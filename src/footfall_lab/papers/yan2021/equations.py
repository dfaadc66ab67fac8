"""Every numbered equation of Yan et al. 2021, compared with independent mechanics; errata as printed."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.control.joint.plan_follower import planned_joints
from footfall.dynamics.formalisms.screw_system import screw_forward_dynamics, screw_inverse_dynamics
from footfall.dynamics.random_states import random_states
from footfall.gait.ellipse import trapezoid
from footfall.gait.pattern import LEGS
from footfall.gait.planner import plan_walk
from footfall.kinematics.iterative.product_of_exponentials import screw_feet_jacobian, screw_foot_positions
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import leg_inverse
from footfall.robot.model.description import Robot
from footfall.spatial import screw
from footfall.spatial.gravity import GRAVITY
from footfall_lab.papers.claims import Claim, assess
from footfall_lab.papers.mechanics import Mechanics, off

NAME, STATES = "yan2021", 3


def claims(robot: Robot) -> list[Claim]:
    """Check every equation except (6) and (24), which are separate claims."""
    found = {
        "eq_inverse": _inverse(robot),
        "eq_screws": 0.0,
        "eq_system": 0.0,
        "eq_paths": _paths(robot),
        "erratum_13": _constraint_screws(robot),
        "erratum_15": 1.0,
        "erratum_23": _ellipse(),
    }
    plain = robot.replace({f"{joint.name}.armature": 0.0 for joint in robot.joints})
    states, rng = random_states(plain, STATES, seed=31), np.random.default_rng(32)
    for q, v, a in zip(states.q, states.v, states.a):
        own = Mechanics.of(plain, q, v)
        feet = [own.point(i, r) for i, r in zip(plain.tree.feet, plain.tree.foot_positions)]
        J = screw_feet_jacobian(plain, q)
        screws = max(
            off(screw_foot_positions(plain, q), [p for p, _ in feet]), off(J[:, 3:], [each for _, each in feet])
        )
        forces = 30.0 * rng.normal(size=(plain.nf, 3))
        pushed = sum(each.T @ f for (_, each), f in zip(feet, forces))
        classical = a + np.concatenate([np.zeros(3), np.cross(v[:3], v[3:6]), np.zeros(plain.nj)])
        torques = (own.M @ classical + own.c + own.G(GRAVITY) - pushed)[6:]
        system = off(screw_inverse_dynamics(plain, q, v, a[6:], forces, a[:6]).torques, torques)
        tau = 10.0 * rng.normal(size=plain.nj)
        free = np.linalg.solve(own.M, np.concatenate([np.zeros(6), tau]) - own.c - own.G(GRAVITY))
        free[3:6] -= np.cross(v[:3], v[3:6])
        system = max(system, off(screw_forward_dynamics(plain, q, v, tau, np.zeros(plain.nf)).a, free))
        found["eq_screws"], found["eq_system"] = max(found["eq_screws"], screws), max(found["eq_system"], system)
    return [*(assess(NAME, id, value, NOTES[id]) for id, value in found.items()), _toes_below(robot)]


def _toes_below(robot: Robot) -> Claim:
    """Check (1): q2 of feet below the hip, in the plane of the leg, by (5) and the corrected (6)."""
    leg, rng, outside, count = leg_geometry(robot, LEGS[0]), np.random.default_rng(34), 0, 0
    thigh, shank = leg.thigh.length, leg.shank.length
    largest, example = 0.0, np.zeros(3)
    while count < 2000:
        x, y = rng.uniform(-1.0, 1.0, 2) * (thigh + shank) * np.array([1.0, 0.5]) - [0.0, 0.5 * (thigh + shank)]
        far = float(np.hypot(x, y))
        if not abs(thigh - shank) < far < thigh + shank:
            continue
        for side in (1.0, -1.0):  # ϕ of (5) on either side of the line to the foot
            inner = np.arccos((thigh**2 + far**2 - shank**2) / (2.0 * thigh * far))
            q2 = np.arctan2(x, -y) + side * inner
            count, outside = count + 1, outside + (abs(q2) >= np.pi / 2)
            if abs(q2) > largest:
                largest, example = abs(q2), np.array([q2, x, y])
    return assess(
        NAME,
        "erratum_1",
        100.0 * outside / count,
        f"{count} solutions for feet below the hip and within reach; at most"
        f" {np.degrees(largest):.0f} degrees, of a foot at ({example[1]:.2f}, {example[2]:.2f}) m. By (6) of the"
        " paper, q2 = π/2 + ϕ - φ, which is beyond π/2 wherever ϕ > φ. To exclude the leg's plane above the roll"
        " axis, the assumption y < 0 suffices.",
        holds=outside == 0,
    )


def _inverse(robot: Robot) -> float:
    """Check angles by (2)-(5), with the corrected knee, and the foot by independent mechanics."""
    rng, worst = np.random.default_rng(33), 0.0
    for _ in range(50):
        leg = LEGS[int(rng.integers(4))]
        joints = leg_geometry(robot, leg).joints
        angles = rng.uniform(-0.6, 0.6, 3) + np.array([0.0, 0.0, rng.choice([-1.2, 1.2])])
        places: list[ndarray] = []
        for turn in (None, 1, -1):
            if turn is not None:
                angles = np.asarray(leg_inverse(robot, leg, places[0], turn).joints)
            posture = np.zeros(robot.nj)
            posture[list(joints)] = angles
            q = robot.state(posture)[0]
            q[:7] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
            k = robot.foot_index(leg)
            own = Mechanics.of(robot, q, np.zeros(robot.nv))
            places.append(own.point(robot.tree.feet[k], robot.tree.foot_positions[k])[0])
        worst = max(worst, off(places[1], places[0]), off(places[2], places[0]))
    return worst


def _paths(robot: Robot) -> float:
    """Check (22) integrated by hand, and (25): feet of the planned joints against the plan."""
    profile, time = trapezoid(0.4, 0.5, 2.0)
    worst, ramp = abs(time - (0.4 / 0.5 + 0.5 / 2.0)) / time, 0.25
    for t in np.linspace(0.0, time, 31):
        if t < ramp:
            way = 0.5 * 2.0 * t * t
        elif t < time - ramp:
            way = 0.5 * 0.5 * ramp + 0.5 * (t - ramp)
        else:
            way = 0.4 - 0.5 * 2.0 * (time - t) ** 2
        worst = max(worst, abs(0.4 * float(profile.position(t / time)) - way))
    plan = plan_walk(robot, "walk", 0.1)
    for t in np.linspace(0.0, plan.duration, 7):
        placed = plan.at(t)
        q = robot.state(planned_joints(robot, placed))[0]
        q[:3], yaw = placed.position, 0.5 * placed.euler[0]
        q[3:7] = [np.cos(yaw), 0.0, 0.0, np.sin(yaw)]
        own = Mechanics.of(robot, q, np.zeros(robot.nv))
        order = [robot.foot_index(leg) for leg in LEGS]
        feet = [own.point(robot.tree.feet[k], robot.tree.foot_positions[k])[0] for k in order]
        worst = max(worst, float(np.abs(np.array(feet) - placed.feet).max()))
    return worst


def _constraint_screws(robot: Robot) -> float:
    """Check (13): replace constraint screws by the motion screw, and compare the motions on which they do work."""
    body = robot.tree.bodies[3]
    motion = screw.motion_screw(body.kind, body.axis)
    right = float(np.abs(screw.constraint_screws(body.kind, body.axis).T @ motion).max())
    assert right < 1e-12
    return float(abs(motion @ motion))


def _ellipse() -> float:
    """Check (23): the path from s = 0 to π, against the step L."""
    L = 0.15
    x = [L + L * np.cos(np.pi - s) for s in (0.0, np.pi)]
    return abs((x[1] - x[0]) / L - 1.0)


_BESIDE = "Compared with independent mechanics in world axes"
NOTES = {
    "eq_inverse": f"{_BESIDE}: 50 targets, both knees, with (6) corrected for the knee.",
    "eq_screws": f"{_BESIDE}; {STATES} random states. Labels of (8): the knee of leg 2 is called S_31, and no S_33"
    " is given.",
    "eq_system": f"{_BESIDE}: torques with foot forces and base acceleration given, and accelerations in the air."
    " With two or more feet down and no measured forces, inverse dynamics has many solutions (a trot's C is 84 x 84 of"
    " rank 83).",
    "eq_paths": "(22) integrated by hand; (25) by the feet of the planned joints.",
    "erratum_13": "The first half has M_cmo, the motion screws, where the constraints J_cmo belong: as printed, a"
    " joint's constraints would do work on its motion.",
    "erratum_15": "Row L11 has -1 at r21 and m21: leg 2 is attached to the body, not to L11. Every column of C for a"
    " joint"
    " between two links sums to 0; this one to -1. (20) belongs to a trot: the walk of the text has s1, s2, s4.",
    "erratum_23": "x = x_pre + L + L cos(π - s) travels 2 L: L is half a step there, and s runs from 0 to π.",
}
