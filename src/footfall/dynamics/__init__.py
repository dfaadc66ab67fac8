"""Rigid-body dynamics: one file per algorithm, each plain NumPy that reads like its paper."""

from importlib import import_module
from typing import TYPE_CHECKING

from footfall import hints
from footfall.dynamics.articulated_body import articulated_body
from footfall.dynamics.closed_loops import closed_dynamics
from footfall.dynamics.coordinates import configuration_rate, difference, integrate, with_virtual_joints
from footfall.dynamics.coriolis_matrix import coriolis_matrix
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.dynamics.external_terms import external_terms
from footfall.dynamics.factor import factor, solve_factored
from footfall.dynamics.formalisms.constrained import (
    constrained_dynamics,
    contact_jacobian,
    delassus_matrix,
    impact_map,
)
from footfall.dynamics.formalisms.contact_sets import ContactSet, check_stance, contact_set, stance_dynamics
from footfall.dynamics.formalisms.modes import all_modes, mode_name, mode_of, transitions
from footfall.dynamics.forward_dynamics import bias_terms, forward_dynamics
from footfall.dynamics.gravity_terms import gravity_terms
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.momentum import momentum, momentum_matrix
from footfall.dynamics.passive import damping_torques, friction_torques, spring_torques
from footfall.dynamics.random_states import States, random_states
from footfall.dynamics.regressor import base_parameters, regressor
from footfall.dynamics.velocity_terms import velocity_terms
from footfall.spatial.gravity import GRAVITY
from nptrace._types import Given

if TYPE_CHECKING:
    from footfall.dynamics.formalisms import lagrange
    from footfall.dynamics.formalisms.flat_feet import flat_dynamics, flat_impact, sole_margins
    from footfall.dynamics.formalisms.reduced import (
        ModeCoordinates,
        reduced_dynamics,
        reduced_system,
        reduced_touchdown,
    )
    from footfall.dynamics.formalisms.screw_system import screw_forward_dynamics, screw_inverse_dynamics

__all__ = [
    "GRAVITY",
    "ContactSet",
    "ModeCoordinates",
    "States",
    "all_modes",
    "articulated_body",
    "base_parameters",
    "bias_terms",
    "check_stance",
    "closed_dynamics",
    "configuration_rate",
    "constrained_dynamics",
    "contact_jacobian",
    "contact_set",
    "coriolis_matrix",
    "damping_torques",
    "delassus_matrix",
    "difference",
    "external_terms",
    "factor",
    "flat_dynamics",
    "flat_impact",
    "forward_dynamics",
    "friction_torques",
    "gravity_terms",
    "impact_map",
    "integrate",
    "inverse_dynamics",
    "kinetic_energy",
    "lagrange",
    "mass_matrix",
    "mode_name",
    "mode_of",
    "momentum",
    "momentum_matrix",
    "potential_energy",
    "random_states",
    "reduced_dynamics",
    "reduced_system",
    "reduced_touchdown",
    "regressor",
    "screw_forward_dynamics",
    "screw_inverse_dynamics",
    "sole_margins",
    "solve_factored",
    "spring_torques",
    "stance_dynamics",
    "transitions",
    "velocity_terms",
    "with_virtual_joints",
]

_LATER = {  # these need SciPy, which is slow to load
    "ModeCoordinates": "reduced",
    "flat_dynamics": "flat_feet",
    "flat_impact": "flat_feet",
    "sole_margins": "flat_feet",
    "reduced_dynamics": "reduced",
    "reduced_system": "reduced",
    "reduced_touchdown": "reduced",
    "screw_forward_dynamics": "screw_system",
    "screw_inverse_dynamics": "screw_system",
}


def __getattr__(name: str) -> Given:
    if name in _LATER:
        return getattr(import_module(f"footfall.dynamics.formalisms.{_LATER[name]}"), name)
    if name == "lagrange":  # a formalism with all its functions; it differentiates, so it loads the tracer
        return import_module("footfall.dynamics.formalisms.lagrange")
    raise hints.missing("footfall.dynamics", name, __all__, hints.DYNAMICS)


def __dir__() -> list[str]:
    return sorted(__all__)
