"""The seam of contact models, and their names on the command line.

A model is asked once a step: how does a robot accelerate that feels ``force`` and has its spheres at ``points``? It
answers with accelerations, contact forces and its memory for the next step. Hard models answer in impulses: their
accelerations are (v⁺ - v) / dt and their forces impulses / dt, so that nothing else in a step need know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jaxtyping import Float
from numpy import ndarray

from footfall.contact.points import ContactPoint, Sphere
from footfall.errors import unknown
from footfall.robot.model.description import Robot

Memory = dict[str, ndarray]


class ContactModel(Protocol):
    """What the ground does to the robot. ``implicit``: joint feedback is taken at the end of the step."""

    @property
    def implicit(self) -> bool: ...

    def start(self, spheres: Sequence[Sphere]) -> Memory:
        """The memory before the first step; empty if the model needs none. A count of ``misses`` in it makes an event.

        A model with memory also has ``columns(memory, feet)``, what of it is recorded, and ``missed``, what a miss is.
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
    ) -> tuple[Float[ndarray, "nv"], list[ndarray], Memory]:
        """(accelerations, force on every sphere in base axes, memory) for M a = force + Jᵀ f."""
        ...


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
