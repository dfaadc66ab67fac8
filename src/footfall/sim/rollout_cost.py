"""The cost of a run as a differentiable number, and its gradient with respect to gains, masses or a gait.

    cost = ff.sim.RolloutCost(sim, lambda q, v, command: (q[2] - 0.3) ** 2, 0.5, ["controller.kp", "trunk.mass"])
    cost(), cost.gradient()                                    # at the simulation's own numbers
    cost({"controller.kp": 50.0, "trunk.mass": 3.5})           # at others

The whole rollout is traced, contact included, and differentiated by reverse mode: the cost of a gradient does not
depend on the number of parameters. Over long runs the contacts of a walk make the gradient correct but useless, since
it grows with every step of the robot: use it for a second or less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

import nptrace
from footfall import compiling
from footfall.adapters import unadapted
from footfall.errors import InputError, TraceError
from footfall.sim.simulation import Simulation
from footfall.sim.tick import Inputs, RunState, SimulationModel, tick
from nptrace import ownership
from nptrace._types import Given, Operand, PyTree, Scalar
from nptrace.verification.closure_state import ClosureState

Cost = Callable[..., PyTree]


def summed_cost(model: SimulationModel, state: RunState, inputs: Inputs, ticks: int, cost: Cost) -> PyTree:
    """Return the sum of a cost over ticks; it can be traced and differentiated.

    Args:
        model: The model that is simulated.
        state: State at the start.
        inputs: User's command and pushes.
        ticks: Number of ticks.
        cost: ``cost(q, v, command)`` of the state after a tick and its joint command.

    Returns:
        The sum.
    """

    def body(_: Scalar, carry: tuple[RunState, PyTree]) -> tuple[RunState, PyTree]:
        after, command = tick(model, carry[0], inputs)
        return after, carry[1] + cost(after.q, after.v, command)

    return nptrace.repeat(ticks, body, (state, 0.0))[1]


class RolloutCost:
    """The mean of a cost over ``duration`` [s] from a simulation's present state, as a function of parameters.

    cost: plain NumPy, ``cost(q, v, command)``, of the state after a tick and the ``JointCommand`` in it.
    free: ``"trunk.mass"``, ``"ground.friction"``, ``"controller.kp"``, ``"controller.gait.period"``, ...
    """

    def __init__(self, simulation: Simulation, cost: Cost, duration: float, free: Sequence[str]) -> None:
        self.model, self.free = simulation.model, (free,) if isinstance(free, str) else tuple(free)
        self.ticks = round(duration / self.model.period)
        if self.ticks < 1 or not self.free:
            raise InputError(
                "a rollout needs at least one tick and parameters to differentiate by: free=['trunk.mass']"
            )
        if not self.model.acting.info.traceable:
            raise TraceError(f"controller {self.model.acting.name} runs in Python: a gradient needs one of plain NumPy")
        self.nominal = {path: np.array(self.model.parameter(path), dtype=float) for path in self.free}
        self.cost, self.state = cost, simulation.state
        self.inputs = Inputs(simulation.command_now, np.zeros(6 + 6 * len(self.model.world.pushed)))
        self._constants: ClosureState | None = None  # of users' code, when it was compiled

    def __repr__(self) -> str:
        return f"RolloutCost({self.ticks} ticks of {self.model.acting.name}, free {', '.join(self.free)})"

    def __call__(self, values: Mapping[str, Given] | None = None) -> float:
        """Return the mean cost."""
        self._notice_changes()
        return float(self._value(self.state, self.inputs, self._filled(values))) / self.ticks

    def gradient(self, values: Mapping[str, Given] | None = None) -> dict[str, PyTree]:
        """Return the gradient with respect to every free parameter, in the parameter's shape."""
        self._notice_changes()
        gradients = self._gradient(self.state, self.inputs, self._filled(values))
        return {path: gradient / self.ticks for path, gradient in gradients.items()}

    def _notice_changes(self) -> None:
        """Compile anew after a change to what the cost, or a user's controller, ground or contact model, reaches."""
        if self._constants is not None and self._constants.changed() is None:
            return
        for name in ("_value", "_gradient"):
            self.__dict__.pop(name, None)
        model, world = self.model, self.model.world
        parts = [unadapted(part) for part in (world.ground, world.contact)]
        users = [part for part in parts if not ownership.is_unmodified(type(part))]
        if model.digest is None or not ownership.is_unmodified(type(model.controller)):
            users.append(unadapted(model.acting))
        self._constants = ClosureState((self.cost, *users))

    def _filled(self, values: Mapping[str, Given] | None) -> dict[str, PyTree]:
        for path in values or {}:
            if path not in self.nominal:
                raise InputError(f"'{path}' is not a free parameter of this rollout: {', '.join(self.free)}")
        return {path: np.asarray((values or {}).get(path, own), dtype=float) for path, own in self.nominal.items()}

    @cached_property
    def _value(self) -> Operand:
        return compiling.compile(
            summed_cost,
            self.model,
            self.state,
            self.inputs,
            free=self.free,
            ticks=self.ticks,
            cost=self.cost,
            verify=False,
        )

    @cached_property
    def _gradient(self) -> PyTree:
        return compiling.gradient(
            summed_cost,
            self.model,
            self.state,
            self.inputs,
            free=self.free,
            ticks=self.ticks,
            cost=self.cost,
            wrt="parameters",
        )
