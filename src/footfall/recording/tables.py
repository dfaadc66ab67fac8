"""Recordings as xarray Datasets and NetCDF files: named dimensions, coordinates with names, units in ``attrs``."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from footfall.errors import SPOILED, InputError, MissingExtraError, ModelError, reason
from footfall.recording.columns import STANDARD, dims_of, unit_of
from footfall.recording.recording_writer import Event, RecordingError, to_json
from footfall.robot.model.description import Robot
from footfall.robot.model.json_form import robot_from_json, robot_to_json
from footfall.whole_file import whole_file

if TYPE_CHECKING:
    import xarray

    from footfall.recording.recording import Recording


def to_xarray(rec: Recording) -> xarray.Dataset:
    """Every column as a variable over ``time`` and, by name, ``joint``, ``foot``, ``axis``, ``coordinate`` and
    ``speed``."""
    xarray = _needed("xarray", "a table of a recording")
    names = _coordinates(rec.robot)
    variables, used = {}, set[str]()
    for name, array in rec.columns.items():
        if name == "time":
            continue
        dims = dims_of(name, array.shape[1:], rec.robot)
        used.update(dims)
        attrs = {"units": unit_of(name)} if unit_of(name) else {}
        if name in STANDARD:
            attrs["long_name"] = STANDARD[name].meaning
        variables[name] = (("time", *dims), array, attrs)
    coordinates: dict[str, Any] = {"time": ("time", rec.time, {"units": "s"})}
    coordinates.update({dim: list(labels) for dim, labels in names.items() if dim in used})
    attrs = {
        "robot": rec.robot.name, "meta": to_json(rec.meta), "events": json.dumps([asdict(e) for e in rec.events]),
        "robot_json": robot_to_json(rec.robot),
    }  # fmt: skip
    return xarray.Dataset(variables, coordinates, attrs)


def to_netcdf(rec: Recording, path: Path) -> Path:
    """Write ``to_xarray`` as NetCDF 4: all of the file, or nothing."""
    table = to_xarray(rec)
    _netcdf()
    try:
        with whole_file(path) as passing:
            table.to_netcdf(passing, engine="h5netcdf")
    except (OSError, ValueError) as error:
        raise RecordingError(f"cannot write the table {path}: {reason(error)}") from error
    return path


_PROBE = "import sys, xarray; xarray.open_dataset(sys.argv[1], engine='h5netcdf', decode_times=False).load()"
_PATIENCE, _PACE = 60.0, 2e6  # [s] and [bytes/s] that HDF5 may take, on a machine that is busy


def _check_readable(path: Path) -> None:
    """Let another process read a file first: on a damaged one HDF5 may go round for ever, or end the process."""
    try:
        limit = _PATIENCE + path.stat().st_size / _PACE
        probe = subprocess.run([sys.executable, "-c", _PROBE, str(path)], capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise RecordingError(f"{path} is damaged: HDF5 does not come to its end within {limit:.0f} s") from None
    if probe.returncode:
        last = probe.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise RecordingError(f"{path} is not a recording of footfall: {last or 'HDF5 ends the process that reads it'}")


def from_netcdf(path: Path) -> tuple[Robot, dict[str, np.ndarray], list[Event], dict[str, Any]]:
    """Robot, columns, events and meta of a file that ``to_netcdf`` wrote."""
    xarray = _needed("xarray", "a table of a recording")
    _netcdf()
    try:
        _check_readable(path)
        with xarray.open_dataset(path, engine="h5netcdf", decode_times=False) as table:
            columns = {"time": table["time"].values, **{name: table[name].values for name in map(str, table)}}
            attrs = dict(table.attrs)
        robot = robot_from_json(attrs["robot_json"])
        events = [Event(float(e["time"]), str(e["kind"]), str(e["message"])) for e in json.loads(attrs["events"])]
        return robot, columns, events, dict(json.loads(attrs["meta"]))
    except OSError as error:
        raise InputError(f"cannot read the table {path}: {error.strerror or error}") from None
    except (ModelError, *SPOILED) as error:
        raise RecordingError(f"{path} is not a recording of footfall: {error}") from None


def _coordinates(robot: Robot) -> dict[str, tuple[str, ...]]:
    base_q = ("x", "y", "z", "quat_w", "quat_x", "quat_y", "quat_z") if robot.floating else ()
    base_v = ("omega_x", "omega_y", "omega_z", "v_x", "v_y", "v_z") if robot.floating else ()
    return {
        "coordinate": base_q + robot.joint_names, "speed": base_v + robot.joint_names, "joint": robot.joint_names,
        "foot": robot.foot_names, "axis": ("x", "y", "z"),
    }  # fmt: skip


def _needed(package: str, purpose: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingExtraError(purpose, "tables", package) from None


def _netcdf() -> None:
    for package in ("h5netcdf", "h5py"):  # newer h5netcdf leaves the choice of its backend to us
        _needed(package, "a NetCDF file")
