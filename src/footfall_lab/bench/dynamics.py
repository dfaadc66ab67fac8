"""``footfall bench dynamics``: the algorithms alone, as NumPy, as machine code, and against Pinocchio and MuJoCo."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from footfall import compiling
from footfall.dynamics import bias_terms, forward_dynamics, inverse_dynamics, mass_matrix
from footfall.dynamics.random_states import States, random_states
from footfall.robot.model.description import Robot
from footfall_lab.bench import peers, subject
from footfall_lab.bench.derivatives import evaluating
from footfall_lab.bench.report import BenchReport
from footfall_lab.bench.starts import starts
from footfall_lab.bench.timing import Task, interleaved, looped, pinned
from nptrace._types import Given, PyTree
from nptrace.runtime.machine_callables import Batch
from nptrace.runtime.memory import Blocks

METHOD = (
    "Least thread time of at least 20 interleaved rounds on one pinned core. Ours: 128 random states inside one"
    " compiled call (native is the code of one lane), so that entering it from Python hardly counts. Pinocchio:"
    " calls from Python less the same call on a model of one joint. MuJoCo: mj_forward without contacts from Python,"
    " less an empty call. Starts: least processor time of new processes, with Python's bytecode written; compile and"
    " cached start from a loaded robot to the first result."
)
ALGORITHMS: dict[str, tuple[Callable[..., PyTree], tuple[str, ...]]] = {
    "forward_dynamics": (forward_dynamics, ("q", "v", "tau")),
    "inverse_dynamics": (inverse_dynamics, ("q", "v", "a")),
    "mass_matrix": (mass_matrix, ("q",)),
    "bias": (bias_terms, ("q", "v")),
}
TARGETS: dict[str, dict[str, Given]] = {
    "native": {"lanes": 1, "dtype": np.float64},  # target="native" is the same code, called for one robot
    "batch f64": {"dtype": np.float64},
    "batch f32": {"dtype": np.float32},
}
_ROBOTS = 128


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> BenchReport:
    """Run the bench for about ``seconds``, a third of it in fresh processes."""
    progress("compiling", 0, 100)
    with pinned():
        tasks = [*_own_tasks(), *peers.pinocchio_tasks("pinocchio"), *peers.forward_tasks("mujoco mj_forward")]
        rows = interleaved(tasks, 0.67 * seconds, progress)
    times = {row.name: row.ns for row in rows}
    ours = times["native forward_dynamics"]
    ratios = {
        "pinocchio_aba_over_native_forward_dynamics": times["pinocchio aba"] / ours,
        "mujoco_forward_over_native_forward_dynamics": times["mujoco mj_forward"] / ours,
    }
    rows += starts(["forward_dynamics"], 0.33 * seconds, progress)
    return BenchReport(bench="dynamics", rows=rows, ratios=ratios, operations=subject.operations(), method=METHOD)


def _own_tasks() -> list[Task]:
    robot = subject.robot()
    states = random_states(robot, _ROBOTS)
    tasks = []
    for name, (function, arguments) in ALGORITHMS.items():
        arrays = _arguments(states, arguments)
        first = [array[0] for array in arrays]
        tasks.append(Task(name=f"numpy {name}", run=looped(function, robot, *first), per="evaluation", whole=True))
        for target, options in TARGETS.items():
            compiled = compiling.compile(function, robot, target="batch", **options)
            assert isinstance(compiled, Batch)
            blocks, _ = compiled.pack(*arrays)
            tasks.append(Task(name=f"{target} {name}", run=_evaluating(blocks), per="evaluation", items=_ROBOTS))
    return [*tasks, _jacobian_task(robot, states)]


def _arguments(states: States, names: tuple[str, ...]) -> list[np.ndarray]:
    """Return the named arrays; torques are those of the joints only."""
    return [states.tau[:, 6:] if name == "tau" else getattr(states, name) for name in names]


def _jacobian_task(robot: Robot, states: States) -> Task:
    """Return the task for all derivatives of forward dynamics by q, v and τ."""
    derivative = compiling.jacobian(forward_dynamics, robot, wrt=["q", "v", "tau"])
    arguments = _arguments(states, ("q", "v", "tau"))
    return Task(
        name="native forward_dynamics jacobian",
        run=evaluating(derivative, arguments),
        per="evaluation",
        items=len(arguments[0]),
    )


def _evaluating(blocks: Blocks) -> Callable[[int], None]:
    """Return a call of compiled code, which keeps alive the blocks that own its memory."""

    def run(count: int) -> None:
        evaluate = blocks.evaluate
        for _ in range(count):
            evaluate()

    return run
