"""Foxglove's WebSocket protocol with the page's security: a token, and known Host and Origin.

The server of foxglove-sdk accepts any Origin and has no token: any web page in the user's browser could read and
control the robot. Messages and schemas are the SDK's, and so are the bytes on the wire.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import http
import json
import logging
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from footfall.errors import InputError
from footfall.view.server import LOOPBACK, bound
from nptrace._types import Foreign, Json

PROTOCOL = "foxglove.sdk.v1"
_APP = ("https://app.foxglove.dev",)
_MOST_BYTES = 1 << 16  # largest message from a viewer
_MOST_VIEWERS = 16
_MOST_CHANNELS = 100  # most channels that a viewer may subscribe to, or advertise
_MESSAGE = 1  # opcode of data, in both directions
_JUNK = (ValueError, TypeError, KeyError, AttributeError, RecursionError, struct.error)

Heard = Callable[[str, bytes], None]  # (topic, JSON that a viewer published there)


class LiveChannel:
    """A topic that viewers may subscribe to; ``kind`` is a message class of foxglove-sdk, or a JSON schema."""

    def __init__(self, server: FoxgloveServer, number: int, topic: str, kind: Foreign) -> None:
        self._server, self.number, self.topic = server, number, topic
        self._is_json = isinstance(kind, dict)
        if self._is_json:
            name, encoding, schema = str(kind["title"]), "jsonschema", json.dumps(kind)
        else:
            known = kind.get_schema()
            name, encoding, schema = known.name, known.encoding, base64.b64encode(known.data).decode()
        self.advertised = {
            "id": number,
            "topic": topic,
            "encoding": "json" if self._is_json else "protobuf",
            "schemaName": name,
            "schemaEncoding": encoding,
            "schema": schema,
        }

    def log(self, message: Foreign, log_time: int) -> None:
        """Send a message to all subscribers."""
        viewers = [viewer for viewer in self._server.viewers() if self.number in viewer.subscribed.values()]
        if viewers:
            data = json.dumps(message).encode() if self._is_json else message.encode()
            for viewer in viewers:
                viewer.offer(self.number, struct.pack("<Q", log_time) + data)


class FoxgloveServer:
    """Channels for viewers on this machine with the token. ``hear`` receives what they publish as JSON."""

    def __init__(self, host: str, port: int, hear: Heard) -> None:
        from websockets.sync import server as websockets_server

        if host not in LOOPBACK:
            raise InputError(
                f"data for Foxglove is served on this machine only ({', '.join(LOOPBACK)}), not at {host!r}"
            )
        self._socket, self.hear = bound(host, port), hear
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self.token = secrets.token_urlsafe(18)
        self.channels: list[LiveChannel] = []
        self._viewers: list[_Viewer] = []
        self._session = str(time.time_ns() // 10**6)
        quiet = logging.getLogger("footfall.view.foxglove")
        quiet.setLevel(logging.CRITICAL)
        self._server = websockets_server.serve(
            self._serve,
            sock=self._socket,
            process_request=self._check,
            select_subprotocol=self._choose,
            max_size=_MOST_BYTES,
            logger=quiet,
        )

    def start(self) -> None:
        """Start serving, once the channels exist."""
        threading.Thread(target=self._server.serve_forever, name="footfall-foxglove", daemon=True).start()

    @property
    def address(self) -> str:
        """Return the address for Foxglove's "open connection"."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"ws://{name}:{self.port}/?token={self.token}"

    def channel(self, topic: str, kind: Foreign) -> LiveChannel:
        """Add a topic, before serving starts."""
        made = LiveChannel(self, len(self.channels) + 1, topic, kind)
        self.channels.append(made)
        return made

    def viewers(self) -> list[_Viewer]:
        return list(self._viewers)

    def stop(self) -> None:
        self._server.shutdown()
        for viewer in self.viewers():
            viewer.close()
        with contextlib.suppress(OSError):
            self._socket.close()

    # -- the guard -----------------------------------------------------------------------------------------------------
    def refusal(self, path: str, hosts: list[str], origins: list[str]) -> str | None:
        """Return why a request is refused, or None."""
        names = {f"{f'[{name}]' if ':' in name else name}:{self.port}" for name in LOOPBACK}
        if len(hosts) != 1 or hosts[0].lower() not in names:
            return "foreign Host"
        if len(origins) > 1 or (origins and not _may_connect(origins[0])):
            return "foreign Origin"
        given = parse_qs(urlsplit(path).query).get("token", [""])
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(errors="replace"), self.token.encode()):
            return "this address needs its token: open the one that footfall printed"
        if len(self._viewers) >= _MOST_VIEWERS:
            return f"{_MOST_VIEWERS} viewers are connected already"
        return None

    def _check(self, connection: Foreign, request: Foreign) -> Foreign:
        try:
            why = self.refusal(request.path, request.headers.get_all("Host"), request.headers.get_all("Origin"))
        except ValueError:
            why = "not understood"
        return None if why is None else connection.respond(http.HTTPStatus.FORBIDDEN, f"refused: {why}\n")

    def _choose(self, connection: Foreign, offered: Foreign) -> Foreign:
        from websockets.exceptions import NegotiationError

        if PROTOCOL not in offered:
            raise NegotiationError(f"the protocol {PROTOCOL} is required")
        return PROTOCOL

    # -- a viewer ------------------------------------------------------------------------------------------------------
    def _serve(self, connection: Foreign) -> None:
        from websockets.exceptions import ConnectionClosed

        viewer = _Viewer(connection)
        self._viewers.append(viewer)
        try:
            with contextlib.suppress(ConnectionClosed):
                viewer.say(
                    op="serverInfo",
                    name="footfall",
                    capabilities=["clientPublish"],
                    supportedEncodings=["json"],
                    metadata={},
                    sessionId=self._session,
                )
                viewer.say(op="advertise", channels=[channel.advertised for channel in self.channels])
                for message in connection:
                    with contextlib.suppress(*_JUNK):  # is ignored
                        viewer.take(message, self.hear)
        finally:
            self._viewers.remove(viewer)
            viewer.close()


