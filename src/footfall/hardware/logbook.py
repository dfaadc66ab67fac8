"""Recording of a real robot: rows are collected in the loop and written in a thread, so that no tick waits for a
disk.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy import ndarray

from footfall.hardware.drive import DriveRow
from nptrace._types import Operand

_BLOCK = 125  # rows that are handed over at once: a quarter of a second at 500 Hz


class Appends(Protocol):
    """A target to which blocks of columns are appended, such as a ``RecordingWriter``."""

    def append(self, columns: Mapping[str, Operand]) -> None: ...

    def close(self) -> None: ...


class Logbook:
    """Collect rows and write blocks of columns. ``failed`` is the file's error, if any; control continues
    regardless.
    """

    def __init__(self, writer: Appends) -> None:
        self._writer, self._rows = writer, list[DriveRow]()
        self._blocks: queue.SimpleQueue[list[DriveRow] | None] = queue.SimpleQueue()
        self.failed = ""
        self._thread = threading.Thread(target=self._write, name="footfall-logbook", daemon=True)
        self._thread.start()

    def add(self, row: DriveRow) -> None:
        self._rows.append(row)
        if len(self._rows) >= _BLOCK:
            self._blocks.put(self._rows)
            self._rows = []

    def close(self) -> None:
        if self._rows:
            self._blocks.put(self._rows)
        self._blocks.put(None)
        self._thread.join()
        self._quietly(self._writer.close)

    def _write(self) -> None:
        while (rows := self._blocks.get()) is not None:
            if not self.failed:
                block = columns(rows)
                self._quietly(lambda block=block: self._writer.append(block))  # type: ignore[misc]

    def _quietly(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Exception as error:
            self.failed = str(error)


def columns(rows: list[DriveRow]) -> dict[str, ndarray]:
    """Return rows as columns of a recording; ``force`` is the controller's value of the foot forces."""
    force = np.array([np.nan_to_num(row.sensed.forces) for row in rows])
    return {
        "time": np.array([row.time for row in rows]),
        "q": np.array([row.sensed.q for row in rows]),
        "v": np.array([row.sensed.v for row in rows]),
        "command_position": np.array([row.command.position for row in rows]),
        "command_torque": np.array([row.command.torque for row in rows]),
        "torque": np.array([row.state.torque for row in rows]),
        "force": force,
        "contact": np.linalg.norm(force, axis=2) > 0,
        "gyro": np.array([row.state.imu.gyro for row in rows]),
        "acceleration": np.array([row.state.imu.acceleration for row in rows]),
        "command_velocity": np.array([row.command.velocity for row in rows]),
        "command_kp": np.array([row.command.kp for row in rows]),
        "command_kd": np.array([row.command.kd for row in rows]),
        "robot_time": np.array([row.state.time for row in rows]),
    }


__all__ = ["Logbook", "columns"]
