"""Recorded ticks of a run, and which of them hold finite numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy import ndarray

from footfall.control.interface import JointCommand
from footfall.simulate.tick import RunState, SimulationModel, at_rest
from footfall.trace.face import tree


@dataclass(frozen=True)
class Rows:
    """States and commands of ticks, time first in every array; the controller's memory is not kept."""

    state: RunState
    command: JointCommand
    period: float  # [s]

    def __len__(self) -> int:
        return len(self.time)

    @property
    def time(self) -> ndarray:
        """At the end of every tick [s]."""
        return np.asarray(self.state.tick) * self.period

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """Rows that follow each other; at least one part."""
        if len(parts) == 1:
            return parts[0]
        leaves, rebuild = zip(*(tree.flatten((part.state, part.command)) for part in parts))
        state, command = rebuild[0]([np.concatenate(column) for column in zip(*leaves)])
        return Rows(state, command, parts[0].period)

    def __getitem__(self, rows: slice | ndarray) -> Rows:
        leaves, rebuild = tree.flatten((self.state, self.command))
        state, command = rebuild([leaf[rows] for leaf in leaves])
        return Rows(state, command, self.period)

    def state_after(self, row: int, before: RunState) -> RunState:
        """The state after the tick of a row, with the controller's memory of an earlier one."""
        leaves, rebuild = tree.flatten(self.state)
        state: RunState = rebuild([leaf[row] for leaf in leaves])
        return replace(state, tick=float(state.tick), memory=before.memory)

    def finite(self) -> int:
        """How many rows, from the first, hold finite numbers only."""
        if not len(self):
            return 0
        good = np.ones(len(self), dtype=bool)
        commands = (getattr(self.command, f.name) for f in fields(JointCommand))
        for array in (self.state.q, self.state.v, self.state.motor, self.state.forces, *commands):
            good &= np.isfinite(np.reshape(array, (len(self), -1))).all(axis=1)
        bad = np.flatnonzero(~good)
        return int(bad[0]) if len(bad) else len(self)

    def culprit(self, row: int, model: SimulationModel) -> str:
        """What is not finite in a row, in words."""
        joints, q, v = model.world.robot.joint_names, self.state.q, self.state.v
        for key in ("position", "velocity", "kp", "kd", "torque"):
            wrong = np.flatnonzero(~np.isfinite(getattr(self.command, key)[row]))
            if len(wrong):
                who = f"controller {model.acting.name} (tick {round(self.time[row] / model.period) - 1})"
                return f"{who} asked for a {key} that is not finite at joint '{joints[wrong[0]]}'"
        for name, array in (("position", q), ("rate", v)):
            wrong, first = np.flatnonzero(~np.isfinite(array[row])), array.shape[1] - len(joints)
            if len(wrong) and wrong[0] >= first:
                return f"the {name} of joint '{joints[wrong[0] - first]}'"
        return "the state of the base"


def rows_of(model: SimulationModel, kept: list[tuple[RunState, JointCommand]]) -> Rows:
    """Rows of states and commands that were kept one by one; there may be none."""
    robot, count = model.world.robot, len(kept)
    like = at_rest(model.world, np.zeros(robot.nq), np.zeros(robot.nv)), JointCommand().spread(robot.nj)
    leaves, rebuild = tree.flatten(like)
    read = tree.reader(like)
    flat: list[list[ndarray]] = []
    for state, command in kept:
        row: list[ndarray] = []
        flat.append(row)
        read((replace(state, memory=()), command), row)
    columns = zip(*flat)
    stacked = [np.array(column, dtype=float) for column in columns] or [np.zeros((0, *np.shape(x))) for x in leaves]
    state, command = rebuild([x.reshape(count, *np.shape(leaf)) for x, leaf in zip(stacked, leaves)])
    return Rows(state, command, model.period)
