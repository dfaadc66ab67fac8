"""The served robot on DDS, loopback: our own client in this process, ticked by hand; no test waits for a clock."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from rigs import go2

from footfall.control.interface import JointCommand

pytest.importorskip("cyclonedds", reason="a served robot needs cyclonedds: pip install 'footfall[dds]'")
from footfall.control.joint.joint_pd import Hold
from footfall.errors import InputError
from footfall.hardware.dds import ros2
from footfall.hardware.dds.domain import Participant
from footfall.hardware.drive import Driver
from footfall.robot import library
from footfall_go2 import messages
from footfall_go2.client import ConnectionLost, DdsConnection
from footfall_go2.server import Server
from footfall_go2.unitree import blank_command, blank_state

DOMAIN = 100 + os.getpid() % 100  # others test on this machine too
STAND = go2().poses["stand"]


@pytest.fixture(scope="module")
def pair():
    server = Server(robot=go2(), domain=DOMAIN, start="down", ros2=True)
    client = DdsConnection(go2(), DOMAIN, foot_load=True)
    client.sport.timeout = client.switcher.timeout = 120.0  # the machine may be busy
    yield server, client
    client.close()
    server.close()


def ticks(server, seconds, each=lambda: None):
    for _ in range(round(seconds / server.simulated.period)):
        each()
        server.tick()


def asked(server, service, number, parameter=None):
    """A call with reply, from a thread that waits for it."""
    import threading

    found = []
    thread = threading.Thread(target=lambda: found.append(service.call(number, parameter)))
    thread.start()
    while thread.is_alive():
        server.tick()
    return found[0]


def test_states_come_with_every_tick_and_say_what_the_robot_senses(pair):
    server, client = pair
    for _ in range(20):
        server.tick()
        state = client.read()
        truth = server.simulated.state
        assert state.position == pytest.approx(truth.position, rel=1e-6)
        assert state.imu.acceleration == pytest.approx(truth.imu.acceleration, rel=1e-5, abs=1e-6)
        assert state.time == pytest.approx(server.simulated.time, abs=1e-3)
    assert client.read() is None
    assert set(client.counts) == {"taken"}


class _Resent:
    """A clock at every tick of which a robot sends one message again; ``change`` what it says."""

    def __init__(self, pair, change):
        server, client = pair
        server.tick()
        self.message, self.change, self.period, self.ticks = blank_state(), change, 0.002, 0
        client.wiring.fill(self.message, server.simulated.state)
        self.writer = server.participant.writer("rt/lowstate", messages.LowState)

    def now(self):
        return self.ticks * self.period

    def wait(self):
        self.ticks += 1
        self.change(self.message, self.ticks)
        self.message.set("crc", [self.message.checksum()])
        self.writer.write(self.message)
        return 1

    def report(self):
        return {}


def _leave(message, tick):
    """The same tick with a good checksum, as if the robot's program hung."""


def _advance(message, tick):
    message.set("tick", [100_000 + 2 * tick])


def _turned_over(message, tick):
    _advance(message, tick)
    message.set("imu_state.quaternion", [0.0, 1.0, 0.0, 0.0])


def _no_attitude(message, tick):
    _advance(message, tick)
    message.set("imu_state.quaternion", [0.0, 0.7, 0.0, 0.0])


@pytest.mark.parametrize(
    ("change", "word", "after"),
    [(_leave, "no new state", 0.05), (_turned_over, "leans by 180", 0.0), (_no_attitude, "unit quaternion", 0.0)],
)
def test_robot_on_dds_that_is_frozen_or_has_an_impossible_attitude_is_damped(pair, change, word, after):
    _, client = pair
    client.read()
    kept, client.clock = client.clock, _Resent(pair, change)
    try:
        driver = Driver(connection=client, controller=Hold("stand", 60.0, 2.0, rate=500.0))
        assert word in driver.run()
    finally:
        client.clock = kept
    assert driver.phases[-1] == (pytest.approx(after, abs=0.01), "damp")


def test_robots_clock_may_begin_again_after_49_days(pair):
    _, client = pair
    resent, times = _Resent(pair, lambda message, tick: message.set("tick", [(2**32 - 6 + 2 * tick) % 2**32])), []
    for _ in range(6):
        resent.wait()
        times.append(client.read().time)
    assert np.diff(times) == pytest.approx(0.002)


def test_sport_service_stands_up_moves_at_the_asked_velocity_and_sits_down(pair):
    server, client = pair
    assert asked(server, client.sport, 1004)[0] == 0
    ticks(server, 2.0)
    assert server.simulated.body.q[2] == pytest.approx(STAND.height, abs=0.02)
    ticks(server, 0.6)
    start = None
    for k in range(12):
        client.sport.call(1008, {"x": 0.3, "y": 0.0, "z": 0.0}, reply=False)
        ticks(server, 0.25)
        if k == 5:
            start = client.place()[0][0]
    assert (client.place()[0][0] - start) / (6 * 0.25) == pytest.approx(0.3, rel=0.1)
    assert asked(server, client.sport, 1003)[0] == 0
    assert asked(server, client.sport, 2041)[0] == 3203  # a flip
    assert asked(server, client.sport, 1)[1].count(".") == 3  # its version
    assert asked(server, client.sport, 1005)[0] == 0
    ticks(server, 1.6)
    assert server.simulated.body.q[2] < 0.5 * STAND.height


