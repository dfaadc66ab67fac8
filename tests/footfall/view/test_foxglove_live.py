"""Live data for Foxglove, heard by a plain WebSocket client that speaks its protocol."""

from __future__ import annotations

import asyncio
import json
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
    for junk in (b"", b"{", b"[]", b'{"linear": 3}', b"[" * 4000, b"\xff" * 100, b"x" * 10**6):
        live.advertised(1, 2, "/cmd_vel", "json")
        live.hear(1, 2, junk)
        live.hear(9, 9, junk)
    assert live.driver.command == before


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
    with pytest.raises(InputError, match="no password"):
        FoxgloveLive(ff.load("mini_cheetah"), host="0.0.0.0")
