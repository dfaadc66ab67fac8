"""One knot of full-order optimal control: the whole robot over one interval, with scheduled stance feet.

A stance foot is held in place by a damper evaluated at the end of the interval,

    (M + m Σ JᵀJ) a = Sᵀτ - h + m/Δ Σ Jᵀ (wanted - J v),   f = m/Δ (wanted - J v⁺)

with m many times the robot's mass: it creeps by less than a millimetre a second, the branches of M stay decoupled (one
factorisation without fill-in), and nothing switches, so that the motion is differentiable. ``wanted`` is zero except
for the normal, which closes a gap. Inequalities (torque, friction, joint range, clearance of feet) are logarithmic
barriers continued by a parabola (Hauser & Saccon 2006): finite for a motion that violates one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy import ndarray

import nptrace
from footfall.contact.ground import Plane
from footfall.contact.points import contact_points, spheres_of
from footfall.dynamics.composite_bias import composite_bias
from footfall.dynamics.coordinates import difference, integrate
from footfall.dynamics.factor import solution
from footfall.dynamics.mass_matrix import composite_bodies, composite_mass_matrix
from footfall.identity import digest_of
from footfall.kinematics.forward import joint_positions, joint_transforms, poses_in_base
from footfall.robot.model.description import Robot
from footfall.spatial import Transform
from footfall.spatial.gravity import GRAVITY, Gravity, weight_of
from footfall.spatial.quaternion import rotated_in_a_step, to_rotation
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float
from nptrace.autodiff import nested

FOOT_DAMPER_MASS = 60.0  # m of a stance foot's damper, as a multiple of the robot's mass
GAP_CLOSED_FRACTION = 0.5  # fraction of a gap that is closed in an interval
CONE_ROUNDING = 1.0  # [N], below which the friction cone is rounded
# start of the parabola, as a fraction of each scale
_PARABOLA_START = {"torque": 0.05, "friction": 0.02, "range": 0.03, "clearance": 0.1}
_CLEARANCE = 0.05  # [m], scale of clearances; 1 rad for ranges, the weight for friction, the limit for torque


@dataclass(frozen=True, kw_only=True)
class Goal:
    """The goal of one knot and the cost of missing it; with knots as a first axis, those of a whole horizon."""

    q: Float[ndarray, "*K nq"]
    v: Float[ndarray, "*K nv"]
    weights: Float[ndarray, "*K nd"]  # weights of the deviation's components
    torque: Float[ndarray, "*K nj"]  # [N m]
    effort: Float[ndarray, "*K nj"]  # weight of squared torques
    feet: Float[ndarray, "*K nf 3"]  # desired lowest points of swing feet, world axes [m]
    pull: Float[ndarray, "*K nf"]  # weight of a foot's distance from there
    down: Float[ndarray, "*K nf"]  # 1 for a stance foot
    floor: Float[ndarray, "*K nf"]  # height of the ground below it [m]
    least: Float[ndarray, "*K nf"]  # height that its lowest point must keep in swing [m]
    interval: Operand  # [s]


@dataclass(frozen=True, eq=False, kw_only=True)
class KnotModel:
    """The constants of a knot."""

    robot: Robot
    limits: Float[ndarray, "nj"]  # limits of the torques [N m]
    low: Float[ndarray, "nj"]  # limits of the joints [rad]
    high: Float[ndarray, "nj"]
    friction: float = 0.5
    price: float = 1.0  # weight of inequalities: times the logarithm
    gravity: Gravity = field(default=GRAVITY)

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)

    @property
    def weight(self) -> float:
        return weight_of(self.robot.mass, self.gravity)


def interval(
    model: KnotModel, x: Float[ndarray, "nx"], u: Float[ndarray, "nj"], goal: Goal
) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"], list[ndarray], list[ndarray]]:
    """Return (q, v after the interval; forces on the feet in world axes [N]; their lowest points [m])."""
    robot, nq, dt = model.robot, model.robot.nq, goal.interval
    q, v = x[:nq], x[nq:]
    X = joint_transforms(robot, q)
    poses, R = poses_in_base(robot, X), X[0].R
    points = contact_points(robot, X, poses, spheres_of(robot), Plane())
    composite = composite_bodies(robot, X)
    M = composite_mass_matrix(robot, X, composite)
    force = np.concatenate([np.zeros(6), u]) - composite_bias(robot, X, composite, v, model.gravity)
    damper, per = FOOT_DAMPER_MASS * robot.mass, 1.0 / dt
    gap_impulses = []
    for k, point in enumerate(points):
        closing = -GAP_CLOSED_FRACTION * per * (point.distance - goal.floor[k])
        gap_impulses.append(goal.down[k] * damper * (closing * point.R_BC[:, 2]))
        J = goal.down[k] * damper * point.J
        M = M + _product(point.J, J, point.dofs)
        force = force + per * (point.J.T @ (gap_impulses[k] - J @ v))
    a = nptrace.gradient_bottleneck(solution(robot, M, force))
    after = v + dt * a
    forces = [
        R @ (per * (w - goal.down[k] * damper * (p.J @ after))) for k, (p, w) in enumerate(zip(points, gap_impulses))
    ]
    lowest = lowest_points(robot, X)
    velocity_W = R @ after[3:6]
    quat = rotated_in_a_step(q[3:7], dt * after[:3])
    q_after = np.concatenate([q[:3] + dt * velocity_W, quat, q[7:] + dt * after[6:]])
    v_after = np.concatenate([after[:3], to_rotation(quat).T @ velocity_W, after[6:]])
    return q_after, v_after, forces, lowest


def lowest_points(robot: Robot, X: list[Transform]) -> list[Float[ndarray, "3"]]:
    """Return the lowest points of the feet, world axes [m]; X are the bodies in their parents."""
    poses, down = poses_in_base(robot, X), np.array([0.0, 0.0, 1.0])
    return [X[0].point(poses[s.body].point(s.center)) - s.radius * down for s in spheres_of(robot)]


def _product(J: ndarray, weighted: ndarray, dofs: tuple[int, ...]) -> ndarray:
    """Return Jᵀ (weighted J), skipping its zeros."""
    out = np.zeros((J.shape[1], J.shape[1]))
    for i in dofs:
        for j in dofs:
            out[i, j] = J[:, i] @ weighted[:, j]
    return out


# -- inequalities ------------------------------------------------------------------------------------------------------
def barrier(h: Scalar, near: float) -> tuple[Scalar, Scalar, Scalar]:
    """Return (value, derivative, curvature) of the barrier of h >= 0: -log h, and below ``near`` the parabola that
    continues it.
    """
    inside = np.maximum(h, near)
    violation = np.minimum(h - near, 0.0) / near
    price = -np.log(inside) - violation + 0.5 * violation * violation
    return price, (violation - 1.0) / inside, 1.0 / (inside * inside)


def friction_margin(model: KnotModel, forces: list[ndarray]) -> list[Scalar]:
    """Return the remaining friction of each foot, as a fraction of the weight."""
    return [
        (model.friction * f[2] - np.sqrt(f[0] * f[0] + f[1] * f[1] + CONE_ROUNDING**2) + CONE_ROUNDING) / model.weight
        for f in forces
    ]


def _joint_margins(model: KnotModel, x: ndarray, u: ndarray) -> list[tuple[ndarray, float]]:
    """Return (margins, where their parabolas start) of torques and joints, below and above."""
    q_J = joint_positions(model.robot, x[: model.robot.nq])
    torque, bend = _PARABOLA_START["torque"], _PARABOLA_START["range"]
    return [
        (1.0 + u / model.limits, torque),
        (1.0 - u / model.limits, torque),
        (q_J - model.low, bend),
        (model.high - q_J, bend),
    ]


def _clearance(goal: Goal, k: int, point: ndarray) -> Scalar:
    return 0.1 + (point[2] - goal.least[k]) / _CLEARANCE


def cost(model: KnotModel, x: ndarray, u: ndarray, goal: Goal, forces: list[ndarray], lowest: list[ndarray]) -> Scalar:
    """Return the cost of one knot."""
    robot = model.robot
    deviation = np.concatenate([difference(robot, goal.q, x[: robot.nq]), x[robot.nq :] - goal.v])
    strain = u - goal.torque
    total = 0.5 * (np.sum(goal.weights * deviation * deviation) + np.sum(goal.effort * strain * strain))
    margins = friction_margin(model, forces)
    for k, point in enumerate(lowest):
        up, foot_error = 1.0 - goal.down[k], point - goal.feet[k]
        total = total + 0.5 * up * goal.pull[k] * (foot_error @ foot_error)
        friction_price = goal.down[k] * barrier(margins[k], _PARABOLA_START["friction"])[0]
        clearance_price = up * barrier(_clearance(goal, k, point), _PARABOLA_START["clearance"])[0]
        total = total + model.price * (friction_price + clearance_price)
    for margin, near in _joint_margins(model, x, u):
        total = total + model.price * np.sum(barrier(margin, near)[0])
    return total


# -- a knot as quadratic model -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class KnotTerms:
    """A knot to first order, and its cost to second (Gauss-Newton), in (δu, δx)."""

    # rows for the base's position and for all velocities after the interval, transposed
    motion: Float[ndarray, "z moved"]
    gradient: Float[ndarray, "z"]  # gradient of the cost
    position_hessian: Float[ndarray, "nv nv"]  # its curvature in δq
    effort: Float[ndarray, "m"]  # curvature in δu, a diagonal
    friction: Float[ndarray, "nf z"]  # square roots of the friction terms' curvature


def expand_knot(model: KnotModel, x: ndarray, u: ndarray, goal: Goal, x_after: ndarray) -> KnotTerms:
    """Expand a knot about a state, an input and the resulting state."""
    robot, nq, nv, nj = model.robot, model.robot.nq, model.robot.nv, model.robot.nj

    def moved(deviation: ndarray) -> ndarray:
        q = integrate(robot, x[:nq], deviation[nj : nj + nv], 1.0)
        at = np.concatenate([nptrace.gradient_bottleneck(q[:3]), q[3:], x[nq:] + deviation[nj + nv :]])
        q_after, v_after, forces, lowest = interval(model, at, u + deviation[:nj], goal)
        off = difference(robot, goal.q, q)[:6]
        shift = difference(robot, x_after[:nq], q_after)[:6]
        return np.concatenate([shift, v_after, off, np.stack(friction_margin(model, forces)), *lowest])

    J = nested.jacobian(moved, [np.zeros(2 * nv + nj)])
    rows = np.cumsum([0, 6, nv, 6, robot.nf, 3 * robot.nf])
    motion, off, margins, feet = J[: rows[2]], J[rows[2] : rows[3]], J[rows[3] : rows[4]], J[rows[4] :]
    _, _, forces, lowest = interval(model, x, u, goal)
    by_q, joints, speeds = slice(nj, nj + nv), slice(nj + 6, nj + nv), slice(nj + nv, None)
    state_error = np.concatenate([difference(robot, goal.q, x[:nq]), x[nq:] - goal.v])
    pulled, gradient = goal.weights * state_error, np.zeros(nj + 2 * nv)
    gradient[by_q] = off[:, by_q].T @ pulled[:6]
    below, above, bent, straight = (barrier(margin, near) for margin, near in _joint_margins(model, x, u))
    gradient[joints] = gradient[joints] + pulled[6:nv] + model.price * (bent[1] - straight[1])
    gradient[speeds] = pulled[nv:]
    gradient[:nj] = goal.effort * (u - goal.torque) + model.price * (below[1] - above[1]) / model.limits
    position_hessian = off[:, by_q].T @ (goal.weights[:6, None] * off[:, by_q])
    stiff = np.concatenate([np.zeros(6), goal.weights[6:nv] + model.price * (bent[2] + straight[2])])
    effort = goal.effort + model.price * (below[2] + above[2]) / model.limits**2
    margin, roots = friction_margin(model, forces), []
    for k in range(robot.nf):
        up, leg = 1.0 - goal.down[k], feet[3 * k : 3 * k + 3, by_q]
        clear = barrier(_clearance(goal, k, lowest[k]), _PARABOLA_START["clearance"])
        higher = (model.price * up / _CLEARANCE) * np.array([0.0, 0.0, 1.0])
        pull = up * goal.pull[k] * np.ones(3) + clear[2] / _CLEARANCE * higher
        gradient[by_q] = gradient[by_q] + leg.T @ (up * goal.pull[k] * (lowest[k] - goal.feet[k]) + clear[1] * higher)
        position_hessian = position_hessian + leg.T @ (pull[:, None] * leg)
        friction_barrier = barrier(margin[k], _PARABOLA_START["friction"])
        gradient = gradient + model.price * goal.down[k] * friction_barrier[1] * margins[k]
        roots.append(goal.down[k] * np.sqrt(model.price * friction_barrier[2]) * margins[k])
    return KnotTerms(motion.T, gradient, position_hessian + np.diag(stiff), effort, np.stack(roots))


def expanded_cost(
    model: KnotModel, x: ndarray, u: ndarray, goal: Goal
) -> tuple[Float[ndarray, "z"], Float[ndarray, "nv nv"], Float[ndarray, "m"]]:
    """Return (gradient, curvature in δq, curvature in δu) of a knot's cost without scheduled stance: no friction
    terms, which the motion itself contains where contacts are found. Unused traced terms of the motion are not
    computed.
    """
    terms = expand_knot(model, x, u, replace(goal, down=np.zeros(model.robot.nf)), x)
    return terms.gradient, terms.position_hessian, terms.effort
