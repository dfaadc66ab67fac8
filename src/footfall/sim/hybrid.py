"""Simulation through contact modes: the hybrid dynamics of the lecture slides on floating-base robots.

Within a mode the robot moves in the mode's minimal coordinates (``dynamics.formalisms.reduced``), or in excess
coordinates with constraints: the full model, which must agree. A landing foot stops without bounce, and the momentum in
the new mode's coordinates is conserved; a stance foot that the ground would have to pull lifts, without a jump. The
instant of a transition is found by bisection between two steps.

Feet are points on level ground at z = 0 that do not slip, with one exception: if holding a foot along the ground would
need a pulling force, it slides without friction until it lifts. For Coulomb friction use ``Simulation``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy import ndarray

import nptrace
from footfall import compiling
from footfall.checks import positive_number
from footfall.dynamics.checks import check_finite
from footfall.dynamics.coordinates import configuration_rate
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.dynamics.formalisms.constrained import check_points, constrained_dynamics
from footfall.dynamics.formalisms.modes import FLIGHT, mode_of
from footfall.dynamics.formalisms.reduced import ModeCoordinates
from footfall.dynamics.passive import damping_torques, spring_torques
from footfall.errors import FootfallError, unknown
from footfall.kinematics.forward import foot_positions, foot_velocities
from footfall.kinematics.jacobian import feet_bias_acceleration, feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

Torques = Callable[[float, Robot, ndarray, ndarray], ndarray]  # (t, robot, q, v) to joint torques; plain NumPy
COORDINATES = ("minimal", "excess")
_DAMPING = 1e-12  # damping of empty rows, such as those across the plane of a planar machine
_INSTANT = 1e-13  # [s], accuracy of the time of a transition
_STILL = 1e-9  # [m/s]: a slower landing foot has just lifted off
_WORN = 0.02  # relative size of a pivot, compared with that when the coordinates were chosen
_AT_ONCE, _MOST_AT_ONCE = 1e-9, 12  # [s], and the number of mode changes within it
_ROUNDING, _CLEAR, _MOVES = 1e-9, 1e-9, 1e-7  # tolerances [N, N s, m/s²], [m], [m/s]
_HELD, _SLIDES = np.ones(3), np.array([0.0, 0.0, 1.0])  # rows of a foot


@dataclass(frozen=True)
class ModeTransition:
    """A change of mode: its time, both modes, and the energy dissipated by the impact [J]."""

    time: float
    before: str
    after: str
    lost: float


@dataclass(frozen=True, kw_only=True)
class HybridRun:
    """A run with contact modes, one row per step; states before and after a transition have one row each."""

    robot: Robot
    time: Float[ndarray, "t"]
    q: Float[ndarray, "t nq"]
    v: Float[ndarray, "t nv"]
    forces: Float[ndarray, "t nf 3"]  # world axes [N]
    mode: Float[ndarray, "t nf 3"]  # which directions of every foot are constrained
    transitions: list[ModeTransition]
    gravity: Gravity = GRAVITY

    def energy(self) -> Float[ndarray, "t"]:
        """Return kinetic energy, height and springs [J]."""
        return np.array([energy(self.robot, q, v, self.gravity) for q, v in zip(self.q, self.v)])


@dataclass(frozen=True, eq=False)
class _InMode:
    """The constant of a compiled step: a mode, its coordinates (None: excess), and the joint torques."""

    robot: Robot
    mode: ndarray
    coordinates: ModeCoordinates | None
    torques: Torques | None
    gravity: Gravity

    def basis(self, q: ndarray) -> ndarray:
        return np.eye(self.robot.nv) if self.coordinates is None else self.coordinates.basis(q)

    def acting(self, t: Operand, q: ndarray, v: ndarray) -> ndarray:
        """Return torques of motors, springs and damping at the joints."""
        tau = spring_torques(self.robot, q) + damping_torques(self.robot, v)
        return tau if self.torques is None else tau + self.torques(t, self.robot, q, v)

    def rates(self, t: Scalar, q: ndarray, r: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Return (dq/dt, dr/dt, forces at the feet)."""
        robot, v = self.robot, self.basis(q) @ r
        tau = self.acting(t, q, v)
        if self.coordinates is None:
            rate, forces = constrained_dynamics(robot, q, v, tau, self.mode, self.gravity, damping=_DAMPING)
        else:
            rate, forces = self.coordinates.dynamics(q, r, tau, self.gravity)
        return configuration_rate(robot, q, v), rate, forces


