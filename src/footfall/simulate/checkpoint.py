"""Checkpoints: the state of a run in a NumPy archive. Numbers only: nothing in it can run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.archive import NoArchive, read_archive
from footfall.contact.points import spheres_of
from footfall.control.posture import with_stand
from footfall.errors import InputError, reason
from footfall.identity import digest_of, first_name
from footfall.nests import Nest
from footfall.parameters import replaced
from footfall.robot.model.description import Joint, Robot
from footfall.seams import unadapted
from footfall.simulate.tick import RunState, SimulationModel
from footfall.spatial.transform import Transform
from footfall.trace.face import tree

_FORMAT = 2
_MOST_BYTES = 1 << 28
_MOST_TICKS = 2.0**52  # a clock beyond stands still: the next tick is the same number


def save_checkpoint(path: str | Path, model: SimulationModel, state: RunState) -> None:
    """Written beside its place and renamed into it: a crash leaves the old checkpoint or the new one."""
    path = Path(path)
    leaves, _ = tree.flatten(state)
    arrays: dict[str, Nest] = {"format": _FORMAT, "identity": _identity(model)}
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
    """The state in a checkpoint; ``like`` gives its structure."""
    try:
        data = read_archive(path, _MOST_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the checkpoint {path}: {reason(error)}") from error
    except NoArchive as error:
        raise InputError(f"{path} is not a checkpoint, or damaged") from error
    form, identity = (data.get(key, np.zeros(2)) for key in ("format", "identity"))
    if form.shape or identity.shape or form not in (1, _FORMAT):
        raise InputError(f"{path} is not a checkpoint of this version of footfall")
    if form == 1:
        raise InputError(
            f"{path} was written before the work of braking motors was counted, which its run could not tell afterwards"
        )
    leaves, rebuild = tree.flatten(like)
    if str(identity) not in _identities(model):
        raise InputError(f"{path} belongs to another simulation: {_difference(data, model, like)}")
    stored = []
    for k, leaf in enumerate(leaves):
        array = data.get(f"leaf{k}")
        if array is None or array.shape != np.shape(leaf) or array.dtype != np.float64:
            raise InputError(f"{path} does not fit this simulation: its state has another shape")
        stored.append(array.copy() if array.shape else float(array))
    state: RunState = rebuild(stored)
    _check_state(state, path)
    return state


def _check_state(state: RunState, path: str | Path) -> None:
    """Refuse what no run can have reached: a clock beyond whole numbers, a state that is not finite."""
    if not (0.0 <= state.tick <= _MOST_TICKS and state.tick == state.tick // 1):
        raise InputError(f"{path} is damaged: its clock stands at tick {state.tick:g}")
    if not (np.isfinite(state.q).all() and np.isfinite(state.v).all()):
        raise InputError(f"{path} is damaged: its state is not finite")


def _difference(data: dict[str, ndarray], model: SimulationModel, like: RunState) -> str:
    """What a file that is not of this model tells by its shapes: numbers of the memory follow those of the physics."""
    ours = [np.shape(leaf) for leaf in tree.flatten(like)[0]]
    stored = [data[f"leaf{k}"].shape for k in range(len(data)) if f"leaf{k}" in data]
    physics = len(ours) - len(tree.flatten((like.memory, like.objects))[0])
    if stored[:physics] == ours[:physics] and stored[physics:] != ours[physics:]:
        name = first_name(type(unadapted(model.acting)))[1]
        return (
            f"the memory of its controller is not that of this {name}. It had another controller, or was written when"
            f" a {name} remembered other numbers, and such a run begins anew"
        )
    return "its robot, world, controller or step differ"


def _identities(model: SimulationModel) -> Iterator[str]:
    """Of today, and those under which older footfalls have written the same simulation."""
    yield _identity(model)
    yield _identity(model, older=True)
    robot = _as_written(model.world.robot)
    if robot is not None:
        spheres = (*spheres_of(robot), *model.world.spheres[len(robot.feet) :])
        before = replace(model, world=replaced(model.world, "spheres", spheres))
        stands = robot.poses, with_stand(robot).poses  # as it was loaded, and as a simulation puts it on the ground
        digests = (before.digest_in_files(older, poses) for older in (False, True) for poses in stands)
        yield from (digest for digest in digests if digest is not None)


class _AsWritten(Joint):
    """A joint whose right angles are as good as the digits of its file."""

    @property
    def X_PJ(self) -> Transform:
        return Transform(self.rotation, self.origin)


def _as_written(robot: Robot) -> Robot | None:
    """As it was before right angles were exact: last digits of its feet and its stand differ. None if none do."""
    if all((joint.rotation == joint.X_PJ.R).all() for joint in robot.joints):
        return None
    joints = [_AsWritten(**{f.name: getattr(joint, f.name) for f in fields(joint)}) for joint in robot.joints]
    poses = {name: pose for name, pose in robot.poses.items() if name != "stand"}
    return with_stand(robot.replace(joints=joints, poses=poses))


def _identity(model: SimulationModel, older: bool = False) -> str:
    """The digest; with a user's own classes in the model, whose code no digest tells, that of each part or its name.

    older: as it was before the latest fields were there.
    """
    digest = model.digest_in_files(older)
    if digest is not None:
        return digest
    world = model.world
    parts = (world.robot, world.ground, world.contact, world.joints, world.gravity, world.spheres, model.controller)
    parts = (*parts, world.pairs) if world.pairs else parts  # type: ignore[assignment]
    digests = [digest_of(part, older) or first_name(type(unadapted(part)))[1] for part in parts]
    return " ".join([*digests, model.integrator, repr(model.dt), str(model.substeps)])
