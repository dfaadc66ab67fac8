"""The tick of many robots: only what the next tick needs is kept of a state, so that nothing else is computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import DTypeLike

from footfall.control.interface import JointCommand
from footfall.nests import Nest
from footfall.simulate.tick import Inputs, RunState, SimulationModel, tick
from footfall.trace.face import tree


def reduced(state: RunState, foot_forces: bool) -> RunState:
    """A state without motor torques and work; without forces too, unless the controller looks at them."""
    forces = state.forces if foot_forces else state.forces[:0]
    return replace(state, motor=state.motor[:0], forces=forces, work=state.work[:0])


def full_tick(model: SimulationModel, state: RunState, inputs: Inputs) -> RunState:
    """One tick from a reduced state, with all that a tick knows: for meters."""
    forces = state.forces if len(state.forces) else np.zeros((len(model.world.contacts), 3))
    full = replace(state, motor=np.zeros(model.world.robot.nj), forces=forces, work=np.zeros(5))
    return tick(model, full, inputs)[0]


def batch_tick(model: SimulationModel, state: RunState, inputs: Inputs) -> RunState:
    """One tick of the controller and the physics below it, from a reduced state to the next."""
    return reduced(full_tick(model, state, inputs), len(state.forces) > 0)


def recorded_tick(
    model: SimulationModel, carried: tuple[RunState, Float[ndarray, "5"]], inputs: Inputs
) -> tuple[tuple[RunState, Float[ndarray, "5"]], tuple[RunState, JointCommand]]:
    """The same with the work so far [J] beside the state, and then all that a recording keeps of the tick."""
    state, work = carried
    forces = state.forces if len(state.forces) else np.zeros((len(model.world.spheres), 3))
    full = replace(state, motor=np.zeros(model.world.robot.nj), forces=forces, work=work)
    after, command = tick(model, full, inputs)
    return (reduced(after, len(state.forces) > 0), after.work), (replace(after, memory=()), command)


def metered_tick(model: SimulationModel, metered: tuple[RunState, Nest], inputs: Inputs) -> tuple[RunState, Nest]:
    """The same with the positive mechanical work of the motors so far [J] beside the state.

    Motors that brake give nothing back, as in ``Recording.cost_of_transport``.
    """
    state, work = metered
    after = full_tick(model, state, inputs)
    return reduced(after, len(state.forces) > 0), work + after.work[4]


def repeated(nest: Nest, n: int, dtype: DTypeLike = np.float64) -> Nest:
    """A nest of one robot as one of n: every array with a robot axis first."""
    leaves, rebuild = tree.flatten(nest)
    return rebuild([np.tile(np.asarray(x, dtype), (n, *(1,) * np.ndim(x))) for x in leaves])
