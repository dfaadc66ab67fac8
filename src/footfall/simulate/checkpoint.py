"""Checkpoints: the carried state of a run in a NumPy archive. Numbers only: nothing in it can run."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from footfall.errors import InputError
from footfall.simulate.tick import Carried, Rig
from footfall.trace import tree

_FORMAT = 1


def save_checkpoint(path: str | Path, rig: Rig, carried: Carried) -> None:
    """Written beside its place and renamed into it: a crash leaves the old checkpoint or the new one."""
    path = Path(path)
    leaves, _ = tree.flatten(carried)
    arrays: dict[str, Any] = {"format": _FORMAT, "identity": _identity(rig)}
    arrays |= {f"leaf{k}": np.asarray(leaf, dtype=float) for k, leaf in enumerate(leaves)}
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".npz")
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)
        os.replace(name, path)
    except OSError as error:
        raise InputError(f"cannot write the checkpoint {path}: {error.strerror or error}") from error


def load_checkpoint(path: str | Path, rig: Rig, like: Carried) -> Carried:
    """The state in a checkpoint; ``like`` gives its structure."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            data: dict[str, Any] = dict(archive)
    except (OSError, ValueError, zipfile.BadZipFile, KeyError) as error:
        raise InputError(f"{path} is not a checkpoint that can be read: {error}") from error
    if int(data.get("format", -1)) != _FORMAT:
        raise InputError(f"{path} is not a checkpoint of this version of footfall")
    if str(data["identity"]) != _identity(rig):
        raise InputError(f"{path} belongs to another simulation: its robot, world, controller or step differ")
    leaves, rebuild = tree.flatten(like)
    stored = []
    for k, leaf in enumerate(leaves):
        array = data.get(f"leaf{k}")
        if array is None or array.shape != np.shape(leaf):
            raise InputError(f"{path} does not fit this simulation: its state has another shape")
        stored.append(array if array.shape else float(array))
    return rebuild(stored)


def _identity(rig: Rig) -> str:
    """The digest, or for a user's own classes their names."""
    return rig.digest or f"{rig.world.robot.digest} {type(rig.controller).__qualname__} {rig.dt!r} {rig.substeps}"
