"""A secured viser server: loopback, known Host and Origin only, a token, a heartbeat for every connection.

Viser itself binds every address, accepts any Origin and moves on to the next port if one is in use. All of that is
decided where it calls ``websockets``: we pass that call our own socket, a check of every request, and a filter of every
connection and every message.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import gzip
import hmac
import http
import io
import logging
import math
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from footfall.errors import FootfallError, InputError
from footfall.view.stage import viser
from nptrace._types import Foreign, Given

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PULSE = 0.1  # [s] between heartbeats to a browser
SILENCE = 0.42  # [s] without a response: the browser is lost, which is detected within half a second
_COOKIE = "footfall_token"
_JUNK = (AssertionError, ValueError, TypeError, KeyError, AttributeError)  # viser's error for a forged message
_MOST_BYTES = 4 << 20  # largest message from a browser: nothing that we request is larger
_starting = threading.Lock()
# viser's page creates a script from packed data; this is where that script gets our nonce
_MAKES_SCRIPT = b'const e=document.createElement("script");e.type="module";'
_POLICY = (  # eval is needed by the bindings of viser's WebAssembly
    "default-src 'none'; script-src {scripts} 'unsafe-eval'; worker-src blob: data:; style-src 'unsafe-inline';"
    " img-src 'self' data: blob:; font-src 'self' data:; media-src data: blob:; connect-src 'self' data: blob:;"
    " frame-src 'none'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

# viser's control panel covers the robot on a phone: there it is placed below the scene, which gets the rest of the page
_NARROW = """@media (max-width: 36em) {
  div:has(> .mantine-Paper-root[style*="fixed"]) { flex-direction: column !important; }
  .mantine-Paper-root[style*="fixed"] {
    position: static !important; width: 100% !important; max-height: 45% !important; flex-shrink: 0; }
  .mantine-Paper-root[style*="fixed"] .mantine-ScrollArea-content > div { width: 100% !important; }
}"""


class BrowserLink(Protocol):
    """Receive messages of a custom connection; a ValueError closes it."""

    def hear(self, text: Given) -> None: ...

    def end(self) -> None: ...


class Server:
    """A secured viser server. ``closed=True`` accepts no connections, for scenes that are written to a file."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, closed: bool = False) -> None:
        self.socket = bound(host, port)
        self.host, self.port, self.closed = host, int(self.socket.getsockname()[1]), closed
        self.here = host in LOOPBACK  # for this machine only
        self.token = secrets.token_urlsafe(18)
        self.cookie = f"{_COOKIE}_{self.port}"  # cookies ignore ports: two pages on one machine must not share one
        self.heard: dict[Foreign, float] = {}  # connection -> time of its last response
        self.script = ""  # our script in the page
        self.links: dict[str, Callable[[], BrowserLink]] = {}  # custom connections besides viser's, by protocol
        package = viser()
        with _starting, _guarded(self), contextlib.redirect_stdout(io.StringIO()):
            self.viser = package.ViserServer(host=host, port=self.port, verbose=False)
        loop = self.viser.get_event_loop()
        loop.call_soon_threadsafe(loop.set_exception_handler, _quiet_about_junk)

    @property
    def address(self) -> str:
        """Return the address for a browser on this machine."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        name = "127.0.0.1" if self.host in ("0.0.0.0", "") else name
        return f"http://{name}:{self.port}/" + f"?token={self.token}"

    def silence(self, client_id: int) -> float:
        """Return how long a browser has not responded [s]; infinite for a disconnected one."""
        connection = self.viser._websock_server._live_connections.get(client_id)
        heard = self.heard.get(connection)
        return time.monotonic() - heard if heard is not None else float("inf")

    def lost(self, client_id: int) -> bool:
        return self.silence(client_id) > SILENCE

    def stop(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints to standard output, which may be JSON
            self.viser.stop()
        self.socket.close()

    # -- the guard -----------------------------------------------------------------------------------------------------
    def refusal(self, request: Foreign) -> str | None:
        """Return why a request is refused, or None."""
        headers = request.headers
        if self.closed:
            return "nothing is served here"
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or len(origins) > 1:
            return "one Host, and at most one Origin"
        if self.here and hosts[0].lower() not in self._names():
            return "foreign Host"
        upgrade = headers.get("Upgrade", "").lower() == "websocket"
        if (upgrade or origins) and (not origins or origins[0].lower() not in self._origins(hosts[0])):
            return "foreign Origin"
        if not self._knows_token(request, upgrade):
            return "this address needs its token: open the one that footfall printed"
        known = {f"viser-v{viser().__version__}", *self.links}
        if upgrade and not known & {word.strip() for word in headers.get("Sec-WebSocket-Protocol", "").split(",")}:
            return "another version of the page: reload it"
        return None

    def _names(self) -> set[str]:
        own = {f"[{name}]" if ":" in name else name for name in LOOPBACK}
        return {f"{name}:{self.port}" for name in own} | ({*own} if self.port == 80 else set())

    def _origins(self, host: str) -> set[str]:
        return {f"http://{name}" for name in (self._names() if self.here else {host.lower()})}

    def _knows_token(self, request: Foreign, upgrade: bool) -> bool:
        given = [part.strip().partition("=") for part in request.headers.get("Cookie", "").split(";")]
        tokens = [value for name, _, value in given if name == self.cookie]
        if not upgrade:
            _, _, query = request.path.partition("?")
            tokens += [part[6:] for part in query.split("&") if part.startswith("token=")]
        own = self.token.encode()
        return any(hmac.compare_digest(token.encode(errors="backslashreplace"), own) for token in tokens)

    async def watch(self, handler: Foreign, connection: Foreign) -> None:
        """Run viser's handler, and send heartbeats to the browser."""
        self.heard[connection] = time.monotonic()
        pulse = asyncio.create_task(self._pulse(connection))
        try:
            if connection.subprotocol in self.links:
                await self._listen(connection)
            else:
                connection.recv = self._admitting(connection.recv)
                await handler(connection)
        except _JUNK:
            await connection.close(1003, "not understood")  # invalid messages close the sender's connection only
        finally:
            pulse.cancel()
            self.heard.pop(connection, None)

    def _admitting(self, receive: Callable[[], Foreign]) -> Callable[[], Foreign]:
        """Return ``receive`` without messages that the page never sends; excessive senders are throttled."""
        since, count = time.monotonic(), 0

        async def recv() -> bytes:
            nonlocal since, count
            while True:
                raw = await receive()
                count += 1
                if count > MOST_A_SECOND:
                    await asyncio.sleep(max(0.0, since + 1.0 - time.monotonic()))
                if time.monotonic() - since >= 1.0:
                    since, count = time.monotonic(), 0
                message = admitted(raw, self.viser.gui)
                if message is not None:
                    return message

        return recv

    async def _listen(self, connection: Foreign) -> None:
        """Process messages of a custom connection until it ends."""
        link = self.links[connection.subprotocol]()
        from websockets.exceptions import ConnectionClosed

        try:
            with contextlib.suppress(ConnectionClosed):
                async for text in connection:
                    link.hear(text)
        finally:
            link.end()

    def with_script(self, page: bytes, mark: str) -> bytes:
        """Return viser's page with our title and script; every script in it has the nonce."""
        page = page.replace(b"<title>Viser</title>", b"<title>footfall</title>", 1)
        page = page.replace(_MAKES_SCRIPT, _MAKES_SCRIPT + f'e.nonce="{mark}";'.encode(), 1)
        page = page.replace(b"<script", f'<script nonce="{mark}"'.encode())
        own = f'<head><style>{_NARROW}</style><script nonce="{mark}">{self.script}</script>'
        return page.replace(b"<head>", own.encode(), 1)

    async def _pulse(self, connection: Foreign) -> None:
        with contextlib.suppress(Exception):
            while True:
                answer = await connection.ping()
                await answer
                self.heard[connection] = time.monotonic()
                await asyncio.sleep(PULSE)