def _stepped(system: _InMode, t: float, q: ndarray, r: ndarray, h: float) -> tuple[ndarray, ...]:
    """Take a Runge-Kutta step of fourth order; return (q, r, v, forces, heights of the feet, their speeds).

    A loop rather than four copies, with a fifth iteration for the forces at the end: a fifth of the code.
    """
    robot = system.robot

    def stage(k: Scalar, carry: tuple[ndarray, ...]) -> tuple[ndarray, ...]:
        slope_q, slope_r, sum_q, sum_r, _ = carry
        ahead = np.where(k < 0.5, 0.0, np.where(k < 2.5, 0.5, 1.0))
        ends = k > 3.5
        q_k = _unit(robot, q + h * np.where(ends, sum_q, ahead * slope_q))
        r_k = r + h * np.where(ends, sum_r, ahead * slope_r)
        rate_q, rate_r, forces = system.rates(t + ahead * h, q_k, r_k)
        weight = np.where(ends, 0.0, np.where((k < 0.5) | (k > 2.5), 1.0 / 6.0, 1.0 / 3.0))
        return rate_q, rate_r, sum_q + weight * rate_q, sum_r + weight * rate_r, forces

    start: tuple[ndarray, ...] = (0.0 * q, 0.0 * r, 0.0 * q, 0.0 * r, np.zeros((robot.nf, 3)))
    _, _, sum_q, sum_r, forces = nptrace.repeat(5, stage, start)
    q, r = _unit(robot, q + h * sum_q), r + h * sum_r
    v, radii = system.basis(q) @ r, np.array([foot.radius for foot in robot.feet])
    return q, r, v, forces, foot_positions(robot, q)[:, 2] - radii, foot_velocities(robot, q, v)[:, 5]


def _unit(robot: Robot, q: ndarray) -> ndarray:
    """Return q with its quaternion normalised."""
    if not robot.floating:
        return q
    return np.concatenate([q[:3], q[3:7] / np.sqrt(q[3:7] @ q[3:7]), q[7:]])


def energy(robot: Robot, q: ndarray, v: ndarray, gravity: Gravity = GRAVITY) -> float:
    """Return kinetic energy, height and springs [J]."""
    stretched = sum(
        0.5 * body.joint.stiffness * (q[robot.nq - robot.nj + k] - body.joint.rest) ** 2
        for k, body in enumerate(robot.tree.bodies[1:])
        if body.joint is not None
    )
    return float(kinetic_energy(robot, q, v) + potential_energy(robot, q, gravity) + stretched)


def hybrid_run(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    mode: str | Float[ndarray, "nf"],
    duration: float,
    torques: Torques | None = None,
    dt: float = 1e-3,
    coordinates: str = "minimal",
    gravity: Gravity = GRAVITY,
) -> HybridRun:
    """Simulate a robot in the minimal coordinates of its contact modes, from impact to impact.

    Joint springs and damping act besides ``torques``.

    Args:
        robot: The robot.
        q: Configuration at the start, with the feet in contact on the ground.
        v: Velocity at the start.
        mode: Feet in contact at the start: ``"LF+RH"``, or 1 for each.
        duration: Duration of the run [s].
        torques: Function of (t, q, v) that returns joint torques [N m].
        dt: Step [s].
        coordinates: ``minimal`` or ``excess``.
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        States, modes and impacts over time.
    """
    if coordinates not in COORDINATES:
        raise unknown("coordinates of a hybrid run", coordinates, COORDINATES)
    for name, value in (("duration", duration), ("dt", dt)):
        positive_number(value, f"{name} of a hybrid run")
    check_finite(robot, q=q, v=v)
    check_points(robot, np.ones(robot.nf))  # any foot may land
    run = _Runner(
        robot=robot,
        torques=torques,
        minimal=coordinates == "minimal",
        gravity=gravity,
        q=np.array(q, dtype=float),
        v=np.array(v, dtype=float),
    )
    stands = mode_of(robot, mode) > 0
    run.enter(0.0, stands, stands, np.zeros(robot.nf, dtype=bool))
    while run.time < duration - 1e-12:
        run.advance(min(dt, duration - run.time))
    time, positions, velocities, forces, modes = (np.array(column) for column in zip(*run.rows))
    return HybridRun(
        robot=robot,
        time=time,
        q=positions,
        v=velocities,
        forces=forces,
        mode=modes,
        transitions=run.transitions,
        gravity=gravity,
    )


