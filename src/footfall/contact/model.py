"""The interface of contact models, and their names on the command line.

A model is evaluated once per step, for a robot under ``force`` whose spheres are at ``points``. It returns
accelerations, contact forces and its memory for the next step. Hard models give impulses: their accelerations are (v⁺ -
v) / dt and their forces impulses / dt, so that the rest of a step need not distinguish them.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy import ndarray

from footfall.adapters import Adapter, has_members
from footfall.contact.ground import Ground
from footfall.contact.points import ContactPoint, Sphere
from footfall.dynamics.closed_loops import LoopConstraint
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from nptrace._types import Given, PyTree, Scalar
from nptrace.array_types import Float

Memory = dict[str, PyTree]  # arrays by name; traced ones too


class ContactModel(ABC):
    """A model of the forces between the ground and the robot.

    A user-defined class needs only ``implicit``, ``start`` and ``respond``; the rest has defaults. Classes that do
    not derive from this one get them from ``as_contact_model``.
    """

    implicit: bool  # joint feedback is evaluated at the end of the step
    hard: ClassVar[bool] = False  # returns impulses, which only first-order steps can use
    # an implicit step has no modes, for spheres or joints: ``respond`` predicts, and returns the forces that act
    one_solve: ClassVar[bool] = False
    # reported when ``misses`` in its memory grows
    missed: ClassVar[str] = "the contact model did not reach its tolerance"

    @abstractmethod
    def start(self, spheres: Sequence[Sphere]) -> Memory:
        """Return the memory before the first step; empty if the model needs none.

        A count of ``misses`` in it produces an event when it grows.
        """

    @abstractmethod
    def respond(
        self,
        robot: Robot,
        M: Float[ndarray, "nv nv"],
        force: Float[ndarray, "nv"],
        points: Sequence[ContactPoint],
        v: Float[ndarray, "nv"],
        dt: float,
        memory: Memory,
        loops: LoopConstraint | None = None,
    ) -> tuple[Float[ndarray, "nv"], list[ndarray], Memory]:
        """Return accelerations and contact forces of M a = force + Jᵀ f.

        Args:
            M: Mass matrix, including implicit terms of the joints.
            force: Generalised force without contact [N or N m].
            points: Possible contact points of spheres, with their Jacobians J in base axes.
            v: Velocities at the start of the step.
            dt: Length of the step [s].
            memory: Memory from the previous step; with ``modes``, those of this iteration instead.
            loops: Constraint of closed loops: M a = force + Jᵀ f + Gᵀ λ, G a = wanted.

        Returns:
            (accelerations, force on every sphere in base axes [N], memory for the next step).
        """

    def check(  # noqa: B027 : a default
        self, robot: Robot, spheres: Sequence[Sphere], ground: Ground, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
    ) -> None:
        """Raise an error for an initial state that the model does not support; by default none."""

    def modes(self, count: int) -> Memory:
        """Return the initial modes of a number of spheres in an implicit step; by default none.

        With modes, the memory given to ``respond`` has the modes and the number of the ``iteration``, and it returns
        the modes for the next iteration and how many have ``changed``.
        """
        return {}

    def columns(self, memory: Memory, feet: int) -> dict[str, ndarray]:
        """Return the recorded columns, from rows of the memory."""
        return {}


@dataclass(frozen=True, eq=False)
class AdaptedContactModel(Adapter, ContactModel):
    """A user-defined contact model that is not a ``ContactModel``, with the defaults of one."""

    adapted: Given

    @property
    def implicit(self) -> bool:  # type: ignore[override]
        return bool(self.adapted.implicit)

    @property
    def hard(self) -> bool:  # type: ignore[override]
        return bool(self.get("hard", ContactModel.hard))

    @property
    def one_solve(self) -> bool:  # type: ignore[override]
        return bool(self.get("one_solve", ContactModel.one_solve))

    @property
    def missed(self) -> str:  # type: ignore[override]
        return str(self.get("missed", ContactModel.missed))

    def start(self, spheres: Sequence[Sphere]) -> Memory:
        return self.adapted.start(spheres)

    def respond(
        self, robot: Robot, *arguments: Given, loops: LoopConstraint | None = None
    ) -> tuple[Float[ndarray, "nv"], list[ndarray], Memory]:
        if loops is None:
            return self.adapted.respond(robot, *arguments)
        if "loops" not in inspect.signature(self.adapted.respond).parameters:
            kind = type(self.adapted).__name__
            raise InputError(f"contact model {kind} does not support closed loops, which robot '{robot.name}' has")
        return self.adapted.respond(robot, *arguments, loops=loops)

    def check(self, *arguments: Given) -> None:
        self.get("check", super().check)(*arguments)

    def modes(self, count: int) -> Memory:
        return self.get("modes", super().modes)(count)

    def columns(self, memory: Memory, feet: int) -> dict[str, ndarray]:
        return self.get("columns", super().columns)(memory, feet)


def as_contact_model(given: Given) -> ContactModel:
    """Return a contact model unchanged, or a user-defined one with the defaults of ``ContactModel``; raise if a
    member is missing.
    """
    if isinstance(given, type):
        raise InputError(f"a contact model must be an object, such as {given.__name__}(...), got its class")
    if not has_members(given, "implicit", "start", "respond"):
        raise InputError(f"a contact model needs implicit and start and respond, which {type(given).__name__} lacks")
    return given if isinstance(given, ContactModel) else AdaptedContactModel(given)


MODELS = ("compliant", "complementarity", "stance", "planning")


def named(name: str, **options: Any) -> ContactModel:
    """Return a contact model by its name: ``contact.named("stance")``.

    Args:
        name: ``compliant``, ``complementarity``, ``stance`` or ``planning``.
        **options: Fields of the model.

    Returns:
        The contact model.
    """
    from footfall.contact.complementarity import Complementarity  # these import this module
    from footfall.contact.compliant import Compliant
    from footfall.contact.planning import Planning
    from footfall.contact.stance import Stance

    if name not in MODELS:
        raise unknown("contact model", name, MODELS)
    kinds: tuple[type[ContactModel], ...] = (Compliant, Complementarity, Stance, Planning)
    return kinds[MODELS.index(name)](**options)


def contact_settings(model: ContactModel | None) -> dict[str, float | bool | str | int]:
    """Return the numbers and names that define a contact model."""
    if not dataclasses.is_dataclass(model):
        return {}
    named = {f.name: vars(model).get(f.name) for f in dataclasses.fields(model)}
    return {
        key: value
        for key, value in named.items()
        if isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))
    }


# -- the active set of a contact model within a step: which spheres hold, stick or slide ------------------------------
# A model with ``modes`` is linear while none of them changes. It is evaluated in the modes of one iteration, and
# returns with its solution the modes that this solution implies; ``sim.equations_of_motion`` iterates until the two
# agree. A model without modes, or a hard one, is evaluated once, and returns its memory for the next step.
@dataclass(frozen=True)
class ActiveSetIteration:
    """One iteration within a step: its number, and the modes in which the contact model is evaluated.

    ``converged``: they are final, and the solution is needed for its derivative.
    """

    modes: Memory
    number: Scalar
    converged: bool = False


@dataclass(frozen=True)
class ContactSolution:
    """Accelerations, the force on every sphere in base axes, and the resulting modes and memory."""

    a: Float[ndarray, "nv"]
    forces: list[Float[ndarray, "3"]]
    modes: Memory  # modes for another iteration
    changed: Scalar  # number of modes that the solution contradicts
    memory: Memory  # memory for the next step


def evaluate_contact(
    model: ContactModel,
    robot: Robot,
    M: Float[ndarray, "nv nv"],
    force: Float[ndarray, "nv"],
    points: Sequence[ContactPoint],
    v: Float[ndarray, "nv"],
    dt: float,
    memory: Memory,
    iteration: ActiveSetIteration,
    loops: LoopConstraint | None = None,
) -> ContactSolution:
    """Return the result of a contact model for M a = force + Jᵀ f, in the modes of an iteration if it has any."""
    closed = {} if loops is None else {"loops": loops}  # a user's model need not support loops
    if not iteration.modes:
        a, forces, memory = model.respond(robot, M, force, points, v, dt, memory, **closed)
        return ContactSolution(a, forces, {}, 0.0, memory)
    in_modes = {**iteration.modes, "iteration": iteration.number, "converged": iteration.converged}
    a, forces, after = model.respond(robot, M, force, points, v, dt, in_modes, **closed)
    return ContactSolution(a, forces, {key: after[key] for key in iteration.modes}, after["changed"], memory)
