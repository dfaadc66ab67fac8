"""Options of a run that its controller has no use for are refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from footfall.errors import InputError
from footfall.nests import Given

if TYPE_CHECKING:
    from footfall.simulate.runfile import RunOptions


def given(options: RunOptions, *keys: str) -> list[str]:
    return [key for key in keys if getattr(options, key) is not None]


def refuse(options: RunOptions, why: str, keys: list[str]) -> None:
    if keys:
        raise InputError(f"controller '{options.controller}' {why}: it takes no {keys[0]}")


def refuse_rhythm(options: RunOptions) -> None:
    keys = given(options, "oscillator", "then", "inverse") + (["touchdown"] if options.touchdown else [])
    refuse(options, "keeps its own time", keys)


def refuse_motion(options: RunOptions, constants: Mapping[str, Given], *others: str) -> None:
    keys = given(options, "gait", "constants", "speed", "reflexes", *others)
    refuse_rhythm(options)
    keys += [key for key in ("sideways", "turn") if getattr(options, key)] + [f"gait.{key}" for key in constants]
    refuse(options, "stands still", keys)
