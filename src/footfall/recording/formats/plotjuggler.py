"""PlotJuggler: a recording as a CSV table, and a layout that plots it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from footfall._io.whole_file import whole_file
from footfall.errors import InputError
from footfall.recording.recording import Recording
from footfall.recording.tables import flat_columns, to_csv

SUFFIX = ".plotjuggler.xml"
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#bcbd22")
_JOINTS = "joints"  # their positions
_TABS = {  # contents of every tab, one plot below the other: series with these prefixes
    "trunk": (("q.z",), ("v.v_x", "v.v_y", "command.forward", "command.sideways"), ("v.omega_",)),
    "feet": (("force_mean.*.z", "force.*.z"), ("contact.",)),
    "joints": ((_JOINTS,), ("torque.",)),
    "energy": (("work", "spent"), ("kinetic", "potential")),
}


def layout(columns: Sequence[str], joints: Sequence[str], table: str) -> ET.Element:
    """Return a layout that plots the columns of a table which it names; plots without a column are omitted."""
    root = ET.Element("root")
    widget = ET.SubElement(root, "tabbed_widget", {"parent": "main_window", "name": "Main Window"})
    for title, plots in _TABS.items():
        shown = [found for words in plots if (found := _series(words, columns, joints))]
        if not shown:
            continue
        tab = ET.SubElement(widget, "Tab", tab_name=title, containers="1")
        share = f"{1.0 / len(shown):g}"
        split = ET.SubElement(
            ET.SubElement(tab, "Container"),
            "DockSplitter",
            orientation="-",
            count=str(len(shown)),
            sizes=";".join([share] * len(shown)),
        )
        for names in shown:
            area = ET.SubElement(split, "DockArea", name=names[0].partition(".")[0])
            plot = ET.SubElement(area, "plot", mode="TimeSeries", style="Lines")
            for k, name in enumerate(names):
                ET.SubElement(plot, "curve", name=name, color=_COLOURS[k % len(_COLOURS)])
    ET.SubElement(widget, "currentTabIndex", index="0")
    ET.SubElement(root, "use_relative_time_offset", enabled="0")
    loaded = ET.SubElement(ET.SubElement(root, "previouslyLoaded_Datafiles"), "fileInfo", filename=table, prefix="")
    plugin = ET.SubElement(loaded, "plugin", ID="DataLoad CSV")
    ET.SubElement(plugin, "parameters", time_axis="time", delimiter="0")
    ET.indent(root)
    return root


def _series(words: Sequence[str], columns: Sequence[str], joints: Sequence[str]) -> list[str]:
    """Return the columns of a plot: of alternatives marked with a star, the first that exists."""
    if words == (_JOINTS,):
        return [name for name in columns if name.partition(".")[0] == "q" and name.partition(".")[2] in joints]
    if any("*" in word for word in words):
        for word in words:
            begin, _, end = word.partition("*")
            if found := [name for name in columns if name.startswith(begin) and name.endswith(end)]:
                return found
        return []
    return [name for name in columns for word in words if name == word or (word[-1] in "._" and name.startswith(word))]


def write(recording: Recording, path: Path) -> int:
    """Write a layout and its table: ``run.plotjuggler.xml`` and ``run.csv``.

    Returns:
        How many series it plots.
    """
    if path.suffix != ".xml":
        raise InputError(f"a layout of PlotJuggler is an .xml file, got {str(path)!r}")
    stem = path.name.removesuffix(SUFFIX) if path.name.endswith(SUFFIX) else path.stem
    table = to_csv(recording, path.with_name(f"{stem}.csv"))
    names = [name for name in flat_columns(recording) if name != "time"]
    root = layout(names, recording.robot.joint_names, table.name)
    with whole_file(path) as passing:
        ET.ElementTree(root).write(passing, encoding="UTF-8", xml_declaration=True)
    return len(root.findall(".//curve"))


__all__ = ["layout", "write"]
