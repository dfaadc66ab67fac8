"""The generic protocol: any robot over UDP; whatever comes, the server keeps limits, order and watchdog."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from footfall.cli.drive import _pilot
from footfall.control.interface import JointCommand
from footfall.errors import InputError
from footfall.hardware.drive import Driver
from footfall.hardware.generic import packet as packets
from footfall.hardware.generic.client import GenericConnection
from footfall.hardware.generic.links import DdsLink, LinkError, PacketLink, UdpLink
from footfall.hardware.generic.packet import COMMAND, HELLO, STATE, Packet, unpack
from footfall.hardware.generic.server import OWNED, RATE, WATCHDOG, GenericServer
from footfall.hardware.protocol import protocol_named, protocol_of

EXAMPLES = Path(__file__).parents[3] / "examples"
_DOMAINS = itertools.count(200)


class Wire(PacketLink):
    """A link in this process: what a client sends is taken by the server at its next tick."""

    words = "a wire"

    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, str]] = []
        self.sent: list[tuple[bytes, str]] = []

    def take(self) -> list[tuple[bytes, str]]:
        taken, self.waiting = self.waiting, []
        return taken

    def send(self, data: bytes, to: str = "") -> None:
        self.sent.append((data, to))

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def served() -> GenericServer:
    return GenericServer(ff.load("dynakat"), Wire())


@pytest.fixture
def server(served: GenericServer) -> GenericServer:
    """DynaKat standing, as nobody has talked to it."""
    served.simulated.reset()
    served.counts.clear()
    served.owner, served._last, served._heard, served._hearers = None, -1, -np.inf, {}
    served._command, served._flags, served.watchdog.barked = served._standing, 0, 0
    served.link.sent.clear()
    return served


def ticks(server: GenericServer, seconds: float) -> None:
    for _ in range(round(seconds * RATE)):
        server.tick()


def command(server: GenericServer, count: int, who: str = "one", **changes) -> None:
    """Have a client send the stand, with parts changed."""
    standing = server._standing
    parts = {key: np.array(getattr(standing, key)) for key in ("position", "velocity", "kp", "kd", "torque")} | changes
    payload = server.structs.pack_command(JointCommand(**parts), count)
    server.link.waiting.append((Packet(kind=COMMAND, layout=server.layout, payload=payload).pack(), who))


def last_state(server: GenericServer):
    found = unpack(server.link.sent[-1][0])
    assert found.kind == STATE
    return found, server.structs.state(found.payload)[1]


def test_it_stands_until_somebody_commands(server: GenericServer) -> None:
    ticks(server, 0.5)
    assert server.simulated.body.q[2] > 0.17
    assert server.watchdog.barked == 0
    assert not server.link.sent


def test_a_hello_is_answered_by_a_description_of_every_joint(server: GenericServer) -> None:
    server.link.waiting.append((Packet(kind=HELLO).pack(), "one"))
    server.tick()
    said = json.loads(unpack(server.link.sent[0][0]).payload)
    robot = server.robot
    assert [joint["name"] for joint in said["joints"]] == list(robot.joint_names)
    assert said["feet"] == list(robot.foot_names)
    assert said["joints"][1]["upper"] == pytest.approx(0.8)
    assert (said["rate"], said["watchdog"]) == (RATE, WATCHDOG)
    found, state = last_state(server)
    assert state.position.shape == (16,)
    assert found.layout == said["layout"]


def test_a_command_moves_the_joint_that_it_names(server: GenericServer) -> None:
    target = np.array(server._standing.position)
    target[6] -= 0.2  # RF_knee
    for count in range(200):
        command(server, count, position=target)
        server.tick()
    moved = last_state(server)[1].position - server._standing.position
    assert np.argmax(np.abs(moved)) == 6
    assert server.counts["taken"] == 200


def test_silence_damps_and_a_later_command_moves_it_again(server: GenericServer) -> None:
    command(server, 1)
    ticks(server, WATCHDOG + 0.02)
    assert server.watchdog.barked == 1
    assert last_state(server)[0].flags & packets.DAMPED
    assert (server.simulated.command.kp == 0.0).all()
    command(server, 2)
    server.tick()
    assert not last_state(server)[0].flags & packets.DAMPED
    assert (server.simulated.command.kp > 0.0).all()


def test_targets_beyond_limits_are_clipped_and_said(server: GenericServer) -> None:
    far = np.full(16, 50.0)
    command(server, 1, position=far, torque=np.full(16, 1e3))
    server.tick()
    assert server.counts["clipped"] == 1
    assert last_state(server)[0].flags & packets.CLIPPED
    np.testing.assert_array_equal(server.simulated.command.position, server._upper)
    np.testing.assert_array_equal(server.simulated.command.torque, server._torque)
    for count in range(2, 300):
        command(server, count, position=far)
        server.tick()
    assert (np.array(server.simulated.body.q[7:]) < server._upper + 0.3).all()


@pytest.mark.parametrize(
    ("changes", "became"),
    [
        ({"position": np.full(16, np.nan)}, "not finite"),
        ({"torque": np.full(16, np.inf)}, "not finite"),
        ({"kp": np.full(16, -1.0)}, "negative gains"),
        ({"kd": np.full(16, -1.0)}, "negative gains"),
    ],
)
def test_numbers_that_no_robot_should_have_are_not_carried_out(
    server: GenericServer, changes: dict, became: str
) -> None:
    command(server, 1, **changes)
    server.tick()
    assert dict(server.counts) == {became: 1}
    assert server.owner is None
    assert server.simulated.command is not None
    ticks(server, 0.2)
    assert server.simulated.body.q[2] > 0.17


def test_old_commands_and_other_clients_are_refused_until_the_owner_is_silent(server: GenericServer) -> None:
    command(server, 5)
    command(server, 5)
    command(server, 4)
    command(server, 9, who="two")
    server.tick()
    assert dict(server.counts) == {"taken": 1, "out of order": 2, "not its robot": 1}
    ticks(server, OWNED + 0.01)
    command(server, 1, who="two")
    server.tick()
    assert server.owner == "two"


def test_damaged_packets_are_counted_and_do_nothing(server: GenericServer) -> None:
    good = Packet(kind=COMMAND, layout=server.layout, payload=server.structs.pack_command(server._standing, 1)).pack()
    rng = np.random.default_rng(0)
    for k in range(300):
        bad = bytearray(good)
        if k % 3 == 0:
            bad = bad[: rng.integers(len(bad))]
        else:
            bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        server.link.waiting.append((bytes(bad), "one"))
    other = Packet(kind=COMMAND, layout=server.layout ^ 1, payload=good[24:-4]).pack()
    short = Packet(kind=COMMAND, layout=server.layout, payload=b"1234").pack()
    server.link.waiting += [(other, "one"), (short, "one"), (b"", "one"), (bytes(70_000), "one")]
    while server.link.waiting:
        server.tick()
    assert server.counts["taken"] == 0
    assert server.counts["other layout"] == 1
    assert sum(server.counts.values()) == 304


def test_states_go_to_few_and_stop_when_nobody_says_hello(server: GenericServer) -> None:
    for k in range(12):
        server.link.waiting.append((Packet(kind=HELLO).pack(), f"client {k}"))
    server.tick()
    assert server.counts["too many clients"] == 4
    ticks(server, 2.2)
    server.link.sent.clear()
    server.tick()
    assert not server.link.sent


@pytest.mark.parametrize("name", ["dynakat", "spined", "mini_cheetah", "xiling"])
def test_numbers_survive_the_way(name: str) -> None:
    robot = ff.load(name)
    rng = np.random.default_rng(1)
    wanted = JointCommand(*(rng.normal(size=robot.nj) for _ in range(5)))
    structs = packets.Structs(robot)
    found = unpack(Packet(kind=COMMAND, layout=7, flags=2, payload=structs.pack_command(wanted, 3)).pack())
    assert (found.kind, found.layout, found.flags) == (COMMAND, 7, 2)
    count, got = structs.command(found.payload)
    assert count == 3
    for key in ("position", "velocity", "kp", "kd", "torque"):
        np.testing.assert_array_equal(getattr(got, key), getattr(wanted, key))


def test_the_protocol_fits_the_robot_unless_it_is_named() -> None:
    assert type(protocol_of(ff.load("dynakat"))).__name__ == "Generic"
    assert type(protocol_of(ff.load("spined"))).__name__ == "Generic"
    assert type(protocol_of(ff.load("mini_cheetah"), "generic")).__name__ == "Generic"
    with pytest.raises(InputError, match="unknown protocol"):
        protocol_of(ff.load("dynakat"), "canopen")


@pytest.mark.parametrize(
    ("domain", "interface", "says"),
    [(-1, "lo", "0 to 230"), (0, "eth0", "IPv4 address"), (0, "8.8.8.8", "cannot be used")],
)
def test_an_address_that_cannot_be_is_refused(domain: int, interface: str, says: str) -> None:
    with pytest.raises((InputError, LinkError), match=says):
        UdpLink(True, domain, interface)


# -- over UDP, in real time --------------------------------------------------------------------------------------------
@pytest.fixture
def over_udp(server: GenericServer) -> Iterator[tuple[GenericServer, int]]:
    """The server on a port of loopback, in a thread."""
    domain, wire = next(_DOMAINS), server.link
    server.link = UdpLink(True, domain)
    stop = threading.Event()
    server.clock.restart()
    thread = threading.Thread(target=server.run, args=(stop.is_set,), daemon=True)
    thread.start()
    yield server, domain
    stop.set()
    thread.join(timeout=5.0)
    server.link.close()
    server.link = wire


def test_a_connection_reads_and_writes(over_udp: tuple[GenericServer, int]) -> None:
    server, domain = over_udp
    connection = protocol_named("generic").connect(server.robot, domain, "lo", False)
    try:
        state = connection.wait_for_state(10.0)
        assert state.foot_load.shape == (4,)
        end = time.monotonic() + 20.0
        while server.counts["taken"] < 3 and time.monotonic() < end:
            connection.write(server._standing)
            connection.read()
            time.sleep(0.01)
        assert server.counts["taken"] >= 3
        assert connection.counts["taken"] > 0
    finally:
        connection.close()


def test_another_robots_joints_are_refused_by_name(over_udp: tuple[GenericServer, int]) -> None:
    _, domain = over_udp
    connection = GenericConnection(ff.load("xiling"), UdpLink(False, domain))
    with pytest.raises(LinkError, match=r"LF_ankle.*not those of 'xiling'"):
        connection.wait_for_state(10.0)
    connection.close()


def test_nobody_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = GenericConnection(ff.load("dynakat"), UdpLink(False, next(_DOMAINS)))
    with pytest.raises(LinkError, match="no state from a robot"):
        connection.wait_for_state(0.3)
    connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "c"])
def test_a_client_of_thirty_lines_makes_dynakat_walk(
    over_udp: tuple[GenericServer, int], language: str, tmp_path: Path
) -> None:
    server, domain = over_udp
    words = [sys.executable, str(EXAMPLES / "udp_client.py")]
    if language == "c":
        if (compiler := shutil.which("cc")) is None:
            pytest.skip("no C compiler")
        words = [str(tmp_path / "client")]
        source = str(EXAMPLES / "udp_client.c")
        subprocess.run([compiler, "-Wall", "-Werror", "-D_GNU_SOURCE", "-o", words[0], source, "-lm"], check=True)
    done = subprocess.run([*words, "6", str(domain)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert server.simulated.body.q[0] > 0.2


def test_the_packets_pass_over_dds_as_over_udp() -> None:
    """A robot and its client in one DDS domain of this machine: description, states, commands, farewell."""
    pytest.importorskip("cyclonedds")
    domain, robot = next(_DOMAINS), ff.load("dynakat")
    server = GenericServer(robot, DdsLink(True, domain))
    client = GenericConnection(robot, DdsLink(False, domain))
    try:
        target, state, end = server._standing, None, time.monotonic() + 20.0
        while server.counts["taken"] < 20 and time.monotonic() < end:
            state = client.read() or state
            if state is not None:
                client.write(target)
            server.tick()
            time.sleep(1e-3)
        assert client._described
        assert state is not None
        np.testing.assert_allclose(state.position, target.position, atol=0.1)
        assert server.counts["taken"] >= 20
        assert server.owner is not None
    finally:
        client.close()
    end = time.monotonic() + 10.0
    while not server.counts["bye"] and time.monotonic() < end:
        server.tick()
        time.sleep(1e-3)
    server.close()
    assert server.counts["bye"] == 1


def test_a_robot_without_power_says_so_and_is_held_by_its_brakes() -> None:
    joints = ff.sim.JointModel(brake=ff.sim.Brake(20.0), power_loss=0.2)
    server = GenericServer(ff.load("dynakat"), Wire(), {"joints": joints})
    server.link.waiting.append((Packet(kind=HELLO).pack(), "one"))
    found = []
    for count in range(400):
        command(server, count)
        server.tick()
        found.append(last_state(server)[0].flags & packets.UNPOWERED)
    height = server.simulated.body.q[2]
    assert set(found[:99]) == {0}
    assert set(found[102:]) == {packets.UNPOWERED}
    assert server.counts["taken"] == 400  # it listens, and nothing moves
    assert height > 0.17
    assert np.abs(server.simulated.body.v).max() < 1e-3
    assert server.report()["braked"] == 16


# -- driven, in simulated time -----------------------------------------------------------------------------------------
class Near(PacketLink):
    """A client's end of a server's wire."""

    words = "a wire"

    def __init__(self, server: GenericServer) -> None:
        self.server = server

    def take(self) -> list[tuple[bytes, str]]:
        came = [(data, "robot") for data, _ in self.server.link.sent]
        self.server.link.sent.clear()
        return came

    def send(self, data: bytes, to: str = "") -> None:
        self.server.link.waiting.append((data, "one"))

    def close(self) -> None:
        pass


class Stepped:
    """A clock whose ticks move the server."""

    def __init__(self, server: GenericServer) -> None:
        self.server, self.period = server, 1.0 / RATE

    def now(self) -> float:
        return self.server.simulated.time

    def wait(self) -> int:
        self.server.tick()
        return 1

    def report(self) -> dict:
        return {}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "controller", "speed"), [("dynakat", "whole_body", 0.1), ("spined", "mpc", 0.3)])
def test_robots_that_go2_has_no_messages_for_are_driven(name: str, controller: str, speed: float) -> None:
    server = GenericServer(ff.load(name), Wire())
    connection = GenericConnection(server.robot, Near(server), clock=Stepped(server))
    pilot = _pilot(controller, server.robot)
    for _ in range(3):
        connection.read()
        connection.clock.wait()
    driver = Driver(
        connection=connection,
        controller=pilot,
        wanted=lambda t: ff.Command(forward=speed),
        duration=4.0,
        say=lambda text: None,
    )
    driver.run()
    assert not driver.reason
    assert server.simulated.body.q[0] > 0.6 * 4.0 * speed
    assert server.counts["taken"] > 500
