"""Recordings as tables: xarray Datasets and NetCDF with named dimensions; pandas, CSV and Parquet, one row per time."""

from __future__ import annotations

import csv
import importlib
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from footfall._io.file_format import check_version, version_in
from footfall._io.whole_file import whole_file
from footfall.errors import SPOILED, InputError, MissingExtraError, ModelError, reason
from footfall.recording.columns import PARTS, STANDARD, dims_of, unit_of
from footfall.recording.recording_writer import FORMAT, Event, RecordingError, to_json
from footfall.robot.model.description import Robot
from footfall.robot.model.json_form import robot_from_json, robot_to_json
from nptrace._types import Json

if TYPE_CHECKING:
    import pandas
    import xarray

    from footfall.recording.recording import Recording


def to_xarray(rec: Recording) -> xarray.Dataset:
    """Return every column as a variable over ``time`` and named dimensions ``joint``, ``foot``, ``axis``,
    ``coordinate``, ``speed``.
    """
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
    coordinates: dict[str, Json] = {"time": ("time", rec.time, {"units": "s"})}
    coordinates.update({dim: list(labels) for dim, labels in names.items() if dim in used})
    about: dict[str, Json] = {
        "format": FORMAT,
        "robot": rec.robot.name,
        "meta": to_json(rec.meta),
        "events": json.dumps([asdict(e) for e in rec.events]),
        "robot_json": robot_to_json(rec.robot),
    }
    return xarray.Dataset(variables, coordinates, about)


def to_netcdf(rec: Recording, path: Path) -> Path:
    """Write ``to_xarray`` as NetCDF 4, atomically."""
    table = to_xarray(rec)
    _netcdf()
    try:
        with whole_file(path) as passing:
            table.to_netcdf(passing, engine="h5netcdf")
    except (OSError, ValueError) as error:
        raise RecordingError(f"cannot write the table {path}: {reason(error)}") from error
    return path


# -- one row per time --------------------------------------------------------------------------------------------------
def flat_columns(rec: Recording) -> dict[str, np.ndarray]:
    """Return every number of a row by name, time first: ``q.x``, ``torque.LF_hip``, ``force.LF.z``, ``spent``."""
    labels = _coordinates(rec.robot)
    flat = {"time": rec.time}
    for name, array in rec.columns.items():
        if name == "time":
            continue
        dims = dims_of(name, array.shape[1:], rec.robot)
        sides = [labels.get(dim) or tuple(map(str, range(size))) for dim, size in zip(dims, array.shape[1:])]
        for k, place in enumerate(itertools.product(*(range(size) for size in array.shape[1:]))):
            words = (side[i] for side, i in zip(sides, place))
            flat[".".join([name, *words])] = array.reshape(len(array), -1)[:, k]
    return flat


def to_pandas(rec: Recording) -> pandas.DataFrame:
    """Return ``flat_columns`` as a DataFrame with time [s] as its index; ``attrs`` have robot and units."""
    pandas = _needed("pandas", "a pandas table of a recording")
    flat = flat_columns(rec)
    table = pandas.DataFrame(flat).set_index("time")
    table.attrs = {"robot": rec.robot.name, "units": {name: _flat_unit(name) for name in flat}}
    return table


def to_csv(rec: Recording, path: Path) -> Path:
    """Write a header and a row per time; numbers with all their digits, contact as 0 and 1."""
    flat = flat_columns(rec)
    cells = [(array.astype(int) if array.dtype == bool else array).tolist() for array in flat.values()]
    try:
        with whole_file(path) as passing, open(passing, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(flat)
            writer.writerows(zip(*cells))
    except OSError as error:
        raise RecordingError(f"cannot write the table {path}: {reason(error)}") from error
    return path


def to_parquet(rec: Recording, path: Path) -> Path:
    """Write ``flat_columns`` as Apache Parquet; units are in the fields' metadata, robot and settings in the file's."""
    arrow = _needed("pyarrow", "a Parquet file")
    parquet = _needed("pyarrow.parquet", "a Parquet file")
    flat = {name: arrow.array(np.ascontiguousarray(array)) for name, array in flat_columns(rec).items()}
    fields = [arrow.field(name, array.type, metadata={"units": _flat_unit(name)}) for name, array in flat.items()]
    about = {"robot": rec.robot.name, "meta": to_json(rec.meta)}
    table = arrow.Table.from_arrays(list(flat.values()), schema=arrow.schema(fields, metadata=about))
    try:
        with whole_file(path) as passing:
            parquet.write_table(table, passing)
    except OSError as error:
        raise RecordingError(f"cannot write the table {path}: {reason(error)}") from error
    return path


def save_as(rec: Recording, path: Path) -> Path:
    """Write the table for a suffix; raise for an unknown one."""
    if path.suffix not in TABLES:
        known = ", ".join([".mcap", *TABLES])
        raise InputError(f"the suffix of {path.name!r} names no format of a recording: choose from {known}")
    return TABLES[path.suffix](rec, path)


TABLES: dict[str, Callable[[Recording, Path], Path]] = {".csv": to_csv, ".parquet": to_parquet, ".nc": to_netcdf}


def _flat_unit(name: str) -> str:
    """Return the unit of one number of a row."""
    column, _, part = name.partition(".")
    if column == "q":
        return "m" if part in ("x", "y", "z") else "1" if part.startswith("quat_") else "rad"
    if column == "v":
        return "m/s" if part in ("v_x", "v_y", "v_z") else "rad/s"
    return unit_of(column)


_PROBE = "import sys, xarray; xarray.open_dataset(sys.argv[1], engine='h5netcdf', decode_times=False).load()"
_PATIENCE, _PACE = 60.0, 2e6  # [s] and [bytes/s] allowed to HDF5, on a busy machine


def _check_readable(path: Path) -> None:
    """Let another process read a file first: on a damaged one HDF5 may loop forever, or end the process."""
    try:
        limit = _PATIENCE + path.stat().st_size / _PACE
        probe = subprocess.run([sys.executable, "-c", _PROBE, str(path)], capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise RecordingError(f"{path} is damaged: HDF5 does not finish reading it within {limit:.0f} s") from None
    if probe.returncode:
        last = probe.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise RecordingError(f"{path} is not a recording of footfall: {last or 'HDF5 ends the process that reads it'}")


def from_netcdf(path: Path) -> tuple[Robot, dict[str, np.ndarray], list[Event], dict[str, Json]]:
    """Return robot, columns, events and meta of a file that ``to_netcdf`` wrote."""
    xarray = _needed("xarray", "a table of a recording")
    _netcdf()
    try:
        _check_readable(path)
        with xarray.open_dataset(path, engine="h5netcdf", decode_times=False) as table:
            columns = {"time": table["time"].values, **{name: table[name].values for name in map(str, table)}}
            attrs = dict(table.attrs)
        if "robot_json" not in attrs:
            raise RecordingError(f"{path} is not a recording of footfall: it holds no robot")
        check_version(path, version_in(attrs), FORMAT, RecordingError)
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
        "part": PARTS,
        "coordinate": base_q + robot.joint_names,
        "speed": base_v + robot.joint_names,
        "joint": robot.joint_names,
        "foot": robot.foot_names,
        "axis": ("x", "y", "z"),
    }


def _needed(package: str, purpose: str) -> ModuleType:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingExtraError(purpose, "tables", package) from None


def _netcdf() -> None:
    for package in ("h5netcdf", "h5py"):  # newer h5netcdf leaves the choice of its backend to the caller
        _needed(package, "a NetCDF file")
