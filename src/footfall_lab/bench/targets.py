"""Performance targets and goals: the table of the performance notes, for a core with AVX-512.

With narrower vectors, half of the batch ratios is required.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

TIMES, COUNT, SECONDS, COST, RATE = "times faster", "operations", "s", "times the cost", "robot-steps per second"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target: ``key`` names a ratio, a count or a row; ratios and rates must be large, the others small."""

    what: str
    key: str
    must: float
    goal: float
    unit: str
    vector: bool = False  # a ratio that depends on the vector width

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
    """Return the name of the row of a start-up time."""
    return f"{kind}: {function}"


TARGETS = (
    Target(what="live operations, forward dynamics", key="forward_dynamics", must=3400, goal=3243, unit=COUNT),
    Target(what="live operations, explicit step", key="explicit", must=4400, goal=4211, unit=COUNT),
    Target(what="live operations, implicit step", key="implicit", must=5800, goal=5228, unit=COUNT),
    Target(what="one robot against MuJoCo, explicit", key="mujoco_over_native_explicit", must=28, goal=39, unit=TIMES),
    Target(what="one robot against MuJoCo, implicit", key="mujoco_over_native_implicit", must=28, goal=33, unit=TIMES),
    Target(what="one simulated second at equal accuracy", key="mujoco_over_ours", must=20, goal=25, unit=TIMES),
    Target(
        what="batch against rollout, explicit f64",
        key="mujoco_rollout_over_batch_f64",
        must=65,
        goal=90,
        unit=TIMES,
        vector=True,
    ),
    Target(
        what="batch against rollout, explicit f32",
        key="mujoco_rollout_over_batch_f32",
        must=140,
        goal=200,
        unit=TIMES,
        vector=True,
    ),
    Target(
        what="batch against rollout, implicit f64",
        key="mujoco_rollout_over_batch_implicit_f64",
        must=45,
        goal=72,
        unit=TIMES,
        vector=True,
    ),
    Target(
        what="batch against rollout, implicit f32",
        key="mujoco_rollout_over_batch_implicit_f32",
        must=100,
        goal=165,
        unit=TIMES,
        vector=True,
    ),
    Target(
        what="samples of a planner against rollout, its fastest settings that walk",
        key="mujoco_fastest_over_ours_same_step",
        must=60,
        goal=100,
        unit=TIMES,
    ),
    Target(
        what="one robot as used against MuJoCo, 2 ms", key="mujoco_over_native_as_used", must=20, goal=27, unit=TIMES
    ),
    *(
        Target(
            what=f"batch as used against rollout, 2 ms, {kind}",
            key=f"mujoco_rollout_over_batch_{kind}_as_used",
            must=must,
            goal=goal,
            unit=TIMES,
            vector=True,
        )
        for kind, must, goal in (("f64", 27, 50), ("f32", 55, 110))
    ),
    *(
        Target(
            what=f"a robot among 100 000 against one among 1 000, {kind}",
            key=f"cost_of_100000_over_1000_{kind}",
            must=1.25,
            goal=1.1,
            unit=COST,
        )
        for kind in ("f64", "f32")
    ),
    Target(what="one GPU, 65 536 robots, implicit", key="steps_per_second", must=2.5e9, goal=4.5e9, unit=RATE),
    Target(
        what="forward dynamics against Pinocchio aba",
        key="pinocchio_aba_over_native_forward_dynamics",
        must=5,
        goal=6,
        unit=TIMES,
    ),
    Target(
        what="derivative of forward dynamics by q, v, torque",
        key="forward_dynamics_derivative",
        must=8e-6,
        goal=4e-6,
        unit=SECONDS,
    ),
    Target(what="derivative of an implicit step", key="step_derivative", must=12e-6, goal=6e-6, unit=SECONDS),
    Target(
        what="the first against Pinocchio's ABA derivatives",
        key="pinocchio_aba_derivatives_over_ours",
        must=1.5,
        goal=3,
        unit=TIMES,
    ),
    Target(what="iteration of 25 knots of the whole robot", key="nmpc_iteration", must=2e-3, goal=1e-3, unit=SECONDS),
    Target(what="the same against Crocoddyl's", key="crocoddyl_iteration_over_ours", must=1.2, goal=2, unit=TIMES),
    Target(what="whole-body tick, terms and program", key="whole_body_tick", must=0.5e-3, goal=0.25e-3, unit=SECONDS),
    Target(what="MPC, 10 steps ahead", key="mpc_solve", must=5e-3, goal=2e-3, unit=SECONDS),
    Target(what="closed loop, a simulated second", key="closed_loop", must=0.12, goal=0.06, unit=SECONDS),
    Target(
        what="the same for a robot of a batch, f64", key="closed_loop_batch_f64", must=0.04, goal=0.02, unit=SECONDS
    ),
    Target(
        what="the same for a robot of a batch, f32", key="closed_loop_batch_f32", must=0.024, goal=0.012, unit=SECONDS
    ),
    Target(
        what="closed loop with nmpc at 200 Hz, a simulated second",
        key="closed_loop_nmpc",
        must=1.0,
        goal=0.2,
        unit=SECONDS,
    ),
    *(
        Target(
            what=f"{quantity} of the spined robot by Euler-Lagrange",
            key=f"lagrange {quantity} native",
            must=must,
            goal=goal,
            unit=SECONDS,
        )
        for quantity, must, goal in (("M", 5e-6, 2e-6), ("C", 15e-6, 6e-6), ("G", 5e-6, 2e-6), ("J", 5e-6, 2e-6))
    ),
    Target(
        what="screw solve, four feet held, the spined robot",
        key="screw stance native",
        must=20e-6,
        goal=10e-6,
        unit=SECONDS,
    ),
    *(
        Target(what=f"{kind}, {function}", key=start_row(kind, function), must=must, goal=goal, unit=SECONDS)
        for function in ("forward_dynamics", "explicit step", "implicit step")
        for kind, must, goal in ((FRESH, 2.0, 0.6), (CACHED, 0.1, 0.05))
    ),
    Target(
        what="trace and compile, closed loop", key=start_row(FRESH, "closed loop"), must=15.0, goal=7.5, unit=SECONDS
    ),
    Target(what="cached start, closed loop", key=start_row(CACHED, "closed loop"), must=0.3, goal=0.15, unit=SECONDS),
    Target(what="start of import footfall", key=IMPORT, must=0.5, goal=0.2, unit=SECONDS),
)


def checked(found: Mapping[str, float | None], vector_bits: int) -> list[tuple[Target, float, bool]]:
    """Return (target, measured value, whether it is met) for every target with a result; rows are in nanoseconds."""
    out = []
    for target in TARGETS:
        measured = found.get(target.key)
        if measured is not None:
            if target.vector and vector_bits < 512:
                target = replace(target, must=target.must / 2, goal=target.goal / 2)
            value = measured * (1e-9 if target.unit == SECONDS else 1.0)
            out.append((target, value, target.within(value, target.must)))
    return out
