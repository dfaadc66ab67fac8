"""Where two descriptions of a policy's wiring differ, and where one does not fit a robot: each named by its kind."""

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

_SAME = 1e-3  # of a number, or rad
_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Mismatch:
    """One thing that does not fit: of what kind, and one sentence."""

    kind: str
    words: str


def differences(policy: Interface, meant: Interface, who: str) -> list[Mismatch]:
    """What a policy's words say otherwise than ``who`` does. Joints are compared by name, whatever their order."""
    found = [*_joints(policy, meant, who), *_per_joint(policy, meant, who), *_single(policy, meant, who)]
    return [*found, *_observations(policy, meant, who)]


def _joints(policy: Interface, meant: Interface, who: str) -> Iterator[Mismatch]:
    if policy.robot != meant.robot and policy.robot and meant.robot:
        yield Mismatch("robot", f"the policy was made for '{policy.robot}', {who} is of '{meant.robot}'")
    lacking = [name for name in policy.joints if name not in meant.joints]
    idle = [name for name in meant.joints if name not in policy.joints]
    if lacking:
        yield Mismatch("missing_joint", f"the policy drives {', '.join(lacking)}, which {who} does not have")
    if idle:
        yield Mismatch("missing_joint", f"{who} has {', '.join(idle)}, which the policy does not drive")
    if not lacking and not idle and policy.joints != meant.joints:
        k = next(k for k, (a, b) in enumerate(zip(policy.joints, meant.joints)) if a != b)
        here = f"joint {k + 1} of the policy is {policy.joints[k]}, of {who} {meant.joints[k]}"
        yield Mismatch("joint_order", f"{here}: the policy's order is {', '.join(policy.joints)}")


def _per_joint(policy: Interface, meant: Interface, who: str) -> Iterator[Mismatch]:
    """Signs, unit, default pose, gains and action scale of the joints that both have."""
    shared = [name for name in policy.joints if name in meant.joints]
    ours, theirs = ([it.joints.index(name) for name in shared] for it in (policy, meant))
    flipped = [name for name, a, b in zip(shared, policy.signs[ours], meant.signs[theirs]) if a != b]
    if flipped:
        yield Mismatch("sign", f"{', '.join(flipped)} turn the other way in the policy than in {who}")
    if policy.unit != meant.unit:
        yield Mismatch("unit", f"the policy's angles are in {policy.unit}, those of {who} in {meant.unit}")
    unit = [UNITS[it.unit] for it in (policy, meant)]
    rows: list[tuple[str, str, ndarray, ndarray, float]] = [
        ("default_pose", "default_joint_pos", policy.default[ours] / unit[0], meant.default[theirs] / unit[1], 1.0),
        ("action_scale", "action_scale", policy.action_scale[ours] / unit[0], meant.action_scale[theirs] / unit[1], 0),
        ("stiffness", "joint_stiffness", policy.kp[ours], meant.kp[theirs], 0.0),
        ("damping", "joint_damping", policy.kd[ours], meant.kd[theirs], 0.0),
    ]
    for kind, key, a, b, floor in rows:
        if policy.unit != meant.unit and key in ("default_joint_pos", "action_scale"):
            a, b = (a, b) if not np.allclose(a * unit[0], b * unit[1]) else (b, b)  # the same numbers: the unit alone
        off = np.abs(a - b) > _SAME * np.maximum(np.abs(b), floor)
        if off.any():
            k = int(np.argmax(off))
            yield Mismatch(
                kind,
                f"{key} of {shared[k]} is {a[k]:.4g} in the policy, {b[k]:.4g} in {who} ({int(off.sum())} of"
                f" {len(off)} joints differ){_why(kind, a, b)}",
            )


def _why(kind: str, a: ndarray, b: ndarray) -> str:
    """What a wrong pose looks like."""
    if kind != "default_pose":
        return ""
    if np.allclose(a, b * UNITS["deg"], atol=0.1):
        return ": as if it were in degrees"
    if np.allclose(np.abs(a), np.abs(b), atol=_SAME):
        return ": as if signs were other"
    return ": as if the order were another" if np.allclose(np.sort(a), np.sort(b), atol=_SAME) else ""


