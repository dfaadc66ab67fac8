"""A recording, frame by frame, as other formats want it: at a rate of its own, with an IMU where none was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.checks import checked_number
from footfall.errors import InputError
from footfall.recording.recording import Recording
from footfall.spatial.gravity import GRAVITY
from footfall.spatial.quaternion import to_rotation


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One moment of a robot. IMU in base axes."""

    stamp: int  # [ns]
    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    torque: Float[ndarray, "nj"]
    gyro: Float[ndarray, "3"]  # [rad/s]
    acceleration: Float[ndarray, "3"]  # specific force [m/s²]
    force: Float[ndarray, "nf 3"]  # on the feet, world axes [N]


def frames(recording: Recording, rate: float | None = None) -> Iterator[Frame]:
    """Every row, or as many a second as asked for; a robot on a fixed base has no IMU to speak of."""
    robot = recording.robot
    if not robot.floating:
        raise InputError(f"robot '{robot.name}' has a fixed base: these formats are for one that moves")
    if len(recording) < 2:
        raise InputError("the recording has fewer than two rows: there is nothing to convert")
    columns = {name: recording[name] for name in recording.columns}
    time, q, v = columns["time"], columns["q"], columns["v"]
    gyro = columns.get("gyro", v[:, :3])
    pull = columns.get("acceleration")
    pull = _specific_force(recording) if pull is None else pull
    torque = columns.get("torque", np.zeros((len(time), robot.nj)))
    force = columns.get("force", np.zeros((len(time), robot.nf, 3)))
    for k in _rows(time, rate):
        yield Frame(
            stamp=round(float(time[k]) * 1e9),
            q=q[k],
            v=v[k],
            torque=torque[k],
            gyro=gyro[k],
            acceleration=pull[k],
            force=force[k],
        )


def count(recording: Recording, rate: float | None) -> int:
    return len(_rows(recording.time, rate))


def _rows(time: Float[ndarray, "T"], rate: float | None) -> ndarray:
    """The rows nearest to multiples of a period; all of them without a rate."""
    if rate is None:
        return np.arange(len(time))
    checked_number(rate, "the rate of frames", 0.0, above=True)
    wanted = np.arange(time[0], time[-1] + 1e-9, 1.0 / rate)
    return np.unique(np.clip(np.searchsorted(time, wanted - 1e-9), 0, len(time) - 1))


def _specific_force(recording: Recording) -> Float[ndarray, "T 3"]:
    """Return what an IMU at the base's origin would have read, by the change of its velocity."""
    gravity = np.array(recording.meta.get("gravity", GRAVITY))
    R_WB = np.moveaxis(to_rotation(recording.q[:, 3:7].T), -1, 0)
    velocity = np.einsum("tij,tj->ti", R_WB, recording.v[:, 3:6])
    change = np.gradient(velocity, recording.time, axis=0) if recording.duration > 0 else 0.0 * velocity
    return np.einsum("tji,tj->ti", R_WB, change - gravity)


__all__ = ["Frame", "count", "frames"]
