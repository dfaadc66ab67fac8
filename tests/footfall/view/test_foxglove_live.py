"""Live data for Foxglove, heard by a plain WebSocket client that speaks its protocol."""

from __future__ import annotations

import asyncio
import json
import socket
import struct

import pytest
import websockets
from waiting import until

import footfall as ff
from footfall.control.interface import Command
from footfall.control.joint.joint_pd import Hold
from footfall.errors import InputError

pytest.importorskip("foxglove", reason="live data for Foxglove needs foxglove-sdk")
from footfall.view.foxglove_live import FoxgloveLive


@pytest.fixture(scope="module")
def live():
    served = FoxgloveLive(ff.load("mini_cheetah"))
    yield served
    served.stop()


async def heard(address: str, topics: set[str], say: bytes | None = None) -> dict[str, list[bytes]]:
    """Three messages of every topic; ``say`` is published on /cmd_vel meanwhile."""
    found: dict[str, list[bytes]] = {topic: [] for topic in topics}
    async with websockets.connect(address, subprotocols=["foxglove.sdk.v1"]) as link:
        names: dict[int, str] = {}
        await link.send(
            json.dumps(
                {
                    "op": "advertise",
                    "channels": [
                        {"id": 5, "topic": "/cmd_vel", "encoding": "json", "schemaName": "geometry_msgs/Twist"}
                    ],
                }
            )
        )
        while any(len(messages) < 3 for messages in found.values()):
            data = await asyncio.wait_for(link.recv(), 60.0)
            if isinstance(data, str):
                for channel in json.loads(data).get("channels", []):
                    if channel["topic"] in topics:
                        names[channel["id"]] = channel["topic"]
                        subscription = {"id": channel["id"], "channelId": channel["id"]}
                        await link.send(json.dumps({"op": "subscribe", "subscriptions": [subscription]}))
            elif data[0] == 1:
                number, _ = struct.unpack_from("<IQ", data, 1)
                found[names[number]].append(data[13:])
                if say is not None:
                    await link.send(b"\x01" + struct.pack("<I", 5) + say)
    return found


def test_viewer_hears_the_robot(live):
    found = asyncio.run(heard(live.address, {"/scene", "/joints", "/plots", "/tf"}))
    plots = json.loads(found["/plots"][-1])
    assert plots["height"] == pytest.approx(float(live.driver.sim.q[2]), abs=0.05)
    assert all(len(message) > 100 for message in found["/scene"])


def test_viewer_drives_the_robot_and_a_silent_one_does_not(live):
    twist = json.dumps({"linear": {"x": 0.31, "y": 0.0}, "angular": {"z": "junk"}}).encode()
    asyncio.run(heard(live.address, {"/plots"}, twist))
    until(lambda: live.driver.command.forward == 0.31 or live.driver.silent)
    assert live.driver.command.turn == 0.0
    until(lambda: live.driver.sim.command == Command())  # it has gone: the robot stands still


def test_junk_on_the_link_is_left_alone(live):
    before = live.driver.command
    junk = [b"", b"{", b"[]", b'{"linear": 3}', b"[" * 4000, b"\xff" * 100, b"x" * 10**6]
    for data in junk:
        live.hear("/cmd_vel", data)
        live.hear("/other", data)
    assert live.driver.command == before

    async def talk():
        async with websockets.connect(live.address, subprotocols=["foxglove.sdk.v1"]) as link:
            for data in (
                *junk[:-1],
                "{",
                '{"op": "subscribe"}',
                '{"op": "subscribe", "subscriptions": [1]}',
                "[[",
                "null",
            ):
                await link.send(data)
            await link.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": 9, "channelId": 8}]}))
            while not isinstance(data := await asyncio.wait_for(link.recv(), 60.0), bytes):
                pass
            return struct.unpack_from("<BI", data)

    assert asyncio.run(talk()) == (1, 9)  # it still answers what makes sense
    assert live.driver.command == before


ORIGINS = [
    ("https://evil.example", 403),
    ("http://evil.example", 403),
    ("https://app.foxglove.dev.evil.example", 403),
    ("http://127.0.0.1.evil.example", 403),
    ("null", 403),
    ("junk", 403),
    ("https://app.foxglove.dev", 101),
    ("http://localhost:8080", 101),
    ("file://", 101),
    (None, 101),
]


def answer(live, path=None, host=None, origins=(), protocol="foxglove.sdk.v1"):
    """The status of a handshake that is written by hand."""
    path = "/" + live.address.partition("/?")[2].join(("?", "")) if path is None else path
    lines = [f"GET {path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{live.server.port}'}", "Upgrade: websocket"]
    lines += ["Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
    lines += [f"Sec-WebSocket-Protocol: {protocol}", *(f"Origin: {origin}" for origin in origins)]
    with socket.create_connection(("127.0.0.1", live.server.port), timeout=60.0) as link:
        link.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(link.recv(4096).split()[1])


@pytest.mark.parametrize(("origin", "status"), ORIGINS)
def test_page_of_another_site_is_refused_whatever_it_knows(live, origin, status):
    assert answer(live, origins=[] if origin is None else [origin]) == status


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=x", "/?token=%00", "/?junk=%ff%fe", "/?token=a&token=b"])
def test_without_its_token_nothing_is_served(live, path):
    assert answer(live, path) == 403
    assert answer(live, path, origins=["https://app.foxglove.dev"]) == 403


def test_foreign_host_two_origins_and_another_protocol_are_refused(live):
    assert answer(live, host="evil.example") == 403  # a name that a stranger's server resolves to this machine
    assert answer(live, origins=["file://", "http://evil.example"]) == 403
    assert answer(live, protocol="chat") == 400


def test_recording_is_played():
    robot = ff.load("mini_cheetah")
    recording = ff.Simulation(robot, Hold("stand", 60.0, 2.0)).run(0.2)
    served = FoxgloveLive(recording)
    try:
        found = asyncio.run(heard(served.address, {"/joints"}))
        assert len(found["/joints"]) >= 3
    finally:
        served.stop()


def test_only_this_machine_is_served():
    with pytest.raises(InputError, match="this machine only"):
        FoxgloveLive(ff.load("mini_cheetah"), host="0.0.0.0")