@contextlib.contextmanager
def _guarded(server: Server) -> Iterator[None]:
    """Replace viser's call of ``websockets`` while it starts."""
    from websockets.asyncio import server as websockets_server
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    serve = websockets_server.serve
    quiet = logging.getLogger("footfall.view.websockets")
    quiet.setLevel(logging.CRITICAL)

    def guarded(
        handler: Foreign, host: Foreign, port: Foreign, process_request: Foreign = None, **options: Any
    ) -> Foreign:
        def check(connection: Foreign, request: Foreign) -> Foreign:
            why = server.refusal(request)
            if why is not None:
                body = f"refused: {why}\n".encode()
                headers = Headers({"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))})
                return Response(http.HTTPStatus.FORBIDDEN, "Forbidden", headers, body)
            response = process_request(connection, request)
            if response is not None:
                mark = secrets.token_urlsafe(18)  # a new one every time: no text sent before can contain it
                if "text/html" in response.headers.get("Content-Type", ""):
                    _rewrite(response, functools.partial(server.with_script, mark=mark))
                response.headers["Content-Security-Policy"] = _POLICY.format(scripts=f"'nonce-{mark}'")
                response.headers["X-Content-Type-Options"] = "nosniff"
                response.headers["Referrer-Policy"] = "no-referrer"
                cookie = f"{server.cookie}={server.token}; HttpOnly; SameSite=Strict; Path=/"
                response.headers["Set-Cookie"] = cookie
            return response

        options |= {"process_request": check, "sock": server.socket, "logger": quiet, "max_size": _MOST_BYTES}
        options |= {"ping_interval": None}  # the heartbeat is more frequent
        viser_chooses = options["select_subprotocol"]

        def choose(connection: Foreign, offered: Foreign) -> Foreign:
            return next((name for name in offered if name in server.links), None) or viser_chooses(connection, offered)

        options["select_subprotocol"] = choose
        return serve(functools.partial(server.watch, handler), **options)

    websockets_server.serve = guarded  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets_server.serve = serve  # type: ignore[misc]


def _quiet_about_junk(loop: asyncio.AbstractEventLoop, context: dict[str, Foreign]) -> None:
    """Drop well-formed messages that make no sense, without a page of traceback in the terminal."""
    if not isinstance(context.get("exception"), _JUNK):
        loop.default_exception_handler(context)


def _rewrite(response: Foreign, change: Callable[[bytes], bytes]) -> None:
    """Change the body of a response, compressed or not."""
    packed = response.headers.get("Content-Encoding") == "gzip"
    body = change(gzip.decompress(response.body) if packed else response.body)
    response.body = gzip.compress(body, 1) if packed else body
    del response.headers["Content-Length"]
    response.headers["Content-Length"] = str(len(response.body))


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise in one sentence for an address that is in use or not local."""
    if not 0 <= port <= 65535:
        raise InputError(f"a port lies between 0 and 65535, got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(16)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            raise FootfallError(
                f"port {port} is in use: choose another with --port, or --port 0 for a free one"
            ) from None
        raise FootfallError(f"cannot listen at {host}:{port}: {error.strerror or error}") from None
    return made


MOST_A_SECOND = 200  # messages of one browser per second: a slider sends 20, the camera 60 while it moves
_AS_THEY_ARE = ("ViewerCameraMessage", "CommandTriggerMessage")


def admitted(raw: Foreign, gui: Foreign) -> bytes | None:
    """Return the message for viser, or None for one that is dropped; raise a ValueError for an invalid one.

    gui: viser's, which has the controls by their ids.
    """
    import msgspec

    if not isinstance(raw, bytes):
        raise ValueError("a string instead of bytes")
    try:
        message = msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    match message:
        case {"type": str(kind)} if kind in _AS_THEY_ARE:
            return raw
        case {"type": "GuiUpdateMessage", "uuid": str(uuid), "updates": {"value": value}}:
            handle = gui._gui_input_handle_from_uuid.get(uuid)
            if handle is None or not can_be(handle, value):
                return None
            return msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})
        case {"type": str()}:
            return None
    raise ValueError("no type")


def can_be(handle: Foreign, value: Given) -> bool:
    """Return whether a person could have given a control this value."""
    import viser

    match handle:
        case viser.GuiButtonHandle():
            return value is True
        case viser.GuiCheckboxHandle():
            return isinstance(value, bool)
        case viser.GuiSliderHandle():
            number = type(value) in (int, float) and math.isfinite(value)
            return bool(number and handle.min <= value <= handle.max)
        case viser.GuiDropdownHandle() | viser.GuiButtonGroupHandle():
            return isinstance(value, str) and value in handle.options
    return False
