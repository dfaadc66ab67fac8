"""Checks of the arguments of a simulation, before anything is computed."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
from numpy import ndarray

from footfall import hints
from footfall.adapters import unadapted
from footfall.checks import three_numbers, whole_number
from footfall.contact.force_law import ForceLaw
from footfall.contact.ground import as_ground
from footfall.contact.model import ContactModel
from footfall.contact.stick_slip import StickSlip
from footfall.control.interface import JointCommand, check_rate
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.errors import InputError, callers_level
from footfall.robot.model.description import Robot
from footfall.sim.joints import JointModel
from footfall.spatial.gravity import STANDARD
from nptrace import ownership
from nptrace._types import Given, Operand, PyTree

_DEEPEST = 0.1  # [m], sinkage at which a robot stands in soft ground
_REBOUND = 0.05  # fraction of the speed of a foot that steps may remove without a warning
_RATIO, _OWN = 0.005, 0.2  # damping that steps may add without a warning: over critical damping, over a joint's own
_PLACES = ((0.0, 0.0), (0.213, 0.117), (-0.271, 0.133), (0.178, -0.229), (-0.192, -0.164), (0.613, 0.441))  # [m]
_APART, _SKEW = 1e-5, 0.01  # [m] between points of a finite difference; tolerance of a normal: half a degree
_MADE_OF = (
    "robot",
    "controller",
    "contact",
    "ground",
    "dt",
    "integrator",
    "joints",
    "gravity",
    "touching",
    "collisions",
    "seed",
    "sensors",
    "emergency_stop",
    "self_collision",
    "objects",
)


class FrozenAfterInit:
    """Prevent assignment of attributes from which the model was made, which would stay unchanged."""

    def __setattr__(self, name: str, value: Given) -> None:
        if name in _MADE_OF and "_state" in self.__dict__ and value is not self.__dict__.get(name):
            raise InputError(
                f"the {name} of a simulation cannot be changed: create another, Simulation(..., {name}=...)"
            )
        if name in hints.SIMULATION and not hasattr(type(self), name):
            raise hints.missing("a Simulation", name, (), hints.SIMULATION)
        super().__setattr__(name, value)


def check_robot(robot: Given) -> None:
    if not isinstance(robot, Robot):
        hint = f"ff.load({robot!r})" if isinstance(robot, str) else "ff.load(...)"
        raise InputError(f"a simulation needs a Robot, such as {hint}, got {type(robot).__name__}")


def check_seed(seed: Given) -> None:
    whole_number(seed, "seed", 0)


def check_contact_model(contact: Given, dt: float) -> None:
    """Call a user-defined force law for a sphere in contact, and check that it returns two arrays of three numbers
    twice.
    """
    if not isinstance(contact, ForceLaw) or ownership.is_unmodified(type(contact)):
        return
    owner = f"law of {type(contact).__name__}"
    if isinstance(contact, StickSlip):
        _check_normal(contact, dt)
    if type(contact).law is ForceLaw.law:
        raise InputError(f"{type(contact).__name__} must define law(self, depth, v_C, friction, dt)")
    depth, v_C = 1e-4, np.array([0.01, 0.0, -0.01])
    result, again = (_called(contact.law, (depth, v_C, 0.8, dt), f"law of {_class_name(contact)}") for _ in range(2))
    if not isinstance(result, tuple) or [np.shape(each) for each in result] != [(3,), (3,)]:
        got = [np.shape(each) for each in result] if isinstance(result, tuple) else type(result).__name__
        raise InputError(f"{owner} must return (force, derivatives), two arrays of three numbers, got {got}")
    if not all(isinstance(each, ndarray) for each in result):
        raise InputError(f"{owner} must return arrays: np.array([...]) rather than [...]")
    if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(result, again)):
        raise InputError(
            f"{owner} returns two results for the same arguments: random numbers and clocks are constant in"
            " compiled code"
        )
    _check_derivatives(contact, dt)


def _class_name(part: Operand) -> str:
    return type(part).__name__


def _called(method: Given, arguments: tuple[Given, ...], name: str) -> Given:
    """Return the result of a user's method; raise if its signature does not fit the given arguments."""
    try:
        return method(*arguments)
    except TypeError as error:
        try:
            inspect.signature(method).bind(*arguments)
        except TypeError:
            words = "law(self, depth, v_C, friction, dt)" if name.startswith("law") else f"{name.split()[0]}(self, p)"
            raise InputError(f"{name} is called as {words}: {error}") from None
        raise


_ROUNDING = 1e-9  # tolerance of a derivative: a smaller difference of forces has no sign


