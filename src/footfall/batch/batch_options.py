"""Options of a simulation that a batch would not heed are refused, with what does the same for many robots."""

from __future__ import annotations

from collections.abc import Mapping

from footfall.control.interface import Command
from footfall.errors import InputError
from footfall.nests import Given
from footfall.simulate.simulation import Simulation

_OF_ONE_RUN = ("pushes", "record_rate", "self_collision")
_INSTEAD = {"pushes": ": batch.set_push(...) does", "record_rate": ": batch.run(..., every=...) does"}


def check_options(options: Mapping[str, Given]) -> None:
    """Refuse options of a simulation that a batch would not heed."""
    for key in _OF_ONE_RUN:
        if options.get(key):
            raise InputError(f"a batch takes no {key}{_INSTEAD.get(key, '')}")


def constant_command(simulation: Simulation) -> Command:
    """The command of all robots of a batch to begin with."""
    if not isinstance(simulation.command, Command):
        raise InputError("a batch holds its commands until they are set again: batch.set_command(...) between runs")
    return simulation.command
