"""``footfall bench simulated_second``: the cost of a second of motion when every engine is accurate enough.

Peers solve a more general contact problem and may take longer steps, so the time per step is not enough. Here the robot
drops by 5 mm onto its four feet and settles for half a second: straight down, with 0.3 m/s sideways, thrown obliquely
(0.5 m/s forward, 0.4 m/s down), and sliding on smooth ground (0.6 m/s forward, friction 0.2). Each engine is compared
with its *own* limit for dt to 0, by the final position of the trunk, and is timed at a step with which it stays within
half a millimetre of that limit in all motions.

Contact is damped on both sides, so that feet do not ring: MuJoCo's default is critically damped, ours uses Table I of
de Paula 2024, read as 10 N s/mm. Read as 10 N s/m, the feet bounce at some hundred hertz, and steps must resolve their
micro-slip; that row is printed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.errors import FootfallError
from footfall.mujoco import model as mujoco
from footfall.sim.equations_of_motion import State
from footfall_lab.bench import subject
from footfall_lab.bench.peers import MuJoCoStand
from footfall_lab.bench.report import BenchReport
from footfall_lab.bench.timing import Row, Task, interleaved, pinned
from nptrace.array_types import Float
from nptrace.runtime.callables import Function

METHOD = (
    "A 5 mm drop onto four feet and 0.5 s of settling: straight, with 0.3 m/s sideways, with 0.5 m/s forward and"
    " 0.4 m/s down, and with 0.6 m/s forward on friction 0.2; trunk error at 0.5 s"
    " against the limit of the same engine (ours dt 1e-6, MuJoCo Euler dt 1e-5 for each cone). Ours: the longest step"
    " of"
    " the ladder such that it and all shorter ones stay below 0.5 mm in all motions. MuJoCo: for every integrator"
    " and cone the longest step below 0.5 mm in all, and of these the fastest. Times are the mean of the motions,"
    " least thread time of at least 20 interleaved rounds on one pinned core; all steps of a motion inside one call,"
    " ours less a call without steps."
)
DROP, DURATION, BOUND = 5e-3, 0.5, 0.5e-3  # [m], [s], [m]
INTEGRATORS = ("Euler", "implicitfast", "implicit", "RK4")
CONES = ("elliptic", "pyramidal")
DAMPED = Compliant(damping=1e4)
RINGING = Compliant(damping=10.0)
PER = "simulated second"
OURS, OURS_RINGING = "footfall implicit", "footfall implicit, damping 10 N s/m"
_COUNTS = (40, 50, 63, 80, 100, 125, 160, 200, 250, 320, 400, 500, 640, 800, 1000, 1250, 1600, 2000, 2500)
_FINER = (4000, 8000, 12500, 16000, 25000, 50000)  # steps, for feet that bounce
_LIMIT, _MUJOCO_LIMIT = 500_000, 50_000

Run = Callable[[str, int], Float[ndarray, "3"]]  # (motion, steps) -> final position of the trunk


@dataclass(frozen=True)
class Motion:
    """The initial velocity of the robot [m/s], and the friction of the ground."""

    forward: float = 0.0
    left: float = 0.0
    down: float = 0.0
    friction: float = 0.8


MOTIONS = {
    "straight": Motion(),
    "sideways": Motion(left=0.3),
    "oblique": Motion(forward=0.5, down=0.4),
    "sliding": Motion(forward=0.6, friction=0.2),
}


@dataclass(frozen=True)
class Found:
    """The longest accurate step of an engine: the number of steps of a motion, and the worst error [m]."""

    steps: int
    error: float

    def __str__(self) -> str:
        return f"dt {DURATION / self.steps:.3g} s, error {1e3 * self.error:.3f} mm"


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> BenchReport:
    """Find the steps, then time them for about ``seconds``."""
    chosen: dict[str, Found | None] = {}
    tasks: list[Task] = []
    with pinned(), quiet_mujoco():
        for done, (name, contact) in enumerate(((OURS, DAMPED), (OURS_RINGING, RINGING))):
            progress(f"convergence of {name}", done, 2 + len(CONES))
            function = _compiled(contact)
            found = longest_step(_ours(function), _LIMIT, (*_COUNTS, *_FINER), all_shorter=True)
            chosen[name] = found
            tasks += _own_tasks(name, function, found)
        for done, cone in enumerate(CONES):
            progress(f"convergence of MuJoCo, {cone}", 2 + done, 2 + len(CONES))
            tasks += _mujoco_tasks(cone, chosen)
        rows = _means(interleaved(tasks, seconds, progress))
    notes = [f"{name}: {found or 'no step is accurate enough'}" for name, found in chosen.items()]
    times = {row.name: row.ns for row in rows}
    peers = {name: ns for name, ns in times.items() if name.startswith("mujoco")}
    if OURS not in times or not peers:
        raise FootfallError("none of the time steps is accurate enough: " + "; ".join(notes))
    best = min(peers, key=lambda name: peers[name])
    notes.append(f"MuJoCo at its best: {best}")
    ratios = {"mujoco_over_ours": peers[best] / times[OURS]}
    titles = {name: f"{name}, dt {DURATION / found.steps:.3g}" for name, found in chosen.items() if found is not None}
    rows = [Row(titles[row.name], row.ns, row.per) for row in rows]
    return BenchReport(
        bench="simulated_second", rows=rows, ratios=ratios, operations=subject.operations(), method=METHOD, notes=notes
    )


def longest_step(
    run: Run, limit: int | dict[str, ndarray], counts: Sequence[int], all_shorter: bool = False
) -> Found | None:
    """Return the longest step with an error below the bound in every motion; ``counts`` of steps are increasing.

    limit: the number of steps that represents the limit for dt to 0, or the trunk's position there. all_shorter:
    require the same of every shorter step, so that no accidental zero counts.
    """
    ends = {motion: run(motion, limit) for motion in MOTIONS} if isinstance(limit, int) else limit
    best = None
    for count in reversed(counts) if all_shorter else counts:
        error = max(float(np.linalg.norm(run(motion, count) - ends[motion])) for motion in MOTIONS)
        if error < BOUND:  # false for NaN
            best = Found(count, error)
        if (error < BOUND) != all_shorter:
            break
    return best


def start(motion: str) -> tuple[State, Float[ndarray, "nj"]]:
    """Return (initial state of a drop, joint targets)."""
    state, targets = subject.standing()
    q, v = state.q.copy(), state.v.copy()
    q[2] += DROP
    thrown = MOTIONS[motion]
    v[3:6] = thrown.forward, thrown.left, -thrown.down
    return State(q, v), targets


# -- ours --------------------------------------------------------------------------------------------------------------
def _compiled(contact: Compliant) -> dict[float, Function]:
    """Return the compiled implicit step with its length as an input, by the friction of the ground."""
    state, targets = subject.standing()
    world = subject.world(True, contact)
    grounds = {motion.friction: replace(world, ground=Plane(motion.friction)) for motion in MOTIONS.values()}
    return {
        friction: compiling.compile(subject.held_step, world, state, targets, np.array(subject.DT))
        for friction, world in grounds.items()
    }


def _ours(functions: dict[float, Function]) -> Run:
    def run(motion: str, count: int) -> Float[ndarray, "3"]:
        function = functions[MOTIONS[motion].friction]
        return function.advance(count, *start(motion), np.array(DURATION / count)).q[:3]

    return run


def _own_tasks(name: str, functions: dict[float, Function], found: Found | None) -> list[Task]:
    if found is None:
        return []
    dt = np.array(DURATION / found.steps)

    def task(motion: str, steps: int) -> Task:
        state, targets = start(motion)
        function = functions[MOTIONS[motion].friction]
        return Task(
            name=f"{name}|{motion}",
            run=lambda _: function.advance(steps, state, targets, dt),
            per=PER,
            empty=lambda: function.advance(0, state, targets, dt),
            whole=True,
        )

    return [task(motion, found.steps) for motion in MOTIONS]


# -- MuJoCo ------------------------------------------------------------------------------------------------------------
def _mujoco_tasks(cone: str, chosen: dict[str, Found | None]) -> list[Task]:
    stands = {integrator: MuJoCoStand.build(integrator, cone, subject.DT) for integrator in INTEGRATORS}
    limit = {motion: _theirs(stands["Euler"])(motion, _MUJOCO_LIMIT) for motion in MOTIONS}
    tasks = []
    for integrator, stand in stands.items():
        name = f"mujoco {cone} {integrator}"
        found = chosen[name] = longest_step(_theirs(stand), limit, _COUNTS)
        if found is not None:
            tasks += [_mujoco_task(f"{name}|{motion}", stand, motion, found.steps) for motion in MOTIONS]
    return tasks


def _theirs(stand: MuJoCoStand) -> Run:
    def run(motion: str, count: int) -> Float[ndarray, "3"]:
        stand.model.geom_friction[:, 0] = MOTIONS[motion].friction
        data = stand.after(*start(motion), DURATION / count, count)
        fine = abs(data.time - DURATION) < 1e-6 * DURATION  # a run that diverged was reset
        return data.qpos[:3].copy() if fine else np.full(3, np.nan)

    return run


def _mujoco_task(name: str, stand: MuJoCoStand, motion: str, steps: int) -> Task:
    mj = mujoco.library()
    fresh = stand.data(*start(motion))
    data = mj.MjData(stand.model)

    def before() -> None:
        stand.model.opt.timestep = DURATION / steps
        stand.model.geom_friction[:, 0] = MOTIONS[motion].friction
        mj.mj_copyData(data, stand.model, fresh)

    return Task(name=name, run=lambda _: mj.mj_step(stand.model, data, nstep=steps), per=PER, before=before, whole=True)


@contextmanager
def quiet_mujoco() -> Iterator[None]:
    """Silence MuJoCo's log file, to which it reports the diverging runs that the search provokes."""
    mj = mujoco.library()
    mj.set_mju_user_warning(lambda _: None)
    try:
        yield
    finally:
        mj.set_mju_user_warning(None)


def _means(rows: Sequence[Row]) -> list[Row]:
    """Return one row per engine: the mean over all motions, per second of simulated time."""
    times: dict[str, list[float]] = {}
    for row in rows:
        times.setdefault(row.name.partition("|")[0], []).append(row.ns / DURATION)
    return [Row(name, float(np.mean(ns)), PER) for name, ns in times.items()]
