"""A robot's URDF with the hardware description of ros2_control: ``ros2 run footfall_ros describe mini_cheetah``.

The hardware is ``topic_based_ros2_control/TopicBasedSystem``: controllers' commands go to ``/joint_commands`` and joint
states come from ``/joint_states``, both of which the node ``simulate`` serves.
"""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ET

import footfall as ff
from footfall.robot.files.export import to_urdf

PLUGIN = "topic_based_ros2_control/TopicBasedSystem"
COMMANDS, STATES = ("position", "velocity", "effort"), ("position", "velocity", "effort")


def described(robot: ff.Robot) -> ET.Element:
    """Return the URDF of a robot, with a ``ros2_control`` element for all its joints."""
    root = ET.fromstring(to_urdf(robot))
    control = ET.SubElement(root, "ros2_control", name=robot.name, type="system")
    hardware = ET.SubElement(control, "hardware")
    ET.SubElement(hardware, "plugin").text = PLUGIN
    for name, topic in (("joint_commands_topic", "/joint_commands"), ("joint_states_topic", "/joint_states")):
        ET.SubElement(hardware, "param", name=name).text = topic
    limits = {actuator.joint: actuator for actuator in robot.actuators}
    for joint in robot.joint_names:
        element = ET.SubElement(control, "joint", name=joint)
        for kind in COMMANDS:
            command = ET.SubElement(element, "command_interface", name=kind)
            if kind == "effort" and joint in limits:
                for bound, sign in (("min", -1.0), ("max", 1.0)):
                    ET.SubElement(command, "param", name=bound).text = f"{sign * limits[joint].torque_limit:g}"
        for kind in STATES:
            ET.SubElement(element, "state_interface", name=kind)
    ET.indent(root)
    return root


def main(arguments: list[str] | None = None) -> None:
    """Print the URDF of a robot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "robot", nargs="?", default="mini_cheetah", help="a name in footfall's library, or a model file"
    )
    given = parser.parse_args(arguments)
    sys.stdout.write(ET.tostring(described(ff.load(given.robot)), encoding="unicode") + "\n")


if __name__ == "__main__":
    main()
