"""``footfall bench screws``: the screw formulation of Yan et al. 2021 against RNEA, CRBA, ABA and Euler-Lagrange.

The main claim of that paper is that screw theory makes the dynamics of a legged robot faster to compute. For each of
its topologies (stand on four feet, walk on three, trot on two, flight) two problems are solved by every formulation:

- *inverse*: torques from accelerations and measured foot forces, which its controller solves in every tick;
- *forward*: accelerations and foot forces from torques, its eq. (19), with the standing feet fixed.

For each, the operations of its trace are counted, and it is timed twice: as machine code (*native*, states of one robot
one after another) and as plain NumPy, one state at a time (*numpy*). The screw system is solved by exploiting its
structure, our addition, and as printed, dense and sparse, in NumPy only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.dynamics import (
    articulated_body,
    bias_terms,
    constrained_dynamics,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    screw_forward_dynamics,
    screw_inverse_dynamics,
)
from footfall.dynamics.formalisms import lagrange
from footfall.dynamics.random_states import random_states
from footfall.kinematics import feet_bias_acceleration, feet_jacobian
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall_lab.bench.report import BenchReport
from footfall_lab.bench.timing import Task, interleaved, looped, pinned
from nptrace._types import PyTree
from nptrace.array_types import Float
from nptrace.runtime.machine_callables import Batch
from nptrace.solve.factor import ldl, ldl_solve

METHOD = (
    "XiLing; least of at least 20 interleaved rounds on one pinned core. Native: 32 random states inside one compiled"
    " call. NumPy: one state per call, the source of the native code uncompiled, or the screw system as printed."
)
TOPOLOGIES = {  # standing feet, in the order LF, RF, LH, RH
    "stand": (1.0, 1.0, 1.0, 1.0),
    "walk": (1.0, 1.0, 0.0, 1.0),
    "trot": (1.0, 0.0, 0.0, 1.0),
    "flight": (0.0, 0.0, 0.0, 0.0),
}
Way = Callable[..., PyTree]
_STATES = 32


# -- torques from accelerations and measured foot forces ---------------------------------------------------------------
def screw_torques(
    robot: Robot, q: ndarray, v: ndarray, a: ndarray, forces: ndarray, solver: str = "structure"
) -> Float[ndarray, "nj"]:
    return screw_inverse_dynamics(robot, q, v, a[6:], forces, a[:6], solver=solver).torques


def rnea_torques(robot: Robot, q: ndarray, v: ndarray, a: ndarray, forces: ndarray) -> Float[ndarray, "nj"]:
    return (inverse_dynamics(robot, q, v, a) - _by_feet(robot, q, forces))[6:]


def crba_torques(robot: Robot, q: ndarray, v: ndarray, a: ndarray, forces: ndarray) -> Float[ndarray, "nj"]:
    return (mass_matrix(robot, q) @ a + bias_terms(robot, q, v) - _by_feet(robot, q, forces))[6:]


def lagrange_torques(robot: Robot, q: ndarray, v: ndarray, a: ndarray, forces: ndarray) -> Float[ndarray, "nj"]:
    return (lagrange.inverse_dynamics(robot, q, v, a) - _by_feet(robot, q, forces))[6:]


def _by_feet(robot: Robot, q: ndarray, forces: ndarray) -> Float[ndarray, "nv"]:
    J = feet_jacobian(robot, q)[:, 3:]
    return sum(J[k].T @ forces[k] for k in range(robot.nf))


INVERSE: dict[str, Way] = {
    "screw": screw_torques,
    "RNEA": rnea_torques,
    "CRBA": crba_torques,
    "Lagrange": lagrange_torques,
}


# -- accelerations from torques, standing feet fixed -------------------------------------------------------------------
def screw_motion(
    robot: Robot, q: ndarray, v: ndarray, tau: ndarray, mode: tuple[float, ...], solver: str = "structure"
) -> Float[ndarray, "nv"]:
    return screw_forward_dynamics(robot, q, v, tau, np.array(mode), solver=solver).a


def crba_motion(robot: Robot, q: ndarray, v: ndarray, tau: ndarray, mode: tuple[float, ...]) -> Float[ndarray, "nv"]:
    if not any(mode):
        return forward_dynamics(robot, q, v, tau)
    return constrained_dynamics(robot, q, v, tau, np.array(mode))[0]


def aba_motion(robot: Robot, q: ndarray, v: ndarray, tau: ndarray, mode: tuple[float, ...]) -> Float[ndarray, "nv"]:
    return articulated_body(robot, q, v, tau)


def lagrange_motion(
    robot: Robot, q: ndarray, v: ndarray, tau: ndarray, mode: tuple[float, ...]
) -> Float[ndarray, "nv"]:
    """Return accelerations and forces with M and bias by Euler-Lagrange, and multipliers for the standing feet."""
    if not any(mode):
        return lagrange.forward_dynamics(robot, q, v, tau)
    held = [k for k, down in enumerate(mode) if down]
    J = np.concatenate([feet_jacobian(robot, q)[k, 3:] for k in held])
    curved = np.concatenate([feet_bias_acceleration(robot, q, v)[k, 3:] for k in held])
    factor = ldl(lagrange.mass_matrix(robot, q))
    free = ldl_solve(factor, np.concatenate([np.zeros(6), tau]) - lagrange.bias_terms(robot, q, v))
    answers = np.stack([ldl_solve(factor, J[k]) for k in range(len(J))], axis=1)  # M⁻¹ Jᵀ
    return free - answers @ ldl_solve(ldl(J @ answers), J @ free + curved)


FORWARD: dict[str, Way] = {"screw": screw_motion, "CRBA": crba_motion, "ABA": aba_motion, "Lagrange": lagrange_motion}


def ways_of(problem: str, topology: str) -> dict[str, Way]:
    """Return the formulations of a problem in a topology: ABA has no constraints."""
    if problem == "inverse":
        return INVERSE
    mode = TOPOLOGIES[topology]
    return {name: partial(way, mode=mode) for name, way in FORWARD.items() if name != "ABA" or not any(mode)}


def sampled(robot: Robot, problem: str, topology: str, count: int = _STATES) -> list[ndarray]:
    """Return random states with accelerations and forces at the standing feet, or with torques."""
    states, mode = random_states(robot, count, seed=5), np.array(TOPOLOGIES[topology])
    if problem == "forward":
        return [states.q, states.v, states.tau[:, 6:]]
    forces = 40.0 * np.random.default_rng(6).normal(size=(count, robot.nf, 3)) * mode[:, None]
    return [states.q, states.v, states.a, forces]


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> BenchReport:
    """Run the bench for about ``seconds``."""
    robot, operations = library.load("xiling"), dict[str, int]()
    cases = [(problem, topology) for problem in ("inverse", "forward") for topology in TOPOLOGIES]
    with pinned():
        tasks: list[Task] = []
        for k, (problem, topology) in enumerate(cases):
            progress(f"{problem} dynamics of {topology}", k, len(cases))
            arrays = sampled(robot, problem, topology)
            first = [array[0] for array in arrays]
            for name, way in ways_of(problem, topology).items():
                key = f"{problem} {topology} {name}"
                if problem == "inverse" and topology != "stand":  # the trace does not depend on the topology
                    operations[key.replace(" ", "_")] = operations[f"inverse_stand_{name}"]
                else:
                    operations[key.replace(" ", "_")] = compiling.program(way, robot, *first).live_operations
                    tasks.append(_native(f"{key} native", way, robot, arrays))
                    tasks.append(_plain(f"{key} numpy", way, robot, first))
            for solver in ("dense", "sparse"):
                way = partial(ways_of(problem, topology)["screw"], solver=solver)
                tasks.append(_plain(f"{problem} {topology} screw as printed, {solver} numpy", way, robot, first))
        rows = interleaved(tasks, seconds, progress)
    times = {row.name: row.ns for row in rows}
    ratios: dict[str, float | None] = {}
    for problem, topology in cases:
        measured = "stand" if problem == "inverse" else topology
        best = "RNEA" if problem == "inverse" else "CRBA"
        for form in ("native", "numpy"):
            screw, other = (times[f"{problem} {measured} {name} {form}"] for name in ("screw", best))
            ratios[f"{best}_over_screw_{problem}_{topology}_{form}"] = other / screw
            ratios[f"lagrange_over_screw_{problem}_{topology}_{form}"] = (
                times[f"{problem} {measured} Lagrange {form}"] / screw
            )
    return BenchReport(bench="screws", rows=rows, ratios=ratios, operations=operations, method=METHOD, robot="xiling")


def _plain(name: str, way: Way, robot: Robot, first: list[ndarray]) -> Task:
    return Task(name=name, run=looped(way, robot, *first), per="evaluation", whole=True)


def _native(name: str, way: Way, robot: Robot, arrays: list[ndarray]) -> Task:
    compiled = compiling.compile(way, robot, *(array[0] for array in arrays), target="batch", lanes=1, verify=False)
    assert isinstance(compiled, Batch)
    blocks, _ = compiled.pack(*arrays)

    def run(count: int) -> None:
        for _ in range(count):
            blocks.evaluate()

    return Task(name=name, run=run, per="evaluation", items=len(arrays[0]))
