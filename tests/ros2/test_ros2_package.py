"""The ROS 2 package, as far as it can be tested without ROS.

Its logic runs as it is. Messages are compared with ROS 2's own definitions (``rosbags``) and sent over DDS by our own
participant. The launch files, package.xml and the hardware description are read; rclpy, launch and ros2_control are not
on PyPI and were not run.
"""

import re
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import footfall as ff

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ros2" / "footfall_ros"
sys.path.insert(0, str(PACKAGE))
from footfall_ros import messages, node, transports  # noqa: E402
from footfall_ros.description import PLUGIN, described  # noqa: E402
from footfall_ros.simulator import Simulator  # noqa: E402

KINDS = {**transports.OUT, **transports.IN}


def twist(x=0.0, y=0.0, turn=0.0):
    return SimpleNamespace(linear=SimpleNamespace(x=x, y=y), angular=SimpleNamespace(z=turn))


def joints(name, position=(), velocity=(), effort=()):
    return SimpleNamespace(name=name, position=position, velocity=velocity, effort=effort)


def run(simulator, seconds, each=lambda: None):
    for _ in range(round(seconds / 0.01)):
        each()
        simulator.advance()


# -- what the node does ------------------------------------------------------------------------------------------------
def test_it_walks_by_velocities_and_stops_when_nobody_steers():
    sim = Simulator("mini_cheetah")
    run(sim, 2.0, lambda: sim.velocity(twist(0.4)))
    assert sim.odometry()["pose"]["pose"]["position"]["x"] > 0.4
    sim.velocity(twist(float("nan")))
    run(sim, 1.5)
    assert sim.simulation.command_now == ff.Command()
    assert abs(sim.odometry()["twist"]["twist"]["linear"]["x"]) < 0.05


def test_it_obeys_joint_commands_while_they_come_and_then_stands():
    sim = Simulator("xiling")
    names, stand = list(sim.robot.joint_names), sim.robot.poses["stand"].joints
    bent = stand + 0.1
    run(sim, 0.5, lambda: sim.joint_command(joints(names, position=bent.tolist())))
    held = np.array(sim.joint_state()["position"])
    assert np.abs(held - bent).mean() < 0.06  # under its weight
    assert np.abs(held - bent).sum() < np.abs(held - stand).sum()
    run(sim, 0.2, lambda: sim.joint_command(joints(names[:1], position=[float(stand[0])])))
    assert sim.joint_state()["position"][0] < held[0] - 0.04
    run(sim, 2.0)
    height = sim.odometry()["pose"]["pose"]["position"]["z"]
    assert height > 0.6 * sim.robot.poses["stand"].height


def test_efforts_are_torques():
    sim = Simulator("mini_cheetah")
    names = list(sim.robot.joint_names)
    assert sim.joint_command(joints(names, effort=[0.5] * 12)) is None
    sim.advance(0.002)
    np.testing.assert_allclose(sim._joints.torque, 0.5)
    assert not np.any(sim._joints.kp)
    assert not np.any(sim._joints.kd)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (joints(["FL_hip_joint"], position=[0.0]), "has no joint 'FL_hip_joint': it has LF_abad"),
        (joints(["LF_abad"], position=[0.0, 1.0]), "1 names and 2 numbers of position"),
        (joints(["LF_abad"], effort=[float("inf")]), "an effort|effort that is not finite"),
    ],
)
def test_a_wrong_joint_command_is_refused_in_a_sentence(message, words):
    bridge = node.Bridge(Simulator("mini_cheetah"))
    bridge.hear("joint_commands", message)
    assert re.search(words, bridge.refused[0])
    assert bridge.simulator._joints is None


# -- messages ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def published():
    found = {}
    node.Bridge(Simulator("mini_cheetah")).tick(SimpleNamespace(publish=found.__setitem__))
    return found


@pytest.mark.parametrize("distribution", ["ROS2_FOXY", "ROS2_HUMBLE", "ROS2_JAZZY"])
def test_messages_are_those_of_ros(published, distribution):
    typesys = pytest.importorskip("rosbags.typesys", reason="needs rosbags")
    store = typesys.get_typestore(typesys.Stores[distribution])

    def make(kind, fields):
        package, _, name = kind.partition("/")
        arrays = {
            key: np.array(x) if isinstance(x, list) and x and isinstance(x[0], float) else x
            for key, x in fields.items()
        }
        return store.types[f"{package}/msg/{name}"](**arrays)

    for topic, kind in transports.OUT.items():
        package, _, name = kind.partition("/")
        message = messages.built(kind, published[topic], make)
        full = f"{package}/msg/{name}"
        back = store.deserialize_cdr(store.serialize_cdr(message, full), full)
        assert store.serialize_cdr(back, full) == store.serialize_cdr(message, full)
    state = messages.built(KINDS["joint_states"], published["joint_states"], make)
    assert list(state.name) == published["joint_states"]["name"]
    assert state.header.stamp.nanosec == 10_000_000


def test_fields_are_set_by_their_names(published):
    """As on rclpy's messages, of which only the attributes are used."""

    def empty(kind, fields):
        return SimpleNamespace(**fields)

    for topic in ("joint_states", "imu", "odom"):
        message = messages.filled(messages.built(KINDS[topic], {}, empty), published[topic])
        assert message == messages.built(KINDS[topic], published[topic], empty)
    with pytest.raises(ValueError, match="has no field torque"):
        messages.built("sensor_msgs/JointState", {"torque": [1.0]}, empty)


