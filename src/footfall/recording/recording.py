"""A run, column by column: states, commands, torques, contact forces and modes, energies, events.

``rec["q"]`` or ``rec.q`` is an array with time as its first axis; ``recording.columns.STANDARD`` defines the standard
columns and their units. Any further column, such as a controller's telemetry, is kept as well.
"""

from __future__ import annotations

import difflib
import functools
import html
import os
import platform
from collections.abc import Iterable, Mapping, MutableMapping
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from footfall import __version__, compiling, hints
from footfall.contact.free_bodies import FreeBody
from footfall.contact.ground import Ground
from footfall.contact.terrain import from_json as ground_from_json
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import foot_positions, foot_velocities
from footfall.recording import recording_file
from footfall.recording.columns import checked
from footfall.recording.force_mean import means_of_rows
from footfall.recording.object_form import objects_of
from footfall.recording.provenance import rerun_command
from footfall.recording.recording_writer import Event, RecordingError, RecordingWriter
from footfall.recording.stored_columns import LazyColumns
from footfall.robot.model.description import Robot
from footfall.spatial import quaternion
from footfall.spatial.gravity import GRAVITY, weight_of
from footfall.spatial.rotation import EULER_ORDERS, to_euler
from nptrace._types import Json, Operand
from nptrace.array_types import Bool, Float

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from footfall.recording.comparison import Differences


