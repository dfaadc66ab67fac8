"""Read untrusted NumPy archives (``.npz``): plain numbers only, with sizes checked before anything is unpacked.

``numpy.load`` trusts the sizes in an array's header and unpacks whatever a zip file contains; either size can be
forged.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Collection
from typing import BinaryIO

import numpy as np
from numpy import ndarray

from footfall.errors import SPOILED, reason

MOST_ARRAYS = 10_000


class NoArchive(Exception):
    """A file that is not an archive of plain numbers, or is too large; the message says why."""


def read_archive(
    path: str | os.PathLike[str], most_bytes: int, names: Collection[str] | None = None
) -> dict[str, ndarray]:
    """Return the arrays of an archive, or the named ones, if they unpack to at most ``most_bytes``.

    An OSError from opening the file is passed on; any other fault raises NoArchive.
    """
    try:
        with open(path, "rb") as file:
            return _unpacked(file, most_bytes, names)
    except SPOILED as error:
        raise NoArchive(str(error) or type(error).__name__) from None


def _unpacked(file: BinaryIO, most_bytes: int, names: Collection[str] | None) -> dict[str, ndarray]:
    try:
        with zipfile.ZipFile(file) as archive:
            found = {m.filename.removesuffix(".npy"): m for m in archive.infolist()}
            chosen = {name: m for name, m in found.items() if names is None or name in names}
            if len(found) > MOST_ARRAYS or sum(m.file_size for m in chosen.values()) > most_bytes:
                raise NoArchive(f"it would unpack to more than {most_bytes / 1e6:g} MB")
            return {name: _array(_content(archive, m)) for name, m in chosen.items()}
    except OSError as error:  # for example a header that points before the start of the file
        raise NoArchive(reason(error)) from None


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the content of a member, reading no more bytes than its header declares."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("an array compressed in a way that NumPy does not use")
    with archive.open(member) as packed:
        return packed.read(member.file_size + 1)


def _array(data: bytes) -> ndarray:
    """Return the array in an ``.npy`` file, which must be as long as its header declares."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"an array of version {version}")
    shape, by_column, dtype = read(file)
    rest = len(data) - file.tell()
    if dtype.kind not in "biufU" or dtype.itemsize * math.prod(shape) != rest:
        raise ValueError(f"an array of {dtype} and shape {shape} in {rest} bytes")
    return np.frombuffer(data, dtype, offset=file.tell()).reshape(shape, order="F" if by_column else "C")


__all__ = ["NoArchive", "read_archive"]