def _check_derivatives(contact: ForceLaw, dt: float) -> None:
    """Check a user's derivatives against the change of the force with velocity: wrong signs would add energy.

    Tangential derivatives may be secants of friction: only their sign is checked.
    """
    for depth, v_C in ((1e-3, np.array([0.02, -0.01, -0.05])), (2e-3, np.array([-0.3, 0.2, 0.01]))):
        derivatives = np.asarray(contact.law(depth, v_C, 0.8, dt)[1], dtype=float)
        for k, axis in enumerate("xyz"):
            step = 1e-6 * np.eye(3)[k]
            ahead, behind = (np.asarray(contact.law(depth, v_C + s * step, 0.8, dt)[0], float)[k] for s in (1, -1))
            falls = float(behind - ahead) / 2e-6
            off = abs(derivatives[k] - falls) > 0.5 * max(abs(falls), abs(float(derivatives[k])))
            sentence = (
                f"derivatives of {_class_name(contact)}: the force along {axis} falls by {falls:.4g} N s/m with the"
                f" velocity there, and its derivative says {derivatives[k]:.4g}"
            )
            rounded = abs(falls) < _ROUNDING * abs(float(derivatives[k]))
            if off and not rounded and derivatives[k] * falls < 0.0:
                raise InputError(f"{sentence}: it has the wrong sign")
            if off and axis == "z" and falls > 0.0:
                warnings.warn(sentence, stacklevel=callers_level())
                return


def _check_normal(contact: StickSlip, dt: float) -> None:
    """Check a user's normal force: two numbers, and zeros without contact."""
    owner = f"normal of {type(contact).__name__}"
    if type(contact).normal is StickSlip.normal:
        raise InputError(f"{type(contact).__name__} must define normal(self, depth, dt)")
    for depth in (1e-4, 0.0):
        result = contact.normal(depth, dt)
        if not isinstance(result, tuple) or [np.shape(each) for each in result] != [(), ()]:
            raise InputError(f"{owner} must return (force, slope), two numbers, got {result!r}")
    if any(float(each) for each in result):
        raise InputError(f"{owner} must be zero at a depth of zero, got {result!r}")


def warn_damped_by_steps(contact: ContactModel, integrator: str, robot: Robot, gravity: Given, dt: float) -> None:
    """Warn of a spring that implicit steps damp so much that it affects rebounds from the standing depth.

    The normal force is evaluated at the depth at the end of the step: a model with damping c and stiffness K acts like
    one with c + dt K. (At touchdown, where damping is still ramped up, this holds for any model.)
    """
    law = unadapted(contact)
    if integrator != "linearly_implicit" or not isinstance(law, ForceLaw) or not robot.nf:
        return
    mass, pull = robot.mass / robot.nf, float(np.linalg.norm(gravity)) or STANDARD

    def requested(depth: float, dt: float) -> tuple[float, float]:
        force, falls = law.law(depth, np.zeros(3), 0.8, dt)
        return float(force[2]), float(falls[2])

    low, high = 0.0, _DEEPEST
    if not requested(high, dt)[0] > mass * pull:
        return
    for _ in range(50):
        depth = 0.5 * (low + high)
        low, high = (low, depth) if requested(depth, dt)[0] > mass * pull else (depth, high)
    c = requested(high, 0.0)[1]
    added = requested(high, dt)[1] - c
    meant, found = (_rebound(damping, added / dt, mass) for damping in (c, c + added))
    if meant - found > _REBOUND:
        warnings.warn(
            f"{_class_name(law)} contact is damped by the step: its damping c = {c:.3g} N s/m acts as c + dt K with"
            f" dt K = {added:.3g} N s/m where robot '{robot.name}' stands, {1e3 * high:.2g} mm deep; feet rebound with"
            f" {found:.2f} of their speed instead of {meant:.2f}: use a shorter dt, or reduce the damping by dt K",
            stacklevel=callers_level(),
        )


def warn_springs_damped_by_steps(robot: Robot, joints: JointModel, integrator: str, dt: float) -> None:
    """Warn of joint springs whose oscillation implicit steps damp noticeably.

    A spring's torque is taken at the position at the end of the step: K adds dt K to the joint's own damping.
    """
    sprung = [(k, body.joint) for k, body in enumerate(robot.tree.bodies[1:]) if body.joint and body.joint.stiffness]
    if integrator != "linearly_implicit" or not joints.springs or not sprung:
        return
    pose = "stand" if "stand" in robot.poses else None
    mobility = np.diag(np.linalg.inv(mass_matrix(robot, robot.state(pose)[0])))[robot.nv - robot.nj :]
    for k, joint in sprung:
        natural = np.sqrt(joint.stiffness * mobility[k])  # [rad/s]
        own = 0.5 * joint.damping * float(joints.damping) * mobility[k] / natural
        added = 0.5 * dt * natural  # as shares of critical damping
        if added > max(_RATIO, _OWN * own):
            warnings.warn(
                f"the spring of joint '{joint.name}' is damped by the step: its damping c = {joint.damping:.3g} acts as"
                f" c + dt K with dt K = {dt * joint.stiffness:.3g} N m s/rad, {added:.2g} of critical damping: use a"
                " shorter dt, or integrator='semi_implicit_euler'",
                stacklevel=callers_level(),
            )
            return


