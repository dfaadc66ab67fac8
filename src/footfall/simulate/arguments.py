"""Refusals of arguments of a simulation that are not what they must be, before anything is computed."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.control.interface import check_rate
from footfall.errors import InputError
from footfall.kinematics.forward import body_poses
from footfall.robot.description import Robot
from footfall.simulate.world import World


def check_robot(robot: Any) -> None:
    if not isinstance(robot, Robot):
        hint = f"ff.load({robot!r})" if isinstance(robot, str) else "ff.load(...)"
        raise InputError(f"a simulation needs a Robot, such as {hint}, got {type(robot).__name__}")


def is_number(value: Any) -> bool:
    """Whether something is one finite real number."""
    return isinstance(value, Real) and bool(np.isfinite(float(value)))


def check_seed(seed: Any) -> None:
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed must be a whole number, 0 or more, got {seed!r}")


def check_seam(what: str, part: Any, *needs: str) -> None:
    if not all(hasattr(part, key) for key in needs):
        raise InputError(f"a {what} needs {' and '.join(needs)}, which {type(part).__name__} has not")


def check_sequence(what: str, parts: Any, kind: type) -> None:
    """Refuse what is no list of things of a kind."""
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, kind) for part in parts):
        raise InputError(f"{what} must be a list of {kind.__name__}, got {' '.join(repr(parts).split())[:60]}")


def vector(gravity: Any) -> tuple[float, float, float]:
    try:
        array = np.asarray(gravity, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InputError(f"gravity must be three finite numbers, got {gravity!r}")
    return float(array[0]), float(array[1]), float(array[2])


def substeps(rate: float, dt: float) -> int:
    check_rate(rate)
    ratio = 1.0 / (rate * dt)
    count = max(1, round(ratio))
    if abs(ratio - count) > 1e-6 * count:
        raise InputError(
            f"a controller at {rate:g} Hz does not fit a step of {dt:g} s: its period must be a whole number of steps"
        )
    return count


def check_clear(world: World, q: ndarray) -> None:
    """Refuse a start inside the ground, where contact forces would shoot the robot off."""
    hole = over_hole(world, q)
    if hole is not None:
        raise InputError(f"the robot cannot start there: {hole}")
    poses = body_poses(world.robot, q)
    for sphere in world.spheres:
        depth = sphere.radius - float(world.ground.distance(poses[sphere.body].point(sphere.center)))
        if depth > 5e-3:
            raise InputError(f"the start puts '{sphere.name}' {1e3 * depth:.1f} mm inside the ground: raise the base")


def over_hole(world: World, q: ndarray) -> str | None:
    """Which sphere lies over a place without ground, if one does."""
    poses = body_poses(world.robot, q)
    for sphere in world.spheres:
        p_W = poses[sphere.body].point(sphere.center)
        if np.isfinite(p_W).all() and np.isnan(world.ground.distance(p_W)):
            return f"the ground has a hole under '{sphere.name}' at ({p_W[0]:.3f}, {p_W[1]:.3f}) m"
    return None