class Recording:
    """A recorded run: columns over time, events, and ``meta`` (robot, dt, controller, seed, ...)."""

    def __init__(
        self,
        robot: Robot,
        columns: Mapping[str, Operand],
        events: Iterable[Event] = (),
        meta: Mapping[str, Json] | None = None,
    ) -> None:
        self.robot = robot
        self.columns: MutableMapping[str, ndarray] = (
            columns if isinstance(columns, LazyColumns) else checked(columns, robot)
        )
        self.events = list(events)
        self.meta: dict[str, Json] = dict(meta or {})
        self.meta.setdefault("robot", robot.name)
        self.meta.setdefault("digest", robot.digest)
        self.meta.setdefault("versions", dict(versions()))

    # -- columns -------------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> ndarray:
        if not isinstance(name, str):
            raise InputError(
                f"a column of a recording is selected by its name, got {name!r}: between() selects a time interval"
            )
        if name not in self.columns and name in hints.RECORDING:
            raise InputError(f"this recording has no column {name!r}: it is {hints.RECORDING[name]}")
        if name not in self.columns and hasattr(type(self), name):
            raise InputError(f"{name!r} is computed from columns and is not a column: it is rec.{name}")
        column = name.partition(".")[0]
        if name not in self.columns and column in self.columns:
            raise InputError(f"a column has all its numbers, rec[{column!r}]; {name!r} is one of to_pandas()")
        if name not in self.columns:
            raise unknown("column", name, self.columns, "this recording has")
        return self.columns[name]

    def __getattr__(self, name: str) -> ndarray:
        columns = self.__dict__.get("columns")
        if name.startswith("_") or columns is None:
            raise AttributeError(name)
        if name in columns:  # a controller's telemetry
            return columns[name]
        if name in hints.RECORDING:
            raise hints.missing("a Recording", name, (), hints.RECORDING)
        known = [*columns, *(n for n in dir(type(self)) if not n.startswith("_"))]
        if near := difflib.get_close_matches(name, known, n=1):
            raise AttributeError(f"a Recording has no {name!r}: did you mean {near[0]!r}?")
        raise AttributeError(str(unknown("column", name, columns, "this recording has")))

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(self.columns["time"])

    @property
    def time(self) -> Float[ndarray, "T"]:
        """Return the time [s]."""
        return self["time"]

    @property
    def q(self) -> Float[ndarray, "T nq"]:
        """Return base position [m], base quaternion (w, x, y, z), joint positions [rad]."""
        return self["q"]

    @property
    def v(self) -> Float[ndarray, "T nv"]:
        """Return angular [rad/s] and linear [m/s] velocity of the base in its own axes, joint rates [rad/s]."""
        return self["v"]

    @property
    def torque(self) -> Float[ndarray, "T nj"]:
        """Return the torque of the motors, as seen at the joints: behind belts, that on the rotors [N m]."""
        return self["torque"]

    @property
    def force(self) -> Float[ndarray, "T nf 3"]:
        """Return the ground's force on each foot in the last step, world axes [N]; its peaks grow as steps get
        shorter.
        """
        return self["force"]

    @property
    def force_mean(self) -> Float[ndarray, "T nf 3"]:
        """Return the ground's mean force on each foot over the last 10 ms, world axes [N], independent of the step
        size.

        It is computed from the impulses of all steps, or without them from the rows of ``force``. Forces before the
        recording count as zero.
        """
        return self["force_mean"] if "force_mean" in self else means_of_rows(self.time, self.force)

    @property
    def contact(self) -> Bool[ndarray, "T nf"]:
        """Return whether each foot touches the ground."""
        return self["contact"]

    @property
    def joint_position(self) -> Float[ndarray, "T nj"]:
        """Return the joint positions [rad]."""
        return self.q[:, self.robot.nq - self.robot.nj :]

    @property
    def joint_velocity(self) -> Float[ndarray, "T nj"]:
        """Return the joint velocities [rad/s]."""
        return self.v[:, self.robot.nv - self.robot.nj :]

    @property
    def ground(self) -> Ground | None:
        """Return the ground of the run; None if unknown: old recordings, user-defined grounds."""
        form = self.meta.get("ground_form")
        try:
            return None if form is None else ground_from_json(form)
        except InputError as error:
            raise RecordingError(f"the recording is damaged: {error}") from None

    @property
    def objects(self) -> tuple[FreeBody, ...]:
        """Return the free bodies of the run, in the order of ``object_pose`` and ``object_velocity``."""
        try:
            return objects_of(self.meta.get("objects", []))
        except InputError as error:
            raise RecordingError(f"the recording is damaged: {error}") from None

    def object_poses(self, row: int) -> Float[ndarray, "n 7"]:
        """Return positions and quaternions of the free bodies in one row."""
        return self["object_pose"][row] if "object_pose" in self else np.zeros((0, 7))

    @property
    def motor_velocity(self) -> Float[ndarray, "T nj"]:
        """Return rates of the motors, as seen at the joints: those of the joints unless belts lie between [rad/s]."""
        return self.columns.get("rotor_velocity", self.joint_velocity)

    # -- the feet ------------------------------------------------------------------------------------------------------
    @property
    def foot_positions(self) -> Float[ndarray, "T nf 3"]:
        """Return positions of the centres of the feet in the world [m], computed from q on demand."""
        return self._of_feet()[0]

    @property
    def foot_velocities(self) -> Float[ndarray, "T nf 3"]:
        """Return velocities of the centres of the feet in world axes [m/s], computed from q and v on demand."""
        return self._of_feet()[1]

    def _of_feet(self) -> tuple[ndarray, ndarray]:
        if not len(self) or not self.robot.nf:
            empty = np.zeros((len(self), self.robot.nf, 3))
            return empty, empty
        function = compiling.compile(foot_motion, self.robot, target="batch")
        positions, velocities = function(self.q, self.v)
        return positions, velocities

    # -- the trunk -----------------------------------------------------------------------------------------------------
    @property
    def trunk_position(self) -> Float[ndarray, "T 3"]:
        """Return the position of the base's origin in the world [m]."""
        self._floating()
        return self.q[:, :3]

    @property
    def trunk_velocity(self) -> Float[ndarray, "T 3"]:
        """Return the linear velocity of the base's origin, world axes [m/s]; ``v[:, 3:6]`` has it in base axes."""
        self._floating()
        return np.einsum("ijt,tj->ti", quaternion.to_rotation(self.q[:, 3:7].T), self.v[:, 3:6])

    @property
    def trunk_angular_velocity(self) -> Float[ndarray, "T 3"]:
        """Return the angular velocity of the base, world axes [rad/s]; ``v[:, :3]`` has it in base axes."""
        self._floating()
        return np.einsum("ijt,tj->ti", quaternion.to_rotation(self.q[:, 3:7].T), self.v[:, :3])

    def trunk_euler(self, order: str = "zyx") -> Float[ndarray, "T 3"]:
        """Return body-fixed Euler angles [rad] in the order of the rotations: yaw, pitch, roll for ``zyx``."""
        self._floating()
        if order not in EULER_ORDERS:
            raise unknown("order of Euler angles", order, EULER_ORDERS)
        return to_euler(quaternion.to_rotation(self.q[:, 3:7].T), order).T

    @property
    def duration(self) -> float:
        """Return the time from the first to the last row [s]."""
        return float(self.time[-1] - self.time[0]) if len(self) else 0.0

    @property
    def distance(self) -> float:
        """Return the horizontal distance between the first and the last position of the trunk [m]."""
        return float(np.hypot(*(self.trunk_position[-1] - self.trunk_position[0])[:2])) if len(self) else 0.0

    @hints.takes({})
    def mean_speed(self, after: float = 0.0) -> float:
        """Return forward displacement over time [m/s] from the time ``after`` [s] on; forward is the heading at that
        time.
        """
        self._floating()
        part = self.between(after, None)
        yaw = part.trunk_euler()[0, 0]
        ahead = part.trunk_position[-1, :2] - part.trunk_position[0, :2]
        return float(ahead @ (np.cos(yaw), np.sin(yaw))) / part._positive_duration()

    @hints.takes({})
    def mean_velocity(self, after: float = 0.0) -> tuple[float, float, float]:
        """Return mean forward and sideways velocity [m/s] in axes that follow the heading, and mean turn rate
        [rad/s].
        """
        part = self.between(after, None)
        yaw = np.unwrap(part.trunk_euler()[:, 0])
        x, y = np.diff(part.trunk_position[:, :2], axis=0).T
        middle = (yaw[1:] + yaw[:-1]) / 2
        forward, left = np.cos(middle) * x + np.sin(middle) * y, np.cos(middle) * y - np.sin(middle) * x
        duration = part._positive_duration()
        return float(forward.sum()) / duration, float(left.sum()) / duration, float(yaw[-1] - yaw[0]) / duration

    # -- energy --------------------------------------------------------------------------------------------------------
    @property
    def energy(self) -> Float[ndarray, "T"]:
        """Return kinetic plus potential energy [J]."""
        return self["kinetic"] + self["potential"]

    def energy_balance(self) -> Float[ndarray, "T"]:
        """Return the energy gained minus all work on the robot since the start [J]: zero except for integration error.

        Work is ``work`` and every column that ends in ``_work``; dissipation is negative.
        """
        return (self.energy - self.energy[0]) - sum(self[k] - self[k][0] for k in self._works())

    def energy_residual(self) -> float:
        """Return the largest energy balance relative to the energy moved: the largest sum of the magnitudes of works
        and energy change, or the exchange of kinetic and potential energy if that is larger, as in a fall without
        any work.
        """
        moved = np.abs(self.energy - self.energy[0]) + sum(np.abs(self[k] - self[k][0]) for k in self._works())
        changed = (np.abs(self[k] - self[k][0]) for k in ("kinetic", "potential"))
        scale = float(np.max([moved, *changed]))
        return float(np.abs(self.energy_balance()).max()) / scale if scale > 0 else 0.0

    @hints.takes({})
    def cost_of_transport(self, after: float = 0.0, until: float | None = None) -> float:
        """Return the positive mechanical work of the motors divided by weight and distance; braking recovers nothing.

        Over the whole recording, the start included, unless a window from ``after`` to ``until`` [s] is given. The work
        is that of ``spent``, and the distance the straight line between the window's first and last position.
        """
        part = self.between(after, until)
        effort = weight_of(self.robot.mass, self.meta.get("gravity", GRAVITY)) * part.distance
        return part.spent() / effort if effort > 0 else float("inf")

    def spent(self) -> float:
        """Return the positive mechanical work of the motors [J] from the first to the last row.

        It is accumulated in every step; without that column, it is computed from the torques and rates of the rows.
        """
        if "spent" in self.columns:
            return float(self["spent"][-1] - self["spent"][0])
        power = np.maximum(self.torque * self.motor_velocity, 0.0).sum(axis=1)
        return float(np.trapezoid(power, self.time))

    def _works(self) -> list[str]:
        works = [name for name in self.columns if name == "work" or name.endswith("_work")]
        if "work" not in works:
            raise unknown("column", "work", self.columns, "this recording has")
        return works

    # -- parts ---------------------------------------------------------------------------------------------------------
    @hints.takes({})
    def between(self, start: float | None = None, end: float | None = None) -> Recording:
        """Return the rows and events with start <= time <= end [s]; None leaves an end open."""
        for time in (start, end):
            if time is not None and not isinstance(time, Real):
                raise InputError(f"an interval of a recording is given by two times [s], got {time!r}")
        low = -np.inf if start is None else start
        high = np.inf if end is None else end
        rows = slice(*np.searchsorted(self.time, [low, np.nextafter(high, np.inf)]))
        if rows.start >= rows.stop:
            span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "no time at all"
            requested = " and ".join(
                f"{word} {time:g} s" for word, time in (("from", start), ("until", end)) if time is not None
            )
            raise InputError(f"nothing was recorded {requested or 'at all'}: the recording covers {span}")
        events = [event for event in self.events if low <= event.time <= high]
        if isinstance(self.columns, LazyColumns):
            return Recording(self.robot, self.columns.part(rows), events, self.meta)
        return Recording(self.robot, {k: a[rows] for k, a in self.columns.items()}, events, self.meta)

    # -- files and tables ----------------------------------------------------------------------------------------------
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Load a recording from an ``.mcap`` or ``.nc`` file; raise an error for a damaged or foreign file."""
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(f"a recording is loaded from a file, Recording.load('run.mcap'), got {path!r}")
        suffix = Path(path).suffix
        if suffix == ".nc":
            return cls.from_netcdf(path)
        if suffix in (".csv", ".parquet"):
            raise InputError(f"{path} is a table for other programs: recordings are loaded from .mcap and .nc files")
        found = recording_file.read(path)
        if not found.whole:
            raise RecordingError(
                f"{path} was not closed or is damaged ({found.messages} messages can be read, {found.lost_bytes} bytes"
                f" cannot): 'footfall recover {path}' saves what can be read"
            )
        return cls(found.robot, found.columns or _no_rows(found.robot), found.events, found.meta)

    @hints.takes({})
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save to a file, in the format of its suffix.

        ``.mcap`` and ``.nc`` (NetCDF 4) hold everything and can be loaded again; ``.csv`` and ``.parquet`` are tables
        for other programs, one row per time and one column per number (see ``to_pandas``).
        """
        from footfall.recording.tables import save_as

        file = Path(path)
        if file.suffix == ".mcap" or (os.path.exists(file) and not file.is_file()):  # a pipe has no suffix
            recording_file.write(file, self.robot, self.columns, self.events, self.meta)
            return file
        return save_as(self, file)

    @hints.takes({})
    def to_pandas(self, *, derived: bool = False) -> pandas.DataFrame:
        """Return a DataFrame with one row per time [s] and one column per number.

        Columns have names such as ``q.x``, ``torque.LF_hip``, ``force.LF.z`` and ``spent``.

        Args:
            derived: Also ``trunk_velocity`` in world axes, ``foot_positions`` and ``foot_velocities``.
        """
        from footfall.recording.tables import to_pandas

        names = ["foot_positions", "foot_velocities", *(["trunk_velocity"] if self.robot.floating else [])]
        further = {name: getattr(self, name) for name in names} if derived else {}
        return to_pandas(Recording(self.robot, {**self.columns, **further}, meta=self.meta) if derived else self)

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset with named dimensions (time, joint, foot, axis, ...) and units."""
        from footfall.recording.tables import to_xarray

        return to_xarray(self)

    def to_netcdf(self, path: str | os.PathLike[str]) -> Path:
        """Write ``to_xarray`` as NetCDF 4."""
        from footfall.recording.tables import to_netcdf

        return to_netcdf(self, Path(path))

    @classmethod
    def from_netcdf(cls, path: str | os.PathLike[str]) -> Recording:
        """Return the recording in a file that ``to_netcdf`` wrote."""
        from footfall.recording.tables import from_netcdf

        return cls(*from_netcdf(Path(path)))

    def plot(self, kind: str = "trunk", *others: Recording, **options: Any) -> Figure:
        """Return a matplotlib figure: ``trunk``, ``contact``, ``torque``, ``joints`` or ``energy``.

        ``others`` are laid over it, named by ``labels`` or by their differing settings; ``between=(t0, t1)`` [s].
        """
        from footfall.analysis.plots import plot

        return plot(self, kind, *others, **options)

    @hints.takes({})
    def compare(self, other: Recording) -> Differences:
        """Return a table of the differences to another run of the same robot."""
        from footfall.recording.comparison import compare_recordings

        return compare_recordings(self, other)

    @hints.takes({})
    def picture(self, time: float | None = None, width: int = 640, height: int = 360) -> Image:
        """Return a Pillow image of the robot at a time [s], by default the middle; needs no browser and no GPU."""
        from footfall.draw.video import picture

        return picture(self, time, width, height)

    def save_video(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write a ``.gif`` or an ``.mp4`` (extra ``video``).

        Options: ``fps``, ``width``, ``height`` [pixels], ``start`` and ``end`` [s], ``pace`` (below 1: slow motion).
        """
        from footfall.draw.video import save_video

        return save_video(self, Path(path), **options)

    # -- how it was made -----------------------------------------------------------------------------------------------
    def rerun_command(self) -> str:
        """Return the command line that repeats the run.

        ``footfall simulate --like FILE.mcap`` does the same, and repeats it bit for bit on the same version and
        machine.

        Raises:
            InputError: The run was made by a program; its settings are in ``meta["controller_settings"]``.
        """
        return rerun_command(self.meta)

    # -- in words ------------------------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        rows = f"{len(self)} rows, {self.duration:g} s, {len(self.columns)} columns"
        ended = f"; {self.meta['stopped']}" if self.meta.get("stopped") else ""
        return f"Recording('{self.robot.name}': {rows}{ended})"

    def _repr_html_(self) -> str:
        rows = [("robot", self.robot.name), ("duration", f"{self.duration:g} s, {len(self)} rows")]
        if self.robot.floating and len(self) > 1:
            rows.append(("distance", f"{self.distance:.3f} m, {self.mean_speed(self.time[0]):.3f} m/s forward"))
        plain = ("controller", "contact", "dt", "seed", "stopped", "fell", "diverged", "interrupted")
        for key in (key for key in plain if key in self.meta):
            value = self.meta[key]
            reported = ("no", "yes")[value] if isinstance(value, bool) else f"{value} s" if key == "dt" else str(value)
            rows.append(("time step" if key == "dt" else key, reported))
        rows.append(("columns", ", ".join(f"{k} {a.shape[1:] or ''}".strip() for k, a in self.columns.items())))
        rows += [(f"{event.time:.3f} s", f"{event.kind}: {event.message}") for event in self.events[:10]]
        left = 'style="text-align:left;vertical-align:top"'  # overrides the notebook's style
        cells = "".join(f"<tr><th {left}>{html.escape(k)}</th><td {left}>{html.escape(v)}</td></tr>" for k, v in rows)
        return f"<table>{cells}</table>"

    def _floating(self) -> None:
        if not self.robot.floating:
            raise InputError(f"robot '{self.robot.name}' has a fixed base: its trunk does not move")

    def _positive_duration(self) -> float:
        if self.duration <= 0:
            raise InputError("a mean over time needs at least two rows at different times")
        return self.duration


def foot_motion(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
) -> tuple[Float[ndarray, "nf 3"], Float[ndarray, "nf 3"]]:
    """Return (positions, velocities) of the feet in the world."""
    return foot_positions(robot, q), foot_velocities(robot, q, v)[:, 3:]


def _no_rows(robot: Robot) -> dict[str, ndarray]:
    return {"time": np.zeros(0), "q": np.zeros((0, robot.nq)), "v": np.zeros((0, robot.nv))}


@functools.cache
def versions() -> tuple[tuple[str, str], ...]:
    return ("footfall", __version__), ("numpy", np.__version__), ("python", platform.python_version())


__all__ = ["Event", "Recording", "RecordingError", "RecordingWriter"]
