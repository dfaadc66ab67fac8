"""Kinematics and dynamics of a robot or of one leg as formulas, as in Adak et al. 2021 and DynaKat.

The functions of ``lagrange`` are traced with symbols and written out as LaTeX, Python or C. Small mechanisms, such as a
leg, come out as sums of harmonics, which are unique and short; whole robots step by step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from footfall.dynamics.formalisms import lagrange
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Joint, Link
from footfall.spatial.rotation import EULER_ORDERS

QUANTITIES = {  # names on the command line: names in lagrange
    "forward_kinematics": "forward_kinematics",
    "jacobian": "jacobian",
    "mass_matrix": "mass_matrix",
    "coriolis_matrix": "coriolis_matrix",
    "gravity": "gravity_terms",
    "contact_jacobian": "contact_jacobian",
}
_READABLE = 10_000  # characters: about three pages


@dataclass(frozen=True, kw_only=True)
class Formula:
    """A quantity in full, and its cost."""

    robot: Robot
    quantity: str
    text: str
    operations: int  # operations of the trace, before it is written
    variables: dict[str, str]  # symbol: meaning
    seconds: float  # seconds that the derivation took

    @property
    def readable(self) -> bool:
        """Return whether the formula is short enough to read."""
        return len(self.text) <= _READABLE


def leg_alone(robot: Robot, leg: str) -> Robot:
    """Return one leg of a robot on a fixed base: the link that carries the leg, in that link's frame.

    Args:
        robot: The robot.
        leg: Name of the leg's foot.

    Returns:
        A robot with a fixed base, upright, with the joints that move only this foot.
    """
    foot = robot.foot(leg)
    if robot.loops:
        raise InputError(f"robot '{robot.name}' has closed loops: only open legs are written as formulas")
    tree, k = robot.tree, robot.foot_names.index(foot.name)
    shared = {j for other, body in enumerate(tree.feet) if other != k for j in tree.support[body]}
    own = {robot.joint_names[j - 1] for j in tree.support[tree.feet[k]] if j not in shared and j > 0}
    first = next(joint for joint in _path(robot, foot.link) if joint.name in own)
    carried, joints = {first.child}, [first]
    for _ in robot.joints:
        for joint in robot.joints:
            if joint.parent in carried and joint.child not in carried:
                carried.add(joint.child)
                joints.append(joint)
    kept = [link for link in robot.links if link.name in carried]
    return robot.replace(
        name=f"{robot.name}_{foot.name}",
        links=[Link.massless(first.parent), *kept],
        joints=[joint for joint in robot.joints if joint in joints],
        feet=[foot],
        actuators=[motor for motor in robot.actuators if motor.joint in {joint.name for joint in joints}],
        poses={},
        floating=False,
    )


def derive(
    robot: Robot, quantity: str, leg: str | None = None, form: str = "latex", order: str = "xyz", digits: int = 4
) -> Formula:
    """Derive a quantity of a robot, or of one of its legs, as a formula.

    Args:
        robot: The robot.
        quantity: One of ``QUANTITIES``.
        leg: Name of a leg's foot, for the leg alone; the whole robot unless given.
        form: ``latex``, ``python`` or ``c``.
        order: Order of the base's Euler angles: ``xyz`` or ``zyx``.
        digits: Digits of numbers in LaTeX.

    Returns:
        The formula; for a whole robot, in q = (Euler angles, position, joints).
    """
    if quantity not in QUANTITIES:
        raise unknown("quantity", quantity, QUANTITIES)
    if form not in lagrange.FORMS:
        raise unknown("form", form, lagrange.FORMS)
    if order not in EULER_ORDERS:
        raise unknown("order of Euler angles", order, EULER_ORDERS)
    began = time.perf_counter()
    subject, name = robot if leg is None else leg_alone(robot, leg), QUANTITIES[quantity]
    if not subject.nf and quantity in ("forward_kinematics", "jacobian", "contact_jacobian"):
        raise InputError(f"robot '{robot.name}' has no foot: its {quantity} is that of the feet")
    if subject.loops:
        raise InputError(f"robot '{robot.name}' has closed loops: only open chains are written as formulas")
    traced = lagrange.trace_of(subject, name, order)
    text = lagrange.write_trace(traced, subject, name, form, digits)
    graph = traced.graph
    operations = sum(graph.op(i) not in ("const", "input") for i in graph.live(traced.outputs))
    return Formula(
        robot=subject,
        quantity=quantity,
        text=text,
        operations=operations,
        variables=_variables(subject, order, quantity == "coriolis_matrix"),
        seconds=time.perf_counter() - began,
    )


def _path(robot: Robot, link: str) -> list[Joint]:
    """Return the joints from the base to a link."""
    by_child, found = {joint.child: joint for joint in robot.joints}, []
    while link in by_child:
        found.append(by_child[link])
        link = by_child[link].parent
    return found[::-1]


def _variables(robot: Robot, order: str, rates: bool) -> dict[str, str]:
    kinds = {joint.name: joint.kind for joint in robot.joints}
    joints = [f"{name} [{'m' if kinds[name] == 'prismatic' else 'rad'}]" for name in robot.joint_names]
    base = [f"Euler angle about {axis} [rad]" for axis in order] + [f"{axis} of the base [m]" for axis in "xyz"]
    named = [*(base if robot.floating else []), *joints]
    found = {f"q{k + 1}": text for k, text in enumerate(named)}
    return found | ({f"v{k + 1}": f"rate of q{k + 1}" for k in range(len(named))} if rates else {})


__all__ = ["QUANTITIES", "Formula", "derive", "leg_alone"]
