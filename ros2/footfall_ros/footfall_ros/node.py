"""The node ``simulate``: a footfall simulation in real time, on ROS 2's topics.

With rclpy it is a ROS node with parameters; without, ``python -m footfall_ros.node --robot mini_cheetah`` serves the
same topics as plain DDS.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from footfall_ros.simulator import PERIOD, Simulator
from footfall_ros.transports import DdsTransport, RosTransport

PARAMETERS = {
    "robot": "mini_cheetah",
    "controller": "whole_body",
    "gait": "trot",
    "ground": "plane",
    "kp": 0.0,
    "kd": 0.0,
}


class Bridge:
    """A simulator between what is heard and what is published."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.refused: list[str] = []  # sentences about messages that were not taken

    def hear(self, topic: str, message: Any) -> None:
        """Take a message from a topic."""
        if topic == "cmd_vel":
            self.simulator.velocity(message)
        elif (wrong := self.simulator.joint_command(message)) is not None:
            self.refused.append(wrong)

    def tick(self, transport: Any) -> None:
        """Go on by one period and publish where the robot is."""
        sim = self.simulator
        sim.advance(PERIOD)
        transport.publish("joint_states", sim.joint_state())
        transport.publish("imu", sim.imu())
        transport.publish("odom", sim.odometry())
        transport.publish("tf", sim.transforms())


def run_ros() -> None:
    """Run the ROS node until it is shut down."""
    import rclpy
    from rclpy.node import Node

    rclpy.init()
    node = Node("footfall_simulate")
    given = {name: node.declare_parameter(name, usual).value for name, usual in PARAMETERS.items()}
    bridge = Bridge(Simulator(**given))
    transport = RosTransport(node, bridge.hear)

    def tick() -> None:
        bridge.tick(transport)
        while bridge.refused:
            node.get_logger().warning(bridge.refused.pop(0), throttle_duration_sec=1.0)

    node.create_timer(PERIOD, tick)
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def run_dds(arguments: list[str] | None = None, seconds: float = float("inf")) -> Bridge:
    """Serve the topics as plain DDS for some time [s], in real time."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in PARAMETERS.items():
        parser.add_argument(f"--{name}", default=usual, type=type(usual))
    parser.add_argument("--domain", default=0, type=int)
    parser.add_argument("--interface", default="lo")
    given = vars(parser.parse_args(arguments))
    domain, interface = given.pop("domain"), given.pop("interface")
    bridge = Bridge(Simulator(**given))
    transport = DdsTransport(bridge.hear, domain, interface)
    print(f"rclpy is not installed: plain DDS topics on {transport.participant.words}", flush=True)
    began = time.monotonic()
    try:
        while bridge.simulator.time < seconds:
            transport.listen()
            bridge.tick(transport)
            while bridge.refused:
                print(bridge.refused.pop(0), flush=True)
            time.sleep(max(0.0, began + bridge.simulator.time - time.monotonic()))
    except KeyboardInterrupt:
        pass
    return bridge


def main() -> None:
    """Run with ROS where it is installed."""
    try:
        import rclpy  # noqa: F401
    except ImportError:
        run_dds()
    else:
        run_ros()


if __name__ == "__main__":
    main()
