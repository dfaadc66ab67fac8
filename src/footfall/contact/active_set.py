"""The active set of a contact law within a step: which spheres hold, stick or slide.

A law with ``modes`` is linear while none of them changes. It is asked for its answer in the modes of one turn, and says
with it which modes it would rather have had; ``simulate.modes`` asks again until the two agree. A law without modes, or
a hard one, is asked once, and answers with its memory for the next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from footfall.contact.model import ContactModel, Memory
from footfall.contact.points import ContactPoint
from footfall.dynamics.closed_loops import LoopConstraint
from footfall.nests import Scalar
from footfall.robot.model.description import Robot


@dataclass(frozen=True)
class Turn:
    """The modes in which a law is asked, and for which time within a step.

    ``settled``: they are the last, and the answer is wanted for its derivative.
    """

    modes: Memory
    number: Scalar
    settled: bool = False


@dataclass(frozen=True)
class Answer:
    """Accelerations, the force on every sphere in base axes, and what becomes of modes and memory."""

    a: Float[ndarray, "nv"]
    forces: list[Float[ndarray, "3"]]
    modes: Memory  # for another turn
    unsettled: Scalar  # in how many the solution contradicts those it was found in
    memory: Memory  # for the next step


def answer(
    law: ContactModel, robot: Robot, M: Float[ndarray, "nv nv"], force: Float[ndarray, "nv"],
    points: Sequence[ContactPoint], v: Float[ndarray, "nv"], dt: float, memory: Memory, turn: Turn,
    loops: LoopConstraint | None = None,
) -> Answer:  # fmt: skip
    """What the law says to M a = force + Jᵀ f, in the modes of a turn where it has any."""
    closed = {} if loops is None else {"loops": loops}  # a user's law need not know of loops
    if not turn.modes:
        a, forces, memory = law.respond(robot, M, force, points, v, dt, memory, **closed)
        return Answer(a, forces, {}, 0.0, memory)
    in_modes = {**turn.modes, "turn": turn.number, "settled": turn.settled}
    a, forces, after = law.respond(robot, M, force, points, v, dt, in_modes, **closed)
    return Answer(a, forces, {key: after[key] for key in turn.modes}, after["unsettled"], memory)
