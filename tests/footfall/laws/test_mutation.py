"""One sign, index or factor flipped in any one algorithm makes ``verify`` fail, and it names the quantity."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mutants import Mutant, mutants_of, swapped_in
from specimens import specimen

from footfall.dynamics.formalisms import lagrange
from footfall.robot import Robot
from footfall_lab.verify import Report, verify

SAMPLED = 4  # mutants of each module in a plain run; the slow test takes them all

# Every module of algorithms, and what ``verify`` must name (at least one of these) when it is broken.
MODULES: dict[str, tuple[str, ...]] = {
    "spatial.vector": (),
    "spatial.motion": ("power_does_not_depend_on_the_frame",),
    "spatial.transform": (),
    "spatial.inertia": (),
    "spatial.quaternion": (),
    "spatial.rotation": (),
    "spatial.screw": (),
    "kinematics.forward": (),
    "kinematics.jacobian": (
        "feet_jacobian",
        "feet_jacobian_foot",
        "feet_jacobian_contact",
        "jacobian_rate",
        "jacobian_rate_foot",
        "jacobian_rate_contact",
    ),
    "kinematics.iterative.product_of_exponentials": (
        "foot_positions",
        "feet_jacobian",
        "screw_poses_match_forward_kinematics",
    ),
    "dynamics.articulated_body": ("forward_dynamics",),
    "dynamics.formalisms.constrained": (
        "forward_dynamics",
        "stance_acceleration",
        "contact_forces",
        "touchdown_velocity",
        "touchdown_impulses",
        "delassus_matrix",
        "stance_feet_follow_their_feedback",
        "touchdown_stops_the_feet",
    ),
    "dynamics.formalisms.contact_sets": (
        "a_foot_counted_twice_shares_its_force",
        "condition_numbers_of_contact_sets_are_correct",
        "stance_acceleration",
    ),
    "dynamics.coordinates": (
        "configuration_rate_is_the_derivative_of_q",
        "euler_rates_map_to_velocity",
        "virtual_joints_have_the_same_mass_matrix",
    ),
    "dynamics.coriolis_matrix": (
        "coriolis_times_velocity_and_gravity_is_bias",
        "mass_matrix_rate_is_twice_the_symmetric_coriolis_part",
    ),
    "dynamics.energy": ("kinetic_energy", "potential_energy"),
    "dynamics.factor": (
        "forward_dynamics",
        "factors_multiply_to_mass_matrix",
        "stance_acceleration",
        "contact_forces",
        "touchdown_stops_the_feet",
    ),
    "dynamics.forward_dynamics": (
        "forward_dynamics",
        "bias",
        "joint_torques_and_external_forces_add",
        "classical_acceleration_is_that_of_the_base_origin",
    ),
    "dynamics.gravity_terms": ("gravity",),
    "dynamics.inverse_dynamics": ("inverse_dynamics",),
    "dynamics.formalisms.lagrange": (
        "mass_matrix",
        "bias",
        "velocity_terms",
        "gravity",
        "inverse_dynamics",
        "forward_dynamics",
        "feet_jacobian",
        "kinetic_energy",
        "christoffel_matrix_shares_rate_and_product_with_the_recursive_one",
    ),
    "dynamics.formalisms.link_jacobians": (
        "mass_matrix",
        "bias",
        "velocity_terms",
        "gravity",
        "feet_jacobian",
        "kinetic_energy",
    ),
    "dynamics.mass_matrix": ("mass_matrix",),
    "dynamics.momentum": ("momentum_matrix", "momentum_is_its_matrix_times_velocity"),
    "dynamics.passive": ("joint_losses_and_energies_are_consistent",),
    "dynamics.propagate": ("external_terms",),
    "dynamics.formalisms.reduced": (
        "forward_dynamics",
        "stance_acceleration",
        "contact_forces",
        "touchdown_velocity",
        "a_foot_counted_twice_shares_its_force",
    ),
    "dynamics.formalisms.screw_system": (
        "forward_dynamics",
        "inverse_dynamics",
        "stance_acceleration",
        "contact_forces",
        "joint_reactions",
        "a_foot_counted_twice_shares_its_force",
        "torques_are_recovered_from_foot_forces",
    ),
    "dynamics.velocity_terms": ("velocity_terms", "classical_acceleration_is_that_of_the_base_origin"),
    "robot.model.tree": (),
}

# What Euler-Lagrange traces once for each robot: a trace made before the flip, or during it, must not outlive it.
TRACED = {
    "footfall.dynamics.formalisms.lagrange",
    "footfall.dynamics.formalisms.link_jacobians",
    "footfall.spatial.rotation",
    "footfall.spatial.vector",
}

_SERIES = "a late term of a series: below 1e-10 of the result at the largest turn it is used for"
_GUARD = "decides what is refused, not what is computed"
# Mutants that change no result that verify could see: (module, function, before) and the reason.
_CONTACTS = "of contacts, which verify adds none: dynamics/test_limb_factors.py"
HARMLESS: dict[tuple[str, str, str], str] = {
    ("dynamics.factor", "next_above", "k - 1"): "of trees whose branches are coupled: dynamics/test_limb_factors.py",
    ("dynamics.factor", "factor_unsymmetric", "(D.T @ J).T"): _CONTACTS,
    ("dynamics.factor", "factor_unsymmetric", "D.T"): _CONTACTS,
    ("dynamics.factor", "factor_unsymmetric", "J.T"): _CONTACTS,
    (
        "dynamics.factor",
        "factor_unsymmetric",
        "A[at(i, f), at(j, f)] + (below if j <= i else above)[i, j]",
    ): _CONTACTS,
    ("dynamics.factor", "solve_unsymmetric", "0.0 * b[0]"): "a zero of b's shape, or one that takes it",
    ("dynamics.factor", "solve_unsymmetric", "0"): "a zero of b's shape: any of its rows has it",
    (
        "dynamics.formalisms.reduced",
        "_pivots",
        "RANK_TOLERANCE * float(np.abs(A[left]).max(initial=0.0))",
    ): _GUARD,
    ("robot.model.tree", "Tree.parallel_joints", "1.0"): "no axes are then shared: more operations, the same result",
    ("robot.model.tree", "Tree.parallel_joints", "1.0 - _PARALLEL"): "the same: no axes are then shared",
    ("robot.model.tree", "Tree.leg_of", "-1"): "a wheel's leg, which no specimen has: control/test_wheels.py",
    ("robot.model.tree", "Tree.leg_of", "1"): "a wheel's leg, which no specimen has: control/test_wheels.py",
    ("spatial.quaternion", "rotated", "1e-06"): "only keeps the branch not taken from dividing by zero",
    ("spatial.quaternion", "rotated", "0.01"): "where the series takes over: both branches are exact on either side",
    ("spatial.quaternion", "rotated", "square / 20 * (1 - square / 42 * (1 - square / 72))"): _SERIES,
    ("spatial.quaternion", "rotated", "1 - square / 42 * (1 - square / 72)"): _SERIES,
    ("spatial.quaternion", "rotated", "square / 42 * (1 - square / 72)"): _SERIES,
    ("spatial.quaternion", "rotated", "1 - square / 72"): _SERIES,
    ("spatial.quaternion", "rotated", "square / 12 * (1 - square / 30 * (1 - square / 56))"): _SERIES,
    ("spatial.quaternion", "rotated", "square / 30 * (1 - square / 56)"): _SERIES,
    ("spatial.quaternion", "rotated", "1 - square / 56"): _SERIES,
    ("spatial.quaternion", "rotation_vector", "1e-30"): "only keeps no turn at all from dividing zero by zero",
    ("spatial.rotation", "coordinate_axis", "abs(axis[k]) - 1.0"): "aligned axes then take the general formula",
    ("spatial.rotation", "coordinate_axis", "1.0"): "aligned axes then take the general formula: same matrix",
    (
        "spatial.rotation",
        "snapped",
        "R - whole",
    ): "rounding of a model's numbers, finished before verify sees the robot",
    ("spatial.rotation", "is_rotation", "R.T"): _GUARD,
    ("dynamics.coordinates", "to_euler_coordinates", "abs(float(angles[1])) - np.pi / 2"): _GUARD,
    ("dynamics.coordinates", "to_euler_coordinates", "1"): _GUARD,
    (
        "dynamics.formalisms.lagrange",
        "_coordinates",
        "1",
    ): "only the choice between two orders of angles that both will do",
    (
        "dynamics.formalisms.constrained",
        "contact_solve",
        "A[k, k] + slack + (1.0 - stands[k])",
    ): "rows of feet that are up: 0 = -f",
    (
        "dynamics.formalisms.contact_sets",
        "contact_set",
        "RANK_TOLERANCE * max(float(sizes.max(initial=0.0)), np.finfo(float).tiny)",
    ): _GUARD,
    (
        "dynamics.formalisms.contact_sets",
        "stance_dynamics",
        "_CONSISTENT * max(float(np.abs(wanted).max()), 1.0)",
    ): _GUARD,
    ("dynamics.formalisms.contact_sets", "stance_dynamics", "1.0"): _GUARD,
    (
        "dynamics.formalisms.reduced",
        "reduced_system",
        "_CONSISTENT * max(float(np.abs(turning).max(initial=0.0)), 1.0)",
    ): _GUARD,
    ("dynamics.formalisms.reduced", "reduced_system", "1.0"): _GUARD,
    ("dynamics.formalisms.screw_system", "constraint_matrix", "1"): "names of columns, which no result depends on",
    ("dynamics.formalisms.screw_system", "_least_norm", "_CONSISTENT * max(float(np.abs(b).max()), 1.0)"): _GUARD,
    ("dynamics.formalisms.screw_system", "_least_norm", "1.0"): _GUARD,
    ("dynamics.formalisms.screw_system", "_solved", "x + solve(b - K @ x)"): "a correction of the size of rounding",
    ("dynamics.formalisms.screw_system", "_rank", "_RANK * max(float(sizes.max()), np.finfo(float).tiny)"): _GUARD,
    ("dynamics.articulated_body", "_solve", "0"): "a first value that is overwritten before it is read",
    ("dynamics.articulated_body", "_solve", "k + 1"): "more of L is filled in, above its diagonal, and never read",
}


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """A mutant may loop for ever, which is noticed too: seconds of computing, so a busy machine changes nothing."""

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class _TooLong(BaseException):
    """Not an Exception: ``verify`` must not take it for a finding."""


def specimens() -> list[Robot]:
    return [specimen(False, "exact", 2), specimen(True, "exact"), specimen(True, "armature", 1)]  # the quickest first


SPECIMENS = specimens()


def found_by_verify(mutant: Mutant, wanted: set[str]) -> set[str] | None:
    """The quantities that fail with the mutant in place: empty when all pass, None when it does not even run.

    Robots are verified until one of the ``wanted`` is among them, or any if nothing is wanted.
    """
    named: set[str] = set()
    if mutant.module in TRACED:
        lagrange.forget()
    with swapped_in(mutant):
        try:
            with limit(20.0):
                for robot in specimens() if mutant.module == "footfall.robot.model.tree" else SPECIMENS:
                    named |= {check.quantity for check in verify(robot, samples=2).failures()}
                    if named & wanted if wanted else named:
                        break
        except _TooLong:
            return None
        except Exception:
            if mutant.module == "footfall.robot.model.tree":
                return None  # a robot that cannot be built is never verified
            raise
        finally:
            if mutant.module in TRACED:
                lagrange.forget()
    return named


# What ``verify`` does not ask for, and which tests hold it instead.
ELSEWHERE: dict[tuple[str, str], str] = {
    ("spatial.quaternion", "from_zyx"): "footfall/sim/test_block.py",
    ("kinematics.forward", "_check_quaternion"): "footfall/sim/test_nothing_ignored.py",
    ("dynamics.factor", "solution"): "footfall/sim/test_linearize.py",  # the equation by which it is differentiated
    ("dynamics.factor", "branch_product"): "footfall/sim/test_linearize.py",
    ("dynamics.formalisms.reduced", "ModeCoordinates.dynamics"): "footfall/dynamics/test_reduced.py",
    ("dynamics.formalisms.reduced", "ModeCoordinates.forces"): "footfall/dynamics/test_reduced.py",
    ("dynamics.formalisms.reduced", "ModeCoordinates.worst_pivot"): "footfall/dynamics/test_reduced.py",
    ("dynamics.formalisms.reduced", "ModeCoordinates._at_feet"): "footfall/dynamics/test_reduced.py",
    ("dynamics.formalisms.screw_system", "_foot_wrenches"): "footfall/dynamics/test_screw_system.py",
    ("robot.model.tree", "Tree.is_wheel"): "footfall/control/test_wheels.py",
    **{
        ("dynamics.formalisms.lagrange", name): "footfall/dynamics/test_derive.py"
        for name in ("euler_foot_poses", "euler_stacked_jacobian", "euler_contact_jacobian")
    },
}


def is_harmless(mutant: Mutant) -> bool:
    return _key(mutant) in HARMLESS or _key(mutant)[:2] in ELSEWHERE


def _key(mutant: Mutant) -> tuple[str, str, str]:
    return (mutant.module.removeprefix("footfall."), mutant.function, mutant.before)


def survivors(module: str, mutants: list[Mutant]) -> list[str]:
    """Mutants that ``verify`` passes, or blames on something else than the module's own quantities."""
    out = []
    for mutant in mutants:
        named = found_by_verify(mutant, set(MODULES[module]))
        if named is None:
            continue
        if not named:
            out.append(f"passes: {mutant}")
        elif MODULES[module] and not named & set(MODULES[module]):
            out.append(f"blamed on {', '.join(sorted(named))}: {mutant}")
    return out


