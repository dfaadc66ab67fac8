"""What must be reached, and what we aim for: the table of the performance notes, for a core with AVX-512.

On narrower vectors half of the batch ratios is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

TIMES, COUNT, SECONDS, COST, RATE = "times faster", "operations", "s", "times the cost", "robot-steps per second"


@dataclass(frozen=True)
class Target:
    """One line: ``key`` names a ratio, a count or a row; ratios and rates must be large, the others small."""

    what: str
    key: str
    must: float
    goal: float
    unit: str
    vector: bool = False  # a ratio that lives from the width of vectors

    def within(self, value: float, bound: float) -> bool:
        return value >= bound if self.unit in (TIMES, RATE) else value <= bound

    def spelled(self, value: float) -> str:
        if self.unit == COUNT:
            return f"{value:,.0f}".replace(",", " ")
        if self.unit == RATE:
            return f"{value:.3g} /s"
        return f"{value:.3g} x" if self.unit in (TIMES, COST) else f"{value:.3g} s"


IMPORT, FRESH, CACHED = "import footfall", "trace and compile", "cached start"  # rows of start-up times


def start_row(kind: str, function: str) -> str:
    """The name of the row of a start-up time."""
    return f"{kind}: {function}"


TARGETS = (
    Target("live operations, forward dynamics", "forward_dynamics", 3400, 3243, COUNT),
    Target("live operations, explicit step", "explicit", 4400, 4211, COUNT),
    Target("live operations, implicit step", "implicit", 5800, 5228, COUNT),
    Target("one robot against MuJoCo, explicit", "mujoco_over_native_explicit", 28, 39, TIMES),
    Target("one robot against MuJoCo, implicit", "mujoco_over_native_implicit", 28, 33, TIMES),
    Target("one simulated second at equal accuracy", "mujoco_over_ours", 20, 25, TIMES),
    Target("batch against rollout, explicit f64", "mujoco_rollout_over_batch_f64", 65, 90, TIMES, True),
    Target("batch against rollout, explicit f32", "mujoco_rollout_over_batch_f32", 140, 200, TIMES, True),
    Target("batch against rollout, implicit f64", "mujoco_rollout_over_batch_implicit_f64", 45, 72, TIMES, True),
    Target("batch against rollout, implicit f32", "mujoco_rollout_over_batch_implicit_f32", 100, 165, TIMES, True),
    *(
        Target(
            f"a robot among 100 000 against one among 1 000, {kind}",
            f"cost_of_100000_over_1000_{kind}",
            1.25,
            1.1,
            COST,
        )
        for kind in ("f64", "f32")
    ),
    Target("one GPU, 65 536 robots, implicit", "steps_per_second", 2.5e9, 4.5e9, RATE),
    Target("forward dynamics against Pinocchio aba", "pinocchio_aba_over_native_forward_dynamics", 5, 6, TIMES),
    Target("derivative of forward dynamics by q, v, torque", "forward_dynamics_derivative", 8e-6, 4e-6, SECONDS),
    Target("derivative of an implicit step", "step_derivative", 12e-6, 6e-6, SECONDS),
    Target("the first against Pinocchio's ABA derivatives", "pinocchio_aba_derivatives_over_ours", 1.5, 3, TIMES),
    Target("iteration of 25 knots of the whole robot", "nmpc_iteration", 2e-3, 1e-3, SECONDS),
    Target("the same against Crocoddyl's", "crocoddyl_iteration_over_ours", 1.2, 2, TIMES),
    Target("whole-body tick, terms and program", "whole_body_tick", 0.5e-3, 0.25e-3, SECONDS),
    Target("MPC, 10 steps ahead", "mpc_solve", 5e-3, 2e-3, SECONDS),
    Target("closed loop, a simulated second", "closed_loop", 0.12, 0.06, SECONDS),
    Target("the same for a robot of a batch, f64", "closed_loop_batch_f64", 0.04, 0.02, SECONDS),
    Target("the same for a robot of a batch, f32", "closed_loop_batch_f32", 0.024, 0.012, SECONDS),
    Target("closed loop with nmpc at 200 Hz, a simulated second", "closed_loop_nmpc", 1.0, 0.2, SECONDS),
    *(
        Target(f"{quantity} of the spined robot by Euler-Lagrange", f"lagrange {quantity} native", must, goal, SECONDS)
        for quantity, must, goal in (("M", 5e-6, 2e-6), ("C", 15e-6, 6e-6), ("G", 5e-6, 2e-6), ("J", 5e-6, 2e-6))
    ),
    Target("screw solve, four feet held, the spined robot", "screw stance native", 20e-6, 10e-6, SECONDS),
    *(
        Target(f"{kind}, {function}", start_row(kind, function), must, goal, SECONDS)
        for function in ("forward_dynamics", "explicit step", "implicit step")
        for kind, must, goal in ((FRESH, 2.0, 0.6), (CACHED, 0.1, 0.05))
    ),
    Target("trace and compile, closed loop", start_row(FRESH, "closed loop"), 15.0, 7.5, SECONDS),
    Target("cached start, closed loop", start_row(CACHED, "closed loop"), 0.3, 0.15, SECONDS),
    Target("start of import footfall", IMPORT, 0.5, 0.2, SECONDS),
)


def judged(found: Mapping[str, float | None], vector_bits: int) -> list[tuple[Target, float, bool]]:
    """(target, measured, whether the must is met) for every target among what was found; rows are in nanoseconds."""
    out = []
    for target in TARGETS:
        measured = found.get(target.key)
        if measured is not None:
            if target.vector and vector_bits < 512:
                target = replace(target, must=target.must / 2, goal=target.goal / 2)
            value = measured * (1e-9 if target.unit == SECONDS else 1.0)
            out.append((target, value, target.within(value, target.must)))
    return out
