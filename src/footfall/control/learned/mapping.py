"""Mapping files (TOML): how a policy trained elsewhere is connected to a robot.

    joint_names = ["FR_hip", "FR_thigh", "FR_calf", ...]   # the policy's order
    default_joint_pos = [0.1, 0.8, -1.5, ...]
    joint_stiffness = 25.0                                 # one number, or one a joint
    joint_damping = 0.5
    action_scale = 0.25
    rate = 50.0
    observation_names = ["base_ang_vel", "projected_gravity", "command", "joint_pos", "joint_vel", "actions"]

    [joint_aliases]                                        # the policy's name = the robot's
    FR_hip = "RF_abad"

Any key of ``interface.KEYS``; keys in the file's metadata need not be repeated; those in the mapping take precedence.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from footfall._io.toml_file import parse_toml, read_toml_text
from footfall.control.learned.interface import Interface, check_values
from footfall.errors import InputError
from nptrace._types import Given

ALIASES = "joint_aliases"


def read_mapping(path: str | Path) -> dict[str, Given]:
    """Return the values of a mapping file by key."""
    file = Path(path)
    return checked_mapping(parse_toml(read_toml_text(file, "the mapping file"), str(file)), str(file))


def checked_mapping(mapping: Mapping[str, Given], where: str) -> dict[str, Given]:
    """Check a mapping that did not come from a file."""
    aliases = mapping.get(ALIASES, {})
    if not isinstance(aliases, dict) or not all(isinstance(name, str) for name in aliases.values()):
        raise InputError(f"{ALIASES} of {where} must be a table of names, the policy's = the robot's")
    rest = check_values({key: value for key, value in mapping.items() if key != ALIASES}, where)
    return {**rest, ALIASES: dict(aliases)} if aliases else rest


def interface_of(metadata: Mapping[str, Given], mapping: Mapping[str, Given], where: str) -> Interface:
    """Return the interface that a file's metadata and a mapping describe together."""
    words = {**rename_joints(metadata, mapping), **rename_joints(mapping, mapping)}
    words.pop(ALIASES, None)
    return Interface.of(words, where)


def rename_joints(words: Mapping[str, Given], mapping: Mapping[str, Given]) -> dict[str, Given]:
    """Return joints by the robot's names."""
    aliases = mapping.get(ALIASES, {})
    if "joint_names" not in words:
        return dict(words)
    return {**words, "joint_names": [aliases.get(name, name) for name in words["joint_names"]]}