@dataclass(kw_only=True)
class _Runner:
    """The state of a run, and machine code for the modes visited."""

    robot: Robot
    torques: Torques | None
    minimal: bool
    gravity: Gravity
    q: ndarray
    v: ndarray
    time: float = 0.0
    rows: list[tuple[PyTree, ...]] = field(default_factory=list)
    transitions: list[ModeTransition] = field(default_factory=list)
    steps: dict[object, PyTree] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mode = np.zeros((self.robot.nf, 3))
        self.system = self._in_mode(None)

    def enter(self, time: float, touching: ndarray, landing: ndarray, lifting: ndarray) -> None:
        """Enter the mode of the feet in contact, after the impact of those that land; lifting feet are released."""
        robot, before = self.robot, self.v
        if landing.any():
            mode = self._found(touching, self._takes_impact, "impact")
            lifting = lifting & ~touching
            chosen = ModeCoordinates.at(robot, self.q, mode)
            self.v = chosen.basis(self.q) @ chosen.touchdown(self.q, self.v)
            touching = touching & (self._foot_speeds()[:, 2] < _STILL)
        tau = self.system.acting(time, self.q, self.v)

        def carries(mode: ndarray) -> bool:
            return not (lifting & (mode == self.mode).all(axis=1)).any() and self._carries(mode, touching, tau)

        mode = self._found(touching, carries, "stance")
        chosen = ModeCoordinates.at(robot, self.q, mode)
        if self.rows:
            lost = energy(robot, self.q, before, self.gravity) - energy(robot, self.q, self.v, self.gravity)
            self.transitions.append(ModeTransition(time, self._name(self.mode), self._name(mode), lost))
            recent = [change for change in self.transitions[-_MOST_AT_ONCE:] if time - change.time < _AT_ONCE]
            if len(recent) == _MOST_AT_ONCE:
                raise FootfallError(f"the feet of '{robot.name}' chatter at {time:.4f} s: {self._name(mode)}")
        self.mode = mode
        self._choose(chosen)
        forces = self.system.rates(time, self.q, self.r)[2]
        self.rows.append((time, self.q, self.v, forces, mode))

    def _choose(self, chosen: ModeCoordinates) -> None:
        self.chosen = chosen
        self.fresh = chosen.worst_pivot(self.q)
        self.system = self._in_mode(chosen)
        self.r = self.v[list(chosen.independent)] if self.minimal else self.v
        key = (chosen.mode, chosen.dependent, chosen.rows) if self.minimal else chosen.mode
        if key not in self.steps:
            self.steps[key] = compiling.compile(_stepped, self.system, 0.0, self.q, self.r, 1e-3)
        self.step = self.steps[key]

    def advance(self, h: float) -> None:
        """Advance by one step, or the part of it up to a transition."""
        found = self.step(self.time, self.q, self.r, h)
        if not all(np.isfinite(part).all() for part in found):
            raise FootfallError(f"the hybrid run diverged at {self.time:.4f} s")
        happens = self._lands(found) | self._lifts(found)
        if happens.any():
            early = 0.0
            while h - early > _INSTANT:
                middle = 0.5 * (early + h)
                tried = self.step(self.time, self.q, self.r, middle)
                if (self._lands(tried) | self._lifts(tried)).any():
                    h, found = middle, tried
                else:
                    early = middle
        self.time += h
        self.q, self.r, self.v, forces = found[:4]
        self.rows.append((self.time, self.q, self.v, forces, self.mode))
        lands, lifts = self._lands(found), self._lifts(found)
        if lands.any() or lifts.any():
            self.enter(self.time, (self.mode[:, 2] > 0) | lands, lands, lifts)
        elif self.minimal and self.chosen.worst_pivot(self.q) < _WORN * self.fresh:
            self._choose(ModeCoordinates.at(self.robot, self.q, self.mode))

    def _in_mode(self, chosen: ModeCoordinates | None) -> _InMode:
        return _InMode(self.robot, self.mode, chosen if self.minimal else None, self.torques, self.gravity)

    # -- which mode: of all ways in which the feet that touch may go on, the one that holds most -----------------------
    def _found(self, touching: ndarray, goes: Callable[[ndarray], bool], what: str) -> ndarray:
        """Choose the mode: every foot in contact is held, slides or lifts; the others are in the air."""
        ways = [(_HELD, _SLIDES, 0.0 * _HELD) if touches else (0.0 * _HELD,) for touches in touching]
        for mode in sorted((np.stack(way) for way in product(*ways)), key=lambda mode: -float(mode.sum())):
            if goes(mode):
                return mode
        raise FootfallError(f"no consistent {what} of the feet of '{self.robot.name}' was found at {self.time:.4f} s")

    def _foot_speeds(self) -> Float[ndarray, "nf 3"]:
        return foot_velocities(self.robot, self.q, self.v)[:, 3:]

    def _takes_impact(self, mode: ndarray) -> bool:
        """Return whether the ground pushes every foot in the mode, and none of the others penetrates it."""
        chosen = ModeCoordinates.at(self.robot, self.q, mode)
        after = chosen.basis(self.q) @ chosen.touchdown(self.q, self.v)
        pushed = chosen.impulses(self.q, after - self.v)[:, 2]
        speeds = foot_velocities(self.robot, self.q, after)[:, 5]
        over = foot_positions(self.robot, self.q)[:, 2] - self._radii > _CLEAR
        return bool(np.all(np.where(mode[:, 2] > 0, pushed > -_ROUNDING, over | (speeds > -_STILL))))

    def _carries(self, mode: ndarray, touching: ndarray, tau: ndarray) -> bool:
        """Return whether forces and accelerations permit a mode; a foot that moves along the ground cannot be held."""
        moving = np.abs(self._foot_speeds()[:, :2]).max(axis=1, initial=0.0) > _MOVES
        if (moving & (mode[:, 0] > 0)).any():
            return False
        a, f = constrained_dynamics(self.robot, self.q, self.v, tau, mode, self.gravity, damping=_DAMPING)
        turning = feet_bias_acceleration(self.robot, self.q, self.v)[:, 5]
        up = feet_jacobian(self.robot, self.q)[:, 5] @ a + turning
        return bool(np.all(np.where(mode[:, 2] > 0, f[:, 2] > -_ROUNDING, ~touching | (up > -_ROUNDING))))

    @property
    def _radii(self) -> ndarray:
        return np.array([foot.radius for foot in self.robot.feet])

    def _name(self, mode: ndarray) -> str:
        words = [
            name if along else f"{name} sliding" for name, (along, _, up) in zip(self.robot.foot_names, mode) if up
        ]
        return "+".join(words) or FLIGHT

    def _lands(self, found: tuple[ndarray, ...]) -> ndarray:
        return (self.mode[:, 2] == 0.0) & (found[4] < 0.0) & (found[5] < -_STILL)

    def _lifts(self, found: tuple[ndarray, ...]) -> ndarray:
        return (self.mode[:, 2] > 0.0) & (found[3][:, 2] < 0.0)
