"""The largest steps with hard contact and with spring-dampers: the spined robot stands and trots.

Only the contact differs: the controller is the same, and so is the implicit feedback of the joints; the spring-dampers
stay explicit. Step length and spring constants are inputs of one compiled step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.complementarity import Complementarity
from footfall.contact.compliant import Compliant
from footfall.contact.force_law import ForceLaw
from footfall.contact.ground import Plane
from footfall.contact.model import ContactModel, Memory
from footfall.control.interface import Command, Sensed
from footfall.control.joint.joint_pd import JointPD
from footfall.identity import digest_of
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.start import standing_start
from footfall.sim.step import step
from footfall.sim.world import World
from footfall.spatial.gravity import weight_of
from footfall_lab.papers.claims import Claim, Table, assess
from footfall_lab.papers.registered import setup
from nptrace._types import Scalar
from nptrace.array_types import Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRICTION = setup("adak2021")["friction"]


@dataclass(frozen=True)
class SpringDamper(ForceLaw):
    """A linear spring and a damper under every foot, explicit: the contact with which the paper compares hard contact.

    f_n = max(0, K d - c v_n), f_t = -min(c, μ f_n / |u|) u. Its derivatives are hidden from the implicit step.
    """

    stiffness: Scalar = 1e5  # K [N/m]
    damping: Scalar = 500.0  # c [N s/m]

    def law(
        self, depth: float, v_C: Float[ndarray, "3"], friction: float, dt: float
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        touches = np.where(depth > 0.0, 1.0, 0.0)
        normal = touches * np.maximum(self.stiffness * depth - self.damping * v_C[2], 0.0)
        speed = np.sqrt(v_C[0] * v_C[0] + v_C[1] * v_C[1] + 1e-16)
        drag = np.minimum(touches * self.damping, friction * normal / speed)
        return np.array([-drag * v_C[0], -drag * v_C[1], normal]), np.zeros(3)


@dataclass(frozen=True)
class ExplicitHertz(ForceLaw):
    """Hertz stiffness with stick-slip friction as in de Paula 2024, derivatives hidden from the implicit step."""

    inner: Compliant = field(default_factory=Compliant.as_printed)

    def law(
        self, depth: float, v_C: Float[ndarray, "3"], friction: float, dt: float
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        force, _ = self.inner.law(depth, v_C, friction, 0.0)
        return force, np.zeros(3)


@dataclass(frozen=True, eq=False)
class Trial:
    """The constants of a trial, in which the controller runs in every step."""

    world: World
    controller: JointPD

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


@dataclass(frozen=True)
class Moment:
    """The state that is passed from step to step."""

    t: float
    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    memory: Memory


def trial_step(
    trial: Trial, moment: Moment, dt: float, walking: float, constants: Float[ndarray, "2"]
) -> tuple[Moment, float]:
    """Make a step of any length; ``walking`` 0 stops the gait, for standing. ``constants``: of a SpringDamper."""
    world, robot = trial.world, trial.world.robot
    if isinstance(world.contact, SpringDamper):
        world = replace(world, contact=SpringDamper(stiffness=constants[0], damping=constants[1]))
    sensed = Sensed(q=moment.q, v=moment.v, forces=np.zeros((robot.nf, 3)), gravity=world.gravity)
    requested, _ = trial.controller(walking * moment.t, robot, sensed, Command(), {})
    state = State(moment.q, moment.v, moment.memory)
    after, _, _ = step(world, state, requested.broadcast(robot.nj), np.zeros(6), dt)
    return Moment(moment.t + dt, after.q, after.v, after.memory), dt


_MANTISSAS = (10.0, 8.2, 6.8, 5.6, 4.7, 3.9, 3.3, 2.7, 2.2, 1.8, 1.5, 1.2)
LADDER = tuple(m * 10.0**power for power in (-2, -3, -4, -5) for m in _MANTISSAS)[:-7]  # [s], from 100 ms to 47 us
STIFFNESSES = (1e4, 3e4, 1e5, 3e5, 1e6)  # [N/m]
DAMPINGS = (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)  # [N s/m]
STANDING, TROTTING = 2.0, 3.5  # [s] of a trial
QUIET = 0.05  # [m/s, rad/s], largest velocity of a standing robot
RIGID = 1.0  # [mm], largest depth of a foot on a spring that represents rigid ground


@dataclass(frozen=True, kw_only=True)
class LargestStep:
    """The largest steps of a contact model at which the robot stands, and trots [s]; 0: none of those tried."""

    name: str
    stands: float
    trots: float
    sink: float  # [mm], depth of a foot that carries a quarter of the weight
    words: str = ""
    kind: str = "spring"  # hard, spring (explicit), implicit
    others: tuple[float, float] = (0.0, 0.0)  # standing and trotting, each with its best damper

    @property
    def both(self) -> float:
        return min(self.stands, self.trots)


class StandingRobot:
    """A contact model, compiled once, for trials with any step length."""

    def __init__(self, robot: Robot, contact: ContactModel) -> None:
        self.controller = JointPD.tuned(robot, "trot", clock=True)
        ground = Plane(FRICTION)
        q, v = standing_start(robot, self.controller, ground)
        self.start = Moment(0.0, q, v, contact.start(World(robot=robot, ground=ground).spheres))
        trial = Trial(World(robot=robot, ground=ground, contact=contact), self.controller)
        self.function = compiling.compile(trial_step, trial, self.start, 1e-3, 1.0, np.ones(2), verify=False)

    def largest(self, constants: Sequence[float] = (1.0, 1.0)) -> tuple[float, float]:
        """Return the largest steps at which it stands, and trots, or 0. The next smaller step must succeed as well."""
        return _first(self.stands, constants), _first(self.trots, constants)

    def stands(self, dt: float, constants: Sequence[float]) -> bool:
        end = self._last(dt, STANDING, 0.0, constants)
        return end is not None and bool(np.abs(end[-1].v).max() < QUIET)

    def trots(self, dt: float, constants: Sequence[float]) -> bool:
        gait, ends = self.controller.gait, self._last(dt, TROTTING, 1.0, constants)
        if ends is None:
            return False
        begin = next(moment for moment in ends if moment.t >= gait.ramp)
        speed = (ends[-1].q[0] - begin.q[0]) / (ends[-1].t - begin.t)
        return bool(speed > 0.5 * gait.speed)

    def _last(self, dt: float, seconds: float, walking: float, constants: Sequence[float]) -> list[Moment] | None:
        """Return the states at twenty instants of a trial; None if the robot tilts by 60 deg, lies down or diverges."""
        moment, moments, given = self.start, [], np.asarray(constants, dtype=float)
        count = max(1, round(seconds / dt / 20))
        for _ in range(20):
            moment, _ = self.function.roll(count, moment, dt, walking, given, every=count)
            _, x, y, _ = moment.q[3:7]
            if not np.isfinite(moment.q).all() or 1.0 - 2.0 * (x * x + y * y) < 0.5:
                return None
            if moment.q[2] < 0.5 * self.start.q[2] or moment.q[2] > 1.5 * self.start.q[2]:
                return None
            moments.append(moment)
        return moments


def _first(holds: Callable[[float, Sequence[float]], bool], constants: Sequence[float]) -> float:
    """Return the largest step that succeeds together with the next smaller one."""
    before = 0.0
    for dt in LADDER:
        if not holds(dt, constants):
            before = 0.0
        elif before:
            return before
        else:
            before = dt
    return 0.0


def largest_steps(robot: Robot, quick: bool = False) -> tuple[LargestStep, ...]:
    """Return the largest steps with hard contact, springs with their best dampers, and Hertz printed and implicit."""
    load = weight_of(robot.mass) / 4
    hard = StandingRobot(robot, Complementarity(method="least_squares")).largest()
    made = [LargestStep(name="hard", stands=hard[0], trots=hard[1], sink=0.0, kind="hard")]
    springs = StandingRobot(robot, SpringDamper())
    for stiffness in STIFFNESSES[::2] if quick else STIFFNESSES:
        sink = 1e3 * load / stiffness
        best = LargestStep(
            name=f"spring, {stiffness / 1e3:g} kN/m", stands=0.0, trots=0.0, sink=sink, words="no damper will do"
        )
        for damping in DAMPINGS[::2] if quick else DAMPINGS:
            found = springs.largest((stiffness, damping))
            others = (max(best.others[0], found[0]), max(best.others[1], found[1]))
            if (min(found), found[0]) > (best.both, best.stands):
                best = LargestStep(name=best.name, stands=found[0], trots=found[1], sink=sink, words=f"{damping:g}")
            best = replace(best, others=others)
        made.append(best)
    printed, own = Compliant.as_printed(), Compliant()
    if not quick:
        found = StandingRobot(robot, ExplicitHertz()).largest()
        name = "Hertz, as de Paula et al. print it"
        sink = _hertz_depth(printed, load)
        made.append(LargestStep(name=name, stands=found[0], trots=found[1], sink=sink, words="10"))
    found = StandingRobot(robot, own).largest()
    name, sink = "Hertz, linearly implicit", _hertz_depth(own, load)
    made.append(LargestStep(name=name, stands=found[0], trots=found[1], sink=sink, words="10000", kind="implicit"))
    return tuple(made)


def _hertz_depth(law: Compliant, load: float) -> float:
    """Return the depth [mm] under a load [N]."""
    return 1e3 * float((load / law.stiffness) ** (1 / law.exponent))


def stability(steps: Sequence[LargestStep]) -> Claim:
    """Assess the largest step of hard contact to stand and trot, relative to that of the best spring."""
    hard, own = (next(s for s in steps if s.kind == kind) for kind in ("hard", "implicit"))
    springs = [s for s in steps if s.kind == "spring"]
    stands = max(max(s.stands, s.others[0]) for s in springs)
    trots = max(max(s.trots, s.others[1]) for s in springs)
    soft = max(springs, key=lambda s: s.both)
    stiff = [s for s in springs if s.sink <= RIGID]
    best = max(stiff, key=lambda s: s.both)
    tie = (
        f" In the trot the softest spring keeps up ({soft.name}, feet {soft.sink:.2g} mm deep, {_ms(soft.trots)}):"
        " there the coarsely sampled gait is the limit, also for implicit contact, and by the smaller of its two steps"
        " that spring is equal."
        if soft.trots >= hard.trots
        else ""
    )
    note = (
        f"Largest step to do both: {_ms(hard.both)} with hard contact, {_ms(soft.both)} with the best spring"
        f" ({soft.name}). Hard contact stands at {_ms(hard.stands)}{_top(hard.stands)} and trots at {_ms(hard.trots)};"
        f" of explicit spring-dampers, tuned in stiffness and damper, the best stand at {_ms(stands)} and trot at"
        f" {_ms(trots)}.{tie} Springs that sink less than {RIGID:g} mm, as on rigid ground, do both up to"
        f" {_ms(best.both)} ({best.name}), the stiffest up to {_ms(min(stiff, key=lambda s: s.sink).both)}."
        " Controller and implicit joint feedback are the same for all. The explicit step is unstable, not the spring:"
        f" with linearly implicit steps, Hertz contact that sinks {own.sink:.2g} mm stands at"
        f" {_ms(own.stands)} and trots at {_ms(own.trots)}. The paper prints no number."
    )
    return assess("adak2021", "hard_beats_spring_damper_in_stability", hard.both / soft.both, note)


def accuracy(steps: Sequence[LargestStep]) -> Claim:
    """Assess how far feet sink on the spring that allows the largest step."""
    hard = next(s for s in steps if s.kind == "hard")
    springs = [s for s in steps if s.kind == "spring"]
    best = max(springs, key=lambda s: s.both)
    rigid = max(s.both for s in springs if s.sink <= RIGID)
    return assess(
        "adak2021",
        "hard_beats_spring_damper_in_accuracy",
        best.sink,
        f"{best.name}, at {_ms(best.both)}; hard contact sinks {hard.sink:.2g} mm at {_ms(hard.both)}. A spring that"
        f" sinks less than {RIGID:g} mm needs steps of {_ms(rigid)}.",
    )


def _ms(dt: float) -> str:
    return f"{1e3 * dt:.3g} ms" if dt else f"none down to {1e3 * LADDER[-1]:.3g} ms"


def _top(dt: float) -> str:
    return " (the largest tried)" if dt == LADDER[0] else ""


def table(steps: Sequence[LargestStep]) -> Table:
    rows = tuple((s.name, _ms(s.stands), _ms(s.trots), f"{s.sink:.3g}", s.words or "–") for s in steps)
    note = (
        f"Steps from {1e3 * LADDER[0]:.3g} to {1e3 * LADDER[-1]:.3g} ms, twelve a decade; one counts when the next"
        f" smaller holds as well. Stands: {STANDING:g} s, and nothing moves faster than {QUIET:g} m/s or rad/s at the"
        f" end. Trots: {TROTTING:g} s, after the start at least half the nominal speed. Springs are linear, with one"
        " damper for all directions: of the dampers tried, the one that allows the largest step to both."
    )
    header = ("contact", "stands to", "trots to", "feet sink [mm]", "damper [N s/m]")
    return Table("Largest steps at which it stands and trots", header, rows, note)


def figure(steps: Sequence[LargestStep]) -> Figure:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7.6, 3.2), layout="constrained")
    axes = drawn.add_subplot()
    hard, own = (next(s for s in steps if s.kind == kind) for kind in ("hard", "implicit"))
    springs = [s for s in steps if s.name.startswith("spring") and s.both]
    depths = [s.sink for s in springs]
    for key, style, fill in (("stands", "-", "full"), ("trots", "--", "none")):
        axes.axhline(1e3 * getattr(hard, key), color="#2f6fab", ls=style, label=f"hard contact, {key}")
        axes.plot(
            depths,
            [1e3 * getattr(s, key) for s in springs],
            f"o{style}",
            color="#c4622d",
            fillstyle=fill,
            label=f"explicit spring-damper, {key}",
        )
        axes.plot(
            [own.sink],
            [1e3 * getattr(own, key)],
            "s",
            color="#009e73",
            fillstyle=fill,
            label=f"Hertz, linearly implicit, {key}",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("depth of a standing foot [mm]")
    axes.set_ylabel("largest step [ms]")
    axes.grid(color="#dddddd", lw=0.6)
    axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return drawn
