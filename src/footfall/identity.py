"""A digest of a description: equal numbers give equal digests in every process. It names compiled code and recordings.

Only footfall's own classes have one: what a user's class does is written in its code, which its numbers do not tell.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json

import numpy as np

from footfall.nests import Foreign

# Files know classes by their first names: those of classes that have moved or been renamed since, so that checkpoints
# which were written before still open.
_MOVED = {
    "footfall.robot.model.": "footfall.robot.", "footfall.control.joint.": "footfall.control.",
    "footfall.control.locomotion.": "footfall.control.", "footfall.control.estimation.": "footfall.control.",
    "footfall.control.optimal.": "footfall.control.", "footfall.control.learned.": "footfall.control.",
    "footfall.control.sensed": "footfall.control.interface",
    "footfall.hardware.emergency_stop": "footfall.simulate.motors", "footfall.hardware.": "footfall.simulate.",
}  # fmt: skip
_RENAMED = {"EmergencyStopWrapper": "Stoppable", "SensorWrapper": "Measured", "SimulationModel": "Rig"}


def first_name(kind: type) -> tuple[str, str]:
    """(module, name) under which files know a class."""
    module = kind.__module__
    for now, first in _MOVED.items():
        if module.startswith(now):
            module = first + module.removeprefix(now)
            break
    return module, _RENAMED.get(kind.__qualname__, kind.__qualname__)


def digest_of(thing: object, older: bool = False) -> str | None:
    """The digest of a nest of footfall's dataclasses, arrays, numbers and names; None if something else is inside.

    A field with ``metadata={"added_later": True}`` does not count where it has its default: files of before still open.
    With ``counted_later`` it counts in files of today, and not in those that ``older`` asks for, from before it was.
    """
    later = ("added_later", "counted_later") if older else ("added_later",)
    try:
        text = json.dumps(_plain(thing, later))
    except _Foreign:
        return None
    return hashlib.sha256(text.encode()).hexdigest()


class _Foreign(Exception):
    pass


def _plain(x: Foreign, later: tuple[str, ...]) -> object:
    if x is None or isinstance(x, (bool, int, str)):
        return x
    if issubclass(type(x), (float, np.floating)):  # a traced number passes for one with isinstance, and has no digits
        return float(x).hex()
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        return [list(x.shape), [float(v).hex() for v in x.ravel()]]
    if isinstance(x, (tuple, list)):
        return [_plain(v, later) for v in x]
    if isinstance(x, dict):
        return [[_plain(k, later), _plain(v, later)] for k, v in x.items()]
    kind = type(x)
    if dataclasses.is_dataclass(x) and kind.__module__.split(".")[0] == "footfall":
        skipped = getattr(kind, "NOT_IN_DIGEST", ())
        skipped += tuple(name for name in vars(kind).get("NOT_IN_DIGEST_IF_EMPTY", ()) if not vars(x)[name])
        fields = {f.name: _plain(getattr(x, f.name), later) for f in dataclasses.fields(x) if f.name not in skipped}
        new = [f for f in dataclasses.fields(x) if f.name in fields and any(f.metadata.get(key) for key in later)]
        added = {f.name for f in new if fields[f.name] == _plain(f.default, later)}  # as numbers, which arrays have too
        return [*first_name(kind), {key: value for key, value in fields.items() if key not in added}]
    raise _Foreign
