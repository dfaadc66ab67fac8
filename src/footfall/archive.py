"""NumPy archives (``.npz``) that nobody vouches for: plain numbers only, sizes checked before anything is unpacked.

``numpy.load`` allocates what an array's head says and unpacks what a zip file holds; both may lie by any factor.
"""

from __future__ import annotations

import io
import math
import os
import zipfile

import numpy as np
from numpy import ndarray

from footfall.errors import SPOILED

MOST_ARRAYS = 10_000


class NoArchive(Exception):
    """A file that is no archive of plain numbers, or too large a one; says why."""


def read_archive(path: str | os.PathLike[str], most_bytes: int) -> dict[str, ndarray]:
    """The arrays of an archive that unpacks to at most so many bytes; an OSError passes, else NoArchive."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MOST_ARRAYS or sum(m.file_size for m in members) > most_bytes:
                raise NoArchive(f"it would unpack to more than {most_bytes / 1e6:g} MB")
            return {m.filename.removesuffix(".npy"): _array(archive.read(m)) for m in members}
    except SPOILED as error:
        raise NoArchive(str(error) or type(error).__name__) from None


def _array(data: bytes) -> ndarray:
    """The array of an ``.npy`` file, which must be as long as its head says."""
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