def _rebound(c: float, K: float, mass: float) -> float:
    """Return the fraction of its speed that a mass on a spring and a damper keeps until the spring is at rest again."""
    if not K > 0.0 or (share := 0.5 * c / np.sqrt(K * mass)) >= 1.0:
        return 0.0
    return float(np.exp(-np.pi * share / np.sqrt(1.0 - share * share)))


def check_ground(ground: Given) -> None:
    """Call a user-defined ground once: it must return a distance, a frame and a friction."""
    as_ground(ground)
    if ownership.is_unmodified(type(ground)):
        return
    owner, p = type(ground).__name__, np.array([0.0, 0.0, 0.1])
    for name in ("distance", "friction_at"):
        result = _called(getattr(ground, name), (p,), f"{name} of {owner}")
        if np.shape(result) != ():
            raise InputError(f"{name}(p) of {owner} must be one number, got {result!r}")
    if not float(ground.friction_at(p)) >= 0.0:
        raise InputError(f"friction_at(p) of {owner} must be 0 or more, got {ground.friction_at(p)!r}")
    R = np.asarray(_called(ground.frame, (p,), f"frame of {owner}"), dtype=float)
    if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-9) or np.linalg.det(R) < 0:
        raise InputError(f"frame(p) of {owner} must be a rotation, 3 by 3 with the normal as its last column")
    for x, y in _PLACES:
        _check_normal_at(ground, np.array([x, y, 0.1]), owner)


def _check_normal_at(ground: Given, p: ndarray, owner: str) -> None:
    """Raise for a normal that is not the gradient of the distance at the surface near a point: it would add energy.

    Creases and steps are ignored: there, differences to both sides disagree.
    """
    p = p - np.array([0.0, 0.0, float(ground.distance(p))])
    here = float(ground.distance(p))
    ahead, behind = (
        np.array([float(ground.distance(p + side * _APART * e)) - here for e in np.eye(3)]) / (side * _APART)
        for side in (1.0, -1.0)
    )
    rises, normal = 0.5 * (ahead + behind), np.asarray(ground.frame(p), dtype=float)[:, 2]
    length = float(np.sqrt(rises @ rises))
    if (
        not np.abs(ahead - behind).max() < 1e-3 or not 0.1 < length < 10.0
    ):  # nor is there a normal where the ground ends
        return
    if np.abs(normal - rises / length).max() > _SKEW:
        position, found, wanted = (", ".join(f"{x:.3g}" for x in v + 0.0) for v in (p, normal, rises / length))
        raise InputError(
            f"frame(p) of {owner} must have the normal, along which its distance grows, as its last column: at"
            f" ({position}) m that is ({wanted}), not ({found})"
        )


def check_sequence(what: str, parts: Given, kind: type) -> None:
    """Raise for anything but a list of objects of a class."""
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, kind) for part in parts):
        raise InputError(f"{what} must be a list of {kind.__name__}, got {' '.join(repr(parts).split())[:60]}")


def vector(gravity: Given) -> tuple[float, float, float]:
    x, y, z = three_numbers(gravity, "gravity").tolist()
    return x, y, z


def substeps(rate: float, dt: float) -> int:
    check_rate(rate)
    ratio = 1.0 / (rate * dt)
    count = max(1, round(ratio))
    if abs(ratio - count) > 1e-6 * count:
        raise InputError(
            f"a controller at {rate:g} Hz does not fit a step of {dt:g} s: its period must be a whole number of steps"
        )
    return count


def check_controller_result(result: PyTree, who: str) -> tuple[JointCommand, PyTree]:
    """Return a controller's result after checking its type."""
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], JointCommand):
        got = type(result).__name__
        if isinstance(result, tuple):
            got = f"({', '.join(type(element).__name__ for element in result)})"
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], JointCommand):
            got += ": in the wrong order"
        if isinstance(result, JointCommand):
            got += " alone: return command, memory"
        raise InputError(f"{who} must return (JointCommand, memory), got {got}")
    return result
