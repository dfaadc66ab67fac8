"""Checkpoints: the state of a run in a NumPy archive. It contains only numbers, no code."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall._io.archive import NoArchive, read_archive
from footfall._io.file_format import check_version, version_in
from footfall.adapters import unadapted
from footfall.errors import InputError, reason
from footfall.identity import digest_of
from footfall.sim.tick import RunState, SimulationModel
from nptrace._types import PyTree
from nptrace.frontend import tree

FORMAT = 1  # format of the file
_MOST_BYTES = 1 << 28
_MOST_TICKS = 2.0**52  # beyond this the clock stands still: the next tick is the same number


def save_checkpoint(path: str | Path, model: SimulationModel, state: RunState) -> None:
    """Write a checkpoint beside its path and rename it: after a crash, either the old or the new one exists."""
    path = Path(path)
    leaves, _ = tree.flatten(state)
    arrays: dict[str, PyTree] = {"format": FORMAT, "identity": _identity(model)}
    arrays |= {f"leaf{k}": np.asarray(leaf, dtype=float) for k, leaf in enumerate(leaves)}
    name = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".npz")
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)
        os.replace(name, path)
    except (OSError, ValueError) as error:  # a null character in the name is a ValueError
        if name is not None:
            Path(name).unlink(missing_ok=True)
        raise InputError(f"cannot write the checkpoint {path}: {reason(error)}") from error


def load_checkpoint(path: str | Path, model: SimulationModel, like: RunState) -> RunState:
    """Return the state in a checkpoint; ``like`` gives its structure."""
    try:
        data = read_archive(path, _MOST_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the checkpoint {path}: {reason(error)}") from error
    except NoArchive as error:
        raise InputError(f"{path} is not a checkpoint, or damaged") from error
    if "identity" not in data:
        raise InputError(f"{path} is not a checkpoint")
    check_version(path, version_in(data), FORMAT)
    leaves, rebuild = tree.flatten(like)
    if str(data["identity"]) != _identity(model):
        raise InputError(f"{path} belongs to another simulation: {_difference(data, model, like)}")
    stored = []
    for k, leaf in enumerate(leaves):
        array = data.get(f"leaf{k}")
        if array is None or array.shape != np.shape(leaf) or array.dtype != np.float64:
            raise InputError(f"{path} does not fit this simulation: its state has a different shape")
        stored.append(array.copy() if array.shape else float(array))
    state: RunState = rebuild(stored)
    _check_state(state, path)
    return state


def _check_state(state: RunState, path: str | Path) -> None:
    """Raise for impossible states: a clock beyond exact integers, values that are not finite."""
    if not (0.0 <= state.tick <= _MOST_TICKS and state.tick == state.tick // 1):
        raise InputError(f"{path} is damaged: its clock stands at tick {state.tick:g}")
    if not (np.isfinite(state.q).all() and np.isfinite(state.v).all()):
        raise InputError(f"{path} is damaged: its state is not finite")


def _difference(data: dict[str, ndarray], model: SimulationModel, like: RunState) -> str:
    """Return how a file of another model differs, by its shapes: those of the memory follow those of the physics."""
    ours = [np.shape(leaf) for leaf in tree.flatten(like)[0]]
    stored = [data[f"leaf{k}"].shape for k in range(len(data)) if f"leaf{k}" in data]
    physics = len(ours) - len(tree.flatten((like.memory, like.objects))[0])
    if stored[:physics] == ours[:physics] and stored[physics:] != ours[physics:]:
        name = type(unadapted(model.acting)).__qualname__
        return f"its controller was not this {name}, or one that remembered other numbers"
    return "its robot, world, controller or step differ"


def _identity(model: SimulationModel) -> str:
    """Return the digest of the model.

    If the model has user-defined classes, whose code has no digest, return the digest or the name of each part.
    """
    digest = model.digest
    if digest is not None:
        return digest
    world = model.world
    parts = (world.robot, world.ground, world.contact, world.joints, world.gravity, world.spheres, world.pairs)
    digests = [digest_of(part) or type(unadapted(part)).__qualname__ for part in (*parts, model.controller)]
    return " ".join([*digests, model.integrator, repr(model.dt), str(model.substeps)])
