"""Safe reading of untrusted model files: limited sizes, no entities, no paths out of the package.

Faults raise ``ModelError`` with one sentence that names the culprit, before any other parser reads the file.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from xml.parsers import expat

import numpy as np

from footfall.errors import ModelError, printable

MOST_BYTES = 10_000_000
MOST_DEPTH = 100
MOST_LINKS = 1000
MOST_ELEMENTS = 20_000
MOST_REFERENCES = 5000  # largest number of files that a model may reference
POINT_SIZE = 1e-9  # [m]: a point mass is read as a ball of this radius of gyration
MOST_VALUE = 1e30  # a larger number is a mistake, and its products overflow
_LAYOUT_FOLDERS = frozenset({"urdf", "robots", "robot", "xml", "mjcf", "model", "models", "sdf", "xacro"})
_SHOWN = 60  # characters of a culprit quoted in a message


class ModelWarning(UserWarning):
    """A part of a model file that is left out or assumed; the model still loads."""


def shown(value: object) -> str:
    """Return a culprit for a message: quoted, on one line, not too long."""
    text = printable(" ".join(str(value).split()))
    return f"'{text[:_SHOWN]}...'" if len(text) > _SHOWN else f"'{text}'"


def label(element: ET.Element) -> str:
    """Return the name of an element in messages: ``joint 'LF_HAA'``, ``mass``."""
    name = element.get("name")
    return f"{element.tag} {shown(name)}" if name else f"<{shown(element.tag)[1:-1]}>"


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of an ordinary file, at most ``most`` bytes."""
    try:
        if not path.exists():
            raise ModelError(f"there is no model file {shown(path)}")
        if not path.is_file():
            raise ModelError(f"{shown(path)} is not a file")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"{shown(path)} cannot be read: {error}") from None
    if len(data) > most:
        raise ModelError(f"{shown(path.name)} is larger than {most / 1e6:g} MB")
    return data


def parse_xml(data: bytes, where: str) -> ET.Element:
    """Return the element tree of an XML text without DTD and entities, at most 100 deep. ``where`` names it in
    messages.
    """
    builder = ET.TreeBuilder()
    depth = count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > MOST_DEPTH:
            raise ModelError(
                f"{where}: elements are nested more than {MOST_DEPTH} deep at line {parser.CurrentLineNumber}"
            )
        if count > MOST_ELEMENTS:
            raise ModelError(f"{where}: more than {MOST_ELEMENTS} elements")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> int:
        raise ModelError(f"{where}: document type declarations and entities are not allowed in a model file")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    parser.UnparsedEntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
        return builder.close()
    except expat.ExpatError as error:
        raise ModelError(f"{where}: not well-formed XML: {error}") from None
    except (ValueError, LookupError, UnicodeError) as error:  # an unknown or wrong encoding
        raise ModelError(f"{where}: not readable as XML: {error}") from None


def numbers(
    text: str, what: str, count: int | tuple[int, int] | None = None, most_value: float = MOST_VALUE
) -> np.ndarray:
    """Return finite numbers from a blank-separated text. ``count`` is their number, or its range."""
    parts = text.split()
    least, most = (count if isinstance(count, tuple) else (count, count)) if count is not None else (0, math.inf)
    if not least <= len(parts) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise ModelError(f"{what} must be {wanted} number{'' if wanted == '1' else 's'}, got {shown(text)}")
    return np.array([_number(part, what, most_value) for part in parts])


def number(text: str, what: str, most_value: float = MOST_VALUE) -> float:
    """Return one finite number."""
    return float(numbers(text, what, 1, most_value)[0])


def _number(text: str, what: str, most_value: float) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ModelError(f"{what} holds {shown(text)}, which is not a number") from None
    if "_" in text or not text.isascii():  # Python's float accepts 1_0 and other scripts' digits
        raise ModelError(f"{what} holds {shown(text)}, which is not a number")
    if not math.isfinite(value):
        raise ModelError(f"{what} is not finite: {shown(text)}")
    if abs(value) > most_value:
        raise ModelError(f"{what} is beyond {most_value:g}: {shown(text)}")
    return value


