"""Recordings that others open: by mcap-ros2-support, rosbags, foxglove-sdk's own encoder, pandas."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from mcap.reader import make_reader

import footfall as ff
from footfall.cli.convert import FORMATS
from footfall.control.interface import Command
from footfall.control.locomotion.locomotion import Locomotion
from footfall.errors import InputError
from footfall.recording.formats import lerobot, plotjuggler, ros2
from footfall.recording.formats import rerun as formats_rerun
from footfall.recording.formats.frames import frames
from footfall.recording.recording import Recording
from footfall.recording.recording_writer import Event
from footfall.spatial.gravity import GRAVITY
from footfall.spatial.quaternion import to_rotation

pytest.importorskip("foxglove", reason="a file for Foxglove needs foxglove-sdk")


@pytest.fixture(scope="module")
def walk() -> Recording:
    robot = ff.load("xiling")
    recording = ff.Simulation(robot, Locomotion(), command=Command(forward=0.2)).run(0.6)
    recording.events.append(Event(0.25, "warning", "a μ event"))
    return recording


@pytest.fixture(scope="module")
def ros_file(walk, tmp_path_factory):
    path = tmp_path_factory.mktemp("ros") / "walk.mcap"
    assert ros2.write(walk, path) == len(walk) * (4 + walk.robot.nf) + len(walk.events)
    return path


def test_ros_bag_is_read_by_mcap_ros2_support(walk, ros_file):
    reader = pytest.importorskip("mcap_ros2.reader", reason="needs mcap-ros2-support")
    seen = {}
    for message in reader.read_ros2_messages(str(ros_file)):
        seen.setdefault(message.channel.topic, []).append(message)
    joints = seen["/joint_states"]
    assert len(joints) == len(walk)
    assert joints[0].ros_msg.name == list(walk.robot.joint_names)
    assert np.array([m.ros_msg.position for m in joints]) == pytest.approx(walk.joint_position)
    assert np.array([m.ros_msg.effort for m in joints]) == pytest.approx(walk.torque)
    assert [m.log_time_ns for m in joints] == np.rint(walk.time * 1e9).astype(int).tolist()
    odometry = seen["/odom"][-1].ros_msg
    assert odometry.pose.pose.position.x == walk.q[-1, 0]
    assert odometry.twist.twist.angular.z == walk.v[-1, 2]
    assert seen["/tf"][3].ros_msg.transforms[0].transform.rotation.w == walk.q[3, 3]
    assert seen["/foot/RH"][-1].ros_msg.wrench.force.z == walk.force[-1, 3, 2]
    assert [m.ros_msg.msg for m in seen["/rosout"]] == [event.message for event in walk.events]


def test_ros_bag_is_read_by_rosbags(walk, ros_file):
    highlevel = pytest.importorskip("rosbags.highlevel", reason="needs rosbags")
    with highlevel.AnyReader([ros_file]) as bag:
        kinds = {connection.topic: connection.msgtype for connection in bag.connections}
        assert kinds["/imu"] == "sensor_msgs/msg/Imu"
        pulls = []
        for connection, _, raw in bag.messages():
            message = bag.deserialize(raw, connection.msgtype)  # every message of every topic
            if connection.topic == "/imu":
                pulls.append(message.linear_acceleration.z)
    assert len(pulls) == len(walk)


def test_definitions_are_those_of_ros(ros_file):
    typesys = pytest.importorskip("rosbags.typesys", reason="needs rosbags")
    from footfall.hardware import ros2_messages as ros

    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    for name in ros.PARTS:
        package, _, own = name.partition("/")
        known = store.generate_msgdef(f"{package}/msg/{own}", ros_version=2)[0]
        mine = [" ".join(line.split()[:2]) for line in ros.PARTS[name].splitlines()]
        fields = [line for line in known.split("=" * 10)[0].splitlines() if line and "=" not in line]
        theirs = [" ".join(line.split()[:2]) for line in fields]
        assert [line.rpartition("/")[2] for line in mine] == [line.rpartition("/")[2] for line in theirs], name


def test_imu_of_a_recording_without_one_reads_what_changes_its_velocity(walk):
    part = walk.between(0.2, None)
    turns = [to_rotation(q[3:7]) for q in part.q]
    gained = np.array([R @ frame.acceleration for R, frame in zip(turns, frames(part))]) + np.array(GRAVITY)
    velocity = np.array([R @ v[3:6] for R, v in zip(turns, part.v)])
    assert np.trapezoid(gained, part.time, axis=0) == pytest.approx(velocity[-1] - velocity[0], abs=0.02)


def test_foxglove_file_has_its_schemas_and_what_its_own_encoder_makes_of_the_robot(walk, tmp_path):
    from foxglove import messages

    from footfall.recording.formats import foxglove as ours

    path = tmp_path / "walk.mcap"
    assert ours.write(walk, path, rate=50.0) == 30
    seen: dict[str, list] = {}
    with path.open("rb") as file:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
            seen.setdefault(channel.topic, []).append((schema, message))
    own = {
        "/scene": "SceneUpdate",
        "/tf": "FrameTransforms",
        "/pose": "PoseInFrame",
        "/odometry": "Odometry",
        "/joints": "JointStates",
        "/events": "Log",
    }
    for topic, name in own.items():
        schema = seen[topic][0][0]
        assert schema.name == f"foxglove.{name}"
        assert schema.data == getattr(messages, name).get_schema().data, topic
    row = int(np.searchsorted(walk.time, seen["/pose"][7][1].log_time * 1e-9 - 1e-9))
    x, y, z, w, i, j, k = walk.q[row, :7].tolist()
    stamp = round(walk.time[row] * 1e9)
    pose = messages.Pose(position=messages.Vector3(x=x, y=y, z=z), orientation=messages.Quaternion(x=i, y=j, z=k, w=w))
    again = messages.PoseInFrame(timestamp=messages.Timestamp(0, stamp), frame_id="world", pose=pose)
    assert seen["/pose"][7][1].data == again.encode()
    plots = json.loads(seen["/plots"][7][1].data)
    assert plots["torque"] == walk.torque[row].tolist()
    assert b"arrows" in seen["/scene"][0][0].data
    assert len(seen["/imu"]) == 30


def test_lerobot_dataset_is_whole_and_says_what_is_in_it(walk, tmp_path):
    pandas = pytest.importorskip("pandas", reason="a LeRobot dataset needs pandas and pyarrow")
    pytest.importorskip("pyarrow", reason="a LeRobot dataset needs pandas and pyarrow")
    folder = tmp_path / "dataset"
    assert lerobot.write([walk, walk.between(0.2, None)], folder, rate=50.0, task="trot") == 30 + 21
    info = json.loads((folder / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["total_frames"]) == ("v3.0", 50, 51)
    data = pandas.read_parquet(folder / info["data_path"].format(chunk_index=0, file_index=0))
    for name, feature in info["features"].items():
        value = np.stack(data[name].to_numpy())
        assert list(value.shape[1:]) == (feature["shape"] if feature["shape"] != [1] else []), name
        assert value.dtype == feature["dtype"], name
    names = info["features"]["observation.state"]["names"]
    joint = names.index(f"{walk.robot.joint_names[4]}.position")
    state = np.stack(data["observation.state"].to_numpy())
    rows = np.rint(data["timestamp"][:30].to_numpy() * 1000).astype(int)  # it was recorded at 1 kHz from 1 ms on
    assert state[:30, joint] == pytest.approx(walk.joint_position[rows, 4], abs=1e-6)
    action = np.stack(data["action"].to_numpy())
    assert action[:30] == pytest.approx(walk["command_position"][rows], abs=1e-6)
    episodes = pandas.read_parquet(folder / "meta/episodes/chunk-000/file-000.parquet")
    assert episodes["dataset_to_index"].tolist() == [30, 51]
    assert data["episode_index"].tolist() == [0] * 30 + [1] * 21
    assert pandas.read_parquet(folder / "meta/tasks.parquet").index.tolist() == ["trot"]
    stats = json.loads((folder / "meta/stats.json").read_text())
    assert stats["observation.state"]["mean"] == pytest.approx(state.mean(axis=0, dtype=float).tolist(), abs=1e-5)
    with pytest.raises(InputError, match="already exists"):
        lerobot.write(walk, folder)


SUFFIXES = {"csv": ".csv", "parquet": ".parquet", "netcdf": ".nc"}  # tables are named by them
SUFFIXES |= {"plotjuggler": ".plotjuggler.xml", "rerun": ".rrd"}


@pytest.mark.parametrize("format", FORMATS)
def test_convert_command_writes_the_file_or_says_why_not(walk, tmp_path, format, capsys):
    from footfall.cli.main import run

    source = walk.save(tmp_path / "walk.mcap")
    out = tmp_path / f"out{SUFFIXES.get(format, '')}"
    assert run(["convert", str(source), "--format", format, "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["out"] == str(out)
    assert said["count"] > 0
    assert out.exists()
    assert run(["convert", str(source), "--format", "xlsx"]) == 2
    assert "unknown format 'xlsx'" in capsys.readouterr().err


def test_rerun_reads_every_entity_of_a_recording(walk, tmp_path):
    pytest.importorskip("rerun", reason="needs rerun-sdk")
    path = tmp_path / "walk.rrd"
    assert formats_rerun.write(walk, path, 50.0) == 30
    read = [sys.executable, "-m", "rerun", "rrd", "print", str(path)]
    printed = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    entities = set(re.findall(r"/[\w/]+", printed))
    wanted = {f"/joints/{kind}/{name}" for kind in ("position", "torque") for name in walk.robot.joint_names}
    wanted |= {f"/feet/load/{name}" for name in walk.robot.foot_names}
    assert wanted | {"/world/base", "/world/base/legs", "/world/forces", "/base/height", "/events"} <= entities


def test_plotjuggler_plots_what_the_table_has(walk, tmp_path):
    path = tmp_path / "walk.plotjuggler.xml"
    count = plotjuggler.write(walk, path)
    root = ElementTree.parse(path).getroot()
    table = path.with_name(root.find(".//fileInfo").get("filename"))
    header = table.read_text().partition("\n")[0].split(",")
    curves = [curve.get("name") for curve in root.findall(".//curve")]
    assert len(curves) == count > 40
    assert set(curves) <= set(header)
    assert root.find(".//parameters").get("time_axis") in header
    assert [tab.get("tab_name") for tab in root.findall(".//Tab")] == ["trunk", "feet", "joints", "energy"]
    joints = {f"q.{name}" for name in walk.robot.joint_names}
    assert joints | {"q.z", "v.v_x", "command.forward", "force_mean.LF.z", "spent"} <= set(curves)
    for split in root.findall(".//DockSplitter"):
        assert len(split) == int(split.get("count")) == len(split.get("sizes").split(";"))


def test_plotjuggler_leaves_out_what_a_recording_lacks(walk):
    few = plotjuggler.layout(["q.z", "torque.a"], ["a"], "run.csv")
    assert [curve.get("name") for curve in few.findall(".//curve")] == ["q.z", "torque.a"]
    with pytest.raises(InputError, match=r"is an \.xml file"):
        plotjuggler.write(walk, Path("layout.json"))
