"""The seam of contact models, and their names on the command line.

A model is asked once per step: how does a robot accelerate that feels ``force`` and has its spheres at ``points``? It
answers with accelerations, contact forces and its memory for the next step. Hard models answer in impulses: their
accelerations are (v⁺ - v) / dt and their forces impulses / dt, so that nothing else in a step need know.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from jaxtyping import Float
from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.contact.points import ContactPoint, Sphere
from footfall.dynamics.closed_loops import LoopConstraint
from footfall.errors import InputError, unknown
from footfall.nests import Given, Nest
from footfall.robot.model.description import Robot
from footfall.seams import Adapter, has_members

Memory = dict[str, Nest]  # arrays by name; traced ones too


class ContactModel(Protocol):
    """What the ground does to the robot. A user's own class needs ``implicit``, ``start`` and ``respond`` alone: the
    rest has defaults in ``ContactModelBase``, and ``as_contact_model`` lends them to a class without that base."""

    @property
    def implicit(self) -> bool:
        """Joint feedback is taken at the end of the step."""
        ...

    @property
    def hard(self) -> bool:
        """Answers in impulses, which only steps of the first order can take."""
        ...

    @property
    def missed(self) -> str:
        """What it means that ``misses`` in the memory has grown, for an event."""
        ...

    def start(self, spheres: Sequence[Sphere]) -> Memory:
        """The memory before the first step; empty if the model needs none.

        A count of ``misses`` in it makes an event.
        """
        ...

    def check(
        self, robot: Robot, spheres: Sequence[Sphere], ground: Ground, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
    ) -> None:
        """Refuse a start that the model cannot go on from."""
        ...

    def modes(self, count: int) -> Memory:
        """What an implicit step chooses for so many spheres before its first solution; empty if it chooses nothing.

        ``respond`` is then handed the modes and the number of the ``turn`` for a memory, and answers with the modes for
        the next turn and in how much they are ``unsettled``.
        """
        ...

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
        """(accelerations, force on every sphere in base axes, memory) for M a = force + Jᵀ f.

        ``loops``: of a robot with closed loops, which ask for M a = force + Jᵀ f + Gᵀ λ, G a = wanted.
        """
        ...

    def columns(self, memory: Memory, feet: int) -> dict[str, ndarray]:
        """What of the memory, rows of it, is recorded."""
        ...


class ContactModelBase:
    """What a contact model does that says nothing else: a soft force, without modes and without columns."""

    hard: ClassVar[bool] = False
    missed: ClassVar[str] = "the contact model fell short of what it promises"

    def check(
        self, robot: Robot, spheres: Sequence[Sphere], ground: Ground, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
    ) -> None:
        """Every start will do."""

    def modes(self, count: int) -> Memory:
        return {}

    def columns(self, memory: Memory, feet: int) -> dict[str, ndarray]:
        return {}


@dataclass(frozen=True, eq=False)
class AdaptedContactModel(Adapter, ContactModelBase):
    """A user's own contact model without that base: what it has is its own, the rest is as usual."""

    adapted: Given

    @property
    def implicit(self) -> bool:
        return bool(self.adapted.implicit)

    @property
    def hard(self) -> bool:  # type: ignore[override]
        return bool(self.own("hard", False))

    @property
    def missed(self) -> str:  # type: ignore[override]
        return str(self.own("missed", ContactModelBase.missed))

    def start(self, spheres: Sequence[Sphere]) -> Memory:
        return self.adapted.start(spheres)

    def check(
        self, robot: Robot, spheres: Sequence[Sphere], ground: Ground, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
    ) -> None:
        self.own("check", super().check)(robot, spheres, ground, q, v)

    def modes(self, count: int) -> Memory:
        return self.own("modes", super().modes)(count)

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
        if loops is None:
            return self.adapted.respond(robot, M, force, points, v, dt, memory)
        if "loops" not in inspect.signature(self.adapted.respond).parameters:
            kind = type(self.adapted).__name__
            raise InputError(f"contact model {kind} knows no closed loops, and robot '{robot.name}' has some")
        return self.adapted.respond(robot, M, force, points, v, dt, memory, loops=loops)

    def columns(self, memory: Memory, feet: int) -> dict[str, ndarray]:
        return self.own("columns", super().columns)(memory, feet)


def as_contact_model(given: Given) -> ContactModel:
    """A contact model as it is, a user's own with what it leaves out, or one sentence about what it lacks."""
    if isinstance(given, type):
        raise InputError(f"a contact model must be an object, such as {given.__name__}(...), got its class")
    if not has_members(given, "implicit", "start", "respond"):
        raise InputError(f"a contact model needs implicit and start and respond, which {type(given).__name__} has not")
    return given if isinstance(given, ContactModelBase) else AdaptedContactModel(given)  # type: ignore[return-value]


def _compliant(**options: Any) -> ContactModel:
    from footfall.contact.compliant import Compliant

    return Compliant(**options)


def _complementarity(**options: Any) -> ContactModel:
    from footfall.contact.complementarity import Complementarity

    return Complementarity(**options)


def _stance(**options: Any) -> ContactModel:
    from footfall.contact.stance import Stance

    return Stance(**options)


MODELS: dict[str, Callable[..., ContactModel]] = {
    "compliant": _compliant, "complementarity": _complementarity, "stance": _stance,
}  # fmt: skip


def named(name: str, **options: Any) -> ContactModel:
    """A contact model by its name on the command line: ``contact.named("stance")``; options are the model's own."""
    if name not in MODELS:
        raise unknown("contact model", name, MODELS)
    return MODELS[name](**options)
