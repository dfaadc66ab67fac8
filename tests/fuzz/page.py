"""Forged messages to the live page: whatever comes, it serves on, its robot stays sound, and "Stand still" works."""

from __future__ import annotations

import contextlib
import json
import random
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from spoil import spoiled_bytes, spoiled_json, strange
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from footfall.control.interface import Command
from footfall.control.locomotion.locomotion import COMMAND_LIMITS
from footfall.view.driver import SimulationThread
from footfall.view.gamepad import PROTOCOL
from footfall.view.live import LivePage
from footfall.view.server import Server
from footfall.view.stage import viser

_LOOK = 100  # messages between looks at the whole
_PATIENCE = 60.0  # [s] for a loaded machine
_KEYS = ("value", "value", "value", "update_cb", "disabled", "visible", "label", "options", "min", "uuid", "_impl", "")


class _Page:
    """A live page in this process and a browser that lies."""

    def __init__(self) -> None:
        self.server = Server()
        self.driver = SimulationThread()
        self.page = LivePage(self.server, self.driver)
        self.driver.start()
        handles = [*self.page.sliders.values(), *self.page.menus.values(), self.page.again, self.page.buttons]
        self.names = [handle._impl.uuid for handle in handles]
        self.still = next(h for h in self.server.viser.gui._gui_input_handle_from_uuid.values() if _is_still(h))
        self.links: dict[str, ClientConnection] = {}

    def link(self, protocol: str) -> ClientConnection:
        if protocol not in self.links:
            with urllib.request.urlopen(self.server.address, timeout=_PATIENCE) as page:
                cookie = page.headers.get("Set-Cookie", "").partition(";")[0]
            self.links[protocol] = connect(
                f"ws://127.0.0.1:{self.server.port}/",
                subprotocols=[protocol],
                additional_headers={"Cookie": cookie} if cookie else None,
                origin=f"http://127.0.0.1:{self.server.port}",
                open_timeout=_PATIENCE,
                max_size=None,
            )
        return self.links[protocol]

    def send(self, protocol: str, message: bytes | str) -> str:
        try:
            self.link(protocol).send(message)
        except (ConnectionClosed, InvalidStatus, OSError):
            self.links.pop(protocol, None)  # junk costs its sender the link
            return "refused"
        return "heard"

    def look(self) -> None:
        """It serves, its robot is sound, its command is within the limits, and it stands still when told."""
        with urllib.request.urlopen(self.server.address, timeout=_PATIENCE) as page:
            assert page.status == 200
        assert self.driver._thread.is_alive(), "the simulation's thread has ended"
        assert np.isfinite(self.driver.sim.q).all(), "the robot is no longer finite"
        for key in ("forward", "sideways", "turn", "height", "roll", "pitch"):
            assert abs(getattr(self.driver.command, key)) <= getattr(COMMAND_LIMITS, key), key
        update = {"type": "GuiUpdateMessage", "uuid": self.still._impl.uuid, "updates": {"value": True}}
        self.driver.set_command(forward=0.2)
        until = time.monotonic() + _PATIENCE
        while self.driver.command != Command():
            assert time.monotonic() < until, "the button 'Stand still' no longer works"
            self.send(f"viser-v{viser().__version__}", msgspec.msgpack.encode(update))
            time.sleep(0.05)


def _is_still(handle: Any) -> bool:
    return getattr(handle._impl.props, "label", "") == "Stand still"


def messages(folder: Path) -> Callable[[int], str]:
    page = _Page()
    pad = {"axes": [0.0, -0.5, 0.1, 0.0], "buttons": [False] * 16}

    def case(seed: int) -> str:
        luck = random.Random(seed)
        act = luck.randrange(5)
        if act == 0:
            text = json.dumps(spoiled_json(pad, luck))
            said = page.send(PROTOCOL, text if luck.randrange(4) else spoiled_bytes(text.encode(), luck))
        else:
            updates = {luck.choice(_KEYS): luck.choice((0.1, True, 0.3, strange(luck)))}
            message: Any = {"type": "GuiUpdateMessage", "uuid": luck.choice(page.names), "updates": updates}
            if act == 1:
                kinds = (
                    "ViewerCameraMessage",
                    "ScenePointerMessage",
                    "FileTransferStartUpload",
                    "RunJavascriptMessage",
                )
                kind = luck.choice(kinds)
                message = {"type": kind, "wxyz": strange(luck), "position": [0.0, 1.0], "fov": strange(luck)}
            elif act == 2:
                message = spoiled_json(message, luck)
            data = b"\x80"
            with contextlib.suppress(OverflowError, ValueError, msgspec.MsgspecError, UnicodeError):
                data = msgspec.msgpack.encode(message)  # some of it no message can hold
            said = page.send(f"viser-v{viser().__version__}", spoiled_bytes(data, luck) if act == 3 else data)
        if seed % _LOOK == 0:
            page.look()
        return said

    return case
