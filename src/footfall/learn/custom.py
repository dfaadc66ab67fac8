"""A task with user-defined parts: ground, reward terms, observations and commands, as plain functions of NumPy.

    gymnasium.make("footfall/Walk-v0", ground="rough:0.03", rewards={"quiet": lambda robot, sensed, command, action:
        -0.01 * np.sum(sensed.v[6:] ** 2)}, observations=lambda robot, sensed, command: sensed.forces[:, 2] / 100.0)

They are traced with the rest of the evaluation, for one robot or thousands, on a processor or a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.contact.terrain import named
from footfall.control.interface import Command, Sensed
from footfall.control.learned.policy import Drive, Policy
from footfall.control.learned.travelled import ImportedPolicy
from footfall.errors import InputError
from footfall.kinematics.forward import foot_positions
from footfall.learn.randomise import Randomisation
from footfall.learn.task import NONE, WORST, Assessment, Parameters, Task, TickResult, tried
from footfall.learn.walk import WalkTask
from footfall.robot.model.description import Robot
from footfall.sim.tick import RunState
from nptrace._types import Given, Scalar
from nptrace.array_types import Float

Term = Callable[[Robot, Sensed, Command, ndarray], Scalar]
Look = Callable[[Robot, Sensed, Command], ndarray]
Drawn = Callable[[ndarray], Command]
_PARTS = ("ground", "rewards", "observations")


@dataclass(frozen=True, eq=False)
class CustomTask(Task):
    """A task with some of its terms replaced.

    ground: a ``Ground`` with a ``friction``, or a name such as "rough:0.03". rewards: terms by name, ``term(robot,
    sensed, command, action)``, in reward per second; they are added to the task's own. observations: ``look(robot,
    sensed, command)``, a vector appended to the task's observation. commands: ``drawn(chance)``, the ``Command``
    (forward, sideways, turn) of an episode from three uniform draws in [0, 1).
    """

    inner: Task
    ground: Ground | str = "plane"
    rewards: Mapping[str, Term] = field(default_factory=dict)
    observations: Look | None = None
    commands_drawn: Drawn | None = None

    def __post_init__(self) -> None:
        ground = named(self.ground) if isinstance(self.ground, str) else self.ground
        object.__setattr__(self, "ground", ground)
        if not isinstance(self.rewards, Mapping):
            found = type(self.rewards).__name__
            raise InputError(f"rewards must be functions by name, such as {{'calm': calm}}, got {found}")
        for key in self.rewards:
            if key in self.inner.weights:
                raise InputError(f"the task already has a term '{key}': change its weight, or choose another name")
        robot = self.robot
        q, v = robot.state("stand")
        sensed = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3)))
        for key, term in self.rewards.items():
            value = tried(f"the reward '{key}'", term, robot, sensed, Command(), np.zeros(robot.nj))
            if np.shape(value) != ():
                raise InputError(f"the reward '{key}' must be one number, got shape {np.shape(value)}")
        if self.observations is not None:
            more = tried("the user-defined observation", self.observations, robot, sensed, Command())
            if np.ndim(more) != 1:
                raise InputError(f"a user-defined observation must be a vector, got shape {np.shape(more)}")
        if self.commands_drawn is not None:
            command = tried("the user-defined command", self.commands_drawn, np.full(3, 0.5))
            if not isinstance(command, Command):
                raise InputError(f"a user-defined command must be a Command, got {type(command).__name__}")

    # -- the inner task's ----------------------------------------------------------------------------------------------
    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.inner.robot

    @property
    def drive(self) -> Drive:  # type: ignore[override]
        return self.inner.drive

    @property
    def weights(self) -> Mapping[str, float]:  # type: ignore[override]
        return self.inner.weights

    @property
    def dt(self) -> float:  # type: ignore[override]
        return self.inner.dt

    @property
    def seconds(self) -> float:  # type: ignore[override]
        return self.inner.seconds

    @property
    def commands(self) -> Mapping[str, tuple[float, float]]:  # type: ignore[override]
        return self.inner.commands

    @property
    def command_ranges(self) -> dict[str, tuple[float, float]]:
        return self.inner.command_ranges

    @property
    def start_draws(self) -> int:  # type: ignore[override]
        return self.inner.start_draws

    @property
    def settings(self) -> Mapping[str, Given]:  # type: ignore[override]
        return self.inner.settings

    @property
    def paths(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.inner.paths

    @property
    def levels(self) -> int:  # type: ignore[override]
        return self.inner.levels

    @property
    def default_randomisation(self) -> Randomisation:
        return self.inner.default_randomisation

    def assign_level(self, level: Scalar, chance: ndarray) -> Scalar:
        return self.inner.assign_level(level, chance)

    def terrain(self, level: Scalar, chance: ndarray) -> dict[str, Scalar]:
        return self.inner.terrain(level, chance)

    def next_level(self, level: Scalar, travelled: Scalar, commanded: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        return self.inner.next_level(level, travelled, commanded, fallen, score)

    @classmethod
    def of(cls, robot: Robot, **options: Any) -> Self:
        """Return the walking task with some parts changed."""
        return cls(WalkTask.of(robot), **options)

    def assess(self, policy: Policy | ImportedPolicy, **options: Any) -> Assessment:
        """Evaluate a policy with the unchanged task."""
        return self.inner.assess(policy, **options)

    @property
    def examined(self) -> CustomTask:
        return replace(self, inner=self.inner.examined)

    # -- user-defined --------------------------------------------------------------------------------------------------
    @property
    def world(self) -> dict[str, Given]:
        return {**self.inner.world, "ground": self.ground}

    def initial_pose(
        self,
        q: Float[ndarray, "nq"],
        ranges: Randomisation,
        joints: Float[ndarray, "nj"],
        chance: ndarray,
        parameters: Parameters = NONE,
        level: Scalar = 0.0,
    ) -> Float[ndarray, "nq"]:
        """Return the task's initial pose, moved up or down until the lowest foot touches this ground."""
        q = self.inner.initial_pose(q, ranges, joints, chance, parameters, level)
        feet, robot = foot_positions(self.robot, q), self.robot
        over = [self._ground.distance(feet[k]) - foot.radius for k, foot in enumerate(robot.feet)]
        return q - np.concatenate([np.zeros(2), np.stack([np.min(np.stack(over))]), np.zeros(robot.nq - 3)])

    def evaluate_tick(self, state: RunState, command: Command, parameters: Parameters = NONE) -> TickResult:
        """Return the task's result, with heights over this ground and the user's terms and observations."""
        under = state.q[2] - self._ground.distance(state.q[:3])
        level = state.q - np.concatenate([np.zeros(2), np.stack([under]), np.zeros(self.robot.nq - 3)])
        found = self.inner.evaluate_tick(replace(state, q=level), command, parameters)
        sensed, action = self._sensed(state), state.memory["action"]
        own = {
            key: np.clip(term(self.robot, sensed, command, action), -WORST, WORST) / self.drive.rate
            for key, term in self.rewards.items()
        }
        observation = np.concatenate([found.observation, *self._more(sensed, command)])
        return replace(
            found, observation=observation, terms={**found.terms, **own}, reward=found.reward + sum(own.values())
        )

    def observe(self, state: RunState, command: Command, parameters: Parameters = NONE) -> Float[ndarray, "no"]:
        own = self._more(self._sensed(state), command)
        return np.concatenate([self.inner.observe(state, command, parameters), *own])

    def draw_command(self, drawn: Mapping[str, Given], chance: Float[ndarray, "3"]) -> Command:
        return self.inner.draw_command(drawn, chance) if self.commands_drawn is None else self.commands_drawn(chance)

    @property
    def frame_bounds(self) -> Float[ndarray, "no"]:
        q, v = self.robot.state("stand")
        more = self._more(Sensed(q=q, v=v, forces=np.zeros((self.robot.nf, 3))), Command())
        return np.concatenate([self.inner.frame_bounds, *(np.full(len(part), np.inf) for part in more)])

    @property
    def _ground(self) -> Ground:
        assert not isinstance(self.ground, str)
        return self.ground

    def _sensed(self, state: RunState) -> Sensed:
        return Sensed(q=state.q, v=state.v, forces=state.forces[: self.robot.nf])

    def _more(self, sensed: Sensed, command: Command) -> list[ndarray]:
        return [] if self.observations is None else [np.asarray(self.observations(self.robot, sensed, command))]


def customised(task: Task, options: dict[str, Given]) -> Task:
    """Return the task with the parts named in an environment's options, which are removed from them."""
    given: dict[str, Given] = {key: options.pop(key) for key in _PARTS if key in options}
    if callable(options.get("command")):
        given["commands_drawn"] = options.pop("command")
    return CustomTask(task, **given) if given else task
