"""The table of a study: an xarray Dataset with a named dimension for every axis, and its NetCDF file."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall._io.file_format import check_version, version_in
from footfall._io.whole_file import whole_file
from footfall.errors import SPOILED, FootfallError, reason
from footfall.recording.recording import versions
from footfall.recording.tables import _needed, _netcdf
from footfall.sweep.item import result_units
from footfall.sweep.parameters import unit_of
from footfall.sweep.study import SAMPLE, SIMULATE, Item, Study, dim_name
from nptrace._types import Given

if TYPE_CHECKING:
    import xarray

FILE = "results.nc"
FORMAT = 1
OWN = STATUS, MESSAGE, SECONDS = "item_status", "item_message", "item_seconds"
_LABELS = {"mean_velocity": ("forward", "sideways", "turn")}


def check_installed() -> None:
    """Raise before the work if a required package is missing."""
    _needed("xarray", "the table of a study")
    _netcdf()


def to_xarray(study: Study, items: list[Item], entries: Mapping[str, Mapping[str, Given]]) -> xarray.Dataset:
    """Return every column over the study's dimensions; failed items are NaN or empty, with the reason in
    ``item_message``.
    """
    xarray = _needed("xarray", "the table of a study")
    dims, units = study.dims, result_units(study)
    shape = tuple(dims.values())
    found = [entries.get(item.digest, {}) for item in items]
    coordinates = _coordinates(study, items)
    variables: dict[str, Given] = {}
    for name in dict.fromkeys(key for entry in found for key in entry.get("result", {})):
        values = [entry.get("result", {}).get(name) for entry in found]
        array, extra = _array(values, shape)
        label = _label(name, {*coordinates, *variables, *OWN})
        more = (f"{label}_component",) if extra else ()
        attrs = {"units": _text(units[name])} if name in units else {}
        if label != name:
            attrs["long_name"] = _text(name)
        variables[label] = ((*dims, *more), array, attrs)
        if extra and len(_LABELS.get(name, ())) == extra:
            coordinates[f"{label}_component"] = (more, list(_LABELS[name]), {})
    for name, key, missing in ((STATUS, "status", "missing"), (MESSAGE, "message", "")):
        text = np.array([_text(entry.get(key) or missing) for entry in found], dtype=object)
        variables[name] = (tuple(dims), text.reshape(shape), {})
    seconds = [entry.get("seconds") for entry in found]
    variables[SECONDS] = (tuple(dims), _array(seconds, shape)[0], {"units": "s", "long_name": "time an item took"})
    about: dict[str, Given] = {
        "format": FORMAT,
        "study": study.name,
        "study_text": _text(study.text),
        "seed": study.seed,
        "function": study.function,
        "run": json.dumps(dict(study.run)),
        "versions": json.dumps(dict(versions())),
        "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    return xarray.Dataset(variables, coordinates, about)


def write(table: xarray.Dataset, path: Path) -> Path:
    """Write the NetCDF file, atomically."""
    try:
        with whole_file(path) as passing:
            table.to_netcdf(passing, engine="h5netcdf")
    except (OSError, *SPOILED) as error:
        raise FootfallError(f"cannot write the table {path}: {reason(error)}") from error
    return path


def read(path: Path) -> xarray.Dataset:
    """Return a table that ``write`` wrote, loaded into memory."""
    xarray = _needed("xarray", "the table of a study")
    _netcdf()
    with xarray.open_dataset(path, engine="h5netcdf") as table:
        found = table.load()
    check_version(path, version_in(found.attrs), FORMAT)
    return found


def _label(name: str, taken: set[str]) -> str:
    """Return the name of a column in the file, where ``/`` separates groups and a name is required; the original
    name is kept in ``long_name``.
    """
    label = re.sub(r"[/\x00-\x1f\x7f]", "_", _text(name)).strip(" .") or "column"
    while label in taken:
        label += "_result"
    return label


def _text(value: Given) -> str:
    """Return a text that a NetCDF file can store: no null characters, no surrogates."""
    return str(value).encode("utf-8", "replace").decode().replace("\0", "?")


def _coordinates(study: Study, items: list[Item]) -> dict[str, Given]:
    unit = unit_of if study.function == SIMULATE else lambda _: ""
    coordinates: dict[str, Given] = {}
    for axis in study.axes:
        name = dim_name(axis.name)
        values = list(axis.values)
        if isinstance(values[0], list):
            values = [json.dumps(value) for value in values]
        coordinates[name] = (name, values, _described(axis.name, unit(axis.name)))
    if study.samples is not None:
        coordinates[SAMPLE] = (SAMPLE, np.arange(study.samples.count), {})
        drawn = items[: study.samples.count]
        for parameter in study.samples.of:
            values = [item.parameters[parameter] for item in drawn]
            if isinstance(values[0], list):
                values = [json.dumps(value) for value in values]
            coordinates[dim_name(parameter)] = (SAMPLE, values, _described(parameter, unit(parameter)))
    return coordinates


def _described(parameter: str, unit: str) -> dict[str, str]:
    return {"parameter": parameter} | ({"units": unit} if unit else {})


def _float(value: Given) -> float:
    """Return a number as a float, infinity if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _array(values: list[Given], shape: tuple[int, ...]) -> tuple[ndarray, int]:
    """Return (a column as an array, the length of its further dimension or 0); missing values are NaN or empty."""
    given = [value for value in values if value is not None]
    if given and all(isinstance(value, bool) for value in given) and len(given) == len(values):
        return np.array(values, dtype=bool).reshape(shape), 0
    if all(isinstance(value, int | float) for value in given):
        whole = given and len(given) == len(values) and all(isinstance(v, int) for v in given)
        numbers = [np.nan if value is None else _float(value) for value in values]
        if whole and all(-(2**63) <= v < 2**63 for v in given):
            return np.array(values, dtype=np.int64).reshape(shape), 0
        return np.array(numbers, dtype=float).reshape(shape), 0
    lengths = {len(value) for value in given if isinstance(value, list)}
    numeric = all(isinstance(v, list) and all(isinstance(x, int | float | None) for x in v) for v in given)
    if numeric and len(lengths) == 1 and (extra := lengths.pop()):
        rows = [[np.nan if x is None else _float(x) for x in (value or [None] * extra)] for value in values]
        return np.array(rows, dtype=float).reshape(*shape, extra), extra
    texts = ["" if v is None else _text(v) if isinstance(v, str) else json.dumps(v) for v in values]
    return np.array(texts, dtype=object).reshape(shape), 0
