"""The rhythm of a controller on a gait: a network of oscillators in its memory, and feet that may end a swing early."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Sensed
from footfall.gait.oscillators.networks import GaitTiming, Network
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import weight_of
from nptrace import norm
from nptrace._types import PyTree

CONTACT_LOAD = 0.03  # of the weight: a foot that feels this much is on the ground

Memory = dict[str, ndarray]


def first_rhythm(network: Network, timing: GaitTiming) -> Memory:
    """The memory before the first tick: ``phase`` [cycles], and ``network`` where its state is more than that."""
    return _rhythm_memory(network, network.start(timing), timing)


def next_rhythm(
    network: Network, memory: Memory, dt: float, timing: GaitTiming, landed: Float[ndarray, "n"] | None = None
) -> Memory:
    """The memory a tick dt [s] later; ``landed`` (1 or 0 a leg) ends swings early."""
    state = memory.get("network", memory["phase"])
    if landed is not None:
        state = network.touchdown(state, landed, timing)
    return _rhythm_memory(network, network.advance(state, dt, timing), timing)


def _rhythm_memory(network: Network, state: PyTree, timing: GaitTiming) -> Memory:
    phase = network.phase(state, timing)
    return {"phase": phase} if phase is state else {"phase": phase, "network": state}


def on_the_ground(robot: Robot, sensed: Sensed) -> Float[ndarray, "4"]:
    """Which of LF, RF, LH, RH feel the ground: 1 or 0."""
    min_load = CONTACT_LOAD * weight_of(robot.mass, sensed.gravity)
    return np.where(np.stack([norm(force, 1e-9) for force in sensed.forces[:4]]) > min_load, 1.0, 0.0)
