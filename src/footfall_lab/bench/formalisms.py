"""``footfall bench formalisms``: M, C, G, J of the spined robot (Table 2 of Adak 2021), and accelerations.

Euler-Lagrange is timed in the coordinates of the paper (XYZ angles, position, joints), each matrix three ways:
*symbolic*, the traced expressions evaluated one by one, as when numbers are substituted into stored expressions;
*native*, the same expressions as machine code for one robot; *batch*, over SIMD lanes. Accelerations are those of the
free robot, and of the robot with four fixed feet (``constrained``, ``reduced`` and ``screw``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from footfall import compiling
from footfall.dynamics import (
    articulated_body,
    constrained_dynamics,
    coordinates,
    forward_dynamics,
    gravity_terms,
    mass_matrix,
    reduced_dynamics,
    screw_forward_dynamics,
    velocity_terms,
)
from footfall.dynamics.formalisms import lagrange
from footfall.dynamics.random_states import random_states
from footfall.kinematics import feet_jacobian
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall_lab.bench.report import BenchReport
from footfall_lab.bench.timing import Row, Task, interleaved, looped, pinned
from nptrace._types import PyTree
from nptrace.autodiff.nested import interpreted
from nptrace.runtime.machine_callables import Batch

METHOD = (
    "Least of at least 20 interleaved rounds on one pinned core. Native and batch: 128 random states inside one"
    " compiled call (native is the code of one lane). Symbolic: the expressions of the trace evaluated one by one in"
    " Python. C is the vector C(q, q') of eq. (27); J is 24 x 20."
)
ORDER = "xyz"
TABLE2 = {  # of Adak et al. 2021 [s], on a 3 GHz processor: symbolic (subs), optimised (matlabFunctionBlock)
    "M": (8.061, 0.041),
    "C": (47.124, 0.107),
    "G": (0.246, 0.010),
    "J": (0.784, 0.010),
}
LAGRANGE: dict[str, tuple[Callable[..., PyTree], tuple[str, ...]]] = {
    "M": (lagrange.euler_mass_matrix, ("x",)),
    "C": (lagrange.euler_coriolis_terms, ("x", "rate")),
    "G": (lagrange.euler_gravity_terms, ("x",)),
    "J": (lagrange.euler_feet_jacobian, ("x",)),
}
RECURSIVE: dict[str, tuple[Callable[..., PyTree], tuple[str, ...]]] = {
    "M": (mass_matrix, ("q",)),
    "C": (velocity_terms, ("q", "v")),
    "G": (gravity_terms, ("q",)),
    "J": (feet_jacobian, ("q",)),
}
FREE: dict[str, Callable[..., PyTree]] = {
    "recursive": forward_dynamics,
    "articulated": articulated_body,
    "lagrange": lagrange.forward_dynamics,
}
_ROBOTS = 128


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> BenchReport:
    """Run the bench for about ``seconds``."""
    robot = library.load("spined")
    arrays = sampled(robot)
    with pinned():
        tasks, operations = lagrange_tasks(robot, arrays, progress)
        for quantity, (function, names) in RECURSIVE.items():
            given = [arrays[name] for name in names]
            first = [array[0] for array in given]
            tasks.append(
                Task(
                    name=f"recursive {quantity} numpy",
                    run=looped(function, robot, *first),
                    per="evaluation",
                    whole=True,
                )
            )
            tasks.append(_compiled(f"recursive {quantity} native", function, robot, given, lanes=1))
        tasks += acceleration_tasks(robot, arrays)
        rows = interleaved(tasks, seconds, progress)
    times = {row.name: row.ns for row in rows}
    ratios = {
        f"adak2021_over_native_{quantity}": 1e9 * optimised / times[f"lagrange {quantity} native"]
        for quantity, (_, optimised) in TABLE2.items()
    }
    return BenchReport(bench="formalisms", rows=rows, ratios=ratios, operations=operations, method=METHOD)


def table2(seconds: float, progress: Callable[[str, int, int], None]) -> tuple[dict[str, Row], dict[str, int]]:
    """Return (rows by name, operations by quantity) of Euler-Lagrange alone: Table 2 of Adak et al. 2021."""
    robot = library.load("spined")
    with pinned():
        tasks, operations = lagrange_tasks(robot, sampled(robot), progress)
        return {row.name: row for row in interleaved(tasks, seconds, progress)}, operations


def sampled(robot: Robot) -> dict[str, np.ndarray]:
    """Return random states as q and v, and as the paper's coordinates x and their rates."""
    states = random_states(robot, _ROBOTS)
    x = np.array([coordinates.to_euler_coordinates(robot, q, ORDER) for q in states.q])
    rate = np.array([np.linalg.solve(coordinates.euler_velocity_map(robot, y, ORDER), v) for y, v in zip(x, states.v)])
    return {"q": states.q, "v": states.v, "tau": states.tau[:, robot.nv - robot.nj :], "x": x, "rate": rate}


def lagrange_tasks(
    robot: Robot, arrays: dict[str, np.ndarray], progress: Callable[[str, int, int], None]
) -> tuple[list[Task], dict[str, int]]:
    """Return tasks for each quantity (symbolic, native, batch) and its number of operations."""
    tasks: list[Task] = []
    operations: dict[str, int] = {}
    for k, (quantity, (function, names)) in enumerate(LAGRANGE.items()):
        progress(f"deriving {quantity}", k, len(LAGRANGE))
        given = [arrays[name] for name in names]
        first = [array[0] for array in given]
        stored = interpreted(partial(function, robot, order=ORDER), *first)
        operations[f"lagrange_{quantity}"] = stored.program.live_operations
        tasks.append(
            Task(name=f"lagrange {quantity} symbolic", run=looped(stored, *first), per="evaluation", whole=True)
        )
        for target, lanes in (("native", 1), ("batch", None)):
            tasks.append(_compiled(f"lagrange {quantity} {target}", function, robot, given, lanes, order=ORDER))
    return tasks, operations


def acceleration_tasks(robot: Robot, arrays: dict[str, np.ndarray]) -> list[Task]:
    """Return tasks of forward dynamics by each formalism; minimal coordinates are chosen at every state, by NumPy."""
    given = [arrays[name] for name in ("q", "v", "tau")]
    tasks = [_compiled(f"{side} forward native", function, robot, given, lanes=1) for side, function in FREE.items()]
    stands = [*given, np.ones((_ROBOTS, robot.nf))]
    tasks.append(_compiled("constrained stance native", constrained_dynamics, robot, stands, lanes=1))
    tasks.append(_compiled("screw stance native", screw_forward_dynamics, robot, stands, lanes=1, mode=stands[-1][0]))
    first = [array[0] for array in stands]
    for side, function in (
        ("constrained", constrained_dynamics),
        ("reduced", reduced_dynamics),
        ("screw", screw_forward_dynamics),
    ):
        tasks.append(
            Task(name=f"{side} stance numpy", run=looped(function, robot, *first), per="evaluation", whole=True)
        )
    return tasks


def _compiled(
    name: str,
    function: Callable[..., PyTree],
    robot: Robot,
    arrays: list[np.ndarray],
    lanes: int | None,
    **options: Any,
) -> Task:
    """Return a task that evaluates many states in one call of machine code."""
    compiled = compiling.compile(function, robot, target="batch", lanes=lanes, **options)
    assert isinstance(compiled, Batch)
    blocks, _ = compiled.pack(*arrays)

    def run(count: int) -> None:
        for _ in range(count):
            blocks.evaluate()

    return Task(name=name, run=run, per="evaluation", items=len(arrays[0]))
