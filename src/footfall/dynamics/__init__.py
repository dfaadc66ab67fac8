"""How the robot moves under forces: one file an algorithm, each plain NumPy that reads like its paper."""

from footfall.dynamics.articulated_body import articulated_body
from footfall.dynamics.coordinates import configuration_rate, difference, integrate, with_virtual_joints
from footfall.dynamics.coriolis_matrix import coriolis_matrix
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.dynamics.external_terms import external_terms
from footfall.dynamics.factor import factor, solve_factored
from footfall.dynamics.forward_dynamics import bias_terms, forward_dynamics
from footfall.dynamics.gravity_terms import GRAVITY, gravity_terms
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.momentum import momentum, momentum_matrix
from footfall.dynamics.passive import damping_torques, friction_torques, spring_torques
from footfall.dynamics.velocity_terms import velocity_terms

__all__ = [
    "GRAVITY", "articulated_body", "bias_terms", "configuration_rate", "coriolis_matrix", "damping_torques",
    "difference", "external_terms", "factor", "forward_dynamics", "friction_torques", "gravity_terms", "integrate",
    "inverse_dynamics", "kinetic_energy", "mass_matrix", "momentum", "momentum_matrix", "potential_energy",
    "solve_factored", "spring_torques", "velocity_terms", "with_virtual_joints",
]  # fmt: skip