class _Viewer:
    """One connection: its subscriptions and publications. For each subscription, the newest message waits to be
    sent.
    """

    def __init__(self, connection: Foreign) -> None:
        self._connection = connection
        self.subscribed: dict[int, int] = {}  # subscription -> channel
        self._topics: dict[int, str] = {}  # channels that it publishes
        self._waiting: dict[int, bytes] = {}
        self._changed, self._ended = threading.Condition(), False
        threading.Thread(target=self._send, name="footfall-foxglove-viewer", daemon=True).start()

    def say(self, **message: Json) -> None:
        self._connection.send(json.dumps(message))

    def offer(self, channel: int, data: bytes) -> None:
        with self._changed:
            for subscription, wanted in self.subscribed.items():
                if wanted == channel:
                    self._waiting[subscription] = struct.pack("<BI", _MESSAGE, subscription) + data
            self._changed.notify()

    def take(self, message: Foreign, hear: Heard) -> None:
        """Process a message of the viewer."""
        if isinstance(message, bytes):
            kind, number = struct.unpack_from("<BI", message)
            if kind == _MESSAGE and number in self._topics:
                hear(self._topics[number], message[5:])
            return
        requested = json.loads(message)
        with self._changed:
            match requested:
                case {"op": "subscribe", "subscriptions": list(entries)}:
                    for entry in entries:
                        self._add(self.subscribed, int(entry["id"]), int(entry["channelId"]))
                case {"op": "unsubscribe", "subscriptionIds": list(numbers)}:
                    for number in numbers:
                        self.subscribed.pop(number, None)
                        self._waiting.pop(number, None)
                case {"op": "advertise", "channels": list(entries)}:
                    for entry in entries:
                        if entry["encoding"] == "json":
                            self._add(self._topics, int(entry["id"]), str(entry["topic"]))
                case {"op": "unadvertise", "channelIds": list(numbers)}:
                    for number in numbers:
                        self._topics.pop(number, None)

    def _add(self, table: dict[int, Any], number: int, value: Foreign) -> None:
        if 0 <= number < 2**32 and (number in table or len(table) < _MOST_CHANNELS):
            table[number] = value

    def _send(self) -> None:
        with contextlib.suppress(Exception):  # the connection is closed, which its reader detects
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._waiting or self._ended)
                    if self._ended:
                        return
                    ready, self._waiting = list(self._waiting.values()), {}
                for data in ready:
                    self._connection.send(data)

    def close(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        with contextlib.suppress(OSError):
            self._connection.socket.shutdown(socket.SHUT_RDWR)


def _may_connect(origin: str) -> bool:
    """Return whether a page of this origin may connect: Foxglove's own, one of this machine, or a native app."""
    parts = urlsplit(origin.lower())
    if parts.scheme in ("http", "https"):
        return origin.lower() in _APP or parts.hostname in LOOPBACK
    return origin.lower() in ("file://", "foxglove://")


__all__ = ["PROTOCOL", "FoxgloveServer", "LiveChannel"]
