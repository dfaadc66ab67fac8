"""Differences between two descriptions of a policy's wiring, or between one and a robot, each with its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.learned.interface import UNITS, Interface
from footfall.control.learned.network import Graph
from footfall.control.posture import stands_in
from footfall.robot.model.description import Robot
from nptrace._types import PyTree, Scalar

_TOLERANCE = 1e-3  # relative difference, or rad
_FULL_CIRCLE = 2.0 * np.pi


@dataclass(frozen=True)
class Mismatch:
    """One mismatch: its kind, and one sentence."""

    kind: str
    message: str


def differences(policy: Interface, expected: Interface, expected_name: str) -> list[Mismatch]:
    """List the differences between a policy's description and the expected one. Joints are compared by name, in any
    order.
    """
    found = [
        *_joints(policy, expected, expected_name),
        *_per_joint(policy, expected, expected_name),
        *_single(policy, expected, expected_name),
    ]
    return [*found, *_observations(policy, expected, expected_name)]


def _joints(policy: Interface, expected: Interface, expected_name: str) -> Iterator[Mismatch]:
    if policy.robot != expected.robot and policy.robot and expected.robot:
        yield Mismatch("robot", f"the policy was made for '{policy.robot}', {expected_name} for '{expected.robot}'")
    lacking = [name for name in policy.joints if name not in expected.joints]
    idle = [name for name in expected.joints if name not in policy.joints]
    if lacking:
        yield Mismatch("missing_joint", f"the policy drives {', '.join(lacking)}, which {expected_name} does not have")
    if idle:
        yield Mismatch("missing_joint", f"{expected_name} has {', '.join(idle)}, which the policy does not drive")
    if not lacking and not idle and policy.joints != expected.joints:
        k = next(k for k, (a, b) in enumerate(zip(policy.joints, expected.joints)) if a != b)
        here = f"joint {k + 1} of the policy is {policy.joints[k]}, of {expected_name} {expected.joints[k]}"
        yield Mismatch("joint_order", f"{here}: the policy's order is {', '.join(policy.joints)}")


def _per_joint(policy: Interface, expected: Interface, expected_name: str) -> Iterator[Mismatch]:
    """Compare signs, unit, default pose, gains and action scale of the common joints."""
    shared = [name for name in policy.joints if name in expected.joints]
    policy_columns, expected_columns = ([it.joints.index(name) for name in shared] for it in (policy, expected))
    flipped = [
        name for name, a, b in zip(shared, policy.signs[policy_columns], expected.signs[expected_columns]) if a != b
    ]
    if flipped:
        yield Mismatch("sign", f"{', '.join(flipped)} have the opposite sign in the policy to that in {expected_name}")
    if policy.unit != expected.unit:
        yield Mismatch("unit", f"the policy's angles are in {policy.unit}, those of {expected_name} in {expected.unit}")
    unit = [UNITS[it.unit] for it in (policy, expected)]
    rows: list[tuple[str, str, ndarray, ndarray, float]] = [
        (
            "default_pose",
            "default_joint_pos",
            policy.default[policy_columns] / unit[0],
            expected.default[expected_columns] / unit[1],
            1.0,
        ),
        (
            "action_scale",
            "action_scale",
            policy.action_scale[policy_columns] / unit[0],
            expected.action_scale[expected_columns] / unit[1],
            0,
        ),
        ("stiffness", "joint_stiffness", policy.kp[policy_columns], expected.kp[expected_columns], 0.0),
        ("damping", "joint_damping", policy.kd[policy_columns], expected.kd[expected_columns], 0.0),
    ]
    for kind, key, a, b, floor in rows:
        if policy.unit != expected.unit and key in ("default_joint_pos", "action_scale"):
            a, b = (a, b) if not np.allclose(a * unit[0], b * unit[1]) else (b, b)  # equal except for the unit
        off = np.abs(a - b) > _TOLERANCE * np.maximum(np.abs(b), floor)
        if off.any():
            k = int(np.argmax(off))
            yield Mismatch(
                kind,
                f"{key} of {shared[k]} is {a[k]:.4g} in the policy, {b[k]:.4g} in {expected_name} ({int(off.sum())} of"
                f" {len(off)} joints differ){_why(kind, a, b)}",
            )


def _why(kind: str, a: ndarray, b: ndarray) -> str:
    """Guess the cause of a wrong default pose: another unit, sign or order."""
    if kind != "default_pose":
        return ""
    if np.allclose(a, b * UNITS["deg"], atol=0.1):
        return ": as if it were in degrees"
    if np.allclose(np.abs(a), np.abs(b), atol=_TOLERANCE):
        return ": as if signs were different"
    return ": as if the order were different" if np.allclose(np.sort(a), np.sort(b), atol=_TOLERANCE) else ""


def _single(policy: Interface, expected: Interface, expected_name: str) -> Iterator[Mismatch]:
    rows: Sequence[tuple[str, str, PyTree, PyTree]] = (
        ("rate", "rate [Hz]", policy.rate, expected.rate),
        ("clip", "action_clip", policy.action_clip, expected.action_clip),
        ("frame", "frame of velocities", policy.frame, expected.frame),
        ("history", "observation_history", policy.history, expected.history),
        ("clock", "clock_period [s]", policy.clock_period, expected.clock_period),
        ("observation", "scan_points [m]", policy.scan, expected.scan),
    )
    for kind, words, a, b in rows:
        if a != b:
            yield Mismatch(kind, f"the {words} is {_shown(a)} in the policy, {_shown(b)} in {expected_name}")
    if policy.stacking != expected.stacking and max(policy.history, expected.history) > 1:
        yield Mismatch(
            "history",
            f"the observation history is stacked by {policy.stacking} in the policy, by {expected.stacking} in"
            f" {expected_name}",
        )


def _observations(policy: Interface, expected: Interface, expected_name: str) -> Iterator[Mismatch]:
    if policy.terms != expected.terms:
        a, b = ", ".join(policy.terms), ", ".join(expected.terms)
        yield Mismatch("observation", f"the policy observes {a}; {expected_name} gives {b}")
        return
    for key, of_policy, of_expected in (
        ("scale", policy.scales, expected.scales),
        ("clip", policy.clips, expected.clips),
    ):
        off = [(t, a, b) for t, a, b in zip(policy.terms, of_policy, of_expected) if a != b]
        if off:
            term, first, second = off[0]
            kind = "observation_scale" if key == "scale" else "clip"
            yield Mismatch(kind, f"the {key} of '{term}' is {first:.4g} in the policy, {second:.4g} in {expected_name}")


def _shown(x: Scalar) -> str:
    return "none" if x is None else f"{x:g}" if isinstance(x, (int, float)) else str(x)


# -- a robot and a network ---------------------------------------------------------------------------------------------
def fits_robot(interface: Interface, robot: Robot) -> list[Mismatch]:
    """Check that the joints exist, once each, and that the default pose is within their limits and stands."""
    lacking = [name for name in interface.joints if name not in robot.joint_names]
    idle = [name for name in robot.joint_names if name not in interface.joints]
    found = []
    if lacking:
        found.append(Mismatch("missing_joint", f"robot '{robot.name}' has no {', '.join(lacking)}"))
    if idle:
        found.append(Mismatch("missing_joint", f"the policy does not drive {', '.join(idle)} of robot '{robot.name}'"))
    if len(set(interface.joints)) != len(interface.joints):
        found.append(Mismatch("joint_order", "a joint is named twice"))
    if found:
        return found
    angles = interface.signs * interface.default / UNITS[interface.unit]
    joints = angles[[interface.joints.index(name) for name in robot.joint_names]]
    if np.abs(joints).max() > _FULL_CIRCLE:
        k = int(np.argmax(np.abs(joints)))
        far = f"{robot.joint_names[k]} would stand at {joints[k]:.4g} rad"
        return [Mismatch("unit", f"{far}: the default pose may be in degrees")]
    limits = [robot.joint(name) for name in robot.joint_names]
    beyond = [j.name for j, x in zip(limits, joints) if not j.lower - _TOLERANCE <= x <= j.upper + _TOLERANCE]
    if beyond:
        found.append(Mismatch("default_pose", f"the default pose is beyond the limits of {', '.join(beyond)}"))
    elif not stands_in(robot, joints):
        words = "with the policy's default pose the robot does not stand on its feet: check order, signs and unit"
        found.append(Mismatch("default_pose", words))
    return found


def fits_network(interface: Interface, graph: Graph) -> list[Mismatch]:
    """Check that the network has as many inputs and outputs as the interface."""
    found, frame = [], sum(interface.sizes)
    if graph.inputs != interface.size:
        past, rest = divmod(graph.inputs, frame)
        words = f"the network sees {graph.inputs} numbers, the observation has {interface.size}"
        if rest == 0 and past != interface.history:
            found.append(
                Mismatch("history", f"{words}: as if its observation_history were {past}, not {interface.history}")
            )
        else:
            each = ", ".join(f"{term} {size}" for term, size in zip(interface.terms, interface.sizes))
            found.append(Mismatch("observation", f"{words} ({each})"))
    if graph.outputs != len(interface.joints):
        words = f"the network gives {graph.outputs} actions, the policy names {len(interface.joints)} joints"
        found.append(Mismatch("missing_joint", words))
    return found
