"""The rhythm of a controller on a gait: a network of oscillators in its memory, with swings that may end early."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.control.interface import Sensed
from footfall.gait.oscillators.networks import GaitTiming, Network
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import weight_of
from nptrace import norm
from nptrace._types import PyTree
from nptrace.array_types import Float

CONTACT_LOAD = 0.03  # fraction of the weight: a foot with this load is in contact

Memory = dict[str, ndarray]


def first_rhythm(network: Network, timing: GaitTiming) -> Memory:
    """Return the initial memory: ``phase`` [cycles], and ``network`` if its state is more than that."""
    return _rhythm_memory(network, network.start(timing), timing)


def next_rhythm(
    network: Network, memory: Memory, dt: float, timing: GaitTiming, landed: Float[ndarray, "n"] | None = None
) -> Memory:
    """Return the memory a tick dt [s] later; ``landed`` (1 or 0 per leg) ends swings early."""
    state = memory.get("network", memory["phase"])
    if landed is not None:
        state = network.touchdown(state, landed, timing)
    return _rhythm_memory(network, network.advance(state, dt, timing), timing)


def _rhythm_memory(network: Network, state: PyTree, timing: GaitTiming) -> Memory:
    phase = network.phase(state, timing)
    return {"phase": phase} if phase is state else {"phase": phase, "network": state}


def on_the_ground(robot: Robot, sensed: Sensed) -> Float[ndarray, "4"]:
    """Return which of LF, RF, LH, RH are in contact: 1 or 0."""
    min_load = CONTACT_LOAD * weight_of(robot.mass, sensed.gravity)
    return np.where(np.stack([norm(force, 1e-9) for force in sensed.forces[:4]]) > min_load, 1.0, 0.0)