def test_specimens_pass_unharmed() -> None:
    reports: list[Report] = [verify(robot, samples=3) for robot in SPECIMENS]
    assert [str(report) for report in reports if not report.passed] == []
    assert [list(report.skipped) for report in reports] == [["articulated"], ["articulated"], []]


@pytest.mark.parametrize("module", MODULES)
def test_verify_fails_and_names_the_quantity_when_one_thing_is_flipped(module: str) -> None:
    mutants = [mutant for mutant in mutants_of(f"footfall.{module}") if not is_harmless(mutant)]
    chosen = random.Random(module).sample(mutants, min(SAMPLED, len(mutants)))
    assert survivors(module, chosen) == []


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_verify_fails_and_names_the_quantity_for_every_single_flip(module: str) -> None:
    mutants = [mutant for mutant in mutants_of(f"footfall.{module}") if not is_harmless(mutant)]
    assert survivors(module, mutants) == []


def test_harmless_mutants_are_still_in_the_source() -> None:
    """A line that changed must be judged again."""
    known = {_key(mutant) for module in MODULES for mutant in mutants_of(f"footfall.{module}")}
    assert sorted(set(HARMLESS) - known) == []
    assert sorted(set(ELSEWHERE) - {key[:2] for key in known}) == []
    assert all((Path(__file__).parents[2] / file).exists() for file in ELSEWHERE.values())
