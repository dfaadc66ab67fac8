"""The texts of an MJCF file that MuJoCo gets to see.

MuJoCo puts an unknown class into its message twice, the second time as the format itself, so that ``class="%s%s"``
reads the stack and ``%n`` writes to it. No text with a ``%`` is passed on, and no class that is not defined.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from footfall.errors import ModelError
from footfall.robot.files.guard import label, shown

_CLASSES = ("class", "childclass")


def check_texts(root: ET.Element, where: str) -> None:
    """Refuse formats and undefined classes in the copy that MuJoCo is to read."""
    defined = {"main", *(default.get("class", "main") for default in root.iter("default"))}
    for element in root.iter():
        for key, text in element.attrib.items():
            if "%" in text:
                raise ModelError(f"{where}: '{key}' of {label(element)} holds a '%', which is not allowed in a model")
            if key in _CLASSES and element.tag != "default" and text not in defined:
                raise ModelError(
                    f"{where}: {label(element)} has the unknown default class name {shown(text)}:"
                    f" defined are {', '.join(sorted(defined)[:24])}"
                )
