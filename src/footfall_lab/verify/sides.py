"""The sides of a comparison: each computes the quantities that it supports, in footfall's coordinates.

To add a formalism to ``footfall verify``, add an entry to ``SIDES``: a function from a robot to {quantity: function of
the arrays that ``QUANTITIES`` lists}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from footfall import dynamics, kinematics
from footfall.dynamics.formalisms import lagrange
from footfall.errors import InputError
from footfall.mujoco.model import MuJoCo
from footfall.robot.model.description import Robot
from footfall.spatial.rotation import about_axis
from footfall_lab.verify import loop_sides
from footfall_lab.verify.loop_sides import LOOP_QUANTITIES
from footfall_lab.verify.pinocchio import Pinocchio
from footfall_lab.verify.stance_sides import STANCE_QUANTITIES, PinocchioStance, excess, minimal, screw
from nptrace._types import PyTree

Side = Mapping[str, Callable[..., PyTree]]

QUANTITIES: dict[str, tuple[str, ...]] = {
    "mass_matrix": ("q",),
    "bias": ("q", "v"),
    "velocity_terms": ("q", "v"),
    "gravity": ("q",),
    "external_terms": ("q", "wrenches"),
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "body_velocities": ("q", "v"),
    "foot_positions": ("q",),
    "feet_jacobian": ("q",),
    "feet_jacobian_foot": ("q",),
    "feet_jacobian_contact": ("q",),
    "jacobian_rate": ("q", "v"),
    "jacobian_rate_foot": ("q", "v"),
    "jacobian_rate_contact": ("q", "v"),
    "center_of_mass": ("q",),
    "momentum_matrix": ("q",),
    "kinetic_energy": ("q", "v"),
    "potential_energy": ("q",),
    **STANCE_QUANTITIES,
    **LOOP_QUANTITIES,
}

SLOPE = about_axis(np.array([0.6, -0.48, 0.64]), 0.7)  # R_WC of the ground at which contact frames are compared


def recursive(robot: Robot) -> Side:
    """Algorithms 1-6 of de Paula et al. 2024: the reference."""
    return {
        "mass_matrix": partial(dynamics.mass_matrix, robot),
        "bias": partial(dynamics.bias_terms, robot),
        "velocity_terms": partial(dynamics.velocity_terms, robot),
        "gravity": partial(dynamics.gravity_terms, robot),
        "external_terms": partial(dynamics.external_terms, robot),
        "inverse_dynamics": partial(dynamics.inverse_dynamics, robot),
        "forward_dynamics": partial(dynamics.forward_dynamics, robot),
        "body_velocities": partial(kinematics.body_velocities, robot),
        "foot_positions": partial(kinematics.foot_positions, robot),
        "feet_jacobian": partial(kinematics.feet_jacobian, robot),
        "feet_jacobian_foot": partial(kinematics.feet_jacobian, robot, frame="foot"),
        "feet_jacobian_contact": partial(kinematics.feet_jacobian, robot, frame="contact", R_WC=SLOPE),
        "jacobian_rate": partial(kinematics.feet_bias_acceleration, robot),
        "jacobian_rate_foot": partial(kinematics.feet_bias_acceleration, robot, frame="foot"),
        "jacobian_rate_contact": partial(kinematics.feet_bias_acceleration, robot, frame="contact", R_WC=SLOPE),
        "center_of_mass": partial(kinematics.center_of_mass, robot),
        "momentum_matrix": partial(dynamics.momentum_matrix, robot),
        "kinetic_energy": partial(dynamics.kinetic_energy, robot),
        "potential_energy": partial(dynamics.potential_energy, robot),
        **loop_sides.ours(robot),
    }


def articulated(robot: Robot) -> Side:
    """Featherstone's articulated-body algorithm, which does not support exact rotors."""
    if any(body.spins for body in robot.tree.bodies):
        raise InputError(
            f"robot '{robot.name}' has exact rotors, which the articulated-body algorithm does not support"
        )
    return {"forward_dynamics": partial(dynamics.articulated_body, robot)}


def euler_lagrange(robot: Robot) -> Side:
    """Energies differentiated in Euler coordinates, then mapped (Adak et al. 2021, the DynaKat paper)."""
    return {
        "mass_matrix": partial(lagrange.mass_matrix, robot),
        "bias": partial(lagrange.bias_terms, robot),
        "velocity_terms": partial(lagrange.velocity_terms, robot),
        "gravity": partial(lagrange.gravity_terms, robot),
        "inverse_dynamics": partial(lagrange.inverse_dynamics, robot),
        "forward_dynamics": partial(lagrange.forward_dynamics, robot),
        "feet_jacobian": partial(lagrange.feet_jacobian, robot),
        "kinetic_energy": partial(lagrange.kinetic_energy, robot),
    }


def pinocchio(robot: Robot) -> Side:
    referee = Pinocchio(robot)
    return {
        **_answers(referee),
        **PinocchioStance(referee).side(),
        **loop_sides.of_pinocchio(referee),
        "body_velocities": referee.body_velocities,
        "feet_jacobian_foot": partial(referee.feet_jacobian, frame="foot"),
        "jacobian_rate_foot": partial(referee.jacobian_rate, frame="foot"),
    }


def mujoco(robot: Robot) -> Side:
    referee = MuJoCo(robot)
    return {
        **_answers(referee),
        **loop_sides.of_mujoco(referee),
        "feet_jacobian_contact": partial(referee.feet_jacobian, R_WC=SLOPE),
        "jacobian_rate_contact": partial(referee.jacobian_rate, R_WC=SLOPE),
    }


def _answers(referee: Pinocchio | MuJoCo) -> dict[str, Callable[..., PyTree]]:
    """Return the results of both referees under the same name."""
    alone = ("body_velocities", *STANCE_QUANTITIES, *LOOP_QUANTITIES)
    shared = [name for name in QUANTITIES if not name.endswith(("_foot", "_contact")) and name not in alone]
    return {name: getattr(referee, name) for name in shared}


SIDES: dict[str, Callable[[Robot], Side]] = {
    "recursive": recursive,
    "articulated": articulated,
    "lagrange": euler_lagrange,
    "screw": screw,
    "constrained": excess,
    "reduced": minimal,
    "pinocchio": pinocchio,
    "mujoco": mujoco,
}
UNTRACED = ("screw", "reduced")  # these solve systems whose shape depends on the mode: plain NumPy at every state
OUTSIDE = ("pinocchio", "mujoco")  # never compared with each other: that would not test footfall