def _single(policy: Interface, meant: Interface, who: str) -> Iterator[Mismatch]:
    rows: Sequence[tuple[str, str, PyTree, PyTree]] = (
        ("rate", "rate [Hz]", policy.rate, meant.rate),
        ("clip", "action_clip", policy.action_clip, meant.action_clip),
        ("frame", "frame of velocities", policy.frame, meant.frame),
        ("history", "observation_history", policy.history, meant.history),
        ("clock", "clock_period [s]", policy.clock_period, meant.clock_period),
        ("observation", "scan_points [m]", policy.scan, meant.scan),
    )
    for kind, words, a, b in rows:
        if a != b:
            yield Mismatch(kind, f"the {words} is {_shown(a)} in the policy, {_shown(b)} in {who}")
    if policy.stacking != meant.stacking and max(policy.history, meant.history) > 1:
        yield Mismatch(
            "history", f"the past is stacked by {policy.stacking} in the policy, by {meant.stacking} in {who}"
        )


def _observations(policy: Interface, meant: Interface, who: str) -> Iterator[Mismatch]:
    if policy.terms != meant.terms:
        a, b = ", ".join(policy.terms), ", ".join(meant.terms)
        yield Mismatch("observation", f"the policy observes {a}; {who} gives {b}")
        return
    for key, of_policy, of_meant in (("scale", policy.scales, meant.scales), ("clip", policy.clips, meant.clips)):
        off = [(t, a, b) for t, a, b in zip(policy.terms, of_policy, of_meant) if a != b]
        if off:
            term, first, second = off[0]
            kind = "observation_scale" if key == "scale" else "clip"
            yield Mismatch(kind, f"the {key} of '{term}' is {first:.4g} in the policy, {second:.4g} in {who}")


def _shown(x: Scalar) -> str:
    return "none" if x is None else f"{x:g}" if isinstance(x, (int, float)) else str(x)


# -- a robot and a network ---------------------------------------------------------------------------------------------
def fits_robot(it: Interface, robot: Robot) -> list[Mismatch]:
    """Joints that are there, once each, and a default pose within their limits that stands."""
    lacking = [name for name in it.joints if name not in robot.joint_names]
    idle = [name for name in robot.joint_names if name not in it.joints]
    found = []
    if lacking:
        found.append(Mismatch("missing_joint", f"robot '{robot.name}' has no {', '.join(lacking)}"))
    if idle:
        found.append(Mismatch("missing_joint", f"the policy does not drive {', '.join(idle)} of robot '{robot.name}'"))
    if len(set(it.joints)) != len(it.joints):
        found.append(Mismatch("joint_order", "a joint is named twice"))
    if found:
        return found
    angles = it.signs * it.default / UNITS[it.unit]
    joints = angles[[it.joints.index(name) for name in robot.joint_names]]
    if np.abs(joints).max() > _TURN:
        k = int(np.argmax(np.abs(joints)))
        far = f"{robot.joint_names[k]} would stand at {joints[k]:.4g} rad"
        return [Mismatch("unit", f"{far}: the default pose looks as if it were in degrees")]
    limits = [robot.joint(name) for name in robot.joint_names]
    beyond = [j.name for j, x in zip(limits, joints) if not j.lower - _SAME <= x <= j.upper + _SAME]
    if beyond:
        found.append(Mismatch("default_pose", f"the default pose is beyond the limits of {', '.join(beyond)}"))
    elif not stands_in(robot, joints):
        words = "with the policy's default pose the robot does not stand on its feet: look at order, signs and unit"
        found.append(Mismatch("default_pose", words))
    return found


def fits_network(it: Interface, graph: Graph) -> list[Mismatch]:
    """As many numbers as the network sees and gives."""
    found, frame = [], sum(it.sizes)
    if graph.inputs != it.size:
        past, rest = divmod(graph.inputs, frame)
        words = f"the network sees {graph.inputs} numbers, the observation has {it.size}"
        if rest == 0 and past != it.history:
            found.append(Mismatch("history", f"{words}: as if its observation_history were {past}, not {it.history}"))
        else:
            each = ", ".join(f"{term} {size}" for term, size in zip(it.terms, it.sizes))
            found.append(Mismatch("observation", f"{words} ({each})"))
    if graph.outputs != len(it.joints):
        words = f"the network gives {graph.outputs} actions, the policy names {len(it.joints)} joints"
        found.append(Mismatch("missing_joint", words))
    return found