def test_remote_moves_a_standing_robot_and_stops_it(pair):
    server, client = pair
    asked(server, client.sport, 1004)
    ticks(server, 2.0)
    remote = client.participant.writer("rt/wirelesscontroller", messages.WirelessController)
    stick = messages.WirelessController.blank()
    stick.values = [0.0, 0.4, 0.0, 0.0, 0]
    before = float(server.simulated.body.q[0])
    ticks(server, 1.5, lambda: remote.write(stick))
    assert float(server.simulated.body.q[0]) - before > 0.2
    assert client.participant is not None
    stick.values = [0.0, 0.0, 0.0, 0.0, 1 << 5 | 1 << 9]  # L2 and B
    ticks(server, 0.1, lambda: remote.write(stick))
    assert server.firmware.sport.mode == "damp"


def test_ros_topics_carry_the_same_robot_and_cmd_vel_walks_it(pair):
    rosbags = pytest.importorskip("rosbags.typesys", reason="needs rosbags: pip install rosbags")
    server, client = pair
    store = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
    topics = {
        "rt/joint_states": (ros2.JointState, "sensor_msgs/msg/JointState"),
        "rt/imu": (ros2.Imu, "sensor_msgs/msg/Imu"),
        "rt/odom": (ros2.Odometry, "nav_msgs/msg/Odometry"),
        "rt/tf": (ros2.TFMessage, "tf2_msgs/msg/TFMessage"),
    }
    raw: dict[str, bytes] = {}
    readers = {}
    for topic, (kind, _) in topics.items():
        readers[topic] = client.participant.reader(topic, kind)
        assert kind.__idl_typename__.replace(".", "::") == topics[topic][1].replace("/msg/", "::msg::dds_::") + "_"
    velocity = client.participant.writer("rt/cmd_vel", ros2.Twist)
    remote = client.participant.writer("rt/wirelesscontroller", messages.WirelessController)
    ticks(server, 0.1, lambda: remote.write(messages.WirelessController.blank()))  # nobody holds the remote's keys
    asked(server, client.sport, 1004)
    ticks(server, 2.0)
    from footfall.hardware import ros2_messages as ros

    before = float(server.simulated.body.q[0])
    ticks(server, 1.5, lambda: velocity.write(ros2.Twist.of(ros.twist(0.4, 0.0, 0.0))))
    assert float(server.simulated.body.q[0]) - before > 0.3
    for topic, reader in readers.items():
        message = reader.take()[-1]
        raw[topic] = message.serialize()
        read = store.deserialize_cdr(raw[topic], topics[topic][1])
        if topic == "rt/joint_states":
            assert tuple(read.name) == go2().joint_names
            assert np.abs(read.position - server.simulated.state.position).max() < 0.1
        if topic == "rt/odom":
            assert read.pose.pose.position.x == pytest.approx(server.simulated.body.q[0], abs=0.02)
            assert read.child_frame_id == "base_link"
        if topic == "rt/tf":
            assert read.transforms[0].header.frame_id == "odom"


def test_low_level_commands_with_good_checksums_alone_are_obeyed(pair):
    server, client = pair
    asked(server, client.sport, 1005)
    asked(server, client.switcher, 1003)
    ticks(server, 2.0)
    assert json.loads(asked(server, client.switcher, 1001)[1])["name"] == ""
    hold = JointCommand(position=server.simulated.state.position, kp=40.0, kd=2.0).broadcast(12)
    counts = server.firmware.counts
    before = counts["taken"]
    ticks(server, 0.1, lambda: client.write(hold))
    assert counts["taken"] - before == 50
    assert not server.firmware.damped
    forged = blank_command()
    client.wiring.write(forged, hold)
    forged.set("motor_cmd.tau", [20.0])  # the checksum is that of another command
    ticks(server, 0.1, lambda: client._commands.write(forged))
    assert counts["bad checksum"] == 50
    assert server.firmware.damped
    for wild, why in ((float("nan"), "not finite"), (1e6, "kp out of bounds")):
        forged.set("motor_cmd.kp", [wild] * 12)
        forged.set("crc", [forged.checksum()])
        client._commands.write(forged)
        server.tick()
        assert counts[why] == 1
    assert np.isfinite(server.simulated.body.q).all()


def test_old_state_and_old_command_are_left_out(pair):
    server, client = pair
    server.tick()
    assert client.read() is not None
    client._newest += 10**12  # the robot's clock is set back
    client._heard.last = np.inf  # and it was heard just now, however slow this machine is
    server.tick()
    assert client.read() is None
    assert client.counts["out of order"] == 1
    client._heard.last = -np.inf  # after a silence
    server.tick()
    assert client.read() is not None
    server.tick()
    assert client.read() is not None
    assert client.counts["out of order"] == 1


def test_interface_and_domain_are_said_and_checked():
    here = Participant(DOMAIN)
    assert "'lo' (this machine only)" in here.words
    assert str(DOMAIN) in here.words
    with pytest.raises(InputError, match="cannot join it again"):
        Participant(DOMAIN, "eth0")
    for wrong in (-1, 231, True, "x"):
        with pytest.raises(InputError, match="DDS domain"):
            Participant(wrong)
    with pytest.raises(InputError, match="network interface"):
        Participant(DOMAIN, 'lo"/><x')


def test_service_that_nobody_offers_is_said(pair):
    from footfall_go2.client import Service

    with pytest.raises(ConnectionLost, match="not found"):
        Service(pair[1].participant, "dance", timeout=0.05).call(1)


def test_robot_without_twelve_joints_is_refused():
    with pytest.raises(InputError, match="four legs of three joints"):
        Server(robot=library.load("spined"), domain=DOMAIN)
