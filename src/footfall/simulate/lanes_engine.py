"""The tick of many simulations at once: one piece of machine code on SIMD lanes, each with its own numbers.

What a simulation does depends on its own numbers alone, and machine code for lanes gives the bits of that for one
robot: a run on lanes is the run it would be by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from footfall.nests import Nest, Scalar
from footfall.simulate.engine import CompiledEngine
from footfall.simulate.rows import Rows
from footfall.simulate.running import Ask, Rolled
from footfall.simulate.tick import Inputs, RunState
from footfall.trace.face import tree

_CHUNK = 32  # simulations whose rows are in memory at once, the controller's memory among them


class LanesEngine(CompiledEngine):
    """The whole tick as one function of many simulations that differ in ``free`` numbers, state and inputs alone."""

    target = "batch"

    def roll(self, state: RunState, inputs: Inputs, count: int, every: int) -> Rolled:
        return roll_together([self], [Ask(state, [(0, inputs)], count, every)])[0]

    def one_tick(self, state: RunState, inputs: Inputs) -> RunState:
        values = [stacked([v]) for v in self.values]
        after, _ = self.function(stacked([state]), stacked([inputs]), *values)
        found: RunState = _members(after, 1)[0]
        return found


def roll_together(engines: Sequence[LanesEngine], asks: Sequence[Ask]) -> list[Rolled]:
    """What each asks for; all of them share one function, and ask for as many ticks and rows."""
    found: list[Rolled] = []
    for start in range(0, len(asks), _CHUNK):
        part = slice(start, start + _CHUNK)
        found += _rolled(engines[part], asks[part])
    return found


def _rolled(engines: Sequence[LanesEngine], asks: Sequence[Ask]) -> list[Rolled]:
    count, every = asks[0].count, asks[0].every
    before = [replace(a.before, memory=e.model.acting.renewed(a.before.memory)) for e, a in zip(engines, asks)]
    values = [stacked(some) for some in zip(*(engine.values for engine in engines))]
    after, found_rows = stacked(before), []
    starts = sorted({start for ask in asks for start, _ in ask.spans})
    for start, end in zip(starts, [*starts[1:], count]):  # one's push comes or goes: the others do not notice
        inputs = stacked([ask.inputs_from(start) for ask in asks])
        after, rows_of_span = engines[0].function.roll(end - start, after, inputs, *values, every=every)
        found_rows.append(rows_of_span)
    seen, commands = _joined(found_rows)
    found: list[Rolled] = []
    parts = zip(_members(after, len(asks)), _members(seen, len(asks)), _members(commands, len(asks)))
    for engine, ask, first, (last, rows, asked) in zip(engines, asks, before, parts):
        period = engine.model.period
        times = (rows.tick - 1.0) * period  # when the controller was called
        engine.model.acting.observe(times, ask.command, first.memory, rows.memory)
        found.append((last, Rows(replace(rows, memory=()), asked, period), None))
    return found


def stacked(nests: Sequence[Scalar]) -> Scalar:
    """Nests of the same form as one, with an axis for them first in every array."""
    leaves, rebuild = zip(*map(tree.flatten, nests))
    return rebuild[0]([np.stack([np.asarray(x, float) for x in column]) for column in zip(*leaves)])


def _joined(nests: Sequence[Scalar]) -> Scalar:
    """Rows of many simulations that follow each other, behind the simulations' axis."""
    if len(nests) == 1:
        return nests[0]
    leaves, rebuild = zip(*map(tree.flatten, nests))
    return rebuild[0]([np.concatenate(column, axis=1) for column in zip(*leaves)])


def _members(nest: Nest, count: int) -> list[Scalar]:
    """The other way round."""
    leaves, rebuild = tree.flatten(nest)
    return [rebuild([leaf[k] for leaf in leaves]) for k in range(count)]


__all__ = ["LanesEngine", "roll_together", "stacked"]