def test_the_topics_are_served_on_dds():
    pytest.importorskip("cyclonedds", reason="needs cyclonedds")
    from footfall.hardware.dds.definitions import declared
    from footfall.hardware.dds.domain import Participant
    from footfall.hardware.ros2_messages import PARTS

    types, bridge = declared(PARTS), node.Bridge(Simulator("mini_cheetah"))
    transport, other = transports.DdsTransport(bridge.hear, domain=143), Participant(143)
    readers = {topic: other.reader(f"rt/{topic}", types[kind], 10) for topic, kind in transports.OUT.items()}
    velocity = other.writer("rt/cmd_vel", types["geometry_msgs/Twist"])
    heard: dict[str, list] = {topic: [] for topic in readers}
    walking = {"linear": {"x": 0.4}}
    for _ in range(400):
        velocity.write(messages.built("geometry_msgs/Twist", walking, lambda kind, fields: types[kind](**fields)))
        transport.listen()
        bridge.tick(transport)
        for topic, reader in readers.items():
            heard[topic] += reader.take()
        if bridge.simulator.odometry()["pose"]["pose"]["position"]["x"] > 0.2:
            break
    assert all(heard.values()), {topic: len(found) for topic, found in heard.items()}
    assert heard["odom"][-1].pose.pose.position.x > 0.15
    assert heard["joint_states"][-1].name == list(bridge.simulator.robot.joint_names)
    assert heard["imu"][-1].linear_acceleration.z == pytest.approx(9.81, abs=5.0)


# -- the package's files -----------------------------------------------------------------------------------------------
def test_the_manifest_has_what_format_3_asks_for():
    root = ET.parse(PACKAGE / "package.xml").getroot()
    assert (root.tag, root.get("format")) == ("package", "3")
    order = [element.tag for element in root]
    for required in ("name", "version", "description", "maintainer", "license"):
        assert order.count(required) == 1
    assert order.index("maintainer") < order.index("license") < order.index("exec_depend") < order.index("export")
    assert re.fullmatch(r"\d+\.\d+\.\d+", root.findtext("version"))
    assert root.findtext("license") == "MIT"
    assert root.findtext("export/build_type") == "ament_python"
    depends = [element.text for element in root.findall("exec_depend")]
    assert len(depends) == len(set(depends))
    assert {kind.partition("/")[0] for kind in KINDS.values()} <= set(depends)
    imported = set(re.findall(r"(?:import|from) (rclpy)\b", (PACKAGE / "footfall_ros" / "node.py").read_text()))
    assert imported <= set(depends)


def test_the_version_is_footfalls():
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in about["project"]["dynamic"]
    assert ET.parse(PACKAGE / "package.xml").getroot().findtext("version") == ff.__version__.partition("+")[0]
    assert f'version="{ff.__version__}"' in (PACKAGE / "setup.py").read_text()


def test_launch_files_start_what_there_is():
    setup = (PACKAGE / "setup.py").read_text()
    scripts = set(re.findall(r'"(\w+) = footfall_ros', setup))
    depends = {element.text for element in ET.parse(PACKAGE / "package.xml").getroot().findall("exec_depend")}
    for file in sorted((PACKAGE / "launch").glob("*.xml")):
        root = ET.parse(file).getroot()
        declared = {arg.get("name") for arg in root.findall("arg")}
        used = set(re.findall(r"\$\(var (\w+)\)", ET.tostring(root, encoding="unicode")))
        assert root.tag == "launch"
        assert used <= declared
        assert f"launch/{file.name}" in setup
        for started in root.findall("node"):
            assert started.get("pkg") in depends | {"footfall_ros"}
            if started.get("pkg") == "footfall_ros":
                assert started.get("exec") in scripts
                assert {p.get("name") for p in started.findall("param")} <= set(node.PARAMETERS)
        for path in re.findall(r"\$\(find-pkg-share footfall_ros\)/([\w./]+)", ET.tostring(root, encoding="unicode")):
            assert (PACKAGE / path).is_file()


@pytest.mark.parametrize("name", ["mini_cheetah", "xiling"])
def test_the_hardware_description_has_every_joint(name):
    robot = ff.load(name)
    root = described(robot)
    control = root.find("ros2_control")
    assert control.findtext("hardware/plugin") == PLUGIN
    topics = {param.text for param in control.findall("hardware/param")}
    assert topics == {"/joint_commands", "/joint_states"} <= {f"/{topic}" for topic in KINDS}
    moving = {joint.get("name") for joint in root.findall("joint") if joint.get("type") != "fixed"}
    assert [joint.get("name") for joint in control.findall("joint")] == list(robot.joint_names)
    assert set(robot.joint_names) <= moving
    assert root.findall("link")[0].get("name") == Simulator(name).base


def test_controllers_name_the_joints_of_the_robot():
    settings = yaml.safe_load((PACKAGE / "config" / "controllers.yaml").read_text())
    controllers = settings["controller_manager"]["ros__parameters"]
    given = settings["position_controller"]["ros__parameters"]
    assert given["joints"] == list(ff.load("mini_cheetah").joint_names)
    assert given["interface_name"] == "position"
    assert "position_controller" in controllers