def unique(names: Iterable[str], what: str, where: str) -> None:
    """Raise for a duplicate name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"{where}: two {what}s are named {shown(name)}")
        seen.add(name)


class _Outside(Exception):
    """The reason why a file referenced by a model is not searched for."""


@dataclass
class Package:
    """The folder that a model file may reference, and the files that were not found.

    It is the nearest folder above the model that holds a ``package.xml``; without one, the model's own folder, or its
    parent if the folder has a conventional name (``urdf``, ``robots``, ``mjcf``, ...).
    """

    model: Path
    missing: dict[str, None] = field(default_factory=dict)  # in the order found, each once
    outside: dict[str, str] = field(default_factory=dict)  # files that are never opened, and why

    def __post_init__(self) -> None:
        self.model = self.model.resolve()
        self.requested = 0
        own = self.model.parent
        described = next((a for a in [own, *list(own.parents)[:6]] if (a / "package.xml").is_file()), None)
        self.folder = described or (own.parent if own.name.lower() in _LAYOUT_FOLDERS else own)

    def find(self, reference: str, base: Path | None = None, what: str = "mesh") -> Path | None:
        """Return the file for a reference; None (and noted in ``missing``) if it does not exist.

        Absolute paths and paths that lead out of the package folder are not searched for: noted in ``outside``, or
        refused where the model is incomplete without them, as with an include.
        """
        self.requested += 1
        if self.requested > MOST_REFERENCES:
            raise ModelError(f"{shown(self.model.name)} names more than {MOST_REFERENCES} files")
        try:
            found = self._find(reference.strip().replace("\\", "/"), base or self.model.parent)
        except _Outside as why:
            if what == "include":
                raise ModelError(f"{what} {shown(reference)} of {shown(self.model.name)} {why}") from None
            self.outside[reference] = str(why)
            return None
        if found is None:
            self.missing[reference] = None
        return found

    def _find(self, text: str, base: Path) -> Path | None:
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?", text)
        if scheme is None:
            _check_relative(text)
            return _inside(self.folder, base / text)
        if scheme[1].lower() == "file":
            raise _Outside("is an absolute path, and only paths inside the package are opened")
        if scheme[1].lower() != "package":  # never fetched
            return None
        name, _, rest = text[scheme.end() :].partition("/")
        _check_relative(rest)
        if not name:
            raise _Outside("names no package")
        root = self._package(name)
        if root is not None:
            return _inside(root, root / rest)
        if _climbs(PurePosixPath(rest)):
            raise _Outside("leads out of its package")
        beside = [near / name for near in (self.model.parent, self.folder) if name not in (".", "..")]
        folder = next((folder for folder in beside if folder.is_dir()), None)  # this package, referred to by its name
        return None if folder is None else _inside(self.folder, folder / rest)

    def _package(self, name: str) -> Path | None:
        """Return the package of that name that contains the model: by its folder's name, otherwise by a
        ``package.xml``.

        A distant parent folder of that name is not enough: any file of a user lies below a folder of the user's name.
        """
        for folder in list(self.model.parents)[:8]:
            if folder.is_relative_to(self.folder) and folder.name == name:
                return folder
            if (folder / "package.xml").is_file() and _package_name(folder) == name:
                return folder
        return None


def _check_relative(text: str) -> None:
    if "\0" in text:
        raise _Outside("holds a null character")
    if text.startswith(("/", "~")) or PureWindowsPath(text).drive:
        raise _Outside("is an absolute path, and only paths inside the package are opened")


def _inside(root: Path, target: Path) -> Path | None:
    """Return the file, after resolving symbolic links, if it exists."""
    try:
        resolved = target.resolve()
        there = resolved.is_file()
    except (OSError, ValueError, RuntimeError):
        return None
    if not resolved.is_relative_to(root.resolve()):
        raise _Outside(f"leads out of the package folder {shown(root.name or root)}")
    return resolved if there else None


def _climbs(path: PurePosixPath) -> bool:
    depth = 0
    for part in path.parts:
        depth += -1 if part == ".." else 0 if part == "." else 1
        if depth < 0:
            return True
    return False


def _package_name(folder: Path) -> str | None:
    try:
        root = parse_xml(read_bytes(folder / "package.xml", 1_000_000), "package.xml")
    except ModelError:
        return None
    return (root.findtext("name") or "").strip() or None
